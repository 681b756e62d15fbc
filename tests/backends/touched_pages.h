// TouchedPages: a point inside an execution that does not depend on how fast the machine is.
//
// An execution reads or writes the pages of its params in some order; "half of the pages that it
// touches" is in its middle on every machine. Pages are taken away with mprotect, so each first
// touch is a fault, which gives the page back and counts.
#ifndef RESHARD_TESTS_BACKENDS_TOUCHED_PAGES_H_
#define RESHARD_TESTS_BACKENDS_TOUCHED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/exec/loopback/param_buffers.h"

namespace reshard {

// One at a time in a process: the handler of SIGSEGV is the process's. Only for executions that
// touch the params from user space: the kernel returns an error instead of a fault.
class TouchedPages {
 public:
  // Takes away the pages that lie wholly inside one of `params`. At the touch number `signal_at`,
  // counted from 1, the process gets `signal`; 0: never.
  TouchedPages(std::span<const LoopbackParam> params, size_t signal_at, int signal);
  // Gives back what nobody touched.
  ~TouchedPages();
  TouchedPages(const TouchedPages&) = delete;
  TouchedPages& operator=(const TouchedPages&) = delete;

  size_t count() const;
};

}  // namespace reshard

#endif  // RESHARD_TESTS_BACKENDS_TOUCHED_PAGES_H_
