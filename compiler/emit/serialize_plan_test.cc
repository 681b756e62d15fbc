#include "compiler/emit/serialize_plan.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/sha256.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/plan_digests.h"
#include "runtime/plan/testing/small_plan.h"
#include "schemas/plan_generated.h"

namespace reshard {
namespace {

using testing::ColocatedPlan;
using testing::ExpertPlan;
using testing::NamedPlan;
using testing::SmallPlans;
using testing::ToyPlan;
using Bytes = std::vector<uint8_t>;

Bytes Serialize(const Plan& plan) {
  StatusOr<Bytes> bytes = SerializePlan(plan);
  REQUIRE(bytes.ok());
  return *std::move(bytes);
}

std::string LoadError(const Bytes& bytes, const LoadOptions& options = {}) {
  const StatusOr<LoadedPlan> loaded = LoadPlan(bytes, options);
  return loaded.ok() ? "" : loaded.status().ToString();
}

// A file made of whatever sections a test likes, with digests that hold.
struct RawSection {
  uint8_t kind;
  Bytes data;
};
Bytes MakeFile(uint32_t version, const std::vector<RawSection>& sections, size_t alignment = 16) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<flatbuffers::Offset<fb::Section>> rows;
  std::vector<SectionDigest> digests;
  for (const RawSection& section : sections) {
    const Digest digest = Sha256Of(std::as_bytes(std::span(section.data)));
    digests.push_back({section.kind, digest});
    fbb.ForceVectorAlignment(section.data.size(), 1, alignment);
    const auto data = fbb.CreateVector(section.data);
    const auto digest_bytes = fbb.CreateVector(digest.data(), digest.size());
    rows.push_back(
        fb::CreateSection(fbb, static_cast<fb::SectionKind>(section.kind), digest_bytes, data));
  }
  const auto section_rows = fbb.CreateVector(rows);
  const Digest root = RootDigest(version, digests);
  const auto root_bytes = fbb.CreateVector(root.data(), root.size());
  const auto zeros = fbb.CreateVector(Digest{}.data(), sizeof(Digest));
  fb::FinishPlanFileBuffer(fbb, fb::CreatePlanFile(fbb, version, root_bytes, section_rows, zeros));
  Bytes file(fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize());
  const fb::PlanFile* plan_file = fb::GetPlanFile(file.data());
  // Later sections lie nearer to the file's begin: FlatBuffers builds from the end.
  std::vector<FileRange> ranges;
  for (size_t i = sections.size(); i-- > 0;) {
    const auto* data = plan_file->sections()->Get(static_cast<flatbuffers::uoffset_t>(i))->data();
    ranges.push_back({static_cast<size_t>(data->data() - file.data()), data->size()});
  }
  const size_t own = static_cast<size_t>(plan_file->envelope_digest()->data() - file.data());
  const Digest envelope = EnvelopeDigest(file, ranges, {own, sizeof(Digest)});
  std::copy(envelope.begin(), envelope.end(), file.begin() + static_cast<std::ptrdiff_t>(own));
  return file;
}

std::vector<RawSection> SectionsOf(const Bytes& file) {
  std::vector<RawSection> sections;
  for (const fb::Section* section : *fb::GetPlanFile(file.data())->sections()) {
    sections.push_back({static_cast<uint8_t>(section->kind()),
                        Bytes(section->data()->begin(), section->data()->end())});
  }
  return sections;
}

template <class Build>
Bytes Section(const Build& build) {
  flatbuffers::FlatBufferBuilder fbb;
  build(&fbb);
  return {fbb.GetBufferPointer(), fbb.GetBufferPointer() + fbb.GetSize()};
}

TEST_CASE("a loaded plan serializes to the same bytes") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const Bytes bytes = Serialize(named.plan);
    const StatusOr<LoadedPlan> loaded = LoadPlan(bytes, {});
    CHECK(LoadError(bytes) == "");
    REQUIRE(loaded.ok());
    CHECK(Serialize(loaded->plan) == bytes);
    CHECK(Serialize(named.plan) == bytes);
  }
}

