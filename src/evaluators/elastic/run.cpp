#include "evaluators/elastic/run.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "evaluators/initial_state_keys.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators::elastic_text {
using geometry::Vector;

const KeyTable<RunOptions>& run_keys() {
  using S = RunOptions;
  static const auto table = with_initial_state_keys(
      KeyTable<S>("elastic.")
          .add("step", &S::step,
               or_word("auto", 0.0,
                       number(from(0, 10), "s",
                              "time step; auto: 20 % of the largest step that is stable for the elements and one "
                              "overlap")))
          .add("contact-method", &S::response,
               {{"penalty", rigid::Response::penalty},
                {"event-driven", rigid::Response::exact},
                {"projection", rigid::Response::decomposition}},
               {.description =
                    "how contacts push; penalty: by a potential of the overlap; event-driven: by impulses when a gap "
                    "closes within a step; projection: by reversing the closing momenta at the end of a step"})
          .add("restitution", &S::restitution,
               number(from(0, 1), "1", "restitution of contacts, with contact-method = event-driven or projection"))
          .add("duration", &S::duration, number(above(0, 1e6), "s", "simulated time, from the start to the end"))
          .add("nodes", &S::nodes,
               number(from(2, 1000000), "number of stored rows of the trajectory, evenly spaced in time"))
          .add("points", &S::points,
               {.description =
                    "whether trajectories contain the nodes of all meshes; pictures and animations need them"}));
  return table;
}

const std::vector<Quantity>& run_metrics() {
  static const std::vector<Quantity> all = {
      {"energy_change", "J", "largest change of the total energy since the start"},
      {"kinetic", "J", "kinetic energy at the end"},
      {"elastic", "J", "deformation energy at the end"},
      {"max_overlap", "m", "largest overlap of two bodies, at any step"},
      {"first_touch", "s", "time of the first contact; not a number without contact"},
      {"last_touch", "s", "time of the last contact; not a number without contact"},
      {"touching", "1", "number of pairs of bodies that touched at any time"},
      {"min_jacobian", "1", "smallest volume of an element at a row of the trajectory, relative to its volume at rest"},
      {"momentum_change", "N s", "change of the linear momentum"}};
  return all;
}

template <int n>
std::vector<std::string> names(const Scene<n>& scene) {
  auto all = names_of(scene.world.rigid.bodies);
  for (const auto& body : scene.world.deformable) all.push_back(body.name);
  return all;
}

std::vector<std::string> places(int dimension) {
  return dimension == 2 ? std::vector<std::string>{"x", "y", "vx", "vy"}
                        : std::vector<std::string>{"x", "y", "z", "vx", "vy", "vz"};
}

Channels run_channels(const std::vector<std::string>& names, int dimension, int rows) {
  Channel q{"centre", "", "positions and velocities of the centres of mass", rows, {}};
  for (const auto& name : names)
    for (const auto& what : places(dimension)) {
      q.coordinates.push_back(name + " " + what);
      q.units.emplace_back(what[0] == 'v' ? "m/s" : "m");
    }
  return {{"t", "s", "time", rows, {"t"}},
          q,
          {"energy",
           "J",
           "kinetic energy; energy of deformation, of overlaps, of gravity and charges",
           rows,
           {"kinetic", "elastic", "contact", "potential"}}};
}

template <int n>
Channel points_channel(const Scene<n>& scene, int rows) {
  Channel points{"points", "m", "nodes of the meshes", rows, {}};
  for (const auto& body : scene.world.deformable) {
    const auto node = [&](int i) { return body.name + "." + std::to_string(i); };
    for (std::size_t i = 0; i < body.mesh.nodes.size(); ++i)
      for (int a = 0; a < n; ++a) points.coordinates.push_back(node(i) + "_" + std::string(1, "xyz"[a]));
    std::vector<std::pair<int, int>> edges;
    for (const auto& face : elastic::boundary_faces(body.mesh))
      for (const int i : face)
        for (const int j : face)
          if (i < j) edges.emplace_back(i, j);
    std::ranges::sort(edges);
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    for (const auto& [i, j] : edges) points.segments.insert(points.segments.end(), {node(i), node(j)});
  }
  return points;
}

