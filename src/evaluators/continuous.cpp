#include "evaluators/continuous.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "autodiff/tape.hpp"
#include "dmoc/attitudes.hpp"
#include "dmoc/position_constraint.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Vars = std::vector<Var>;

constexpr double step_tolerance = 1e-9;   // error tolerance of a step, absolute and relative
constexpr double rough_tolerance = 1e-7;  // tolerance for derivatives, which may be less accurate
constexpr double guess_tolerance = 1e-5;  // tolerance for initial guesses
constexpr double nudge = 1e-4;  // step of finite differences in coordinates, rates and controls, relative to 1 or the
                                // largest control
constexpr int most_steps = 200000;    // limit of steps in an interval
constexpr int most_guess_steps = 50;  // limit between knots of an initial guess, whose motion may be very fast
constexpr double chart_turn = 0.5;    // rad: a spherical joint that is further from its reference gets a new one

// Records the mass matrix M and the bias, M a = bias. Inputs: q, v, u, references.
dmoc::Function record_motion(const dmoc::System& system) {
  const auto n = static_cast<std::size_t>(system.n()), inputs = static_cast<std::size_t>(system.inputs());
  const std::size_t size = 9 * system.charts().size();
  return autodiff::record(2 * n + inputs + size, system.model().numbers(), [&](const Vars& z, const Vars& numbers) {
    const auto part = [&](std::size_t from, std::size_t count) {
      const auto at = z.begin() + from;
      return Vars(at, at + static_cast<std::ptrdiff_t>(count));
    };
    const auto nodes = [](const Vars& all) {
      std::vector<int> of;
      for (const Var& x : all) of.push_back(x.node);
      return of;
    };
    const auto vars = [](const std::vector<int>& all) {
      Vars of;
      for (const int node : all) of.push_back(Var::at(node));
      return of;
    };
    auto& graph = *autodiff::Recording::current;
    const Vars q = part(0, n), v = part(n, n), u = part(2 * n, inputs), references = part(2 * n + inputs, size);
    auto tree = system.model().tree<Var>(numbers);
    system.refer(tree, references.data());
    const Var L = tree.lagrangian(q.data(), v.data());
    const Vars momentum = vars(graph.gradient(L.node, nodes(v))), slope = vars(graph.gradient(L.node, nodes(q))),
               transport = vars(graph.directional(nodes(momentum), nodes(q), nodes(v))),
               forces = tree.forces(q.data(), v.data(), u.data());
    Vars out;
    for (const Var& p : momentum)
      for (const int entry : graph.gradient(p.node, nodes(v))) out.push_back(Var::at(entry));
    for (std::size_t i = 0; i < n; ++i) out.push_back(slope[i] + forces[i] - transport[i]);
    return out;
  });
}

// Returns the matrix exponential by scaling and squaring of the Taylor series.
MatrixXd exponential(const MatrixXd& matrix) {
  const double norm = matrix.cwiseAbs().rowwise().sum().maxCoeff();
  const int halvings = std::isfinite(norm) && norm > 0.25 ? static_cast<int>(std::ceil(std::log2(norm / 0.25))) : 0;
  const MatrixXd small = matrix / std::exp2(halvings), one = MatrixXd::Identity(matrix.rows(), matrix.cols());
  MatrixXd sum = one;
  for (int power = 9; power > 0; --power) sum = one + small * sum / power;
  for (int i = 0; i < halvings; ++i) sum = (sum * sum).eval();
  return sum;
}

class ContinuousDriver {
 public:
  ContinuousDriver(const dmoc::System& system, const std::vector<double>& numbers)
      : system_(system),
        attitudes_(system),
        motion_(dmoc::element(system.known_as("continuous motion", [&] { return record_motion(system); }),
                              {numbers.begin(), numbers.end()})),
        numbers_(numbers.begin(), numbers.end()),
        n_(system.n()) {}

