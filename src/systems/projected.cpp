#include "systems/projected.hpp"

#include <Eigen/SVD>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

#include "autodiff/vars.hpp"
#include "record/text.hpp"
#include "systems/assembly.hpp"
#include "variational/located_root.hpp"

namespace dodyn::systems {

using autodiff::Var;
using Vars = variational::Formulation::Vars;

namespace {

// Returns component `dimension` of point `i` of a sequence that fills a box evenly (additive recurrence), in [-1, 1).
double spread(int i, std::size_t dimension) {
  static const double steps[] = {0.7548776662466927, 0.5698402909980532, 0.8191725133961645, 0.6710436067037893,
                                 0.5497004779019703};
  const double x = 0.5 + i * steps[dimension % 5];
  return 2.0 * (x - std::floor(x)) - 1.0;
}

// Throws ConfigError where the method does not apply.
void check_supported(const HybridModel& system) {
  const HybridParts& pieces = system.pieces;
  const auto refuse = [&](const std::string& why) { system.model.fail(0, "method projected: " + why); };
  if (pieces.contacts.size() != 1)
    refuse("it has " + std::to_string(pieces.contacts.size()) + " contacts; allowed: one");
  if (pieces.constraints.size() > 1)
    refuse("it has " + std::to_string(pieces.constraints.size()) + " constraints; allowed: none or one");
  if (!pieces.resets.empty()) refuse("it has resets; allowed: none");
  if (pieces.contacts[0].slip && !pieces.contacts[0].friction.is_zero())
    refuse("its contact has friction; allowed: none");
  const auto& tree = system.model.structure;
  if (!tree.loads.empty() || !tree.drags.empty() ||
      std::ranges::any_of(tree.springs, [](const auto& one) { return !one.damping.is_zero(); }))
    refuse("it has forces without a potential; allowed: none");
}

// Returns the index of the constraint's row. It follows the rows of the contact.
int constraint_row(const HybridModel& system) { return system.pieces.contacts[0].slip ? 2 : 1; }

// Returns a coordinate other than `but` in which the row is affine with a positive coefficient, tested at 40 points;
// -1: none.
int affine_coordinate(const variational::Mechanics& model, int row, int but) {
  const int n = model.n();
  for (int c = 0; c < n; ++c) {
    bool fits = c != but;
    for (int i = 0; i < 40 && fits; ++i) {
      Eigen::VectorXd q(n);
      for (int d = 0; d < n; ++d) q(d) = 3.0 * spread(i, d);
      const double slope = model.row(q).gradient(row, c);
      q(c) += 1.7;
      fits = slope > 1e-9 && std::abs(model.row(q).gradient(row, c) - slope) <= 1e-12 * slope;
    }
    if (fits) return c;
  }
  return -1;
}

// Returns x with M x = g, by Gaussian elimination.
Vars eliminated(std::vector<Vars> M, const Vars& g) {
  Vars x = g;
  const std::size_t n = g.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i + 1; k < n; ++k) {
      const Var factor = M[k][i] / M[i][i];
      for (std::size_t l = i; l < n; ++l) M[k][l] -= factor * M[i][l];
      x[k] -= factor * x[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t l = i + 1; l < n; ++l) x[i] -= M[i][l] * x[l];
    x[i] = x[i] / M[i][i];
  }
  return x;
}

// Records the maps from z to coordinates. z: the remaining coordinates, with the gap instead of the normal coordinate.
// p: the model's numbers, then k or the angle of the walls.
struct Maps {
  variational::Formulation original;
  int n, normal, wire, constraint_row;
  const std::vector<int>& kept;

  std::size_t place(int c) const { return std::ranges::find(kept, c) - kept.begin(); }

  // Returns q with coordinate c such that the row, which is affine in it, has the value `wanted`.
  Vars solved(Vars q, int row, int c, const Var& wanted, const Vars& p) const {
    q[c] = Var(0.0);
    const Var at_0 = original.rows(q, p)[row];
    q[c] = Var(1.0);
    const Var rate = original.rows(q, p)[row] - at_0;
    q[c] = (wanted - at_0) / rate;
    return q;
  }

