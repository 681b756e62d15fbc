#include "compiler/route/demands.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "compiler/transfer/describe_tensors.h"
#include "compiler/transfer/name_ranks.h"

namespace reshard {
namespace {

class DemandFinder {
 public:
  DemandFinder(const LogicalTable& table, const TransferSet& transfers, const Topology& topology,
               const Ports& ports, RankSetFactsTable* facts, Diagnostics* diags, Demands* out)
      : table_(table),
        transfers_(transfers),
        topology_(topology),
        ports_(ports),
        facts_(*facts),
        diags_(*diags),
        out_(*out) {}

  bool Run();

 private:
  void CheckPlaces();
  bool CanSend(const RankSetFacts& holders) const;
  bool CheckSenders(ClassId cls, bool over_network);
  void ReportStuck();
  DomainSetId Intern(const std::vector<DomainId>& domains);
  void AddClass(ClassId cls);
  Diagnostic& Error(DiagnosticCode code, ClassId cls, std::string text);

  const LogicalTable& table_;
  const TransferSet& transfers_;
  const Topology& topology_;
  const Ports& ports_;
  RankSetFactsTable& facts_;
  Diagnostics& diags_;
  Demands& out_;
  std::map<std::vector<DomainId>, DomainSetId> ids_;
  std::map<RankSetId, DomainSetId> whole_set_;  // of needers without a holder near them
  std::map<RankSetId, std::vector<ClassId>>
      stuck_;  // classes that cannot be sent, by their holders
};

Diagnostic& DemandFinder::Error(DiagnosticCode code, ClassId cls, std::string text) {
  const Cell& cell = transfers_.cells[transfers_.classes[cls].first_cell];
  Diagnostic& error = diags_.Error(code, Span{topology_.file, 0, 0}, std::move(text));
  error.notes.push_back({table_.supers[cell.super].declared, "the tensor is declared here"});
  return error;
}

DomainSetId DemandFinder::Intern(const std::vector<DomainId>& domains) {
  const auto [entry, is_new] =
      ids_.try_emplace(domains, static_cast<DomainSetId>(out_.domain_sets.size()));
  if (is_new) out_.domain_sets.push_back(domains);
  return entry->second;
}

// One error for all ranks without a place, so that a whole missing node is one message.
void DemandFinder::CheckPlaces() {
  RankList missing;
  ClassId first_class = 0;
  for (ClassId cls = 0; cls < transfers_.classes.size(); ++cls) {
    for (const RankSetId set : {transfers_.classes[cls].holders, transfers_.classes[cls].needers}) {
      const RankList& unplaced = facts_[set].unplaced;
      if (unplaced.empty() || IsSubset(unplaced, missing)) continue;
      if (missing.empty()) first_class = cls;
      missing = Union(missing, unplaced);
    }
  }
  if (missing.empty()) return;
  Error(DiagnosticCode::kNoPlace, first_class,
        "the topology has no place for " + NameRanks(missing) +
            ", expected one for every rank that has weights (" +
            DescribeTensors(table_, transfers_, {first_class}) + " for one)");
}

// By a NIC of its own, or by that of another rank of the domain.
bool DemandFinder::CanSend(const RankSetFacts& holders) const {
  if (!holders.networked.empty()) return true;
  for (const DomainId domain : holders.by_domain.domains) {
    const RankList& ranks = topology_.domains[domain].ranks;
    const auto has_nic = [&](Rank rank) { return ports_.outlet_of_rank(rank) != kNone; };
    if (std::any_of(ranks.begin(), ranks.end(), has_nic)) return true;
  }
  return false;
}

bool DemandFinder::CheckSenders(ClassId cls, bool over_network) {
  const TransferClass& facts = transfers_.classes[cls];
  const RankSetFacts& holders = facts_[facts.holders];
  if (!over_network || CanSend(holders)) return true;
  stuck_[facts.holders].push_back(cls);
  return false;
}

// One error for all that the same ranks alone hold and cannot send.
void DemandFinder::ReportStuck() {
  for (const auto& [holders, classes] : stuck_) {
    RankList needers;
    for (const ClassId cls : classes) {
      needers = Union(needers, transfers_.rank_sets[transfers_.classes[cls].needers]);
    }
    const std::string what = "bytes of " + DescribeTensors(table_, transfers_, classes) + " for " +
                             NameRanks(needers) + " are only on " +
                             NameRanks(transfers_.rank_sets[holders]);
    Error(DiagnosticCode::kNoNic, classes[0], what + ", in domains without a NIC to send them");
  }
}

void DemandFinder::AddClass(ClassId cls) {
  const TransferClass& facts = transfers_.classes[cls];
  const RanksByDomain& needers = facts_[facts.needers].by_domain;
  const RanksByDomain& holders = facts_[facts.holders].by_domain;
  std::vector<DomainId> shared;
  std::set_intersection(needers.domains.begin(), needers.domains.end(), holders.domains.begin(),
                        holders.domains.end(), std::back_inserter(shared));
  const bool over_network = shared.size() < needers.domains.size();
  if (!CheckSenders(cls, over_network)) return;
  for (const DomainId domain : shared) out_.local.push_back({cls, domain});
  if (!over_network) return;
  if (shared.empty()) {
    const auto [entry, is_new] = whole_set_.try_emplace(facts.needers, 0);
    if (is_new) entry->second = Intern(needers.domains);
    out_.network[cls] = entry->second;
    return;
  }
  std::vector<DomainId> remote;
  std::set_difference(needers.domains.begin(), needers.domains.end(), shared.begin(), shared.end(),
                      std::back_inserter(remote));
  out_.network[cls] = Intern(remote);
}

bool DemandFinder::Run() {
  const size_t errors_before = diags_.error_count();
  out_.network.assign(transfers_.classes.size(), kNone);
  CheckPlaces();
  if (diags_.error_count() != errors_before) return false;
  for (ClassId cls = 0; cls < transfers_.classes.size(); ++cls) AddClass(cls);
  ReportStuck();
  return diags_.error_count() == errors_before;
}

}  // namespace

bool FindDemands(const LogicalTable& table, const TransferSet& transfers, const Topology& topology,
                 const Ports& ports, RankSetFactsTable* facts, Diagnostics* diags, Demands* out) {
  return DemandFinder(table, transfers, topology, ports, facts, diags, out).Run();
}

}  // namespace reshard
