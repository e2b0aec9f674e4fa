#include "dmoc/walker.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "systems/skeleton.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Tree;

namespace {

Coefficient distance(const Coefficient* a, const Coefficient* b) {
  Coefficient square(0.0);
  for (int i = 0; i < 3; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return square.value > 0.0 ? sqrt(square) : Coefficient(0.0);
}

}  // namespace

std::vector<int> Walker::feet() const {
  std::vector<int> held(base);
  std::iota(held.begin(), held.end(), 0);
  return held;
}

Walker::Walker(systems::Model model, int order) {
  if (model.structure.swing_link < 0) model.fail(0, "has no swing-foot in [model]; a gait needs swing-foot = LINK");
  check_legs(model);
  system = std::make_shared<System>(std::move(model), false, std::vector<Energy>(), order);
  const auto& tree = system->structure();
  base = tree.dimension;
  joints = tree.n() - base;
  coordinate_names = tree.coordinate_names;
  const std::array<std::string, 3> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < base; ++i)
      point_names.push_back((p == 0 ? "foot" : tree.links[p - 1].name + "_end") + letters[i]);
  joined_points = systems::joined_points(tree, "foot");
  for (const auto& actuator : tree.actuators) input_names.push_back(actuator.name);
  for (const auto& knee : tree.knees) knees.push_back({knee.coordinate - base, knee.flexion});
  spread.assign(joints, 1.0);
  if (base == 3)
    for (const auto& link : tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i)
        if (link.first + static_cast<int>(i) >= base && link.moves[i].axis != 1)
          spread[link.first - base + i] = 0.2;  // smaller out of the sagittal plane
  find_legs();
  record_functions();
}

// Finds the links of the swing leg, from the swing foot up to the hip, and then the links of both legs.
void Walker::find_legs() {
  const auto& tree = system->structure();
  swing_.assign(tree.links.size(), false);
  for (int l = tree.swing_link; l >= 0 && tree.links[l].counterpart != l && !swing_[tree.links[l].counterpart];
       l = tree.links[l].parent)
    swing_[l] = true;
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const auto& link = tree.links[l];
    const bool solid = std::ranges::any_of(link.end, [](const auto& x) { return !x.is_zero(); });
    if (solid && (swing_[l] || (link.counterpart >= 0 && swing_[link.counterpart]))) leg_links_.push_back(l);
  }
  std::stable_partition(leg_links_.begin(), leg_links_.end(), [&](int l) { return !swing_[l]; });
  for (const int l : leg_links_) of_stance_ += !swing_[l];
}

void Walker::record_functions() {
  // Prepends zeros for the foot (at the origin, or at rest) to joint values.
  const auto pinned = [b = base](const auto* joint, int count) {
    using T = std::decay_t<decltype(*joint)>;
    std::vector<T> q(b, T(0.0));
    q.insert(q.end(), joint, joint + count);
    return q;
  };
  const int j = joints;
  swing_height = system->record(j, 0, [&](const auto& t, const auto& z, const auto&) {
    return std::vector<Var>{t.swing_foot(pinned(z.data(), j).data())[base - 1]};
  });
  const int knots = system->scheme().degree + 1;
  // Interpolates joint angles inside an interval.
  const auto between = [&](const auto& z, const auto& weights) {
    std::vector<Var> theta;
    for (std::size_t i = 0; i < static_cast<std::size_t>(j); ++i) {
      theta.push_back(weights[0] * z[i]);
      for (std::size_t knot = 1; knot < weights.size(); ++knot)
        theta.back() += weights[knot] * z[knot * static_cast<std::size_t>(j) + i];
    }
    return theta;
  };
  height = system->record(knots * j, knots, [&](const auto& t, const auto& z, const auto& weights) {
    const std::vector<Var> theta = between(z, weights);
    return std::vector<Var>{t.swing_foot(pinned(theta.data(), j).data())[base - 1]};
  });
  exchanged = system->record(
      j, 0, [&](const auto& t, const auto& z, const auto&) { return t.exchange_legs(pinned(z.data(), j).data()); });
  exchanged_momentum = system->record(2 * j, 0, [&](const auto& t, const auto& z, const auto&) {
    std::vector<autodiff::Dual<Var>> moving(base);
    for (std::size_t i = 0; i < static_cast<std::size_t>(j); ++i) moving.emplace_back(z[i], z[j + i]);
    std::vector<Var> q, v;
    for (const auto& x : t.exchange_legs(moving.data())) {
      q.push_back(x.value);
      v.push_back(x.tangent);
    }
    return momentum(t, q, v);
  });
  points = system->record(
      j, 0, [&](const auto& t, const auto& z, const auto&) { return t.points(pinned(z.data(), j).data()); });
  segments = system->record(j, 0, [&](const auto& t, const auto& z, const auto&) {
    std::vector<Var> ends;
    const std::vector<Var> q = pinned(z.data(), j);
    for (const int link : leg_links_) {
      const auto two = t.segments(q.data(), link, link);
      ends.insert(ends.end(), two.begin(), two.begin() + 6);
    }
    return ends;
  });
  if (base != 3) return;
  sides = system->record(knots * j, knots, [&](const auto& t, const auto& z, const auto& weights) {
    const std::vector<Var> theta = between(z, weights);
    const std::vector<Var> q = pinned(theta.data(), j);
    std::vector<std::vector<Var>> ends;
    for (const int link : leg_links_) ends.push_back(t.segments(q.data(), link, link));
    const Var stance_hip = ends[of_stance_ - 1][4], swing_hip = ends[of_stance_][1],
              middle = 0.5 * (stance_hip + swing_hip);
    std::vector<Var> own = {0.5 * (swing_hip - stance_hip)};
    for (std::size_t i = 0; i < ends.size(); ++i)
      own.push_back(i < static_cast<std::size_t>(of_stance_) ? middle - ends[i][1] : ends[i][4] - middle);
    return own;
  });
}

Walker::Legs Walker::legs(const Tree<Coefficient>& design) const {
  const std::vector<Coefficient> straight(design.n(), 0.0);
  const auto ends = [&](int link) { return design.segments(straight.data(), link, link); };
  Legs legs;
  legs.segments.resize(leg_links_.size());
  Coefficient from_hip = 0.0;
  // Links of the stance leg are in order from the foot to the hip, links of the swing leg from the hip to the foot.
  for (int i = of_stance_ - 1; i >= 0; --i) {
    const auto p = ends(leg_links_[i]);
    const Coefficient farther = from_hip + distance(&p[0], &p[3]);
    legs.segments[i] = {false, from_hip, farther, false};
    from_hip = farther;
  }
  from_hip = 0.0;
  for (std::size_t i = of_stance_; i < leg_links_.size(); ++i) {
    const auto p = ends(leg_links_[i]);
    const Coefficient farther = from_hip + distance(&p[0], &p[3]);
    legs.segments[i] = {true, from_hip, farther, true};
    from_hip = farther;
  }
  for (const auto& segment : legs.segments) legs.reach.push_back(segment.farther);
  if (of_stance_ > 0 && of_stance_ < std::ssize(leg_links_)) {
    const auto stance = ends(leg_links_[of_stance_ - 1]), swing = ends(leg_links_[of_stance_]);
    legs.hips = distance(&stance[3], &swing[0]);
  }
  return legs;
}

}  // namespace dodyn::dmoc
