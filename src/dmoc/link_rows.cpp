#include "dmoc/link_rows.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Vector3;
using Term = nlp::AssembledProblem::Term;

namespace {

// Returns A^T B.
template <class T>
systems::Matrix3<T> seen_from(const systems::Matrix3<T>& A, const systems::Matrix3<T>& B) {
  systems::Matrix3<T> C;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) C[i][j] = A[0][i] * B[0][j] + A[1][i] * B[1][j] + A[2][i] * B[2][j];
  return C;
}

}  // namespace

std::vector<int> NodeInputs::unknowns(const MotionProblem& problem, int phase, int node) const {
  const auto& moving = problem.functions(phase).moving;
  std::vector<int> all;
  for (const int c : coordinates)
    all.push_back(problem.index(phase).theta(node) +
                  static_cast<int>(std::ranges::lower_bound(moving, c) - moving.begin()));
  return all;
}

std::string NodeInputs::name() const {
  std::string s;
  for (const int c : coordinates) s += " " + std::to_string(c);
  return s;
}

NodeInputs inputs_of(const MotionProblem& problem, int phase, const std::vector<int>& links) {
  const auto& moving = problem.functions(phase).moving;
  NodeInputs inputs;
  for (const int c : moving)
    for (const int l : links) {
      const auto needed = problem.system().coordinates_of(l);
      if (!std::ranges::binary_search(needed, c)) continue;
      inputs.coordinates.push_back(c);
      break;
    }
  return inputs;
}

void add_pose(MotionProblem& problem, int phase, int node, const LinkPose& pose) {
  const System& system = problem.system();
  const int d = system.structure().dimension, n = system.n();
  const NodeInputs inputs = inputs_of(problem, phase, {pose.link, pose.from});
  const std::string name = "pose " + std::to_string(pose.link) + " from " + std::to_string(pose.from) + inputs.name();
  // (theta; target attitude) -> position, then the attitude: in 3D axis times sine of the remaining rotation, in 2D the
  // angle
  const Function& f = system.known_as(name, [&] {
    return system.record_at_node(
        inputs.coordinates.size(), 9, [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>& wanted) {
          using systems::operator-;
          const std::vector<Var> q = inputs.whole(n, z.data());
          const auto frames = tree.frames(q.data());
          const auto rest = systems::Frame<Var>::at_rest();
          const auto &body = frames[pose.link], &base = pose.from < 0 ? rest : frames[pose.from];
          const Vector3<Var> place = transposed_times(base.rotation, body.origin - base.origin);
          std::vector<Var> values(place.begin(), place.begin() + d);
          if (d == 2) {
            values.push_back(body.angle - base.angle);
            return values;
          }
          systems::Matrix3<Var> R;
          for (std::size_t i = 0; i < 9; ++i) R[i / 3][i % 3] = wanted[i];
          const auto left = seen_from(R, seen_from(base.rotation, body.rotation));
          for (int i = 0; i < 3; ++i) {
            const int j = (i + 1) % 3, k = (i + 2) % 3;
            values.push_back(0.5 * (left[k][j] - left[j][k]));
          }
          return values;
        });
  });
  std::vector<Term> terms;
  for (int i = 0; i < d; ++i)
    if (const auto& range = pose.place[i])
      terms.push_back({i, problem.problem().add_rows(1, range->first, range->second), 1.0});
  if (pose.angle) {
    const int row = problem.problem().add_rows(1, *pose.angle, *pose.angle);
    terms.push_back({2, row, 1.0});
  }
  std::vector<Coefficient> wanted(9, 0.0);
  if (pose.rotation) {
    std::copy(pose.rotation->begin(), pose.rotation->end(), wanted.begin());
    const int row = problem.problem().add_rows(3, 0.0, 0.0);
    for (int i = 0; i < 3; ++i) terms.push_back({3 + i, row + i, 1.0});
  }
  if (terms.empty()) return;
  problem.problem().add_element(element(f, problem.numbers(), wanted, {problem.reference(phase, node)}),
                                inputs.unknowns(problem, phase, node), std::move(terms));
}