  Deviation run(const std::vector<PlannedPhase>& phases) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const PlannedPhase& phase = phases[i];
      enter(phase);
      if (phase.restarts) begin(phase);
      if (!std::isfinite(deviation_.largest)) deviation_ = {0.0, 0.0, 0.0, 0.0};
      for (Eigen::Index k = 0; k + 1 < phase.q.rows(); ++k) {
        apply(phase, k);
        if (!advance(0.0, 1.0, step_tolerance)) return {infinity, infinity, infinity, infinity};
        deviation_.largest = std::max(deviation_.largest, distance(phase.q.row(k + 1).transpose()));
      }
      if (i + 1 == phases.size() || phases[i + 1].restarts)
        deviation_.at_end = std::max(deviation_.at_end, distance(phase.q.row(phase.q.rows() - 1).transpose()));
    }
    return deviation_;
  }

  // Returns the coordinates at all knots under the controls alone; empty: the integration failed.
  std::vector<MatrixXd> knots(const std::vector<PlannedPhase>& phases, const VectorXd& first_rates) {
    std::vector<MatrixXd> all;
    for (const PlannedPhase& phase : phases) {
      enter(phase);
      if (all.empty()) {
        begin(phase);
        for (Eigen::Index i = 0; i < n_; ++i)
          if (std::isfinite(first_rates(i))) state_(n_ + i) = first_rates(i);
      }
      const dmoc::Scheme& scheme = dmoc::scheme_of_order(phase.order);
      MatrixXd q(phase.u.rows() + 1, n_);
      q.row(0) = state_.head(n_).transpose();
      for (Eigen::Index k = 0; k < phase.u.rows(); ++k) {
        const Eigen::Index interval = k / scheme.degree;
        apply(phase, interval);
        const auto share = [&](Eigen::Index knot) { return scheme.position(knot) - static_cast<double>(interval); };
        if (!advance(share(k), share(k + 1), guess_tolerance, most_guess_steps)) return {};
        q.row(k + 1) = state_.head(n_).transpose();
      }
      all.push_back(std::move(q));
    }
    return all;
  }

  std::vector<PhaseFeedback> feedback(const std::vector<PlannedPhase>& phases) {
    std::vector<PhaseFeedback> all;
    for (const PlannedPhase& phase : phases) {
      enter(phase);
      const auto nodes = nodes_of(phase);
      PhaseFeedback& one = all.emplace_back();
      one.moving = moving_;
      one.v.resize(phase.q.rows(), n_);
      for (std::size_t k = 0; k < nodes.size(); ++k) one.v.row(k) = nodes[k].state.tail(n_).transpose();
      one.laws = regulated(phase, nodes);
    }
    return all;
  }

  // Simulates the phases with feedback.
  void track(const std::vector<PlannedPhase>& phases, Deviation& deviation) {
    deviation.tracked = deviation.correction = 0.0;
    for (const PlannedPhase& phase : phases) {
      enter(phase);
      const VectorXd now = state_;
      const dmoc::Reference about = reference_;
      const auto nodes = nodes_of(phase);
      const auto feedback = regulated(phase, nodes);
      if (!phase.restarts) refer_to(now, about, nodes[0].reference);
      VectorXd x = phase.restarts ? nodes[0].state : state_;
      for (Eigen::Index k = 0; k + 1 < phase.q.rows(); ++k) {
        apply(phase, k);
        if (!feedback.empty()) {
          const VectorXd correction = feedback[k].gain * (x - nodes[k].state)(moves()) + feedback[k].ahead;
          deviation.correction = std::max(deviation.correction, correction.cwiseAbs().maxCoeff());
          controls_.rowwise() -= correction.transpose();
        }
        if (!through(nodes, k, x)) {
          deviation.tracked = deviation.correction = infinity;
          return;
        }
        x = state_;
        deviation.tracked = std::max(deviation.tracked, distance(phase.q.row(k + 1).transpose()));
      }
    }
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Selects the moving coordinates and the holds of a phase.
  void enter(const PlannedPhase& phase) {
    moving_ = system_.pinned(phase.held).moving;
    held_.emplace(phase.holds, numbers_);
  }
  // Selects the controls of an interval.
  void apply(const PlannedPhase& phase, Eigen::Index k) {
    scheme_ = &dmoc::scheme_of_order(phase.order);
    interval_ = phase.interval;
    controls_ = phase.u.middleRows(k * scheme_->degree, scheme_->degree);
  }
  // Returns the controls at the share s of the interval.
  VectorXd controls_at(double s) const {
    if (scheme_->degree == 1) return controls_.row(0).transpose();
    return controls_.transpose() * scheme_->controls_at(s);
  }
  // Computes the mass matrix and the bias of the moving coordinates.
  void equations(const VectorXd& q, const VectorXd& v, MatrixXd& mass, VectorXd& bias) {
    const Eigen::Index inputs = system_.inputs();
    z_.resize(2 * n_ + inputs + static_cast<Eigen::Index>(reference_->size()));
    z_.head(n_) = q;
    z_.segment(n_, n_) = v;
    z_.segment(2 * n_, inputs) = u_;
    for (std::size_t i = 0; i < reference_->size(); ++i)
      z_(2 * n_ + inputs + static_cast<Eigen::Index>(i)) = (*reference_)[i].value;
    const VectorXd out = dmoc::value(*motion_, z_);
    const MatrixXd whole = Eigen::Map<const MatrixXd>(out.data(), n_, n_);  // symmetric
    mass = whole(moving_, moving_);
    const VectorXd all = out.tail(n_);
    bias = all(moving_);
  }
  // Returns d(q, v)/dt.
  VectorXd slope(const VectorXd& state) {
    const VectorXd q = state.head(n_), v = state.tail(n_);
    equations(q, v, mass_, bias_);
    if (!held_->empty())
      bias_ = dmoc::with_constraint_force(mass_, held_->slopes(reference_, q(moving_)), bias_,
                                          -held_->bias(reference_, q(moving_), v(moving_)));
    VectorXd rate = VectorXd::Zero(2 * n_);
    rate.head(n_) = v;
    const VectorXd acceleration = mass_.ldlt().solve(bias_);
    for (std::size_t i = 0; i < moving_.size(); ++i) rate(n_ + moving_[i]) = acceleration(i);
    return rate;
  }
  VectorXd momenta(const VectorXd& q, const VectorXd& v) {
    equations(q, v, mass_, bias_);
    VectorXd p = VectorXd::Zero(n_);
    const VectorXd pace = v(moving_);
    const VectorXd push = mass_ * pace;
    p(moving_) = push;
    return p;
  }
  VectorXd rates(const VectorXd& q, const VectorXd& p) {
    VectorXd v = VectorXd::Zero(n_);
    equations(q, v, mass_, bias_);
    VectorXd push = p(moving_);
    if (!held_->empty()) push = dmoc::with_constraint_force(mass_, held_->slopes(reference_, q(moving_)), push);
    const VectorXd pace = mass_.ldlt().solve(push);
    v(moving_) = pace;
    return v;
  }

  // Starts at a node of the plan, with the planned attitudes as references.
  void begin(const PlannedPhase& phase, Eigen::Index node = 0) {
    const VectorXd q = phase.q.row(node).transpose();
    reference_ = system_.charts().empty() ? system_.no_reference() : attitudes_.at(q, system_.no_reference());
    const VectorXd about = attitudes_.moved(q, system_.no_reference(), reference_);
    u_ = VectorXd::Zero(system_.inputs());
    state_.resize(2 * n_);
    state_ << about, rates(about, attitudes_.about_angles(phase.p.row(node).transpose(), about, reference_));
  }
  struct Node {
    VectorXd state;
    dmoc::Reference reference;
  };
  std::vector<Node> nodes_of(const PlannedPhase& phase) {
    std::vector<Node> nodes;
    for (Eigen::Index k = 0; k < phase.q.rows(); ++k) {
      begin(phase, k);
      nodes.push_back({state_, reference_});
    }
    return nodes;
  }
  // Returns the indices of the moving coordinates and rates in a state.
  std::vector<Eigen::Index> moves() const {
    std::vector<Eigen::Index> all(moving_.begin(), moving_.end());
    for (const int c : moving_) all.push_back(n_ + c);
    return all;
  }
  // Integrates from a state at a node to the next node, with the planned attitudes as references. Returns false if the
  // integration fails.
  bool through(const std::vector<Node>& nodes, Eigen::Index k, const VectorXd& x) {
    reference_ = nodes[k].reference;
    state_ = x;
    if (!advance(0.0, 1.0, step_tolerance)) return false;
    refer_to(state_, reference_, nodes[k + 1].reference);
    return true;
  }
  // Returns the feedback of a phase, from derivatives of the equations at the middle of every interval. Returns none if
  // nothing is actuated, or if an interval cannot be integrated.
  std::vector<Feedback> regulated(const PlannedPhase& phase, const std::vector<Node>& nodes) {
    if (phase.u.size() == 0) return {};
    const double largest = phase.u.cwiseAbs().maxCoeff(), push = nudge * std::max(largest, 1e-9);
    const auto free = moves();
    const auto size = static_cast<Eigen::Index>(free.size()), inputs = phase.u.cols();
    std::vector<LinearInterval> intervals;
    for (Eigen::Index k = 0; k + 1 < phase.q.rows(); ++k) {
      reference_ = nodes[k].reference;
      state_ = nodes[k].state;
      apply(phase, k);
      if (!advance(0.0, 0.5, rough_tolerance)) return {};
      u_ = controls_at(0.5);
      const VectorXd x = state_, straight = slope(x)(free);
      MatrixXd slopes = MatrixXd::Zero(size + inputs, size + inputs);
      for (Eigen::Index i = 0; i < size; ++i)
        slopes.col(i).head(size) = (slope(x + nudge * VectorXd::Unit(2 * n_, free[i]))(free) - straight) / nudge;
      const VectorXd u = u_;
      for (Eigen::Index i = 0; i < inputs; ++i) {
        u_ = u + push * VectorXd::Unit(inputs, i);
        slopes.col(size + i).head(size) = (slope(x)(free) - straight) / push;
      }
      u_ = u;
      if (!advance(0.5, 1.0, rough_tolerance)) return {};
      refer_to(state_, reference_, nodes[k + 1].reference);
      const MatrixXd through = exponential(phase.interval * slopes);
      intervals.push_back({through.topLeftCorner(size, size), through.topRightCorner(size, inputs),
                           (state_ - nodes[k + 1].state)(free)});
    }
    return regulator(intervals, largest);
  }
  // Expresses the state with attitudes relative to the references `to` instead of `from`.
  void refer_to(const VectorXd& state, const dmoc::Reference& from, const dmoc::Reference& to) {
    reference_ = from;
    state_ = state;
    if (from == to) return;
    const VectorXd q = state.head(n_), along = attitudes_.along_axes(momenta(q, state.tail(n_)), q, from);
    const VectorXd about = attitudes_.moved(q, from, to);
    reference_ = to;
    state_ << about, rates(about, attitudes_.about_angles(along, about, to));
  }
  // Gives new references to spherical joints that are too far from theirs. Returns whether there are any.
  bool refer() {
    double farthest = 0.0;
    for (int i = 0; i < n_; ++i)
      if (system_.is_chart(i)) farthest = std::max(farthest, std::abs(state_(i)));
    if (farthest < chart_turn) return false;
    refer_to(VectorXd(state_), reference_, attitudes_.at(state_.head(n_), reference_));
    return true;
  }

  // Integrates between two shares of the interval; returns false if that fails.
  bool advance(double from, double to, double tolerance, int most = most_steps) {
    static constexpr double c[7] = {0.0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1.0, 1.0};
    static constexpr double a[6][6] = {{1.0 / 5},
                                       {3.0 / 40, 9.0 / 40},
                                       {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                       {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                       {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                       {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static constexpr double error[7] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                        -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
    const double interval = (to - from) * interval_;
    double time = 0.0, h = std::min(interval, step_ > 0.0 ? step_ : 0.1 * interval);
    const auto slope_at = [&](double t, const VectorXd& state) {
      u_ = controls_at(from + t / interval_);
      return slope(state);
    };
    std::array<VectorXd, 7> k;
    k[0] = slope_at(time, state_);
    for (int steps = 0; time < interval * (1.0 - 1e-12); ++steps) {
      if (steps > most || !state_.allFinite()) return false;
      h = std::min(h, interval - time);
      VectorXd next;
      for (std::size_t stage = 0; stage < 6; ++stage) {
        next = state_;
        for (std::size_t j = 0; j <= stage; ++j) next += h * a[stage][j] * k[j];
        k[stage + 1] = slope_at(time + c[stage + 1] * h, next);
      }
      VectorXd miss = VectorXd::Zero(2 * n_);
      for (std::size_t j = 0; j < 7; ++j) miss += h * error[j] * k[j];
      const double size =
          (miss.array().abs() / (tolerance * (1.0 + state_.array().abs().max(next.array().abs())))).maxCoeff();
      const double factor = size > 0.0 ? std::clamp(0.9 * std::pow(size, -0.2), 0.2, 5.0) : 5.0;
      if (size <= 1.0) {
        time += h;
        state_ = next;
        k[0] = refer() ? slope_at(time, state_) : k[6];  // the last stage lies at the end of the step
        step_ = h * factor;
        h = step_;
      } else {
        h *= std::isfinite(size) ? factor : 0.2;
        if (h < 1e-12 * interval) return false;
      }
    }
    return true;
  }

  // Returns the largest difference from a planned posture.
  double distance(const VectorXd& planned) const {
    double largest = 0.0;
    for (int i = 0; i < n_; ++i)
      if (!system_.is_chart(i)) largest = std::max(largest, std::abs(state_(i) - planned(i)));
    for (std::size_t c = 0; c < system_.charts().size(); ++c) {
      const Eigen::Matrix3d here = attitudes_.rotation(c, state_.head(n_), reference_),
                            there = attitudes_.rotation(c, planned, system_.no_reference());
      largest = std::max(largest, Eigen::AngleAxisd(here.transpose() * there).angle());
    }
    return largest;
  }

  const dmoc::System& system_;
  const dmoc::Attitudes attitudes_;
  const dmoc::Element motion_;
  const std::vector<dmoc::Coefficient> numbers_;
  const Eigen::Index n_;
  std::vector<int> moving_;
  std::optional<dmoc::ConstraintEvaluator> held_;  // constraints of the phase
  dmoc::Reference reference_;
  VectorXd state_, u_;  // state: q and v; controls
  const dmoc::Scheme* scheme_ = nullptr;
  MatrixXd controls_;      // controls at the quadrature points of the interval
  double interval_ = 0.0;  // s
  double step_ = 0.0;      // next step, suggested by the last one, s
  Deviation deviation_;
  VectorXd z_, bias_;
  MatrixXd mass_;
};

}  // namespace

Deviation drive_continuously(const dmoc::System& system, const std::vector<double>& numbers,
                             const std::vector<PlannedPhase>& phases) {
  if (phases.empty()) return {};
  ContinuousDriver driver(system, numbers);
  Deviation deviation = driver.run(phases);
  driver.track(phases, deviation);
  return deviation;
}

std::vector<MatrixXd> simulate_controls(const dmoc::System& system, const std::vector<double>& numbers,
                                        const std::vector<PlannedPhase>& phases, const VectorXd& rates) {
  return ContinuousDriver(system, numbers).knots(phases, rates);
}

std::vector<PhaseFeedback> plan_feedback(const dmoc::System& system, const std::vector<double>& numbers,
                                         const std::vector<PlannedPhase>& phases) {
  return ContinuousDriver(system, numbers).feedback(phases);
}

std::string deviation_text(const Deviation& deviation, const std::string& note) {
  const std::string remark = note.empty() ? "" : " (" + note + ")";
  if (std::isnan(deviation.largest)) return "  the continuous equations of motion were not driven" + remark + "\n";
  std::string text =
      std::isinf(deviation.largest)
          ? "  the continuous equations of motion have no solution under these controls to the end" + remark + "\n"
          : formatted(
                "  the continuous equations of motion under these controls end %.2g from the plan, at most %.2g from "
                "its nodes (m, rad)",
                deviation.at_end, deviation.largest) +
                remark + "\n";
  if (std::isfinite(deviation.tracked))
    text += formatted(
        "  with feedback at every node: at most %.2g from the plan's nodes, by changes of controls of at most %.3g\n",
        deviation.tracked, deviation.correction);
  return text;
}

}  // namespace dodyn::evaluators
