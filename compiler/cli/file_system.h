// FileSystem: the files that commands read and write, as an interface so that tests can stand in.
#ifndef RESHARD_COMPILER_CLI_FILE_SYSTEM_H_
#define RESHARD_COMPILER_CLI_FILE_SYSTEM_H_

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace reshard {

struct FileStart {
  std::string text;
  uint64_t file_bytes = 0;  // of the whole file
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  // The whole file; "-" is standard input. At most `max_bytes`.
  virtual StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) = 0;
  // The first bytes of a file, at most `bytes`.
  virtual StatusOr<FileStart> ReadStart(const std::string& path, uint64_t bytes) = 0;
  // The names in a folder, sorted; kNotFound when `path` is no folder.
  virtual StatusOr<std::vector<std::string>> List(const std::string& path) = 0;
  // Fails when `path` is a file that was read, by this or another name: a mistyped output would
  // cost an input. Commands ask before they work long; Write asks again.
  virtual Status CheckOutput(const std::string& path) const = 0;
  // Writes a temporary file beside `path`, then renames it: a reader sees the old or the new file,
  // never a part. "-" is standard output.
  virtual Status Write(const std::string& path, std::span<const uint8_t> bytes) = 0;
};

class RealFileSystem final : public FileSystem {
 public:
  StatusOr<std::string> Read(const std::string& path, uint64_t max_bytes) override;
  StatusOr<FileStart> ReadStart(const std::string& path, uint64_t bytes) override;
  StatusOr<std::vector<std::string>> List(const std::string& path) override;
  Status CheckOutput(const std::string& path) const override;
  Status Write(const std::string& path, std::span<const uint8_t> bytes) override;

 private:
  void Remember(int descriptor);

  std::set<std::pair<uint64_t, uint64_t>> read_;  // device and inode of each plain file
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_CLI_FILE_SYSTEM_H_
