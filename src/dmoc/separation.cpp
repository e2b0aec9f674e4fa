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
  const int d = system.structure().dimension, n = system.n(), m = inputs.coordinates.size();
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
                                                  const auto place = frames[of.link].point(middle + at);
                                                  Var height = -z[m + d];
                                                  for (int i = 0; i < d; ++i) height += z[m + i] * place[i];
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

// Adds the planes of a pair in a phase, and the rows that keep its parts on their sides.
class PairInPhase {
 public:
  // Elements that the planes share. Blocks of one element are evaluated together.
  class Shared {
   public:
    struct Block {
      std::vector<int> inputs;
      std::vector<Term> terms;
    };
    explicit Shared(int dimension)
        : square_of_normal(element(square_of_length(dimension), {})),
          product_of_normals(element(product(dimension), {})) {}
    const Element square_of_normal, product_of_normals;
    // Returns the element of the heights of a shape's corners at a node, and its blocks. `inputs`: coordinates that
    // move the shape's link in the phase.
    std::pair<Element, std::vector<Block>>& heights(const MotionProblem& problem, int phase, int node, int shape,
                                                    const NodeInputs& inputs, double size) {
      const Reference& reference = problem.reference(phase, node);
      const auto [at, is_new] = place_.try_emplace({shape, phase, reference.get()}, grouped_.size());
      if (is_new)
        grouped_.emplace_back(element(corner_heights(problem.system(), shape, inputs), problem.numbers(),
                                      {Coefficient(size)}, {reference}),
                              std::vector<Block>{});
      return grouped_[at->second];
    }
    void add_to(nlp::AssembledProblem& nlp) {
      for (auto& [corners, blocks] : grouped_)
        for (Block& block : blocks) nlp.add_element(corners, std::move(block.inputs), std::move(block.terms));
    }

   private:
    std::map<std::tuple<int, int, const void*>, std::size_t> place_;  // index by shape, phase and reference
    std::vector<std::pair<Element, std::vector<Block>>> grouped_;
  };

  PairInPhase(MotionProblem& problem, int phase, const PartPair& pair, int number, double size, Shared& shared,
              std::vector<Plane>& planes, std::vector<SeparatingPlanes::Rows>& rows)
      : problem_(problem),
        nlp_(problem.problem()),
        pair_(pair),
        shared_(shared),
        planes_(planes),
        rows_(rows),
        phase_(phase),
        number_(number),
        dimension_(problem.system().structure().dimension),
        size_(size) {
    for (const int shape : {pair.one, pair.other})
      sides_.push_back({shape, inputs_of(problem, phase, {shape_of(problem.system(), shape).link})});
  }

  void add() {
    if (!sides_[0].moves() && !sides_[1].moves()) return;
    if (pair_.at_nodes())
      add_planes_of_nodes();
    else
      add_planes_of_intervals();
  }

 private:
  struct Side {
    int shape;
    NodeInputs inputs;
    bool moves() const { return !inputs.coordinates.empty(); }
  };
  using Unknowns = std::vector<int>;  // indices of the unknowns of a plane: normal, offset

  void add_planes_of_intervals() {
    for (int k = 0; k < problem_.index(phase_).intervals; ++k) {
      const Unknowns plane = add_plane(k);
      for (std::size_t side = 0; side < 2; ++side)
        for (int node = k; node <= k + 1; ++node) {
          if (node > k && !sides_[side].moves()) break;
          add_heights(side, node, plane, add_rows(side, node, pair_.margin_in(phase_, k)), 1.0);
        }
    }
  }
  void add_planes_of_nodes() {
    const int K = problem_.index(phase_).intervals;
    Unknowns before;
    for (int node = 0; node <= K; ++node) {
      const Unknowns plane = add_plane(node);
      Coefficient margin = pair_.margin_in(phase_, std::min(node, K - 1));
      if (node > 0 && pair_.margin_in(phase_, node - 1).value < margin.value)
        margin = pair_.margin_in(phase_, node - 1);
      for (std::size_t side = 0; side < 2; ++side) add_heights(side, node, plane, add_rows(side, node, margin), 1.0);
      if (node > 0 && pair_.affine) add_middle_coefficients(node, before, plane);
      if (node > 0 && pair_.plane_turn) limit_turn(before, plane);
      before = plane;
    }
  }
  // Adds the rows of the second Bernstein coefficients of the interval before a node. A part that does not move needs
  // no such row, because its heights are affine in time.
  void add_middle_coefficients(int node, const Unknowns& before, const Unknowns& plane) {
    for (std::size_t side = 0; side < 2; ++side) {
      if (!sides_[side].moves()) continue;
      const int row = add_rows(side, node, pair_.margin_in(phase_, node - 1));
      add_heights(side, node, before, row, 0.5);
      add_heights(side, node - 1, plane, row, 0.5);
    }
  }
  void limit_turn(const Unknowns& before, const Unknowns& plane) {
    std::vector<int> both(before.begin(), before.end() - 1);
    both.insert(both.end(), plane.begin(), plane.end() - 1);
    nlp_.add_element(shared_.product_of_normals, std::move(both),
                     {{0, nlp_.add_rows(1, std::cos(*pair_.plane_turn), nlp::infinity), 1.0}});
  }

