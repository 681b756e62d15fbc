// ReadSlurmLines: the form of Slurm's configuration files: lines of KEY=VALUE.
//
// As Slurm reads them: spaces may stand around "=", a value may be in double quotes, capitals of
// keys do not matter, what follows a "#" means nothing, a "\" at the end of a line joins the next
// one, and elsewhere makes the next character an ordinary one. `Include` and the operators before
// "=" are refused.
#ifndef RESHARD_COMPILER_IMPORT_SLURM_LINES_H_
#define RESHARD_COMPILER_IMPORT_SLURM_LINES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"

namespace reshard {

struct SlurmText {
  std::string text;
  Span span;
};

struct SlurmSetting {
  SlurmText key;     // as written
  std::string name;  // the key in small letters
  SlurmText value;
};

using SlurmLine = std::vector<SlurmSetting>;  // not empty

// The lines with settings. Goes on after errors; returns false when there was one.
[[nodiscard]] bool ReadSlurmLines(std::string_view text, uint32_t file, Diagnostics* diags,
                                  std::vector<SlurmLine>* out);

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_SLURM_LINES_H_
