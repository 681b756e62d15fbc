// NumberPack: long lists of whole numbers as short text.
//
// Each number is a LEB128 varint, seven bits a byte, the low ones first; the bytes are base64. The
// page's scripts read it back (page/data.js).
#ifndef RESHARD_COMPILER_REPORT_NUMBER_PACK_H_
#define RESHARD_COMPILER_REPORT_NUMBER_PACK_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace reshard {

class NumberPack {
 public:
  void Add(uint64_t number);
  // 0, -1, 1, -2, ... as 0, 1, 2, 3, ...
  void AddSigned(int64_t number);
  std::string Base64() const;

 private:
  std::vector<uint8_t> bytes_;
};

// RFC 4648, with padding.
std::string Base64Of(std::span<const uint8_t> bytes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_REPORT_NUMBER_PACK_H_
