// The families of a layout in an order that does not depend on that of the file's entries.
#ifndef RESHARD_COMPILER_LAYOUT_SORT_FAMILIES_H_
#define RESHARD_COMPILER_LAYOUT_SORT_FAMILIES_H_

#include "compiler/layout/layout_data.h"

namespace reshard {

// By names (name_order.h), loops and ranks; places and fills follow their families. The order is
// total where CheckParamNames has passed.
void SortFamilies(Layout* layout);

}  // namespace reshard

#endif  // RESHARD_COMPILER_LAYOUT_SORT_FAMILIES_H_
