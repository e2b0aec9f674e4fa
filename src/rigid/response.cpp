#include "rigid/response.hpp"

#include <algorithm>
#include <cmath>

namespace dodyn::rigid {
namespace {

// A response that never stops the bodies: contact is ignored, or acts as a force.
template <int n>
class NonImpulsiveResponse final : public ContactResponse<n> {
 public:
  explicit NonImpulsiveResponse(Integrator<n>& integrator) : integrator_(integrator) {}
  Progress advance(double t, double h, State<n>& state, StepRecord<n>&) override {
    if (!integrator_.advance(t, h, state, next_))
      return {0.0, 0.5, {{-1, -1}, 0.0, "the implicit step did not converge"}};
    std::swap(state, next_);
    return {h, 0.5, {}, Progress::Origin::step};
  }

 private:
  Integrator<n>& integrator_;
  State<n> next_;
};

}  // namespace

template <int n>
std::unique_ptr<ContactResponse<n>> make_response(const ResponseContext<n>& context) {
  switch (context.options.response) {
    case Response::decomposition:
      return make_decomposition(context);
    case Response::exact:
      return make_exact(context);
    case Response::none:
    case Response::penalty:
      break;
  }
  return std::make_unique<NonImpulsiveResponse<n>>(context.integrator);
}

template <int n>
PenetrationCheck check_penetration(const ResponseContext<n>& context, Frames<n> from, Frames<n> to) {
  const auto& detection = context.detection;
  PenetrationCheck result;
  for (int i = 0; i < std::ssize(detection.found()); ++i) {
    const auto& c = detection.found()[i];
    const double gap = c.normal_gap();
    double moved = 0.0;
    for (const int b : c.body)
      if (!context.bodies.is_fixed(b)) moved += detection.motion(b, from[b], to[b]);
    const double limit = context.options.refine * detection.thickness(i);
    if (moved <= limit && gap <= limit) continue;
    if (gap <= limit && detection.separation(i, from, c.normal()) >= -context.options.tolerance) continue;
    const auto at_start = detection.look(i, from);
    const double apart = std::max(0.0, -at_start.normal_gap());
    if (gap <= 0.0 && (apart >= moved || detection.separation(i, to, at_start.normal()) > 0.0)) continue;
    const double now = std::clamp((apart + 0.5 * limit) / moved, 1e-3, 0.5);
    if (now < result.share) result = {now, {c.body, gap, "contact not resolved"}};
  }
  return result;
}

template <int n>
double restitution(const World<n>& world, const ContactPoint<n>& point) {
  if (point.constraint >= 0) return world.one_sided[point.constraint].restitution;
  return std::sqrt(world.bodies[point.body[0]].surface.restitution * world.bodies[point.body[1]].surface.restitution);
}
template <int n>
double friction(const World<n>& world, const ContactPoint<n>& point) {
  if (point.constraint >= 0) return world.one_sided[point.constraint].friction;
  return std::sqrt(world.bodies[point.body[0]].surface.friction * world.bodies[point.body[1]].surface.friction);
}

template std::unique_ptr<ContactResponse<2>> make_response(const ResponseContext<2>&);
template std::unique_ptr<ContactResponse<3>> make_response(const ResponseContext<3>&);
template PenetrationCheck check_penetration(const ResponseContext<2>&, Frames<2>, Frames<2>);
template PenetrationCheck check_penetration(const ResponseContext<3>&, Frames<3>, Frames<3>);
template double restitution(const World<2>&, const ContactPoint<2>&);
template double restitution(const World<3>&, const ContactPoint<3>&);
template double friction(const World<2>&, const ContactPoint<2>&);
template double friction(const World<3>&, const ContactPoint<3>&);

}  // namespace dodyn::rigid
