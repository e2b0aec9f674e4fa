#include "dmoc/contact_rows.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "dmoc/position_constraint.hpp"
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
  // The entries for edges are placeholders: the directions depend on the posture (see meeting()).
  if (contact.edges) all.resize(contact.sticks || contact.slides ? 3 : 1);
  if (contact.edges || (!contact.sticks && !contact.slides)) return all;
  if (d == 2) {
    const double sign = contact.way[1] * n[0] - contact.way[0] * n[1] < 0.0 ? -1.0 : 1.0;
    all.push_back({-sign * n[1], sign * n[0], 0.0});
    return all;
  }
  const std::size_t min_axis =
      std::ranges::min_element(n, [](double a, double b) { return std::abs(a) < std::abs(b); }) - n.begin();
  std::array<double, 3> one{};
  for (std::size_t i = 0; i < 3; ++i) one[i] = (i == min_axis ? 1.0 : 0.0) - n[min_axis] * n[i];
  const double length = std::sqrt(one[0] * one[0] + one[1] * one[1] + one[2] * one[2]);
  for (double& x : one) x /= length;
  all.push_back(one);
  all.push_back({n[1] * one[2] - n[2] * one[1], n[2] * one[0] - n[0] * one[2], n[0] * one[1] - n[1] * one[0]});
  return all;
}

int link_of(const systems::Model& model, const ContactEvent& contact) {
  return contact.point >= 0 ? model.structure.named_points[contact.point].place.link : model.shapes[contact.part].link;
}

Vector3<Var> scaled(const Var& by, const Vector3<Var>& r) { return {by * r[0], by * r[1], by * r[2]}; }

// Returns the touching point.
systems::Place<Var> touching(const systems::Tree<Var>& tree, const std::vector<Var>& numbers,
                             const systems::Model& model, const ContactEvent& contact) {
  if (contact.point >= 0) return tree.named_points[contact.point].place;
  const auto& part = model.shapes[contact.part];
  return {part.link, model.corners(part, numbers)[contact.corner]};
}

using Ends = std::array<Vector3<Var>, 2>;

// Returns the ends of the edges in the part's link, and in the face's link.
std::pair<Ends, Ends> ends_in_links(const systems::Model& model, const std::vector<Var>& numbers,
                                    const ContactEvent& contact) {
  const auto ends = [&](int shape, const std::array<int, 2>& edge) {
    return ends_of(model.corners(model.shapes[shape], numbers), edge);
  };
  return {ends(contact.part, contact.edges->one), ends(contact.shape, contact.edges->other)};
}

EdgeDistance<Var> edges_meet(const std::vector<systems::Frame<Var>>& frames, const systems::Model& model,
                             const ContactEvent& contact, const Ends& one, const Ends& other) {
  const auto seen = [&](int shape, const Ends& ends) {
    const auto& f = frames[model.shapes[shape].link];
    return Ends{f.point(ends[0]), f.point(ends[1])};
  };
  return edge_distance<Var>(seen(contact.part, one), seen(contact.shape, other));
}

// Returns the sides of the face: the other facets of the shape that share an edge (in 2D a corner) with the face, as
// indices of their corners. Empty if no facet of the shape has an outward normal in this direction.
template <int n>
std::vector<std::array<int, n>> sides_beside(const std::vector<Vector3<double>>& corners,
                                             const std::array<double, 3>& outward) {
  using Point = geometry::Vector<n>;
  std::vector<Point> points;
  for (const auto& r : corners) points.push_back(Eigen::Map<const Point>(r.data()));
  const auto at = [&](int c) { return points[c]; };
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
    if (!looks_outward(side) &&
        std::ranges::count_if(side, [&](int c) { return std::ranges::find(of_face, c) != of_face.end(); }) >= n - 1)
      sides.push_back(side);
  return sides;
}

// Returns how far a point lies beyond a side, m; negative: inside.
template <int n>
Var beyond(const Vector3<Var>& inside, const std::vector<Vector3<Var>>& corners, const std::array<int, n>& side) {
  using systems::operator-;
  const auto at = [&](int c) { return corners[c]; };
  const Vector3<Var> along = at(side[1]) - at(side[0]);
  const Vector3<Var> normal =
      n == 2 ? Vector3<Var>{along[1], -along[0], Var(0.0)} : systems::cross(along, at(side[n - 1]) - at(side[0]));
  return systems::dot(inside - at(side[0]), normal) / sqrt(systems::dot(normal, normal));
}

