// Integer arithmetic on sizes that come from outside. Every function returns
// nullopt where the exact result does not exist in the type: on overflow, and on
// division by zero. There is no unchecked twin.
#ifndef RESHARD_RUNTIME_BASE_CHECKED_MATH_H_
#define RESHARD_RUNTIME_BASE_CHECKED_MATH_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

namespace reshard {

// An integer that counts: neither bool nor a character type.
template <typename T>
concept CountInt = std::same_as<T, std::int64_t> || std::same_as<T, std::uint64_t> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::uint32_t>;

template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedAdd(T a, std::type_identity_t<T> b) {
  T result{};
  if (__builtin_add_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedSub(T a, std::type_identity_t<T> b) {
  T result{};
  if (__builtin_sub_overflow(a, b, &result)) return std::nullopt;
  return result;
}

template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedMul(T a, std::type_identity_t<T> b) {
  T result{};
  if (__builtin_mul_overflow(a, b, &result)) return std::nullopt;
  return result;
}

// The product of all values; 1 when there are none. A product with a zero in it
// is 0, even where the factors before the zero would overflow.
template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedProduct(std::span<const T> values) {
  std::optional<T> product = T{1};
  for (const T value : values) {
    if (value == 0) return T{0};
    if (product) product = CheckedMul(*product, value);
  }
  return product;
}

template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedProduct(std::initializer_list<T> values) {
  return CheckedProduct(std::span<const T>(values.begin(), values.size()));
}

// The largest integer not above a / b.
template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedFloorDiv(T a, std::type_identity_t<T> b) {
  if (b == 0) return std::nullopt;
  if constexpr (std::is_signed_v<T>) {
    if (a == std::numeric_limits<T>::min() && b == -1) return std::nullopt;
    const T quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
  } else {
    return a / b;
  }
}

// a - floor(a / b) * b: the remainder with the sign of b.
template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedFloorMod(T a, std::type_identity_t<T> b) {
  if (b == 0) return std::nullopt;
  if constexpr (std::is_signed_v<T>) {
    // The result is 0, but the machine's division would overflow for the lowest a.
    if (b == -1) return T{0};
    const T remainder = a % b;
    return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
  } else {
    return a % b;
  }
}

// The smallest integer not below a / b.
template <CountInt T>
[[nodiscard]] constexpr std::optional<T> CheckedCeilDiv(T a, std::type_identity_t<T> b) {
  const std::optional<T> quotient = CheckedFloorDiv(a, b);
  if (!quotient || a % b == 0) return quotient;
  return *quotient + 1;
}

// The same value in another integer type.
template <std::integral To, CountInt From>
[[nodiscard]] constexpr std::optional<To> CheckedCast(From value) {
  if (!std::in_range<To>(value)) return std::nullopt;
  return static_cast<To>(value);
}

}  // namespace reshard

#endif  // RESHARD_RUNTIME_BASE_CHECKED_MATH_H_
