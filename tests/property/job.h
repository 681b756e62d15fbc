// Job: inputs of the compiler together with what every param buffer must hold after a run, which
// comes from an oracle and never from the compiler.
#ifndef RESHARD_TESTS_PROPERTY_JOB_H_
#define RESHARD_TESTS_PROPERTY_JOB_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/route/strategy.h"
#include "tests/oracle/element_array.h"

namespace reshard {

struct JobParam {
  uint32_t rank = 0;
  bool destination = false;
  std::string name;
  int64_t element_bytes = 1;
  std::function<ElementArray()> elements;  // made when asked for: jobs can be large
};

struct Job {
  std::string train, infer, topo;
  int64_t slice_bytes = int64_t{64} << 20;
  Strategy strategy = Strategy::kAuto;
  uint32_t heads = 0;
  std::vector<JobParam> params;  // every param of every rank
};

}  // namespace reshard

#endif  // RESHARD_TESTS_PROPERTY_JOB_H_