// Kinematics of a contact in a posture q with rates v.
struct ContactKinematics {
  Vector3<Var> inside;     // the touching point, in the frame of the face's link
  Var gap;                 // distance from the plane of the face or between the edges, m
  std::vector<Var> rates;  // velocity relative to the face: along the normal, then along the tangents, m/s
};
ContactKinematics meeting(const systems::Tree<Var>& tree, const std::vector<Var>& numbers, const systems::Model& model,
                          const ContactEvent& contact, int corner, const Directions& directions,
                          const std::vector<Var>& q, const std::vector<Var>& v) {
  using systems::operator-, systems::operator*;
  const auto frames = tree.frames(q.data(), v.data());
  const auto& shape = model.shapes[contact.shape];
  const auto& face = frames[shape.link];
  if (contact.edges) {
    using systems::operator+;
    const auto [one, other] = ends_in_links(model, numbers, contact);
    const auto edges = edges_meet(frames, model, contact, one, other);
    const Vector3<Var> along = other[1] - other[0], w = face.rotation * along;
    const Var length = sqrt(systems::dot(w, w));
    const Vector3<Var> first{w[0] / length, w[1] / length, w[2] / length};
    ContactKinematics m{other[0] + scaled(edges.t, along), edges.gap, {}};
    const systems::Place<Var> place{model.shapes[contact.part].link, one[0] + scaled(edges.s, one[1] - one[0])};
    const Vector3<Var> pace = systems::Tree<Var>::velocity(frames, place) - face.velocity_of(m.inside);
    m.rates = {systems::dot(pace, edges.normal), systems::dot(pace, first),
               systems::dot(pace, systems::cross(edges.normal, first))};
    m.rates.resize(directions.size());
    return m;
  }
  const auto place = touching(tree, numbers, model, contact);
  const Vector3<Var> point = systems::Tree<Var>::position(frames, place), way = point - face.origin;
  ContactKinematics m;
  const Vector3<Var>& inside = m.inside = transposed_times(face.rotation, way);
  const Vector3<Var> pace = systems::Tree<Var>::velocity(frames, place) - face.velocity_of(inside);
  const Vector3<Var> behind = inside - model.corners(shape, numbers)[corner];
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

// Returns the impulse at a point that continues to slide. The normal velocity afterwards is `wanted`. The tangential
// impulse is mu times the normal impulse, opposite to the direction of sliding afterwards; it is zero if no such
// direction exists. `compliance`: inverse inertia of the point, normal first; `rates`: its velocity before.
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
  // In 3D bisection finds the angle of the sliding direction, to which the velocity afterwards is parallel.
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
  const auto& face = frames[model.shapes[contact.shape].link];
  std::vector<systems::Place<double>> places;
  if (contact.part < 0)
    places.push_back(tree.named_points[contact.point].place);
  else
    for (const auto& r : model.corners(model.shapes[contact.part], numbers))
      places.push_back({model.shapes[contact.part].link, r});
  std::vector<Vector3<double>> all;
  for (const auto& place : places) {
    const auto way = systems::Tree<double>::position(frames, place) - face.origin;
    all.push_back(transposed_times(face.rotation, way));
  }
  return all;
}

std::vector<double> heights(const System& system, const std::vector<double>& numbers, const ContactEvent& contact,
                            const Reference& reference, const VectorXd& q) {
  const auto of_face = system.model().corners(system.model().shapes[contact.shape], numbers);
  const Vector3<double> out(contact.outward);
  const double level = systems::dot(of_face[farthest(of_face, contact.outward)], out);
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
    const auto& of = model.shapes[shape];
    auto corners = model.corners(of, numbers);
    for (auto& r : corners) r = frames[of.link].point(r);
    return corners;
  };
  const auto one = seen(contact.part), other = seen(contact.shape);
  const EdgePair pair = nearest_edges(one, other);
  return {pair, edge_distance(ends_of(one, pair.one), ends_of(other, pair.other)).gap};
}

namespace {

// Unknowns and rows of one contact, in the order in which they are added. contact_rows.hpp has the equations.
class ContactRows {
 public:
  ContactRows(MotionProblem& problem, const ContactEvent& contact);
  void add_touch();
  void add_bounce();
  void add_impulse();
  void add_slide();
  void add_friction_cone();
  void add_joint();
  MotionProblem::Impulse impulse_law() const;
  std::function<void(VectorXd&)> slide_of_guess() const;

