#include "compiler/cli/side_options.h"

#include <CLI/CLI.hpp>

#include "compiler/layout/limits.h"

namespace reshard {

void DeclareSide(CLI::App* app, SideArgs* args) {
  app->add_option("--side", args->side, "which side the ranks are on")
      ->check(CLI::IsMember({"source", "destination"}))
      ->capture_default_str();
  app->add_option("--rank-base", args->rank_base, "rank in the plan of the file's rank 0")
      ->check(CLI::Range(int64_t{0}, kMaxMeshRanks))
      ->capture_default_str();
}

ExportedSide SideOf(const SideArgs& args) { return {args.side == "source", args.rank_base}; }

}  // namespace reshard
