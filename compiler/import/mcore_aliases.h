// McoreAliases: how keys of Megatron-Core's sharded state relate to the tensors of a checkpoint.
//
// An alias says of the keys of one name, for each value of its variables, what they are: a tensor,
// or several joined. It is resolved into boxes: which part of a key is which part of a tensor.
#ifndef RESHARD_COMPILER_IMPORT_MCORE_ALIASES_H_
#define RESHARD_COMPILER_IMPORT_MCORE_ALIASES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/diag/diagnostics.h"
#include "compiler/frontend/expr.h"
#include "compiler/frontend/json_node.h"
#include "compiler/import/model_tensor.h"

namespace reshard {

// A box of a key that is a box of a tensor; both walk the same dims.
struct KeyBox {
  const ModelTensor* tensor = nullptr;
  std::vector<int64_t> key_begin, tensor_begin, extent;
};

// What a key is. Elements that no box has are padding.
struct KeyBoxes {
  std::vector<int64_t> shape;  // without the dims that the alias's index stands for
  std::vector<KeyBox> boxes;
};

class McoreAliases {
 public:
  // `tensors`, by name, outlive this object.
  McoreAliases(const std::map<std::string, ModelTensor>& tensors, int64_t max_boxes,
               Diagnostics* diags)
      : tensors_(tensors), boxes_left_(max_boxes), diags_(*diags) {}

  // Reads the list "logical_aliases". False after an error was reported.
  [[nodiscard]] bool Read(const JsonNode& list);

  bool Has(const std::string& key) const { return aliases_.contains(key); }
  // The boxes of a key that has an alias, at these positions in its leading dims; nullptr after an
  // error was reported, once for each key and index. `span` is where the key is used.
  const KeyBoxes* Resolve(const std::string& key, const std::vector<int64_t>& index, Span span);

 private:
  struct Alias {
    Span span;
    std::map<std::string, std::pair<int64_t, int64_t>> loops;  // variable -> [begin, end)
    std::vector<std::string> index;                            // variables
    const JsonNode* value = nullptr;
  };
  class Values;

  bool ReadAlias(const JsonNode& node);
  bool ReadLoops(const JsonNode& node, Alias* out);
  bool ReadIndex(const JsonNode& node, Alias* out);
  std::optional<int64_t> Integer(const JsonNode& node, const std::string& what,
                                 const Values& values);
  bool Expand(const JsonNode& value, const Values& values, KeyBoxes* out);
  bool ExpandTensor(const JsonNode& name, const Values& values, KeyBoxes* out);
  bool ExpandJoined(const JsonNode& value, bool grouped, const Values& values, KeyBoxes* out);
  bool ExpandPad(const JsonNode& value, const Values& values, KeyBoxes* out);
  bool ExpandSlice(const JsonNode& value, const Values& values, KeyBoxes* out);
  bool Fail(Span span, DiagnosticCode code, std::string text);

  const std::map<std::string, ModelTensor>& tensors_;
  int64_t boxes_left_;
  Diagnostics& diags_;
  std::map<std::string, Alias> aliases_;
  std::map<std::pair<std::string, std::vector<int64_t>>, std::optional<KeyBoxes>> resolved_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_IMPORT_MCORE_ALIASES_H_
