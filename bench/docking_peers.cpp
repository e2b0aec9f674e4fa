// Simulates docking craft with this program and with Bullet (in space) or Box2D (in the plane), if installed
// (libbullet-dev, libbox2d-dev). Prints CPU time for the same starts and duration, and the number of craft that are
// seated at the end.
//
//   docking_peers CONFIGURATION SECONDS STEP STARTS [--key value ...]
//   docking_peers configs/docking-space.cfg 10 0.002 100 --initial-states.box=0.08
//   docking_peers configs/docking.cfg 60 0.002 40 --design.spacing=0.05
//
// All programs take the same fixed steps. The peers apply the charges' forces at the beginning of a step. Lengths are
// multiplied by 100 for the peers, because their tolerances are made for metres and ports have millimetres. Seated:
// both tips are within 0.5 mm plus the ports' clearance of their seats.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>

#include "evaluators/evaluator.hpp"
#include "evaluators/simulation/initial_states.hpp"
#include "evaluators/simulation/keys.hpp"
#include "evaluators/simulation/runner.hpp"
#include "measure.hpp"
#include "rigid/simulation.hpp"

#ifdef DODYN_HAVE_BULLET
#include <btBulletDynamicsCommon.h>
#endif
#ifdef DODYN_HAVE_BOX2D
#include <box2d/box2d.h>
#endif

namespace {

using namespace dodyn;
constexpr double scale = 100.0;  // the peers' units of length per metre

template <int n>
struct Craft {
  systems::Bodies<n> view;
  rigid::World<n> world;
  typename systems::Bodies<n>::State state;
  double near = 0.0;  // maximum distance of a seated tip, m

