#include "compiler/route/witnesses.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "compiler/route/find_cuts.h"

namespace reshard {
namespace {

__extension__ typedef __int128 Wide;

bool Tighter(const CutWitness& a, const CutWitness& b) {
  const Wide left = Wide{a.bytes} * b.bytes_per_s, right = Wide{b.bytes} * a.bytes_per_s;
  if (left != right) return left > right;
  return std::tuple(a.kind, a.members) < std::tuple(b.kind, b.members);
}

}  // namespace

std::vector<CutWitness> FindWitnesses(const TransferSet& transfers, const Topology& topology,
                                      RankSetFactsTable* facts) {
  const CutInputs inputs{&transfers, &topology, facts};
  std::vector<CutWitness> witnesses;
  FindDomainCuts(inputs, &witnesses);
  FindFabricCuts(inputs, &witnesses);
  FindRankCuts(inputs, &witnesses);
  std::sort(witnesses.begin(), witnesses.end(), Tighter);
  const auto same = [](const CutWitness& a, const CutWitness& b) {
    return a.kind == b.kind && a.members == b.members;
  };
  witnesses.erase(std::unique(witnesses.begin(), witnesses.end(), same), witnesses.end());
  std::array<size_t, kCutKinds.size()> kept{};
  std::erase_if(witnesses, [&](const CutWitness& witness) {
    return ++kept[static_cast<size_t>(witness.kind)] > kMaxWitnessesOfKind;
  });
  return witnesses;
}

int64_t WitnessNs(const CutWitness& witness) {
  return static_cast<int64_t>(Wide{witness.bytes} * 1'000'000'000 / witness.bytes_per_s);
}

}  // namespace reshard
