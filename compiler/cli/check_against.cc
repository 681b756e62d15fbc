#include "compiler/cli/check_against.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "compiler/against/compare_layouts.h"
#include "compiler/against/resolve_both.h"
#include "compiler/cli/write_escaped.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/units.h"
#include "runtime/base/list_text.h"

namespace reshard {
namespace {

std::string PlaceText(const Span& span, const SourceMap& sources) {
  const SourceMap::Position at = sources.Locate(span.file, span.begin);
  return sources.path(span.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column);
}

std::string CountText(int64_t params) {
  return FormatCount(params) + (params == 1 ? " param" : " params");
}

void PrintDifference(const ParamDifferences& difference, const SourceMap& sources,
                     std::ostream& out) {
  out << difference.name << ": " << DifferenceHeading(difference.kind);
  if (difference.kind == DifferenceKind::kElement)
    out << ", first at " << ListText(difference.index);
  out << ", ranks " << DescribeRanks(difference.ranks) << "\n";
  for (const StoredThere* stored : {&difference.mine, &difference.theirs}) {
    if (!stored->span.has_file()) continue;
    out << "  " << PlaceText(stored->span, sources) << ": " << stored->text << "\n";
  }
  if (difference.params > 1) {
    out << "  and " << FormatCount(difference.params - 1) << " more of its kind, in all on ranks "
        << DescribeRanks(difference.all_ranks) << "\n";
  }
}

std::string ResultText(const LayoutComparison& result, size_t shown, const SourceMap& sources) {
  std::ostringstream out;
  if (!result.only_mine.empty()) {
    out << "ranks " << DescribeRanks(result.only_mine) << ": not in the other layout\n";
  }
  if (!result.only_theirs.empty()) {
    out << "ranks " << DescribeRanks(result.only_theirs) << ": only in the other layout\n";
  }
  int64_t params = 0;
  for (size_t i = 0; i < result.differences.size(); ++i) {
    if (i < shown) PrintDifference(result.differences[i], sources, out);
    params += result.differences[i].params;
  }
  if (shown < result.differences.size()) {
    out << "and " << FormatCount(static_cast<int64_t>(result.differences.size() - shown))
        << " more kinds of params\n";
  }
  if (result.equal()) {
    out << "equal: " << CountText(result.params) << ", the same elements on every rank\n";
  } else if (params > 0) {
    out << "different: " << CountText(params) << "\n";
  }
  return out.str();
}

void StoredJson(std::string_view name, const StoredThere& stored, const SourceMap& sources,
                JsonWriter* json) {
  if (!stored.span.has_file()) return;
  json->BeginObject(name);
  json->Field("at", PlaceText(stored.span, sources));
  json->Field("has", stored.text);
  json->End();
}

void RanksJson(std::string_view name, const RankList& ranks, JsonWriter* json) {
  json->BeginArray(name);
  for (const Rank rank : ranks) json->Item(static_cast<int64_t>(rank));
  json->End();
}

std::string ResultJson(const LayoutComparison& result, size_t shown, const SourceMap& sources) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-check-against/1");
  json.Flag("equal", result.equal());
  json.Flag("exhausted", result.exhausted);
  json.Field("params", result.params);
  RanksJson("ranks_only_in_layout", result.only_mine, &json);
  RanksJson("ranks_only_in_other", result.only_theirs, &json);
  json.Field("difference_kinds", static_cast<int64_t>(result.differences.size()));
  json.BeginArray("differences");
  for (size_t i = 0; i < shown; ++i) {
    const ParamDifferences& difference = result.differences[i];
    json.BeginObject();
    json.Field("kind", DifferenceText(difference.kind));
    json.Field("param", difference.name);
    RanksJson("ranks", difference.ranks, &json);
    if (difference.kind == DifferenceKind::kElement) {
      json.BeginArray("element");
      for (const int64_t at : difference.index) json.Item(at);
      json.End();
    }
    StoredJson("layout", difference.mine, sources, &json);
    StoredJson("other", difference.theirs, sources, &json);
    json.Field("params", difference.params);
    RanksJson("all_ranks", difference.all_ranks, &json);
    json.End();
  }
  json.End();
  json.End();
  return json.Text() + "\n";
}

}  // namespace

ExitCode CheckAgainst(const std::vector<LayoutSpec>& layouts, const LayoutSpec& other,
                      const SourceMap& sources, const AgainstOptions& options, std::ostream& out,
                      std::ostream& err) {
  Diagnostics diags;
  BothLayouts both;
  const bool resolved = ResolveBoth(layouts, other, &diags, &both);
  diags.Print(sources, options.max_errors, err);
  if (!resolved) return ExitCodeFor(diags);

  const LayoutComparison result = CompareLayouts(both.table, both.mine, both.theirs);
  const size_t found = result.differences.size();
  const size_t shown = options.max_errors == 0 ? found : std::min(found, options.max_errors);
  if (options.json) {
    out << ResultJson(result, shown, sources);
  } else {
    WriteEscaped(ResultText(result, shown, sources), out);
  }
  if (result.exhausted) {
    err << EscapeForTerminal(sources.path(other.file))
        << ": error: the work budget ran out before everything was compared [too-many-pieces]\n";
  }
  const bool different =
      !result.differences.empty() || !result.only_mine.empty() || !result.only_theirs.empty();
  if (different) return ExitCode::kNo;
  return result.exhausted ? ExitCode::kCannotJudge : ExitCode::kYes;
}

}  // namespace reshard
