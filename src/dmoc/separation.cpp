#include "dmoc/separation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "dmoc/attitudes.hpp"
#include "geometry/hyperplanes.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using Term = nlp::AssembledProblem::Term;

namespace {

const systems::Shape& shape_of(const System& system, int shape) {
  return system.model().shapes[static_cast<std::size_t>(shape)];
}

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

}  // namespace

SeparatingPlanes::SeparatingPlanes(MotionProblem& problem, std::vector<PartPair> pairs, double size)
    : pairs_(std::move(pairs)), size_(size) {
  const System& system = problem.system();
  const int d = system.structure().dimension;
  const Element unit = element(square_of_length(d), {});
  auto& nlp = problem.problem();
  // Blocks of one element stand together: they are evaluated several at a time.
  struct Block {
    std::vector<int> inputs;
    std::vector<Term> terms;
  };
  std::map<std::tuple<int, int, const void*>, std::size_t> place;  // by shape, phase and reference
  std::vector<std::pair<Element, std::vector<Block>>> grouped;
  for (int phase = 0; phase < problem.phases(); ++phase)
    for (int p = 0; p < static_cast<int>(pairs_.size()); ++p) {
      const PartPair& pair = pairs_[static_cast<std::size_t>(p)];
      std::vector<NodeInputs> of;
      for (const int s : {pair.one, pair.other}) of.push_back(inputs_of(problem, phase, {shape_of(system, s).link}));
      if (of[0].coordinates.empty() && of[1].coordinates.empty()) continue;  // neither moves
      for (int k = 0; k < problem.index(phase).intervals; ++k) {
        Coefficient margin = pair.margin;
        for (const auto& [where, nearer] : pair.nearer)
          if (where == std::pair{phase, k}) margin = nearer;
        const int plane = static_cast<int>(planes_.size());
        planes_.push_back({phase, k, p, nlp.add_variables(d, -2.0, 2.0)});
        nlp.add_variables(1, -nlp::infinity, nlp::infinity);
        variables_ += d + 1;
        std::vector<int> unknowns;
        for (int i = 0; i <= d; ++i) unknowns.push_back(planes_.back().first + i);
        nlp.add_element(unit, {unknowns.begin(), unknowns.end() - 1}, {{0, nlp.add_rows(1, 1.0, 1.0), 1.0}});
        for (int side = 0; side < 2; ++side) {
          const int shape = side == 0 ? pair.one : pair.other;
          const NodeInputs& inputs = of[static_cast<std::size_t>(side)];
          for (int node = k; node <= k + 1; ++node) {
            if (node > k && inputs.coordinates.empty()) break;  // it stands still
            const Reference& reference = problem.reference(phase, node);
            const auto [at, fresh] = place.try_emplace({shape, phase, reference.get()}, grouped.size());
            if (fresh)
              grouped.emplace_back(
                  element(corner_heights(system, shape, inputs), problem.numbers(), {Coefficient(size)}, {reference}),
                  std::vector<Block>{});
            auto& [heights, blocks] = grouped[at->second];
            const int count = heights->outputs;
            const int row = side == 0 ? nlp.add_rows(count, 0.5 * margin, nlp::infinity)
                                      : nlp.add_rows(count, -nlp::infinity, -0.5 * margin);
            rows_.push_back({plane, row, count});
            Block block{inputs.unknowns(problem, phase, node), {}};
            block.inputs.insert(block.inputs.end(), unknowns.begin(), unknowns.end());
            for (int i = 0; i < count; ++i) block.terms.push_back({i, row + i, 1.0});
            blocks.push_back(std::move(block));
          }
        }
      }
    }
  for (auto& [heights, blocks] : grouped)
    for (Block& block : blocks) nlp.add_element(heights, std::move(block.inputs), std::move(block.terms));
}

namespace {

template <int n>
using Parts = std::vector<std::pair<int, geometry::Polytope<n>>>;  // by shape: its link and where it is in that

template <int n>
class Postures {
 public:
  Postures(const System& system, const std::vector<double>& numbers, const std::vector<PartPair>& pairs, double size)
      : system_(&system), tree_(system.model().tree<double>(numbers)), attitudes_(system) {
    for (const PartPair& pair : pairs)
      for (const int shape : {pair.one, pair.other}) {
        if (parts_.contains(shape)) continue;
        std::vector<geometry::Vector<n>> corners;
        geometry::Vector<n> middle = geometry::Vector<n>::Zero();
        for (const auto& r : system.model().corners(shape_of(system, shape), numbers)) {
          geometry::Vector<n> x;
          for (int i = 0; i < n; ++i) x(i) = r[static_cast<std::size_t>(i)];
          corners.push_back(x);
          middle += x;
        }
        middle /= static_cast<double>(corners.size());
        for (auto& x : corners) x = middle + size * (x - middle);
        parts_.emplace(shape, geometry::Polytope<n>(corners, part_name(system, shape)));
      }
  }

