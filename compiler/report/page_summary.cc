#include "compiler/report/page_summary.h"

#include <algorithm>
#include <functional>

#include "compiler/plan_tools/diff_tables.h"
#include "compiler/plan_tools/summary.h"
#include "compiler/plan_tools/units.h"
#include "compiler/report/html.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

// Of a table of changes; the rest is counted, as in text.
constexpr size_t kMaxChangeRows = 200;

std::string Element(const char* tag, const char* css_class, const std::string& html) {
  const std::string attribute =
      *css_class == '\0' ? "" : " class=\"" + std::string(css_class) + "\"";
  return "<" + std::string(tag) + attribute + ">" + html + "</" + tag + ">";
}

std::string VerdictHtml(const ReportPlan& report) {
  const PlanTotals& totals = report.loaded.plan.header.totals;
  const VerifyReport& verified = report.verified;
  if (verified.ok()) {
    return Element(
        "p", "verdict sound",
        "<span><strong>Sound.</strong> By the layouts in the plan every destination byte "
        "is written once, from the right source byte, without races and without "
        "deadlock, within " +
            HtmlText(FormatBinary(totals.max_staging_bytes)) +
            " of staging memory on a rank.</span>");
  }
  if (verified.violations.empty()) {
    return Element("p", "verdict",
                   "<span><strong>Undecided.</strong> The work budget of the verifier ran out "
                   "before every rule was judged.</span>");
  }
  std::string html = Element("p", "verdict violated",
                             "<span><strong>Not sound.</strong> This plan breaks rules and must "
                             "not be executed.</span>");
  html += "<ul class=\"violations\">";
  for (const Violation& violation : verified.violations) {
    html += Element("li", "", HtmlText(Describe(violation)));
  }
  return html + "</ul>";
}

std::string Number(const char* name, const std::string& value) {
  return "<div>" + Element("dt", "", name) + Element("dd", "", HtmlText(value)) + "</div>";
}

// Two bars, one in the other: the bound inside the predicted time.
std::string MeterHtml(const PlanTotals& totals) {
  const double whole = static_cast<double>(std::max(totals.predicted_ns, totals.bound_ns));
  const auto width = [&](int64_t ns) {
    return std::to_string(static_cast<int64_t>(static_cast<double>(ns) / whole * 1000));
  };
  return "<svg class=\"meter\" viewBox=\"0 0 1000 10\" preserveAspectRatio=\"none\" "
         "aria-hidden=\"true\"><rect class=\"time\" height=\"10\" width=\"" +
         width(totals.predicted_ns) + "\"/><rect class=\"bound\" height=\"10\" width=\"" +
         width(totals.bound_ns) + "\"/></svg>";
}

std::string CertificateHtml(const ReportPlan& report, const PlanSummary& summary, bool named) {
  const PlanTotals& totals = report.loaded.plan.header.totals;
  std::string html = named ? Element("h3", "", HtmlText(report.name)) : "";
  html += VerdictHtml(report);
  html += "<dl class=\"numbers\">" + Number("predicted", FormatNanoseconds(totals.predicted_ns));
  if (totals.bound_ns > 0) {
    html += Number("lower bound", FormatNanoseconds(totals.bound_ns)) +
            Number("ratio", FormatRatio(summary.ratio)) +
            Number("balance", FormatRatio(summary.balance));
  }
  html += "</dl>";
  if (totals.bound_ns > 0) {
    html += MeterHtml(totals) +
            Element("p", "soft",
                    "No schedule is faster than the bound: " + HtmlText(summary.binding_cut) +
                        ". Balance is what the busiest NIC's bytes take alone, over the bound.");
  } else if (!summary.no_bound.empty()) {
    html += Element("p", "soft", "There is no bound: " + HtmlText(summary.no_bound) + ".");
  }
  return Element("div", "certificate", html);
}

std::string SideText(const SideSummary& side) {
  return FormatCount(side.ranks) + " ranks, " + FormatCount(side.params) + " params, " +
         FormatBytes(side.bytes);
}

