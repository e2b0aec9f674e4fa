// The work of a control over an interval of degree 2 or 3, split where the rate of its coordinate changes its sign.
//
// The control is the polynomial of degree d - 1 through its values at the points (scheme.hpp),
//
//   u(s) = sum_j beta_j B_j(s),   j = 0 ... d - 1,   B_j(s) = (d-1 over j) s^j (1 - s)^(d-1-j) >= 0.
//
// The rate v(s) is the slope of the coordinate's polynomial, of degree d - 1. If the rates V_0, V_1 of both nodes are
// inputs, a multiple of the Legendre polynomial P_d is added. It is zero at the points and orthogonal to u. The
// multiple is chosen such that v differs least from V_0 and V_1, in least squares. For a free mass, v(s) is then its
// rate under u(s). The work of part j is
//
//   w_j = beta_j h int_0^1 B_j(s) |v(s)| ds,     sum_j |w_j| >= h int_0^1 |u(s) v(s)| ds,
// with equality if no two beta_j have different signs. The integral is exact, because it is split at the roots of v.
#pragma once

#include <memory>

#include "autodiff/element.hpp"
#include "dmoc/scheme.hpp"
#include "nlp/assembled_problem.hpp"

namespace dodyn::dmoc {

// Source of the step h.
enum class StepInput {
  given,    // h is a number
  unknown,  // the last input is the duration T, and h = T/K
};

// Returns the element (u of the points [d], coordinate at the knots [d + 1], then V_0, V_1 if `has_node_rates`, then T
// if the step is unknown) -> w_j, [d]. `step`: h, or 1/K. Derivatives are continuous except where |v| has a double root
// or is zero over the whole interval. Second derivatives near a double root are bounded.
std::shared_ptr<const autodiff::Element> interval_work(const Scheme& scheme, bool has_node_rates, StepInput input,
                                                       const nlp::Coefficient& step);

}  // namespace dodyn::dmoc
