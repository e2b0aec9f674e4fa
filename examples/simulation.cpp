// Bodies that collide: a block that bounces beside one that stays down.
//
//   examples/simulation
//
// A model text gives links, shapes and surfaces; its bodies view is a world of rigid bodies that the contact simulation
// moves (docs/simulation.md). Two blocks fall from the same height on a floor. The one gives back 0.8 of its speed in
// every impact, so it must rise to 0.64, 0.41, 0.26 ... of the height; the other gives nothing back and must lie still.
#include "rigid/simulation.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

#include "systems/bodies.hpp"

using namespace dodyn;

// 1. The text. Numbers are expressions of parameters, which can be given another value below.
constexpr const char* text = R"(
[model]
dimension = 2
[parameters]
side = 0.1                # m
bounce = 0.8
[link floor]
parent = ground
joint = fixed
[shape slab]
link = floor
at = 0, -0.5
box = 4, 1
outward = 0, 1
[link rubber]
parent = ground
joint = planar
surface = rubber
[shape rubber]
link = rubber
box = side, side
density = 500
[link putty]
parent = ground
joint = planar
surface = putty
[shape putty]
link = putty
box = side, side
density = 500
[surface]
restitution = 1
[surface rubber]
restitution = bounce^2    # with the floor's 1 the geometric mean is `bounce`
[surface putty]
restitution = 0
)";

int main() {
  const systems::Model model = systems::read_model(text, "two blocks");
  const systems::Values<double> values = model.evaluate<double>({{"bounce", 0.8}});

  // 2. The world, and where it starts: coordinates x, y, angle of each block, and their rates.
  const systems::Bodies<2> bodies = systems::bodies<2>(model, values);
  const double height = 1.0;  // m, of the bottom above the floor
  const std::vector<double> rest(6, 0.0);
  const std::vector<double> q{-0.5, 0.05 + height, 0.0, 0.5, 0.05 + height, 0.0};
  const auto start = bodies.state(q, rest);

  // 3. Run it. Whatever is to be looked at on the way is looked at in the event, which is asked at every node.
  rigid::Options options;
  options.step = 1e-3;  // s
  rigid::Simulation<2> simulation(bodies.world, options);
  simulation.start(start.poses, start.twists);
  const double energy = simulation.energies().total();
  std::vector<double> peaks;  // of the rubber block, as a share of the height
  double before = 0, last = height;
  const auto watch = [&](const rigid::Simulation<2>& s) {
    const auto now = bodies.coordinates({{s.poses().begin(), s.poses().end()}, {s.twists().begin(), s.twists().end()}});
    const double y = now.q[1] - 0.05;
    if (last > before && last > y && s.time() > 0.1) peaks.push_back(last / height);
    before = last;
    last = y;
    return peaks.size() == 3;
  };
  const rigid::Outcome end = simulation.run(5.0, watch);
  if (end.status == rigid::Outcome::failed) {
    std::printf("%s\n", end.reason.c_str());
    return 1;
  }

  // 4. Look at the result: heights of the closed form, and the energy of both blocks, of which m g h (2 - 0.8^6) must be
  //    gone when the third rise ends.
  bool good = peaks.size() == 3;
  for (std::size_t k = 0; k < peaks.size(); ++k) {
    const double expected = std::pow(0.8, 2.0 * (static_cast<double>(k) + 1));
    std::printf("rises to %.4f of the height, by closed form %.4f\n", peaks[k], expected);
    good = good && std::abs(peaks[k] - expected) < 0.01;
  }
  const auto now = bodies.coordinates({{simulation.poses().begin(), simulation.poses().end()},
                                       {simulation.twists().begin(), simulation.twists().end()}});
  const double gone = energy - simulation.energies().total();
  const double expected = 500 * 0.1 * 0.1 * 9.81 * height * (2 - std::pow(0.8, 6));
  std::printf("at %.3f s the putty lies at %.1e m, moving at %.1e m/s; %.3f J are gone, by closed form %.3f J\n",
              simulation.time(), now.q[4] - 0.05, now.v[4], gone, expected);
  good = good && std::abs(now.q[4] - 0.05) < 1e-6 && std::abs(now.v[4]) < 1e-6 && std::abs(gone - expected) < 0.2;
  return good ? 0 : 1;
}