 private:
  // (theta, v) -> components of the point's velocity along the directions
  Function rates() const;
  // (theta, lambda) -> generalised impulse of an impulse lambda along the directions
  Function impulse() const;
  ContactKinematics meeting_at(const systems::Tree<Var>& tree, const std::vector<Var>& numbers,
                               const std::vector<Var>& q, const std::vector<Var>& v) const {
    return meeting(tree, numbers, model_, contact_, corner_, directions_, q, v);
  }
  std::vector<Var> whole(const Var* z) const { return inputs_.whole(system_.n(), z); }
  std::vector<Var> at_rest() const { return std::vector<Var>(system_.n(), Var(0.0)); }
  // Returns the index of an input among the moving coordinates.
  int place_in_moving(int input) const {
    return static_cast<int>(std::ranges::lower_bound(moving_, inputs_.coordinates[input]) - moving_.begin());
  }
  Element at_node(const Function& f, int phase, int node) const {
    return element(f, problem_.numbers(), {}, {problem_.reference(phase, node)});
  }
  // Returns the unknowns of the inputs at a node, then the unknowns of their velocities.
  std::vector<int> with_velocities(int phase, int node, int first_velocity) const {
    std::vector<int> all = inputs_.unknowns(problem_, phase, node);
    const int by = first_velocity - problem_.index(phase).theta(node);
    for (int i = 0; i < c_; ++i) all.push_back(all[i] + by);
    return all;
  }

  MotionProblem& problem_;
  nlp::AssembledProblem& nlp_;
  const ContactEvent& contact_;
  const System& system_;
  const systems::Model& model_;
  const Event& event_;
  const PhaseIndex &before_, &after_;
  const std::vector<int>& moving_;
  const int d_;  // dimension of space
  const NodeInputs inputs_;
  const int c_;  // number of inputs
  const Directions directions_;
  const int r_;  // number of directions
  const systems::Shape& face_;
  const std::vector<Vector3<double>> corners_;  // corners of the face's shape
  const int corner_;                            // the outermost one in the direction of `outward`
  Element rate_, push_;
  int across_ = -1;              // first row of the tangential velocities after the contact
  int lambda_ = -1, pace_ = -1;  // unknowns: impulses; c, and s after it
};

ContactRows::ContactRows(MotionProblem& problem, const ContactEvent& contact)
    : problem_(problem),
      nlp_(problem.problem()),
      contact_(contact),
      system_(problem.system()),
      model_(system_.model()),
      event_(problem.event(contact.event)),
      before_(problem.index(event_.from)),
      after_(problem.index(event_.to)),
      moving_(problem.functions(event_.from).moving),
      d_(system_.structure().dimension),
      inputs_(inputs_of(problem, event_.from, {link_of(model_, contact), model_.shapes[contact.shape].link})),
      c_(inputs_.coordinates.size()),
      directions_(directions_of(contact, d_)),
      r_(directions_.size()),
      face_(model_.shapes[contact.shape]),
      corners_(model_.corners(face_, autodiff::values_of(problem.numbers()))),
      corner_(farthest(corners_, contact.outward)) {
  if (moving_ != problem.functions(event_.to).moving || event_.configuration || event_.momentum)
    throw std::logic_error("a contact needs the same fixed coordinates before and after it");
}

Function ContactRows::rates() const {
  return system_.record_at_node_with_numbers(
      2 * c_, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        return meeting_at(tree, numbers, whole(z.data()), whole(z.data() + c_)).rates;
      });
}

Function ContactRows::impulse() const {
  return system_.record_at_node_with_numbers(
      c_ + r_, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        std::vector<Var> all;
        for (const int coordinate : inputs_.coordinates) {
          std::vector<Var> unit = at_rest();
          unit[coordinate] = Var(1.0);
          const auto m = meeting_at(tree, numbers, whole(z.data()), unit);
          Var sum(0.0);
          for (int j = 0; j < r_; ++j) sum += z[c_ + j] * m.rates[j];
          all.push_back(sum);
        }
        return all;
      });
}

