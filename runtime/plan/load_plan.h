// LoadPlan: bytes of a file to a Plan in private memory.
//
// Checks the identifier, the version, the FlatBuffers structure, every section digest and the root
// digest, then the bounds rules (every index, count and range). What it returns can be indexed
// safely; whether it is right is for verify.h. Never trusts a number in the file for an allocation:
// memory is bounded by a small multiple of the file's size and by the options.
#ifndef RESHARD_RUNTIME_PLAN_LOAD_PLAN_H_
#define RESHARD_RUNTIME_PLAN_LOAD_PLAN_H_

#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

struct LoadOptions {
  uint64_t max_bytes = uint64_t{1} << 31;             // of the file
  uint64_t max_rank_set_members = uint64_t{1} << 26;  // of all rank sets together
};

struct LoadedPlan {
  Plan plan;
  Digest root_digest{};  // over the section digests: two plans with the same content are equal
};

StatusOr<LoadedPlan> LoadPlan(std::span<const uint8_t> bytes, const LoadOptions& options);
// Reads the file; "-" is standard input.
StatusOr<LoadedPlan> LoadPlanFile(const std::string& path, const LoadOptions& options);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_LOAD_PLAN_H_
