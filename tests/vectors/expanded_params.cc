#include "tests/vectors/expanded_params.h"

#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>

#include "runtime/base/check.h"

namespace reshard {
namespace {

constexpr int64_t kOriginsPerTensor = int64_t{1} << 40;
constexpr int64_t kNoOrigin = INT64_MIN;

// Calls `visit` with each combination of counts below `extents`.
template <typename Visit>
void ForEachIndex(const std::vector<int64_t>& extents, Visit visit) {
  std::vector<int64_t> index(extents.size(), 0);
  for (const int64_t extent : extents) {
    if (extent == 0) return;
  }
  while (true) {
    visit(index);
    size_t d = extents.size();
    while (d > 0 && ++index[d - 1] == extents[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

ExpandedParam NewParam(const std::vector<int64_t>& shape) {
  const int64_t count =
      std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  return {shape, std::vector<int64_t>(static_cast<size_t>(count), kNoOrigin)};
}

}  // namespace

int64_t RowMajor(const std::vector<int64_t>& coords, const std::vector<int64_t>& shape) {
  int64_t index = 0;
  for (size_t d = 0; d < shape.size(); ++d) index = index * shape[d] + coords[d];
  return index;
}

JsonNode ReadJsonFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  SourceMap sources;
  Diagnostics diags;
  JsonNode root;
  RESHARD_CHECK(ReadJson(sources, sources.Add(path, text.str()), &diags, &root),
                "cannot read " + path);
  return root;
}

int64_t IntegerOf(const JsonNode& node) {
  RESHARD_CHECK(node.kind == JsonNode::Kind::kNumber, "a number is expected");
  return std::stoll(node.text);
}

std::vector<int64_t> IntegersOf(const JsonNode& node) {
  std::vector<int64_t> values;
  for (const JsonNode& item : node.items) values.push_back(IntegerOf(item));
  return values;
}

std::string JsonText(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (const int64_t value : values) {
    text += (text.size() == 1 ? "" : ",") + std::to_string(value);
  }
  return text + "]";
}

TestLayout::TestLayout(const std::string& text) {
  Diagnostics diags;
  JsonNode root;
  const uint32_t file = sources_.Add("layout.json", text);
  const bool read = ReadJson(sources_, file, &diags, &root) && ReadLayoutSpec(root, &diags, &spec_);
  diags.Print(sources_, 20, std::cout);
  RESHARD_CHECK(read, "the test's layout has errors");
  std::string error;
  RESHARD_CHECK(tensors_.Make(&spec_, nullptr, &error), error);
  RESHARD_CHECK(naive_.Make(spec_, tensors_, &error), error);
  built_ = BuildLogicalTable(&spec_, nullptr, &diags_, &table_) &&
           BuildLayout(spec_, table_, &diags_, &layout_);
}

std::vector<std::string> TestLayout::Codes() const {
  std::vector<std::string> codes;
  for (const Diagnostic& entry : diags_.entries()) codes.emplace_back(CodeText(entry.code));
  return codes;
}

int64_t OriginOf(const NaiveTensors& tensors, const std::string& name, int64_t index) {
  const std::optional<uint32_t> tensor = tensors.Find(name);
  RESHARD_CHECK(tensor.has_value(), "no tensor " + name);
  return *tensor * kOriginsPerTensor + index;
}

std::optional<ExpandedParams> ExpandNaive(const NaiveTensors& tensors, const NaiveLayout& layout,
                                          uint32_t rank, std::string* error) {
  std::vector<NaiveParam> params;
  if (!layout.Params(rank, &params, error)) return std::nullopt;
  ExpandedParams stored;
  for (const NaiveParam& param : params) {
    ExpandedParam& out = stored[param.name] = NewParam(param.view.shape);
    for (const NaivePiece& piece : param.view.pieces) {
      std::vector<int64_t> extents;
      for (const NaiveDigit& digit : piece.digits) extents.push_back(digit.extent);
      ForEachIndex(extents, [&](const std::vector<int64_t>& counts) {
        std::vector<int64_t> at = piece.at;
        std::vector<int64_t> from = piece.from;
        for (size_t i = 0; i < counts.size(); ++i) {
          const NaiveDigit& digit = piece.digits[i];
          at[digit.dim] += counts[i] * digit.step;
          if (!from.empty()) from[digit.axis] += counts[i] * digit.tensor_step;
        }
        int64_t& origin = out.origins[static_cast<size_t>(RowMajor(at, out.shape))];
        RESHARD_CHECK(origin == kNoOrigin, "an element has two origins");
        if (IsNaiveFill(piece.tensor)) {
          origin = piece.tensor == kNaiveZeroFill ? kExpandedZeroFill : kExpandedKeepFill;
        } else {
          const NaiveTensor& tensor = tensors.tensors()[piece.tensor];
          origin = piece.tensor * kOriginsPerTensor + RowMajor(from, tensor.shape);
        }
      });
    }
  }
  return stored;
}

ExpandedParams ExpandBuilt(const LogicalTable& table, const Layout& layout,
                           const NaiveTensors& tensors, uint32_t rank) {
  ExpandedParams params;
  std::vector<std::vector<ExpandedParam*>> instances(layout.families.size());
  for (size_t f = 0; f < layout.families.size(); ++f) {
    const ParamFamily& family = layout.families[f];
    if (!Contains(layout.rank_sets[family.ranks], rank)) continue;
    ForEachIndex(family.loop_extent, [&](std::vector<int64_t> values) {
      for (size_t i = 0; i < values.size(); ++i) values[i] += family.loop_begin[i];
      const auto [it, is_new] =
          params.emplace(family.name.Instance(values), NewParam(family.shape));
      RESHARD_CHECK(is_new, "a param occurs twice: " + it->first);
      instances[f].push_back(&it->second);
    });
  }
  for (const Place& place : layout.places) {
    if (instances[place.family].empty()) continue;
    const int64_t element_bytes = DTypeBytes(layout.families[place.family].dtype);
    const SuperTensor& super = table.supers[place.super];
    std::vector<int64_t> extents;
    for (const PlaceAxis& axis : place.axes) {
      for (const PlaceDigit& digit : axis.digits) extents.push_back(digit.extent);
    }
    ForEachIndex(extents, [&](const std::vector<int64_t>& counts) {
      int64_t byte = place.base_bytes;
      int64_t instance = place.base_instance;
      std::vector<int64_t> index;
      size_t next = 0;
      for (const PlaceAxis& axis : place.axes) {
        index.push_back(axis.begin);
        for (const PlaceDigit& digit : axis.digits) {
          const int64_t k = counts[next++];
          index.back() += k * digit.step;
          byte += k * digit.stride_bytes;
          instance += k * digit.instance_stride;
        }
      }
      const auto shape_begin = index.begin() + static_cast<std::ptrdiff_t>(super.loop_count());
      const std::string name = super.name.Instance({index.begin(), shape_begin});
      RESHARD_CHECK(byte % element_bytes == 0, "an element is not aligned");
      int64_t& origin = instances[place.family]
                            .at(static_cast<size_t>(instance))
                            ->origins.at(static_cast<size_t>(byte / element_bytes));
      RESHARD_CHECK(origin == kNoOrigin, "an element has two origins");
      origin = OriginOf(tensors, name, RowMajor({shape_begin, index.end()}, super.shape));
    });
  }
  for (const Fill& fill : layout.fills) {
    const int64_t element_bytes = DTypeBytes(layout.families[fill.family].dtype);
    std::vector<int64_t> extents;
    for (const Fill::Dim& dim : fill.dims) extents.push_back(dim.extent);
    ForEachIndex(extents, [&](const std::vector<int64_t>& counts) {
      int64_t byte = fill.base_bytes;
      for (size_t d = 0; d < counts.size(); ++d) byte += counts[d] * fill.dims[d].stride_bytes;
      if (byte % element_bytes != 0) return;  // the fills are in bytes: one look at each element
      for (ExpandedParam* param : instances[fill.family]) {
        int64_t& origin = param->origins.at(static_cast<size_t>(byte / element_bytes));
        RESHARD_CHECK(origin == kNoOrigin, "an element has an origin and a fill");
        origin = fill.rule == FillRule::kZero ? kExpandedZeroFill : kExpandedKeepFill;
      }
    });
  }
  return params;
}

std::optional<ExpandedParams> TestLayout::Built(uint32_t rank) const {
  if (!built_) return std::nullopt;
  return ExpandBuilt(table_, layout_, tensors_, rank);
}

}  // namespace reshard
