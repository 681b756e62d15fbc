// Sources: which holder sends which bytes to the head of each tree.
#ifndef RESHARD_COMPILER_ROUTE_SOURCES_H_
#define RESHARD_COMPILER_ROUTE_SOURCES_H_

#include <vector>

#include "compiler/route/class_cuts.h"
#include "compiler/route/routing.h"
#include "compiler/route/trees.h"

namespace reshard {

// Fills the sources of every tree of every network stream; a local stream's only lander is its
// source. Ports that send are equally busy as far as the holders allow; the bytes that one set of
// ranks holds stay together, and are split between two ranks only where a port's part ends.
// `sent` holds what landers forward; what sources send is added.
void AssignSources(const TreeInputs& inputs, const ClassCuts& cuts,
                   std::vector<RoutedStream>* streams, PortBytes* sent);

}  // namespace reshard

#endif  // RESHARD_COMPILER_ROUTE_SOURCES_H_
