#include "dmoc/separation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "dmoc/postures.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Term = nlp::AssembledProblem::Term;

namespace {

// (theta, a, b; size) -> a.x - b at the corners x of a shape
const Function& corner_heights(const System& system, int shape, const NodeInputs& inputs) {
  const int d = system.structure().dimension, n = system.n(), m = static_cast<int>(inputs.coordinates.size());
  return system.known_as("corners " + std::to_string(shape) + inputs.name(), [&] {
    const auto& of = shape_of(system, shape);
    return system.record_at_node_with_numbers(m + d + 1, 1,
                                              [&](const auto& tree, const std::vector<Var>& numbers,
                                                  const std::vector<Var>& z, const std::vector<Var>& extra) {
                                                using systems::operator+, systems::operator-;
                                                const std::vector<Var> q = inputs.whole(n, z.data());
                                                const auto frames = tree.frames(q.data());
                                                const auto corners = system.model().template corners<Var>(of, numbers);
                                                systems::Vector3<Var> middle{Var(0.0), Var(0.0), Var(0.0)};
                                                for (const auto& r : corners) middle = middle + r;
                                                for (Var& x : middle) x = x / static_cast<double>(corners.size());
                                                std::vector<Var> heights;
                                                for (const auto& r : corners) {
                                                  systems::Vector3<Var> at = r - middle;
                                                  for (Var& x : at) x = extra[0] * x;
                                                  const auto place =
                                                      frames[static_cast<std::size_t>(of.link)].point(middle + at);
                                                  Var height = -z[static_cast<std::size_t>(m + d)];
                                                  for (int i = 0; i < d; ++i)
                                                    height += z[static_cast<std::size_t>(m + i)] * place[i];
                                                  heights.push_back(height);
                                                }
                                                return heights;
                                              });
  });
}

const Function& square_of_length(int d) {
  const auto square = [](const auto& a, const auto&) {
    Var sum(0.0);
    for (const Var& x : a) sum += x * x;
    return std::vector<Var>{sum};
  };
  static const Function plane = autodiff::record(2, 0, square), space = autodiff::record(3, 0, square);
  return d == 2 ? plane : space;
}

// (a, a') -> a.a'
const Function& product(int d) {
  const auto dot = [](const auto& z, const auto&) {
    const std::size_t half = z.size() / 2;
    Var sum(0.0);
    for (std::size_t i = 0; i < half; ++i) sum += z[i] * z[half + i];
    return std::vector<Var>{sum};
  };
  static const Function plane = autodiff::record(4, 0, dot), space = autodiff::record(6, 0, dot);
  return d == 2 ? plane : space;
}

}  // namespace

SeparatingPlanes::SeparatingPlanes(MotionProblem& problem, std::vector<PartPair> pairs, double size)
    : pairs_(std::move(pairs)), size_(size) {
  const System& system = problem.system();
  const int d = system.structure().dimension;
  const Element unit = element(square_of_length(d), {}), along = element(product(d), {});
  auto& nlp = problem.problem();
  // Blocks of one element are grouped and evaluated together.
  struct Block {
    std::vector<int> inputs;
    std::vector<Term> terms;
  };
  std::map<std::tuple<int, int, const void*>, std::size_t> place;  // index by shape, phase and reference
  std::vector<std::pair<Element, std::vector<Block>>> grouped;
  for (int phase = 0; phase < problem.phases(); ++phase)
    for (int p = 0; p < static_cast<int>(pairs_.size()); ++p) {
      const PartPair& pair = pairs_[static_cast<std::size_t>(p)];
      std::vector<NodeInputs> of;
      for (const int s : {pair.one, pair.other}) of.push_back(inputs_of(problem, phase, {shape_of(system, s).link}));
      if (of[0].coordinates.empty() && of[1].coordinates.empty()) continue;  // neither part moves
      const int K = problem.index(phase).intervals;
      // adds the unknowns of a plane, with |a|^2 = 1
      const auto add_plane = [&](int k) {
        planes_.push_back({phase, k, p, nlp.add_variables(d, -2.0, 2.0)});
        nlp.add_variables(1, -nlp::infinity, nlp::infinity);
        variables_ += d + 1;
        std::vector<int> unknowns;
        for (int i = 0; i <= d; ++i) unknowns.push_back(planes_.back().first + i);
        nlp.add_element(unit, {unknowns.begin(), unknowns.end() - 1}, {{0, nlp.add_rows(1, 1.0, 1.0), 1.0}});
        return unknowns;
      };
      // Returns the index of the blocks for part `side` at a node.
      const auto group_of = [&](int side, int node) {
        const int shape = side == 0 ? pair.one : pair.other;
        const Reference& reference = problem.reference(phase, node);
        const auto [at, fresh] = place.try_emplace({shape, phase, reference.get()}, grouped.size());
        if (fresh)
          grouped.emplace_back(element(corner_heights(system, shape, of[static_cast<std::size_t>(side)]),
                                       problem.numbers(), {Coefficient(size)}, {reference}),
                               std::vector<Block>{});
        return at->second;
      };
      // adds the rows that keep part `side` on its side of the last plane, and returns the first of them
      const auto add_rows = [&](int side, int node, const Coefficient& margin) {
        const int count = grouped[group_of(side, node)].first->outputs;
        const int row = side == 0 ? nlp.add_rows(count, 0.5 * margin, nlp::infinity)
                                  : nlp.add_rows(count, -nlp::infinity, -0.5 * margin);
        rows_.push_back({static_cast<int>(planes_.size()) - 1, row, count});
        return row;
      };
      // adds the heights of part `side` at a node over a plane, times the weight, to rows
      const auto add_heights = [&](int side, int node, const std::vector<int>& unknowns, int row, double weight) {
        auto& [heights, blocks] = grouped[group_of(side, node)];
        Block block{of[static_cast<std::size_t>(side)].unknowns(problem, phase, node), {}};
        block.inputs.insert(block.inputs.end(), unknowns.begin(), unknowns.end());
        for (int i = 0; i < heights->outputs; ++i) block.terms.push_back({i, row + i, weight});
        blocks.push_back(std::move(block));
      };
      // adds the rows that keep part `side` at a node on its side of the last plane
      const auto add_side = [&](int side, int node, const Coefficient& margin, const std::vector<int>& unknowns) {
        add_heights(side, node, unknowns, add_rows(side, node, margin), 1.0);
      };
      if (!pair.at_nodes()) {
        for (int k = 0; k < K; ++k) {
          const std::vector<int> unknowns = add_plane(k);
          for (int side = 0; side < 2; ++side)
            for (int node = k; node <= k + 1; ++node) {
              if (node > k && of[static_cast<std::size_t>(side)].coordinates.empty()) break;  // the part stands still
              add_side(side, node, pair.margin_in(phase, k), unknowns);
            }
        }
        continue;
      }
      std::vector<int> before;
      for (int node = 0; node <= K; ++node) {
        const std::vector<int> unknowns = add_plane(node);
        Coefficient margin = pair.margin_in(phase, std::min(node, K - 1));
        if (node > 0 && pair.margin_in(phase, node - 1).value < margin.value) margin = pair.margin_in(phase, node - 1);
        for (int side = 0; side < 2; ++side) add_side(side, node, margin, unknowns);
        for (int side = 0; side < 2 && pair.affine && node > 0; ++side) {
          if (of[static_cast<std::size_t>(side)].coordinates.empty()) continue;  // heights of a still part are affine
          const int row = add_rows(side, node, pair.margin_in(phase, node - 1));
          add_heights(side, node, before, row, 0.5);
          add_heights(side, node - 1, unknowns, row, 0.5);
        }
        if (node > 0 && pair.plane_turn) {
          std::vector<int> both(before.begin(), before.end() - 1);
          both.insert(both.end(), unknowns.begin(), unknowns.end() - 1);
          nlp.add_element(along, std::move(both),
                          {{0, nlp.add_rows(1, std::cos(*pair.plane_turn), nlp::infinity), 1.0}});
        }
        before = unknowns;
      }
    }
  for (auto& [heights, blocks] : grouped)
    for (Block& block : blocks) nlp.add_element(heights, std::move(block.inputs), std::move(block.terms));
}