  // Returns the point whose normal form is z. Its coordinate of the wire is zero.
  Vars unnormalised(const Vars& z, const Vars& p) const {
    Vars q(n, Var(0.0));
    for (std::size_t i = 0; i < kept.size(); ++i) q[kept[i]] = z[i];
    return normal < 0 ? q : solved(q, 0, normal, q[normal], p);
  }

  Vars inside(const Vars& z, const Vars& p) const {
    const Vars q = unnormalised(z, p);
    return wire < 0 ? q : solved(q, constraint_row, wire, Var(0.0), p);
  }

  // Returns M^-1 grad(gap), scaled such that its product with grad(gap) is 1.
  Vars delta(const Vars& z, const Vars& p) const {
    const Vars q = unnormalised(z, p);
    // The gap is c q_normal + r, with c and r functions of the other coordinates; its gradient follows.
    Vars at_0 = q, at_1 = q;
    at_0[normal] = Var(0.0);
    at_1[normal] = Var(1.0);
    const Var r = original.rows(at_0, p)[0], c = original.rows(at_1, p)[0] - r;
    const Vars dr = gradient(r, z), dc = gradient(c, z);
    Vars g(n, Var(0.0));
    for (const int i : kept) g[i] = i == normal ? c : dr[place(i)] + dc[place(i)] * q[normal];
    // M from the Lagrangian in rates that are zero
    Vars v;
    for (int i = 0; i < n; ++i) v.push_back(Var::input());
    std::vector<Vars> M;
    for (const Var& momentum : gradient(original.lagrangian(q, v, p), v)) M.push_back(gradient(momentum, v));
    Vars x = eliminated(std::move(M), g);
    Var along(0.0);
    for (int i = 0; i < n; ++i) along += g[i] * x[i];
    for (Var& one : x) one = one / along;
    return x;
  }

  // Returns the coordinates outside by (14)-(16).
  Vars reflected(const Vars& z, const Vars& p) const {
    const Vars D = delta(z, p);
    const std::size_t at = place(normal);
    const Var z1 = z[at], factor = 2.0 * z1 / (1.0 + p[original.parameters] * z1 * z1);
    Vars moved = z;
    for (std::size_t i = 0; i < kept.size(); ++i) moved[i] = i == at ? -z1 : z[i] - factor * D[kept[i]];
    return inside(moved, p);
  }

  // Returns the angle outside by the cubic map of section V, with walls at the angle `alpha`.
  Vars cubic(const Vars& z, const Vars& p) const {
    using std::numbers::pi;
    const Var alpha = p[original.parameters], rest = pi - alpha, b1 = (pi - 4.0 * alpha) / (2.0 * rest),
              b3 = (2.0 * alpha - pi) / (2.0 * (rest * rest * rest)), x = z[0] - pi;
    return {b1 * x + b3 * (x * x * x)};
  }

  // Returns d delta_i / dz_k, row by row, for i and k other than the normal coordinate.
  Vars slope(const Vars& z, const Vars& p) const {
    const Vars D = delta(z, p);
    Vars all;
    for (const int i : kept) {
      if (i == normal) continue;
      const Vars row = gradient(D[i], z);
      for (const int k : kept)
        if (k != normal) all.push_back(row[place(k)]);
    }
    return all;
  }

  // Records the mechanics of z where q = map(z).
  template <class Map>
  variational::Recorded record(Map map) const {
    const auto rate = [&](const Vars& z, const Vars& v, const Vars& p) { return directional(map(z, p), z, v); };
    variational::Formulation f;
    f.n = kept.size();
    f.parameters = original.parameters + 1;
    f.lagrangian = [&](const Vars& z, const Vars& v, const Vars& p) {
      return original.lagrangian(map(z, p), rate(z, v, p), p);
    };
    f.watched = [&](const Vars& z, const Vars& v, const Vars& p) {
      Vars all = map(z, p);
      const Vars rates = rate(z, v, p);
      all.insert(all.end(), rates.begin(), rates.end());
      return all;
    };
    return variational::record(f, variational::Rule::midpoint);
  }
};

}  // namespace

