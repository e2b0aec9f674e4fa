#include <algorithm>
#include <cmath>

#include "systems/model.hpp"

namespace dodyn::systems {

void check_legs(const Model& model) {
  const auto& structure = model.structure;
  const auto& link_lines = model.link_lines;
  const auto& links = structure.links;
  const std::size_t d = model.dimension;
  const auto roots = std::ranges::count_if(links, [](const auto& l) { return l.parent < 0 && !l.moves.empty(); });
  if (roots != 1)
    model.fail(model.swing_line,
               "a model with a swing-foot has one link on the ground that moves, not " + std::to_string(roots));
  for (std::size_t i = 0; i < links[0].moves.size() || i < d; ++i) {
    const bool slide = i < links[0].moves.size() && links[0].moves[i] == Move{Move::slide, static_cast<int>(i)};
    if (slide != (i < d))
      model.fail(model.swing_line,
                 "a model with a swing-foot stands on a point: the joint of its first link must be point + turns, such "
                 "as point + revolute");
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!links[i].axes.empty())
      model.fail(link_lines[i],
                 "link " + links[i].name +
                     " turns or slides along an axis of its own; a model with a swing-foot allows only x, y, z");
    if (structure.carrier(i) < 0) continue;  // fixed to the ground, such as a floor
    const int j = links[i].counterpart;
    if (j < 0 || links[j].counterpart != static_cast<int>(i))
      model.fail(link_lines[i],
                 "link " + links[i].name +
                     " needs a counterpart that names it as its counterpart, for the exchange of the legs");
  }
  if (links[structure.swing_link].counterpart != 0)
    model.fail(model.swing_line, "swing-foot = " + links[structure.swing_link].name +
                                     " must be the counterpart of the first link, " + links[0].name);
  for (std::size_t i = 0; i < links.size(); ++i) {  // finds the link whose joint, traversed in the other direction,
                                                    // becomes the joint of link i
    const int k = links[i].parent < 0 ? -1 : links[links[i].parent].counterpart;
    if (k >= 0 && links[k].parent == links[i].counterpart && links[i].moves.size() == 1 && links[k].moves.size() != 1)
      model.fail(link_lines[i], "exchanging the legs does not put a joint in the place of that of " + links[i].name +
                                    "; counterparts must agree in length, mass, centre, inertia and joint");
  }
  const auto any = structure.mapped<double>([](const Number&) { return 1.0; });
  const std::vector<double> q(any.n(), 0.3);
  if (static_cast<int>(any.exchange_legs(q.data()).size()) != any.n())
    model.fail(model.swing_line,
               "the legs cannot be exchanged: except at the root, a slide must be a joint of its own, and there must "
               "be the same joint between the counterparts");
}

// Compares the exchanged legs numerically, at a test posture.
void check_walker(const Model& model, const Tree<double>& tree) {
  check_legs(model);
  const auto& links = tree.links;
  const auto stands = [&](std::size_t i) { return tree.carrier(i) < 0; };  // fixed to the ground, such as a floor
  const auto is_turn = [&](int coordinate) {
    std::size_t l = links.size() - 1;
    while (links[l].first > coordinate || links[l].moves.empty()) --l;
    return links[l].moves[coordinate - links[l].first].kind == Move::turn;
  };
  std::vector<double> q(tree.n()), v(tree.n());
  for (int i = 0; i < tree.n(); ++i) {
    q[i] = 0.3 * std::sin(1.0 + 2.7 * i);
    v[i] = std::cos(0.4 + 1.9 * i);
    if (is_turn(i)) q[i] = std::abs(q[i]);  // Euler angles: the middle one is positive
  }
  std::vector<autodiff::Dual<double>> moving(tree.n());
  for (int i = 0; i < tree.n(); ++i) moving[i] = {q[i], v[i]};
  const auto exchanged = tree.exchange_legs(moving.data());
  std::vector<double> q_new, v_new;
  for (const auto& x : exchanged) {
    q_new.push_back(x.value);
    v_new.push_back(x.tangent);
  }
  const auto before = tree.frames(q.data()), after = tree.frames(q_new.data());
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (stands(i)) continue;
    const auto& counterpart = tree.links[links[i].counterpart];
    const auto one = after[i].point(tree.links[i].centre),
               other = before[links[i].counterpart].point(counterpart.centre);
    double miss = 0.0;
    if (tree.links[i].mass > 0.0)
      for (int a = 0; a < 3; ++a) miss = std::max(miss, std::abs(one[a] - tree.mirror(a) * other[a]));
    for (int a = 0; a < 3; ++a) miss = std::max(miss, std::abs(tree.links[i].inertia[a] - counterpart.inertia[a]));
    miss = std::max(miss, std::abs(tree.links[i].mass - counterpart.mass));
    if (miss > 1e-9)
      model.fail(model.link_lines[i], "exchanging the legs does not put link " + counterpart.name +
                                          " in the place of " + links[i].name +
                                          "; counterparts must agree in length, mass, centre, inertia and joint");
  }
  const double L = tree.lagrangian(q.data(), v.data()), L_new = tree.lagrangian(q_new.data(), v_new.data());
  if (std::abs(L - L_new) > 1e-9 * (1.0 + std::abs(L)))
    model.fail(model.swing_line,
               "exchanging the legs changes the energy; counterparts must agree in their joints, inertia and springs");
}

}  // namespace dodyn::systems
