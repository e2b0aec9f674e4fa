#include "dmoc/contact_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "geometry/polytope.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using systems::Vector3;
using Term = nlp::AssembledProblem::Term;

namespace {

using Directions = std::vector<std::array<double, 3>>;  // normal first, then tangents, in the frame of the face's link

Directions directions_of(const ContactEvent& contact, int d) {
  const auto& n = contact.outward;
  Directions all = {n};
  if (contact.edges) all.resize(contact.sticks || contact.slides ? 3 : 1);  // directions of edges depend on the posture
  if (contact.edges || (!contact.sticks && !contact.slides)) return all;
  if (d == 2) {
    const double sign = contact.way[1] * n[0] - contact.way[0] * n[1] < 0.0 ? -1.0 : 1.0;
    all.push_back({-sign * n[1], sign * n[0], 0.0});
    return all;
  }
  const std::size_t least = static_cast<std::size_t>(
      std::min_element(n.begin(), n.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }) - n.begin());
  std::array<double, 3> one{};
  for (std::size_t i = 0; i < 3; ++i) one[i] = (i == least ? 1.0 : 0.0) - n[least] * n[i];
  const double length = std::sqrt(one[0] * one[0] + one[1] * one[1] + one[2] * one[2]);
  for (double& x : one) x /= length;
  all.push_back(one);
  all.push_back({n[1] * one[2] - n[2] * one[1], n[2] * one[0] - n[0] * one[2], n[0] * one[1] - n[1] * one[0]});
  return all;
}

int link_of(const systems::Model& model, const ContactEvent& contact) {
  return contact.point >= 0 ? model.structure.named_points[static_cast<std::size_t>(contact.point)].place.link
                            : model.shapes[static_cast<std::size_t>(contact.part)].link;
}

Vector3<Var> scaled(const Var& by, const Vector3<Var>& r) { return {by * r[0], by * r[1], by * r[2]}; }

// Returns the touching point.
systems::Place<Var> touching(const systems::Tree<Var>& tree, const std::vector<Var>& numbers,
                             const systems::Model& model, const ContactEvent& contact) {
  if (contact.point >= 0) return tree.named_points[static_cast<std::size_t>(contact.point)].place;
  const auto& part = model.shapes[static_cast<std::size_t>(contact.part)];
  return {part.link, model.corners(part, numbers)[static_cast<std::size_t>(contact.corner)]};
}

using Ends = std::array<Vector3<Var>, 2>;

// Returns the ends of the edges in the part's link, and in the face's link.
std::pair<Ends, Ends> ends_in_links(const systems::Model& model, const std::vector<Var>& numbers,
                                    const ContactEvent& contact) {
  const auto ends = [&](int shape, const std::array<int, 2>& edge) {
    return ends_of(model.corners(model.shapes[static_cast<std::size_t>(shape)], numbers), edge);
  };
  return {ends(contact.part, contact.edges->one), ends(contact.shape, contact.edges->other)};
}

EdgeMeeting<Var> edges_meet(const std::vector<systems::Frame<Var>>& frames, const systems::Model& model,
                            const ContactEvent& contact, const Ends& one, const Ends& other) {
  const auto seen = [&](int shape, const Ends& ends) {
    const auto& f = frames[static_cast<std::size_t>(model.shapes[static_cast<std::size_t>(shape)].link)];
    return Ends{f.point(ends[0]), f.point(ends[1])};
  };
  return meeting_of_edges<Var>(seen(contact.part, one), seen(contact.shape, other));
}

// Returns the sides of the face: corners of the shape that share an edge with it. Empty if no face of the shape has an
// outward normal in this direction.
template <int n>
std::vector<std::array<int, n>> sides_beside(const std::vector<Vector3<double>>& corners,
                                             const std::array<double, 3>& outward) {
  using Point = geometry::Vector<n>;
  std::vector<Point> points;
  for (const auto& r : corners) points.push_back(Eigen::Map<const Point>(r.data()));
  const auto at = [&](int c) { return points[static_cast<std::size_t>(c)]; };
  const auto looks_outward = [&](const std::array<int, n>& side) {
    Point normal;
    const Point along = at(side[1]) - at(side[0]);
    if constexpr (n == 2)
      normal = Point(along[1], -along[0]);
    else
      normal = along.cross(Point(at(side[2]) - at(side[0])));
    return normal.normalized().dot(Eigen::Map<const Point>(outward.data())) > 1.0 - 1e-9;
  };
  const geometry::Polytope<n> polytope(points);
  std::vector<int> of_face;
  std::vector<std::array<int, n>> sides;
  for (const auto& side : polytope.facets())
    if (looks_outward(side)) of_face.insert(of_face.end(), side.begin(), side.end());
  for (const auto& side : polytope.facets())
    if (!looks_outward(side) && std::count_if(side.begin(), side.end(), [&](int c) {
                                  return std::find(of_face.begin(), of_face.end(), c) != of_face.end();
                                }) >= n - 1)
      sides.push_back(side);
  return sides;
}

