#include "compiler/cli/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace reshard {
namespace {

std::string ErrnoText() { return std::strerror(errno); }

StatusOr<std::string> ReadDescriptor(int descriptor, uint64_t max_bytes) {
  std::string text;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Status(StatusCode::kIoError, "cannot read: " + ErrnoText());
    if (got == 0) return text;
    text.append(buffer, static_cast<size_t>(got));
    if (text.size() > max_bytes) {
      return Status(StatusCode::kLimitExceeded,
                    "larger than the limit of " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Status WriteDescriptor(int descriptor, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Status(StatusCode::kIoError, "cannot write: " + ErrnoText());
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return Status();
}

// Outputs get the permissions that a plainly created file would have.
mode_t DefaultFileMode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return static_cast<mode_t>(0666 & ~mask);
}

// Whether `path` is something that a rename must not replace, such as /dev/null or a pipe.
bool IsSpecialFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

StatusOr<std::string> RealFileSystem::Read(const std::string& path, uint64_t max_bytes) {
  if (path == "-") {
    Remember(STDIN_FILENO);
    return ReadDescriptor(STDIN_FILENO, max_bytes);
  }
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIoError,
                  "cannot open: " + ErrnoText());
  }
  Remember(descriptor);
  StatusOr<std::string> text = ReadDescriptor(descriptor, max_bytes);
  ::close(descriptor);
  return text;
}

StatusOr<FileStart> RealFileSystem::ReadStart(const std::string& path, uint64_t bytes) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    return Status(errno == ENOENT ? StatusCode::kNotFound : StatusCode::kIoError,
                  "cannot open: " + ErrnoText());
  }
  Remember(descriptor);
  struct stat info {};
  FileStart start;
  Status status;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    status = Status(StatusCode::kIoError, "not a plain file");
  } else {
    start.file_bytes = static_cast<uint64_t>(info.st_size);
    start.text.resize(std::min(bytes, start.file_bytes));
  }
  size_t filled = 0;
  while (status.ok() && filled < start.text.size()) {
    const ssize_t got = ::read(descriptor, start.text.data() + filled, start.text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) status = Status(StatusCode::kIoError, "cannot read: " + ErrnoText());
    if (got == 0) start.text.resize(filled);  // it has become shorter
    if (got > 0) filled += static_cast<size_t>(got);
  }
  ::close(descriptor);
  if (!status.ok()) return status;
  return start;
}

StatusOr<std::vector<std::string>> RealFileSystem::List(const std::string& path) {
  DIR* folder = ::opendir(path.c_str());
  if (folder == nullptr) {
    return Status(
        errno == ENOENT || errno == ENOTDIR ? StatusCode::kNotFound : StatusCode::kIoError,
        "cannot open: " + ErrnoText());
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(folder)) names.emplace_back(entry->d_name);
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

void RealFileSystem::Remember(int descriptor) {
  struct stat info {};
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
    read_.emplace(info.st_dev, info.st_ino);
  }
}

Status RealFileSystem::CheckOutput(const std::string& path) const {
  struct stat info {};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 ||
      !read_.contains({info.st_dev, info.st_ino})) {
    return Status();
  }
  return Status(StatusCode::kInvalidArgument, "is an input, which is not overwritten");
}

Status RealFileSystem::Write(const std::string& path, std::span<const uint8_t> bytes) {
  if (path == "-") return WriteDescriptor(STDOUT_FILENO, bytes);
  if (Status is_input = CheckOutput(path); !is_input.ok()) return is_input;
  if (IsSpecialFile(path)) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) return Status(StatusCode::kIoError, "cannot open: " + ErrnoText());
    const Status status = WriteDescriptor(descriptor, bytes);
    ::close(descriptor);
    return status;
  }
  // mkstemp replaces the last six characters.
  std::string temporary = path + "." + std::string(6, 'X');
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) return Status(StatusCode::kIoError, "cannot create: " + ErrnoText());
  Status status = WriteDescriptor(descriptor, bytes);
  if (status.ok() && ::fchmod(descriptor, DefaultFileMode()) != 0) {
    status = Status(StatusCode::kIoError, "cannot set its permissions: " + ErrnoText());
  }
  if (::close(descriptor) != 0 && status.ok()) {
    status = Status(StatusCode::kIoError, "cannot write: " + ErrnoText());
  }
  if (status.ok() && ::rename(temporary.c_str(), path.c_str()) != 0) {
    status = Status(StatusCode::kIoError, "cannot rename: " + ErrnoText());
  }
  if (!status.ok()) ::unlink(temporary.c_str());
  return status;
}

}  // namespace reshard