template <int n>
elastic::Options options_of(const Scene<n>& scene, const RunOptions& own) {
  elastic::Options options{own.step, scene.stiffness, own.response, own.restitution};
  if (own.step > 0.0) return options;
  options.step = 1.0;
  options.step = 0.2 * elastic::Simulation<n>(scene.world, options).stable_step();
  return options;
}

namespace {

// Records a run: rows of its trajectory, and extremes over all steps.
template <int n>
struct Observer {
  const elastic::Simulation<n>& simulation;
  const RunOptions& options;
  int rigid;  // number of rigid bodies, which come first
  RunResult& ran;

  double smallest_jacobian = 1.0, energy_change = 0.0, overlap = 0.0;
  double first_touch = not_a_number, last_touch = not_a_number;
  std::vector<std::pair<int, int>> touching;  // pairs that touched in any step

  // Returns the centre of mass and its velocity.
  Eigen::Matrix<double, 2 * n, 1> state(int b) const {
    Eigen::Matrix<double, 2 * n, 1> all;
    if (b < rigid)
      all << simulation.poses()[b].position, simulation.twist(b).template head<n>();
    else
      all << simulation.centre(b - rigid), simulation.velocity(b - rigid);
    return all;
  }

  void lay_out(const std::vector<std::string>& bodies) {
    for (const auto& channel : run_channels(bodies, n, options.nodes))
      ran.trajectory.values.push_back(
          Eigen::MatrixXd::Constant(options.nodes, channel.coordinates.size(), not_a_number));
    if (options.points)
      ran.trajectory.values.push_back(
          Eigen::MatrixXd::Constant(options.nodes, simulation.nodes().size(), not_a_number));
  }

  void keep_row(int bodies) {
    const auto row = ran.rows++;
    ran.trajectory.values[0](row, 0) = simulation.time();
    for (int b = 0; b < bodies; ++b)
      ran.trajectory.values[1].row(row).template segment<2 * n>(2 * n * b) = state(b).transpose();
    const auto e = simulation.energies();
    ran.trajectory.values[2].row(row) << e.kinetic, e.elastic, e.contact, e.potential;
    if (options.points) ran.trajectory.values[3].row(row) = simulation.nodes().reshaped().transpose();
    smallest_jacobian = std::min(smallest_jacobian, simulation.smallest_jacobian());
  }

  void see_step() {
    ++ran.steps;
    energy_change = std::max(energy_change, std::abs(simulation.energies().total() - ran.before.total()));
    const auto now = simulation.touching();
    if (now.empty()) return;
    ++ran.touched;
    overlap = std::max(overlap, simulation.overlap());
    last_touch = simulation.time();
    if (!std::isfinite(first_touch)) first_touch = last_touch;
    std::vector<std::pair<int, int>> both;
    std::set_union(touching.begin(), touching.end(), now.begin(), now.end(), std::back_inserter(both));
    touching = std::move(both);
  }

  // Returns an error if the centre of a moving body is behind a wall. A wall is a large box: a fast body may miss it.
  std::string find_body_behind_wall(const std::vector<std::string>& bodies) const {
    const auto& world = simulation.world().rigid.bodies;
    for (int w = 0; w < rigid && world[w].has_outward(); ++w) {
      const auto frame = simulation.poses()[w].frame();
      for (int b = 0; b < std::ssize(bodies); ++b) {
        if (b < rigid && world[b].fixed) continue;
        const Vector<n> centre = state(b).template head<n>();
        if (frame.directors.col(n - 1).dot(centre - frame.position) >= 0.0) continue;
        return formatted("'%s' is behind the wall '%s' at t = %g s; use a shorter step or less speed",
                         bodies[b].c_str(), bodies[w].c_str(), simulation.time());
      }
    }
    return "";
  }

  void finish(const std::vector<std::string>& bodies, double momentum_change) {
    ran.end = simulation.time();
    ran.after = simulation.energies();
    ran.seen = {{"energy_change", energy_change},
                {"kinetic", ran.after.kinetic},
                {"elastic", ran.after.elastic},
                {"max_overlap", overlap},
                {"first_touch", first_touch},
                {"last_touch", last_touch},
                {"touching", static_cast<double>(touching.size())},
                {"min_jacobian", smallest_jacobian},
                {"momentum_change", momentum_change}};
    const auto list = places(n);
    for (std::size_t b = 0; b < bodies.size(); ++b) {
      const auto all = state(b);
      for (std::size_t a = 0; a < list.size(); ++a) ran.seen[bodies[b] + "." + list[a]] = all[a];
    }
  }
};

}  // namespace

