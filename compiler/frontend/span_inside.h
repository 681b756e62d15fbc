// Where a part of a string of a JSON file stands.
#ifndef RESHARD_COMPILER_FRONTEND_SPAN_INSIDE_H_
#define RESHARD_COMPILER_FRONTEND_SPAN_INSIDE_H_

#include <cstddef>
#include <cstdint>

#include "compiler/diag/diagnostics.h"

namespace reshard {

// Bytes [begin, end) of a decoded string of `text_bytes` that stands at `span`. With escapes the
// bytes of the file and of the string do not match one to one: then it is the whole string.
inline Span SpanInside(Span span, size_t text_bytes, size_t begin, size_t end) {
  if (!span.has_file() || span.end - span.begin != text_bytes) return span;
  return {span.file, span.begin + static_cast<uint32_t>(begin),
          span.begin + static_cast<uint32_t>(end)};
}

}  // namespace reshard

#endif  // RESHARD_COMPILER_FRONTEND_SPAN_INSIDE_H_
