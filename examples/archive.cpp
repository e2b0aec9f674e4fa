// An archive written and read: a throw for every angle, its path through the air, and what was best.
//
//   examples/archive throws.h5
//   dodyn show throws.h5; dodyn report throws.h5
//
// The archive is one HDF5 file with a row per evaluation (docs/archive.md). A program of your own that writes one has
// the tables, pages and pictures of dodyn for its results, and Python reads them by `import dodyn`.
#include "archive/archive.hpp"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <numbers>

using namespace dodyn;

namespace {

// A ball thrown at 10 m/s from 1.5 m above the ground; the cost is how far it misses a target 10 m away.
constexpr double speed = 10, hand = 1.5, target = 10, g = 9.81;
constexpr int nodes = 21;

// 1. An evaluation is a plain record; its motion is a matrix per channel. What failed is a row too, with its reason.
Outcome thrown(std::int64_t id, double degrees) {
  Outcome outcome;
  Evaluation& e = outcome.evaluation;
  e.id = id;
  e.design = Eigen::VectorXd::Constant(1, degrees);
  const double angle = degrees * std::numbers::pi / 180;
  const double vx = speed * std::cos(angle), vy = speed * std::sin(angle);
  const double flight = (vy + std::sqrt(vy * vy + 2 * g * hand)) / g;
  if (flight > 2) {
    e.status = Status::infeasible;
    e.reason = "in the air for more than 2 s";
    return outcome;
  }
  e.status = Status::ok;
  e.cost = std::abs(vx * flight - target);
  e.metrics = Eigen::Vector2d(vx * flight, hand + vy * vy / (2 * g));
  const Eigen::VectorXd t = Eigen::VectorXd::LinSpaced(nodes, 0, flight);
  Eigen::MatrixXd points(nodes, 2);
  for (int k = 0; k < nodes; ++k) points.row(k) << vx * t(k), hand + vy * t(k) - 0.5 * g * t(k) * t(k);
  outcome.trajectory.values = {t, points};
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "throws.h5";
  std::filesystem::remove(path);

  // 2. What a file holds is said once, at its creation: variables with their ranges, metrics, channels of the motion. Names
  //    such as `points` are what pictures are drawn from.
  archive::Layout layout;
  layout.variables = {{"angle", "deg", 5, 85}};
  layout.metrics = {{"range", "m", "where it lands"}, {"height", "m", "highest point"}};
  layout.channels = {{"t", "s", "time", nodes, {"t"}}, {"points", "m", "the ball", nodes, {"ball_x", "ball_y"}}};
  archive::Provenance provenance;
  provenance.evaluator = "throw";
  provenance.configuration = {{"throw.speed", "10"}};

  // 3. Append. When a call returns, its row is in the file, whatever happens to this process next; readers may look on.
  //    The file is closed between calls.
  {
    auto file = archive::Archive::create(path, layout, provenance);
    for (int i = 0; i <= 16; ++i) file.append(thrown(i, 5 + 5 * i));
    file.stop(Ending::finished, "all angles thrown");
  }

  // 4. Go on with it later, in another run. A row with the id of an earlier one supersedes it.
  {
    auto file = archive::Archive::resume(path);
    file.append(thrown(17, 23.75));
    file.append(thrown(3, 20));
    file.stop(Ending::finished, "and one more");
  }

  // 5. Read it: everything but the motions is in memory, those are fetched one by one.
  const archive::Contents contents = archive::read(path);
  const Evaluation* best = nullptr;
  for (const auto& [id, row] : archive::latest(contents)) {
    const Evaluation& e = contents.evaluations[row];
    if (!e.ok()) std::printf("%g deg: %s, %s\n", e.design(0), to_string(e.status).data(), e.reason.c_str());
    if (e.ok() && (!best || e.cost < best->cost)) best = &e;
  }
  const Trajectory motion = archive::read_trajectory(path, best->id);
  const auto& points = motion.values.at(1);
  std::printf("%zu rows of %zu evaluations; best: %g deg misses by %.3f m and lands at (%.3f, %.3f) m\n",
              contents.evaluations.size(), archive::latest(contents).size(), best->design(0), best->cost,
              points(nodes - 1, 0), points(nodes - 1, 1));

  // 6. Every row carries checksums; `dodyn show --verify` asks the same.
  const archive::Findings findings = archive::verify(path);
  for (const auto& problem : findings.problems) std::printf("%s\n", problem.c_str());
  const bool lands =
      std::abs(points(nodes - 1, 0) - target) - best->cost < 1e-9 && std::abs(points(nodes - 1, 1)) < 1e-9;
  return findings.problems.empty() && lands && contents.evaluations.size() == 19 ? 0 : 1;
}
