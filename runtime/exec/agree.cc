#include "runtime/exec/agree.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "runtime/base/sha256.h"

namespace reshard {
namespace {

// What a rank says, in 512 bytes. Its size and the place of `version` never change, so that
// libraries of different versions understand at least that they differ.
constexpr size_t kTextBytes = 448;
constexpr uint32_t kVersion = 2;
struct Statement {
  uint32_t version = kVersion;
  uint32_t rank = 0;
  uint32_t failed = 0;
  uint32_t text_bytes = 0;
  Digest digest{};
  std::array<char, kTextBytes> text{};
  uint32_t verify_executions = 0;
  std::array<uint8_t, 12> reserved{};
};
static_assert(sizeof(Statement) == 512);

Statement StatementOf(uint32_t rank, const Digest& digest, const Status& local) {
  Statement statement;
  statement.rank = rank;
  statement.digest = digest;
  statement.failed = local.ok() ? 0 : 1;
  const std::string text = local.ok() ? std::string() : local.message();
  statement.text_bytes = static_cast<uint32_t>(std::min(text.size(), kTextBytes));
  std::copy_n(text.begin(), statement.text_bytes, statement.text.begin());
  return statement;
}

std::string TextOf(const Statement& statement) {
  const size_t bytes = std::min<size_t>(statement.text_bytes, kTextBytes);
  return std::string(statement.text.data(), bytes) + (bytes == kTextBytes ? "..." : "");
}

std::vector<uint32_t> Everybody(const ControlChannel& control) {
  std::vector<uint32_t> members(control.member_count());
  std::iota(members.begin(), members.end(), 0U);
  return members;
}

StatusOr<std::vector<Statement>> Exchange(ControlChannel* control, const Statement& mine,
                                          Deadline deadline) {
  std::vector<Statement> all(control->member_count());
  std::array<uint8_t, sizeof(Statement)> bytes{};
  std::memcpy(bytes.data(), &mine, sizeof(mine));
  std::vector<uint8_t> gathered(all.size() * sizeof(Statement));
  RESHARD_RETURN_IF_ERROR(control->AllGather(Everybody(*control), bytes, gathered, deadline));
  for (size_t m = 0; m < all.size(); ++m) {
    std::memcpy(&all[m], gathered.data() + m * sizeof(Statement), sizeof(Statement));
    if (all[m].version != kVersion) {
      return Status(StatusCode::kAborted, "member " + std::to_string(m) +
                                              " runs another version of the library (protocol " +
                                              std::to_string(all[m].version) + ", here " +
                                              std::to_string(kVersion) + ")");
    }
  }
  return all;
}

// "rank 3", "ranks 1-3,7,9 and 12 more".
std::string RanksText(const std::vector<uint32_t>& ranks) {
  constexpr size_t kMaxRuns = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  size_t runs = 0;
  for (size_t i = 0; i < ranks.size();) {
    size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (runs++ == kMaxRuns) return text + " and " + std::to_string(ranks.size() - i) + " more";
    text += (i == 0 ? "" : ",") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return text;
}

Status CompareDigests(const std::vector<Statement>& all) {
  std::map<Digest, std::vector<uint32_t>> ranks_of;
  for (const Statement& statement : all) ranks_of[statement.digest].push_back(statement.rank);
  if (ranks_of.size() <= 1) return Status();
  // The plan of most ranks first; the others are likely the ones that are wrong.
  std::vector<std::pair<Digest, std::vector<uint32_t>>> groups(ranks_of.begin(), ranks_of.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  constexpr size_t kMaxGroups = 4;
  std::string text = "ranks hold different plans: ";
  for (size_t g = 0; g < std::min(groups.size(), kMaxGroups); ++g) {
    std::sort(groups[g].second.begin(), groups[g].second.end());
    text += (g == 0 ? "" : ", ") + RanksText(groups[g].second) + " " + ToHex(groups[g].first);
  }
  if (groups.size() > kMaxGroups) {
    text += " and " + std::to_string(groups.size() - kMaxGroups) + " more plans";
  }
  return Status(StatusCode::kAborted, std::move(text));
}

Status CompareRanks(const std::vector<Statement>& all, const std::vector<uint32_t>& expected) {
  std::vector<uint32_t> claimed;
  for (const Statement& statement : all) claimed.push_back(statement.rank);
  std::sort(claimed.begin(), claimed.end());
  std::vector<uint32_t> doubled, missing, surplus;
  for (size_t i = 1; i < claimed.size(); ++i) {
    if (claimed[i] == claimed[i - 1] && (doubled.empty() || doubled.back() != claimed[i])) {
      doubled.push_back(claimed[i]);
    }
  }
  std::set_difference(expected.begin(), expected.end(), claimed.begin(), claimed.end(),
                      std::back_inserter(missing));
  claimed.erase(std::unique(claimed.begin(), claimed.end()), claimed.end());
  std::set_difference(claimed.begin(), claimed.end(), expected.begin(), expected.end(),
                      std::back_inserter(surplus));
  std::string text;
  const auto say = [&](const char* what, const std::vector<uint32_t>& ranks) {
    if (!ranks.empty()) text += std::string(text.empty() ? "" : "; ") + what + RanksText(ranks);
  };
  say("no member for ", missing);
  say("several members for ", doubled);
  say("members for what the plan does not have: ", surplus);
  if (text.empty()) return Status();
  return Status(StatusCode::kInvalidArgument,
                std::to_string(all.size()) + " members for a plan of " +
                    std::to_string(expected.size()) + " ranks: " + text);
}

// A rank that compares content waits for all others to do so as well.
Status CompareVerifyExecutions(const std::vector<Statement>& all) {
  std::map<uint32_t, std::vector<uint32_t>> ranks_of;
  for (const Statement& statement : all) {
    ranks_of[statement.verify_executions].push_back(statement.rank);
  }
  if (ranks_of.size() <= 1) return Status();
  std::string text = "verify_executions has to be the same on all ranks: ";
  constexpr size_t kMaxGroups = 4;
  size_t groups = 0;
  for (auto& [count, ranks] : ranks_of) {
    if (groups++ == kMaxGroups) {
      text += " and " + std::to_string(ranks_of.size() - kMaxGroups) + " more numbers";
      break;
    }
    std::sort(ranks.begin(), ranks.end());
    text += (groups == 1 ? "" : ", ") + std::to_string(count) + " on " + RanksText(ranks);
  }
  return Status(StatusCode::kInvalidArgument, std::move(text));
}

Status CompareFailures(const std::vector<Statement>& all, const Status& local) {
  if (!local.ok()) return local;
  std::vector<uint32_t> failed;
  const Statement* first = nullptr;
  for (const Statement& statement : all) {
    if (statement.failed == 0) continue;
    if (first == nullptr || statement.rank < first->rank) first = &statement;
    failed.push_back(statement.rank);
  }
  if (failed.empty()) return Status();
  std::sort(failed.begin(), failed.end());
  std::string text = "rank " + std::to_string(first->rank) + " failed: " + TextOf(*first);
  if (failed.size() > 1) text += " (and with it, on their own: " + RanksText(failed) + ")";
  return Status(StatusCode::kAborted, std::move(text));
}

}  // namespace

StatusOr<std::vector<uint32_t>> AgreeOnPlan(ControlChannel* control, const RankClaim& claim,
                                            std::vector<uint32_t> expected, Deadline deadline) {
  Statement mine = StatementOf(claim.rank, claim.digest, claim.local);
  mine.verify_executions = claim.verify_executions;
  const StatusOr<std::vector<Statement>> all = Exchange(control, mine, deadline);
  if (!all.ok()) return all.status();
  RESHARD_RETURN_IF_ERROR(CompareDigests(*all));
  RESHARD_RETURN_IF_ERROR(CompareRanks(*all, expected));
  RESHARD_RETURN_IF_ERROR(CompareFailures(*all, claim.local));
  RESHARD_RETURN_IF_ERROR(CompareVerifyExecutions(*all));
  std::vector<uint32_t> ranks;
  for (const Statement& statement : *all) ranks.push_back(statement.rank);
  return ranks;
}

Status AgreeOnStatus(ControlChannel* control, const std::vector<uint32_t>& ranks,
                     const Status& local, Deadline deadline) {
  const StatusOr<std::vector<Statement>> all =
      Exchange(control, StatementOf(ranks[control->member()], Digest{}, local), deadline);
  if (!all.ok()) return all.status();
  return CompareFailures(*all, local);
}

}  // namespace reshard
