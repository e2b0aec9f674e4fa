// Stacks of boxes next to Bullet and the Open Dynamics Engine, if these are installed (libbullet-dev, libode-dev).
// Prints CPU time of a step, and the drift and overlap of the stack.
//
//   stacks [seconds simulated] [step, s] [boxes ...]
//
// Boxes of 0.1 m and 0.5 kg stand on each other; every other one is displaced by 1 cm; e = 0, mu = 0.4. Drift: the
// largest displacement of a centre of mass. Overlap: the largest one at the end, as each program reports it.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <vector>

#include "../tests/rigid/scenes.hpp"
#include "rigid/simulation.hpp"

#ifdef DODYN_HAVE_BULLET
#include <btBulletDynamicsCommon.h>
#endif
#ifdef DODYN_HAVE_ODE
#include <ode/ode.h>
#endif

namespace {

using namespace dodyn;

constexpr double side = 0.1, mu = 0.4;

double cpu() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Measured {
  double seconds = 0.0, drift = 0.0, overlap = 0.0;
  void see(const rigid::Vector<3>& start, double x, double y, double z) {
    drift = std::max(drift, (rigid::Vector<3>(x, y, z) - start).norm());
  }
};

Measured ours(const rigid::Scene<3>& scene, long steps, double step) {
  rigid::Options options;
  options.step = step;
  rigid::Simulation<3> simulation(scene.world, options);
  simulation.start(scene.poses, scene.twists);
  Measured m;
  const double start = cpu();
  for (long k = 0; k < steps; ++k) {
    if (!simulation.step()) {
      std::printf("failed: %s\n", simulation.outcome().reason.c_str());
      break;
    }
    for (std::size_t b = 1; b < scene.poses.size(); ++b) {
      const auto& x = simulation.poses()[b].position;
      m.see(scene.poses[b].position, x[0], x[1], x[2]);
    }
  }
  m.seconds = cpu() - start;
  m.overlap = simulation.overlap();
  return m;
}

#ifdef DODYN_HAVE_BULLET
Measured bullets(const rigid::Scene<3>& scene, long steps, double step, int iterations) {
  const auto s = [](double v) { return static_cast<btScalar>(v); };
  btDefaultCollisionConfiguration configuration;
  btCollisionDispatcher dispatcher(&configuration);
  btDbvtBroadphase broadphase;
  btSequentialImpulseConstraintSolver solver;
  btDiscreteDynamicsWorld world(&dispatcher, &broadphase, &solver, &configuration);
  world.setGravity({0, 0, s(scene.world.gravity[2])});
  world.getSolverInfo().m_numIterations = iterations;
  btBoxShape box({s(0.5 * side), s(0.5 * side), s(0.5 * side)});
  btBoxShape floor({10, 10, 1});
  std::vector<std::unique_ptr<btDefaultMotionState>> states;
  std::vector<std::unique_ptr<btRigidBody>> bodies;
  for (std::size_t b = 0; b < scene.poses.size(); ++b) {
    const auto& x = scene.poses[b].position;
    btTransform pose;
    pose.setIdentity();
    pose.setOrigin(b == 0 ? btVector3(0, 0, -1) : btVector3(s(x[0]), s(x[1]), s(x[2])));
    btVector3 inertia(0, 0, 0);
    const btScalar mass = b == 0 ? btScalar(0) : s(scene.world.bodies[b].mass);
    btCollisionShape* shape = b == 0 ? &floor : &box;
    if (b > 0) shape->calculateLocalInertia(mass, inertia);
    states.push_back(std::make_unique<btDefaultMotionState>(pose));
    btRigidBody::btRigidBodyConstructionInfo info(mass, states.back().get(), shape, inertia);
    info.m_friction = s(std::sqrt(mu));  // Bullet multiplies
    bodies.push_back(std::make_unique<btRigidBody>(info));
    bodies.back()->setActivationState(DISABLE_DEACTIVATION);
    world.addRigidBody(bodies.back().get());
  }
  Measured m;
  const double start = cpu();
  for (long k = 0; k < steps; ++k) {
    world.stepSimulation(s(step), 0, s(step));
    for (std::size_t b = 1; b < bodies.size(); ++b) {
      const btVector3& x = bodies[b]->getWorldTransform().getOrigin();
      m.see(scene.poses[b].position, x[0], x[1], x[2]);
    }
  }
  m.seconds = cpu() - start;
  for (int i = 0; i < dispatcher.getNumManifolds(); ++i) {
    const auto* manifold = dispatcher.getManifoldByIndexInternal(i);
    for (int k = 0; k < manifold->getNumContacts(); ++k)
      m.overlap = std::max(m.overlap, -static_cast<double>(manifold->getContactPoint(k).getDistance()));
  }
  for (auto& body : bodies) world.removeRigidBody(body.get());
  return m;
}
#endif

#ifdef DODYN_HAVE_ODE
struct Touching {
  dWorldID world;
  dJointGroupID joints;
  double overlap;
};

void meet(void* data, dGeomID one, dGeomID two) {
  auto& touching = *static_cast<Touching*>(data);
  dContact contact[8];
  const int count = dCollide(one, two, 8, &contact[0].geom, sizeof(dContact));
  for (int i = 0; i < count; ++i) {
    contact[i].surface = {};
    contact[i].surface.mode = dContactApprox1;
    contact[i].surface.mu = mu;
    touching.overlap = std::max(touching.overlap, static_cast<double>(contact[i].geom.depth));
    dJointAttach(dJointCreateContact(touching.world, touching.joints, &contact[i]), dGeomGetBody(one),
                 dGeomGetBody(two));
  }
}

// `iterations`: of QuickStep; 0: the exact step (Dantzig's algorithm).
Measured ode(const rigid::Scene<3>& scene, long steps, double step, int iterations) {
  dWorldID world = dWorldCreate();
  dSpaceID space = dHashSpaceCreate(nullptr);
  dJointGroupID joints = dJointGroupCreate(0);
  dWorldSetGravity(world, 0, 0, scene.world.gravity[2]);
  if (iterations > 0) dWorldSetQuickStepNumIterations(world, iterations);
  dCreatePlane(space, 0, 0, 1, 0);
  std::vector<dBodyID> bodies;
  for (std::size_t b = 1; b < scene.poses.size(); ++b) {
    bodies.push_back(dBodyCreate(world));
    dMass mass;
    dMassSetBoxTotal(&mass, scene.world.bodies[b].mass, side, side, side);
    dBodySetMass(bodies.back(), &mass);
    const auto& x = scene.poses[b].position;
    dBodySetPosition(bodies.back(), x[0], x[1], x[2]);
    dGeomSetBody(dCreateBox(space, side, side, side), bodies.back());
  }
  Measured m;
  const double start = cpu();
  for (long k = 0; k < steps; ++k) {
    Touching touching{world, joints, 0.0};
    dSpaceCollide(space, &touching, meet);
    if (iterations > 0)
      dWorldQuickStep(world, step);
    else
      dWorldStep(world, step);
    dJointGroupEmpty(joints);
    m.overlap = touching.overlap;
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const dReal* x = dBodyGetPosition(bodies[b]);
      m.see(scene.poses[b + 1].position, x[0], x[1], x[2]);
    }
  }
  m.seconds = cpu() - start;
  dJointGroupDestroy(joints);
  dSpaceDestroy(space);
  dWorldDestroy(world);
  return m;
}
#endif