// Returns how far a point lies beyond a side.
template <int n>
Var beyond(const Vector3<Var>& inside, const std::vector<Vector3<Var>>& corners, const std::array<int, n>& side) {
  using systems::operator-;
  const auto at = [&](int c) { return corners[static_cast<std::size_t>(c)]; };
  const Vector3<Var> along = at(side[1]) - at(side[0]);
  const Vector3<Var> normal =
      n == 2 ? Vector3<Var>{along[1], -along[0], Var(0.0)} : systems::cross(along, at(side[n - 1]) - at(side[0]));
  return systems::dot(inside - at(side[0]), normal) / sqrt(systems::dot(normal, normal));
}

// For a posture with rates v: the gap, and the components of the point's velocity relative to the face.
struct Meeting {
  Vector3<Var> inside;  // the point, in the frame of the face's link
  Var gap;
  std::vector<Var> rates;
};
Meeting meeting(const systems::Tree<Var>& tree, const std::vector<Var>& numbers, const systems::Model& model,
                const ContactEvent& contact, int corner, const Directions& directions, const std::vector<Var>& q,
                const std::vector<Var>& v) {
  using systems::operator-, systems::operator*;
  const auto frames = tree.frames(q.data(), v.data());
  const auto& shape = model.shapes[static_cast<std::size_t>(contact.shape)];
  const auto& face = frames[static_cast<std::size_t>(shape.link)];
  if (contact.edges) {
    using systems::operator+;
    const auto [one, other] = ends_in_links(model, numbers, contact);
    const auto edges = edges_meet(frames, model, contact, one, other);
    const Vector3<Var> along = other[1] - other[0], w = face.rotation * along;
    const Var length = sqrt(systems::dot(w, w));
    const Vector3<Var> first{w[0] / length, w[1] / length, w[2] / length};
    Meeting m{other[0] + scaled(edges.t, along), edges.gap, {}};
    const systems::Place<Var> place{model.shapes[static_cast<std::size_t>(contact.part)].link,
                                    one[0] + scaled(edges.s, one[1] - one[0])};
    const Vector3<Var> pace = systems::Tree<Var>::velocity(frames, place) - face.velocity_of(m.inside);
    m.rates = {systems::dot(pace, edges.normal), systems::dot(pace, first),
               systems::dot(pace, systems::cross(edges.normal, first))};
    m.rates.resize(directions.size());
    return m;
  }
  const auto place = touching(tree, numbers, model, contact);
  const Vector3<Var> point = systems::Tree<Var>::position(frames, place), way = point - face.origin;
  Meeting m;
  Vector3<Var>& inside = m.inside;
  for (int i = 0; i < 3; ++i)
    inside[i] = face.rotation[0][i] * way[0] + face.rotation[1][i] * way[1] + face.rotation[2][i] * way[2];
  const Vector3<Var> pace = systems::Tree<Var>::velocity(frames, place) - face.velocity_of(inside);
  const Vector3<Var> behind = inside - model.corners(shape, numbers)[static_cast<std::size_t>(corner)];
  m.gap = systems::dot(behind, Vector3<Var>{directions[0][0], directions[0][1], directions[0][2]});
  for (const auto& d : directions)
    m.rates.push_back(systems::dot(pace, face.rotation * Vector3<Var>{d[0], d[1], d[2]}));
  return m;
}

// (lambda_n, c, s; mu) -> |s|^2, c s, mu lambda_n s
const Function& sliding(int across) {
  const auto record = [](int r) {
    return autodiff::record(2 + r, 1, [](const auto& z, const auto& mu) {
      std::vector<Var> all = {Var(0.0)};
      for (std::size_t i = 2; i < z.size(); ++i) all[0] += z[i] * z[i];
      for (std::size_t i = 2; i < z.size(); ++i) all.push_back(z[1] * z[i]);
      for (std::size_t i = 2; i < z.size(); ++i) all.push_back(mu[0] * z[0] * z[i]);
      return all;
    });
  };
  static const Function plane = record(1), space = record(2);
  return across == 1 ? plane : space;
}

