// Cost of contact by the number of bodies, next to Bullet if it is installed (libbullet-dev).
//
//   rigid_bodies [seconds simulated] [step, s] [bodies ...]
//   rigid_bodies books          energy of bounces and elastic bodies, quietness of stacks (docs/measured/contact.md)
//
// Hexagonal prisms side by side on a hexagonal grid drop 2 cm onto a floor with random velocities. A force of 2 m/s^2
// times mass pulls each towards the middle of the grid, so that they pack into one clump; e = 0.2, mu = 0.1. Prints CPU
// seconds per simulated second, both programs in one run.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "../tests/rigid/scenes.hpp"
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

std::vector<double> masses(const rigid::Scene<3>& scene) {
  std::vector<double> all;
  for (const auto& body : scene.world.bodies) all.push_back(body.fixed ? 0.0 : body.mass);
  return all;
}

rigid::Scene<3> prisms(int count) {
  rigid::HexagonalPrisms h;
  h.prisms = count;
  h.charge_constant = 0.0;
  h.speed = 0.2;
  h.distance = 0.02;
  h.surface = {0.2, 0.1};
  const auto grid = rigid::hexagonal_prisms(h);
  rigid::Scene<3> scene;
  rigid::add_floor(scene, 9.81, h.surface);
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

Measured ours(const rigid::Scene<3>& scene, double duration, double step) {
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
Measured bullets(const rigid::Scene<3>& scene, double duration, double step) {
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
    info.m_restitution = s(std::sqrt(body.surface.restitution));  // Bullet takes the product, dodyn the geometric mean
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

// A cube dropped flat from 0.5 m. Returns the relative error of the tenth peak's height, which should be 0.5 e^20.
double tenth_peak(double e, rigid::Options options) {
  rigid::SlidingBox box;
  box.speed = 0.0;
  box.height = 0.5;
  box.surface = {e, 0.0};
  const auto scene = rigid::sliding_box<3>(box);
  rigid::Simulation<3> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  double before = 0.0, last = 0.0, top = 0.0;
  int peaks = 0;
  simulation.run(20.0, [&](const auto& s) {
    const double z = s.poses()[1].position[2] - 0.5 * box.side;
    if (s.time() > 1.5 * options.step && last > before && last >= z) {
      ++peaks;  // maximum of the parabola through three nodes
      top = last - 0.125 * (z - before) * (z - before) / (z - 2.0 * last + before);
    }
    before = last;
    last = z;
    return peaks == 10;
  });
  return top / (box.height * std::pow(e, 20)) - 1.0;
}

void books() {
  rigid::Options options;
  std::printf("bounce: tenth peak\n%5s %7s %12s %12s\n", "e", "h, ms", "Newton", "Poisson");
  for (const double e : {1.0, 0.8})
    for (const double h : {0.01, 0.005, 0.002, 0.001}) {
      options.step = h;
      std::printf("%5.1f %7.0f", e, 1e3 * h);
      for (const auto law : {rigid::Restitution::newton, rigid::Restitution::poisson}) {
        options.restitution = law;
        std::printf(" %11.4f%%", 100.0 * tenth_peak(e, options));
      }
      std::printf("\n");
    }
  options = {};
  std::printf("elastic polyhedra, 10 s\n%7s %7s %14s %9s %6s\n", "bodies", "h, ms", "energy change", "impulses",
              "cuts");
  for (const int count : {1, 7})
    for (const double h : {0.005, 0.002, 0.001}) {
      rigid::FallingPolyhedra f;
      f.bodies = count;
      f.surface = {1.0, 0.0};
      const auto scene = rigid::falling_polyhedra(f);
      options.step = h;
      rigid::Simulation<3> simulation(scene.world, options);
      simulation.start(scene.poses, scene.twists);
      const double energy = simulation.energies().total();
      simulation.run(10.0);
      std::printf("%7d %7.0f %14.2e %9d %6d\n", count, 1e3 * h, simulation.energies().total() / energy - 1.0,
                  simulation.contact_totals().impulses, simulation.contact_totals().cuts);
    }
  std::printf("stacks, h = 2 ms, largest of 2 s\n%7s %12s %12s %12s %12s %10s\n", "boxes", "drift, m", "spin, rad/s",
              "gain, J", "residual m/s", "CPU s/s");
  for (const int count : {5, 10, 20, 50, 100}) {
    const auto scene = rigid::stack<3>({.boxes = count});
    options.step = 2e-3;
    rigid::Simulation<3> simulation(scene.world, options);
    simulation.start(scene.poses, scene.twists);
    const double energy = simulation.energies().total(), start = cpu();
    double drift = 0.0, spin = 0.0, gain = 0.0;
    simulation.run(2.0, [&](const auto& s) {
      for (std::size_t b = 0; b < scene.poses.size(); ++b) {
        drift = std::max(drift, (s.poses()[b].position - scene.poses[b].position).norm());
        spin = std::max(spin, s.twists()[b].template tail<3>().norm());
      }
      gain = std::max(gain, s.energies().total() - energy);
      return false;
    });
    std::printf("%7d %12.2e %12.2e %12.2e %12.2e %10.3g\n", count, drift, spin, gain,
                simulation.contact_totals().residual, 0.5 * (cpu() - start));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "books") == 0) {
    books();
    return 0;
  }
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
