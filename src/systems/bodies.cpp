#include "systems/bodies.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Dense>
#include <algorithm>
#include <set>

#include "record/text.hpp"
#include "systems/body_constraints.hpp"
#include "systems/body_forces.hpp"
#include "systems/body_state.hpp"

namespace dodyn::systems {
namespace {

// A body of the world under construction: its link and the links that are fixed to it.
struct Cluster {
  std::vector<int> links;
  std::vector<Vector3<double>> origins;  // origins of these links' frames in the frame of the first one
  MassMoments<double> moments;
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();
  int surface = -1;
  bool fixed = false;
};

Eigen::Vector3d eigen(const Vector3<double>& r) { return {r[0], r[1], r[2]}; }
Vector3<double> array(const Eigen::Vector3d& r) { return {r[0], r[1], r[2]}; }
template <int n>
rigid::Vector<n> head(const Vector3<double>& r) {
  return eigen(r).template head<n>();
}

template <int n>
class Builder {
 public:
  Builder(const Model& model, const Values<double>& values, const WorldOptions& standing)
      : model_(model), values_(values), standing_(standing) {
    view_.tree = model.tree(values.numbers);
  }

  Bodies<n> build(Control control) {
    for (std::size_t l = 0; l < view_.tree.links.size(); ++l)
      if (view_.tree.links[l].follower)
        refuse(l, "it follows coordinates; it needs a joint with a coordinate of its own");
    clusters();
    for (std::size_t c = 0; c < clusters_.size(); ++c) add_body(clusters_[c]);
    for (const auto& link : view_.tree.links) add_joint(link);
    surroundings();
    forces(std::move(control));
    if (standing_.one_sided) constraints(*standing_.one_sided);
    return std::move(view_);
  }

 private:
  int line(int link) const { return model_.link_lines[link]; }
  [[noreturn]] void refuse(int link, const std::string& what) const {
    model_.fail(line(link), "link " + view_.tree.links[link].name + " is not a body of a contact simulation: " + what);
  }

  // Returns whether the link is massless and only adds an axis to the joint of the next link. The hinges of the two
  // links then go through one point.
  bool is_massless_intermediate(std::size_t l) const {
    const auto& links = view_.tree.links;
    const auto hinged = [](const Link<double>& link) {
      return !link.moves.empty() && link.axes.empty() && turns_of(link).size() == link.moves.size();
    };
    if (n == 2 || l + 1 == links.size() || !hinged(links[l]) || !hinged(links[l + 1])) return false;
    const Vector3<double> none{0.0, 0.0, 0.0};
    const int number = l;
    return links[l].mass == 0.0 && inertia_of(links[l]).isZero() && model_.shapes_of(number).empty() &&
           links[l + 1].at == none &&
           std::ranges::count_if(links, [&](const auto& link) { return link.parent == number; }) == 1 &&
           links[l + 1].parent == number;
  }
  // Returns the first of the links whose turns form one joint.
  int first_of(int l) const {
    while (l > 0 && view_.links[l - 1].ring) --l;
    return l;
  }
  // Refuses forces on a massless intermediate link's own axes, which have no body.
  void check_massless_intermediate(int ring) const {
    const auto at = [&](const Place<double>& place) { return place.link == ring; };
    const auto& tree = view_.tree;
    bool pushed = std::ranges::any_of(tree.drags, [&](const auto& d) { return d.link == ring; });
    for (const auto& charge : tree.charges) pushed |= at(charge.place);
    for (const auto& load : tree.loads) pushed |= load.coordinate < 0 && at(load.place);
    for (const auto& actuator : tree.actuators) pushed |= actuator.coordinate < 0 && at(actuator.place);
    for (const auto& point : tree.named_points) pushed |= at(point.place) && point.place.at != Vector3<double>{};
    if (pushed)
      refuse(ring, "it has no mass: only actuators on its own joints may act on it, and no points may lie on it");
  }

