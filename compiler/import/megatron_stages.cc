#include "compiler/import/megatron_stages.h"

#include <string>

namespace reshard {
namespace {

// Reports that `layers` do not divide.
bool Divides(int64_t layers, int64_t parts, const std::string& what, const std::string& over,
             Span span, Diagnostics* diags) {
  if (parts > 0 && layers > 0 && layers % parts == 0) return true;
  diags->Error(DiagnosticCode::kPipelineLayers, span,
               what + " are " + std::to_string(layers) + " layers, expected a multiple of the " +
                   over + " " + std::to_string(parts));
  return false;
}

}  // namespace

std::optional<StageTable> MegatronStages(int64_t layers, const MegatronSpec& spec, Span span,
                                         Diagnostics* diags) {
  if (!spec.stages.empty()) return spec.stages;
  const int64_t first = spec.first_layers.value_or(0);
  const int64_t last = spec.last_layers.value_or(0);
  const int64_t middle_stages = spec.pp - (spec.first_layers ? 1 : 0) - (spec.last_layers ? 1 : 0);
  const int64_t middle = layers - first - last;
  const std::string chunks = "number of virtual stages";
  bool ok = true;
  if (middle_stages > 0) {
    ok = Divides(middle, middle_stages, "outside 'first' and 'last'", "number of stages", span,
                 diags);
    ok = ok && Divides(middle / middle_stages, spec.vpp, "in a stage", chunks, span, diags);
  } else if (middle_stages < 0 || middle != 0) {
    diags->Error(DiagnosticCode::kPipelineLayers, span,
                 "'first' and 'last' have " + std::to_string(first + last) + " layers of " +
                     std::to_string(layers) + " on " + std::to_string(spec.pp) + " stages");
    ok = false;
  }
  if (spec.first_layers)
    ok = Divides(first, spec.vpp, "in the first stage", chunks, span, diags) && ok;
  if (spec.last_layers)
    ok = Divides(last, spec.vpp, "in the last stage", chunks, span, diags) && ok;
  if (!ok) return std::nullopt;
  // Chunk c of all stages follows chunk c - 1 of all stages.
  StageTable table(static_cast<size_t>(spec.pp));
  int64_t at = 0;
  for (int64_t chunk = 0; chunk < spec.vpp; ++chunk) {
    for (int64_t stage = 0; stage < spec.pp; ++stage) {
      const bool is_first = stage == 0 && spec.first_layers;
      const bool is_last = stage == spec.pp - 1 && spec.last_layers;
      const int64_t count = (is_first ? first : is_last ? last : middle / middle_stages) / spec.vpp;
      table[static_cast<size_t>(stage)].emplace_back(at, at + count);
      at += count;
    }
  }
  return table;
}

}  // namespace reshard
