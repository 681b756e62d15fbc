#include "compiler/plan_tools/json_text.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "runtime/base/check.h"

namespace reshard {

using Json = nlohmann::ordered_json;

struct JsonWriter::State {
  struct Level {
    std::string name;  // of this value in the level above
    Json value;
  };
  std::vector<Level> levels;
  Json document;

  // Puts a finished value into the innermost open one.
  void Put(std::string_view name, Json value) {
    RESHARD_CHECK(!levels.empty(), "a JSON value stands in an object or array");
    Json& parent = levels.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
    } else {
      parent[std::string(name)] = std::move(value);
    }
  }
};

JsonWriter::JsonWriter() : state_(std::make_unique<State>()) {}
JsonWriter::~JsonWriter() = default;

void JsonWriter::BeginObject(std::string_view name) {
  state_->levels.push_back({std::string(name), Json::object()});
}
void JsonWriter::BeginArray(std::string_view name) {
  state_->levels.push_back({std::string(name), Json::array()});
}
void JsonWriter::End() {
  RESHARD_CHECK(!state_->levels.empty(), "every End has its Begin");
  State::Level level = std::move(state_->levels.back());
  state_->levels.pop_back();
  if (state_->levels.empty()) {
    state_->document = std::move(level.value);
  } else {
    state_->Put(level.name, std::move(level.value));
  }
}
void JsonWriter::Field(std::string_view name, int64_t value) { state_->Put(name, value); }
void JsonWriter::Field(std::string_view name, std::string_view value) {
  state_->Put(name, std::string(value));
}
void JsonWriter::Flag(std::string_view name, bool value) { state_->Put(name, value); }
void JsonWriter::Item(int64_t value) { state_->Put({}, value); }
void JsonWriter::Item(std::string_view value) { state_->Put({}, std::string(value)); }

std::string JsonWriter::Text() const {
  RESHARD_CHECK(state_->levels.empty(), "every Begin has its End");
  return state_->document.dump(2, ' ', true, Json::error_handler_t::replace);
}

std::string JsonWriter::Line() const {
  RESHARD_CHECK(state_->levels.empty(), "every Begin has its End");
  return state_->document.dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace reshard
