// Failures of the environment: files, memory, libraries, peers. A user's mistake
// in an input is a diagnostic instead, and a bug of ours is a RESHARD_CHECK.
//
// Status and StatusOr are values: copying one copies its message. A result that
// the caller drops is a compile error, and so is one that it only converts.
#ifndef RESHARD_RUNTIME_BASE_STATUS_H_
#define RESHARD_RUNTIME_BASE_STATUS_H_

#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/check.h"

namespace reshard {

enum class StatusCode {
#define RESHARD_STATUS_CODE(enumerator, name) enumerator,
#include "runtime/base/status_codes.def"
#undef RESHARD_STATUS_CODE
};

[[nodiscard]] std::string_view StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  // Success.
  Status() = default;
  // A failure: `code` is not kOk. `message` starts in lower case and names what
  // was found, what was expected, and the file or peer concerned.
  Status(StatusCode code, std::string message);

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  // "ok", or "message [code-name]".
  [[nodiscard]] std::string ToString() const;

  friend bool operator==(const Status&, const Status&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Status& status) {
    return out << status.ToString();
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// A value, or the reason why there is none.
template <class T>
class [[nodiscard]] StatusOr {
 public:
  // Implicit, so that a function returns either a T or a Status as it stands.
  StatusOr(T value) : value_(std::move(value)) {}
  StatusOr(Status status) : status_(std::move(status)) {
    RESHARD_CHECK(!status_.ok(), "a StatusOr without a value needs a failure");
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }

  // The value; only when ok().
  [[nodiscard]] const T& value() const& {
    RequireValue();
    return *value_;
  }
  [[nodiscard]] T& value() & {
    RequireValue();
    return *value_;
  }
  [[nodiscard]] T&& value() && {
    RequireValue();
    return *std::move(value_);
  }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }
  [[nodiscard]] T* operator->() { return &value(); }

 private:
  void RequireValue() const { RESHARD_CHECK(value_.has_value(), status_.ToString()); }

  std::optional<T> value_;
  Status status_;
};

}  // namespace reshard

// Returns from the calling function when `expression`, a Status, is a failure.
#define RESHARD_RETURN_IF_ERROR(expression)                                      \
  do {                                                                           \
    if (::reshard::Status reshard_status = (expression); !reshard_status.ok()) { \
      return reshard_status;                                                     \
    }                                                                            \
  } while (false)

#endif  // RESHARD_RUNTIME_BASE_STATUS_H_