  // Throws ConfigError for a joint that a world does not support. Supported joints are free or hold a point.
  void check_joint(int l) const {
    const int first = first_of(l);
    const auto& link = view_.tree.links[first];
    std::vector<Move> turns;
    for (int i = first; i <= l; ++i)
      for (const Move& turn : turns_of(view_.tree.links[i])) turns.push_back(turn);
    const std::size_t slides = first == l ? link.moves.size() - turns.size() : 0;
    bool in_order = true;  // slides first, along x, y, z
    for (std::size_t i = 0; i < slides; ++i) in_order &= link.moves[i] == Move{Move::slide, static_cast<int>(i)};
    const bool three = turns.size() == 3 && turns[0].axis != turns[1].axis && turns[1].axis != turns[2].axis;
    const bool own_axes = std::ranges::any_of(turns, [](const Move& turn) { return turn.is_oblique(); });
    const bool all = n == 2 ? turns.size() == 1 : three && !own_axes, one = turns.size() == 1;
    const bool free = link.parent < 0 && slides == n && in_order && all;
    const bool held = (slides == 0 && (all || one)) || (slides == 1 && turns.empty());
    if (l == 0 && standing_.foot && !free)
      refuse(l, "it cannot stand on a foot; the joint of the first link to the ground must have all slides and turns");
    if (!free && !held)
      refuse(
          l,
          std::string("its joint is not supported; allowed: ") +
              (n == 2
                   ? "fixed, revolute, prismatic, on the ground planar (= point + revolute), too"
                   : "fixed, revolute, spherical about x, y, z (or three hinges through one point), prismatic, on the "
                     "ground spatial (= point + "
                     "spherical), too"));
  }

  void clusters() {
    const auto& links = view_.tree.links;
    bool ground = standing_.ground || standing_.foot;  // whether a body is attached to the ground
    for (std::size_t l = 0; l < links.size(); ++l)
      ground |= links[l].parent < 0 && !links[l].moves.empty() &&
                (links[l].moves[0].kind == Move::turn || links[l].moves.size() == 1);
    for (const auto& charge : view_.tree.charges) ground |= charge.place.link < 0;
    if (ground) {
      clusters_.emplace_back();
      clusters_.back().fixed = true;
      ground_ = 0;
    }
    view_.links.resize(links.size());
    for (std::size_t l = 0; l < links.size(); ++l) {
      const auto& link = links[l];
      Vector3<double> origin{0.0, 0.0, 0.0};
      int c = clusters_.size();
      if (is_massless_intermediate(l)) {
        view_.links[l] = {c, origin, true};
        check_massless_intermediate(l);
        continue;
      }
      if (link.moves.empty() && link.parent >= 0) {
        c = view_.links[link.parent].body;
        origin = link.at + view_.links[link.parent].origin;
        if (!model_.shapes_of(l).empty()) {
          if (model_.shapes_of(clusters_[c].links[0]).empty()) clusters_[c].surface = model_.link_surfaces[l];
          if (clusters_[c].surface != model_.link_surfaces[l])
            refuse(l, "its surface differs from that of the link to which it is fixed; give both the same surface");
        }
      } else {
        clusters_.emplace_back();
        clusters_.back().surface = model_.link_surfaces[l];
        clusters_.back().fixed = link.moves.empty();
        if (clusters_.back().fixed) origin = link.at;
        if (!clusters_.back().fixed) check_joint(l);
      }
      Cluster& cluster = clusters_[c];
      cluster.links.push_back(l);
      cluster.origins.push_back(origin);
      cluster.moments.add(link.mass, link.centre + origin);
      view_.links[l] = {c, origin};
    }
  }