std::string NetworkText(const Plan& plan, const PlanSummary& summary) {
  const PlanTotals& totals = plan.header.totals;
  std::string text =
      FormatBytes(totals.network_bytes) + " in " + FormatCount(totals.messages) + " messages";
  if (summary.needed_network_bytes > 0) {
    text += ", " +
            FormatRatio(static_cast<double>(totals.network_bytes) /
                        static_cast<double>(summary.needed_network_bytes)) +
            "x what " + FormatCount(summary.domains_fed) +
            (summary.domains_fed == 1 ? " domain needs" : " domains need");
  }
  return text;
}

std::string SimulatedText(const Timeline& timeline) {
  if (!timeline.failure.empty()) return timeline.failure;
  if (timeline.total_ns == 0) return "not whole, because of its size: see reshardc simulate";
  return FormatNanoseconds(timeline.total_ns);
}

std::string OptionsText(const Plan& plan) {
  std::string text;
  for (const auto& [name, value] : plan.header.options) {
    text += (text.empty() ? "" : " ") + name + "=" + value;
  }
  return text;
}

// Facts that no plan of the page has (their text is empty) are left out.
struct Fact {
  const char* name;
  std::function<std::string(const ReportPlan&, const PlanSummary&)> text;
  bool code = false;
};

const PlanHeader& HeaderOf(const ReportPlan& report) { return report.loaded.plan.header; }

std::vector<Fact> Facts() {
  using R = const ReportPlan&;
  using S = const PlanSummary&;
  return {
      {"tensors",
       [](R r, S s) {
         return FormatCount(s.tensors) + " in " +
                FormatCount(static_cast<int64_t>(r.loaded.plan.classes.size())) + " classes";
       }},
      {"source", [](R, S s) { return SideText(s.source); }},
      {"destination", [](R, S s) { return SideText(s.destination); }},
      {"network", [](R r, S s) { return NetworkText(r.loaded.plan, s); }},
      {"inside domains",
       [](R r, S) {
         return FormatBytes(HeaderOf(r).totals.scaleup_bytes) + ", and " +
                FormatBytes(HeaderOf(r).totals.local_bytes) + " inside ranks";
       }},
      {"passed on", [](R, S s) { return RelayingText(s); }},
      {"relays", [](R, S s) { return s.relay_bound_ns > 0 ? RelayBoundText(s) : ""; }},
      {"staging",
       [](R r, S) {
         return FormatBinary(HeaderOf(r).totals.max_staging_bytes) + " on the busiest rank";
       }},
      {"rounds", [](R r, S) { return FormatCount(HeaderOf(r).totals.rounds); }},
      {"simulated", [](R r, S) { return SimulatedText(r.timeline); }},
      {"plan file", [](R r, S) { return FormatBytes(r.plan_bytes); }},
      {"options", [](R r, S) { return OptionsText(r.loaded.plan); }, true},
      {"train", [](R r, S) { return ToHex(HeaderOf(r).train_digest); }, true},
      {"infer", [](R r, S) { return ToHex(HeaderOf(r).infer_digest); }, true},
      {"topo", [](R r, S) { return ToHex(HeaderOf(r).topo_digest); }, true},
  };
}

std::string FactsHtml(const std::vector<ReportPlan>& plans,
                      const std::vector<PlanSummary>& summaries) {
  std::string rows;
  if (plans.size() > 1) {
    rows += "<thead><tr><th></th><th>first</th><th>second</th></tr></thead>";
  }
  rows += "<tbody>";
  for (const Fact& fact : Facts()) {
    std::string row = "<th scope=\"row\">" + std::string(fact.name) + "</th>";
    bool known = false;
    for (size_t i = 0; i < plans.size(); ++i) {
      const std::string text = HtmlText(fact.text(plans[i], summaries[i]));
      known = known || !text.empty();
      row += Element("td", "name", fact.code ? Element("code", "", text) : text);
    }
    if (known) rows += Element("tr", "", row);
  }
  return Element("div", "scroll facts", Element("table", "", rows + "</tbody>"));
}