  // Adds the unknowns of a plane, with |a|^2 = 1.
  Unknowns add_plane(int k) {
    planes_.push_back({phase_, k, number_, nlp_.add_variables(dimension_, -2.0, 2.0)});
    nlp_.add_variables(1, -nlp::infinity, nlp::infinity);
    Unknowns plane;
    for (int i = 0; i <= dimension_; ++i) plane.push_back(planes_.back().first + i);
    nlp_.add_element(shared_.square_of_normal, {plane.begin(), plane.end() - 1},
                     {{0, nlp_.add_rows(1, 1.0, 1.0), 1.0}});
    return plane;
  }
  auto& heights_at(std::size_t side, int node) {
    return shared_.heights(problem_, phase_, node, sides_[side].shape, sides_[side].inputs, size_);
  }
  // Adds rows that keep a part on its side of the last plane. Returns the index of the first row.
  int add_rows(std::size_t side, int node, const Coefficient& margin) {
    const int count = heights_at(side, node).first->outputs;
    const int row = side == 0 ? nlp_.add_rows(count, 0.5 * margin, nlp::infinity)
                              : nlp_.add_rows(count, -nlp::infinity, -0.5 * margin);
    rows_.push_back({static_cast<int>(planes_.size()) - 1, row, count});
    return row;
  }
  // Adds the heights of a part at a node above a plane, times `weight`, to the rows from `row` on.
  void add_heights(std::size_t side, int node, const Unknowns& plane, int row, double weight) {
    auto& [heights, blocks] = heights_at(side, node);
    Shared::Block block{sides_[side].inputs.unknowns(problem_, phase_, node), {}};
    block.inputs.insert(block.inputs.end(), plane.begin(), plane.end());
    for (int i = 0; i < heights->outputs; ++i) block.terms.push_back({i, row + i, weight});
    blocks.push_back(std::move(block));
  }

  MotionProblem& problem_;
  nlp::AssembledProblem& nlp_;
  const PartPair& pair_;
  Shared& shared_;
  std::vector<Plane>& planes_;
  std::vector<SeparatingPlanes::Rows>& rows_;
  std::vector<Side> sides_;
  int phase_, number_, dimension_;
  double size_;
};

}  // namespace

SeparatingPlanes::SeparatingPlanes(MotionProblem& problem, std::vector<PartPair> pairs, double size)
    : pairs_(std::move(pairs)), size_(size) {
  const int dimension = problem.system().structure().dimension;
  PairInPhase::Shared shared(dimension);
  for (int phase = 0; phase < problem.phases(); ++phase)
    for (int number = 0; number < std::ssize(pairs_); ++number)
      PairInPhase(problem, phase, pairs_[number], number, size, shared, planes_, rows_).add();
  variables_ = std::ssize(planes_) * (dimension + 1);
  shared.add_to(problem.problem());
}

namespace {

template <int n>
void fill_planes(const MotionProblem& problem, const std::vector<PartPair>& pairs, const std::vector<Plane>& planes,
                 double size, VectorXd& x) {
  Postures<n> postures(problem.system(), autodiff::values_of(problem.numbers()), pairs, size);
  for (const Plane& plane : planes) {
    const PartPair& pair = pairs[plane.pair];
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
  const std::string& link = system.structure().links[of.link].name;
  return of.name == link ? link : of.name + " of " + link;
}

}  // namespace dodyn::dmoc
