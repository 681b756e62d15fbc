#include "tests/backends/conformance_cases.h"

#include <fstream>
#include <sstream>
#include <utility>

#include "tests/property/m2n_cases.h"
#include "tests/property/mesh_job.h"
#include "tests/property/naive_arrays.h"
#include "tests/property/random_job.h"
#include "tests/property/topology_text.h"

namespace reshard {
namespace {

constexpr uint64_t kFirstSeed = 20261129;
constexpr uint64_t kRandomJobs = 20;

using Replacements = std::vector<std::pair<std::string, std::string>>;

ConformanceGroup M2nGroup(const std::string& name, const std::string& path) {
  ConformanceGroup group{name, {}};
  uint32_t gpus_per_node = 1;
  for (const MeshCase& mesh_case : ReadM2nCases(path)) {
    group.cases.push_back({mesh_case.name, [mesh_case, gpus_per_node] {
                             return MakeMeshJob(mesh_case, gpus_per_node);
                           }});
    gpus_per_node = gpus_per_node == 8 ? 1 : 2 * gpus_per_node;
  }
  return group;
}

ConformanceGroup MeshGroup(const std::string& name, const std::vector<MeshCase>& mesh_cases) {
  ConformanceGroup group{name, {}};
  for (const MeshCase& mesh_case : mesh_cases) {
    for (const uint32_t gpus_per_node : {1U, 2U, 4U}) {
      group.cases.push_back(
          {mesh_case.name + ", " + std::to_string(gpus_per_node) + " a node",
           [mesh_case, gpus_per_node] { return MakeMeshJob(mesh_case, gpus_per_node); }});
    }
  }
  return group;
}

std::vector<MeshCase> UnevenCases() {
  return {
      {"rows of 13",
       {13, 3},
       2,
       {{4}, {"S(0)"}, RanksFrom(0, 4)},
       {{3}, {"S(0)"}, RanksFrom(4, 3)}},
      {"fewer rows than ranks",
       {3, 5},
       4,
       {{2, 2}, {"S(0)", "S(1)"}, RanksFrom(0, 4)},
       {{5}, {"S(0)"}, RanksFrom(4, 5)}},
      {"two on one dim",
       {11, 2},
       4,
       {{2, 2}, {"S(0)", "S(0)"}, RanksFrom(0, 4)},
       {{2, 3}, {"S(0)", "S(0)"}, RanksFrom(4, 6)}},
  };
}

// Columns of columns: every run is a few bytes.
std::vector<MeshCase> StridedCases() {
  return {
      {"last dim",
       {31, 6, 12},
       2,
       {{3}, {"S(2)"}, RanksFrom(0, 3)},
       {{2, 2}, {"R", "S(1)"}, RanksFrom(3, 4)}},
      {"rows to columns",
       {64, 48},
       1,
       {{4}, {"S(0)"}, RanksFrom(0, 4)},
       {{2, 4}, {"R", "S(1)"}, RanksFrom(4, 8)}},
      {"rank 8",
       {2, 2, 2, 2, 2, 2, 2, 3},
       1,
       {{2, 2}, {"S(1)", "S(6)"}, RanksFrom(0, 4)},
       {{3, 2}, {"S(7)", "S(3)"}, RanksFrom(4, 6)}},
  };
}

std::vector<MeshCase> ColocatedCases() {
  return {
      {"rows to columns in place",
       {8, 8},
       2,
       {{4}, {"S(0)"}, RanksFrom(0, 4)},
       {{4}, {"S(1)"}, RanksFrom(0, 4)}},
      {"nothing moves",
       {8, 8},
       2,
       {{4}, {"S(0)"}, RanksFrom(0, 4)},
       {{4}, {"S(0)"}, RanksFrom(0, 4)}},
      {"some ranks on both sides",
       {8, 6},
       4,
       {{4}, {"S(0)"}, RanksFrom(0, 4)},
       {{2, 3}, {"R", "S(1)"}, {3, 2, 4, 5, 6, 7}}},
  };
}

std::string ReadLayout(const std::string& name, const Replacements& replacements) {
  std::ifstream file("tests/data/layouts/" + name + ".json");
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  for (const auto& [from, to] : replacements) {
    const size_t at = text.find(from);
    if (at == std::string::npos) return "no '" + from + "' in " + name;
    text.replace(at, from.size(), to);
  }
  return text;
}

Job ModelJob(const std::string& train, const std::string& infer) {
  Job job;
  job.train = train;
  job.infer = infer;
  job.topo = EvenTopology(RanksFrom(0, kConformanceRanks), 4);
  job.slice_bytes = 1 << 14;
  std::string error;
  // A layout that cannot be read leaves the job without params, which its run reports.
  if (!NaiveJobParams(job.train, job.infer, &job.params, &error)) job.params.clear();
  return job;
}

// The structures of the models with small sizes, from 8 to 8 ranks.
Job SmallQwen3() {
  return ModelJob(
      ReadLayout("qwen3_235b_train",
                 {{R"("H":4096,"L":94,"NQ":64,"NKV":4,"D":128,"E":128,"I":1536,"V":151936)",
                   R"("H":32,"L":8,"NQ":8,"NKV":2,"D":4,"E":8,"I":16,"V":300)"},
                  {R"("EP":16)", R"("EP":2)"},
                  {"[[0,23],[23,47],[47,71],[71,94]]", "[[0,2],[2,4],[4,6],[6,8]]"},
                  {R"("shape":[4,4,2,2])", R"("shape":[4,1,1,2])"},
                  {R"("shape":[4,1,16,1])", R"("shape":[4,1,2,1])"}}),
      ReadLayout("qwen3_235b_infer",
                 {{R"("H":4096,"L":94,"NQ":64,"NKV":4,"D":128,"E":128,"I":1536,"V":151936)",
                   R"("H":32,"L":8,"NQ":8,"NKV":2,"D":4,"E":8,"I":16,"V":300)"},
                  {R"("rank_base":64)", R"("rank_base":8)"},
                  {R"("shape":[8,8])", R"("shape":[2,4])"}}));
}

Job SmallDeepSeek() {
  const std::string sizes =
      R"("H":7168,"L":61,"DENSE":3,"V":129280,"NQ":128,"QL":1536,"KL":512,"NOPE":128,"ROPE":64,)"
      R"("VD":128,"I":18432,"IE":2048,"E":256)";
  const std::string small =
      R"("H":32,"L":8,"DENSE":1,"V":300,"NQ":8,"QL":16,"KL":8,"NOPE":4,"ROPE":2,)"
      R"("VD":4,"I":64,"IE":16,"E":8)";
  return ModelJob(ReadLayout("deepseek_v3_128_train",
                             {{sizes, small},
                              {R"("EP":16)", R"("EP":2)"},
                              {"[[0,15],[15,30],[30,46],[46,61]]", "[[0,2],[2,4],[4,6],[6,8]]"},
                              {R"("shape":[4,32,1])", R"("shape":[4,2,1])"},
                              {R"("shape":[4,2,16,1])", R"("shape":[4,1,2,1])"}}),
                  ReadLayout("deepseek_v3_128_infer", {{sizes, small},
                                                       {R"("rank_base":128)", R"("rank_base":8)"},
                                                       {R"("shape":[16,8])", R"("shape":[2,4])"}}));
}

// More rounds than receive slots, over chains of domains.
Job ManyRounds(uint32_t gpus_per_node) {
  Job job = MakeMeshJob({"many rounds",
                         {96, 512},
                         4,
                         {{4}, {"S(0)"}, RanksFrom(0, 4)},
                         {{3, 4}, {"R", "S(1)"}, RanksFrom(4, 12)}},
                        gpus_per_node);
  job.slice_bytes = 4096;
  return job;
}

// One rank holds everything. NICs are so slow that the others of its domain are worth their rounds.
Job CarriedJob(const std::vector<uint32_t>& needers, const std::string& nic_of_holder) {
  Job job = MakeMeshJob({"carried",
                         {256, 1024},
                         2,
                         {{1}, {"R"}, {0}},
                         {{static_cast<int64_t>(needers.size()) / 4, 4}, {"R", "S(1)"}, needers}},
                        4);
  std::vector<std::vector<std::string>> nics(4, std::vector<std::string>(4, "0.01"));
  nics[0][0] = nic_of_holder;
  job.topo = DomainTopology(nics);
  job.slice_bytes = 16384;
  return job;
}

// One rank of a domain holds what its others need. The scale-up fabric is so slow that it pays to
// send each byte once.
Job HandedJob(const std::vector<uint32_t>& needers) {
  Job job = MakeMeshJob({"handed",
                         {256, 1024},
                         2,
                         {{1}, {"R"}, {0}},
                         {{static_cast<int64_t>(needers.size())}, {"R"}, needers}},
                        8);
  job.topo = DomainTopology({std::vector<std::string>(8, "0.01")}, "0.1");
  job.slice_bytes = 16384;
  return job;
}

// Rank 4 alone needs something of its domain, and has a slow NIC or none; ranks 8 to 11 need it,
// too.
Job LandedJob(const std::string& nic_of_needer) {
  Job job = MakeMeshJob(
      {"landed", {256, 1024}, 2, {{4}, {"S(0)"}, RanksFrom(0, 4)}, {{5}, {"R"}, {4, 8, 9, 10, 11}}},
      4);
  std::vector<std::vector<std::string>> nics(4, std::vector<std::string>(4, "0.01"));
  nics[1][0] = nic_of_needer;
  job.topo = DomainTopology(nics);
  job.slice_bytes = 16384;
  return job;
}

// One tensor of each rank 0 to 4 for the rank five further on, so large that none of these can send
// more, but rank 0, which also holds what 1 to 4 all need. Rank 10 holds and needs nothing.
Job RelayedJob() {
  std::string tensors = R"({"name":"x","shape":[100000],"dtype":"u8"})", meshes, train, infer;
  for (int rank = 0; rank < 5; ++rank) {
    const std::string id = std::to_string(rank), to = std::to_string(rank + 5);
    const std::string bytes = rank == 0 ? "100000" : "200000";
    tensors += R"(,{"name":"z)" + id + R"(","shape":[)" + bytes + R"(],"dtype":"u8"})";
    meshes += R"(,"from)" + id + R"(":{"axes":["m"],"ranks":[)" + id + R"(]},"to)" + id +
              R"(":{"axes":["m"],"ranks":[)" + to + "]}";
    train += R"(,{"name":"z","mesh":"from)" + id + R"(","value":"z)" + id + "\"}";
    infer += R"(,{"name":"z","mesh":"to)" + id + R"(","value":"z)" + id + "\"}";
  }
  meshes =
      R"("meshes":{"x":{"axes":["m"],"ranks":[1,2,3,4]})" + meshes + R"(},"params":[{"name":"x",)";
  Job job;
  job.train = R"({"format":"reshard-layout","version":1,"side":"source","logical":[)" + tensors +
              "]," + meshes + R"("mesh":"from0","value":"x"})" + train + "]}";
  job.infer = R"({"format":"reshard-layout","version":1,"side":"destination","colocated":true,)" +
              meshes + R"("mesh":"x","value":"x"})" + infer + "]}";
  std::vector<std::vector<std::string>> nics(10, {"0.01"});
  nics.push_back({"0.04"});
  job.topo = DomainTopology(nics);
  std::string error;
  // A layout that cannot be read leaves the job without params, which its run reports.
  if (!NaiveJobParams(job.train, job.infer, &job.params, &error)) job.params.clear();
  return job;
}

}  // namespace

