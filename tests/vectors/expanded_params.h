// What a rank stores, element by element: small layouts only. Lets tests compare interpreters of
// layouts with each other and with vectors.
#ifndef RESHARD_TESTS_VECTORS_EXPANDED_PARAMS_H_
#define RESHARD_TESTS_VECTORS_EXPANDED_PARAMS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/json_node.h"
#include "compiler/frontend/layout_spec.h"
#include "compiler/layout/layout.h"
#include "compiler/plan_tools/naive_layout.h"

namespace reshard {

// Origins of elements, row-major: OriginOf(tensor, index), or a fill.
inline constexpr int64_t kExpandedZeroFill = -1;
inline constexpr int64_t kExpandedKeepFill = -2;
struct ExpandedParam {
  std::vector<int64_t> shape;
  std::vector<int64_t> origins;
  bool operator==(const ExpandedParam&) const = default;
};
using ExpandedParams = std::map<std::string, ExpandedParam>;

int64_t RowMajor(const std::vector<int64_t>& coords, const std::vector<int64_t>& shape);
// The JSON document at `path`, which has to be good.
JsonNode ReadJsonFile(const std::string& path);
int64_t IntegerOf(const JsonNode& node);
std::vector<int64_t> IntegersOf(const JsonNode& node);
// As JSON text, for layouts made of vectors.
std::string JsonText(const std::vector<int64_t>& values);

// What element `index` of tensor `name` is called in ExpandedParam::origins.
int64_t OriginOf(const NaiveTensors& tensors, const std::string& name, int64_t index);
// What the naive interpreter says of a rank; nullopt, with a reason in `error`, when it refuses.
std::optional<ExpandedParams> ExpandNaive(const NaiveTensors& tensors, const NaiveLayout& layout,
                                          uint32_t rank, std::string* error);
// What a built layout says of a rank.
ExpandedParams ExpandBuilt(const LogicalTable& table, const Layout& layout,
                           const NaiveTensors& tensors, uint32_t rank);

// A layout that declares its own logical tensors.
class TestLayout {
 public:
  explicit TestLayout(const std::string& text);

  const LayoutSpec& spec() const { return spec_; }
  const NaiveLayout& naive() const { return naive_; }
  int64_t OriginOf(const std::string& name, int64_t index) const {
    return reshard::OriginOf(tensors_, name, index);
  }
  std::optional<ExpandedParams> Naive(uint32_t rank, std::string* error) const {
    return ExpandNaive(tensors_, naive_, rank, error);
  }
  // nullopt when BuildLayout refuses the layout, for one of Codes().
  std::optional<ExpandedParams> Built(uint32_t rank) const;
  // The words of what BuildLayout reported, in its order.
  std::vector<std::string> Codes() const;

 private:
  SourceMap sources_;
  Diagnostics diags_;
  LogicalTable table_;
  Layout layout_;
  bool built_ = false;
  LayoutSpec spec_;
  NaiveTensors tensors_;
  NaiveLayout naive_;
};

}  // namespace reshard

#endif  // RESHARD_TESTS_VECTORS_EXPANDED_PARAMS_H_
