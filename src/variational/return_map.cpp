#include "variational/return_map.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

namespace dodyn::variational {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

// Change of a state by a stride, relative to the state, below which the search begins.
constexpr double near_enough = 1e-2;
// If the difference of state and image falls below this fraction per iteration, the Jacobian is updated instead of
// recomputed.
constexpr double useful_reduction = 0.1;
constexpr double max_step = 0.5;            // relative to the norm of the state + 1
constexpr double wide_difference = 2e-4;    // step of the differences of fourth order, at the gait
constexpr double narrow_difference = 1e-7;  // step of the one-sided differences, during the search

// A state (q, v) just before a reset, and the mode that led there.
struct Section {
  VectorXd x;  // q, then v
  Mode mode;
  int reset = -1;
};

class ReturnMap {
 public:
  ReturnMap(HybridIntegrator& integrator, const Assembly& assembly, const IntegratorOptions& steps,
            const GaitOptions& options)
      : integrator_(integrator), assembly_(assembly), steps_(steps), options_(options), n_(assembly.mechanics->n()) {}

  // Advances through the next reset. Sets `section` to the state just before it, and `period` (s) unless it is null.
  // Returns an error message; empty: success.
  std::string approach(Section& section, double* period) {
    const double begin = integrator_.now().time;
    HybridState last, before_last;
    integrator_.observer = [&](const HybridState& state) {  // called before and after each event
      before_last = std::move(last);
      last = state;
    };
    ++strides;
    std::string reason;
    for (int step = 1; reason.empty() && !integrator_.stopped(); ++step) {
      const double time = begin + step * steps_.step;
      if (time - begin > options_.max_period) {
        char text[64];
        std::snprintf(text, sizeof text, "no reset within %g s", options_.max_period);
        reason = text;
      } else {
        reason = integrator_.advance(time, [](const Event& event) { return event.kind == Event::reset; });
      }
    }
    integrator_.observer = {};
    if (!reason.empty()) return reason;
    for (const Event& event : integrator_.events())
      if (event.kind == Event::reset) section.reset = event.which;
    section.mode = before_last.mode;
    section.x.resize(2 * n_);
    section.x << before_last.q, assembly_.mechanics->velocity(before_last.q, before_last.p);
    if (period) *period = before_last.time - begin;
    return "";
  }

  HybridState state(const Section& section) const {
    HybridState s;
    s.q = section.x.head(n_);
    s.p = assembly_.mechanics->mass(s.q) * section.x.tail(n_);
    s.mode = section.mode;
    return s;
  }

  // Computes the image of a section by a stride. Returns an error message; empty: success.
  std::string image(const Section& from, Section& to, double* period) {
    integrator_.resume(state(from));
    if (std::string reason = integrator_.apply_reset(from.reset); !reason.empty()) return reason;
    return approach(to, period);
  }

  // Returns the functions that vanish on the section: the guard, and the positions and rates of held rows.
  VectorXd constraints(const Section& section) const {
    const VectorXd q = section.x.head(n_), v = section.x.tail(n_);
    const auto held = integrator_.held(section.mode, q);
    const auto& rows = assembly_.mechanics->row(q);
    std::vector<double> all;
    for (std::size_t i = 0; i < held.rows.size(); ++i) {
      const bool slip =
          std::ranges::any_of(assembly_.contacts, [&](const Contact& c) { return c.slip == held.rows[i]; });
      if (!slip) all.push_back(rows.value(held.rows[i]));  // a sticking contact may have any slip position
      all.push_back(held.G.row(i).dot(v));
    }
    all.push_back(assembly_.mechanics->watched(q, v)(assembly_.resets[section.reset].guard));
    return Eigen::Map<const VectorXd>(all.data(), all.size());
  }
  // Returns the Jacobian of constraints(), by central differences.
  MatrixXd constraint_jacobian(const Section& section) const {
    MatrixXd J(constraints(section).size(), 2 * n_);
    Section moved = section;
    for (int i = 0; i < 2 * n_; ++i) {
      const double d = 1e-5 * (1.0 + std::abs(section.x(i)));
      moved.x(i) = section.x(i) + d;
      const VectorXd up = constraints(moved);
      moved.x(i) = section.x(i) - d;
      J.col(i) = (up - constraints(moved)) / (2.0 * d);
      moved.x(i) = section.x(i);
    }
    return J;
  }
  // Returns an orthonormal basis of the section's tangent space without the translating coordinates, [2n, m].
  MatrixXd directions(const Section& section) const {
    const MatrixXd J = constraint_jacobian(section);
    MatrixXd all(J.rows() + static_cast<Eigen::Index>(options_.translating_coordinates.size()), 2 * n_);
    all.topRows(J.rows()) = J;
    for (std::size_t i = 0; i < options_.translating_coordinates.size(); ++i)
      all.row(J.rows() + i) = VectorXd::Unit(2 * n_, options_.translating_coordinates[i]);
    const Eigen::JacobiSVD<MatrixXd> svd(all, Eigen::ComputeFullV);
    const auto& sizes = svd.singularValues();
    Eigen::Index rank = 0;
    while (rank < sizes.size() && sizes(rank) > 1e-7 * sizes(0)) ++rank;
    return svd.matrixV().rightCols(2 * n_ - rank);
  }
  // Projects x onto the section.
  void put_on(Section& section) const {
    for (int i = 0; i < 8; ++i) {
      const VectorXd miss = constraints(section);
      if (miss.lpNorm<Eigen::Infinity>() < 1e-14) return;
      section.x -= constraint_jacobian(section).completeOrthogonalDecomposition().solve(miss);
    }
  }

