#include "compiler/plan_tools/print_diff.h"

#include <algorithm>
#include <utility>

#include "compiler/plan_tools/json_text.h"
#include "compiler/plan_tools/markdown.h"
#include "compiler/plan_tools/text_table.h"
#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// A table for people. Columns whose title starts with '>' are numbers.
struct DiffTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

// "+64 MiB (+5.0 %)".
std::string ChangeText(const Figure& figure) {
  if (!figure.changed()) return "same";
  const int64_t by = figure.after - figure.before;
  const std::string sign = by < 0 ? "-" : "+";
  std::string text = sign + FormatFigure(figure.unit, by < 0 ? -by : by);
  if (figure.before != 0) {
    const double part = static_cast<double>(by) / static_cast<double>(figure.before);
    text += " (" + sign + FormatPercent(by < 0 ? -part : part) + ")";
  }
  return text;
}

DiffTable FiguresTable(const PlanDiff& diff) {
  DiffTable table{"", {"figure", ">first", ">second", ">change"}, {}};
  for (const Figure& figure : diff.figures) {
    if (!figure.changed() && figure.name >= FigureName::kScaleup) continue;
    table.rows.push_back({std::string(figure.title), FormatFigure(figure.unit, figure.before),
                          FormatFigure(figure.unit, figure.after), ChangeText(figure)});
  }
  const auto words = [&](const char* name, const std::array<std::string, 2>& texts) {
    if (texts[0] != texts[1]) table.rows.push_back({name, texts[0], texts[1], ""});
  };
  words("bound by", diff.binding_cuts);
  words("busiest NIC", diff.busiest_nics);
  return table;
}

DiffTable LayoutsTable(const PlanDiff& diff) {
  DiffTable table{"inputs", {"input", "first", "second", "change"}, {}};
  constexpr size_t kShownDigits = 12;
  for (const InputChange& input : diff.inputs) {
    table.rows.push_back({std::string(input.name), input.before.substr(0, kShownDigits),
                          input.after.substr(0, kShownDigits),
                          input.changed()   ? "changed"
                          : input.rewritten ? "written otherwise"
                                            : "same"});
  }
  return table;
}

// "1.0 GB" or "1.0 GB -> 2.0 GB"; "-" for what a plan does not have.
template <class Get>
std::string Pair(const PortChange& port, const Get& get) {
  const auto text = [&](const std::optional<PortChange::Load>& load) {
    return load ? FormatBytes(get(*load)) : std::string("-");
  };
  if (port.before && port.after && get(*port.before) == get(*port.after)) return text(port.after);
  return text(port.before) + " -> " + text(port.after);
}

