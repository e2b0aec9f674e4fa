// The decomposition contact response (Johnson 2013, section 3.5, Algorithm 3). If the prediction overlaps, it applies
// the closest-point projection, lifts the momenta to it, and computes impulses there.
#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "rigid/impact.hpp"
#include "rigid/invariants.hpp"
#include "rigid/projection.hpp"

namespace dodyn::rigid {
namespace {

template <int n>
class Decomposition final : public ContactResponse<n> {
  using VectorX = Eigen::VectorXd;

 public:
  explicit Decomposition(const ResponseContext<n>& context)
      : context_(context),
        project_(context),
        law_(make_with_restitution(context.world, context.options)),
        at_predicted_(context.bodies),
        at_projected_(context.bodies),
        at_end_(context.bodies) {}

  void restart() override {
    project_.restart();
    law_->restart();
    step_end_ = -std::numeric_limits<double>::infinity();
    touching_.clear();
    for (int i = 0; i < std::ssize(context_.detection.found()); ++i)
      if (context_.detection.found()[i].normal_gap() >= -context_.options.tolerance)
        touching_.push_back(context_.detection.key(i));
    starts_ = true;
  }

  Progress advance(double t, double h, State<n>& state, StepRecord<n>& record) override {
    if (std::exchange(starts_, false)) {
      points_.clear();
      add_constraint_points(context_.bodies, state.poses, context_.options.tolerance, points_);
      for (const auto& point : points_) touching_.push_back(point.pair);
    }
    if (!context_.integrator.advance(t, h, state, predicted_))
      return {0.0, 0.5, {{-1, -1}, 0.0, "the implicit step did not converge"}};
    frames_of(state.poses, frames0_);
    frames_of(predicted_.poses, frames1_);
    context_.detection.find(frames1_);
    if (const PenetrationCheck way = check_penetration<n>(context_, frames0_, frames1_); !way.free())
      return {0.0, way.share, way.cause};
    double deepest = 0.0;
    for (const auto& c : context_.detection.found()) deepest = std::max(deepest, c.normal_gap());
    deepest = std::max(deepest, largest_violation(context_.bodies, predicted_.poses));
    if (deepest <= 0.0) {
      std::swap(state, predicted_);
      touching_.clear();
      return {h, 0.5, {}, Progress::Origin::step};
    }
    Progress progress;
    if (t >= step_end_) {
      step_end_ = t + context_.options.step;
      retries_ = 0;
    }
    if (correct_overlap(h, deepest, state, record, progress)) {
      progress.done = h;
      progress.origin = Progress::Origin::corrected_step;
    }
    return progress;
  }

 private:
  // Corrects a prediction whose largest overlap is `deepest`, m. Returns false if the step must be cut; then the state
  // is unchanged, and `progress` has the cause or the fraction to try next.
  bool correct_overlap(double h, double deepest, State<n>& state, StepRecord<n>& record, Progress& progress) {
    ContactTotals<n>& contact_totals = record.contact_totals;
    const double margin = std::max(3.0 * deepest, context_.options.tolerance);  // d_b of section 3.5.3
    const double V0 = context_.forces.energy(predicted_.poses);
    at_predicted_.set(predicted_.poses);
    at_predicted_.velocity(predicted_.p, nu_);
    const Momenta<n> L0 = momenta(at_predicted_, predicted_.poses, nu_);
    const double T0 = kinetic_energy(predicted_.p, nu_);
    if (!project_(predicted_.poses, margin, projected_.poses, impact_.points, progress.cause)) return false;
    at_projected_.set(projected_.poses);
    lift(at_predicted_, predicted_.poses, predicted_.p, at_projected_, projected_.poses, lifted_, projected_.p);

    at_projected_.velocity(projected_.p, nu_);
    const Momenta<n> L1 = momenta(at_projected_, projected_.poses, nu_);
    const double T1 = kinetic_energy(projected_.p, nu_);
    by_forces_ = predicted_.p - state.p;
    law_->resolve(
        at_projected_, projected_.p, by_forces_, h, [this]() -> const VectorX& { return projection_energy(); },
        impact_);
    if (impact_.residual_projection_energy > 0.0 && retries_ < 12 && h > 0.01 * context_.options.step) {
      // contact that began and ended within the step: a shorter step resolves it
      ++retries_;
      progress.retry = 0.25;
      return false;
    }
    impact_.apply(projected_.p, p_after_);
    at_projected_.velocity(p_after_, nu_);
    const double T2 = kinetic_energy(p_after_, nu_);
    const ContactTotals<n> totals_before = contact_totals;
    contact_totals.projection.kinetic += T1 - T0 + impact_.lasting;
    contact_totals.impact += T2 - T1 - impact_.lasting;
    contact_totals.momentum.linear += L1.linear - L0.linear;
    contact_totals.momentum.angular += L1.angular - L0.angular;
    ++contact_totals.impulses;
    contact_totals.energy_limited += impact_.energy_limited;
    contact_totals.residual = std::max(contact_totals.residual, impact_.residual);

    // A lasting contact acts over the whole interval, as a force would. So it displaces the prediction by h/2 M^-1 I.
    // Then resting bodies stay in place, and sticking bodies do not creep. The projection alone does not ensure this.
    offset_.setZero(context_.bodies.dofs());
    bool lasts = false;
    for (std::size_t i = 0; i < impact_.points.size(); ++i)
      if (impact_.rests[i] && std::ranges::binary_search(touching_, impact_.points[i].pair))
        for (int k = 0; k < n; ++k)
          if (const double size = impact_.impulse[n * i + k]; size != 0.0) {
            impact_.rows.add_impulse(i, k, 0.5 * h * size, offset_);
            lasts = true;
          }
    if (lasts) {
      const Momenta<n> L2 = momenta(at_projected_, projected_.poses, nu_);
      displaced_.resize(predicted_.poses.size());
      context_.bodies.reparametrise(predicted_.poses, offset_, displaced_);
      if (!project_(displaced_, margin, predicted_.poses, points_, progress.cause)) {
        contact_totals = totals_before;
        return false;
      }
      at_end_.set(predicted_.poses);
      lift(at_projected_, projected_.poses, p_after_, at_end_, predicted_.poses, lifted_, state.p);
      state.poses.swap(predicted_.poses);
      at_end_.velocity(state.p, nu_);
      const Momenta<n> L3 = momenta(at_end_, state.poses, nu_);
      contact_totals.projection.kinetic += kinetic_energy(state.p, nu_) - T2;
      contact_totals.momentum.linear += L3.linear - L2.linear;
      contact_totals.momentum.angular += L3.angular - L2.angular;
    } else {
      state.poses.swap(projected_.poses);
      state.p.swap(p_after_);
    }
    context_.bodies.orthonormalise(state.poses);
    contact_totals.projection.potential += context_.forces.energy(state.poses) - V0;
    impact_.report(record);
    touching_.clear();
    for (const auto& point : impact_.points)
      if (point.touches && (touching_.empty() || touching_.back() != point.pair)) touching_.push_back(point.pair);
    return true;
  }