std::vector<ConformanceCase> RelayedCases() { return {{"over an idle rank", RelayedJob}}; }

std::vector<ConformanceCase> LandedCases() {
  return {{"on NICs of idle ranks", [] { return LandedJob("0.01"); }},
          {"for a rank without a NIC", [] { return LandedJob(""); }}};
}

std::vector<ConformanceCase> CarriedCases() {
  return {
      {"other NICs of the holder's domain", [] { return CarriedJob(RanksFrom(4, 12), "0.01"); }},
      {"a holder without a NIC", [] { return CarriedJob(RanksFrom(4, 12), ""); }},
      {"in place", [] { return CarriedJob(RanksFrom(0, 16), "0.01"); }}};
}

std::vector<ConformanceCase> HandedCases() {
  return {{"to those without", [] { return HandedJob(RanksFrom(1, 7)); }},
          {"in place", [] { return HandedJob(RanksFrom(0, 8)); }}};
}

std::vector<ConformanceGroup> ConformanceSuite() {
  std::vector<ConformanceGroup> suite;
  suite.push_back(MeshGroup("toy", {{"rows to columns",
                                     {8, 8},
                                     4,
                                     {{2}, {"S(0)"}, RanksFrom(0, 2)},
                                     {{4}, {"S(1)"}, RanksFrom(2, 4)}}}));
  suite.push_back(M2nGroup("m2n_w4", "tests/data/m2n/cases_w4.json"));
  suite.push_back(M2nGroup("m2n_w8", "tests/data/m2n/cases_w8.json"));
  suite.push_back(MeshGroup("uneven", UnevenCases()));
  suite.push_back(MeshGroup("strided", StridedCases()));
  suite.push_back(MeshGroup("colocated", ColocatedCases()));
  ConformanceGroup rounds{"rounds", {}};
  for (const uint32_t gpus_per_node : {1U, 2U, 4U}) {
    rounds.cases.push_back({std::to_string(gpus_per_node) + " a node",
                            [gpus_per_node] { return ManyRounds(gpus_per_node); }});
  }
  suite.push_back(std::move(rounds));
  suite.push_back({"carried", CarriedCases()});
  suite.push_back({"handed", HandedCases()});
  suite.push_back({"relayed", RelayedCases()});
  suite.push_back({"landed", LandedCases()});
  suite.push_back({"models", {{"Qwen3-235B", SmallQwen3}, {"DeepSeek-V3", SmallDeepSeek}}});
  ConformanceGroup random{"random", {}};
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kRandomJobs; ++seed) {
    random.cases.push_back({"seed " + std::to_string(seed), [seed] {
                              return RandomJob(seed, {6, 8});
                            }});
  }
  suite.push_back(std::move(random));
  return suite;
}

}  // namespace reshard
