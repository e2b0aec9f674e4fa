#include "dmoc/walker.hpp"

#include <cmath>
#include <stdexcept>

namespace dodyn::dmoc {

using autodiff::Dual;
using autodiff::Graph;
using autodiff::Program;
using autodiff::RecordedFunction;
using autodiff::Recording;
using autodiff::Var;
using systems::Tree;

namespace {

// Midpoint rule (3.1.1): h L((q0 + q1)/2, (q1 - q0)/h).
template <class P, class T, class H>
T discrete_lagrangian(const Tree<P>& tree, const H& h, const std::vector<T>& q0, const std::vector<T>& q1) {
  std::vector<T> middle, velocity;
  const H per_h = 1.0 / h;
  for (std::size_t i = 0; i < q0.size(); ++i) {
    middle.push_back(0.5 * (q0[i] + q1[i]));
    velocity.push_back((q1[i] - q0[i]) * per_h);
  }
  return h * tree.lagrangian(middle.data(), velocity.data());
}

// variational::ActionElement for a tree, recorded for any h. A combination of slot derivatives with weights w is the
// derivative of L_d in the direction w, so its Hessian is the derivative of L_d's Hessian in that direction.
std::shared_ptr<const RecordedFunction> recorded_action(const Tree<double>& tree) {
  const int n = tree.n(), base = tree.dimension, joints = n - base;
  Recording recording;
  Graph& graph = recording.graph;
  // inputs: the joints at both ends, h, weights for all slots, and the foot at both ends, which rests at zero
  std::vector<Var> q0(n), q1(n);
  for (auto* q : {&q0, &q1})
    for (int i = base; i < n; ++i) (*q)[i] = Var::input();
  const Var h = Var::input();
  std::vector<int> slots, weights;
  for (int i = 0; i < 2 * n; ++i) weights.push_back(graph.input());
  for (auto* q : {&q0, &q1})
    for (int i = 0; i < base; ++i) (*q)[i] = Var::input();
  for (const auto* q : {&q0, &q1})
    for (const Var& x : *q) slots.push_back(x.node);

  const int action = discrete_lagrangian(tree, h, q0, q1).node;
  Program values(graph, graph.gradient(action, slots), 2 * joints + 1);
  const auto differentiate = [graph = std::move(graph), action, slots, weights, n, base, joints]() mutable {
    const std::vector<int> hessian = graph.differentiate(action, slots).hessian;
    const auto second = [&](int i, int j) {
      return hessian[std::max(i, j) * (std::max(i, j) + 1) / 2 + std::min(i, j)];
    };
    const auto joint = [&](int i) { return i < joints ? base + i : n + base + i - joints; };
    std::vector<int> derivatives, of_joints;
    for (int slot = 0; slot < 2 * n; ++slot)
      for (int i = 0; i < 2 * joints; ++i) derivatives.push_back(second(slot, joint(i)));
    for (int i = 0; i < 2 * joints; ++i)
      for (int j = 0; j <= i; ++j) of_joints.push_back(second(joint(i), joint(j)));
    Program jacobian(graph, derivatives, 2 * joints + 1);
    const std::vector<int> moved = graph.directional(of_joints, slots, weights);
    derivatives.insert(derivatives.end(), moved.begin(), moved.end());
    return RecordedFunction::Derivatives{std::move(jacobian), Program(graph, derivatives, 2 * joints + 1 + 2 * n)};
  };
  return std::make_shared<RecordedFunction>(2 * joints, 1, 2 * n, std::move(values), differentiate);
}

Walker::Function action(std::shared_ptr<const RecordedFunction> recorded, const Tree<Coefficient>& design,
                        Coefficient h) {
  const int n = design.n(), base = design.dimension, joints = n - base;
  const auto design_derivative = [design, h, n, base, joints](const double* at, const double* weights) {
    std::vector<Dual<Dual<double>>> q0(n), q1(n);
    for (int i = 0; i < n; ++i) {
      if (i >= base) {
        q0[i].value = at[i - base];
        q1[i].value = at[joints + i - base];
      }
      q0[i].tangent = weights[i];
      q1[i].tangent = weights[n + i];
    }
    return discrete_lagrangian(design, h, q0, q1).tangent.tangent;
  };
  return std::make_shared<autodiff::RecordedElement>(std::move(recorded), std::vector<double>{h.value},
                                                     design_derivative);
}

Coefficient distance(const Coefficient* a, const Coefficient* b) {
  Coefficient square(0.0);
  for (int i = 0; i < 3; ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
  return square.value > 0.0 ? sqrt(square) : Coefficient(0.0);
}

// The ends of two links that keep their distance whatever the posture, see Walker::Links.
Walker::Links joined(const Tree<Coefficient>& design, int one, int other) {
  Walker::Links links;
  const auto ends = [&](double bend) {
    std::vector<Coefficient> q(design.n(), 0.0);
    for (int i = design.dimension; i < design.n(); ++i) q[i] = bend * std::sin(1.0 + i);
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

Walker walker(const Tree<Coefficient>& design) {
  if (design.swing_link < 0) throw std::invalid_argument(design.name + " has no swing foot");
  const Tree<double> tree = design.plain();
  Walker w;
  w.base = tree.dimension;
  w.joints = tree.n() - w.base;
  w.coordinate_names = tree.coordinate_names;
  const std::array<std::string, 3> letters = {"_x", "_y", "_z"};
  for (std::size_t p = 0; p <= tree.links.size(); ++p)
    for (int i = 0; i < w.base; ++i)
      w.point_names.push_back((p == 0 ? "foot" : tree.links[p - 1].name + "_end") + letters[i]);
  for (const auto& actuator : tree.actuators) {
    w.input_names.push_back(actuator.name);
    w.input_joints.push_back(actuator.coordinate - w.base);
  }
  for (const auto& knee : tree.knees) w.knees.push_back({knee.coordinate - w.base, knee.flexion});
  w.spread.assign(w.joints, 1.0);
  if (w.base == 3)
    for (const auto& link : tree.links)
      for (std::size_t i = 0; i < link.moves.size(); ++i)
        if (link.first + static_cast<int>(i) >= w.base && link.moves[i].axis != 1)
          w.spread[link.first + i - w.base] = 0.2;  // mostly in the sagittal plane
  w.weight = design.weight();
  w.touch_down = [tree](const std::vector<double>& step) { return tree.touch_down(step); };
  w.action = [recorded = recorded_action(tree), design](Coefficient h) { return action(recorded, design, h); };

  // Pairs of links, one of the stance leg, one of the swing leg (what leads up from the swing foot to where its
  // partners begin).
  std::vector<bool> swing(tree.links.size(), false);
  for (int l = tree.swing_link; l >= 0 && tree.links[l].partner != l && !swing[tree.links[l].partner];
       l = tree.links[l].parent)
    swing[l] = true;
  std::vector<int> leg_links;
  const auto solid = [&](int l) { return tree.links[l].end != std::array<double, 3>{}; };
  for (int l = 0; l < static_cast<int>(tree.links.size()); ++l)
    if ((swing[l] || swing[tree.links[l].partner]) && solid(l)) leg_links.push_back(l);
  walking::record_functions(w, tree, design, leg_links);
  for (int i = 0; i < static_cast<int>(leg_links.size()); ++i)
    for (int j = 0; j < static_cast<int>(leg_links.size()); ++j) {
      if (swing[leg_links[i]] || !swing[leg_links[j]]) continue;
      w.pairs.push_back(joined(design, leg_links[i], leg_links[j]));
      w.pairs.back().one = i;
      w.pairs.back().other = j;
    }
  if (w.base == 2) std::erase_if(w.pairs, [](const Walker::Links& links) { return links.share_a_joint(); });
  return w;
}

}  // namespace dodyn::dmoc