  bool seated(const std::vector<geometry::Frame<n>>& frames) const {
    const auto at = [&](const char* name) {
      for (const auto& point : view.tree.named_points)
        if (point.name == name) {
          const auto& place = view.links[point.place.link];
          rigid::Vector<n> x;
          for (int i = 0; i < n; ++i) x[i] = point.place.at[i] + place.origin[i];
          return frames[place.body](x);
        }
      std::fprintf(stderr, "docking_peers: the model has no point %s\n", name);
      std::exit(2);
    };
    return (at("tip_a") - at("seat_a")).norm() <= near && (at("tip_b") - at("seat_b")).norm() <= near;
  }
};

struct Measured {
  double seconds = 0.0;
  int seated = 0;
};

template <int n>
void ours(const Craft<n>& craft, double end, double step, Measured& m) {
  rigid::Options options;
  options.step = step;
  rigid::Simulation<n> simulation(craft.world, options);
  const double before = bench::cpu_seconds();
  simulation.start(craft.state.poses, craft.state.twists);
  simulation.run(end);
  m.seconds += bench::cpu_seconds() - before;
  std::vector<geometry::Frame<n>> frames;
  for (const auto& pose : simulation.poses()) frames.push_back(pose.frame());
  m.seated += craft.seated(frames);
}

// Applies the forces of the charges at these frames (m) by push(body, point, force), N.
template <int n, class Push>
void charges(const rigid::World<n>& world, const std::vector<geometry::Frame<n>>& frames, Push push) {
  for (std::size_t i = 0; i < world.charges.size(); ++i)
    for (std::size_t j = i + 1; j < world.charges.size(); ++j) {
      const auto &a = world.charges[i], &b = world.charges[j];
      if (a.body == b.body) continue;
      const rigid::Vector<n> x = frames[a.body](a.at), y = frames[b.body](b.at), d = x - y;
      const rigid::Vector<n> force = world.charge_constant * a.value * b.value / std::pow(d.squaredNorm(), 1.5) * d;
      push(a.body, x, force);
      push(b.body, y, rigid::Vector<n>(-force));
    }
}

#ifdef DODYN_HAVE_BULLET
void bullet(const Craft<3>& craft, double end, double step, int iterations, Measured& m) {
  const auto vector = [](const rigid::Vector<3>& v, double by = 1.0) {
    return btVector3(static_cast<btScalar>(by * v[0]), static_cast<btScalar>(by * v[1]),
                     static_cast<btScalar>(by * v[2]));
  };
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broadphase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
  world.setGravity({0, 0, 0});
  world.getSolverInfo().m_numIterations = iterations;
  std::vector<std::unique_ptr<btConvexHullShape>> hulls;
  std::vector<std::unique_ptr<btCompoundShape>> shapes;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  for (std::size_t b = 0; b < craft.world.bodies.size(); ++b) {
    const auto& body = craft.world.bodies[b];
    shapes.push_back(std::make_unique<btCompoundShape>());
    for (const auto& part : body.parts) {
      hulls.push_back(std::make_unique<btConvexHullShape>());
      for (const auto& corner : part.corners()) hulls.back()->addPoint(vector(corner, scale));
      hulls.back()->setMargin(btScalar(0.005));
      shapes.back()->addChildShape(btTransform::getIdentity(), hulls.back().get());
    }
    const rigid::Matrix<3> inertia =
        scale * scale * (body.euler_tensor.trace() * rigid::Matrix<3>::Identity() - body.euler_tensor);
    btRigidBody::btRigidBodyConstructionInfo info(body.fixed ? btScalar(0) : static_cast<btScalar>(body.mass), nullptr,
                                                  shapes.back().get(), vector(inertia.diagonal()));
    const rigid::Matrix<3>& d = craft.state.poses[b].directors;
    const auto s = [&](int i, int j) { return static_cast<btScalar>(d(i, j)); };
    info.m_startWorldTransform.setBasis(
        btMatrix3x3(s(0, 0), s(0, 1), s(0, 2), s(1, 0), s(1, 1), s(1, 2), s(2, 0), s(2, 1), s(2, 2)));
    info.m_startWorldTransform.setOrigin(vector(craft.state.poses[b].position, scale));
    info.m_friction = static_cast<btScalar>(std::sqrt(body.surface.friction));  // Bullet multiplies
    info.m_restitution = static_cast<btScalar>(std::sqrt(body.surface.restitution));
    bodies.push_back(std::make_unique<btRigidBody>(info));
    bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    bodies.back()->setLinearVelocity(vector(craft.state.twists[b].head<3>(), scale));
    bodies.back()->setAngularVelocity(vector(craft.state.twists[b].tail<3>()));
    world.addRigidBody(bodies.back().get());
  }
  std::vector<geometry::Frame<3>> frames(bodies.size());
  const auto look = [&] {
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const btTransform& at = bodies[b]->getWorldTransform();
      for (int i = 0; i < 3; ++i) {
        frames[b].position[i] = at.getOrigin()[i] / scale;
        for (int j = 0; j < 3; ++j) frames[b].directors(i, j) = at.getBasis()[i][j];
      }
    }
  };
  const double before = bench::cpu_seconds();
  for (long k = 0; k < std::lround(end / step); ++k) {
    look();
    charges<3>(craft.world, frames, [&](int b, const rigid::Vector<3>& at, const rigid::Vector<3>& force) {
      bodies[b]->applyForce(vector(force, scale), vector(at - frames[b].position, scale));
    });
    world.stepSimulation(static_cast<btScalar>(step), 0, static_cast<btScalar>(step));
  }
  m.seconds += bench::cpu_seconds() - before;
  look();
  m.seated += craft.seated(frames);
  for (auto& body : bodies) world.removeRigidBody(body.get());
}
#endif

