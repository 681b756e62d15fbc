// VerifyLog: what one run of the verifier has found, and how much work it may still do.
//
// Internal to the verifier. Rules add violations and charge their steps; where CanGoOn turns false
// they stop, and the report says whether it was full or out of budget.
#ifndef RESHARD_RUNTIME_PLAN_VERIFY_LOG_H_
#define RESHARD_RUNTIME_PLAN_VERIFY_LOG_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "runtime/plan/verify.h"

namespace reshard {

class VerifyLog {
 public:
  explicit VerifyLog(const VerifyOptions& options)
      : max_violations_(std::max<size_t>(options.max_violations, 1)),
        budget_(options.work_budget) {}

  void Add(VerifyRule rule, std::string where, std::string text) {
    if (full()) return;
    report_.violations.push_back({rule, std::move(where), std::move(text)});
  }
  void AddAll(VerifyReport report) {
    for (Violation& violation : report.violations) {
      if (!full()) report_.violations.push_back(std::move(violation));
    }
    report_.exhausted = report_.exhausted || report.exhausted;
  }
  // Counts elementary steps that are about to be done. False, and `exhausted`, past the budget.
  bool Charge(uint64_t steps) {
    if (steps > budget_) {
      budget_ = 0;
      report_.exhausted = true;
    } else {
      budget_ -= steps;
    }
    return !report_.exhausted;
  }

  void Exhaust() { report_.exhausted = true; }

  bool full() const { return report_.violations.size() >= max_violations_; }
  bool CanGoOn() const { return !full() && !report_.exhausted; }
  bool clean() const { return report_.ok(); }
  VerifyReport Take() { return std::move(report_); }

 private:
  size_t max_violations_;
  uint64_t budget_;
  VerifyReport report_;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_PLAN_VERIFY_LOG_H_
