// The naive interpreter of layouts: what each rank stores, one rank, template and instance at a
// time, with plain numbers.
//
// It is the outside opinion that `reshardc verify --inputs` and the tests compare with. It shares
// only the parsed expressions and Eval with the compiler: no super-tensors, no symbolic loops, its
// own ranges, names and shapes. Costs grow with what the ranks store, written out.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_NAIVE_LAYOUT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_NAIVE_LAYOUT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/frontend/layout_spec.h"
#include "compiler/plan_tools/naive_view.h"
#include "runtime/base/dtype.h"

namespace reshard {

struct NaiveTensor {
  std::string name;
  DType dtype = DType::kBf16;
  std::vector<int64_t> shape;
};

// Every logical tensor of both sides, one by one, and the aliases.
class NaiveTensors {
 public:
  // Either side may be null. False once `error` says what is wrong.
  bool Make(const LayoutSpec* source, const LayoutSpec* destination, std::string* error);

  const std::vector<NaiveTensor>& tensors() const { return tensors_; }
  // The number of the tensor called `name`, an alias's too.
  std::optional<uint32_t> Find(const std::string& name) const;

 private:
  bool AddSide(const LayoutSpec& spec, std::string* error);
  bool AddAliases(const LayoutSpec& spec, std::string* error);

  std::vector<NaiveTensor> tensors_;
  std::unordered_map<std::string, uint32_t> by_name_;
  std::unordered_map<std::string, std::string> aliases_;
};

struct NaiveParam {
  std::string name;
  std::vector<std::string> shares;
  bool external = false;  // no pieces
  NaiveView view;

  int64_t bytes() const { return view.element_count() * DTypeBytes(view.dtype); }
};

inline constexpr int64_t kMaxNaiveSteps = 100'000'000;

// One side's layout. Refers to the spec and the tensors, which have to outlive it.
class NaiveLayout {
 public:
  ~NaiveLayout();
  NaiveLayout();
  bool Make(const LayoutSpec& spec, const NaiveTensors& tensors, std::string* error);

  // Ranks of all meshes and explicit params, rising.
  const std::vector<uint32_t>& ranks() const;
  // The coordinates of `rank` on mesh `mesh`, outermost axis first; nullopt when it is not on it.
  std::optional<std::vector<int64_t>> Coordinates(std::string_view mesh, uint32_t rank) const;
  // Ranks with equal signatures store the same: the coordinates that some expression, shard or
  // placement looks at, and the rank itself where it is written out.
  std::vector<int64_t> Signature(uint32_t rank) const;
  // What `rank` stores: templates in the order of the file, then explicit params. Fails when more
  // than `max_steps` loop values, or pieces, are met on the way.
  bool Params(uint32_t rank, std::vector<NaiveParam>* out, std::string* error,
              int64_t max_steps = kMaxNaiveSteps) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_NAIVE_LAYOUT_H_
