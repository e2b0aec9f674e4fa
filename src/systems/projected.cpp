#include "systems/projected.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "record/text.hpp"
#include "systems/assembly.hpp"
#include "variational/located_root.hpp"

namespace dodyn::systems {

using autodiff::Var;
using Vars = variational::Formulation::Vars;

namespace {

Vars on(const std::vector<int>& of) {
  Vars all;
  for (const int node : of) all.push_back(Var::at(node));
  return all;
}
std::vector<int> nodes(const Vars& x) {
  std::vector<int> all;
  for (const Var& one : x) all.push_back(one.node);
  return all;
}
Vars gradient(const Var& f, const Vars& x) { return on(autodiff::Recording::current->gradient(f.node, nodes(x))); }

// Returns points that fill a box evenly (additive recurrence), components in [-1, 1).
double spread(int i, std::size_t dimension) {
  static const double steps[] = {0.7548776662466927, 0.5698402909980532, 0.8191725133961645, 0.6710436067037893,
                                 0.5497004779019703};
  const double x = 0.5 + i * steps[dimension % 5];
  return 2.0 * (x - std::floor(x)) - 1.0;
}

}  // namespace

Projected::Projected(const HybridModel& system) : system_(system) {
  const Model& model = system.model;
  const HybridParts& pieces = system.pieces;
  const auto refuse = [&](const std::string& why) { model.fail(0, "method projected: " + why); };
  if (pieces.contacts.size() != 1)
    refuse("it has " + std::to_string(pieces.contacts.size()) + " contacts; allowed: one");
  if (pieces.constraints.size() > 1)
    refuse("it has " + std::to_string(pieces.constraints.size()) + " constraints; allowed: none or one");
  if (!pieces.resets.empty()) refuse("it has resets; allowed: none");
  if (pieces.contacts[0].slip && !pieces.contacts[0].friction.is_zero())
    refuse("its contact has friction; allowed: none");
  const auto& tree = model.structure;
  if (!tree.loads.empty() || !tree.drags.empty() ||
      std::any_of(tree.springs.begin(), tree.springs.end(), [](const auto& one) { return !one.damping.is_zero(); }))
    refuse("it has forces without a potential; allowed: none");
  const int n = tree.n();
  model_ = variational::record(formulation(system), variational::Rule::midpoint);
  const auto values = model.evaluate<double>();
  const variational::Mechanics plain(model_, values.numbers);
  // The coordinate that a row is affine in, with a coefficient that is not zero anywhere looked at.
  const auto affine = [&](int row, int but) {
    for (int c = 0; c < n; ++c) {
      bool fits = c != but;
      for (int i = 0; i < 40 && fits; ++i) {
        Eigen::VectorXd q(n);
        for (int d = 0; d < n; ++d) q(d) = 3.0 * spread(i, static_cast<std::size_t>(d));
        const double slope = plain.row(q).gradient(row, c);
        q(c) += 1.7;
        fits = slope > 1e-9 && std::abs(plain.row(q).gradient(row, c) - slope) <= 1e-12 * slope;
      }
      if (fits) return c;
    }
    return -1;
  };
  const int wire_row = pieces.contacts[0].slip ? 2 : 1;
  circle_ = n == 1 && model.structure.links.size() == 1 && model.structure.links[0].moves[0].kind == Move::turn;
  if (!circle_ && (normal_ = affine(0, -1)) < 0)
    refuse("its gap grows with no coordinate at a constant rate, as that of y - f(x) does with y");
  if (!pieces.constraints.empty() && (wire_ = affine(wire_row, normal_)) < 0)
    refuse("its constraint grows with no coordinate at a constant rate, as that of x - f(y) does with x");
  for (int c = 0; c < n; ++c)
    if (c != wire_) kept_.push_back(c);

  const auto original = formulation(system);
  const std::size_t numbers = static_cast<std::size_t>(original.parameters);
  const auto z_of = [this](int c) {
    return static_cast<std::size_t>(std::find(kept_.begin(), kept_.end(), c) - kept_.begin());
  };
  // q with a row solved for its coordinate
  const auto solved = [original](Vars q, int row, int c, const Var& wanted, const Vars& p) {
    q[static_cast<std::size_t>(c)] = Var(0.0);
    const Var at_0 = original.rows(q, p)[static_cast<std::size_t>(row)];
    q[static_cast<std::size_t>(c)] = Var(1.0);
    const Var rate = original.rows(q, p)[static_cast<std::size_t>(row)] - at_0;
    q[static_cast<std::size_t>(c)] = (wanted - at_0) / rate;
    return q;
  };
  // of z: the point that has it for its normal form, the wire's coordinate zero
  const auto unnormalised = [this, n, solved](const Vars& z, const Vars& p) {
    Vars q(static_cast<std::size_t>(n), Var(0.0));
    std::size_t next = 0;
    for (const int c : kept_) q[static_cast<std::size_t>(c)] = z[next++];
    if (normal_ < 0) return q;
    return solved(q, 0, normal_, q[static_cast<std::size_t>(normal_)], p);
  };
  const auto guided = [this, wire_row, solved](const Vars& q, const Vars& p) {
    return wire_ < 0 ? q : solved(q, wire_row, wire_, Var(0.0), p);
  };
  const auto delta = [this, n, original, unnormalised, z_of](const Vars& z, const Vars& p) {
    const Vars q = unnormalised(z, p);
    // The gap is c q_normal + r, with c and r functions of the other coordinates; its gradient follows.
    Vars at_0 = q, at_1 = q;
    at_0[static_cast<std::size_t>(normal_)] = Var(0.0);
    at_1[static_cast<std::size_t>(normal_)] = Var(1.0);
    const Var r = original.rows(at_0, p)[0], c = original.rows(at_1, p)[0] - r;
    const Vars dr = gradient(r, z), dc = gradient(c, z);
    Vars g(static_cast<std::size_t>(n), Var(0.0));
    for (const int i : kept_)
      g[static_cast<std::size_t>(i)] =
          i == normal_ ? c : dr[z_of(i)] + dc[z_of(i)] * q[static_cast<std::size_t>(normal_)];
    // M x = g by elimination; M from the Lagrangian in rates that are zero
    Vars v, x = g;
    for (int i = 0; i < n; ++i) v.push_back(Var::input());
    const Vars momentum = gradient(original.lagrangian(q, v, p), v);
    std::vector<Vars> M;
    for (const Var& one : momentum) M.push_back(gradient(one, v));
    const auto N = static_cast<std::size_t>(n);
    for (std::size_t i = 0; i < N; ++i)
      for (std::size_t k = i + 1; k < N; ++k) {
        const Var factor = M[k][i] / M[i][i];
        for (std::size_t l = i; l < N; ++l) M[k][l] -= factor * M[i][l];
        x[k] -= factor * x[i];
      }
    for (std::size_t i = N; i-- > 0;) {
      for (std::size_t l = i + 1; l < N; ++l) x[i] -= M[i][l] * x[l];
      x[i] = x[i] / M[i][i];
    }
    Var along(0.0);
    for (std::size_t i = 0; i < N; ++i) along += g[i] * x[i];
    for (Var& one : x) one = one / along;
    return x;
  };
  const auto projected = [this, unnormalised, guided, delta, solved, numbers](const Vars& z, const Vars& p) {
    const Var parameter = p[numbers];
    if (circle_) {
      using std::numbers::pi;
      const Var rest = pi - parameter, b1 = (pi - 4.0 * parameter) / (2.0 * rest),
                b3 = (2.0 * parameter - pi) / (2.0 * (rest * rest * rest)), x = z[0] - pi;
      return Vars{b1 * x + b3 * (x * x * x)};
    }
    const Vars D = delta(z, p);
    const auto at = static_cast<std::size_t>(std::find(kept_.begin(), kept_.end(), normal_) - kept_.begin());
    const Var z1 = z[at], factor = 2.0 * z1 / (1.0 + parameter * z1 * z1);
    Vars moved = z;
    for (std::size_t i = 0; i < kept_.size(); ++i)
      moved[i] = i == at ? -z1 : z[i] - factor * D[static_cast<std::size_t>(kept_[i])];
    return guided(unnormalised(moved, p), p);
  };
  using Map = std::function<Vars(const Vars& z, const Vars& p)>;
  const auto side = [this, original, numbers](const Map& map) {
    const auto rate = [map](const Vars& z, const Vars& v, const Vars& p) {
      return on(autodiff::Recording::current->directional(nodes(map(z, p)), nodes(z), nodes(v)));
    };
    variational::Formulation f;
    f.n = size();
    f.parameters = static_cast<int>(numbers) + 1;
    f.lagrangian = [=](const Vars& z, const Vars& v, const Vars& p) {
      return original.lagrangian(map(z, p), rate(z, v, p), p);
    };
    f.watched = [=](const Vars& z, const Vars& v, const Vars& p) {
      Vars all = map(z, p);
      const Vars rates = rate(z, v, p);
      all.insert(all.end(), rates.begin(), rates.end());
      return all;
    };
    return variational::record(f, variational::Rule::midpoint);
  };
  inside_ = side([unnormalised, guided](const Vars& z, const Vars& p) { return guided(unnormalised(z, p), p); });
  outside_ = side(projected);
  if (!circle_)
    slope_ = autodiff::record(size(), static_cast<int>(numbers) + 1, [&](const Vars& z, const Vars& p) {
      const Vars D = delta(z, p);
      Vars all;
      for (const int i : kept_) {
        if (i == normal_) continue;
        const Vars row = gradient(D[static_cast<std::size_t>(i)], z);
        for (const int k : kept_)
          if (k != normal_) all.push_back(row[z_of(k)]);
      }
      return all;
    });
}

// Estimates the largest spectral norm over all angles and over positions within 10 m: the maximum over points spread in
// that box, refined.
double Projected::bound(const std::vector<double>& parameters) const {
  const int m = size() - 1;
  if (m == 0) return 0.0;
  const std::vector<autodiff::Differential> values(parameters.begin(), parameters.end());
  const autodiff::RecordedElement element(slope_, values);
  std::vector<double> reach, out(static_cast<std::size_t>(m * m));
  for (const auto& link : system_.model.structure.links)
    for (const auto& move : link.moves) reach.push_back(move.kind == Move::turn ? std::numbers::pi : 10.0);
  const auto norm = [&](const Eigen::VectorXd& z) {
    element.evaluate(z.data(), out.data());
    const Eigen::Map<const Eigen::MatrixXd> L(out.data(), m, m);
    return L.allFinite() ? L.jacobiSvd().singularValues()(0) : 0.0;
  };
  std::vector<std::pair<double, Eigen::VectorXd>> found;
  for (int i = 0; i < 600; ++i) {
    Eigen::VectorXd z(size());
    for (Eigen::Index d = 0; d < z.size(); ++d) {
      const int c = kept_[static_cast<std::size_t>(d)];
      const double x = spread(i, static_cast<std::size_t>(d));
      z(d) = c == normal_ ? -std::pow(0.5 * (x + 1.0), 3) * 3.0 : reach[static_cast<std::size_t>(c)] * x;
    }
    found.emplace_back(norm(z), z);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  double best = 0.0;
  for (std::size_t i = 0; i < 5; ++i) {
    auto [value, z] = found[i];
    for (double step = 0.3; step > 1e-9; step *= 0.5)
      for (bool better = true; better;) {
        better = false;
        for (Eigen::Index d = 0; d < z.size(); ++d)
          for (const double sign : {-1.0, 1.0}) {
            Eigen::VectorXd moved = z;
            moved(d) += sign * step;
            if (kept_[static_cast<std::size_t>(d)] == normal_ && moved(d) >= 0.0) continue;
            const double there = norm(moved);
            if (there <= value * (1.0 + 1e-14)) continue;
            value = there;
            z = moved;
            better = true;
          }
      }
    best = std::max(best, value);
  }
  return best;
}

// Checks Lemma 3: on the surface, grad(gap) M^-1 grad(constraint) = 0.
void Projected::check_wire(const variational::Mechanics& model) const {
  const int wire_row = system_.pieces.contacts[0].slip ? 2 : 1, n = model.n();
  for (int i = 0; i < 100; ++i) {
    Eigen::VectorXd q(n);
    for (int d = 0; d < n; ++d) q(d) = std::numbers::pi * spread(i, static_cast<std::size_t>(d));
    q(normal_) -= model.row(q).value(0) / model.row(q).gradient(0, normal_);
    q(wire_) -= model.row(q).value(wire_row) / model.row(q).gradient(wire_row, wire_);
    const auto rows = model.row(q);
    if (std::abs(rows.gradient(0, wire_)) > 1e-12)
      system_.model.fail(0, "method projected: the gap of contact " + system_.pieces.contacts[0].name +
                                " depends on the coordinate that its constraint gives");
    const Eigen::VectorXd g = rows.gradient.row(0), w = rows.gradient.row(wire_row), x = model.velocity(q, w);
    if (std::abs(g.dot(x)) > 1e-10 * std::sqrt(g.dot(model.velocity(q, g)) * w.dot(x)))
      system_.model.fail(0, "method projected: constraint " + system_.pieces.constraints[0].name +
                                " is not separable from contact " + system_.pieces.contacts[0].name +
                                " where it closes; allowed: gradients that are orthogonal in M^-1");
  }
}

Projected::Instance Projected::instance(const Values<double>& values, double k) const {
  const Model& model = system_.model;
  const double e = Model::at(system_.pieces.contacts[0].restitution, values.numbers);
  if (e != 1.0)
    model.fail(system_.pieces.contacts[0].line,
               "method projected: restitution is " + formatted("%g", e) + "; allowed: 1, it is for elastic impacts");
  Instance all;
  std::vector<double> parameters = values.numbers;
  const variational::Mechanics plain(model_, values.numbers);
  if (circle_) {
    const auto gap = [&](double angle) { return plain.row(Eigen::VectorXd::Constant(1, angle)).value(0); };
    using std::numbers::pi;
    for (int i = 0; i < 40; ++i)
      if (const double x = pi * i / 40.0; std::abs(gap(x) - gap(-x)) > 1e-9 ||
                                          std::abs(gap(x) - gap(x + 2 * pi)) > 1e-9 ||
                                          (i > 0 && gap(x) >= gap(x - pi / 40)))
        model.fail(0, "method projected: the gap is no even function of the angle that falls from 0 to half a turn");
    const double alpha = variational::located_root(gap, 0.0, gap(0.0), pi, gap(pi));
    if (!(gap(0.0) > 0.0 && gap(pi) < 0.0)) model.fail(0, "method projected: the walls are not on both sides");
    if (!(alpha > pi / 4))
      model.fail(
          0, formatted(
                 "method projected: the walls are at an angle of %g rad; allowed: more than pi/4, where the cubic map "
                 "is one-to-one (x_c < sqrt(1/2))",
                 alpha));
    parameters.push_back(alpha);
    all.law = {-1, alpha};
  } else {
    if (wire_ >= 0) check_wire(plain);
    parameters.push_back(0.0);
    const double a = bound(parameters);
    all.least_k = a * a;
    all.k = k > 0.0 ? k : std::max(3.0 * all.least_k, 1e-3);
    if (!(all.k > all.least_k * (1.0 + 1e-9)))
      model.fail(0,
                 formatted("method projected: k = %g 1/m2 is not above k_c = %.9g; allowed: more, best 2 to 4 times it",
                           all.k, all.least_k));
    parameters.back() = all.k;
    all.law = {static_cast<int>(std::find(kept_.begin(), kept_.end(), normal_) - kept_.begin()), 0.0};
  }
  all.inside = std::make_unique<variational::Mechanics>(inside_, parameters);
  all.outside = std::make_unique<variational::Mechanics>(outside_, parameters);
  return all;
}

void Projected::lift(const Eigen::VectorXd& q, const Eigen::VectorXd& v, const variational::Mechanics& model,
                     Eigen::VectorXd& z, Eigen::VectorXd& rate) const {
  z.resize(size());
  rate.resize(size());
  const auto& rows = model.row(q);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool gap = kept_[i] == normal_;
    z(static_cast<Eigen::Index>(i)) = gap ? rows.value(0) : q(kept_[i]);
    rate(static_cast<Eigen::Index>(i)) = gap ? rows.gradient.row(0).dot(v) : v(kept_[i]);
  }
}

Eigen::VectorXd Projected::all_coordinates(const Eigen::VectorXd& z) const {
  assert(z.size() == size());
  Eigen::VectorXd all = Eigen::VectorXd::Constant(system_.model.structure.n(), std::nan(""));
  for (std::size_t i = 0; i < kept_.size(); ++i) all(kept_[i]) = z(static_cast<Eigen::Index>(i));
  return all;
}

}  // namespace dodyn::systems