// Adds rows: the gap is zero, and the point lies inside the face, or the edges meet between their ends.
void ContactRows::add_touch() {
  const bool edges = contact_.edges.has_value();
  const auto lines =
      d_ == 2 && !edges ? sides_beside<2>(corners_, contact_.outward) : std::vector<std::array<int, 2>>();
  const auto sides =
      d_ == 3 && !edges ? sides_beside<3>(corners_, contact_.outward) : std::vector<std::array<int, 3>>();
  // theta -> gap, then the point's distances beyond the sides of the face, or s and t of the edges
  const Function touch = system_.record_at_node_with_numbers(
      c_, 0, [&](const auto& tree, const auto& numbers, const std::vector<Var>& z, const auto&) {
        const auto q = whole(z.data());
        const auto meets = meeting_at(tree, numbers, q, at_rest());
        std::vector<Var> rows = {meets.gap};
        if (!edges) {
          const auto of_face = model_.corners(face_, numbers);
          for (const auto& side : lines) rows.push_back(beyond<2>(meets.inside, of_face, side));
          for (const auto& side : sides) rows.push_back(beyond<3>(meets.inside, of_face, side));
          return rows;
        }
        const auto [one, other] = ends_in_links(model_, numbers, contact_);
        const auto meet = edges_meet(tree.frames(q.data()), model_, contact_, one, other);
        rows.insert(rows.end(), {meet.s, meet.t});
        return rows;
      });
  std::vector<Term> terms = {{0, nlp_.add_rows(1, 0.0, 0.0), 1.0}};
  if (edges) {
    const int between = nlp_.add_rows(2, 0.0, 1.0);
    terms.insert(terms.end(), {{1, between, 1.0}, {2, between + 1, 1.0}});
  } else if (const int count = lines.size() + sides.size(); count > 0) {
    const int within = nlp_.add_rows(count, -nlp::infinity, 0.0);
    for (int i = 0; i < count; ++i) terms.push_back({1 + i, within + i, 1.0});
  }
  nlp_.add_element(at_node(touch, event_.from, before_.intervals),
                   inputs_.unknowns(problem_, event_.from, before_.intervals), std::move(terms));
}

// Adds the rows of the normal velocities: restitution, and n.w- <= 0. Adds the rows of the tangential velocities
// afterwards, t.w+ = 0; if the point slides, add_slide() subtracts c s from them.
void ContactRows::add_bounce() {
  rate_ = at_node(rates(), event_.from, before_.intervals);
  const int bounce = nlp_.add_rows(1, 0.0, 0.0), approach = nlp_.add_rows(1, -nlp::infinity, 0.0);
  nlp_.add_element(rate_, with_velocities(event_.from, before_.intervals, before_.velocity_before),
                   {{0, bounce, contact_.restitution}, {0, approach, 1.0}});
  // Coordinates before and after the event are equal, so both give the same directions.
  std::vector<Term> terms = {{0, bounce, 1.0}};
  across_ = nlp_.add_rows(r_ - 1, 0.0, 0.0);
  for (int i = 1; i < r_; ++i) terms.push_back({i, across_ + i - 1, 1.0});
  nlp_.add_element(rate_, with_velocities(event_.to, 0, after_.velocity_after), std::move(terms));
}

void ContactRows::add_impulse() {
  push_ = at_node(impulse(), event_.from, before_.intervals);
  lambda_ = nlp_.add_variables(1, 0.0, nlp::infinity);
  if (r_ > 1) nlp_.add_variables(r_ - 1, -nlp::infinity, nlp::infinity);
  std::vector<int> given = inputs_.unknowns(problem_, event_.from, before_.intervals);
  for (int j = 0; j < r_; ++j) given.push_back(lambda_ + j);
  std::vector<Term> terms;
  for (int i = 0; i < c_; ++i) terms.push_back({i, problem_.jump_row(contact_.event) + place_in_moving(i), 1.0});
  nlp_.add_element(push_, given, std::move(terms));
}

void ContactRows::add_slide() {
  pace_ = nlp_.add_variables(1, 0.0, nlp::infinity);
  nlp_.add_variables(r_ - 1, r_ == 2 ? 1.0 : -2.0,
                     r_ == 2 ? 1.0 : 2.0);  // in 2D the point can only continue in its direction
  std::vector<int> unknowns = {lambda_, pace_};
  std::vector<Term> terms = {{0, nlp_.add_rows(1, 1.0, 1.0), 1.0}};
  const int against = nlp_.add_rows(r_ - 1, 0.0, 0.0);
  for (int i = 1; i < r_; ++i) {
    unknowns.push_back(pace_ + i);
    terms.push_back({i, across_ + i - 1, -1.0});
    terms.push_back({r_ - 1 + i, against + i - 1, 1.0});
    nlp_.add_linear(against + i - 1, lambda_ + i, 1.0);
  }
  nlp_.add_element(element(sliding(r_ - 1), {}, {contact_.friction.value()}), unknowns, terms);
}