  void add_body(Cluster& cluster) {
    rigid::Body<n> body;
    body.name = cluster.links.empty() ? "ground" : view_.tree.links[cluster.links[0]].name;
    body.fixed = cluster.fixed;
    if (cluster.surface >= 0) {
      const auto& surface = model_.surfaces[cluster.surface];
      body.surface = {Model::at(surface.restitution, values_.numbers), Model::at(surface.friction, values_.numbers)};
    }
    if (!cluster.fixed) {
      const int first = cluster.links[0];
      const auto& moves = view_.tree.links[first].moves;
      const bool slides = moves.size() == 1 && moves[0].kind == Move::slide;  // then it rotates with another body
      body.mass = cluster.moments.mass;
      if (!(body.mass > 0.0)) refuse(first, "it has no mass; add mass, or a shape with density");
      cluster.centre = eigen(cluster.moments.first) / body.mass;
      Eigen::Matrix3d J = Eigen::Matrix3d::Zero();
      for (std::size_t i = 0; i < cluster.links.size(); ++i) {
        const auto& link = view_.tree.links[cluster.links[i]];
        const Eigen::Vector3d r = eigen(link.centre + cluster.origins[i]) - cluster.centre;
        J += inertia_of(link) + link.mass * (r.squaredNorm() * Eigen::Matrix3d::Identity() - r * r.transpose());
      }
      if constexpr (n == 2) {
        if (!(J(2, 2) > 0.0) && !(slides && J(2, 2) == 0.0))
          refuse(first, "it has no inertia; add inertia, or a shape with density");
        body.euler_tensor = 0.5 * J(2, 2) * Eigen::Matrix2d::Identity();
      } else {
        if (Eigen::LLT<Eigen::Matrix3d>(J).info() != Eigen::Success && !(slides && J.isZero()))
          refuse(first, "its inertia about an axis is zero; add inertia, or a shape with density");
        body.euler_tensor = 0.5 * J.trace() * Eigen::Matrix3d::Identity() - J;
      }
    }
    for (std::size_t i = 0; i < cluster.links.size(); ++i) {
      const int l = cluster.links[i];
      const Eigen::Vector3d origin = eigen(cluster.origins[i]) - cluster.centre;
      view_.links[l].origin = array(origin);
      for (int ring = first_of(l); ring < l; ++ring) view_.links[ring].origin = array(origin);
      for (const Shape* shape : model_.shapes_of(l)) {
        std::vector<rigid::Vector<n>> corners;
        for (const auto& corner : model_.corners(*shape, values_.numbers))
          corners.push_back((eigen(corner) + origin).template head<n>());
        try {
          body.parts.emplace_back(corners, "shape " + shape->name);
        } catch (const std::exception& error) {
          model_.fail(shape->line, error.what());
        }
        body.outward.emplace_back();
        if (!shape->outward) continue;
        if (!cluster.fixed)
          model_.fail(shape->line, "outward applies only to shapes of a link that is fixed to the ground; remove it");
        Vector3<double> normal;
        for (int a = 0; a < 3; ++a) normal[a] = Model::at((*shape->outward)[a], values_.numbers);
        body.outward.back() = rigid::Vector<n>(head<n>(normal) / eigen(normal).norm());
      }
    }
    view_.world.bodies.push_back(std::move(body));
  }

  void add_joint(const Link<double>& link) {
    const int l = &link - view_.tree.links.data();
    if (view_.links[l].ring) return;
    const auto& hung = view_.tree.links[first_of(l)];  // the link with the first moves of the joint
    const bool stands = l == 0 && standing_.foot;
    if (link.moves.empty() ||
        (link.parent < 0 && link.moves.size() > 1 && link.moves[0].kind == Move::slide && !stands))
      return;
    rigid::Joint<n> joint;
    joint.child = view_.links[l].body;
    joint.child_point = head<n>(view_.links[l].origin);
    joint.parent = hung.parent < 0 ? ground_ : view_.links[hung.parent].body;
    joint.parent_point = head<n>(stands            ? *standing_.foot
                                 : hung.parent < 0 ? hung.at
                                                   : hung.at + view_.links[hung.parent].origin);
    const bool revolute = link.moves.size() == 1 && &hung == &link;
    const bool slides = revolute && link.moves[0].kind == Move::slide;
    joint.kind = slides     ? rigid::Joint<n>::Kind::prismatic
                 : revolute ? rigid::Joint<n>::Kind::revolute
                            : rigid::Joint<n>::Kind::spherical;
    const Move& move = link.moves[0];
    if (move.is_oblique())
      joint.axis = head<n>(link.axes[move.axis - 3]);
    else if (n == 3 || slides)
      joint.axis = rigid::Vector<n>::Unit(move.axis);
    view_.world.joints.push_back(joint);
  }

