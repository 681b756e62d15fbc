// Whole tiles: which source tiles every rank touches.
#ifndef RESHARD_COMPILER_SIMULATE_WHOLE_TILES_H_
#define RESHARD_COMPILER_SIMULATE_WHOLE_TILES_H_

#include <cstdint>
#include <vector>

#include "runtime/plan/plan.h"

namespace reshard {

// A tile is what one param buffer holds of a tensor. `count` tiles that `holder`, the first rank
// that has them, sends whole to each of `needers`.
struct TileSend {
  uint32_t holder = 0;
  RankList needers;
  int64_t tile_bytes = 0;
  int64_t count = 0;
};

// Every (tile, needer) once.
std::vector<TileSend> WholeTiles(const Plan& plan);

}  // namespace reshard

#endif  // RESHARD_COMPILER_SIMULATE_WHOLE_TILES_H_
