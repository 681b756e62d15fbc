#include "compiler/report/number_pack.h"

#include <doctest/doctest.h>

#include <string_view>

namespace reshard {
namespace {

std::string Base64OfText(std::string_view text) {
  return Base64Of(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

TEST_CASE("base64 gives the examples of RFC 4648") {
  CHECK(Base64OfText("") == "");
  CHECK(Base64OfText("f") == "Zg==");
  CHECK(Base64OfText("fo") == "Zm8=");
  CHECK(Base64OfText("foo") == "Zm9v");
  CHECK(Base64OfText("foob") == "Zm9vYg==");
  CHECK(Base64OfText("fooba") == "Zm9vYmE=");
  CHECK(Base64OfText("foobar") == "Zm9vYmFy");
  const uint8_t high[] = {0xfb, 0xff, 0xfe};
  CHECK(Base64Of(high) == "+//+");
}

TEST_CASE("numbers take seven bits a byte, the low ones first") {
  NumberPack pack;
  for (const uint64_t number : {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{300}}) {
    pack.Add(number);
  }
  const uint8_t expected[] = {0x00, 0x7f, 0x80, 0x01, 0xac, 0x02};
  CHECK(pack.Base64() == Base64Of(expected));

  NumberPack largest;
  largest.Add(UINT64_MAX);
  const uint8_t ten[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
  CHECK(largest.Base64() == Base64Of(ten));
}

TEST_CASE("signed numbers alternate around zero") {
  NumberPack pack, expected;
  const int64_t numbers[] = {0, -1, 1, -2, 2, -64, 64, INT64_MAX, INT64_MIN};
  const uint64_t codes[] = {0, 1, 2, 3, 4, 127, 128, UINT64_MAX - 1, UINT64_MAX};
  for (const int64_t number : numbers) pack.AddSigned(number);
  for (const uint64_t code : codes) expected.Add(code);
  CHECK(pack.Base64() == expected.Base64());
}

}  // namespace
}  // namespace reshard
