#include "runtime/base/status.h"

namespace reshard {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
#define RESHARD_STATUS_CODE(enumerator, name) \
  case StatusCode::enumerator:                \
    return name;
#include "runtime/base/status_codes.def"
#undef RESHARD_STATUS_CODE
  }
  RESHARD_CHECK(false, "a status code outside its enumeration");
}

Status::Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {
  RESHARD_CHECK(code != StatusCode::kOk, "a failure needs a code");
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return message_ + " [" + std::string(StatusCodeName(code_)) + "]";
}

}  // namespace reshard
