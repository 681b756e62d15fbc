// An execution allocates nothing, on loopback.
#include "doctest/doctest.h"
#include "runtime/exec/loopback/loopback_backend.h"
#include "runtime/exec/testing/counted_job.h"

namespace reshard {
namespace {

TEST_CASE("executing allocates nothing, in the first execution and in later ones, traced too") {
  CHECK(testing::ExecuteCounted(
            [](uint32_t member_count) { return LoopbackGroup(member_count).backends(); }) == "");
}

}  // namespace
}  // namespace reshard