// Returns the impulse at a point that continues to slide. The normal component makes its normal velocity `wanted`; the
// tangential component is mu times that, against the direction of sliding afterwards. `compliance`: inverse inertia of
// the point, normal first; `rates`: its velocity before.
VectorXd sliding_impulse(const MatrixXd& compliance, const VectorXd& rates, double wanted, double mu) {
  const Eigen::Index across = rates.size() - 1;
  const auto along = [&](const VectorXd& s) {
    VectorXd impulse(rates.size());
    impulse << 1.0, -mu * s;
    return VectorXd((wanted - rates(0)) / compliance.row(0).dot(impulse) * impulse);
  };
  const auto goes = [&](const VectorXd& s) { return VectorXd((rates + compliance * along(s)).tail(across)); };
  if (across == 1) {
    const VectorXd forth = VectorXd::Ones(1);
    return along(goes(forth)(0) >= 0.0 ? forth : VectorXd(-forth));
  }
  // finds the angle of the sliding direction
  const auto at = [](double angle) { return VectorXd(Eigen::Vector2d(std::cos(angle), std::sin(angle))); };
  const auto beside = [&](double angle) {
    const VectorXd s = at(angle), u = goes(s);
    return s(0) * u(1) - s(1) * u(0);
  };
  constexpr int parts = 64;
  constexpr double part = 2.0 * std::numbers::pi / parts;
  for (int i = 0; i < parts; ++i) {
    double low = part * i, high = part * (i + 1);
    if (beside(low) * beside(high) > 0.0 || at(low).dot(goes(at(low))) < 0.0) continue;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = 0.5 * (low + high);
      (beside(low) * beside(middle) > 0.0 ? low : high) = middle;
    }
    return along(at(low));
  }
  return along(VectorXd::Zero(across));
}

}  // namespace

int farthest(const std::vector<Vector3<double>>& corners, const std::array<double, 3>& outward) {
  int corner = 0;
  double highest = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < corners.size(); ++i) {
    const double height = systems::dot(corners[i], Vector3<double>(outward));
    if (height > highest + 1e-12) highest = height, corner = static_cast<int>(i);
  }
  return corner;
}

std::vector<Vector3<double>> seen_from_face(const System& system, const std::vector<double>& numbers,
                                            const ContactEvent& contact, const Reference& reference,
                                            const VectorXd& q) {
  using systems::operator-;
  const systems::Model& model = system.model();
  auto tree = model.tree<double>(numbers);
  system.refer(tree, autodiff::values_of(*reference).data());
  const auto frames = tree.frames(q.data());
  const auto& face = frames[static_cast<std::size_t>(model.shapes[static_cast<std::size_t>(contact.shape)].link)];
  std::vector<systems::Place<double>> places;
  if (contact.part < 0)
    places.push_back(tree.named_points[static_cast<std::size_t>(contact.point)].place);
  else
    for (const auto& r : model.corners(model.shapes[static_cast<std::size_t>(contact.part)], numbers))
      places.push_back({model.shapes[static_cast<std::size_t>(contact.part)].link, r});
  std::vector<Vector3<double>> all;
  for (const auto& place : places) {
    const auto way = systems::Tree<double>::position(frames, place) - face.origin;
    Vector3<double> inside{};
    for (int i = 0; i < 3; ++i)
      inside[i] = face.rotation[0][i] * way[0] + face.rotation[1][i] * way[1] + face.rotation[2][i] * way[2];
    all.push_back(inside);
  }
  return all;
}

std::vector<double> heights(const System& system, const std::vector<double>& numbers, const ContactEvent& contact,
                            const Reference& reference, const VectorXd& q) {
  const auto of_face = system.model().corners(system.model().shapes[static_cast<std::size_t>(contact.shape)], numbers);
  const Vector3<double> out(contact.outward);
  const double level = systems::dot(of_face[static_cast<std::size_t>(farthest(of_face, contact.outward))], out);
  std::vector<double> all;
  for (const auto& place : seen_from_face(system, numbers, contact, reference, q))
    all.push_back(systems::dot(place, out) - level);
  return all;
}

