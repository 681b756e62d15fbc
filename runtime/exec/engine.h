// ExecutionEngine: runs the prepared program of one rank, where its params lie.
//
// HostEngine (host_engine.h) runs it with the processor over a RankTransport. A device backend has
// an engine of its own, which uploads the runs of the program once and issues rounds on a stream.
// An executor (executor.h) owns the engine and calls it from one thread at a time, Abort excepted.
#ifndef RESHARD_RUNTIME_EXEC_ENGINE_H_
#define RESHARD_RUNTIME_EXEC_ENGINE_H_

#include <chrono>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/exec/prepared_program.h"
#include "runtime/exec/stats.h"

namespace reshard {

struct ExecuteOptions {
  // How long one wait for another rank may last. A rank that waits longer fails, and with it all.
  std::chrono::nanoseconds timeout = std::chrono::seconds(30);
};

class ExecutionEngine {
 public:
  virtual ~ExecutionEngine() = default;

  // The program that is executed from now on; the engine got its first one when it was made. Makes
  // and allocates all that Execute needs. `program` outlives the engine or the next call.
  virtual Status SetProgram(PreparedProgram* program) = 0;

  // Called on the caller's thread before each Execute: the execution reads source params only after
  // what `stream` holds at this moment (a cudaStream_t; null: they are ready).
  virtual Status Begin(void* stream) = 0;

  // One execution, to its end: on success all destination params of this rank are written. Tells
  // `record` what it does, round by round; a failure in it too. Allocates nothing. After a failure
  // all other ranks are told, as far as possible, and the engine refuses.
  virtual Status Execute(const ExecuteOptions& options, ExecutionRecord* record) = 0;

  // Ends waits of this and all other ranks with an error. From any thread.
  virtual void Abort(const Status& reason) = 0;
  // After an Abort, while nothing executes and nobody else uses the backend: tells the others,
  // where Abort could not.
  virtual void TellAbort() {}

  // Bytes of a param, for the content check.
  virtual Status CopyToHost(const uint8_t* from, std::span<uint8_t> to) = 0;

  // Of the staging memory really allocated.
  virtual int64_t arena_bytes() const = 0;
};

}  // namespace reshard

#endif  // RESHARD_RUNTIME_EXEC_ENGINE_H_
