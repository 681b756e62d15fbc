#include "runtime/exec/messages/culprit_search.h"

#include <optional>

#include "doctest/doctest.h"

namespace reshard {
namespace {

TEST_CASE("a chain is followed to the one that does not answer") {
  CulpritSearch search(0);
  CHECK_FALSE(search.started());
  search.Start(3);
  CHECK(search.NextToAsk() == 3);
  CHECK_FALSE(search.NextToAsk());
  search.Answer(3, 5);
  CHECK(search.NextToAsk() == 5);
  CHECK(search.culprit() == 5);
  CHECK(search.end() == CulpritSearch::End::kSilent);
  CHECK_FALSE(search.direct());
}

TEST_CASE("the first one may be the culprit") {
  CulpritSearch search(0);
  search.Start(3);
  CHECK(search.NextToAsk() == 3);
  CHECK(search.culprit() == 3);
  CHECK(search.direct());
  CHECK(search.end() == CulpritSearch::End::kSilent);
}

TEST_CASE("one that waits for nobody ends the search") {
  CulpritSearch search(0);
  search.Start(3);
  CHECK(search.NextToAsk() == 3);
  search.Answer(3, std::nullopt);
  CHECK_FALSE(search.NextToAsk());
  CHECK(search.end() == CulpritSearch::End::kIdle);
}

TEST_CASE("circles are found, with and without the one that asks") {
  CulpritSearch own(0);
  own.Start(1);
  CHECK(own.NextToAsk() == 1);
  own.Answer(1, 0);
  CHECK(own.end() == CulpritSearch::End::kCircle);

  CulpritSearch others(0);
  others.Start(1);
  CHECK(others.NextToAsk() == 1);
  others.Answer(1, 2);
  CHECK(others.NextToAsk() == 2);
  others.Answer(2, 1);
  CHECK(others.end() == CulpritSearch::End::kCircle);
  CHECK_FALSE(others.NextToAsk());
}

TEST_CASE("answers that nobody asked for change nothing") {
  CulpritSearch search(0);
  search.Answer(4, 5);
  CHECK_FALSE(search.started());
  search.Start(1);
  search.Answer(1, 2);  // not yet asked
  CHECK(search.NextToAsk() == 1);
  search.Answer(7, 2);
  CHECK(search.culprit() == 1);
  search.Answer(1, std::nullopt);
  search.Answer(1, 2);  // too late
  CHECK(search.end() == CulpritSearch::End::kIdle);
  search.Reset();
  CHECK_FALSE(search.started());
}

}  // namespace
}  // namespace reshard
