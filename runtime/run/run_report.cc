#include "runtime/run/run_report.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "runtime/base/quantity_text.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

double Seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

double MedianSeconds(const CheckedRunResult& result) {
  std::vector<std::chrono::nanoseconds> sorted = result.elapsed;
  if (sorted.empty()) return 0;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1) return Seconds(sorted[middle]);
  return (Seconds(sorted[middle - 1]) + Seconds(sorted[middle])) / 2;
}

// Bytes that one execution writes into params.
int64_t DeliveredBytes(const PlanTotals& totals) {
  return totals.scaleup_bytes + totals.local_bytes;
}

double DeliveredGbPerSecond(const RunReport& report) {
  const double seconds = MedianSeconds(report.result);
  const auto bytes = static_cast<double>(DeliveredBytes(report.loaded->plan.header.totals));
  return seconds > 0 ? bytes / seconds / 1e9 : 0;
}

std::string FormatSeconds(double seconds) {
  std::ostringstream text;
  text << std::setprecision(3);
  if (seconds < 1e-3) {
    text << seconds * 1e6 << " us";
  } else if (seconds < 1) {
    text << seconds * 1e3 << " ms";
  } else {
    text << seconds << " s";
  }
  return text.str();
}

std::string PaceText(const RunReport& report) {
  if (report.args->pace <= 0) return "";
  std::ostringstream text;
  text << "paced: links carry 1/" << report.args->pace << " of their rate, at which "
       << FormatSeconds(static_cast<double>(report.loaded->plan.header.totals.predicted_ns) / 1e9)
       << " are predicted\n";
  return text.str();
}

}  // namespace

void PrintRunText(const RunReport& report, std::ostream& out) {
  const Plan& plan = report.loaded->plan;
  const PlanTotals& totals = plan.header.totals;
  const CheckedRunResult& result = report.result;
  out << "plan: " << plan.ranks.size() << " ranks, " << totals.rounds
      << (totals.rounds == 1 ? " round, " : " rounds, ") << totals.messages << " messages\n"
      << "moved: " << FormatBytes(totals.network_bytes) << " over the network, "
      << FormatBytes(totals.scaleup_bytes) << " inside domains, " << FormatBytes(totals.local_bytes)
      << " inside ranks\n"
      << "time: " << FormatSeconds(MedianSeconds(result)) << " (median of " << result.elapsed.size()
      << "), " << FormatBytes(DeliveredBytes(totals)) << " delivered at " << std::setprecision(3)
      << DeliveredGbPerSecond(report) << " GB/s\n"
      << PaceText(report) << "staging: " << FormatBinary(result.max_staging_bytes)
      << " allocated on one rank at most, " << FormatBinary(totals.max_staging_bytes)
      << " planned\n";
  if (!report.args->check) return;
  if (result.ok()) {
    out << "check: all " << FormatBytes(result.compared_bytes) << " right\n";
  } else {
    out << "check: " << result.wrong_bytes << " of " << result.compared_bytes
        << " bytes are wrong in execution " << result.elapsed.size() << "\n";
  }
}

void PrintRunJson(const RunReport& report, std::ostream& out) {
  const Plan& plan = report.loaded->plan;
  const PlanTotals& totals = plan.header.totals;
  const CheckedRunResult& result = report.result;
  nlohmann::ordered_json json;
  json["schema"] = "reshard-run/1";
  json["plan"] = {{"digest", ToHex(report.loaded->root_digest)},
                  {"ranks", plan.ranks.size()},
                  {"rounds", totals.rounds},
                  {"messages", totals.messages}};
  json["backend"] = report.args->backend == RunBackend::kMpi ? "mpi" : "loopback";
  json["executions"] = result.elapsed.size();
  json["bytes"] = {{"network", totals.network_bytes},
                   {"scaleup", totals.scaleup_bytes},
                   {"local", totals.local_bytes},
                   {"delivered", DeliveredBytes(totals)}};
  std::vector<double> seconds;
  for (const std::chrono::nanoseconds time : result.elapsed) seconds.push_back(Seconds(time));
  json["seconds"] = seconds;
  json["median_seconds"] = MedianSeconds(result);
  json["delivered_gb_per_s"] = DeliveredGbPerSecond(report);
  json["pace"] = report.args->pace;
  json["predicted_seconds"] = static_cast<double>(totals.predicted_ns) / 1e9;
  json["slowest"] = nullptr;
  if (result.slowest.waited.count() > 0) {
    json["slowest"] = {{"rank", result.slowest.rank},
                       {"peer", result.slowest.peer},
                       {"seconds", Seconds(result.slowest.waited)}};
  }
  json["staging_bytes"] = {{"allocated", result.max_staging_bytes},
                           {"planned", totals.max_staging_bytes}};
  json["memory_bytes"] = {{"source", report.memory.source_bytes},
                          {"destination", report.memory.destination_bytes},
                          {"staging", report.memory.staging_bytes},
                          {"tables", report.memory.table_bytes}};
  json["check"] = nullptr;
  if (report.args->check) {
    json["check"] = {{"compared_bytes", result.compared_bytes},
                     {"wrong_bytes", result.wrong_bytes},
                     {"first", nullptr}};
  }
  if (result.first) {
    json["check"]["first"] = {{"rank", result.first->rank},         {"param", result.first->param},
                              {"byte", result.first->offset_bytes}, {"index", result.first->index},
                              {"expected", result.first->expected}, {"found", result.first->found}};
  }
  // Names may hold bytes that are no UTF-8.
  out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
}

}  // namespace reshard
