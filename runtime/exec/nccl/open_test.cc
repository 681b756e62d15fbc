// What happens with and without CUDA, NCCL and a GPU.
#include <cstdio>
#include <string>

#include "doctest/doctest.h"
#include "runtime/exec/nccl/open_gpu.h"
#include "runtime/exec/nccl/open_nccl.h"

namespace reshard::nccl {
namespace {

TEST_CASE("without CUDA the backend says that it is not built in") {
  if (IsBuiltIn()) {
    std::puts("SKIPPED: runtime/exec/nccl: not built in: this build has CUDA");
    return;
  }
  for (const Status& status : {OpenGpu(0).status(), OpenNccl("").status()}) {
    CHECK(status.code() == StatusCode::kUnavailable);
    CHECK(status.message().find("not built in") != std::string::npos);
  }
}

TEST_CASE("a GPU that does not exist is unavailable") {
  if (!IsBuiltIn()) {
    std::puts("SKIPPED: runtime/exec/nccl: GPU by number: built without CUDA");
    return;
  }
  for (const int32_t device : {-1, 4096}) {
    CHECK(OpenGpu(device).status().code() == StatusCode::kUnavailable);
  }
}

TEST_CASE("files that are no NCCL are refused") {
  if (!IsBuiltIn()) {
    std::puts("SKIPPED: runtime/exec/nccl: other libraries: built without CUDA");
    return;
  }
  const Status other = OpenNccl("libm.so.6").status();
  CHECK(other.code() == StatusCode::kUnavailable);
  CHECK(other.message().find("it has no ncclGetVersion") != std::string::npos);
  const Status absent = OpenNccl("/nowhere/libnccl.so.2").status();
  CHECK(absent.code() == StatusCode::kUnavailable);
  CHECK(absent.message().find("/nowhere/libnccl.so.2") != std::string::npos);
}

TEST_CASE("NCCL is opened, and makes unique ids without a GPU") {
  // Last: from now on it is loaded.
  StatusOr<std::shared_ptr<NcclLibrary>> library = OpenNccl("");
  if (!library.ok()) {
    std::printf("SKIPPED: runtime/exec/nccl: NCCL: %s\n", library.status().message().c_str());
    return;
  }
  CHECK((*library)->version() >= 21900);
  const StatusOr<UniqueId> first = (*library)->NewUniqueId();
  const StatusOr<UniqueId> second = (*library)->NewUniqueId();
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->bytes != second->bytes);
  // The copy that is loaded goes before the file that is named.
  CHECK(OpenNccl("/nowhere/libnccl.so.2").ok());
}

}  // namespace
}  // namespace reshard::nccl
