#include "compiler/plan_tools/print_diff.h"

#include <algorithm>
#include <utility>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/diff_tables.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/markdown.h"
#include "compiler/plan_tools/text_table.h"

namespace reshard {
namespace {

// A line of text that may hold names, under "passed  " or "second  ".
void TextLine(const TextStyle& style, const std::string& line, std::ostream& out) {
  PrintWrapped(style, EscapeForTerminal(line), 8, out);
}

void PrintVerdictText(const DiffReport& report, std::ostream& out) {
  out << DiffVerdict(report) << "\n";
  for (size_t i = 0; i < 2; ++i) {
    TextLine(report.style,
             (i == 0 ? "first   " : "second  ") + report.names[i] + " " + report.diff.digests[i],
             out);
  }
  if (const std::string names = RewrittenInputs(report); !names.empty()) {
    out << "written otherwise, with the same meaning: " << names << "\n";
  }
  if (const std::string remark = DiffRemark(report); !remark.empty()) {
    PrintWrapped(report.style, remark, 0, out);
  }
  for (const GateResult& gate : report.gates) {
    TextLine(report.style, (gate.passed ? "passed  " : "FAILED  ") + gate.gate + ": " + gate.reason,
             out);
  }
}

void PrintVerdictMarkdown(const DiffReport& report, std::ostream& out) {
  out << "**" << DiffVerdict(report) << "**: " << MarkdownCode(report.names[0]) << " to "
      << MarkdownCode(report.names[1]) << "\n";
  if (const std::string names = RewrittenInputs(report); !names.empty()) {
    out << "\nWritten otherwise, with the same meaning: " << names << "\n";
  }
  if (const std::string remark = DiffRemark(report); !remark.empty()) out << "\n" << remark << "\n";
  if (report.gates.empty()) return;
  TextTable table({"gate", "result", "found"});
  for (const GateResult& gate : report.gates) {
    table.Add({gate.gate, gate.passed ? "passed" : "FAILED", gate.reason});
  }
  out << "\n";
  table.Print({OutputFormat::kMarkdown, 0, 0}, out);
}

// Rows of a name and two texts that would make columns of numbers very wide.
void PrintWords(const TextStyle& style, const std::vector<std::vector<std::string>>& rows,
                std::ostream& out) {
  if (rows.empty()) return;
  out << "\n";
  TextTable table({"what", "plan", "is"});
  for (const std::vector<std::string>& row : rows) {
    table.Add({row[0], "first", row[1]});
    table.Add({"", "second", row[2]});
  }
  table.Print(style, out);
}

void PrintTables(const DiffReport& report, std::ostream& out) {
  if (!report.differs()) return;
  for (const DiffSection section : report.sections) {
    if (!report.diff.Differs(section)) continue;
    const DiffTable content = TableOf(section, report.diff);
    if (content.title.empty()) {
      out << "\n";
    } else {
      PrintTitle(report.style, content.title, out);
    }
    TextTable table(content.columns);
    const auto words = content.rows.begin() + static_cast<std::ptrdiff_t>(content.number_rows());
    for (auto row = content.rows.begin(); row != words; ++row) table.Add(*row);
    table.Print(report.style, out);
    PrintWords(report.style, {words, content.rows.end()}, out);
  }
}

void WriteLoad(std::string_view name, const std::optional<PortChange::Load>& load, bool needs,
               JsonWriter* json) {
  if (!load) return;
  json->BeginObject(name);
  json->Field("receive_bytes", load->receive_bytes);
  json->Field("send_bytes", load->send_bytes);
  if (needs) json->Field("needed_bytes", load->needed_bytes);
  json->End();
}

void WritePorts(std::string_view name, const std::vector<PortChange>& ports, bool needs,
                JsonWriter* json) {
  json->BeginArray(name);
  for (const PortChange& port : ports) {
    json->BeginObject();
    json->Field("name", port.name);
    WriteLoad("first", port.before, needs, json);
    WriteLoad("second", port.after, needs, json);
    json->End();
  }
  json->End();
}

void WriteFigures(const PlanDiff& diff, JsonWriter* json) {
  json->BeginObject("figures");
  for (const Figure& figure : diff.figures) {
    json->BeginObject(figure.text);
    json->Field("first", figure.before);
    json->Field("second", figure.after);
    json->End();
  }
  json->End();
  for (size_t i = 0; i < 2; ++i) {
    json->BeginObject(i == 0 ? "first_by" : "second_by");
    json->Field("binding_cut", diff.binding_cuts[i]);
    json->Field("busiest_nic", diff.busiest_nics[i]);
    json->End();
  }
}

void WriteTensors(const PlanDiff& diff, JsonWriter* json) {
  json->BeginArray("tensors");
  for (const TensorChange& change : diff.tensors) {
    json->BeginObject();
    json->Field("name", change.name);
    json->BeginArray("names");
    for (const std::string& name : change.names) json->Item(name);
    json->End();
    json->Field("count", change.count);
    json->Field("change", TensorChangeText(change.kind));
    json->Field("first", change.before);
    json->Field("second", change.after);
    json->Flag("loses_coverage", change.lost > 0 || !change.coverage_known);
    json->Field("lost", change.lost);
    json->Field("fewer_copies", change.fewer_copies);
    json->Flag("coverage_known", change.coverage_known);
    json->End();
  }
  json->End();
}

void WriteSection(DiffSection section, const PlanDiff& diff, JsonWriter* json) {
  switch (section) {
    case DiffSection::kFigures:
      return WriteFigures(diff, json);
    case DiffSection::kLayouts:
      json->BeginArray("inputs");
      for (const InputChange& input : diff.inputs) {
        json->BeginObject();
        json->Field("name", input.name);
        json->Field("first", input.before);
        json->Field("second", input.after);
        json->Flag("changed", input.changed());
        json->Flag("rewritten", input.rewritten);
        json->End();
      }
      return json->End();
    case DiffSection::kDomains:
      return WritePorts("domains", diff.domains, true, json);
    case DiffSection::kNics:
      return WritePorts("nics", diff.nics, false, json);
    case DiffSection::kTensors:
      return WriteTensors(diff, json);
    case DiffSection::kOptions:
      json->BeginArray("options");
      for (const OptionChange& option : diff.options) {
        json->BeginObject();
        json->Field("name", option.name);
        if (option.before) json->Field("first", *option.before);
        if (option.after) json->Field("second", *option.after);
        json->End();
      }
      return json->End();
    case DiffSection::kTables:
      json->BeginArray("tables");
      for (const TableChange& change : diff.tables) {
        json->BeginObject();
        json->Field("name", change.name);
        json->Field("only_first", change.only_before);
        json->Field("only_second", change.only_after);
        json->End();
      }
      return json->End();
  }
}

void PrintJson(const DiffReport& report, std::ostream& out) {
  JsonWriter json;
  json.BeginObject();
  json.Field("schema", "reshardc-diff/1");
  json.Flag("equal", !report.differs());
  json.Flag("renumbered", report.diff.renumbered);
  json.Field("first_digest", report.diff.digests[0]);
  json.Field("second_digest", report.diff.digests[1]);
  json.BeginArray("gates");
  for (const GateResult& gate : report.gates) {
    json.BeginObject();
    json.Field("gate", gate.gate);
    json.Flag("passed", gate.passed);
    json.Field("reason", gate.reason);
    json.End();
  }
  json.End();
  for (const DiffSection section : report.sections) WriteSection(section, report.diff, &json);
  json.End();
  out << json.Text() << "\n";
}

}  // namespace

bool DiffReport::differs() const {
  return std::any_of(sections.begin(), sections.end(),
                     [&](DiffSection section) { return diff.Differs(section); });
}

void PrintDiff(const DiffReport& report, std::ostream& out) {
  if (report.style.format == OutputFormat::kJson) return PrintJson(report, out);
  if (report.style.format == OutputFormat::kMarkdown) {
    PrintVerdictMarkdown(report, out);
  } else {
    PrintVerdictText(report, out);
  }
  PrintTables(report, out);
}

}  // namespace reshard
