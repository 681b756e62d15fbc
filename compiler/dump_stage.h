// --dump-after: the result of any pass as text, for people who look for where something went wrong.
//
// The text is complete, ordered and stable for equal inputs; it is no format that programs read.
#ifndef RESHARD_COMPILER_DUMP_STAGE_H_
#define RESHARD_COMPILER_DUMP_STAGE_H_

#include <ostream>

#include "compiler/pipeline.h"

namespace reshard {

// Prints what `stage` made; the compilation has run at least that far.
void DumpStage(const Compilation& compilation, Stage stage, std::ostream& out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_DUMP_STAGE_H_
