// Reading what commands work on: input texts and plans, with one form of error.
#ifndef RESHARD_COMPILER_CLI_READ_INPUT_H_
#define RESHARD_COMPILER_CLI_READ_INPUT_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>

#include "compiler/cli/file_system.h"
#include "compiler/pipeline.h"
#include "runtime/plan/load_plan.h"

namespace reshard {

// "<stdin>" for "-", else the path with control characters escaped: the file's name in messages.
std::string ShownPath(const std::string& path);
// The same of a file that is written: "<stdout>" for "-".
std::string ShownOutput(const std::string& path);

// nullopt after `path: error: ... [cannot-read]`.
std::optional<InputFile> ReadInput(const std::string& path, FileSystem& files, std::ostream& err);

// False after `path: error: ... [cannot-write]` when the output is a file that was read.
[[nodiscard]] bool MayWrite(const std::string& path, const FileSystem& files, std::ostream& err);

struct PlanFile {
  LoadedPlan loaded;
  int64_t bytes = 0;  // of the file
};
// nullopt after `path: error: ... [cannot-read]`, or `[bad-plan]` when it is no sound plan file.
std::optional<PlanFile> ReadPlan(const std::string& path, FileSystem& files, std::ostream& err);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_READ_INPUT_H_
