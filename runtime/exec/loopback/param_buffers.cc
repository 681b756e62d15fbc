#include "runtime/exec/loopback/param_buffers.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/exec/bindings.h"

namespace reshard {

void ParamBuffers::FreeDelete::operator()(uint8_t* block) const { std::free(block); }

Status ParamBuffers::Add(const Plan& plan, uint32_t rank) {
  for (ExpectedParam& spec : ParamsOfRank(plan, rank)) {
    // A block of its own each, so that tools see an access beyond it; never empty.
    const int64_t blocks = spec.bytes / kAlignBytes + 1;
    std::unique_ptr<uint8_t, FreeDelete> block(static_cast<uint8_t*>(std::aligned_alloc(
        static_cast<size_t>(kAlignBytes), static_cast<size_t>(blocks * kAlignBytes))));
    if (!block) {
      return Status(StatusCode::kLimitExceeded, "no memory for '" + spec.name + "' of rank " +
                                                    std::to_string(rank) + ", " +
                                                    std::to_string(spec.bytes) + " bytes");
    }
    const std::span bytes(block.get(), static_cast<size_t>(spec.bytes));
    std::memset(bytes.data(), kUnsetByte, bytes.size());
    params_.push_back(
        {rank, spec.side, spec.family, spec.instance, spec.external, std::move(spec.name), bytes});
    blocks_.push_back(std::move(block));
  }
  return Status();
}

}  // namespace reshard