// (mu lambda_n)^2 - |lambda_t|^2 >= 0
void ContactRows::add_friction_cone() {
  if (r_ == 1) return;  // there is no tangential impulse
  const Function cone = autodiff::record(r_, 1, [](const auto& z, const auto& mu) {
    Var left = (mu[0] * z[0]) * (mu[0] * z[0]);
    for (std::size_t i = 1; i < z.size(); ++i) left += -(z[i] * z[i]);
    return std::vector<Var>{left};
  });
  std::vector<int> impulses;
  for (int j = 0; j < r_; ++j) impulses.push_back(lambda_ + j);
  nlp_.add_element(element(cone, {}, {*contact_.friction}), impulses, {{0, nlp_.add_rows(1, 0.0, nlp::infinity), 1.0}});
}

// Adds the joint that holds the point at its place on the face in the next phase.
void ContactRows::add_joint() {
  const auto place = [this](const auto& tree, const std::vector<Var>& numbers, const std::vector<Var>& q, const auto&) {
    const auto m = meeting_at(tree, numbers, q, at_rest());
    return std::vector<Var>(m.inside.begin(), m.inside.begin() + d_);
  };
  PositionConstraint joint;
  joint.phase = event_.to;
  joint.function = record_position_function(system_, problem_.functions(event_.to).held, 0, d_, place);
  joint.at_zero.assign(d_, false);
  joint.stopped = true;
  add_position_constraint(problem_, std::move(joint));
}

// Returns the contact law as a function of the arriving velocities, for MotionProblem::reintegrate(). Sticking ignores
// the friction cone, because the configuration specifies that the point sticks.
MotionProblem::Impulse ContactRows::impulse_law() const {
  std::vector<int> places;
  for (int i = 0; i < c_; ++i) places.push_back(place_in_moving(i));
  return [places, rate = rate_, push = push_, slides = contact_.slides, r = r_, e = contact_.restitution.value,
          mu = contact_.friction.value_or(0.0).value](const VectorXd& theta, const VectorXd& v,
                                                      const MatrixXd& mass) -> VectorXd {
    const Eigen::Index c = places.size();
    VectorXd z(c + r), w(2 * c);
    z << theta(places), VectorXd::Zero(r);
    w << theta(places), v(places);
    MatrixXd D = MatrixXd::Zero(theta.size(), r);
    const MatrixXd J = jacobian(*push, z);
    for (Eigen::Index i = 0; i < c; ++i) D.row(places[i]) = J.row(i).tail(r);
    VectorXd wanted = -value(*rate, w);
    const MatrixXd compliance = D.transpose() * mass.llt().solve(D);
    if (slides) return D * sliding_impulse(compliance, -wanted, e * wanted(0), mu);
    wanted(0) *= 1.0 + e;
    return D * compliance.partialPivLu().solve(wanted);
  };
}

std::function<void(VectorXd&)> ContactRows::slide_of_guess() const {
  if (!contact_.slides) return [](VectorXd&) {};
  return [rate = rate_, r = r_, pace = pace_,
          arriving = with_velocities(event_.from, before_.intervals, before_.velocity_before)](VectorXd& x) {
    const VectorXd along = value(*rate, x(arriving)).tail(r - 1);
    x(pace) = along.norm();
    x.segment(pace + 1, r - 1) = r > 2 && along.norm() > 1e-9 ? along.normalized() : VectorXd::Unit(r - 1, 0);
  };
}

}  // namespace

std::function<void(VectorXd&)> add_contact(MotionProblem& problem, const ContactEvent& contact) {
  ContactRows rows(problem, contact);
  rows.add_touch();
  rows.add_bounce();
  rows.add_impulse();
  if (contact.slides)
    rows.add_slide();
  else if (contact.friction)
    rows.add_friction_cone();
  if (contact.stays) rows.add_joint();
  problem.set_impulse(contact.event, rows.impulse_law());
  return rows.slide_of_guess();
}

}  // namespace dodyn::dmoc
