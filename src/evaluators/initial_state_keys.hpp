// Keys of evaluators that simulate a batch of initial states.
#pragma once

#include <utility>

#include "settings/key_table.hpp"

namespace dodyn::evaluators {

// Adds the keys of the members `batch` (initial states of a task) and `start` (the one that dodyn simulate shows).
template <class Struct>
KeyTable<Struct> with_initial_state_keys(KeyTable<Struct> table) {
  return std::move(table)
      .add("initial-states-per-task", &Struct::batch,
           number(from(1, 1000000), "number of initial states in one task of a rank"))
      .add("initial-state", &Struct::start,
           may_change(
               number(from(1, 1000000), "number of the initial state that dodyn simulate shows; the first is 1")));
}

}  // namespace dodyn::evaluators