  // Returns the energy that the projection gave to each body or tree, stored at its first degree of freedom, J. It is
  // the work against the potentials by the trapezoidal rule plus the change by the lift.
  const VectorX& projection_energy() {
    const Multibody<n>& bodies = context_.bodies;
    raised_.setZero(bodies.dofs());
    frames_of(predicted_.poses, frames0_);
    frames_of(projected_.poses, frames1_);
    gradient0_.resize(bodies.size());
    gradient1_.resize(bodies.size());
    context_.forces.potential(frames0_, gradient0_);
    context_.forces.potential(frames1_, gradient1_);
    for (int b = 0; b < bodies.size(); ++b) {
      if (bodies.is_fixed(b)) continue;
      ConfigurationGradient<n> moved;
      moved << frames1_[b].position - frames0_[b].position, frames1_[b].directors - frames0_[b].directors;
      raised_[bodies.range(b).first] += 0.5 * (gradient0_[b] + gradient1_[b]).cwiseProduct(moved).sum();
    }
    if (bodies.has_joints()) {
      at_predicted_.velocity(predicted_.p, nu_);
      at_projected_.velocity(projected_.p, offset_);
      for (const auto& tree : bodies.trees()) {
        const auto range = [&](const VectorX& x) { return x.segment(tree.range.first, tree.range.size); };
        raised_[tree.range.first] +=
            0.5 * range(projected_.p).dot(range(offset_)) - 0.5 * range(predicted_.p).dot(range(nu_));
      }
    }
    return raised_;
  }

  ResponseContext<n> context_;
  Projection<n> project_;
  std::unique_ptr<ImpactLaw<n>> law_;
  std::vector<PairKey> touching_;  // pairs in contact at the start of the step, ascending
  bool starts_ = false;            // whether touching_ still lacks the constraints of a state set without a step

  // work space
  State<n> predicted_, projected_;
  std::vector<Pose<n>> displaced_;
  std::vector<geometry::Frame<n>> frames0_, frames1_;
  Inertia<n> at_predicted_, at_projected_, at_end_;
  Impact<n> impact_;
  std::vector<ContactPoint<n>> points_;
  double step_end_ = 0.0;  // end of the step whose cuts `retries_` counts, s
  int retries_ = 0;
  VectorX nu_, lifted_, by_forces_, p_after_, offset_, raised_;
  std::vector<ConfigurationGradient<n>> gradient0_, gradient1_;
};

}  // namespace

template <int n>
std::unique_ptr<ContactResponse<n>> make_decomposition(const ResponseContext<n>& context) {
  return std::make_unique<Decomposition<n>>(context);
}
template std::unique_ptr<ContactResponse<2>> make_decomposition(const ResponseContext<2>&);
template std::unique_ptr<ContactResponse<3>> make_decomposition(const ResponseContext<3>&);

}  // namespace dodyn::rigid
