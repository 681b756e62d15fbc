// Files of `reshardc import`: JSON inputs with their positions, and documents to be written.
#ifndef RESHARD_COMPILER_CLI_IMPORT_FILES_H_
#define RESHARD_COMPILER_CLI_IMPORT_FILES_H_

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "compiler/cli/file_system.h"
#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/json_doc.h"

namespace reshard {

// A file that an import has written. The counts are those of layouts.
struct WrittenFile {
  std::string path;
  std::string kind;  // "source", "destination", "topology"
  int64_t ranks = 0;
  int64_t tensors = 0;
  int64_t params = 0;
  int64_t bytes = 0;
};

// What one import reads from and reports into.
struct ImportRun {
  FileSystem& files;
  std::ostream& err;
  SourceMap sources;
  Diagnostics diags;
  std::vector<WrittenFile> written;
};

// Reads a file into run.sources and returns its number there. nullopt after an error on run.err.
std::optional<uint32_t> ReadTextFile(const std::string& path, ImportRun* run);

// Reads a JSON file into run.sources. nullopt after an error, on run.err where the file cannot be
// read, in run.diags where it is not JSON.
std::optional<JsonNode> ReadJsonFile(const std::string& path, ImportRun* run);

// Writes the document; "-" is standard output. False after an error on run.err.
[[nodiscard]] bool WriteDocFile(const std::string& path, const JsonDoc& doc, ImportRun* run);

// Reads the layouts that were written at these paths (both sides, or one) as the compiler does, and
// adds what they hold to run.written. False after an error in run.diags: an import that cannot be
// right is an error with the place in the file written.
[[nodiscard]] bool CheckWrittenLayouts(const std::vector<std::pair<std::string, JsonDoc>>& layouts,
                                       ImportRun* run);

// Writes the layout of one side and checks it so. False after an error.
[[nodiscard]] bool WriteLayoutFile(const std::string& path, const JsonDoc& doc, ImportRun* run);

// Writes a topology, reads it again as the compiler does, and adds it to run.written. False after
// an error.
[[nodiscard]] bool WriteTopologyFile(const std::string& path, const JsonDoc& doc, ImportRun* run);

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_IMPORT_FILES_H_