namespace {

template <int n>
void fill_planes(const MotionProblem& problem, const std::vector<PartPair>& pairs, const std::vector<Plane>& planes,
                 double size, VectorXd& x) {
  Postures<n> postures(problem.system(), autodiff::values_of(problem.numbers()), pairs, size);
  for (const Plane& plane : planes) {
    const PartPair& pair = pairs[static_cast<std::size_t>(plane.pair)];
    const VectorXd q = posture(problem, plane.phase, plane.interval, x);
    if (pair.at_nodes()) {
      postures.set(q, problem.reference(plane.phase, plane.interval));
      const geometry::Vector<n> a = postures.contact(pair).normal();
      x.segment<n>(plane.first) = a;
      x(plane.first + n) = 0.5 * (postures.extent(pair.one, a).first + postures.extent(pair.other, a).second);
      continue;
    }
    const VectorXd next = posture(problem, plane.phase, plane.interval + 1, x);
    const Reference &from = problem.reference(plane.phase, plane.interval),
                    &to = problem.reference(plane.phase, plane.interval + 1);
    postures.set_between(q, from, next, to, 0.5);
    const geometry::Vector<n> a = postures.contact(pair).normal();
    double low = 1e300, high = -1e300;
    for (const bool end : {false, true}) {
      postures.set(end ? next : q, end ? to : from);
      low = std::min(low, postures.extent(pair.one, a).first);
      high = std::max(high, postures.extent(pair.other, a).second);
    }
    x.segment<n>(plane.first) = a;
    x(plane.first + n) = 0.5 * (low + high);
  }
}

template <int n>
std::vector<double> gaps_in(const System& system, const std::vector<double>& numbers, const Reference& reference,
                            const VectorXd& q, const std::vector<PartPair>& pairs) {
  Postures<n> postures(system, numbers, pairs, 1.0);
  postures.set(q, reference);
  std::vector<double> all;
  for (const PartPair& pair : pairs) all.push_back(postures.separation(pair).gap);
  return all;
}

}  // namespace

void SeparatingPlanes::fill(const MotionProblem& problem, VectorXd& x) const {
  if (planes_.empty()) return;
  if (problem.system().structure().dimension == 2)
    fill_planes<2>(problem, pairs_, planes_, size_, x);
  else
    fill_planes<3>(problem, pairs_, planes_, size_, x);
}

std::vector<double> gaps(const System& system, const std::vector<double>& numbers, const Reference& reference,
                         const VectorXd& q, const std::vector<PartPair>& pairs) {
  return system.structure().dimension == 2 ? gaps_in<2>(system, numbers, reference, q, pairs)
                                           : gaps_in<3>(system, numbers, reference, q, pairs);
}

std::string part_name(const System& system, int shape) {
  const auto& of = shape_of(system, shape);
  const std::string& link = system.structure().links[static_cast<std::size_t>(of.link)].name;
  return of.name == link ? link : of.name + " of " + link;
}

}  // namespace dodyn::dmoc
