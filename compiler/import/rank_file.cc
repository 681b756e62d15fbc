#include "compiler/import/rank_file.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/frontend/number_list.h"
#include "compiler/import/text_words.h"

namespace reshard {
namespace {

constexpr uint32_t kMaxRank = (uint32_t{1} << 20) - 1;

bool IsHostName(std::string_view name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return name.size() <= kMaxHostNameBytes && std::all_of(name.begin(), name.end(), plain);
}

class RankFileReader {
 public:
  RankFileReader(uint32_t gpus_per_host, Diagnostics* diags)
      : gpus_(gpus_per_host), diags_(*diags) {}

  bool ReadLine(const TextLine& line, RankPlacement* out) {
    const std::vector<TextWord>& words = line.words;
    if (words.size() != 3) {
      return Fail(words[std::min<size_t>(words.size() - 1, 3)].span, DiagnosticCode::kBadFormat,
                  "expected a rank, a host and a GPU on each line, found " +
                      std::to_string(words.size()) + " words");
    }
    if (!ReadNumber(words[0], "rank", kMaxRank, &out->rank) ||
        !ReadNumber(words[2], "GPU", gpus_ - 1, &out->gpu)) {
      return false;
    }
    out->host = std::string(words[1].text);
    out->host_span = words[1].span;
    out->gpu_span = words[2].span;
    if (!IsHostName(words[1].text)) {
      return Fail(words[1].span, DiagnosticCode::kBadHostList,
                  "'" + out->host + "' is no host name");
    }
    const auto [rank, new_rank] = ranks_.try_emplace(out->rank, words[0].span);
    if (!new_rank) {
      Fail(words[0].span, DiagnosticCode::kRankPlacement,
           "rank " + std::to_string(out->rank) + " is given twice");
      return false;
    }
    if (!used_.insert({out->host, out->gpu}).second) {
      return Fail(words[2].span, DiagnosticCode::kRankPlacement,
                  "GPU " + std::to_string(out->gpu) + " of '" + out->host + "' has two ranks");
    }
    return true;
  }

 private:
  bool Fail(Span span, DiagnosticCode code, std::string text) {
    diags_.Error(code, span, std::move(text));
    return false;
  }

  bool ReadNumber(const TextWord& word, const char* what, uint32_t highest, uint32_t* out) {
    const char* end = word.text.data() + word.text.size();
    const auto [rest, error] = std::from_chars(word.text.data(), end, *out);
    if (error == std::errc{} && rest == end && *out <= highest) return true;
    return Fail(word.span, DiagnosticCode::kBadValue,
                "'" + std::string(word.text) + "' is no " + what + ", expected 0 to " +
                    std::to_string(highest));
  }

  uint32_t gpus_;
  Diagnostics& diags_;
  std::map<uint32_t, Span> ranks_;
  std::set<std::pair<std::string, uint32_t>> used_;
};

// "node07" as "node" and "07"; without digits at the end, or with too many, all is the prefix.
std::pair<std::string_view, std::string_view> SplitNumber(std::string_view name) {
  size_t at = name.size();
  while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && name.size() - at < 9) --at;
  return {name.substr(0, at), name.substr(at)};
}

int64_t NumberOf(std::string_view digits) {
  int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::vector<std::string> Hosts(const std::vector<RankPlacement>& ranks) {
  std::vector<std::string> hosts;
  std::set<std::string> seen;
  for (const RankPlacement& rank : ranks) {
    if (seen.insert(rank.host).second) hosts.push_back(rank.host);
  }
  return hosts;
}

}  // namespace

bool ReadRankFile(const SourceMap& sources, uint32_t file, uint32_t gpus_per_host,
                  Diagnostics* diags, std::vector<RankPlacement>* out) {
  RankFileReader reader(gpus_per_host, diags);
  bool good = true;
  for (const TextLine& line : SplitLines(sources.text(file), file, '#')) {
    if (line.words.empty()) continue;
    RankPlacement rank;
    if (reader.ReadLine(line, &rank)) {
      out->push_back(std::move(rank));
    } else {
      good = false;
    }
  }
  if (good && out->empty()) {
    diags->Error(DiagnosticCode::kBadFormat, Span{file, 0, 0}, "the rank file has no ranks");
    return false;
  }
  std::sort(out->begin(), out->end(),
            [](const RankPlacement& a, const RankPlacement& b) { return a.rank < b.rank; });
  return good;
}

std::string HostList(const std::vector<RankPlacement>& ranks) {
  const std::vector<std::string> hosts = Hosts(ranks);
  std::string list;
  for (size_t i = 0; i < hosts.size();) {
    const auto [prefix, digits] = SplitNumber(hosts[i]);
    size_t end = i + 1;
    while (end < hosts.size() && !digits.empty()) {
      const auto [next_prefix, next_digits] = SplitNumber(hosts[end]);
      if (next_prefix != prefix || next_digits.size() != digits.size() ||
          NumberOf(next_digits) != NumberOf(digits) + static_cast<int64_t>(end - i)) {
        break;
      }
      ++end;
    }
    if (!list.empty()) list += ",";
    if (end - i == 1) {
      list += hosts[i];
    } else {
      list += std::string(prefix) + "[" + std::string(digits) + "-" +
              std::string(SplitNumber(hosts[end - 1]).second) + "]";
    }
    i = end;
  }
  return list;
}

JsonDoc RanksDoc(const std::vector<RankPlacement>& ranks, uint32_t gpus_per_host) {
  const std::vector<std::string> hosts = Hosts(ranks);
  bool filled = ranks.back().rank - ranks.front().rank + 1 == ranks.size();
  for (size_t i = 0; filled && i < ranks.size(); ++i) {
    filled = ranks[i].gpu == i % gpus_per_host && i / gpus_per_host < hosts.size() &&
             ranks[i].host == hosts[i / gpus_per_host];
  }
  JsonDoc list = JsonDoc::Array();
  if (filled) {
    list.Add(JsonDoc::Object()
                 .Set("ranks",
                      std::to_string(ranks.front().rank) + "-" + std::to_string(ranks.back().rank))
                 .Set("nodes", HostList(ranks)));
    return list;
  }
  for (const RankPlacement& rank : ranks) {
    list.Add(JsonDoc::Object().Set("rank", rank.rank).Set("node", rank.host).Set("gpu", rank.gpu));
  }
  return list;
}

}  // namespace reshard