std::pair<EdgePair, double> edges_at(const System& system, const std::vector<double>& numbers,
                                     const ContactEvent& contact, const Reference& reference, const VectorXd& q) {
  const systems::Model& model = system.model();
  auto tree = model.tree<double>(numbers);
  system.refer(tree, autodiff::values_of(*reference).data());
  const auto frames = tree.frames(q.data());
  const auto seen = [&](int shape) {
    const auto& of = model.shapes[static_cast<std::size_t>(shape)];
    auto corners = model.corners(of, numbers);
    for (auto& r : corners) r = frames[static_cast<std::size_t>(of.link)].point(r);
    return corners;
  };
  const auto one = seen(contact.part), other = seen(contact.shape);
  const EdgePair pair = nearest_edges(one, other);
  return {pair, meeting_of_edges(ends_of(one, pair.one), ends_of(other, pair.other)).gap};
}

std::function<void(VectorXd&)> add_contact(MotionProblem& problem, const ContactEvent& contact) {
  const System& system = problem.system();
  const systems::Model& model = system.model();
  const int d = system.structure().dimension, n = system.n();
  const Event& event = problem.event(contact.event);
  const auto &before = problem.index(event.from), &after = problem.index(event.to);
  const auto& moving = problem.functions(event.from).moving;
  if (moving != problem.functions(event.to).moving || event.configuration || event.momentum)
    throw std::logic_error("a contact needs the same coordinates before and after");
  const int last = before.intervals;
  const NodeInputs inputs = inputs_of(
      problem, event.from, {link_of(model, contact), model.shapes[static_cast<std::size_t>(contact.shape)].link});
  const int c = static_cast<int>(inputs.coordinates.size());
  const Directions directions = directions_of(contact, d);
  const int r = static_cast<int>(directions.size());

  const int corner = farthest(
      model.corners(model.shapes[static_cast<std::size_t>(contact.shape)], autodiff::values_of(problem.numbers())),
      contact.outward);

  const auto plain_corners =
      model.corners(model.shapes[static_cast<std::size_t>(contact.shape)], autodiff::values_of(problem.numbers()));
  const auto lines =
      d == 2 && !contact.edges ? sides_beside<2>(plain_corners, contact.outward) : std::vector<std::array<int, 2>>();
  const auto sides =
      d == 3 && !contact.edges ? sides_beside<3>(plain_corners, contact.outward) : std::vector<std::array<int, 3>>();

  const auto whole = [&](const Var* z) { return inputs.whole(n, z); };
  const auto at_rest = [&] { return std::vector<Var>(static_cast<std::size_t>(n), Var(0.0)); };
  // theta -> gap
  const Function gap = system.record_at_node_with_numbers(
      c, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        const auto q = whole(z.data());
        const auto meets = meeting(tree, numbers, model, contact, corner, directions, q, at_rest());
        std::vector<Var> rows = {meets.gap};
        if (!contact.edges) {
          const auto of_face = model.corners(model.shapes[static_cast<std::size_t>(contact.shape)], numbers);
          for (const auto& side : lines) rows.push_back(beyond<2>(meets.inside, of_face, side));
          for (const auto& side : sides) rows.push_back(beyond<3>(meets.inside, of_face, side));
          return rows;
        }
        const auto [one, other] = ends_in_links(model, numbers, contact);
        const auto edges = edges_meet(tree.frames(q.data()), model, contact, one, other);
        rows.insert(rows.end(), {edges.s, edges.t});
        return rows;
      });
  // (theta, v) -> rates
  const Function rates = system.record_at_node_with_numbers(
      2 * c, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        return meeting(tree, numbers, model, contact, corner, directions, whole(z.data()), whole(z.data() + c)).rates;
      });
  // (theta, lambda) -> generalised impulse
  const auto pushed = [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const Directions& along) {
    std::vector<Var> all;
    for (int i = 0; i < c; ++i) {
      std::vector<Var> unit = at_rest();
      unit[static_cast<std::size_t>(inputs.coordinates[static_cast<std::size_t>(i)])] = Var(1.0);
      const auto m = meeting(tree, numbers, model, contact, corner, along, whole(z.data()), unit);
      Var sum(0.0);
      for (std::size_t j = 0; j < along.size(); ++j) sum += z[static_cast<std::size_t>(c) + j] * m.rates[j];
      all.push_back(sum);
    }
    return all;
  };
  const Function impulse = system.record_at_node_with_numbers(
      c + r, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        return pushed(tree, numbers, z, directions);
      });

  auto& nlp = problem.problem();
  const Reference& reference = problem.reference(event.from, last);
  const auto with = [&](const Function& f) { return element(f, problem.numbers(), {}, {reference}); };
  const std::vector<int> node = inputs.unknowns(problem, event.from, last);
  const auto shifted = [](std::vector<int> which, int by) {
    for (int& i : which) i += by;
    return which;
  };
  std::vector<Term> meets = {{0, nlp.add_rows(1, 0.0, 0.0), 1.0}};
  if (contact.edges) {
    const int between = nlp.add_rows(2, 0.0, 1.0);
    meets.insert(meets.end(), {{1, between, 1.0}, {2, between + 1, 1.0}});
  } else if (const int count = static_cast<int>(lines.size() + sides.size()); count > 0) {
    const int within = nlp.add_rows(count, -nlp::infinity, 0.0);
    for (int i = 0; i < count; ++i) meets.push_back({1 + i, within + i, 1.0});
  }
  nlp.add_element(with(gap), node, std::move(meets));
  const Element rate = with(rates);
  const int bounce = nlp.add_rows(1, 0.0, 0.0), approach = nlp.add_rows(1, -nlp::infinity, 0.0);
  nlp.add_element(rate, joined(node, shifted(node, before.velocity_before - before.theta(last))),
                  {{0, bounce, contact.restitution}, {0, approach, 1.0}});
  // the posture after is that before, coordinate by coordinate
  const std::vector<int> next = inputs.unknowns(problem, event.to, 0);
  std::vector<Term> terms = {{0, bounce, 1.0}};
  const int across = nlp.add_rows(r - 1, 0.0, 0.0);
  for (int i = 1; i < r; ++i) terms.push_back({i, across + i - 1, 1.0});
  nlp.add_element(rate, joined(next, shifted(next, after.velocity_after - after.theta(0))), std::move(terms));

  const int lambda = nlp.add_variables(1, 0.0, nlp::infinity);
  if (r > 1) nlp.add_variables(r - 1, -nlp::infinity, nlp::infinity);
  std::vector<int> given = node;
  terms.clear();
  for (int j = 0; j < r; ++j) given.push_back(lambda + j);
  const auto place_in_moving = [&moving](int coordinate) {
    return static_cast<int>(std::lower_bound(moving.begin(), moving.end(), coordinate) - moving.begin());
  };
  for (int i = 0; i < c; ++i)
    terms.push_back(
        {i, problem.jump_row(contact.event) + place_in_moving(inputs.coordinates[static_cast<std::size_t>(i)]), 1.0});
  const Element push = with(impulse);
  nlp.add_element(push, given, std::move(terms));
  int pace = -1;  // c, and s after it
  if (contact.slides) {
    pace = nlp.add_variables(1, 0.0, nlp::infinity);
    nlp.add_variables(r - 1, r == 2 ? 1.0 : -2.0, r == 2 ? 1.0 : 2.0);  // in the plane it is forth, where it was going
    std::vector<int> unknowns = {lambda, pace};
    terms = {{0, nlp.add_rows(1, 1.0, 1.0), 1.0}};
    const int against = nlp.add_rows(r - 1, 0.0, 0.0);
    for (int i = 1; i < r; ++i) {
      unknowns.push_back(pace + i);
      terms.push_back({i, across + i - 1, -1.0});
      terms.push_back({r - 1 + i, against + i - 1, 1.0});
      nlp.add_linear(against + i - 1, lambda + i, 1.0);
    }
    nlp.add_element(element(sliding(r - 1), {}, {contact.friction.value()}), unknowns, terms);
  } else if (contact.friction && r > 1) {
    // (mu lambda_n)^2 - |lambda_t|^2 >= 0
    const Function cone = autodiff::record(r, 1, [](const auto& z, const auto& mu) {
      Var left = (mu[0] * z[0]) * (mu[0] * z[0]);
      for (std::size_t i = 1; i < z.size(); ++i) left += -(z[i] * z[i]);
      return std::vector<Var>{left};
    });
    std::vector<int> impulses;
    for (int j = 0; j < r; ++j) impulses.push_back(lambda + j);
    nlp.add_element(element(cone, {}, {*contact.friction}), impulses, {{0, nlp.add_rows(1, 0.0, nlp::infinity), 1.0}});
  }

  if (contact.stays) {
    problem.stay(event.to);
    Directions axes(static_cast<std::size_t>(d), {0.0, 0.0, 0.0});
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i][i] = 1.0;
    const Function place = system.record_at_node_with_numbers(
        c, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
          const auto m = meeting(tree, numbers, model, contact, corner, axes, whole(z.data()), at_rest());
          return std::vector<Var>(m.inside.begin(), m.inside.begin() + d);
        });
    const Function joint_rates = system.record_at_node_with_numbers(
        2 * c, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
          return meeting(tree, numbers, model, contact, corner, axes, whole(z.data()), whole(z.data() + c)).rates;
        });
    const Function joint_push = system.record_at_node_with_numbers(
        c + d, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
          return pushed(tree, numbers, z, axes);
        });
    const int K = after.intervals;
    const int rows = nlp.add_rows(d * K, 0.0, 0.0);
    for (int k = 0; k <= K; ++k) {
      const Reference& here = problem.reference(event.to, k);
      const auto at_node = [&](const Function& f) { return element(f, problem.numbers(), {}, {here}); };
      const std::vector<int> unknowns = inputs.unknowns(problem, event.to, k);
      std::vector<Term> held;
      for (int i = 0; i < d; ++i) {
        if (k > 0) held.push_back({i, rows + d * (k - 1) + i, 1.0});
        if (k < K) held.push_back({i, rows + d * k + i, -1.0});
      }
      nlp.add_element(at_node(place), unknowns, std::move(held));
      const int row = problem.momentum_row(event.to, k);
      if (row < 0) continue;
      const int multiplier = nlp.add_variables(d, -nlp::infinity, nlp::infinity);
      std::vector<int> with_multiplier = unknowns;
      for (int i = 0; i < d; ++i) with_multiplier.push_back(multiplier + i);
      std::vector<Term> forces;
      for (int i = 0; i < c; ++i)
        forces.push_back({i, row + place_in_moving(inputs.coordinates[static_cast<std::size_t>(i)]), 1.0});
      nlp.add_element(at_node(joint_push), with_multiplier, std::move(forces));
      if (k < K) continue;
      const int still = nlp.add_rows(d, 0.0, 0.0);
      std::vector<Term> zero;
      for (int i = 0; i < d; ++i) zero.push_back({i, still + i, 1.0});
      nlp.add_element(at_node(joint_rates), joined(unknowns, shifted(unknowns, after.velocity_before - after.theta(K))),
                      std::move(zero));
    }
  }

  // The same law, worked out from the momenta that arrive: for who drives the motion forward.
  problem.set_impulse(
      contact.event,
      [=, e = contact.restitution.value, mu = contact.friction.value_or(0.0).value, coordinates = inputs.coordinates](
          const VectorXd& theta, const VectorXd& v, const MatrixXd& mass) -> VectorXd {
        const auto part = [&](const VectorXd& all) {
          VectorXd some(c);
          for (int i = 0; i < c; ++i)
            some(i) = all(std::lower_bound(moving.begin(), moving.end(), coordinates[static_cast<std::size_t>(i)]) -
                          moving.begin());
          return some;
        };
        VectorXd z(c + r), w(2 * c);
        z << part(theta), VectorXd::Zero(r);
        w << part(theta), part(v);
        MatrixXd D = MatrixXd::Zero(theta.size(), r);
        const MatrixXd J = jacobian(*push, z);
        for (int i = 0; i < c; ++i)
          D.row(std::lower_bound(moving.begin(), moving.end(), coordinates[static_cast<std::size_t>(i)]) -
                moving.begin()) = J.row(i).tail(r);
        VectorXd wanted = -value(*rate, w);
        const MatrixXd compliance = D.transpose() * mass.llt().solve(D);
        if (pace >= 0) return D * sliding_impulse(compliance, -wanted, e * wanted(0), mu);
        wanted(0) *= 1.0 + e;
        return D * compliance.partialPivLu().solve(wanted);
      });

  return [=, arriving = joined(node, shifted(node, before.velocity_before - before.theta(last)))](VectorXd& x) {
    if (pace < 0) return;
    const VectorXd along = value(*rate, x(arriving)).tail(r - 1);
    x(pace) = along.norm();
    x.segment(pace + 1, r - 1) = r > 2 && along.norm() > 1e-9 ? along.normalized() : VectorXd::Unit(r - 1, 0);
  };
}

}  // namespace dodyn::dmoc