#ifdef DODYN_HAVE_BOX2D
void box2d(const Craft<2>& craft, double end, double step, Measured& m) {
  const auto vector = [](const rigid::Vector<2>& v) {
    return b2Vec2(static_cast<float>(scale * v[0]), static_cast<float>(scale * v[1]));
  };
  b2World world(b2Vec2(0.0F, 0.0F));
  world.SetAllowSleeping(false);
  std::vector<b2Body*> bodies;
  for (std::size_t b = 0; b < craft.world.bodies.size(); ++b) {
    const auto& body = craft.world.bodies[b];
    b2BodyDef one;
    one.type = body.fixed ? b2_staticBody : b2_dynamicBody;
    one.position = vector(craft.state.poses[b].position);
    one.angle = static_cast<float>(craft.state.poses[b].angle);
    one.linearVelocity = vector(craft.state.twists[b].head<2>());
    one.angularVelocity = static_cast<float>(craft.state.twists[b][2]);
    bodies.push_back(world.CreateBody(&one));
    for (const auto& part : body.parts) {
      std::vector<b2Vec2> corners;
      for (const auto& corner : part.corners()) corners.push_back(vector(corner));
      b2PolygonShape shape;
      shape.Set(corners.data(), corners.size());
      b2FixtureDef fixture;
      fixture.shape = &shape;
      fixture.density = 1.0F;
      fixture.friction = static_cast<float>(body.surface.friction);
      fixture.restitution = static_cast<float>(body.surface.restitution);
      fixture.restitutionThreshold = static_cast<float>(2e-4 * scale);
      bodies.back()->CreateFixture(&fixture);
    }
    if (body.fixed) continue;
    b2MassData mass;
    mass.mass = static_cast<float>(body.mass);
    mass.center.SetZero();
    mass.I = static_cast<float>(scale * scale * body.euler_tensor.trace());
    bodies.back()->SetMassData(&mass);
  }
  std::vector<geometry::Frame<2>> frames(bodies.size());
  const auto look = [&] {
    for (std::size_t b = 0; b < bodies.size(); ++b)
      frames[b] = rigid::Pose<2>{{bodies[b]->GetPosition().x / scale, bodies[b]->GetPosition().y / scale},
                                 bodies[b]->GetAngle()}
                      .frame();
  };
  const double before = bench::cpu_seconds();
  for (long k = 0; k < std::lround(end / step); ++k) {
    look();
    charges<2>(craft.world, frames, [&](int b, const rigid::Vector<2>& at, const rigid::Vector<2>& force) {
      bodies[b]->ApplyForce(vector(force), vector(at), true);
    });
    world.Step(static_cast<float>(step), 8, 3);
  }
  m.seconds += bench::cpu_seconds() - before;
  look();
  m.seated += craft.seated(frames);
}
#endif

template <int n>
void compare(const Settings& settings, double end, double step, int count) {
  namespace simulation = evaluators::simulation;
  const systems::Model model = systems::find_model(settings.text("simulation.model"));
  simulation::InitialStates starts(settings, model);
  simulation::FormulaReader reader(model, starts.variables());
  starts.read(reader);
  std::map<std::string, double> design;
  for (const auto& name : settings.given_variables) design[name] = settings.design(name, {});
  const auto held = simulation::held_links(settings, model);
  std::vector<std::pair<const char*, std::function<void(const Craft<n>&, Measured&)>>> programs = {
      {"dodyn", [&](const Craft<n>& craft, Measured& m) { ours<n>(craft, end, step, m); }}};
#ifdef DODYN_HAVE_BULLET
  if constexpr (n == 3) {
    programs.emplace_back("Bullet, 10 sweeps",
                          [&](const auto& craft, Measured& m) { bullet(craft, end, step, 10, m); });
    programs.emplace_back("Bullet, 50 sweeps",
                          [&](const auto& craft, Measured& m) { bullet(craft, end, step, 50, m); });
  }
#endif
#ifdef DODYN_HAVE_BOX2D
  if constexpr (n == 2)
    programs.emplace_back("Box2D", [&](const auto& craft, Measured& m) { box2d(craft, end, step, m); });
#endif
  std::vector<Measured> sums(programs.size());
  for (int k = 0; k < std::min(count, starts.count()); ++k) {
    const auto start = starts.start(k, design);
    Craft<n> craft;
    craft.view = simulation::held(systems::bodies<n>(model, start.values), held);
    craft.world = craft.view.world;
    craft.state = craft.view.state(start.q, start.v);
    const int clearance = model.parameter("clearance");
    craft.near = 0.5e-3 + (n == 3 ? start.values.parameters[clearance] : 0.0);
    for (std::size_t p = 0; p < programs.size(); ++p) programs[p].second(craft, sums[p]);
  }
  const int met = std::min(count, starts.count());
  std::printf("| program | CPU s for %g s at %g ms | of dodyn's | seated then, of %d |\n|---|---:|---:|---:|\n", end,
              1e3 * step, met);
  for (std::size_t p = 0; p < programs.size(); ++p)
    std::printf("| %s | %.4f | %.2f | %d |\n", programs[p].first, sums[p].seconds / met,
                sums[p].seconds / sums[0].seconds, sums[p].seated);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "docking_peers: CONFIGURATION SECONDS STEP STARTS [--key value ...]\n");
    return 2;
  }
  try {
    const Settings settings = evaluators::read_settings(argv[1], {argv + 5, argv + argc});
    const double end = std::atof(argv[2]), step = std::atof(argv[3]);
    if (systems::find_model(settings.text("simulation.model")).dimension == 2)
      compare<2>(settings, end, step, std::atoi(argv[4]));
    else
      compare<3>(settings, end, step, std::atoi(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "docking_peers: %s\n", error.what());
    return 2;
  }
  return 0;
}
