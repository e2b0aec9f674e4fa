#include "evaluators/continuous.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "autodiff/tape.hpp"
#include "dmoc/attitudes.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Vars = std::vector<Var>;

constexpr double step_tolerance = 1e-9;  // of a step, absolute and relative
constexpr int most_steps = 200000;       // of a phase
constexpr double chart_turn = 0.5;       // rad, by which a joint of three turns may leave its reference

// Mass matrix, and bias: M a = bias. Inputs: q, v, u, references.
dmoc::Function record_motion(const dmoc::System& system) {
  const auto n = static_cast<std::size_t>(system.n()), inputs = static_cast<std::size_t>(system.inputs());
  const std::size_t size = 9 * system.charts().size();
  return autodiff::record(
      static_cast<int>(2 * n + inputs + size), system.model().numbers(), [&](const Vars& z, const Vars& numbers) {
        const auto part = [&](std::size_t from, std::size_t count) {
          const auto at = z.begin() + static_cast<std::ptrdiff_t>(from);
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

class ContinuousDriver {
 public:
  ContinuousDriver(const dmoc::System& system, const std::vector<double>& numbers)
      : system_(system),
        attitudes_(system),
        motion_(dmoc::element(system.known_as("continuous motion", [&] { return record_motion(system); }),
                              {numbers.begin(), numbers.end()})),
        n_(system.n()) {}

  Departure run(const std::vector<PlannedPhase>& phases) {
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const PlannedPhase& phase = phases[i];
      moving_ = system_.pinned(phase.held).moving;
      if (phase.restarts) begin(phase);
      if (!std::isfinite(departure_.largest)) departure_ = {0.0, 0.0};
      for (Eigen::Index k = 0; k < phase.u.rows(); ++k) {
        u_ = phase.u.row(k).transpose();
        if (!advance(phase.interval)) return {infinity, infinity};
        departure_.largest = std::max(departure_.largest, distance(phase.q.row(k + 1).transpose()));
      }
      if (i + 1 == phases.size() || phases[i + 1].restarts)
        departure_.at_end = std::max(departure_.at_end, distance(phase.q.row(phase.q.rows() - 1).transpose()));
    }
    return departure_;
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  // Mass matrix of what moves, and its bias.
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
  // d(q, v)/dt
  VectorXd slope(const VectorXd& state) {
    const VectorXd q = state.head(n_), v = state.tail(n_);
    equations(q, v, mass_, bias_);
    VectorXd rate = VectorXd::Zero(2 * n_);
    rate.head(n_) = v;
    const VectorXd acceleration = mass_.ldlt().solve(bias_);
    for (std::size_t i = 0; i < moving_.size(); ++i) rate(n_ + moving_[i]) = acceleration(static_cast<Eigen::Index>(i));
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
    const VectorXd push = p(moving_);
    const VectorXd pace = mass_.ldlt().solve(push);
    v(moving_) = pace;
    return v;
  }

  void begin(const PlannedPhase& phase) {
    const VectorXd q = phase.q.row(0).transpose();
    reference_ = system_.charts().empty() ? system_.no_reference() : attitudes_.at(q, system_.no_reference());
    const VectorXd about = attitudes_.moved(q, system_.no_reference(), reference_);
    u_ = VectorXd::Zero(system_.inputs());
    state_.resize(2 * n_);
    state_ << about, rates(about, attitudes_.about_angles(phase.p, about, reference_));
  }
  // Joints of three turns that have left their references get new ones.
  void refer() {
    double farthest = 0.0;
    for (int i = 0; i < n_; ++i)
      if (system_.is_chart(i)) farthest = std::max(farthest, std::abs(state_(i)));
    if (farthest < chart_turn) return;
    const VectorXd q = state_.head(n_), along = attitudes_.along_axes(momenta(q, state_.tail(n_)), q, reference_);
    const dmoc::Reference next = attitudes_.at(q, reference_);
    const VectorXd about = attitudes_.moved(q, reference_, next);
    reference_ = next;
    state_ << about, rates(about, attitudes_.about_angles(along, about, next));
  }

  // Through an interval; false: it has no end.
  bool advance(double interval) {
    static constexpr double a[6][6] = {{1.0 / 5},
                                       {3.0 / 40, 9.0 / 40},
                                       {44.0 / 45, -56.0 / 15, 32.0 / 9},
                                       {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
                                       {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
                                       {35.0 / 384, 0.0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}};
    static constexpr double error[7] = {71.0 / 57600,      0.0,        -71.0 / 16695, 71.0 / 1920,
                                        -17253.0 / 339200, 22.0 / 525, -1.0 / 40};
    double time = 0.0, h = std::min(interval, step_ > 0.0 ? step_ : 0.1 * interval);
    std::array<VectorXd, 7> k;
    for (int steps = 0; time < interval * (1.0 - 1e-12); ++steps) {
      if (steps > most_steps || !state_.allFinite()) return false;
      h = std::min(h, interval - time);
      VectorXd next;
      k[0] = slope(state_);
      for (std::size_t stage = 0; stage < 6; ++stage) {
        next = state_;
        for (std::size_t j = 0; j <= stage; ++j) next += h * a[stage][j] * k[j];
        k[stage + 1] = slope(next);
      }
      VectorXd miss = VectorXd::Zero(2 * n_);
      for (std::size_t j = 0; j < 7; ++j) miss += h * error[j] * k[j];
      const double size =
          (miss.array().abs() / (step_tolerance * (1.0 + state_.array().abs().max(next.array().abs())))).maxCoeff();
      const double factor = size > 0.0 ? std::clamp(0.9 * std::pow(size, -0.2), 0.2, 5.0) : 5.0;
      if (size <= 1.0) {
        time += h;
        state_ = next;
        refer();
        step_ = h * factor;
        h = step_;
      } else {
        h *= std::isfinite(size) ? factor : 0.2;
        if (h < 1e-12 * interval) return false;
      }
    }
    return true;
  }

  // From a planned posture.
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
  const Eigen::Index n_;
  std::vector<int> moving_;
  dmoc::Reference reference_;
  VectorXd state_, u_;  // q and v; controls
  double step_ = 0.0;   // s, that the last one suggests
  Departure departure_;
  VectorXd z_, bias_;
  MatrixXd mass_;
};

}  // namespace

Departure drive_continuously(const dmoc::System& system, const std::vector<double>& numbers,
                             const std::vector<PlannedPhase>& phases) {
  return phases.empty() ? Departure{} : ContinuousDriver(system, numbers).run(phases);
}

std::string departure_text(double at_end, double largest, const std::string& note) {
  const std::string remark = note.empty() ? "" : " (" + note + ")";
  if (std::isnan(at_end)) return "  the continuous equations of motion were not driven" + remark + "\n";
  if (std::isinf(at_end))
    return "  the continuous equations of motion have no solution under these controls to the end" + remark + "\n";
  return formatted(
             "  the continuous equations of motion under these controls end %.2g from the plan, at most %.2g from its "
             "nodes (m, rad)",
             at_end, largest) +
         remark + "\n";
}

}  // namespace dodyn::evaluators
