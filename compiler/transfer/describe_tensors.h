// Tensors of classes as parts of sentences.
#ifndef RESHARD_COMPILER_TRANSFER_DESCRIBE_TENSORS_H_
#define RESHARD_COMPILER_TRANSFER_DESCRIBE_TENSORS_H_

#include <string>
#include <vector>

#include "compiler/layout/logical_table.h"
#include "compiler/transfer/transfer_set.h"

namespace reshard {

// "'lm_head.weight', 'layers.{0..60}.wq'" and, past the first three, "and 5 more". `classes` is not
// empty. Ranges are the least that hold all layers and experts of a class.
std::string DescribeTensors(const LogicalTable& table, const TransferSet& transfers,
                            const std::vector<ClassId>& classes);

}  // namespace reshard

#endif  // RESHARD_COMPILER_TRANSFER_DESCRIBE_TENSORS_H_
