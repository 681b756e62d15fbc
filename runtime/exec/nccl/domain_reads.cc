#include "runtime/exec/nccl/domain_reads.h"

#include <algorithm>

namespace reshard::nccl {

std::vector<DomainRead> ReadsFrom(const Plan& plan, const ProgramIndex& index, uint32_t lander,
                                  std::span<const uint32_t> readers) {
  std::vector<DomainRead> reads;
  for (uint32_t reader : readers) {
    const Program program = ExpandProgram(plan, index, reader);
    for (const Op& op : program.ops) {
      if (op.kind != OpKind::kCopy || op.peer != lander) continue;
      reads.push_back({reader, op.round, op.peer_offset, op.extent});
    }
  }
  std::stable_sort(reads.begin(), reads.end(), [](const DomainRead& a, const DomainRead& b) {
    return a.round != b.round ? a.round < b.round : a.reader < b.reader;
  });
  return reads;
}

}  // namespace reshard::nccl
