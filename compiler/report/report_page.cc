#include "compiler/report/report_page.h"

#include <span>
#include <string_view>

#include "compiler/report/html.h"
#include "compiler/report/number_pack.h"
#include "compiler/report/page_parts.h"
#include "compiler/report/page_summary.h"
#include "runtime/base/sha256.h"

namespace reshard {
namespace {

// A section whose view the script draws into the element `view`.
struct DrawnSection {
  const char* id;
  const char* title;
  const char* lead;
  const char* view;
};

constexpr DrawnSection kSections[] = {
    {"traffic", "Who sends to whom",
     "Bytes from rank to rank: over the network between domains, and copied inside them. Where a "
     "cell is more than two ranks, a click goes into it.",
     "heat-map"},
    {"nics", "NIC loads",
     "The time that each NIC's bytes take at its full rate, receiving above sending. A domain's "
     "bar "
     "is solid up to its least busy NIC and paler up to its busiest; open it for its NICs.",
     "nic-bars"},
    {"timeline", "Timeline",
     "A few rounds, simulated event by event: what passes each rank's NICs and its NVLink port.",
     "timeline-view"},
    {"tensors", "Tensors",
     "Where each tensor is held, where it is needed, and which part comes from where. Where "
     "several "
     "ranks hold a part, reshardc explain says which of them sends it, when and why.",
     "tensor-view"},
    {"flows", "Largest flows", "The pairs of ranks that move most.", "flow-table"},
};

constexpr const char* kIcon =
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath "
    "fill='%231f5fa8' d='M1 1h6v6H1zM9 9h6v6H9z'/%3E%3Cpath fill='%231a7f64' d='M9 1h6v6H9zM1 "
    "9h6v6H1z'/%3E%3C/svg%3E";

// What a content security policy calls the text of a script or style sheet.
std::string HashSource(std::string_view text) {
  const Sha256Digest digest = Sha256Of(text);
  return "'sha256-" + Base64Of(digest) + "'";
}

std::string Head(const std::vector<ReportPlan>& plans) {
  std::string title;
  for (const ReportPlan& report : plans) title += (title.empty() ? "" : " to ") + report.name;
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
         "data:; "
         "script-src " +
         HashSource(PageScript()) + "; style-src " + HashSource(PageStyle()) +
         "; base-uri 'none'; form-action 'none'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta name=\"referrer\" content=\"no-referrer\">\n"
         "<title>" +
         HtmlText(title) + ": reshardc report</title>\n<link rel=\"icon\" href=\"" + kIcon +
         "\">\n<style>" + std::string(PageStyle()) + "</style>\n</head>\n";
}

std::string Navigation(bool changes) {
  std::string links = "<a href=\"#summary\">Summary</a>";
  if (changes) links = "<a href=\"#changes\">Changes</a>" + links;
  for (const DrawnSection& section : kSections) {
    links += "<a href=\"#" + std::string(section.id) + "\">" + section.title + "</a>";
  }
  return "<div class=\"bar\"><div class=\"wide\"><nav aria-label=\"Sections\">" + links +
         "</nav><div class=\"tools\" id=\"tools\"></div></div></div>\n";
}

std::string Section(const char* id, const char* title, const std::string& html) {
  return "<section id=\"" + std::string(id) + "\" aria-labelledby=\"" + id +
         "-title\">\n<h2 id=\"" + id + "-title\">" + title + "</h2>\n" + html + "\n</section>\n";
}

std::string Data(const std::vector<ReportPlan>& plans) {
  std::string json = "{\"schema\":\"reshardc-report/1\",\"plans\":[";
  for (size_t i = 0; i < plans.size(); ++i) {
    json += (i == 0 ? "" : ",") + ReportModelJson(plans[i]);
  }
  return JsonForHtml(json + "]}");
}

}  // namespace

std::string ReportPage(const std::vector<ReportPlan>& plans, const DiffReport* diff) {
  std::string html = Head(plans) + "<body>\n" + Navigation(diff != nullptr) + TitleHtml(plans) +
                     "\n<main class=\"wide\">\n";
  if (diff != nullptr) html += Section("changes", "Changes", ChangesHtml(*diff));
  html += Section("summary", "Summary", SummaryHtml(plans));
  html +=
      "<noscript><p class=\"lead\">The views below are drawn by the script in this file, which "
      "this "
      "browser does not run.</p></noscript>\n";
  for (const DrawnSection& section : kSections) {
    html += Section(section.id, section.title,
                    "<p class=\"lead\">" + std::string(section.lead) + "</p>\n<div id=\"" +
                        section.view + "\"></div>");
  }
  html +=
      "</main>\n<footer class=\"wide\"><p><kbd>/</kbd> searches tensors, arrow keys move in the "
      "map "
      "and in results, <kbd>Enter</kbd> goes in, <kbd>Esc</kbd> comes back. Made by reshardc "
      "report.</p></footer>\n";
  html += "<script type=\"application/json\" id=\"report-data\">" + Data(plans) + "</script>\n";
  html += "<script>" + std::string(PageScript()) + "</script>\n</body>\n</html>\n";
  return html;
}

}  // namespace reshard