  void set(const VectorXd& q, const Reference& reference) {
    system_->refer(tree_, autodiff::values_of(*reference).data());
    const auto at = tree_.frames(q.data());
    frames_.resize(at.size());
    for (std::size_t l = 0; l < at.size(); ++l)
      for (int i = 0; i < n; ++i) {
        frames_[l].position(i) = at[l].origin[static_cast<std::size_t>(i)];
        for (int j = 0; j < n; ++j)
          frames_[l].directors(i, j) = at[l].rotation[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      }
  }
  void set_between(const VectorXd& q, const Reference& from, const VectorXd& next, const Reference& to, double s) {
    set(attitudes_.between(q, from, next, to, s), from);
  }

  geometry::Contact<n> contact(const PartPair& pair) {
    geometry::Contact<n> c;
    geometry::find_contact(part(pair.one), frame(pair.one), part(pair.other), frame(pair.other),
                           bases_[{pair.one, pair.other}], c);
    return c;
  }
  // Euclidean where they are apart; minus the overlap along the normal otherwise.
  double gap(const PartPair& pair) {
    auto& basis = bases_[{pair.one, pair.other}];
    const auto away =
        geometry::find_distance(part(pair.one), frame(pair.one), part(pair.other), frame(pair.other), basis);
    return away.distance > 0.0 ? away.distance : -contact(pair).normal_gap();
  }
  // Lowest and highest corner of a part in a direction.
  std::pair<double, double> extent(int shape, const geometry::Vector<n>& a) const {
    double low = 1e300, high = -1e300;
    const auto& polytope = parts_.at(shape);
    for (int i = 0; i < polytope.size(); ++i) {
      const double height = a.dot(frame(shape)(polytope.corner(i)));
      low = std::min(low, height);
      high = std::max(high, height);
    }
    return {low, high};
  }

 private:
  const geometry::Polytope<n>& part(int shape) const { return parts_.at(shape); }
  const geometry::Frame<n>& frame(int shape) const {
    return frames_[static_cast<std::size_t>(shape_of(*system_, shape).link)];
  }

  const System* system_;
  systems::Tree<double> tree_;
  Attitudes attitudes_;
  std::map<int, geometry::Polytope<n>> parts_;
  std::map<std::pair<int, int>, geometry::Basis<n>> bases_;
  std::vector<geometry::Frame<n>> frames_;
};

VectorXd posture(const MotionProblem& problem, int phase, int node, const VectorXd& x) {
  VectorXd q = VectorXd::Zero(problem.system().n());
  int at = problem.index(phase).theta(node);
  for (const int c : problem.functions(phase).moving) q(c) = x(at++);
  return q;
}

template <int n>
void fill_planes(const MotionProblem& problem, const std::vector<PartPair>& pairs, const std::vector<Plane>& planes,
                 double size, VectorXd& x) {
  Postures<n> postures(problem.system(), autodiff::values_of(problem.numbers()), pairs, size);
  for (const Plane& plane : planes) {
    const PartPair& pair = pairs[static_cast<std::size_t>(plane.pair)];
    const VectorXd q = posture(problem, plane.phase, plane.interval, x),
                   next = posture(problem, plane.phase, plane.interval + 1, x);
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
Clearance clearance_in(const MotionProblem& problem, const VectorXd& x, const std::vector<PartPair>& pairs, int finer) {
  Clearance least;
  least.at_nodes = least.between = nlp::infinity;
  least.short_by = -nlp::infinity;
  Postures<n> postures(problem.system(), autodiff::values_of(problem.numbers()), pairs, 1.0);
  double begin = 0.0;
  for (int phase = 0; phase < problem.phases(); ++phase) {
    const PhaseIndex& index = problem.index(phase);
    const double T = index.duration >= 0 ? x(index.duration) : problem.phase(phase).duration.value;
    for (int k = 0; k < index.intervals; ++k)
      for (int i = 0; i <= finer; ++i) {
        if (i == finer && k + 1 < index.intervals) break;
        const double s = static_cast<double>(i) / finer;
        postures.set_between(posture(problem, phase, k, x), problem.reference(phase, k),
                             posture(problem, phase, k + 1, x), problem.reference(phase, k + 1), s);
        for (int p = 0; p < static_cast<int>(pairs.size()); ++p) {
          const double gap = postures.gap(pairs[static_cast<std::size_t>(p)]);
          if (i == 0 || i == finer) least.at_nodes = std::min(least.at_nodes, gap);
          least.between = std::min(least.between, gap);
          const double missing = pairs[static_cast<std::size_t>(p)].margin.value - gap;
          if (missing <= least.short_by) continue;
          least.short_by = missing;
          least.pair = p;
          least.time = begin + T * (k + s) / index.intervals;
        }
      }
    begin += T;
  }
  return least;
}

template <int n>
std::vector<double> gaps_in(const System& system, const std::vector<double>& numbers, const Reference& reference,
                            const VectorXd& q, const std::vector<PartPair>& pairs) {
  Postures<n> postures(system, numbers, pairs, 1.0);
  postures.set(q, reference);
  std::vector<double> all;
  for (const PartPair& pair : pairs) all.push_back(postures.gap(pair));
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

Clearance clearance(const MotionProblem& problem, const VectorXd& x, const std::vector<PartPair>& pairs, int finer) {
  return problem.system().structure().dimension == 2 ? clearance_in<2>(problem, x, pairs, finer)
                                                     : clearance_in<3>(problem, x, pairs, finer);
}

std::vector<double> gaps(const System& system, const std::vector<double>& numbers, const Reference& reference,
                         const VectorXd& q, const std::vector<PartPair>& pairs) {
  return system.structure().dimension == 2 ? gaps_in<2>(system, numbers, reference, q, pairs)
                                           : gaps_in<3>(system, numbers, reference, q, pairs);
}

std::string part_name(const System& system, int shape) {
  const auto& of = shape_of(system, shape);
  return of.name + " of " + system.structure().links[static_cast<std::size_t>(of.link)].name;
}

}  // namespace dodyn::dmoc
