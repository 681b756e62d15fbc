#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "reshard/reshard.h"
#include "runtime/base/sha256.h"
#include "runtime/c_api/api_support.h"
#include "runtime/c_api/handle_table.h"
#include "runtime/c_api/plan_object.h"
#include "runtime/plan/load_plan.h"
#include "runtime/plan/verify.h"

namespace reshard::c_api {
namespace {

constexpr uintptr_t kPlanKind = 1;
HandleTable<reshard_plan, PlanObject, kPlanKind>& Plans() {
  static auto* const table = new HandleTable<reshard_plan, PlanObject, kPlanKind>();
  return *table;
}

Status VerifyAll(const Plan& plan) {
  VerifyOptions options;
  options.max_violations = 1;
  const VerifyReport report = VerifyPlan(plan, options);
  if (!report.violations.empty()) {
    return Status(StatusCode::kCorruptData, Describe(report.violations.front()));
  }
  if (report.exhausted) {
    return Status(StatusCode::kLimitExceeded, "verifying the whole plan takes too long");
  }
  return Status();
}

Status CompareDigest(const Digest& digest, const char* expected) {
  if (expected == nullptr) return Status();
  std::string wanted(expected);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (wanted.size() != 2 * digest.size() ||
      wanted.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return Status(StatusCode::kInvalidArgument,
                  "expected_digest is not 64 hexadecimal digits: '" + wanted.substr(0, 80) + "'");
  }
  if (wanted == ToHex(digest)) return Status();
  return Status(StatusCode::kCorruptData,
                "the plan has digest " + ToHex(digest) + ", expected " + wanted);
}

// `load` reads the plan with the given options.
template <class Load>
reshard_result LoadWith(const reshard_plan_options* given, reshard_plan** handle, Load load) {
  if (handle == nullptr) return NullArgument("plan");
  reshard_plan_options options;
  const Status read =
      ReadStruct(given, sizeof(reshard_plan_options), "reshard_plan_options", &options);
  if (!read.ok()) return Report(read);
  LoadOptions load_options;
  if (options.max_file_bytes > 0) load_options.max_bytes = options.max_file_bytes;
  StatusOr<LoadedPlan> loaded = load(load_options);
  if (!loaded.ok()) return Report(loaded.status());
  const Status same = CompareDigest(loaded->root_digest, options.expected_digest);
  if (!same.ok()) return Report(same);
  const bool all = options.verify_all != 0;
  const Status verified = all ? VerifyAll(loaded->plan) : Status();
  if (!verified.ok()) return Report(verified);
  *handle = Plans().Add(std::make_shared<PlanObject>(*std::move(loaded), all));
  return RESHARD_OK;
}

reshard_result NoRank(uint32_t rank) {
  return Fail(RESHARD_ERROR_NOT_FOUND, "the plan has no rank " + std::to_string(rank));
}

}  // namespace

std::shared_ptr<PlanObject> FindPlan(const reshard_plan* handle) { return Plans().Find(handle); }

}  // namespace reshard::c_api

using reshard::Plan;
using reshard::PlanRank;
using namespace reshard::c_api;  // the functions below are of the global namespace

reshard_result reshard_plan_load(const char* path, const reshard_plan_options* options,
                                 reshard_plan** plan) {
  return Guarded([&] {
    if (path == nullptr) return NullArgument("path");
    return LoadWith(options, plan, [&](const reshard::LoadOptions& load_options) {
      // LoadPlanFile takes "-" for standard input, which is not the library's.
      const std::string file = std::strcmp(path, "-") == 0 ? "./-" : path;
      return reshard::LoadPlanFile(file, load_options);
    });
  });
}

reshard_result reshard_plan_load_memory(const void* data, size_t bytes,
                                        const reshard_plan_options* options, reshard_plan** plan) {
  return Guarded([&] {
    if (data == nullptr) return NullArgument("data");
    return LoadWith(options, plan, [&](const reshard::LoadOptions& load_options) {
      return reshard::LoadPlan({static_cast<const uint8_t*>(data), bytes}, load_options);
    });
  });
}

reshard_result reshard_plan_free(reshard_plan* plan) {
  return Guarded([&] { return Plans().Remove(plan) ? RESHARD_OK : BadHandle("plan"); });
}

