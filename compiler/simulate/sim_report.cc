#include "compiler/simulate/sim_report.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// The rounds that the simulation covers: the plan's, or the window's part of them.
uint32_t FirstRound(const SimCase& sim) {
  return std::min(sim.options.first_round, sim.plan.header.totals.rounds);
}
uint32_t EndRound(const SimCase& sim) {
  return std::min(sim.options.end_round, sim.plan.header.totals.rounds);
}
bool WholePlan(const SimCase& sim) {
  return FirstRound(sim) == 0 && EndRound(sim) == sim.plan.header.totals.rounds;
}

double Ratio(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The port that is busy the longest, of `ports` named by `name_of`: "train00/mlx5_3 in, 98.4 % of
// the time"; empty when nothing moved.
std::string BusiestPort(const std::vector<SimPort>& ports, int64_t total_ns,
                        const std::function<std::string(size_t)>& name_of) {
  int64_t busiest_ns = 0;
  std::string text;
  for (size_t p = 0; p < ports.size(); ++p) {
    for (const bool in : {false, true}) {
      const SimPortUse& use = in ? ports[p].in : ports[p].out;
      if (use.busy_ns <= busiest_ns) continue;
      busiest_ns = use.busy_ns;
      text = name_of(p) + (in ? " in" : " out") + ", busy " +
             FormatPercent(Ratio(use.busy_ns, total_ns)) + ", " + FormatBytes(use.bytes);
    }
  }
  return text;
}

void WritePorts(std::string_view list, const std::vector<SimPort>& ports,
                const std::function<void(size_t)>& write_name, JsonWriter* json) {
  json->BeginArray(list);
  for (size_t p = 0; p < ports.size(); ++p) {
    json->BeginObject();
    write_name(p);
    json->Field("out_bytes", ports[p].out.bytes);
    json->Field("out_busy_ns", ports[p].out.busy_ns);
    json->Field("in_bytes", ports[p].in.bytes);
    json->Field("in_busy_ns", ports[p].in.busy_ns);
    json->End();
  }
  json->End();
}

void WriteRanks(const SimResult& result, JsonWriter* json) {
  json->BeginArray("ranks");
  for (const SimRank& rank : result.ranks) {
    json->BeginObject();
    json->Field("rank", rank.rank);
    json->Field("end_ns", rank.end_ns);
    json->Field("wait_for_peers_ns", rank.wait_for_peers_ns);
    json->Field("wait_for_slots_ns", rank.wait_for_slots_ns);
    json->End();
  }
  json->End();
}

// A row per baseline. All are load models: no plan is made of them.
void PrintBaselines(const SimCase& sim, std::ostream& out) {
  if (sim.baselines->empty()) {
    out << "baselines   none: the topology does not connect every two ranks\n";
    return;
  }
  TextTable table({"baseline", "how", ">time", ">/ this plan", ">most of a NIC", ">buffer"});
  int64_t most_nic_bytes = 0;
  for (const SimPort& nic : sim.result.nics) {
    most_nic_bytes = std::max({most_nic_bytes, nic.out.bytes, nic.in.bytes});
  }
  table.Add({"this plan", "simulated", FormatNanoseconds(sim.result.total_ns), FormatRatio(1),
             FormatBytes(most_nic_bytes), FormatBinary(sim.result.max_staging_bytes)});
  for (const Baseline& baseline : *sim.baselines) {
    table.Add({std::string(BaselineText(baseline.kind)), "load model",
               FormatNanoseconds(baseline.time_ns),
               FormatRatio(Ratio(baseline.time_ns, sim.result.total_ns)),
               FormatBytes(baseline.most_nic_bytes), FormatBinary(baseline.buffer_bytes)});
  }
  out << "\n";
  table.Print({OutputFormat::kText, 0, 0}, out);
}

void WriteBaselines(const SimCase& sim, JsonWriter* json) {
  json->BeginArray("baselines");
  for (const Baseline& baseline : *sim.baselines) {
    json->BeginObject();
    json->Field("name", BaselineText(baseline.kind));
    json->Field("how", "load model");
    json->Field("time_ns", baseline.time_ns);
    json->Field("busiest_port_ns", baseline.busiest_port_ns);
    json->Field("most_nic_bytes", baseline.most_nic_bytes);
    json->Field("buffer_bytes", baseline.buffer_bytes);
    json->BeginArray("nics");
    for (size_t n = 0; n < baseline.nics.size(); ++n) {
      json->BeginObject();
      json->Field("name", sim.plan.nics[n].name);
      json->Field("out_bytes", baseline.nics[n].out);
      json->Field("in_bytes", baseline.nics[n].in);
      json->End();
    }
    json->End();
    json->End();
  }
  json->End();
}

}  // namespace

