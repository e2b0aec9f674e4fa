// The 24 noiseless functions of BBOB. No setting of the search was tuned on them. The range of each variable is -5 to
// 5.
//
// Source: N. Hansen, S. Finck, R. Ros, A. Auger, Real-parameter black-box optimization benchmarking 2009: noiseless functions
// definitions (INRIA RR-6829). Shifts, rotations and the minimum's value are drawn from the instance's number, so an instance
// is not the published one of that number. The penalties outside the range are left out, except that of Schwefel's function.
#pragma once

#include <string>

#include "search_functions.hpp"

namespace dodyn::bench {

inline constexpr int bbob_functions = 24;

// "f8 Rosenbrock"
std::string bbob_name(int function);

// `function`: 1 to 24. The member `minimum` is the value at the optimum, `budget` is not set. Throws std::logic_error if the
// function has another value at its optimum than its definition states.
Problem bbob(int function, int variables, int instance);

}  // namespace dodyn::bench
