#include "compiler/report/number_pack.h"

namespace reshard {
namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

void NumberPack::Add(uint64_t number) {
  while (number >= 0x80) {
    bytes_.push_back(static_cast<uint8_t>(number | 0x80));
    number >>= 7;
  }
  bytes_.push_back(static_cast<uint8_t>(number));
}

void NumberPack::AddSigned(int64_t number) {
  const uint64_t doubled = static_cast<uint64_t>(number) << 1;
  Add(number < 0 ? ~doubled : doubled);
}

std::string NumberPack::Base64() const { return Base64Of(bytes_); }

std::string Base64Of(std::span<const uint8_t> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t left = bytes.size() - i;
    const uint32_t group = uint32_t{bytes[i]} << 16 | (left > 1 ? uint32_t{bytes[i + 1]} << 8 : 0) |
                           (left > 2 ? uint32_t{bytes[i + 2]} : 0);
    text += kDigits[group >> 18];
    text += kDigits[group >> 12 & 63];
    text += left > 1 ? kDigits[group >> 6 & 63] : '=';
    text += left > 2 ? kDigits[group & 63] : '=';
  }
  return text;
}

}  // namespace reshard
