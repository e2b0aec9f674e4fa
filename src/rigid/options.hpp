// Options of a simulation: integrator and contact response.
#pragma once

namespace dodyn::rigid {

enum class Stepper {
  variational,        // constrained midpoint variational integrator in (q, p) form, null space and nodal
                      // reparametrisation (3.13), (3.17); in the plane in x, y, theta
  variational_nodal,  // as `variational`, but forces without potential act at the ends of a step, half at each (4.5)
  newmark_explicit,   // (3.3) with beta = 0, gamma = 1/2; free bodies only
  newmark_implicit,   // (3.3) with beta = 1/4, gamma = 1/2; free bodies only
};
enum class Response {
  none,
  penalty,        // potential C/2 g^2 of the overlap (3.38)
  exact,          // solves for collision time and impact (3.75), (3.76); fails if contact lasts
  decomposition,  // DCR (section 3.5): closest-point projection, lift, impulses
};
enum class JumpCondition { kinetic_energy, discrete_energy };  // energy condition of `exact`: (3.73) or (3.76b)
enum class Restitution {
  newton,   // u+ = -e u-
  poisson,  // normal impulses of restitution are e times the normal impulses of compression
};

struct Options {
  double step = 1e-3;  // h, s
  Stepper stepper = Stepper::variational;
  Response response = Response::decomposition;
  double stiffness = 1e4;  // C of `penalty`, N/m
  JumpCondition jump = JumpCondition::kinetic_energy;
  Restitution restitution = Restitution::newton;
  double tolerance = 1e-9;  // remaining overlap at a node with `exact` and `decomposition`, m
  double refine = 0.25;     // fraction of the thinner part's width; a larger overlap or likely tunnelling cuts a step
  int max_cuts = 40;        // consecutive cuts of one step before the simulation fails
  // Bodies connected by contacts rest on each other (no restitution) if no contact closes faster than this multiple of
  // the speed that forces give its two bodies in one step.
  double resting = 2.0;
};

}  // namespace dodyn::rigid
