// Computes the impulses at all contact points of a group. Normal impulses are >= 0, tangential ones in Coulomb's cone.
//
// Bodies that contacts connect form islands. An island rests if no touching point moves faster along its normal than
// Options::resting times the speed that the forces of the step cause. Its contacts are then plastic, u+ >= 0. Otherwise
// the island has an impact: compression, which is plastic contact again, then restitution by Newton's law, u+ >= -e u-,
// or by Poisson's, in which restitution adds e times the normal impulses of compression (Pfeiffer and Glocker 1996,
// section 8.2).
//
// The projection moves bodies against forces. So the bodies have an additional energy dE that they did not have at the
// moment of contact. An impact first removes dE from the approach: the normal impulses of compression, times a factor,
// change the kinetic energy by -dE. Compression and the law follow from there. For one freely falling body this is
// exact. The body arrives with the speed that it has at contact, with friction, too. If a compression has less energy
// than dE (a corner that entered and left within the step), the rest is `residual_projection_energy`.
//
// A law that would increase the energy (unequal restitutions, friction) is limited. The impulses are interpolated
// between the impulses of compression and the impulses of the law, at the point where the energy is unchanged. Such
// impacts are counted.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rigid/impact.hpp"
#include "rigid/impulse_guess.hpp"

namespace dodyn::rigid {

template <int n>
void Impact<n>::apply(const Eigen::VectorXd& p, Eigen::VectorXd& out) const {
  out = p;
  for (std::size_t i = 0; i < points.size(); ++i)
    for (int k = 0; k < n; ++k)
      if (impulse[n * i + k] != 0.0) rows.add_momentum(i, k, impulse[n * i + k], out);
}
template <int n>
void Impact<n>::report(StepRecord<n>& record) const {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (const int constraint = points[i].constraint; constraint >= 0) {
      if (impulse[n * i] == 0.0) continue;
      const auto& bodies = rows.inertia().bodies().one_sided()[constraint].bodies;
      for (int b = 0; b < std::ssize(bodies); ++b)
        record.constraint_impulses.push_back(
            {constraint, bodies[b], impulse[n * i] * rows.slope(i, 0, b) + impulse[n * i + 1] * rows.slope(i, 1, b)});
      continue;
    }
    Vector<n> sum = Vector<n>::Zero();
    for (int k = 0; k < n; ++k) sum += impulse[n * i + k] * rows.direction(i, k);
    if (sum.isZero(0.0)) continue;
    const auto& body = points[i].body;
    const std::array<Vector<n>, 2> arm = {points[i].point - rows.inertia().position(body[0]),
                                          points[i].point - rows.inertia().position(body[1])};
    record.impulses.push_back({body, points[i].part, points[i].point, points[i].normal, sum, arm});
  }
}
template struct Impact<2>;
template struct Impact<3>;

namespace {

// Residual projection energy below this fraction of the energy that the step's forces would give to bodies at rest is
// neglected.
constexpr double negligible = 0.01;
constexpr double never = -std::numeric_limits<double>::infinity();

template <int n>
class WithRestitution final : public ImpactLaw<n> {
 public:
  WithRestitution(const World<n>& world, const Options& options) : world_(world), options_(options) {}
  void restart() override { guess_.clear(); }

  void resolve(const Inertia<n>& inertia, const Eigen::VectorXd& p, const Eigen::VectorXd& by_forces, double h,
               const std::function<const Eigen::VectorXd&()>& projection_energy, Impact<n>& impact) override {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    const int count = points.size();
    inertia.velocity(p, nu_);
    inertia.velocity(by_forces, force_velocity_);
    forced_ = by_forces.cwiseProduct(0.5 * force_velocity_);
    forced_ *= (options_.step / h) * (options_.step / h);
    rows.build(inertia, points, true);
    before_ = nu_;
    describe(h, impact);
    const std::span<const double> rough = slippery_ ? std::span<const double>() : friction_;

    guess_.give(points, impulse);
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < n; ++k) {
        if (k > 0 && friction_[i] == 0.0) impulse[n * i + k] = 0.0;
        if (impulse[n * i + k] != 0.0) rows.add_impulse(i, k, impulse[n * i + k], nu_);
      }
    residual = solver_.solve(rows, target_, rough, 1e-14 * scale_, nu_, impulse);
    guess_.keep(points, impulse);
    energy_limited = 0;
    residual_projection_energy = 0.0;
    // An island that was projected but carries no impulse cannot give energy back. Test it for an impact too.
    for (int j = 0; j < rows.islands(); ++j) {
      const auto island = rows.island(j);
      if (!rests[island.front()] || std::ranges::any_of(island, [&](int c) { return impact.impulse[n * c] > 0.0; }))
        continue;
      for (const int c : island) settled_[c] = 0;
      bounces_ = true;
    }
    if (bounces_) bounce(projection_energy, rough, impact);