TEST_CASE("what is loaded is what was written") {
  const Plan plan = ExpertPlan();
  const StatusOr<LoadedPlan> loaded = LoadPlan(Serialize(plan), {});
  REQUIRE(loaded.ok());
  const Plan& got = loaded->plan;
  CHECK(got.header.train_digest == plan.header.train_digest);
  CHECK(got.header.topo_digest == plan.header.topo_digest);
  CHECK(got.header.options == plan.header.options);
  CHECK(got.header.totals.predicted_ns == 640 + 2 * 20'000);
  CHECK(got.rank_sets == plan.rank_sets);
  CHECK(got.supers[0].name == plan.supers[0].name);
  CHECK(got.supers[0].dims[1].weight == 2);
  CHECK(got.families[2].shares == plan.families[2].shares);
  CHECK(got.families[4].external);
  CHECK(got.sites[3].node == "infer0");
  CHECK(got.sites[3].nics == plan.sites[3].nics);
  CHECK(got.nics[2].name == "infer0/nic0");
  CHECK(got.nics[2].rail == -1);
  CHECK(got.cuts[1].members == plan.cuts[1].members);
  CHECK(got.place_dims[4].stride_bytes == 2);
  CHECK(got.fills[0].dim_count == 2);
  CHECK(got.intervals == plan.intervals);
  CHECK(got.cell_dims == plan.cell_dims);
  CHECK(got.classes[3].bytes == 192);
  CHECK(got.injects[5].source == 1);
  CHECK(got.injects[5].begin == 192);
  CHECK(got.ranks[2].recv_slot_bytes == 256);
  CHECK(got.streams[1].bytes == 384);
  CHECK(!got.streams[1].local);
  const StatusOr<LoadedPlan> colocated = LoadPlan(Serialize(ColocatedPlan()), {});
  REQUIRE(colocated.ok());
  CHECK(colocated->plan.streams[0].local);
}

TEST_CASE("the root digest stands for the content") {
  const StatusOr<LoadedPlan> a = LoadPlan(Serialize(ToyPlan()), {});
  Plan changed = ToyPlan();
  changed.header.totals.predicted_ns += 1;
  const StatusOr<LoadedPlan> b = LoadPlan(Serialize(changed), {});
  REQUIRE((a.ok() && b.ok()));
  CHECK(a->root_digest != b->root_digest);
  // The same sections in another envelope: another file, the same plan.
  const Bytes file = Serialize(ToyPlan());
  const Bytes other = MakeFile(1, SectionsOf(file), 32);
  const StatusOr<LoadedPlan> c = LoadPlan(other, {});
  REQUIRE(c.ok());
  CHECK(other != file);
  CHECK(c->root_digest == a->root_digest);
}

TEST_CASE("every proper prefix is refused") {
  const Bytes bytes = Serialize(ColocatedPlan());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string error =
        LoadError(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    if (error.find("[corrupt-data]") == std::string::npos) {
      CAPTURE(size);
      CHECK(error == "a refusal");
    }
  }
  Bytes longer = bytes;
  longer.push_back(0);
  CHECK(LoadError(longer) != "");
}

TEST_CASE("every single bit flip is refused") {
  const Bytes bytes = Serialize(ToyPlan());
  Bytes flipped = bytes;
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    const auto mask = static_cast<uint8_t>(1U << (bit % 8));
    flipped[bit / 8] ^= mask;
    const std::string error = LoadError(flipped);
    if (error.find("[corrupt-data]") == std::string::npos) {
      CAPTURE(bit);
      CHECK(error == "a refusal");
    }
    flipped[bit / 8] ^= mask;
  }
  CHECK(LoadError(flipped) == "");
}

TEST_CASE("what is no plan, or of another version, is refused by name") {
  const Bytes text = {'{', '"', 'f', 'o', 'r', 'm', 'a', 't', '"', '}'};
  CHECK(LoadError(text) ==
        "not a plan file (it does not begin with the identifier RSHD) [corrupt-data]");
  CHECK(LoadError({}) ==
        "not a plan file (it does not begin with the identifier RSHD) [corrupt-data]");
  const std::vector<RawSection> sections = SectionsOf(Serialize(ToyPlan()));
  CHECK(LoadError(MakeFile(1, sections)) == "");
  CHECK(LoadError(MakeFile(2, sections)) ==
        "plan version 2 is newer than this program understands (1) [corrupt-data]");
  CHECK(LoadError(MakeFile(0, sections)) == "plan version 0 does not exist [corrupt-data]");
}

