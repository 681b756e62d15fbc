#include "compiler/frontend/definition_order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace reshard {
namespace {

// Of a circle; one that is longer was not written by hand.
constexpr size_t kMaxShown = 8;

using IndexByName = std::map<std::string_view, size_t>;

// Follows uses among definitions that are not `placed` from `start` until one comes up again.
// Each of them uses another one, or it would have been placed.
std::vector<size_t> FollowToCircle(const std::vector<Definition>& definitions,
                                   const IndexByName& index, const std::vector<char>& placed,
                                   size_t start) {
  std::vector<size_t> path;
  std::vector<size_t> position(definitions.size(), SIZE_MAX);
  for (std::optional<size_t> at = start; at;) {
    if (position[*at] != SIZE_MAX) {
      path.erase(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(position[*at]));
      return path;
    }
    position[*at] = path.size();
    path.push_back(*at);
    std::optional<size_t> next;
    for (const std::string& used : definitions[*at].uses) {
      const auto it = index.find(used);
      if (it != index.end() && !placed[it->second]) next = it->second;
    }
    at = next;
  }
  return {};
}

}  // namespace

std::vector<size_t> OrderDefinitions(const std::vector<Definition>& definitions,
                                     std::string_view kind, Diagnostics* diags) {
  IndexByName index;
  for (size_t i = 0; i < definitions.size(); ++i) index.emplace(definitions[i].name, i);
  std::vector<size_t> missing(definitions.size(), 0);
  std::vector<std::vector<size_t>> users(definitions.size());
  for (size_t i = 0; i < definitions.size(); ++i) {
    for (const std::string& used : definitions[i].uses) {
      const auto it = index.find(used);
      if (it == index.end()) continue;
      users[it->second].push_back(i);
      ++missing[i];
    }
  }
  std::set<std::tuple<size_t, std::string_view, size_t>> ready;
  const auto add = [&](size_t i) {
    ready.emplace(definitions[i].priority, definitions[i].name, i);
  };
  for (size_t i = 0; i < definitions.size(); ++i) {
    if (missing[i] == 0) add(i);
  }
  std::vector<size_t> order;
  std::vector<char> placed(definitions.size(), 0);
  while (!ready.empty()) {
    const size_t next = std::get<2>(*ready.begin());
    ready.erase(ready.begin());
    order.push_back(next);
    placed[next] = 1;
    for (const size_t user : users[next]) {
      if (--missing[user] == 0) add(user);
    }
  }
  if (order.size() == definitions.size()) return order;
  const auto stuck = std::find(placed.begin(), placed.end(), char{0}) - placed.begin();
  const std::vector<size_t> circle =
      FollowToCircle(definitions, index, placed, static_cast<size_t>(stuck));
  const Definition& first = definitions[circle.front()];
  std::string text = std::string(kind) + " '" + first.name + "' is defined by itself";
  const size_t shown = std::min(circle.size(), kMaxShown);
  for (size_t i = 1; i < shown; ++i) {
    text += (i == 1 ? ", through '" : "', '") + definitions[circle[i]].name;
  }
  if (circle.size() > 1) text += circle.size() > shown ? "', ..." : "'";
  Diagnostic& error = diags->Error(DiagnosticCode::kCycle, first.span, std::move(text));
  for (size_t i = 1; i < shown; ++i) {
    error.notes.push_back(
        {definitions[circle[i]].span, "'" + definitions[circle[i]].name + "' is defined here"});
  }
  for (size_t i = 0; i < definitions.size(); ++i) {
    if (!placed[i]) order.push_back(i);
  }
  return order;
}

}  // namespace reshard
