#include "compiler/plan_tools/diff_tables.h"

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "compiler/plan_tools/units.h"

namespace reshard {
namespace {

// "+64 MiB (+5.0 %)".
std::string ChangeText(const Figure& figure) {
  if (!figure.changed()) return "same";
  const int64_t by = figure.after - figure.before;
  const std::string sign = by < 0 ? "-" : "+";
  std::string text = sign + FormatFigure(figure.unit, by < 0 ? -by : by);
  if (figure.before != 0) {
    text += " (" + FormatChange(static_cast<double>(by) / static_cast<double>(figure.before)) + ")";
  }
  return text;
}

DiffTable FiguresTable(const PlanDiff& diff) {
  DiffTable table{"", {"figure", ">first", ">second", ">change"}, {}, 0};
  for (const Figure& figure : diff.figures) {
    if (!figure.changed() && figure.name >= FigureName::kScaleup) continue;
    table.rows.push_back({std::string(figure.title), FormatFigure(figure.unit, figure.before),
                          FormatFigure(figure.unit, figure.after), ChangeText(figure)});
  }
  const auto words = [&](const char* name, const std::array<std::string, 2>& texts) {
    if (texts[0] == texts[1]) return;
    table.rows.push_back({name, texts[0], texts[1], ""});
    ++table.word_rows;
  };
  words("bound by", diff.binding_cuts);
  words("busiest NIC", diff.busiest_nics);
  return table;
}

DiffTable LayoutsTable(const PlanDiff& diff) {
  DiffTable table{"inputs", {"input", "first", "second", "change"}, {}, 0};
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
  DiffTable table{title, {column, ">receives", ">sends"}, {}, 0};
  if (with_needs) table.columns.push_back(">needs");
  // Where there are very many, those with the same texts are one row, at the place of the first.
  constexpr size_t kMany = 16;
  std::map<std::vector<std::string>, std::pair<size_t, int64_t>>
      alike;  // its row, and how many more
  for (const PortChange& port : ports) {
    std::vector<std::string> row = {
        Pair(port, [](const PortChange::Load& load) { return load.receive_bytes; }),
        Pair(port, [](const PortChange::Load& load) { return load.send_bytes; })};
    if (with_needs) {
      row.push_back(Pair(port, [](const PortChange::Load& load) { return load.needed_bytes; }));
    }
    const auto [found, is_new] = alike.try_emplace(row, table.rows.size(), 0);
    if (!is_new && ports.size() > kMany) {
      ++found->second.second;
      continue;
    }
    row.insert(row.begin(), port.name);
    table.rows.push_back(std::move(row));
  }
  for (const auto& [texts, row] : alike) {
    const auto& [index, count] = row;
    if (count > 0) table.rows[index][0] += " and " + FormatCount(count) + " alike";
  }
  return table;
}

DiffTable TensorsTable(const PlanDiff& diff) {
  DiffTable table{
      "tensors, by template", {"tensors", ">count", "change", "first", "second"}, {}, 0};
  for (const TensorChange& change : diff.tensors) {
    table.rows.push_back({change.name, FormatCount(change.count),
                          std::string(TensorChangeText(change.kind)), change.before, change.after});
  }
  return table;
}

DiffTable OptionsTable(const PlanDiff& diff) {
  DiffTable table{"options", {"option", "first", "second"}, {}, 0};
  for (const OptionChange& option : diff.options) {
    table.rows.push_back({option.name, option.before.value_or("-"), option.after.value_or("-")});
  }
  return table;
}

DiffTable RowsTable(const PlanDiff& diff) {
  DiffTable table{"rows of the plans' tables (show --canonical)",
                  {"table", ">only in first", ">only in second"},
                  {},
                  0};
  for (const TableChange& change : diff.tables) {
    table.rows.push_back({std::string(change.name), FormatCount(change.only_before),
                          FormatCount(change.only_after)});
  }
  return table;
}

}  // namespace

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

std::string DiffVerdict(const DiffReport& report) {
  if (report.differs()) return "different";
  if (report.sections.size() < kDiffSectionCount) return "equal in the sections asked for";
  return report.diff.digests[0] == report.diff.digests[1]
             ? "equal"
             : "equal: the bytes differ, the meaning does not";
}

std::string DiffRemark(const DiffReport& report) {
  if (!report.diff.equal() || !report.diff.renumbered) return "";
  return "streams and trees have other numbers: staging offsets and the order of operations within "
         "a "
         "round may differ (show --steps)";
}

std::string RewrittenInputs(const DiffReport& report) {
  std::string names;
  for (const InputChange& input : report.diff.inputs) {
    if (input.rewritten) names += (names.empty() ? "" : ", ") + std::string(input.name);
  }
  return names;
}

}  // namespace reshard
