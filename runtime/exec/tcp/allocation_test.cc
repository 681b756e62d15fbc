// An execution allocates nothing, over TCP: messages between processes, and inside domains through
// shared memory and by messages.
#include "doctest/doctest.h"
#include "runtime/exec/tcp/testing/local_members.h"
#include "runtime/exec/testing/counted_job.h"

namespace reshard {
namespace {

TEST_CASE("executing allocates nothing, in the first execution and in later ones, traced too") {
  for (const bool shared_memory : {true, false}) {
    CAPTURE(shared_memory);
    CHECK(testing::ExecuteCounted([&](uint32_t member_count) {
            TcpBackendOptions options;
            options.shared_memory = shared_memory;
            return testing::LocalTcpBackends(member_count, options);
          }) == "");
  }
}

}  // namespace
}  // namespace reshard
