#include "compiler/transfer/describe_tensors.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace reshard {
namespace {

// Per loop axis of a super-tensor, the values [begin, end) that some cells have.
struct LoopRange {
  int64_t begin = 0;
  int64_t end = 0;
};

std::vector<LoopRange> LoopsOf(const SuperTensor& super, const std::vector<RefinedDim>& dims,
                               const Cell& cell) {
  std::vector<LoopRange> loops(super.loop_count(), {0, 1});
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].axis >= loops.size()) continue;
    LoopRange& loop = loops[dims[d].axis];
    loop.begin += cell.box[d].begin * dims[d].weight;
    loop.end += (cell.box[d].begin + cell.box[d].extent - 1) * dims[d].weight;
  }
  return loops;
}

std::string Name(const SuperTensor& super, const std::vector<LoopRange>& loops) {
  std::vector<int64_t> begin, extent;
  for (const LoopRange& loop : loops) {
    begin.push_back(loop.begin);
    extent.push_back(loop.end - loop.begin);
  }
  return "'" + super.name.Describe(begin, extent) + "'";
}

}  // namespace

std::string DescribeTensors(const LogicalTable& table, const TransferSet& transfers,
                            const std::vector<ClassId>& classes) {
  std::map<SuperId, std::vector<LoopRange>> supers;
  for (const ClassId id : classes) {
    const TransferClass& cls = transfers.classes[id];
    for (uint32_t c = cls.first_cell; c < cls.first_cell + cls.cell_count; ++c) {
      const Cell& cell = transfers.cells[c];
      std::vector<LoopRange> loops =
          LoopsOf(table.supers[cell.super], transfers.dims[cell.super], cell);
      const auto [entry, is_new] = supers.try_emplace(cell.super, loops);
      if (is_new) continue;
      for (size_t i = 0; i < loops.size(); ++i) {
        entry->second[i].begin = std::min(entry->second[i].begin, loops[i].begin);
        entry->second[i].end = std::max(entry->second[i].end, loops[i].end);
      }
    }
  }
  constexpr size_t kShown = 3;
  std::string text;
  size_t shown = 0;
  for (const auto& [super, loops] : supers) {
    if (shown == kShown) break;
    text += (shown++ == 0 ? "" : ", ") + Name(table.supers[super], loops);
  }
  if (supers.size() > kShown) text += " and " + std::to_string(supers.size() - kShown) + " more";
  return text;
}

}  // namespace reshard
