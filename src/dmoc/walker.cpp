#include "dmoc/walker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Tree;

namespace {

Coefficient distance(const Coefficient* a, const Coefficient* b) {
  Coefficient square(0.0);
  for (int i = 0; i < 3; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return square.value > 0.0 ? sqrt(square) : Coefficient(0.0);
}

// The ends of two links that keep their distance whatever the posture, see Walker::Links.
Walker::Links joined(const Tree<Coefficient>& design, int one, int other) {
  Walker::Links links;
  const auto ends = [&](double bend) {
    std::vector<Coefficient> q(static_cast<std::size_t>(design.n()), 0.0);
    for (int i = design.dimension; i < design.n(); ++i) q[static_cast<std::size_t>(i)] = bend * std::sin(1.0 + i);
    return design.segments(q.data(), one, other);
  };
  const auto straight = ends(0.0), bent = ends(0.5), back = ends(-0.8);
  for (const int a : {0, 1})
    for (const int b : {0, 1}) {
      const auto gap = [&](const auto& p) { return distance(&p[3 * a], &p[6 + 3 * b]); };
      if (std::abs(gap(bent).value - gap(straight).value) > 1e-9 ||
          std::abs(gap(back).value - gap(straight).value) > 1e-9 || gap(straight).value >= links.gap.value)
        continue;
      links.joint = a;
      links.other_joint = b;
      links.gap = gap(straight);
    }
  const std::vector<Coefficient> foot(3, 0.0);
  links.height = distance(foot.data(), &straight[3 * links.joint]);
  links.length = distance(&straight[0], &straight[3]);
  links.other_length = distance(&straight[6], &straight[9]);
  return links;
}

}  // namespace

std::vector<int> Walker::feet() const {
  std::vector<int> held(static_cast<std::size_t>(base));
  std::iota(held.begin(), held.end(), 0);
  return held;
}

Walker::Walker(systems::Model model) {
  if (model.structure.swing_link < 0) model.fail(0, "has no swing-foot in [model], which a gait needs");
  system = std::make_shared<System>(std::move(model));
  const auto& tree = system->structure();
  base = tree.dimension;
  joints = tree.n() - base;
  coordinate_names = tree.coordinate_names;
  const std::array<std::string, 3> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < base; ++i)
      point_names.push_back((p == 0 ? "foot" : tree.links[p - 1].name + "_end") + letters[static_cast<std::size_t>(i)]);
  for (const auto& link : tree.links) {
    if (std::all_of(link.end.begin(), link.end.end(), [](const auto& x) { return x.is_zero(); })) continue;
    joined_points.push_back(link.parent < 0 ? "foot" : tree.links[static_cast<std::size_t>(link.parent)].name + "_end");
    joined_points.push_back(link.name + "_end");
  }
  for (const auto& actuator : tree.actuators) input_names.push_back(actuator.name);
  for (const auto& knee : tree.knees) knees.push_back({knee.coordinate - base, knee.flexion});
  spread.assign(static_cast<std::size_t>(joints), 1.0);
  if (base == 3)
    for (const auto& link : tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i)
        if (link.first + static_cast<int>(i) >= base && link.moves[i].axis != 1)
          spread[static_cast<std::size_t>(link.first - base) + i] = 0.2;  // mostly in the sagittal plane

  // the swing leg: what leads up from the swing foot to where its partners begin
  swing_.assign(tree.links.size(), false);
  for (int l = tree.swing_link; l >= 0 && tree.links[static_cast<std::size_t>(l)].partner != l &&
                                !swing_[static_cast<std::size_t>(tree.links[static_cast<std::size_t>(l)].partner)];
       l = tree.links[static_cast<std::size_t>(l)].parent)
    swing_[static_cast<std::size_t>(l)] = true;
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const auto& link = tree.links[l];
    const bool solid = std::any_of(link.end.begin(), link.end.end(), [](const auto& x) { return !x.is_zero(); });
    if (solid && (swing_[l] || (link.partner >= 0 && swing_[static_cast<std::size_t>(link.partner)])))
      leg_links_.push_back(static_cast<int>(l));
  }

  // The foot at the origin (or at rest), joints from there on.
  const auto pinned = [b = base](const auto* joint, int count) {
    using T = std::decay_t<decltype(*joint)>;
    std::vector<T> q(static_cast<std::size_t>(b), T(0.0));
    q.insert(q.end(), joint, joint + count);
    return q;
  };
  const int j = joints;
  swing_height = system->record(j, 0, [&](const auto& t, const auto& z, const auto&) {
    return std::vector<Var>{t.swing_foot(pinned(z.data(), j).data())[static_cast<std::size_t>(base) - 1]};
  });
  height = system->record(2 * j, 1, [&](const auto& t, const auto& z, const auto& s) {
    std::vector<Var> theta;
    for (std::size_t i = 0; i < static_cast<std::size_t>(j); ++i)
      theta.push_back((1.0 - s[0]) * z[i] + s[0] * z[static_cast<std::size_t>(j) + i]);
    return std::vector<Var>{t.swing_foot(pinned(theta.data(), j).data())[static_cast<std::size_t>(base) - 1]};
  });
  exchanged = system->record(
      j, 0, [&](const auto& t, const auto& z, const auto&) { return t.exchange_legs(pinned(z.data(), j).data()); });
  exchanged_momentum = system->record(2 * j, 0, [&](const auto& t, const auto& z, const auto&) {
    std::vector<autodiff::Dual<Var>> moving(static_cast<std::size_t>(base));
    for (std::size_t i = 0; i < static_cast<std::size_t>(j); ++i)
      moving.emplace_back(z[i], z[static_cast<std::size_t>(j) + i]);
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
}

std::vector<Walker::Links> Walker::pairs(const Tree<Coefficient>& design) const {
  std::vector<Links> all;
  for (std::size_t i = 0; i < leg_links_.size(); ++i)
    for (std::size_t j = 0; j < leg_links_.size(); ++j) {
      if (swing_[static_cast<std::size_t>(leg_links_[i])] || !swing_[static_cast<std::size_t>(leg_links_[j])]) continue;
      all.push_back(joined(design, leg_links_[i], leg_links_[j]));
      all.back().one = static_cast<int>(i);
      all.back().other = static_cast<int>(j);
    }
  if (base == 2) std::erase_if(all, [](const Links& links) { return links.share_a_joint(); });
  return all;
}

}  // namespace dodyn::dmoc
