// The digests inside a plan file, for its reader and its writer.
//
// Together they cover every byte of the file: the section digests the sections, the envelope digest
// the rest. The root digest stands for what the plan says, however the file is laid out.
#ifndef RESHARD_RUNTIME_PLAN_PLAN_DIGESTS_H_
#define RESHARD_RUNTIME_PLAN_PLAN_DIGESTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

inline constexpr size_t kSectionAlignBytes = 16;  // of a section's first byte in the file

struct SectionDigest {
  uint8_t kind = 0;
  Digest digest{};
};
// Over the version (4 bytes, little endian), then the kind (1 byte) and digest of each section.
Digest RootDigest(uint32_t version, const std::vector<SectionDigest>& sections);

// A run of the file's bytes.
struct FileRange {
  size_t begin = 0;
  size_t size = 0;
};
// Over `file` without `sections` (rising, disjoint) and with the bytes of `own` taken as zeros.
Digest EnvelopeDigest(std::span<const uint8_t> file, const std::vector<FileRange>& sections,
                      const FileRange& own);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_PLAN_DIGESTS_H_