void print(int boxes, const char* name, const Measured& m, long steps) {
  std::printf("| %5d | %-26s | %10.4g | %10.2e | %10.2e |\n", boxes, name, 1e3 * m.seconds / static_cast<double>(steps),
              m.drift, m.overlap);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const double duration = argc > 1 ? std::atof(argv[1]) : 2.0, step = argc > 2 ? std::atof(argv[2]) : 2e-3;
  std::vector<int> counts;
  for (int i = 3; i < argc; ++i) counts.push_back(std::atoi(argv[i]));
  if (counts.empty()) counts = {5, 20, 100, 256};
  const long steps = std::lround(duration / step);
  std::printf("| boxes | program                    | ms a step  | drift, m   | overlap, m |\n");
  std::printf("|------:|----------------------------|-----------:|-----------:|-----------:|\n");
#ifdef DODYN_HAVE_ODE
  dInitODE();
  dSetMessageHandler([](int, const char*, va_list) {});  // suppresses messages of the exact step
#endif
  for (const int boxes : counts) {
    const auto scene = rigid::stack<3>({.boxes = boxes, .side = side, .surface = {0.0, mu}});
    print(boxes, "dodyn", ours(scene, steps, step), steps);
#ifdef DODYN_HAVE_BULLET
    print(boxes, "Bullet, 10 sweeps", bullets(scene, steps, step, 10), steps);
    print(boxes, "Bullet, 200 sweeps", bullets(scene, steps, step, 200), steps);
#endif
#ifdef DODYN_HAVE_ODE
    print(boxes, "ODE QuickStep, 20 sweeps", ode(scene, steps, step, 20), steps);
    print(boxes, "ODE QuickStep, 200 sweeps", ode(scene, steps, step, 200), steps);
    if (boxes <= 20)
      print(boxes, "ODE exact step (Dantzig)", ode(scene, std::min(steps, 100L), step, 0), std::min(steps, 100L));
#endif
  }
#ifdef DODYN_HAVE_ODE
  dCloseODE();
#endif
}