  // Sets gravity, charges, drag, and the pairs that may touch.
  void surroundings() {
    auto& world = view_.world;
    world.gravity = rigid::Vector<n>::Zero();
    world.gravity[n - 1] = -view_.tree.gravity;
    if (view_.tree.has_lateral_gravity) world.gravity += head<n>(view_.tree.lateral_gravity);
    world.charge_constant = view_.tree.charge_constant;
    for (const auto& charge : view_.tree.charges) {
      const int l = charge.place.link;
      world.charges.push_back({l < 0 ? ground_ : view_.links[l].body,
                               head<n>(l < 0 ? charge.place.at : charge.place.at + view_.links[l].origin),
                               charge.value});
    }
    for (const auto& drag : view_.tree.drags) {
      auto& body = world.bodies[view_.links[drag.link].body];
      const auto& link = view_.tree.links[drag.link];
      if ((eigen(link.centre) + eigen(view_.links[drag.link].origin)).norm() > 1e-12)
        refuse(drag.link,
               "drag must act at the centre of mass of its body; put it on a link to which nothing is fixed");
      body.linear_drag += drag.linear;
      body.angular_drag += drag.angular;
    }
    std::set<std::pair<int, int>> apart;
    const auto pair = [](int a, int b) { return std::pair(std::min(a, b), std::max(a, b)); };
    const int count = world.bodies.size();
    for (int b = 0; b < count; ++b)
      for (int a = 0; a < b; ++a)
        if (!model_.others_touch || (world.bodies[a].fixed && world.bodies[b].fixed)) apart.emplace(a, b);
    for (const auto& joint : world.joints) apart.insert(pair(joint.parent, joint.child));
    for (const auto& rule : model_.contacts) {
      const auto both = pair(view_.links[rule.one].body, view_.links[rule.other].body);
      if (rule.allowed)
        apart.erase(both);
      else if (both.first != both.second)
        apart.insert(both);
    }
    for (const auto& both : apart)
      if (!world.bodies[both.first].parts.empty() && !world.bodies[both.second].parts.empty() &&
          !(world.bodies[both.first].fixed && world.bodies[both.second].fixed))
        world.no_contact.push_back(both);
  }

  void forces(Control control) {
    auto& tree = view_.tree;
    // The world's own charges and drag are left out.
    Bodies<n> rest = view_;
    rest.tree.charges.clear();
    rest.tree.drags.clear();
    const bool stiff = std::ranges::any_of(tree.springs, [](const auto& s) { return s.stiffness != 0.0; });
    const bool damped = std::ranges::any_of(tree.springs, [](const auto& s) { return s.damping != 0.0; });
    if (stiff || !tree.potentials.empty()) view_.world.potentials.push_back(recorded_potential<n>(rest));
    const std::vector<Stop> stops = standing_.limits ? stops_of(tree) : std::vector<Stop>{};
    if (standing_.passive) std::erase_if(rest.tree.loads, uses_controls);
    if (!standing_.limits)
      for (auto& actuator : rest.tree.actuators) actuator.limit.reset();
    if (damped || !rest.tree.loads.empty() || !stops.empty() || (control && !tree.actuators.empty()))
      view_.world.forces.push_back(recorded_force<n>(rest, std::move(control), stops));
  }

