#include "compiler/report/tensor_index.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/json_text.h"

namespace reshard {
namespace {

void WriteName(const NamePattern& name, JsonWriter* json) {
  json->BeginArray("name");
  json->Item(EscapeForTerminal(name.text[0]));
  for (size_t h = 0; h < name.holes.size(); ++h) {
    json->BeginArray();
    json->Item(name.holes[h].base);
    for (const int64_t factor : name.holes[h].coef) json->Item(factor);
    json->End();
    json->Item(EscapeForTerminal(name.text[h + 1]));
  }
  json->End();
}

void WriteLoops(const std::vector<int64_t>& begin, const std::vector<int64_t>& extent,
                JsonWriter* json) {
  json->BeginArray("loops");
  for (size_t i = 0; i < begin.size(); ++i) {
    json->Item(begin[i]);
    json->Item(extent[i]);
  }
  json->End();
}

void WriteList(std::string_view name, const std::vector<int64_t>& values, JsonWriter* json) {
  json->BeginArray(name);
  for (const int64_t value : values) json->Item(value);
  json->End();
}

void WriteSuper(const PlanSuper& super, JsonWriter* json) {
  json->BeginObject();
  WriteName(super.name, json);
  WriteLoops(super.loop_begin, super.loop_extent, json);
  WriteList("shape", super.shape, json);
  json->Field("dtype", DTypeText(super.dtype));
  json->Field("bytes", DTypeBytes(super.dtype));
  json->BeginArray("dims");
  for (const PlanSuper::Dim& dim : super.dims) {
    json->Item(int64_t{dim.axis});
    json->Item(dim.weight);
  }
  json->End();
  json->End();
}

// Rank sets that params name, numbered by first use.
class RankSets {
 public:
  int64_t NumberOf(uint32_t set) {
    const auto [entry, added] = numbers_.try_emplace(set, static_cast<int64_t>(sets_.size()));
    if (added) sets_.push_back(set);
    return entry->second;
  }
  void Write(const Plan& plan, JsonWriter* json) const {
    json->BeginArray("rank_sets");
    for (const uint32_t set : sets_) {
      json->BeginArray();
      json->Item(DescribeRanks(plan.rank_sets[set]));
      for (const RankRun& run : CompressRanks(plan.rank_sets[set])) {
        for (const uint32_t number :
             {run.start, run.count, run.stride, run.outer_count, run.outer_stride}) {
          json->Item(int64_t{number});
        }
      }
      json->End();
    }
    json->End();
  }

 private:
  std::map<uint32_t, int64_t> numbers_;
  std::vector<uint32_t> sets_;
};

void WriteParam(const PlanFamily& family, int64_t rank_set, JsonWriter* json) {
  json->BeginObject();
  json->Field("side", family.side == PlanSide::kSource ? 0 : 1);
  WriteName(family.name, json);
  WriteLoops(family.loop_begin, family.loop_extent, json);
  WriteList("shape", family.shape, json);
  json->Field("bytes", DTypeBytes(family.dtype));
  json->Field("ranks", rank_set);
  json->End();
}

}  // namespace

void WriteTensorIndex(const Plan& plan, JsonWriter* json) {
  json->BeginObject("tensors");
  json->BeginArray("supers");
  for (const PlanSuper& super : plan.supers) WriteSuper(super, json);
  json->End();
  RankSets rank_sets;
  json->BeginArray("params");
  for (const PlanFamily& family : plan.families) {
    WriteParam(family, rank_sets.NumberOf(family.rank_set), json);
  }
  json->End();
  json->BeginArray("places");
  for (const PlanPlace& place : plan.places) {
    json->Item(int64_t{place.super});
    json->Item(int64_t{place.family});
    json->Item(place.base_bytes);
    json->Item(place.base_instance);
    for (size_t d = 0; d < plan.supers[place.super].dims.size(); ++d) {
      const PlanDimRange& range = plan.place_dims[place.first_dim + d];
      json->Item(range.begin);
      json->Item(range.extent);
      json->Item(range.stride_bytes);
      json->Item(range.instance_stride);
    }
  }
  json->End();
  rank_sets.Write(plan, json);
  json->End();
}

}  // namespace reshard
