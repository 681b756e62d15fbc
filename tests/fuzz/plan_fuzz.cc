// Plan files from strangers: LoadPlan with the bounds rules, the verifier, and everything that may
// take a loaded plan for granted.
//
// An input is either a plan file, or a list of edits to one of the small plans made by hand:
//   1 byte: which plan; then per edit of 12 bytes: section, width (1, 2, 4 or 8 bytes), offset
//   (2 bytes, wrapped at the section's end) and the new value (8 bytes), little endian.
// Digests are put right before loading, or nothing would get past them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/emit/serialize_plan.h"
#include "runtime/base/check.h"
#include "runtime/base/sha256.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/plan_digests.h"
#include "runtime/plan/program.h"
#include "runtime/plan/testing/small_plan.h"
#include "runtime/plan/verify.h"
#include "runtime/plan/walk.h"
#include "schemas/plan_generated.h"

namespace reshard {
namespace {

using Bytes = std::vector<uint8_t>;

const std::vector<Bytes>& BaseFiles() {
  static const std::vector<Bytes> files = [] {
    std::vector<Bytes> result;
    for (const testing::NamedPlan& named : testing::SmallPlans()) {
      result.push_back(*SerializePlan(named.plan));
    }
    return result;
  }();
  return files;
}

const fb::PlanFile* Envelope(const Bytes& file) {
  if (file.size() < 8 || !fb::PlanFileBufferHasIdentifier(file.data())) return nullptr;
  flatbuffers::Verifier verifier(file.data(), file.size());
  return fb::VerifyPlanFileBuffer(verifier) ? fb::GetPlanFile(file.data()) : nullptr;
}

FileRange RangeOf(const Bytes& file, const flatbuffers::Vector<uint8_t>* part) {
  if (part == nullptr) return {};
  return {static_cast<size_t>(part->data() - file.data()), part->size()};
}

void Write(const Digest& digest, const FileRange& where, Bytes* file) {
  if (where.size == digest.size()) {
    std::copy(digest.begin(), digest.end(),
              file->begin() + static_cast<std::ptrdiff_t>(where.begin));
  }
}

void RepairDigests(Bytes* file) {
  const fb::PlanFile* plan_file = Envelope(*file);
  if (plan_file == nullptr || plan_file->sections() == nullptr) return;
  std::vector<SectionDigest> digests;
  std::vector<FileRange> ranges;
  for (const fb::Section* section : *plan_file->sections()) {
    const FileRange range = RangeOf(*file, section->data());
    const Digest digest =
        Sha256Of(std::as_bytes(std::span(*file).subspan(range.begin, range.size)));
    Write(digest, RangeOf(*file, section->digest()), file);
    digests.push_back({static_cast<uint8_t>(section->kind()), digest});
    ranges.push_back(range);
  }
  const FileRange own = RangeOf(*file, plan_file->envelope_digest());
  Write(RootDigest(plan_file->version(), digests), RangeOf(*file, plan_file->root_digest()), file);
  std::sort(ranges.begin(), ranges.end(),
            [](const FileRange& a, const FileRange& b) { return a.begin < b.begin; });
  Write(EnvelopeDigest(*file, ranges, own), own, file);
}

Bytes Edited(const uint8_t* data, size_t size) {
  constexpr size_t kEditBytes = 12;
  if (size == 0) return {};
  Bytes file = BaseFiles()[data[0] % BaseFiles().size()];
  const auto* sections = Envelope(file)->sections();
  for (const uint8_t* edit = data + 1; edit + kEditBytes <= data + size; edit += kEditBytes) {
    const FileRange range = RangeOf(file, sections->Get(edit[0] % sections->size())->data());
    const size_t width = size_t{1} << (edit[1] % 4);
    // Bulk data is aligned to its width, so edits of whole numbers are.
    const size_t offset = (edit[2] + 256U * edit[3]) % range.size / width * width;
    std::memcpy(file.data() + range.begin + offset, edit + 4, std::min(width, range.size - offset));
  }
  return file;
}

// What a reader does with a plan once the bounds rules have passed.
void Use(const Plan& plan) {
  const ProgramIndex index = BuildProgramIndex(plan);
  for (const PlanRank& rank : plan.ranks) {
    const Program program = ExpandProgram(plan, index, rank.rank);
    RESHARD_CHECK(program.ops.size() <= 4 * (plan.injects.size() + 1) *
                                            (plan.pieces.size() + plan.tree_members.size()),
                  "a program grows with its plan only");
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      const RankPlaces places(plan, rank.rank, side);
      for (uint32_t cls = 0; cls < plan.classes.size(); ++cls) {
        const int64_t bytes = plan.classes[cls].bytes;
        std::vector<RunNest> nests;
        const bool whole = AppendClassRuns(plan, places, cls, 0, bytes, 0, true, &nests);
        const bool part =
            AppendClassRuns(plan, places, cls, bytes / 3, bytes - bytes / 3, 0, false, &nests);
        RESHARD_CHECK(part || !whole, "a part of a class lies where the whole does");
      }
    }
  }
}

// Every byte of every run lies in an instance of its param.
bool IsInside(const Plan& plan, const RunNest& nest) {
  const PlanFamily& family = plan.families[nest.family];
  int64_t instances = 1;
  for (const int64_t extent : family.loop_extent) instances *= extent;
  int64_t low = nest.base_bytes, high = nest.base_bytes + nest.run_bytes;
  int64_t first = nest.base_instance, last = nest.base_instance;
  for (const RunNest::Dim& dim : nest.dims) {
    (dim.stride_bytes < 0 ? low : high) += (dim.extent - 1) * dim.stride_bytes;
    (dim.instance_stride < 0 ? first : last) += (dim.extent - 1) * dim.instance_stride;
  }
  return low >= 0 && high <= family.bytes && first >= 0 && last < instances;
}

// A plan that the verifier accepts touches no memory outside its params, and local rules are among
// all rules.
void Verify(const Plan& plan) {
  VerifyOptions options;
  options.work_budget = 1 << 20;
  const bool right = VerifyPlan(plan, options).ok();
  for (const PlanRank& rank : plan.ranks) {
    const VerifyReport report = VerifyRank(plan, rank.rank, options);
    RESHARD_CHECK(!right || report.ok() || report.exhausted, "a right plan is right at each rank");
  }
  if (!right) return;
  for (uint32_t cls = 0; cls < plan.classes.size(); ++cls) {
    for (const PlanSide side : {PlanSide::kSource, PlanSide::kDestination}) {
      const PlanClass& c = plan.classes[cls];
      const uint32_t set = side == PlanSide::kSource ? c.holders : c.needers;
      for (const Rank rank : plan.rank_sets[set]) {
        std::vector<RunNest> nests;
        RESHARD_CHECK(
            AppendClassRuns(plan, RankPlaces(plan, rank, side), cls, 0, c.bytes, 0, true, &nests),
            "holders and needers have a place for every cell");
        for (const RunNest& nest : nests) {
          RESHARD_CHECK(IsInside(plan, nest), "runs lie inside their params");
        }
      }
    }
  }
}

void RunOne(Bytes file) {
  RepairDigests(&file);
  LoadOptions options;
  options.max_rank_set_members = 1 << 16;
  const StatusOr<LoadedPlan> loaded = LoadPlan(file, options);
  if (!loaded.ok()) return;
  Use(loaded->plan);
  const StatusOr<Bytes> again = SerializePlan(loaded->plan);
  RESHARD_CHECK(again.ok(), "what was read can be written");
  const StatusOr<LoadedPlan> reloaded = LoadPlan(*again, options);
  RESHARD_CHECK(reloaded.ok(), "what was written can be read: " + reloaded.status().ToString());
  RESHARD_CHECK(*SerializePlan(reloaded->plan) == *again, "writing is stable");
  Verify(loaded->plan);
}

}  // namespace
}  // namespace reshard

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 8 && std::memcmp(data + 4, "RSHD", 4) == 0) {
    reshard::RunOne(reshard::Bytes(data, data + size));
  } else {
    reshard::RunOne(reshard::Edited(data, size));
  }
  return 0;
}
