#include "runtime/base/sha256.h"

#include <string>
#include <string_view>
#include <utility>

#include "doctest/doctest.h"

namespace reshard {
namespace {

// Vectors of FIPS 180-2, appendix B.
constexpr std::string_view kAbcHex =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST_CASE("published vectors") {
  CHECK(ToHex(Sha256Of("")) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(ToHex(Sha256Of("abc")) == kAbcHex);
  CHECK(ToHex(Sha256Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")) ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(ToHex(Sha256Of(std::string(1'000'000, 'a'))) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("pieces hash as their concatenation, and a finished hasher starts anew") {
  Sha256 hasher;
  hasher.Update("a");
  hasher.Update("");
  Sha256 moved = std::move(hasher);
  moved.Update("bc");
  CHECK(ToHex(moved.Finish()) == kAbcHex);
  moved.Update("abc");
  CHECK(ToHex(moved.Finish()) == kAbcHex);
}

}  // namespace
}  // namespace reshard