    lasting = 0.0;
    double friction = 0.0;
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < n && rests[i]; ++k)
        (k == 0 ? lasting : friction) +=
            0.5 * impulse[n * i + k] * (rows.relative_velocity(i, k, before_) + rows.relative_velocity(i, k, nu_));
    lasting += std::max(friction, 0.0);  // friction can only dissipate
  }

 private:
  // Finds which islands rest, and sets the target velocity of plastic contact at each point.
  void describe(double h, Impact<n>& impact) {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    const int count = points.size();
    target_.resize(count);
    friction_.resize(count);
    settled_.assign(count, 1);
    rests.assign(count, 1);
    scale_ = 0.0;
    slippery_ = true;
    bounces_ = false;
    for (int i = 0; i < count; ++i) {
      for (int k = 0; k < n; ++k) scale_ = std::max(scale_, std::abs(rows.relative_velocity(i, k, before_)));
      friction_[i] = friction(world_, points[i]);
      slippery_ = slippery_ && friction_[i] == 0.0;
    }
    for (int j = 0; j < rows.islands(); ++j) {
      bool rest = true, elastic = false;
      for (const int c : rows.island(j)) {
        const double u = rows.relative_velocity(c, 0, before_),
                     slow = options_.resting * rows.speed(c, 0, force_velocity_);
        const bool touches = points[c].touches;
        if (touches && std::abs(u) > slow) rest = false;
        elastic = elastic || (touches && restitution(world_, points[c]) > 0.0);
        // not touching yet, but the forces of one step close the gap in the next step
        const bool comes = std::abs(u) <= slow && slow > 0.0 && -points[c].gap <= slow * h;
        target_[c] = touches ? 0.0 : comes ? points[c].gap / h : never;
      }

      for (const int c : rows.island(j)) {
        rests[c] = rest;
        if (rest) continue;
        if (target_[c] < 0.0) target_[c] = never;
        settled_[c] = !elastic;
        bounces_ = bounces_ || elastic;
      }
    }
  }

  // Applies restitution to islands that are not `settled_`. On entry `impulse` and nu_ have their values at the end
  // of compression.
  void bounce(const std::function<const Eigen::VectorXd&()>& projection_energy, std::span<const double> rough,
              Impact<n>& impact) {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    const int count = points.size();
    const double tolerance = 1e-14 * scale_;
    const Eigen::VectorXd& energy = projection_energy();
    removed_.assign(count, 0.0);
    bool removes = false;
    for (int j = 0; j < rows.islands(); ++j)
      if (const auto island = rows.island(j); !settled_[island.front()])
        removes = remove_projection_energy(island, energy, impact) || removes;
    if (removes) residual = std::max(residual, solver_.solve(rows, target_, rough, tolerance, nu_, impulse, settled_));
    compressed_ = nu_;
    compression_ = impulse;
    if (options_.restitution == Restitution::newton) {
      for (int c = 0; c < count; ++c)
        if (!settled_[c] && target_[c] != never)
          target_[c] = -restitution(world_, points[c]) * rows.relative_velocity(c, 0, before_);
      residual = std::max(residual, solver_.solve(rows, target_, rough, tolerance, nu_, impulse, settled_));
    } else {
      expansion_.assign(count, 0.0);
      for (int c = 0; c < count; ++c) {
        if (settled_[c]) continue;
        expansion_[c] = restitution(world_, points[c]) * impulse[n * c];
        rows.add_impulse(c, 0, expansion_[c], nu_);
        for (int k = 0; k < n; ++k) impulse[n * c + k] = 0.0;
      }
      residual = std::max(residual, solver_.solve(rows, target_, rough, tolerance, nu_, impulse, settled_, expansion_));
      for (int c = 0; c < count; ++c) {
        if (settled_[c]) continue;
        impulse[n * c] += expansion_[c];
        for (int k = 0; k < n; ++k) impulse[n * c + k] += compression_[n * c + k];
      }
    }
    for (int j = 0; j < rows.islands(); ++j)
      if (const auto island = rows.island(j); !settled_[island.front()]) limit_energy(island, impact);
    for (int c = 0; c < count; ++c) impulse[n * c] += removed_[c];
  }

  // Removes the energy that the projection gave to the bodies of an island from `before_`, by a multiple of the normal
  // impulses of compression, which are stored in `removed_`. `impulse` keeps the rest, as a guess of the compression
  // that is left. Returns whether anything changed.
  bool remove_projection_energy(std::span<const int> island, const Eigen::VectorXd& projection_energy,
                                Impact<n>& impact) {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    dofs_.clear();
    for (const int c : island)
      for (const auto& side : rows.sides(c))
        if (side.size > 0) dofs_.emplace_back(side.first, side.size);
    std::ranges::sort(dofs_);
    dofs_.erase(std::unique(dofs_.begin(), dofs_.end()), dofs_.end());
    double given = 0.0, forced = 0.0;
    for (const auto& [first, size] : dofs_) {
      given += projection_energy[first];
      forced += forced_.segment(first, size).sum();
    }
    // The energy changes by `linear` s + `square` s^2 if s times the normal impulses act: impulse times mean velocity.
    by_normal_.setZero(before_.size());
    for (const int c : island)
      if (impulse[n * c] != 0.0) rows.add_impulse(c, 0, impulse[n * c], by_normal_);
    double linear = 0.0, square = 0.0;
    for (const int c : island) {
      linear += impulse[n * c] * rows.relative_velocity(c, 0, before_);
      square += 0.5 * impulse[n * c] * rows.relative_velocity(c, 0, by_normal_);
    }
    const bool approaches = linear < 0.0 && square > 0.0;
    const double removable = approaches ? 0.25 * linear * linear / square : 0.0;
    residual_projection_energy = std::max(residual_projection_energy, given - removable - negligible * forced);
    if (!approaches || given == 0.0) return false;
    const double share = (-linear - std::sqrt(std::max(0.0, linear * linear - 4.0 * square * given))) / (2.0 * square);
    for (const auto& [first, size] : dofs_) before_.segment(first, size) += share * by_normal_.segment(first, size);
    for (const int c : island) {
      removed_[c] = share * impulse[n * c];
      impulse[n * c] -= removed_[c];
      for (int k = 1; k < n; ++k) {
        const double change = -share * impulse[n * c + k];
        if (change != 0.0) rows.add_impulse(c, k, change, nu_);
        impulse[n * c + k] += change;
      }
    }
    return true;
  }

  // Keeps the impulses of an island's law from increasing the energy.
  void limit_energy(std::span<const int> island, Impact<n>& impact) {
    auto& [points, rows, impulse, rests, residual, energy_limited, lasting, residual_projection_energy] = impact;
    // work of an impulse = impulse times mean velocity
    double plastic = 0.0, law = 0.0, linear = 0.0, square = 0.0, approach = 0.0;
    for (const int c : island)
      for (int k = 0; k < n; ++k) {
        const double u0 = rows.relative_velocity(c, k, before_), u1 = rows.relative_velocity(c, k, compressed_),
                     u2 = rows.relative_velocity(c, k, nu_);
        const double one = compression_[n * c + k], two = impulse[n * c + k];
        plastic += 0.5 * one * (u0 + u1);
        law += 0.5 * two * (u0 + u2);
        linear += (two - one) * u1;
        square += 0.5 * (two - one) * (u2 - u1);
        if (k == 0) approach += two * std::abs(u0);
      }
    if (law <= 1e-9 * approach || !(square > 0.0)) return;
    ++energy_limited;
    // plastic + linear s + square s^2 = 0
    const double s = (std::sqrt(std::max(0.0, linear * linear - 4.0 * square * plastic)) - linear) / (2.0 * square);
    const double share = std::clamp(s, 0.0, 1.0);
    for (const int c : island)
      for (int k = 0; k < n; ++k) {
        const double to = compression_[n * c + k] + share * (impulse[n * c + k] - compression_[n * c + k]);
        if (const double change = to - impulse[n * c + k]; change != 0.0) rows.add_impulse(c, k, change, nu_);
        impulse[n * c + k] = to;
      }
  }

  const World<n>& world_;
  const Options& options_;
  ContactSolver<n> solver_;
  ImpulseGuess<n> guess_;  // impulses of compression of the last impact
  // velocities: present; by the forces of the step; before the impact; at the end of compression; by the normal
  // impulses of one island
  Eigen::VectorXd nu_, force_velocity_, before_, compressed_, by_normal_;
  Eigen::VectorXd forced_;  // kinetic energy that the forces of a whole step would give to bodies at rest, by degree of
                            // freedom, J
  std::vector<double> target_, friction_, compression_, expansion_;
  std::vector<double> removed_;            // [points] normal impulses that remove the projection energy, N s
  std::vector<char> settled_;              // [points] the point's island is solved by plastic contact
  std::vector<std::pair<int, int>> dofs_;  // first dof and number of dofs of an island's bodies
  double scale_ = 0.0;
  bool slippery_ = true, bounces_ = false;
};

}  // namespace

template <int n>
std::unique_ptr<ImpactLaw<n>> make_with_restitution(const World<n>& world, const Options& options) {
  return std::make_unique<WithRestitution<n>>(world, options);
}
template std::unique_ptr<ImpactLaw<2>> make_with_restitution(const World<2>&, const Options&);
template std::unique_ptr<ImpactLaw<3>> make_with_restitution(const World<3>&, const Options&);

}  // namespace dodyn::rigid
