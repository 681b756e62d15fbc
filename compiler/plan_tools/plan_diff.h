// PlanDiff: in what two plans differ, by meaning and not by bytes.
//
// Plans are equal when their rows say the same (plan_rows.h), however files are laid out, tables
// are numbered and templates are cut. What differs is told in sections, from what matters most to
// what explains the rest: figures, inputs, domains, NICs, tensors by template, options, and rows by
// table. Costs time linear in the tables; no program is expanded.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_PLAN_DIFF_H_
#define RESHARD_COMPILER_PLAN_TOOLS_PLAN_DIFF_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/plan_tools/plan_rows.h"
#include "compiler/plan_tools/tensor_diff.h"
#include "runtime/plan/load_plan.h"

namespace reshard {

enum class DiffSection : uint8_t {
#define RESHARD_DIFF_SECTION(name, text) name,
#include "compiler/plan_tools/diff_sections.def"
#undef RESHARD_DIFF_SECTION
};
inline constexpr size_t kDiffSectionCount = 0
#define RESHARD_DIFF_SECTION(name, text) +1
#include "compiler/plan_tools/diff_sections.def"
#undef RESHARD_DIFF_SECTION
    ;
std::string_view DiffSectionText(DiffSection section);

enum class FigureUnit : uint8_t { kTime, kBytes, kMemory, kCount };
enum class FigureName : uint8_t {
#define RESHARD_FIGURE(name, text, unit, title) name,
#include "compiler/plan_tools/diff_figures.def"
#undef RESHARD_FIGURE
};
struct Figure {
  FigureName name{};
  std::string_view text;   // in gates and in JSON
  std::string_view title;  // for people
  FigureUnit unit{};
  int64_t before = 0, after = 0;
  bool changed() const { return before != after; }
};

// A plan's SHA-256 of one input.
struct InputChange {
  std::string_view name;  // "train", "infer" or "topo"
  std::string before, after;
  // Of another digest, but what the plan has of it is the same: only written in another way.
  bool rewritten = false;
  bool changed() const { return before != after && !rewritten; }
};

// Network bytes of a domain or NIC, matched by name.
struct PortChange {
  struct Load {
    int64_t send_bytes = 0;
    int64_t receive_bytes = 0;
    int64_t needed_bytes = 0;  // of domains
    bool operator==(const Load&) const = default;
  };
  std::string name;
  std::optional<Load> before, after;  // nothing: the plan does not have it
};

struct OptionChange {
  std::string name;
  std::optional<std::string> before, after;
};

struct PlanDiff {
  std::vector<Figure> figures;  // all, also equal ones
  std::array<std::string, 2> binding_cuts, busiest_nics;
  std::vector<InputChange> inputs;  // all
  std::vector<PortChange> domains, nics;
  int64_t domain_count = 0, nic_count = 0;  // of either plan
  std::vector<TensorChange> tensors;
  std::vector<OptionChange> options;
  std::vector<TableChange> tables;  // those that differ; empty: the plans are equal
  std::array<std::string, 2> digests;
  bool renumbered = false;  // see PlanRowChanges

  bool equal() const { return tables.empty(); }
  bool Differs(DiffSection section) const;
  const Figure& figure(FigureName name) const { return figures[static_cast<size_t>(name)]; }
};

PlanDiff DiffPlans(const LoadedPlan& before, const LoadedPlan& after);

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_PLAN_DIFF_H_