  // Computes J = N^T dP N by columns; P is the return map. `exactly`: at the gait,
  // f' = (8 (f(d) - f(-d)) - (f(2d) - f(-2d)))/(12 d). Otherwise, during the search: (f(d) - f(0))/d. Returns an error
  // message if a stride fails; empty: success.
  std::string differentiate(const Section& now, const Section& after, const MatrixXd& N, bool exactly, MatrixXd& J) {
    const double d = exactly ? wide_difference : narrow_difference;
    const std::vector<std::pair<double, double>> stencil =
        exactly ? std::vector<std::pair<double, double>>{{1.0, 8.0}, {-1.0, -8.0}, {2.0, -1.0}, {-2.0, 1.0}}
                : std::vector<std::pair<double, double>>{{1.0, 12.0}};
    for (Eigen::Index i = 0; i < N.cols(); ++i) {
      VectorXd sum = VectorXd::Zero(N.cols());
      for (const auto& [share, weight] : stencil) {
        Section moved = now, moved_image;
        moved.x += share * d * N.col(i);
        put_on(moved);
        if (std::string reason = image(moved, moved_image, nullptr); !reason.empty()) return reason;
        sum += weight * (N.transpose() * (moved_image.x - after.x));
      }
      J.col(i) = sum / (12.0 * d);
    }
    return "";
  }

  int strides = 0;

 private:
  HybridIntegrator& integrator_;
  const Assembly& assembly_;
  const IntegratorOptions& steps_;
  const GaitOptions& options_;
  int n_;
};

// Returns the eigenvalues, the largest modulus first.
std::vector<std::complex<double>> multipliers(const MatrixXd& J) {
  std::vector<std::complex<double>> all;
  if (J.cols() > 0) {
    const Eigen::EigenSolver<MatrixXd> eigen(J, false);
    all.assign(eigen.eigenvalues().begin(), eigen.eigenvalues().end());
  }
  std::ranges::sort(all, [](const auto& a, const auto& b) { return std::abs(a) > std::abs(b); });
  return all;
}

}  // namespace

Gait find_gait(HybridIntegrator& integrator, const Assembly& assembly, const IntegratorOptions& steps,
               const GaitOptions& options) {
  Gait gait;
  if (assembly.resets.empty()) {
    gait.reason = "the model has no reset";
    return gait;
  }
  ReturnMap map(integrator, assembly, steps, options);
  const auto ended = [&](std::string reason) {
    gait.reason = std::move(reason);
    gait.strides = map.strides;
    return gait;
  };
  Section now, after;
  if (std::string reason = map.approach(now, nullptr); !reason.empty())
    return ended("the first stride fails: " + reason);
  for (int stride = 0; stride < options.strides; ++stride) {
    if (std::string reason = map.image(now, after, nullptr); !reason.empty())
      return ended("stride " + std::to_string(stride + 2) + " fails: " + reason);
    VectorXd moved = after.x - now.x;
    for (const int c : options.translating_coordinates) moved(c) = 0.0;
    now = after;
    if (moved.norm() < near_enough * now.x.norm()) break;
  }
  MatrixXd map_jacobian;          // estimate of the map's Jacobian, [2n, 2n]
  VectorXd before, image_before;  // last state at which the map was evaluated, and its image
  double miss_before = 0.0;
  for (int iteration = 0;; ++iteration) {
    if (std::string reason = map.image(now, after, &gait.period); !reason.empty())
      return ended("a stride of the search fails: " + reason);
    if (after.reset != now.reset) return ended("strides end in resets of different kinds");
    const MatrixXd N = map.directions(now);
    const auto m = N.cols();
    const VectorXd miss = N.transpose() * (after.x - now.x);
    gait.miss = m > 0 ? miss.lpNorm<Eigen::Infinity>() : 0.0;
    const bool last = gait.miss <= options.tolerance;
    if (!last && iteration == options.max_iterations)
      return ended("the search for a gait does not converge: a state and its image differ by " +
                   std::to_string(gait.miss));
    MatrixXd J(m, m);  // N^T dP N; during the search by Broyden's update while the misses decrease
    if (!last && map_jacobian.size() > 0 && gait.miss < useful_reduction * miss_before) {
      const VectorXd moved = N * (N.transpose() * (now.x - before));
      map_jacobian += (after.x - image_before - map_jacobian * moved) * moved.transpose() / moved.squaredNorm();
      J = N.transpose() * map_jacobian * N;
    } else {
      if (std::string reason = map.differentiate(now, after, N, last, J); !reason.empty())
        return ended("a stride next to the gait fails: " + reason);
      map_jacobian = N * J * N.transpose();
    }
    if (last) {
      gait.jacobian = J;
      gait.multipliers = multipliers(J);
      break;
    }
    before = now.x;
    image_before = after.x;
    miss_before = gait.miss;
    const VectorXd step = (MatrixXd::Identity(m, m) - J).partialPivLu().solve(miss);
    // limits the step, because the linear model is local
    const double reach = max_step * (1.0 + now.x.norm());
    now.x += N * (step.norm() > reach ? VectorXd(step * (reach / step.norm())) : step);
    now.mode = after.mode;
    map.put_on(now);
  }
  const auto n = assembly.mechanics->n();
  gait.stride = after.x.head(n) - now.x.head(n);
  gait.before = map.state(now);
  gait.before.time = 0.0;
  gait.reset = now.reset;
  gait.strides = map.strides;
  integrator.resume(gait.before);
  return gait;
}

}  // namespace dodyn::variational
