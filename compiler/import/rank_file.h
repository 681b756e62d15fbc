// A rank file: which GPU of which host each rank of a job is. Text with one rank a line,
//
//     RANK HOST GPU        as in: echo $RANK $(hostname) $LOCAL_RANK
//
// in any order; empty lines and what follows a # mean nothing.
#ifndef RESHARD_COMPILER_IMPORT_RANK_FILE_H_
#define RESHARD_COMPILER_IMPORT_RANK_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/import/json_doc.h"

namespace reshard {

struct RankPlacement {
  uint32_t rank = 0;
  std::string host;
  uint32_t gpu = 0;
  Span host_span, gpu_span;
};

// The ranks of file number `file`, rising; ranks and GPUs are given once and each GPU is below
// `gpus_per_host`. Returns false after at least one error was reported.
[[nodiscard]] bool ReadRankFile(const SourceMap& sources, uint32_t file, uint32_t gpus_per_host,
                                Diagnostics* diags, std::vector<RankPlacement>* out);

// The hosts as a host list of a topology, in the order of their first rank.
std::string HostList(const std::vector<RankPlacement>& ranks);
// The list `ranks` of a topology: one entry where the ranks fill host after host.
JsonDoc RanksDoc(const std::vector<RankPlacement>& ranks, uint32_t gpus_per_host);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_RANK_FILE_H_