  void constraints(const std::vector<GapContact>& contacts) {
    for (const GapContact& contact : contacts) {
      if (Model::at(contact.latch, values_.numbers) != 0.0)
        model_.fail(contact.line, "'" + contact.name +
                                      "' latches, and a contact simulation has no bilateral contact; use evaluator "
                                      "hybrid or remove latch");
    }
    view_.world.one_sided = recorded_constraints<n>(view_, contacts, values_.numbers);
    for (std::size_t i = 0; i < contacts.size(); ++i)
      if (view_.world.one_sided[i].bodies.empty())
        model_.fail(contacts[i].line,
                    "the gap of '" + contacts[i].name + "' is constant; allowed: a function of coordinates or points");
  }

  const Model& model_;
  const Values<double>& values_;
  const WorldOptions& standing_;
  Bodies<n> view_;
  std::vector<Cluster> clusters_;
  int ground_ = -1;
};

}  // namespace

template <int n>
typename Bodies<n>::State Bodies<n>::state(std::span<const double> q, std::span<const double> v) const {
  State state;
  state.poses.resize(world.bodies.size());
  state.twists.assign(world.bodies.size(), rigid::Twist<n>::Zero());
  const auto frames = tree.frames(q.data(), v.data());
  std::vector<bool> done(world.bodies.size(), false);
  for (std::size_t l = 0; l < links.size(); ++l) {
    const int b = links[l].body;
    if (done[b] || links[l].ring || world.bodies[b].fixed) continue;
    done[b] = true;
    const Vector3<double> centre = Vector3<double>{0.0, 0.0, 0.0} - links[l].origin;
    auto& pose = state.poses[b];
    auto& twist = state.twists[b];
    pose.position = head<n>(frames[l].point(centre));
    twist.template head<n>() = head<n>(frames[l].velocity_of(centre));
    const Vector3<double> spin = frames[l].rotation * frames[l].spin;
    if constexpr (n == 2) {
      pose.angle = frames[l].angle;
      twist[2] = spin[2];
    } else {
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) pose.directors(i, j) = frames[l].rotation[i][j];
      twist.template tail<3>() = eigen(spin);
    }
  }
  return state;
}

template <int n>
typename Bodies<n>::Coordinates Bodies<n>::coordinates(const State& state) const {
  std::size_t b = 0;
  std::vector<double> numbers;
  for (const auto& pose : state.poses) {
    const auto frame = pose.frame();
    for (int i = 0; i < n; ++i) numbers.push_back(frame.position[i]);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) numbers.push_back(frame.directors(i, j));
  }
  for (const auto& twist : state.twists) numbers.insert(numbers.end(), twist.begin(), twist.end());
  const auto frames = read_frames<n, double>(world.bodies.size(), true, [&] { return numbers[b++]; });
  auto known = tree_state<n, double>(tree, links, frames);
  if constexpr (n == 2)  // angles beyond half a turn do not appear in frames
    for (std::size_t l = 0; l < tree.links.size(); ++l) {
      const auto& link = tree.links[l];
      if (link.moves.empty() || link.moves.back().kind != Move::turn) continue;
      const double before = link.parent < 0 ? 0.0 : state.poses[links[link.parent].body].angle;
      known.q[link.first + std::ssize(link.moves) - 1] = state.poses[links[l].body].angle - before;
    }
  return {std::move(known.q), std::move(known.v)};
}

template <int n>
Bodies<n> bodies(const Model& model, const Values<double>& values, Control control, const WorldOptions& standing) {
  if (model.dimension != n)
    model.fail(0, "is of dimension " + std::to_string(model.dimension) + ", not " + std::to_string(n));
  if (const auto& rotors = model.structure.rotors; !rotors.empty())
    model.fail(0, "[rotor " + rotors.front().name + "] is not supported by the contact simulation; use a link instead");
  return Builder<n>(model, values, standing).build(std::move(control));
}

template struct Bodies<2>;
template struct Bodies<3>;
template Bodies<2> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);
template Bodies<3> bodies(const Model&, const Values<double>&, Control, const WorldOptions&);

}  // namespace dodyn::systems
