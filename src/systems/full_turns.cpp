#include "systems/full_turns.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace dodyn::systems {
namespace {

constexpr double full = 2.0 * std::numbers::pi;

void for_each_turn(const Tree<double>& tree, auto&& visit) {
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i)
      if (link.moves[i].kind == Move::turn) visit(link.first + static_cast<int>(i));
}

// Returns the energy, the forces on coordinates and at places, with controls of 1, and how far coordinates are beyond
// their ranges.
std::vector<double> effects(const Tree<double>& tree, const std::vector<double>& q, const std::vector<double>& v) {
  const auto frames = tree.frames<double>(q.data(), v.data());
  const std::vector<double> u(tree.actuators.size(), 1.0);
  std::vector<double> all = {tree.potential_energy<double>(frames, q.data())};
  const auto applied = tree.applied<double>(frames, q.data(), v.data(), u.data());
  all.insert(all.end(), applied.generalised.begin(), applied.generalised.end());
  for (const auto& push : applied.pushes)
    for (const auto* part : {&push.force, &push.torque}) all.insert(all.end(), part->begin(), part->end());
  for (const auto& range : tree.ranges) {
    const double x = q[range.coordinate];
    all.push_back(std::max(0.0, range.to ? x - *range.to : 0.0) - std::max(0.0, range.from ? *range.from - x : 0.0));
  }
  return all;
}

}  // namespace

void add_full_turns(const Tree<double>& tree, std::vector<double>& q, std::span<const double> near) {
  for_each_turn(tree, [&](int k) { q[k] += full * std::round((near[k] - q[k]) / full); });
}

std::string misread_angle(const Tree<double>& tree, const std::vector<double>& q, const std::vector<double>& v) {
  constexpr double rounding = 1e-9;
  int beyond = -1;
  std::vector<double> seen = q;
  for_each_turn(tree, [&](int k) {
    const double turns = std::round(q[k] / full);
    if (turns == 0.0) return;
    seen[k] -= full * turns;
    beyond = k;
  });
  if (beyond < 0) return "";
  const auto here = effects(tree, q, v), there = effects(tree, seen, v);
  const auto agree = [](double a, double b) { return std::abs(a - b) <= rounding * (1.0 + std::abs(a)); };
  if (std::ranges::equal(here, there, agree)) return "";
  return "the angle " + tree.coordinate_names[beyond] +
         " is beyond half a turn, where contact simulations do not have its springs, ranges, forces and energies; use "
         "the evaluator hybrid";
}

bool has_forces_of_turns(const Tree<double>& tree) {
  std::vector<bool> turns(tree.n(), false);
  for_each_turn(tree, [&](int k) { turns[k] = true; });
  const auto uses_turn = [&](const Formula<double>& formula) {
    return std::ranges::any_of(formula.arguments, [&](const auto& argument) {
      const Variable& variable = argument.variable;
      return variable.kind == Variable::angle || (variable.kind == Variable::coordinate && turns[variable.index]);
    });
  };
  return std::ranges::any_of(tree.springs, [&](const auto& s) { return s.coordinate >= 0 && turns[s.coordinate]; }) ||
         std::ranges::any_of(tree.ranges, [&](const auto& r) { return (r.from || r.to) && turns[r.coordinate]; }) ||
         std::ranges::any_of(tree.potentials, [&](const auto& p) { return uses_turn(p.energy); }) ||
         std::ranges::any_of(tree.loads, [&](const auto& l) { return std::ranges::any_of(l.components, uses_turn); });
}

}  // namespace dodyn::systems
