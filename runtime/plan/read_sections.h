// Reads the sections of a plan file into a Plan, copying every byte. Part of LoadPlan.
#ifndef RESHARD_RUNTIME_PLAN_READ_SECTIONS_H_
#define RESHARD_RUNTIME_PLAN_READ_SECTIONS_H_

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/plan/plan.h"

namespace reshard {

// `data` is one section (kind: fb::SectionKind), aligned to kSectionAlignBytes in memory. Fills the
// parts of `plan` that the section holds. Refuses what is not a sound FlatBuffer, and data that
// would take much more memory than it has bytes, and rank sets of more than `max_rank_set_members`
// members together.
Status ReadSection(uint8_t kind, std::span<const uint8_t> data, uint64_t max_rank_set_members,
                   Plan* plan);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_READ_SECTIONS_H_
