#include "compiler/cli/check_command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iomanip>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "compiler/cli/check_against.h"
#include "compiler/cli/read_input.h"
#include "compiler/layout/rank_summary.h"
#include "compiler/pipeline.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// Ranks that store equally much, in the order of their first rank.
struct RankGroup {
  RankList ranks;
  RankStorage storage;  // of each
};

std::vector<RankGroup> GroupRanks(const std::vector<RankStorage>& ranks, bool separate) {
  std::vector<RankGroup> groups;
  std::map<std::tuple<int64_t, int64_t, int64_t>, size_t> index;
  for (const RankStorage& rank : ranks) {
    const auto key = std::make_tuple(rank.params, rank.bytes, rank.external_bytes);
    const auto [place, added] = index.try_emplace(key, groups.size());
    if (added || separate) {
      place->second = groups.size();
      groups.push_back({{}, rank});
    }
    groups[place->second].ranks.push_back(rank.rank);
  }
  return groups;
}

struct SideReport {
  const char* name;
  std::vector<RankStorage> ranks;
  int64_t params = 0;
  int64_t bytes = 0;
};

SideReport ReportSide(const char* name, const Layout& layout) {
  SideReport report{name, SummarizeRanks(layout), 0, 0};
  for (const RankStorage& rank : report.ranks) {
    report.params += rank.params;
    report.bytes += rank.bytes;
  }
  return report;
}

void PrintSide(const SideReport& side, bool separate, std::ostream& out) {
  out << side.name << ": " << FormatCount(static_cast<int64_t>(side.ranks.size())) << " ranks, "
      << FormatCount(side.params) << " params, " << FormatCount(side.bytes) << " bytes\n";
  out << std::right << std::setw(10) << "params" << std::setw(22) << "bytes a rank"
      << "  ranks\n";
  for (const RankGroup& group : GroupRanks(side.ranks, separate)) {
    out << std::setw(10) << FormatCount(group.storage.params) << std::setw(22)
        << FormatCount(group.storage.bytes) << "  " << DescribeRanks(group.ranks);
    if (group.storage.external_bytes > 0) {
      out << "  (" << FormatCount(group.storage.external_bytes) << " bytes external)";
    }
    out << "\n";
  }
}

nlohmann::ordered_json SideJson(const SideReport& side) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const RankStorage& rank : side.ranks) {
    ranks.push_back({{"rank", rank.rank},
                     {"params", rank.params},
                     {"bytes", rank.bytes},
                     {"external_bytes", rank.external_bytes}});
  }
  return {{"side", side.name}, {"params", side.params}, {"bytes", side.bytes}, {"ranks", ranks}};
}

// The specs by side; false after wrong-side was reported.
bool AssignSides(const std::vector<LayoutSpec>& specs, Diagnostics* diags,
                 const LayoutSpec** source, const LayoutSpec** destination) {
  for (const LayoutSpec& spec : specs) {
    const LayoutSpec** side = spec.side == Side::kSource ? source : destination;
    if (*side != nullptr) {
      diags
          ->Error(DiagnosticCode::kWrongSide, spec.side_span,
                  "this layout has the side of the other one, expected a source and a destination")
          .notes.push_back({(*side)->side_span, "the other one"});
      return false;
    }
    *side = &spec;
  }
  return true;
}

int64_t TensorCount(const LogicalTable& table) {
  int64_t count = 0;
  for (const SuperTensor& super : table.supers) count += super.tensor_count();
  return count;
}

ExitCode RunAgainst(const CheckArgs& args, std::vector<InputFile> layouts, InputFile other,
                    std::ostream& out, std::ostream& err) {
  layouts.push_back(std::move(other));
  Diagnostics diags;
  SourceMap sources;
  std::vector<LayoutSpec> specs;
  const bool read = ReadLayouts(std::move(layouts), &diags, &sources, &specs);
  if (read) {
    const LayoutSpec against = std::move(specs.back());
    specs.pop_back();
    const LayoutSpec* source = nullptr;
    const LayoutSpec* destination = nullptr;
    if (AssignSides(specs, &diags, &source, &destination)) {
      return CheckAgainst(specs, against, sources, {args.max_errors, args.json}, out, err);
    }
  }
  diags.Print(sources, args.max_errors, err);
  return ExitCodeFor(diags);
}

}  // namespace

void DeclareCheck(CLI::App* app, CheckArgs* args) {
  app->add_option("layouts", args->layouts, "a layout, or a source and a destination")
      ->required()
      ->expected(1, 2);
  CLI::Option* ranks = app->add_flag("--ranks", args->ranks, "a line for every rank");
  app->add_option("--against", args->against,
                  "another layout of the same side: compare element by element, and print where "
                  "they differ")
      ->excludes(ranks);
  app->add_option("--max-errors", args->max_errors,
                  "errors, or kinds of differences, to print, 0: all")
      ->check(CLI::Range(size_t{0}, kLargestMaxErrors));
  app->add_flag("--json", args->json, "print one JSON object");
}

ExitCode RunCheck(const CheckArgs& args, FileSystem& files, std::ostream& out, std::ostream& err) {
  std::vector<InputFile> inputs;
  for (const std::string& path : args.layouts) {
    std::optional<InputFile> input = ReadInput(path, files, err);
    if (input) inputs.push_back(*std::move(input));
  }
  std::optional<InputFile> other;
  if (!args.against.empty()) other = ReadInput(args.against, files, err);
  if (inputs.size() != args.layouts.size() || (!args.against.empty() && !other)) {
    return ExitCode::kCannotJudge;
  }
  if (other) return RunAgainst(args, std::move(inputs), *std::move(other), out, err);

  Diagnostics diags;
  SourceMap sources;
  std::vector<LayoutSpec> specs;
  const LayoutSpec* source = nullptr;
  const LayoutSpec* destination = nullptr;
  ResolvedLayouts layouts;
  const bool ok = ReadLayouts(std::move(inputs), &diags, &sources, &specs) &&
                  AssignSides(specs, &diags, &source, &destination) &&
                  ResolveLayouts(source, destination, &diags, &layouts);
  diags.Print(sources, args.max_errors, err);
  if (!ok) return ExitCodeFor(diags);

  std::vector<SideReport> sides;
  if (source != nullptr) sides.push_back(ReportSide("source", layouts.source));
  if (destination != nullptr) sides.push_back(ReportSide("destination", layouts.destination));
  const int64_t tensors = TensorCount(layouts.table);
  if (args.json) {
    nlohmann::ordered_json json;
    json["schema"] = "reshardc-check/1";
    json["tensors"] = tensors;
    json["sides"] = nlohmann::ordered_json::array();
    for (const SideReport& side : sides) json["sides"].push_back(SideJson(side));
    out << json.dump(2) << "\n";
    return ExitCode::kYes;
  }
  out << "tensors: " << FormatCount(tensors) << "\n";
  for (const SideReport& side : sides) PrintSide(side, args.ranks, out);
  return ExitCode::kYes;
}

}  // namespace reshard