// A cell of a table of changes. Numbers stand right, what takes words does not.
std::string ChangeCellHtml(const std::string& text, bool number) {
  constexpr size_t kLongestNumber = 28;
  std::string html = HtmlText(text);
  if (!number) return Element("td", "name", html);
  // Numbers of both plans, "1.0 GB -> 2.0 GB".
  const std::string arrow = HtmlText(" -> ");
  if (const size_t at = html.find(arrow); at != std::string::npos) {
    html.replace(at, arrow.size(), " \u2192 ");
  }
  return Element("td", text.size() > kLongestNumber ? "" : "number", html);
}

std::string ChangeRowsHtml(const DiffTable& content) {
  const auto is_number = [&](size_t column) { return content.columns[column][0] == '>'; };
  std::string head;
  for (size_t c = 0; c < content.columns.size(); ++c) {
    const std::string& title = content.columns[c];
    head += Element("th", is_number(c) ? "number" : "", is_number(c) ? title.substr(1) : title);
  }
  std::string body;
  const size_t shown = std::min(kMaxChangeRows, content.rows.size());
  for (size_t r = 0; r < shown; ++r) {
    std::string row;
    for (size_t c = 0; c < content.columns.size(); ++c) {
      row += ChangeCellHtml(content.rows[r][c], is_number(c));
    }
    body += Element("tr", "", row);
  }
  std::string html =
      Element("div", "scroll",
              Element("table", "",
                      Element("thead", "", Element("tr", "", head)) + Element("tbody", "", body)));
  if (shown < content.rows.size()) {
    html += Element("p", "more",
                    FormatCount(static_cast<int64_t>(content.rows.size() - shown)) +
                        " more, see reshardc diff --rows 0");
  }
  return html;
}

// A section of the diff. What is long and explains the rest is closed at first.
std::string ChangeTableHtml(DiffSection section, const DiffTable& content) {
  constexpr size_t kLongTable = 12;
  const bool main = section == DiffSection::kFigures || section == DiffSection::kTensors;
  const std::string title = content.title.empty() ? "" : Element("h3", "", HtmlText(content.title));
  if (main || content.rows.size() <= kLongTable) return title + ChangeRowsHtml(content);
  return "<details><summary>" + title + " " +
         FormatCount(static_cast<int64_t>(content.rows.size())) + " rows</summary>" +
         ChangeRowsHtml(content) + "</details>";
}

}  // namespace

std::string TitleHtml(const std::vector<ReportPlan>& plans) {
  std::string names;
  std::string digests;
  for (const ReportPlan& report : plans) {
    if (!names.empty()) names += " <span class=\"to\">to</span> ";
    names += HtmlText(report.name);
    digests += Element("p", "digest mono", ToHex(report.loaded.root_digest));
  }
  return "<header class=\"title wide\">" +
         Element("p", "kicker", plans.size() > 1 ? "Two transfer plans" : "Transfer plan") +
         Element("h1", "", names) + digests + "</header>";
}

std::string SummaryHtml(const std::vector<ReportPlan>& plans) {
  std::vector<PlanSummary> summaries;
  std::string certificates;
  for (const ReportPlan& report : plans) {
    summaries.push_back(Summarize(report.loaded.plan));
    certificates += CertificateHtml(report, summaries.back(), plans.size() > 1);
  }
  return Element("div", "certificates", certificates) + FactsHtml(plans, summaries);
}

std::string ChangesHtml(const DiffReport& diff) {
  std::string html = Element("p", "lead", "The plans are " + HtmlText(DiffVerdict(diff)) + ".");
  if (const std::string names = RewrittenInputs(diff); !names.empty()) {
    html += Element("p", "lead", "Written otherwise, with the same meaning: " + HtmlText(names));
  }
  if (!diff.differs()) return html;
  for (const DiffSection section : diff.sections) {
    if (diff.diff.Differs(section)) {
      html += ChangeTableHtml(section, TableOf(section, diff.diff));
    }
  }
  return html;
}

}  // namespace reshard
