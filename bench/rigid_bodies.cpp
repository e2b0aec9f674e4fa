// How the cost of contact grows with the number of bodies, next to Bullet where it is installed (libbullet-dev).
//
//   rigid_bodies [seconds simulated] [step, s] [bodies ...]
//
// Hexagonal prisms side by side on a hexagonal grid drop 2 cm on a floor with random velocities and are pulled towards
// the middle of the grid, 2 m/s^2 each, so that they pack into one clump; e = 0.2, mu = 0.1. CPU seconds per simulated
// second, both programs in one run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "evaluators/scenes.hpp"
#include "rigid/simulation.hpp"

#ifdef DODYN_HAVE_BULLET
#include <btBulletDynamicsCommon.h>
#endif

namespace {

using namespace dodyn;

double cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

rigid::Vector<3> pull(const rigid::Vector<3>& at) {
  const rigid::Vector<3> out(at[0], at[1], 0.0);
  return -2.0 / std::max(0.1, out.norm()) * out;
}

std::vector<double> masses(const evaluators::Scene<3>& scene) {
  std::vector<double> all;
  for (const auto& body : scene.world.bodies) all.push_back(body.fixed ? 0.0 : body.mass);
  return all;
}

evaluators::Scene<3> prisms(int count) {
  evaluators::HexagonalPrisms h;
  h.prisms = count;
  h.charge_constant = 0.0;
  h.speed = 0.2;
  h.distance = 0.02;
  h.surface = {0.2, 0.1};
  const auto grid = evaluators::hexagonal_prisms(h);
  evaluators::Scene<3> scene;
  evaluators::add_floor(scene, 9.81, h.surface);
  for (std::size_t i = 0; i < grid.poses.size(); ++i) {
    auto pose = grid.poses[i];
    pose.position[2] = 0.5 * h.height + 0.02;
    scene.add(grid.world.bodies[i], pose, grid.twists[i]);
  }
  scene.world.forces.push_back([masses = masses(scene)](double, rigid::Frames<3> frames, const auto&, auto wrench) {
    for (std::size_t b = 0; b < frames.size(); ++b)
      wrench[b].template head<3>() += masses[b] * pull(frames[b].position);
  });
  return scene;
}

struct Measured {
  double seconds = 0.0, overlap = 0.0, kinetic = 0.0;
  double touching = 0.0;  // pairs at the end
};

Measured ours(const evaluators::Scene<3>& scene, double duration, double step) {
  rigid::Options options;
  options.step = step;
  rigid::Simulation<3> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  const double start = cpu();
  const auto end = simulation.run(duration);
  Measured m;
  m.seconds = cpu() - start;
  if (end.status == rigid::Outcome::failed) std::printf("failed: %s\n", end.reason.c_str());
  m.overlap = simulation.overlap();
  m.kinetic = simulation.energies().kinetic;
  m.touching = static_cast<double>(simulation.contacts().size());
  return m;
}

#ifdef DODYN_HAVE_BULLET
Measured bullets(const evaluators::Scene<3>& scene, double duration, double step) {
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broadphase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
  world.setGravity({0, 0, static_cast<btScalar>(scene.world.gravity[2])});
  std::vector<std::unique_ptr<btCollisionShape>> shapes;
  std::vector<std::unique_ptr<btDefaultMotionState>> states;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  for (std::size_t i = 0; i < scene.poses.size(); ++i) {
    const auto& body = scene.world.bodies[i];
    auto shape = std::make_unique<btConvexHullShape>();
    for (const auto& x : body.parts[0].corners())
      shape->addPoint({static_cast<btScalar>(x[0]), static_cast<btScalar>(x[1]), static_cast<btScalar>(x[2])});
    shape->setMargin(btScalar(0.001));
    btVector3 inertia(0, 0, 0);
    const btScalar mass = body.fixed ? btScalar(0) : static_cast<btScalar>(body.mass);
    if (!body.fixed) shape->calculateLocalInertia(mass, inertia);
    const auto& d = scene.poses[i].directors;
    const auto& x = scene.poses[i].position;
    const auto s = [](double v) { return static_cast<btScalar>(v); };
    const btTransform pose(btMatrix3x3(s(d(0, 0)), s(d(0, 1)), s(d(0, 2)), s(d(1, 0)), s(d(1, 1)), s(d(1, 2)),
                                       s(d(2, 0)), s(d(2, 1)), s(d(2, 2))),
                           {s(x[0]), s(x[1]), s(x[2])});
    states.push_back(std::make_unique<btDefaultMotionState>(pose));
    btRigidBody::btRigidBodyConstructionInfo info(mass, states.back().get(), shape.get(), inertia);
    info.m_restitution = s(std::sqrt(body.surface.restitution));  // Bullet multiplies; ours is the geometric mean
    info.m_friction = s(std::sqrt(body.surface.friction));
    bodies.push_back(std::make_unique<btRigidBody>(info));
    bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    const auto& v = scene.twists[i];
    bodies.back()->setLinearVelocity({s(v[0]), s(v[1]), s(v[2])});
    shapes.push_back(std::move(shape));
    world.addRigidBody(bodies.back().get());
  }
  const double start = cpu();
  for (long k = 0; k < std::lround(duration / step); ++k) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (scene.world.bodies[i].fixed) continue;
      const btVector3 at = bodies[i]->getWorldTransform().getOrigin();
      const rigid::Vector<3> force = scene.world.bodies[i].mass * pull({at[0], at[1], at[2]});
      bodies[i]->applyCentralForce({static_cast<btScalar>(force[0]), static_cast<btScalar>(force[1]), 0});
    }
    world.stepSimulation(static_cast<btScalar>(step), 0, static_cast<btScalar>(step));
  }
  Measured m;
  m.seconds = cpu() - start;
  for (int i = 0; i < dispatcher.getNumManifolds(); ++i) {
    const auto* manifold = dispatcher.getManifoldByIndexInternal(i);
    m.touching += manifold->getNumContacts() > 0;
    for (int k = 0; k < manifold->getNumContacts(); ++k)
      m.overlap = std::max(m.overlap, -static_cast<double>(manifold->getContactPoint(k).getDistance()));
  }
  for (std::size_t i = 0; i < bodies.size(); ++i)
    if (!scene.world.bodies[i].fixed)
      m.kinetic += 0.5 * scene.world.bodies[i].mass * bodies[i]->getLinearVelocity().length2();
  for (auto& body : bodies) world.removeRigidBody(body.get());
  return m;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  const double duration = argc > 1 ? std::atof(argv[1]) : 0.5, step = argc > 2 ? std::atof(argv[2]) : 2e-3;
  std::vector<int> counts;
  for (int i = 3; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
  if (counts.empty()) counts = {16, 64, 256};
  std::printf("%6s %10s %12s %10s %12s %10s", "bodies", "CPU s/s", "us/body/step", "overlap m", "kinetic J",
              "touching");
#ifdef DODYN_HAVE_BULLET
  std::printf(" | %10s %10s %12s %8s", "Bullet s/s", "overlap m", "kinetic J", "ratio");
#endif
  std::printf("\n");
  for (const int count : counts) {
    const auto scene = prisms(count);
    const Measured own = ours(scene, duration, step);
    std::printf("%6d %10.4g %12.3g %10.2g %12.3g %10.0f", count, own.seconds / duration,
                1e6 * own.seconds / count / (duration / step), own.overlap, own.kinetic, own.touching);
#ifdef DODYN_HAVE_BULLET
    const Measured other = bullets(scene, duration, step);
    std::printf(" | %10.4g %10.2g %12.3g %8.3g", other.seconds / duration, other.overlap, other.kinetic,
                own.seconds / other.seconds);
#endif
    std::printf("\n");
    std::fflush(stdout);
  }
}