void PrintSimulation(const SimCase& sim, std::ostream& out) {
  const SimResult& result = sim.result;
  const PlanTotals& totals = sim.plan.header.totals;
  const auto row = [&](const char* name) -> std::ostream& {
    return out << std::left << std::setw(12) << name << std::right;
  };
  row("simulated") << FormatNanoseconds(result.total_ns) << " for rounds " << FirstRound(sim)
                   << " to " << EndRound(sim) - 1 << ", "
                   << FormatNanoseconds(sim.options.round_cost_ns) << " a round\n";
  if (WholePlan(sim) && !sim.other_topology) {
    row("predicted") << FormatNanoseconds(totals.predicted_ns) << ", simulated/predicted "
                     << FormatRatio(Ratio(result.total_ns, totals.predicted_ns)) << "\n";
    if (totals.bound_ns > 0) {
      row("bound") << FormatNanoseconds(totals.bound_ns) << ", simulated/bound "
                   << FormatRatio(Ratio(result.total_ns, totals.bound_ns)) << "\n";
    }
  }
  row("moved") << FormatCount(result.messages) << " messages, " << FormatCount(result.copies)
               << " copies\n";
  const std::string nic =
      BusiestPort(result.nics, result.total_ns, [&](size_t n) { return sim.plan.nics[n].name; });
  if (!nic.empty()) row("NIC") << nic << "\n";
  const std::string scaleup = BusiestPort(result.scaleup, result.total_ns, [&](size_t s) {
    return "rank " + std::to_string(sim.plan.sites[s].rank);
  });
  if (!scaleup.empty()) row("scale-up") << scaleup << "\n";
  SimRank longest;
  for (const SimRank& rank : result.ranks) {
    longest.wait_for_peers_ns = std::max(longest.wait_for_peers_ns, rank.wait_for_peers_ns);
    longest.wait_for_slots_ns = std::max(longest.wait_for_slots_ns, rank.wait_for_slots_ns);
  }
  row("waiting") << "at most " << FormatNanoseconds(longest.wait_for_peers_ns)
                 << " of a rank for peers, " << FormatNanoseconds(longest.wait_for_slots_ns)
                 << " for slots\n";
  row("staging") << FormatBinary(result.max_staging_bytes) << " on the busiest rank\n";
  if (sim.baselines != nullptr) PrintBaselines(sim, out);
}

void PrintSimulationJson(const SimCase& sim, std::ostream& out) {
  const SimResult& result = sim.result;
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-simulate/1");
  json.Field("total_ns", result.total_ns);
  json.Field("first_round", FirstRound(sim));
  json.Field("end_round", EndRound(sim));
  json.Field("round_cost_ns", sim.options.round_cost_ns);
  json.Flag("other_topology", sim.other_topology);
  json.Field("predicted_ns", sim.plan.header.totals.predicted_ns);
  json.Field("bound_ns", sim.plan.header.totals.bound_ns);
  json.Field("messages", result.messages);
  json.Field("copies", result.copies);
  json.Field("max_staging_bytes", result.max_staging_bytes);
  json.BeginArray("round_end_ns");
  for (const int64_t end_ns : result.round_end_ns) json.Item(end_ns);
  json.End();
  WritePorts(
      "nics", result.nics, [&](size_t n) { json.Field("name", sim.plan.nics[n].name); }, &json);
  WritePorts(
      "scaleup", result.scaleup, [&](size_t s) { json.Field("rank", sim.plan.sites[s].rank); },
      &json);
  WriteRanks(result, &json);
  if (sim.baselines != nullptr) WriteBaselines(sim, &json);
  json.End();
  out << json.Text() << "\n";
}

}  // namespace reshard
