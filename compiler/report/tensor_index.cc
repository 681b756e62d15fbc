#include "compiler/report/tensor_index.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/plan_tools/json_text.h"
#include "compiler/report/number_pack.h"

namespace reshard {
namespace {

using Numbers = std::vector<int64_t>;

// Different values by first use, each with a number.
template <class Value>
class Numbering {
 public:
  uint64_t NumberOf(Value value) {
    const auto [entry, added] = numbers_.try_emplace(std::move(value), values_.size());
    if (added) values_.push_back(&entry->first);
    return entry->second;
  }
  // Pointers into the map, whose entries stay where they are.
  const std::vector<const Value*>& values() const { return values_; }

 private:
  std::map<Value, uint64_t> numbers_;
  std::vector<const Value*> values_;
};

void WriteList(std::string_view name, const Numbers& values, JsonWriter* json) {
  json->BeginArray(name);
  for (const int64_t value : values) json->Item(value);
  json->End();
}

// Loops and holes of a name, which it shares with others of its kind.
struct NameKind {
  Numbers loops;
  std::vector<Numbers> holes;
  auto operator<=>(const NameKind&) const = default;
};

NameKind NameKindOf(const NamePattern& name, const Numbers& loop_begin,
                    const Numbers& loop_extent) {
  NameKind kind;
  for (size_t i = 0; i < loop_begin.size(); ++i) {
    kind.loops.push_back(loop_begin[i]);
    kind.loops.push_back(loop_extent[i]);
  }
  for (const NamePattern::Hole& hole : name.holes) {
    kind.holes.push_back({hole.base});
    kind.holes.back().insert(kind.holes.back().end(), hole.coef.begin(), hole.coef.end());
  }
  return kind;
}

void WriteNameKind(const NameKind& kind, JsonWriter* json) {
  WriteList("loops", kind.loops, json);
  json->BeginArray("holes");
  for (const Numbers& hole : kind.holes) WriteList({}, hole, json);
  json->End();
}

class Names {
 public:
  void Add(const NamePattern& name) {
    // Escaped text has neither tabs nor line feeds.
    std::string text;
    for (size_t i = 0; i < name.text.size(); ++i) {
      text += (i == 0 ? "" : "\t") + EscapeForTerminal(name.text[i]);
    }
    // Only of ASCII, where a byte is a character of the script.
    size_t shared = 0;
    while (shared < text.size() && shared < last_.size() && text[shared] == last_[shared] &&
           static_cast<unsigned char>(text[shared]) < 0x80) {
      ++shared;
    }
    shared_.Add(shared);
    text_ += text.substr(shared) + "\n";
    last_ = std::move(text);
  }
  void Write(std::string_view name, JsonWriter* json) const {
    json->BeginObject(name);
    json->Field("shared", shared_.Base64());
    json->Field("text", text_);
    json->End();
  }

 private:
  NumberPack shared_;
  std::string text_, last_;
};

// Loops and holes, shape, dtype, dims.
using SuperKind = std::tuple<NameKind, Numbers, DType, Numbers>;

void WriteSupers(const Plan& plan, JsonWriter* json) {
  Numbering<SuperKind> kinds;
  NumberPack kind_of;
  Names names;
  for (const PlanSuper& super : plan.supers) {
    Numbers dims;
    for (const PlanSuper::Dim& dim : super.dims) {
      dims.push_back(dim.axis);
      dims.push_back(dim.weight);
    }
    kind_of.Add(kinds.NumberOf({NameKindOf(super.name, super.loop_begin, super.loop_extent),
                                super.shape, super.dtype, std::move(dims)}));
    names.Add(super.name);
  }
  json->BeginArray("kinds");
  for (const SuperKind* kind : kinds.values()) {
    const auto& [name, shape, dtype, dims] = *kind;
    json->BeginObject();
    WriteNameKind(name, json);
    WriteList("shape", shape, json);
    json->Field("dtype", DTypeText(dtype));
    json->Field("bytes", DTypeBytes(dtype));
    WriteList("dims", dims, json);
    json->End();
  }
  json->End();
  json->Field("kind", kind_of.Base64());
  names.Write("names", json);
}

void WriteRankSets(const Plan& plan, const std::vector<const uint32_t*>& sets, JsonWriter* json) {
  json->BeginArray("rank_sets");
  for (const uint32_t* set : sets) {
    json->BeginArray();
    json->Item(DescribeRanks(plan.rank_sets[*set]));
    for (const RankRun& run : CompressRanks(plan.rank_sets[*set])) {
      for (const uint32_t number :
           {run.start, run.count, run.stride, run.outer_count, run.outer_stride}) {
        json->Item(int64_t{number});
      }
    }
    json->End();
  }
  json->End();
}

// Loops and holes, side, shape, bytes of an element.
using ParamKind = std::tuple<NameKind, PlanSide, Numbers, int64_t>;

void WriteParams(const Plan& plan, JsonWriter* json) {
  Numbering<ParamKind> kinds;
  Numbering<uint32_t> rank_sets;
  NumberPack kind_of, ranks_of;
  Names names;
  for (const PlanFamily& family : plan.families) {
    kind_of.Add(kinds.NumberOf({NameKindOf(family.name, family.loop_begin, family.loop_extent),
                                family.side, family.shape, DTypeBytes(family.dtype)}));
    ranks_of.Add(rank_sets.NumberOf(family.rank_set));
    names.Add(family.name);
  }
  json->BeginArray("param_kinds");
  for (const ParamKind* kind : kinds.values()) {
    const auto& [name, side, shape, bytes] = *kind;
    json->BeginObject();
    WriteNameKind(name, json);
    json->Field("side", side == PlanSide::kSource ? 0 : 1);
    WriteList("shape", shape, json);
    json->Field("bytes", bytes);
    json->End();
  }
  json->End();
  json->Field("param_kind", kind_of.Base64());
  json->Field("param_ranks", ranks_of.Base64());
  names.Write("param_names", json);
  WriteRankSets(plan, rank_sets.values(), json);
}

void WritePlaces(const Plan& plan, JsonWriter* json) {
  Numbering<Numbers> kinds;
  NumberPack places;
  PlanPlace before;
  for (const PlanPlace& place : plan.places) {
    Numbers dims;
    for (size_t d = 0; d < plan.supers[place.super].dims.size(); ++d) {
      const PlanDimRange& range = plan.place_dims[place.first_dim + d];
      dims.insert(dims.end(),
                  {range.begin, range.extent, range.stride_bytes, range.instance_stride});
    }
    places.AddSigned(int64_t{place.super} - int64_t{before.super});
    places.AddSigned(int64_t{place.family} - int64_t{before.family});
    places.AddSigned(place.base_bytes);
    places.AddSigned(place.base_instance);
    places.AddSigned(static_cast<int64_t>(kinds.NumberOf(std::move(dims))));
    before = place;
  }
  json->BeginArray("place_kinds");
  for (const Numbers* kind : kinds.values()) WriteList({}, *kind, json);
  json->End();
  json->Field("places", places.Base64());
}

}  // namespace

void WriteTensorIndex(const Plan& plan, JsonWriter* json) {
  json->BeginObject("tensors");
  WriteSupers(plan, json);
  WriteParams(plan, json);
  WritePlaces(plan, json);
  json->End();
}

}  // namespace reshard