TEST_CASE("sections are complete, in order and aligned; one of a later writer is passed over") {
  const std::vector<RawSection> sections = SectionsOf(Serialize(ToyPlan()));
  std::vector<RawSection> missing = sections;
  missing.erase(missing.begin() + 2);
  CHECK(LoadError(MakeFile(1, missing)) ==
        "the plan file has no section 'Topology' [corrupt-data]");
  CHECK(LoadError(MakeFile(1, {})) == "the plan file has no section 'Header' [corrupt-data]");
  std::vector<RawSection> swapped = sections;
  std::swap(swapped[0], swapped[1]);
  CHECK(LoadError(MakeFile(1, swapped)) ==
        "section 'Header' of the plan file is out of order [corrupt-data]");
  std::vector<RawSection> more = sections;
  more.push_back({200, {1, 2, 3}});
  CHECK(LoadError(MakeFile(1, more)) == "");
  std::vector<RawSection> garbage = sections;
  garbage[3].data = {1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(LoadError(MakeFile(1, garbage)) ==
        "section 'Places' of the plan file: it is not a sound FlatBuffer [corrupt-data]");
}

TEST_CASE("bounds are checked before a plan is handed out") {
  Plan plan = ToyPlan();
  plan.injects[0].tree = 77;
  CHECK(LoadError(Serialize(plan)) == "the plan is malformed: inject 0 has no tree [corrupt-data]");
}

TEST_CASE("limits come from the caller, not from the file") {
  const Bytes bytes = Serialize(ToyPlan());
  LoadOptions options;
  options.max_bytes = bytes.size() - 1;
  CHECK(LoadError(bytes, options).find("[limit-exceeded]") != std::string::npos);
  options = {};
  options.max_rank_set_members = 5;  // six sets of one rank
  CHECK(LoadError(bytes, options).find("more members than the limit") != std::string::npos);
}

TEST_CASE("a run of ranks cannot claim more than the limit or leave 32 bits") {
  std::vector<RawSection> sections = SectionsOf(Serialize(ToyPlan()));
  const auto with_run = [&sections](const fb::RankRun& run) {
    sections[1].data = Section([&run](flatbuffers::FlatBufferBuilder* fbb) {
      const auto runs = fbb->CreateVectorOfStructs(std::vector<fb::RankRun>{run});
      const auto sets = fbb->CreateVectorOfStructs(std::vector<fb::RankSet>{{0, 1}});
      fbb->Finish(fb::CreateNamesSection(*fbb, 0, 0, runs, sets));
    });
    return LoadError(MakeFile(1, sections));
  };
  CHECK(with_run({0, 0xFFFFFFFF, 1, 0xFFFFFFFF, 1}).find("more members") != std::string::npos);
  CHECK(with_run({0, 0, 1, 1, 1}).find("empty") != std::string::npos);
  CHECK(with_run({0xFFFFFFFF, 2, 1, 1, 1}).find("32 bits") != std::string::npos);
  CHECK(with_run({0, 2, 0xFFFFFFFF, 3, 0xFFFFFFFF}).find("32 bits") != std::string::npos);
  // Overlapping runs repeat a rank.
  CHECK(with_run({0, 2, 0, 1, 1}).find("not rising") != std::string::npos);
}

TEST_CASE("a text that many rows share is not copied for each") {
  std::vector<RawSection> sections = SectionsOf(Serialize(ToyPlan()));
  sections[2].data = Section([](flatbuffers::FlatBufferBuilder* fbb) {
    const auto name = fbb->CreateString(std::string(100'000, 'x'));
    std::vector<flatbuffers::Offset<fb::Nic>> nics(50'000, fb::CreateNic(*fbb, name, 1, 0));
    const auto rows = fbb->CreateVector(nics);
    fbb->Finish(fb::CreateTopologySection(*fbb, rows));
  });
  CHECK(LoadError(MakeFile(1, sections)) ==
        "section 'Topology' of the plan file: its parts refer to each other again and again "
        "[corrupt-data]");
}

TEST_CASE("an enumerator that does not fit its byte is not wrapped around") {
  std::vector<RawSection> sections = SectionsOf(Serialize(ExpertPlan()));
  Bytes& places = sections[3].data;
  // 256 as the rule of the only fill: the low byte alone would read as zero.
  const fb::Fill* fill = flatbuffers::GetRoot<fb::PlacesSection>(places.data())->fills()->Get(0);
  const size_t rule =
      static_cast<size_t>(reinterpret_cast<const uint8_t*>(fill) - places.data()) + 20;
  REQUIRE(fill->rule() == 0);
  places[rule + 1] = 1;
  REQUIRE(fill->rule() == 256);
  CHECK(LoadError(MakeFile(1, sections)) ==
        "the plan is malformed: fill 0 has an unknown rule [corrupt-data]");
}

TEST_CASE("a message of 4 GiB is refused, not cut") {
  Plan plan = ToyPlan();
  plan.injects[0].extent = int64_t{1} << 32;
  CHECK(!SerializePlan(plan).ok());
}

TEST_CASE("a plan that does not fit its file is refused") {
  for (const NamedPlan& named : SmallPlans()) {
    CAPTURE(named.name);
    const size_t file_bytes = SerializePlan(named.plan)->size();
    CHECK(SerializePlan(named.plan, file_bytes).ok());
    // By the estimate at once, and by the sections where the estimate is below the limit.
    for (const uint64_t limit : {uint64_t{1}, uint64_t{file_bytes / 2}}) {
      CHECK(SerializePlan(named.plan, limit).status().code() == StatusCode::kLimitExceeded);
    }
  }
}

TEST_CASE("files are read whole, and failures name the file") {
  const char* folder = std::getenv("TEST_TMPDIR");
  const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/plan.fb";
  const Bytes bytes = Serialize(ToyPlan());
  std::FILE* file = std::fopen(path.c_str(), "wb");
  REQUIRE(file != nullptr);
  REQUIRE(std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size());
  REQUIRE(std::fclose(file) == 0);
  const StatusOr<LoadedPlan> loaded = LoadPlanFile(path, {});
  REQUIRE(loaded.ok());
  CHECK(Serialize(loaded->plan) == bytes);
  LoadOptions small;
  small.max_bytes = 100;
  CHECK(LoadPlanFile(path, small).status().code() == StatusCode::kLimitExceeded);
  std::remove(path.c_str());
  const StatusOr<LoadedPlan> missing = LoadPlanFile(path, {});
  REQUIRE(!missing.ok());
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK(missing.status().message().find(path) != std::string::npos);
}

}  // namespace
}  // namespace reshard