Projected::Projected(const HybridModel& system) : system_(system) {
  check_supported(system);
  const Model& model = system.model;
  const auto& links = model.structure.links;
  const int n = model.structure.n();
  model_ = variational::record(formulation(system), variational::Rule::midpoint);
  const variational::Mechanics plain(model_, model.evaluate<double>().numbers);
  circle_ = n == 1 && links.size() == 1 && links[0].moves[0].kind == Move::turn;
  if (!circle_ && (normal_ = affine_coordinate(plain, 0, -1)) < 0)
    model.fail(
        0, "method projected: its gap grows with no coordinate at a constant rate, as that of y - f(x) does with y");
  if (!system.pieces.constraints.empty() && (wire_ = affine_coordinate(plain, constraint_row(system), normal_)) < 0)
    model.fail(0,
               "method projected: its constraint grows with no coordinate at a constant rate, as that of x - f(y) does "
               "with x");
  for (int c = 0; c < n; ++c)
    if (c != wire_) kept_.push_back(c);
  const Maps maps{formulation(system), n, normal_, wire_, constraint_row(system), kept_};
  inside_ = maps.record([&](const Vars& z, const Vars& p) { return maps.inside(z, p); });
  outside_ =
      maps.record([&](const Vars& z, const Vars& p) { return circle_ ? maps.cubic(z, p) : maps.reflected(z, p); });
  if (!circle_)
    slope_ = autodiff::record(size(), maps.original.parameters + 1,
                              [&](const Vars& z, const Vars& p) { return maps.slope(z, p); });
}

// Estimates the largest spectral norm over all angles, over positions within 10 m and over gaps from -3 to 0: takes 600
// points in this box and refines the best five by a coordinate search.
double Projected::bound(const std::vector<double>& parameters) const {
  const int m = size() - 1;
  if (m == 0) return 0.0;
  const std::vector<autodiff::Differential> values(parameters.begin(), parameters.end());
  const autodiff::RecordedElement element(slope_, values);
  std::vector<double> reach, out(m * m);
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
      const int c = kept_[d];
      const double x = spread(i, d);
      z(d) = c == normal_ ? -std::pow(0.5 * (x + 1.0), 3) * 3.0 : reach[c] * x;
    }
    found.emplace_back(norm(z), z);
  }
  std::ranges::sort(found, [](const auto& a, const auto& b) { return a.first > b.first; });
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
            if (kept_[d] == normal_ && moved(d) >= 0.0) continue;
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
void Projected::check_constraint(const variational::Mechanics& model) const {
  const int row = constraint_row(system_), n = model.n();
  for (int i = 0; i < 100; ++i) {
    Eigen::VectorXd q(n);
    for (int d = 0; d < n; ++d) q(d) = std::numbers::pi * spread(i, d);
    q(normal_) -= model.row(q).value(0) / model.row(q).gradient(0, normal_);
    q(wire_) -= model.row(q).value(row) / model.row(q).gradient(row, wire_);
    const auto rows = model.row(q);
    if (std::abs(rows.gradient(0, wire_)) > 1e-12)
      system_.model.fail(0, "method projected: the gap of contact " + system_.pieces.contacts[0].name +
                                " depends on the coordinate that its constraint gives");
    const Eigen::VectorXd g = rows.gradient.row(0), w = rows.gradient.row(row), x = model.velocity(q, w);
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
        model.fail(0,
                   "method projected: the gap is not an even function of the angle that falls from 0 to half a turn");
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
    if (wire_ >= 0) check_constraint(plain);
    parameters.push_back(0.0);
    const double a = bound(parameters);
    all.least_k = a * a;
    all.k = k > 0.0 ? k : std::max(3.0 * all.least_k, 1e-3);
    if (!(all.k > all.least_k * (1.0 + 1e-9)))
      model.fail(0,
                 formatted("method projected: k = %g 1/m2 is not above k_c = %.9g; allowed: more, best 2 to 4 times it",
                           all.k, all.least_k));
    parameters.back() = all.k;
    all.law = {static_cast<int>(std::ranges::find(kept_, normal_) - kept_.begin()), 0.0};
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
    z(i) = gap ? rows.value(0) : q(kept_[i]);
    rate(i) = gap ? rows.gradient.row(0).dot(v) : v(kept_[i]);
  }
}

Eigen::VectorXd Projected::all_coordinates(const Eigen::VectorXd& z) const {
  assert(z.size() == size());
  Eigen::VectorXd all = Eigen::VectorXd::Constant(system_.model.structure.n(), std::nan(""));
  for (std::size_t i = 0; i < kept_.size(); ++i) all(kept_[i]) = z(i);
  return all;
}

}  // namespace dodyn::systems
