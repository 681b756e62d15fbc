// Definitions whose order in the file has no meaning (symbols, `for`, `let`), put in an order that
// depends on their contents only: each after those that it uses.
#ifndef RESHARD_COMPILER_FRONTEND_DEFINITION_ORDER_H_
#define RESHARD_COMPILER_FRONTEND_DEFINITION_ORDER_H_

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

struct Definition {
  std::string name;
  Span span;
  std::set<std::string> uses;  // names outside the list are ignored
  size_t priority = 0;         // among those that could come next, the lowest (priority, name)
};

// Indices into `definitions`. Reports a circle as `cycle`; what depends on one comes last, as
// written.
std::vector<size_t> OrderDefinitions(const std::vector<Definition>& definitions,
                                     std::string_view kind, Diagnostics* diags);

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_DEFINITION_ORDER_H_