reshard_result reshard_plan_get_info(const reshard_plan* plan, reshard_plan_info* info) {
  return Guarded([&] {
    const auto object = FindPlan(plan);
    if (!object) return BadHandle("plan");
    if (info == nullptr) return NullArgument("info");
    const reshard::PlanTotals& totals = object->plan().header.totals;
    reshard_plan_info filled{};
    const std::string digest = reshard::ToHex(object->shared()->root_digest);
    std::copy(digest.begin(), digest.end(), filled.digest);
    filled.rank_count = static_cast<uint32_t>(object->plan().ranks.size());
    filled.round_count = totals.rounds;
    filled.message_count = totals.messages;
    filled.source_bytes = totals.source_bytes;
    filled.destination_bytes = totals.destination_bytes;
    filled.network_bytes = totals.network_bytes;
    filled.scaleup_bytes = totals.scaleup_bytes;
    filled.local_bytes = totals.local_bytes;
    filled.max_staging_bytes = totals.max_staging_bytes;
    filled.predicted_ns = totals.predicted_ns;
    filled.bound_ns = totals.bound_ns;
    return Report(WriteStruct(filled, sizeof(filled), "reshard_plan_info", info));
  });
}

reshard_result reshard_plan_get_ranks(const reshard_plan* plan, uint32_t* ranks, size_t capacity,
                                      size_t* count) {
  return Guarded([&] {
    const auto object = FindPlan(plan);
    if (!object) return BadHandle("plan");
    if (count == nullptr) return NullArgument("count");
    if (ranks == nullptr && capacity > 0) return NullArgument("ranks");
    const std::vector<PlanRank>& all = object->plan().ranks;
    *count = all.size();
    for (size_t i = 0; i < std::min(capacity, all.size()); ++i) ranks[i] = all[i].rank;
    return RESHARD_OK;
  });
}

reshard_result reshard_plan_get_rank_info(const reshard_plan* plan, uint32_t rank,
                                          reshard_rank_info* info) {
  return Guarded([&] {
    const auto object = FindPlan(plan);
    if (!object) return BadHandle("plan");
    if (info == nullptr) return NullArgument("info");
    const RankParams* const params = object->ParamsOf(rank);
    if (params == nullptr) return NoRank(rank);
    const Plan& content = object->plan();
    const reshard::ProgramIndex& index = object->shared()->index;
    const reshard::PlanSite& site = content.sites[index.SiteIndex(content, rank)];
    reshard_rank_info filled{};
    filled.param_count = params->params.size();
    filled.staging_bytes = content.ranks[index.RankIndex(content, rank)].staging_bytes();
    filled.node = site.node.c_str();
    filled.domain = content.domains[site.domain].name.c_str();
    filled.gpu = site.gpu;
    return Report(WriteStruct(filled, sizeof(filled), "reshard_rank_info", info));
  });
}

reshard_result reshard_plan_get_param(const reshard_plan* plan, uint32_t rank, size_t index,
                                      reshard_param_info* info) {
  return Guarded([&] {
    const auto object = FindPlan(plan);
    if (!object) return BadHandle("plan");
    if (info == nullptr) return NullArgument("info");
    const RankParams* const params = object->ParamsOf(rank);
    if (params == nullptr) return NoRank(rank);
    if (index >= params->params.size()) {
      return Fail(RESHARD_ERROR_NOT_FOUND, "rank " + std::to_string(rank) + " has " +
                                               std::to_string(params->params.size()) +
                                               " params, no param " + std::to_string(index));
    }
    const reshard::ExpectedParam& param = params->params[index];
    const reshard::PlanFamily& family = object->plan().families[param.family];
    reshard_param_info filled{};
    filled.name = param.name.c_str();
    filled.dtype = reshard::DTypeText(family.dtype).data();
    filled.side = param.side == reshard::PlanSide::kSource ? RESHARD_SOURCE : RESHARD_DESTINATION;
    filled.external = param.external ? 1 : 0;
    filled.bytes = param.bytes;
    filled.element_bytes = static_cast<int32_t>(reshard::DTypeBytes(family.dtype));
    filled.dim_count = static_cast<int32_t>(family.shape.size());
    filled.shape = family.shape.data();
    filled.strides = params->strides[index].data();
    filled.share_count = param.shares.size();
    filled.shares = params->shares[index].data();
    return Report(WriteStruct(filled, sizeof(filled), "reshard_param_info", info));
  });
}