template <int n>
RunResult run(Scene<n> scene, const RunOptions& options, const Task& task) {
  const auto bodies = names(scene);
  const int count = bodies.size(), rigid = scene.world.rigid.bodies.size();
  RunResult ran;
  const elastic::Options how = options_of(scene, options);
  ran.step = how.step;
  ran.response = how.response == rigid::Response::penalty ? "penalty"
                 : how.response == rigid::Response::exact ? "event-driven"
                                                          : "projection";
  elastic::Simulation<n> simulation(std::move(scene.world), how);
  const std::clock_t clock = std::clock();
  simulation.start(scene.start);
  ran.cells = simulation.elements().size();
  ran.nodes = simulation.elements().nodes();
  ran.stable = simulation.stable_step();
  ran.before = simulation.energies();
  const auto momentum = simulation.momenta();
  Observer<n> observer{.simulation = simulation, .options = options, .rigid = rigid, .ran = ran, .touching = {}};
  observer.lay_out(bodies);
  observer.keep_row(count);
  const long steps = std::max(1L, std::lround(options.duration / ran.step));
  for (ran.steps = 0; ran.steps < steps;) {
    if (!simulation.step()) {
      ran.reason = simulation.reason();
      break;
    }
    observer.see_step();
    ran.reason = observer.find_body_behind_wall(bodies);
    if (!ran.reason.empty()) break;
    if (ran.rows < options.nodes &&
        ran.steps >= std::lround(static_cast<double>(ran.rows) * static_cast<double>(steps) / (options.nodes - 1)))
      observer.keep_row(count);
    if (task.seconds_left() == 0.0) {
      ran.timed_out = true;
      ran.reason = formatted("time limit at t = %g s", simulation.time());
      break;
    }
  }
  ran.seconds = static_cast<double>(std::clock() - clock) / CLOCKS_PER_SEC;
  observer.finish(bodies, (simulation.momenta().linear - momentum.linear).norm());
  return ran;
}

std::string describe_run(const RunResult& ran, std::size_t bodies, int dimension) {
  const auto& s = ran.seen;
  std::string text = formatted("scene           %zu bodies, %d elements, %d nodes, %s\n", bodies, ran.cells, ran.nodes,
                               dimension == 2 ? "planar" : "spatial") +
                     formatted("method          explicit Newmark, h = %g s (about %.3g s is stable), %s\n", ran.step,
                               ran.stable, ran.response) +
                     (ran.reason.empty() ? formatted("ended           t = %g s\n", ran.end)
                                         : "ended           failed: " + ran.reason + "\n");
  for (const auto& [name, e] : {std::pair("before", ran.before), std::pair("after", ran.after)})
    text += formatted("energy %-8s %.9g J: kinetic %.6g, elastic %.6g, contact %.6g, potential %.6g\n", name, e.total(),
                      e.kinetic, e.elastic, e.contact, e.potential);
  text += formatted("                changed by at most %.3g J; momentum by %.3g N s\n", s.at("energy_change"),
                    s.at("momentum_change"));
  if (s.at("touching") > 0.0)
    text += formatted("contact         from %.6g to %.6g s, %.0f pairs, overlap up to %.3g m\n", s.at("first_touch"),
                      s.at("last_touch"), s.at("touching"), s.at("max_overlap"));
  text += formatted("deformation     an element had %.4g of its volume\n", s.at("min_jacobian"));
  return text + formatted("speed           %.3g s of CPU, %.3g element forces per second of it\n", ran.seconds,
                          static_cast<double>(ran.steps) * ran.cells / std::max(1e-9, ran.seconds));
}

template std::vector<std::string> names(const Scene<2>&);
template std::vector<std::string> names(const Scene<3>&);
template Channel points_channel(const Scene<2>&, int);
template Channel points_channel(const Scene<3>&, int);
template elastic::Options options_of(const Scene<2>&, const RunOptions&);
template elastic::Options options_of(const Scene<3>&, const RunOptions&);
template RunResult run(Scene<2>, const RunOptions&, const Task&);
template RunResult run(Scene<3>, const RunOptions&, const Task&);

}  // namespace dodyn::evaluators::elastic_text
