// SHA-256 over OpenSSL's libcrypto: the digests of inputs, plan sections and
// plans. A hasher belongs to one thread at a time.
#ifndef RESHARD_RUNTIME_BASE_SHA256_H_
#define RESHARD_RUNTIME_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace reshard {

using Sha256Digest = std::array<std::uint8_t, 32>;

// Takes bytes piece by piece. The digest depends on their concatenation only.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view bytes);

  // The digest of all bytes so far; the hasher then starts anew.
  [[nodiscard]] Sha256Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] Sha256Digest Sha256Of(std::span<const std::byte> bytes);
[[nodiscard]] Sha256Digest Sha256Of(std::string_view bytes);

// 64 lower-case hexadecimal digits.
[[nodiscard]] std::string ToHex(const Sha256Digest& digest);

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_SHA256_H_
