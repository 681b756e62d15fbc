// The super-tensors of a table in an order that does not depend on that of the files' entries.
#ifndef RESHARD_COMPILER_LAYOUT_SORT_SUPERS_H_
#define RESHARD_COMPILER_LAYOUT_SORT_SUPERS_H_

#include "compiler/layout/logical_table.h"

namespace reshard {

// By names (name_order.h) and loops: no two tensors have one name, so that the order is total.
void SortSupers(LogicalTable* table);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_SORT_SUPERS_H_
