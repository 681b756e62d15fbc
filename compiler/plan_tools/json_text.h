// JsonWriter: builds one JSON document in order, for commands that print one.
//
// Begin... and Field name a member where the current value is an object; inside an array the name
// is left out. Text is ASCII: what is not is written as \\u and four digits, which no terminal
// obeys. Strings with invalid UTF-8 have it replaced.
#ifndef RESHARD_COMPILER_PLAN_TOOLS_JSON_TEXT_H_
#define RESHARD_COMPILER_PLAN_TOOLS_JSON_TEXT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace reshard {

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void BeginObject(std::string_view name = {});
  void BeginArray(std::string_view name = {});
  void End();
  void Field(std::string_view name, int64_t value);
  void Field(std::string_view name, std::string_view value);
  void Field(std::string_view name, const char* value) { Field(name, std::string_view(value)); }
  void Flag(std::string_view name, bool value);
  void Item(int64_t value);
  void Item(std::string_view value);

  // The document, indented by two. Every Begin has had its End.
  std::string Text() const;
  // The document on one line.
  std::string Line() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace reshard

#endif  // RESHARD_COMPILER_PLAN_TOOLS_JSON_TEXT_H_