DiffTable PortsTable(const char* title, const char* column, const std::vector<PortChange>& ports,
                     bool with_needs) {
  DiffTable table{title, {column, ">receives", ">sends"}, {}};
  if (with_needs) table.columns.push_back(">needs");
  for (const PortChange& port : ports) {
    std::vector<std::string> row = {
        port.name, Pair(port, [](const PortChange::Load& load) { return load.receive_bytes; }),
        Pair(port, [](const PortChange::Load& load) { return load.send_bytes; })};
    if (with_needs) {
      row.push_back(Pair(port, [](const PortChange::Load& load) { return load.needed_bytes; }));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

DiffTable TensorsTable(const PlanDiff& diff) {
  DiffTable table{"tensors, by template", {"tensors", ">count", "change", "first", "second"}, {}};
  for (const TensorChange& change : diff.tensors) {
    table.rows.push_back({change.name, FormatCount(change.count),
                          std::string(TensorChangeText(change.kind)), change.before, change.after});
  }
  return table;
}

DiffTable OptionsTable(const PlanDiff& diff) {
  DiffTable table{"options", {"option", "first", "second"}, {}};
  for (const OptionChange& option : diff.options) {
    table.rows.push_back({option.name, option.before.value_or("-"), option.after.value_or("-")});
  }
  return table;
}

DiffTable RowsTable(const PlanDiff& diff) {
  DiffTable table{"rows of the plans' tables (show --canonical)",
                  {"table", ">only in first", ">only in second"},
                  {}};
  for (const TableChange& change : diff.tables) {
    table.rows.push_back({std::string(change.name), FormatCount(change.only_before),
                          FormatCount(change.only_after)});
  }
  return table;
}

DiffTable TableOf(DiffSection section, const PlanDiff& diff) {
  switch (section) {
    case DiffSection::kFigures:
      return FiguresTable(diff);
    case DiffSection::kLayouts:
      return LayoutsTable(diff);
    case DiffSection::kDomains:
      return PortsTable("domains (network bytes)", "domain", diff.domains, true);
    case DiffSection::kNics:
      return PortsTable("NICs", "NIC", diff.nics, false);
    case DiffSection::kTensors:
      return TensorsTable(diff);
    case DiffSection::kOptions:
      return OptionsTable(diff);
    case DiffSection::kTables:
      return RowsTable(diff);
  }
  return {};
}

std::string Verdict(const DiffReport& report) {
  if (report.differs()) return "different";
  if (report.sections.size() < kDiffSectionCount) return "equal in the sections asked for";
  return report.diff.digests[0] == report.diff.digests[1]
             ? "equal"
             : "equal: the bytes differ, the meaning does not";
}

// "train, infer": inputs of another digest that mean the same.
std::string Rewritten(const DiffReport& report) {
  std::string names;
  for (const InputChange& input : report.diff.inputs) {
    if (input.rewritten) names += (names.empty() ? "" : ", ") + std::string(input.name);
  }
  return names;
}

void PrintText(const DiffReport& report, std::ostream& out) {
  out << Verdict(report) << "\n";
  for (size_t i = 0; i < 2; ++i) {
    out << (i == 0 ? "first   " : "second  ") << report.names[i] << " " << report.diff.digests[i]
        << "\n";
  }
  if (const std::string names = Rewritten(report); !names.empty()) {
    out << "written otherwise, with the same meaning: " << names << "\n";
  }
  for (const GateResult& gate : report.gates) {
    out << (gate.passed ? "passed  " : "FAILED  ") << gate.gate << ": " << gate.reason << "\n";
  }
  if (!report.differs()) return;
  for (const DiffSection section : report.sections) {
    if (!report.diff.Differs(section)) continue;
    const DiffTable content = TableOf(section, report.diff);
    out << "\n";
    if (!content.title.empty()) out << content.title << "\n";
    TextTable table(content.columns);
    for (const std::vector<std::string>& row : content.rows) table.Add(row);
    table.Print(report.rows, out);
  }
}

void PrintMarkdownTable(const DiffTable& table, size_t limit, std::ostream& out) {
  out << "|";
  for (const std::string& column : table.columns) {
    out << " " << (column[0] == '>' ? column.substr(1) : column) << " |";
  }
  out << "\n|";
  for (const std::string& column : table.columns) out << (column[0] == '>' ? " ---: |" : " --- |");
  out << "\n";
  const size_t shown = limit == 0 ? table.rows.size() : std::min(limit, table.rows.size());
  for (size_t i = 0; i < shown; ++i) {
    out << "|";
    for (const std::string& cell : table.rows[i]) out << " " << MarkdownCode(cell) << " |";
    out << "\n";
  }
  if (shown < table.rows.size()) {
    out << "\n" << FormatCount(static_cast<int64_t>(table.rows.size() - shown)) << " more\n";
  }
}

void PrintMarkdown(const DiffReport& report, std::ostream& out) {
  out << "**" << Verdict(report) << "**: " << MarkdownCode(report.names[0]) << " to "
      << MarkdownCode(report.names[1]) << "\n";
  if (const std::string names = Rewritten(report); !names.empty()) {
    out << "\nWritten otherwise, with the same meaning: " << names << "\n";
  }
  if (!report.gates.empty()) {
    DiffTable table{"", {"gate", "result", "found"}, {}};
    for (const GateResult& gate : report.gates) {
      table.rows.push_back({gate.gate, gate.passed ? "passed" : "FAILED", gate.reason});
    }
    out << "\n";
    PrintMarkdownTable(table, 0, out);
  }
  if (!report.differs()) return;
  for (const DiffSection section : report.sections) {
    if (!report.diff.Differs(section)) continue;
    const DiffTable table = TableOf(section, report.diff);
    out << "\n";
    if (!table.title.empty()) out << "#### " << table.title << "\n\n";
    PrintMarkdownTable(table, report.rows, out);
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
    json->Field("count", change.count);
    json->Field("change", TensorChangeText(change.kind));
    json->Field("first", change.before);
    json->Field("second", change.after);
    json->Flag("loses_coverage", change.loses_coverage);
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

void PrintDiff(const DiffReport& report, OutputFormat format, std::ostream& out) {
  switch (format) {
    case OutputFormat::kText:
      return PrintText(report, out);
    case OutputFormat::kMarkdown:
      return PrintMarkdown(report, out);
    case OutputFormat::kJson:
      return PrintJson(report, out);
  }
}

}  // namespace reshard