void add_twist(MotionProblem& problem, int phase, bool end, const LinkTwist& twist) {
  const System& system = problem.system();
  const int d = system.structure().dimension, n = system.n();
  const PhaseIndex& index = problem.index(phase);
  const int node = end ? index.intervals : 0, velocity = end ? index.velocity_before : index.velocity_after;
  if (velocity < 0) throw std::logic_error("these velocities are no unknowns");
  const NodeInputs inputs = inputs_of(problem, phase, {twist.link, twist.from});
  const int count = inputs.coordinates.size();
  const std::string name =
      "twist " + std::to_string(twist.link) + " from " + std::to_string(twist.from) + inputs.name();
  const Function& f = system.known_as(name, [&] {
    return system.record_at_node(
        2 * count, 0, [&](const auto& tree, const std::vector<Var>& z, const std::vector<Var>&) {
          using systems::operator+, systems::operator-, systems::operator*;
          const std::vector<Var> q = inputs.whole(n, z.data()), v = inputs.whole(n, z.data() + count);
          const auto frames = tree.frames(q.data(), v.data());
          const std::size_t at = twist.link;
          const Vector3<Var> centre = frames[at].point(tree.links[at].centre);
          Vector3<Var> pace = frames[at].velocity_of(tree.links[at].centre),
                       spin = frames[at].rotation * frames[at].spin;
          if (twist.from >= 0) {
            const auto& base = frames[twist.from];
            const Vector3<Var> base_spin = base.rotation * base.spin;
            pace = pace - (base.velocity + systems::cross(base_spin, centre - base.origin));
            spin = spin - base_spin;
          }
          std::vector<Var> values(pace.begin(), pace.end());
          values.insert(values.end(), spin.begin(), spin.end());
          return values;
        });
  });
  std::vector<Term> terms;
  const auto add = [&](const auto& given, int first, int from) {
    if (given)
      for (int i = from; i < 3; ++i) {
        if (first == 0 && i >= d) break;
        const Coefficient& value = (*given)[i];
        terms.push_back({first + i, problem.problem().add_rows(1, value, value), 1.0});
      }
  };
  add(twist.velocity, 0, 0);
  add(twist.spin, 3, d == 2 ? 2 : 0);
  if (terms.empty()) return;
  const auto at_node = inputs.unknowns(problem, phase, node);
  std::vector<int> rates = at_node;
  for (int& i : rates) i += velocity - index.theta(node);
  problem.problem().add_element(element(f, problem.numbers(), {}, {problem.reference(phase, node)}),
                                joined(at_node, rates), std::move(terms));
}

void add_turn_limit(MotionProblem& problem, int phase, double limit) {
  const System& system = problem.system();
  const auto& tree = system.structure();
  const int n = system.n();
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const auto& moves = tree.links[l].moves;
    const auto& follower = tree.links[l].follower;
    const auto turns = [](const systems::Move& m) { return m.kind == systems::Move::turn; };
    if (std::ranges::none_of(moves, turns) && !(follower && turns(follower->move))) continue;
    const NodeInputs inputs = inputs_of(problem, phase, {static_cast<int>(l)});
    const int count = inputs.coordinates.size();
    if (count == 0) continue;
    // (theta, theta') -> trace of R^T R', 1 + 2 cos(turn)
    const Function& f = system.known_as("turn " + std::to_string(l) + inputs.name(), [&] {
      return system.record_on_interval(
          2 * count, 0, [&](const auto& first, const auto& last, const std::vector<Var>& z, const std::vector<Var>&) {
            const std::vector<Var> q = inputs.whole(n, z.data()), next = inputs.whole(n, z.data() + count);
            const auto R = seen_from(first.frames(q.data())[l].rotation, last.frames(next.data())[l].rotation);
            return std::vector<Var>{R[0][0] + R[1][1] + R[2][2]};
          });
    });
    const std::vector<Element> elements = problem.on_intervals(phase, f, {});
    for (int k = 0; k < problem.index(phase).intervals; ++k)
      problem.problem().add_element(
          elements[k], joined(inputs.unknowns(problem, phase, k), inputs.unknowns(problem, phase, k + 1)),
          {{0, problem.problem().add_rows(1, 1.0 + 2.0 * std::cos(limit), nlp::infinity), 1.0}});
  }
}

}  // namespace dodyn::dmoc
