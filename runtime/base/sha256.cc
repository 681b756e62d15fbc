#include "runtime/base/sha256.h"

#include <openssl/evp.h>

#include "runtime/base/check.h"

namespace reshard {
namespace {

void Start(EVP_MD_CTX* context) {
  RESHARD_CHECK(EVP_DigestInit_ex(context, EVP_sha256(), nullptr) == 1,
                "libcrypto does not offer SHA-256");
}

}  // namespace

struct Sha256::Context {
  Context() : md(EVP_MD_CTX_new()) {
    RESHARD_CHECK(md != nullptr, "out of memory");
    Start(md);
  }
  ~Context() { EVP_MD_CTX_free(md); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  EVP_MD_CTX* md;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::Update(std::span<const std::byte> bytes) {
  RESHARD_CHECK(EVP_DigestUpdate(context_->md, bytes.data(), bytes.size()) == 1,
                "SHA-256 update failed");
}

void Sha256::Update(std::string_view bytes) { Update(std::as_bytes(std::span<const char>(bytes))); }

Sha256Digest Sha256::Finish() {
  Sha256Digest digest{};
  RESHARD_CHECK(EVP_DigestFinal_ex(context_->md, digest.data(), nullptr) == 1,
                "SHA-256 final failed");
  Start(context_->md);
  return digest;
}

Sha256Digest Sha256Of(std::span<const std::byte> bytes) {
  Sha256 hasher;
  hasher.Update(bytes);
  return hasher.Finish();
}

Sha256Digest Sha256Of(std::string_view bytes) {
  return Sha256Of(std::as_bytes(std::span<const char>(bytes)));
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    hex += kDigits[byte >> 4U];
    hex += kDigits[byte & 0xFU];
  }
  return hex;
}

}  // namespace reshard
