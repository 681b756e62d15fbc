// Distinct types for the numbers that name things, so that a rank cannot be
// passed where a tensor is meant:
//
//   using RankId = StrongId<struct RankIdTag>;
//
// An id is made only explicitly, compares with its own kind, hashes, and prints
// as its number. Ids of one kind are dense from 0, so they also index vectors.
#ifndef RESHARD_RUNTIME_BASE_STRONG_ID_H_
#define RESHARD_RUNTIME_BASE_STRONG_ID_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>

namespace reshard {

template <class Tag>
struct StrongId {
  std::uint32_t value = 0;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::uint32_t number) : value(number) {}

  [[nodiscard]] constexpr std::size_t index() const { return value; }

  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
  friend std::ostream& operator<<(std::ostream& out, StrongId id) { return out << id.value; }
};

}  // namespace reshard

template <class Tag>
struct std::hash<reshard::StrongId<Tag>> {
  std::size_t operator()(reshard::StrongId<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};

#endif  // RESHARD_RUNTIME_BASE_STRONG_ID_H_
