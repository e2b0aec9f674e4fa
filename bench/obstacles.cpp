// A family of seeded convex obstacles. A bar moves from one pose to another, turned by 60 degrees, past the convex hull
// of random points in its way. There are three initial guesses: at rest, straight through, and around the obstacle. Two
// formulations of clearance are compared. The first has a separating plane per interval, whose normal and offset are
// unknowns (dmoc/separation.hpp). The second has multipliers of facets (Zhang, Liniger, Borrelli 2020) that define such
// a plane,
//
//   a = A^T l, |a|^2 = 1, l >= 0;  R^T a + G^T m = 0, m >= 0, a.c - g.m - b.l >= 0   at both ends of the interval,
//
// for an obstacle A x <= b and a bar G y <= g, y in the bar's frame at (c, R). Transcription, solver and guesses are
// equal.
//
//   build/release/bench/obstacles [PROBLEMS [FIRST SEED [CORNERS]]]        default: 1000, 1, 4 to 14 by the seed
//
// With CORNERS the points lie on a sphere, so that the hull has all of them as corners.
// Each problem prints one line: the costs from the three guesses for both formulations. n: not solved, or an overlap
// larger than the sag of its rotations.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "dmoc/attitudes.hpp"
#include "dmoc/clearance.hpp"
#include "dmoc/link_rows.hpp"
#include "dmoc/separation.hpp"
#include "measure.hpp"
#include "nlp/solve.hpp"
#include "record/text.hpp"

namespace {

using namespace dodyn;
using bench::cpu_seconds, bench::median;
using dmoc::Coefficient;
using Eigen::Vector3d, Eigen::VectorXd, Eigen::MatrixXd;

constexpr int K = 16;
constexpr double T = 1.0, turn_limit = 0.3, reach = 0.6;
const Vector3d bar(0.3, 0.1, 0.1);

// Facets of a convex hull, A x <= b with rows of norm 1: planes through three points with all other points on one side.
struct Facets {
  MatrixXd A;
  VectorXd b;
};
Facets facets(const std::vector<Vector3d>& points) {
  std::vector<Eigen::Vector4d> all;
  const std::size_t n = points.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j)
      for (std::size_t k = j + 1; k < n; ++k) {
        Vector3d a = (points[j] - points[i]).cross(points[k] - points[i]);
        if (a.norm() < 1e-12) continue;
        a.normalize();
        for (const double side : {1.0, -1.0}) {
          const double b = side * a.dot(points[i]);
          if (std::any_of(points.begin(), points.end(), [&](const auto& x) { return side * a.dot(x) > b + 1e-9; }))
            continue;
          const Eigen::Vector4d plane(side * a[0], side * a[1], side * a[2], b);
          if (std::none_of(all.begin(), all.end(), [&](const auto& p) { return (p - plane).norm() < 1e-7; }))
            all.push_back(plane);
        }
      }
  Facets f{MatrixXd(all.size(), 3), VectorXd(all.size())};
  for (std::size_t i = 0; i < all.size(); ++i) {
    f.A.row(i) = all[i].head<3>().transpose();
    f.b(i) = all[i][3];
  }
  return f;
}

// Minimises |M x - y| over x >= 0 approximately, for an initial guess.
VectorXd nonnegative(const MatrixXd& M, const VectorXd& y) {
  VectorXd x = VectorXd::Constant(M.cols(), 1e-2);
  const double step = 1.0 / (M.transpose() * M).norm();
  for (int i = 0; i < 300; ++i) x = (x - step * M.transpose() * (M * x - y)).cwiseMax(1e-3);
  return x;
}

std::string model_text(const std::vector<Vector3d>& points) {
  std::string corners;
  for (const auto& p : points)
    corners += formatted("%s%.17g, %.17g, %.17g", corners.empty() ? "" : "; ", p[0], p[1], p[2]);
  std::string text =
      "[model]\nname = obstacles\ndimension = 3\ngravity = 0\n[link rock]\nparent = ground\njoint = fixed\n"
      "[shape rock]\nlink = rock\nvertices = " +
      corners + "\n[link bar]\nparent = ground\njoint = spatial ZXY\n" +
      formatted("[shape bar]\nlink = bar\nbox = %g, %g, %g\nmass = 1\n", bar[0], bar[1], bar[2]);
  for (const char* const kind : {"force", "torque"})
    for (const char* const axis : {"1, 0, 0", "0, 1, 0", "0, 0, 1"})
      text += formatted("[actuator %s_%c]\nlink = bar\n%s = %s\naxes = world\n", kind,
                        axis[0] == '1'   ? 'x'
                        : axis[3] == '1' ? 'y'
                                         : 'z',
                        kind, axis);
  return text;
}

struct Family {
  std::shared_ptr<const dmoc::System> system;
  std::vector<Coefficient> numbers;
  Facets rock, box;
  std::vector<Vector3d> corners;
};

// `corners`: number of random points; 0: drawn from the seed.
Family family(std::uint64_t seed, int corners) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1.0p-53;
  };
  Family f;
  const Vector3d middle(uniform(-0.1, 0.1), uniform(-0.1, 0.1), uniform(-0.1, 0.1));
  const int count = corners > 0 ? corners : 6 + static_cast<int>(uniform(0, 9));
  while (std::ssize(f.corners) < count) {
    const Vector3d p(uniform(-0.25, 0.25), uniform(-0.25, 0.25), uniform(-0.25, 0.25));
    if (p.norm() <= 0.25) f.corners.push_back(middle + (corners > 0 ? Vector3d(0.25 * p.normalized()) : p));
  }
  f.rock = facets(f.corners);
  std::erase_if(f.corners, [&](const Vector3d& x) {  // removes points inside the hull
    return ((f.rock.A * x - f.rock.b).array() > -1e-6).count() < 3;
  });
  systems::Model model = systems::read_model(model_text(f.corners), "obstacles", false);
  const auto values = model.evaluate<Coefficient>({});
  f.numbers = values.numbers;
  f.system = std::make_shared<const dmoc::System>(std::move(model), true);
  std::vector<Vector3d> of_bar;
  for (int i = 0; i < 8; ++i)
    of_bar.push_back(0.5 * Vector3d((i & 1 ? 1 : -1) * bar[0], (i & 2 ? 1 : -1) * bar[1], (i & 4 ? 1 : -1) * bar[2]));
  f.box = facets(of_bar);
  return f;
}

VectorXd pose(const dmoc::System& system, double s, double up) {
  VectorXd q = VectorXd::Zero(system.n());
  q.head<3>() << -reach + 2 * reach * s, 0.0, up;
  const double turn = std::acos(0.5);
  dmoc::Attitudes(system).set(0, Eigen::AngleAxisd(turn * s, Vector3d::UnitZ()).toRotationMatrix(),
                              system.no_reference(), q);
  return q;
}

struct Problem {
  dmoc::MotionProblem motion;
  dmoc::SeparatingPlanes planes;
  std::vector<int> multipliers;  // first multiplier of each interval: l, then m of both ends
};

Problem build(const Family& f, const std::vector<dmoc::Reference>& references, bool with_facets) {
  Problem p{dmoc::MotionProblem(f.system, f.numbers), {}, {}};
  dmoc::Phase phase;
  phase.name = "only";
  phase.intervals = K;
  phase.duration = T;
  phase.references = references;
  p.motion.add_phase(std::move(phase));
  for (const bool end : {false, true}) {
    dmoc::Boundary boundary;
    boundary.end = end;
    for (int c = 0; c < f.system->n(); ++c) boundary.rates.emplace_back(c, 0.0);
    p.motion.add_boundary(std::move(boundary));
  }
  p.motion.transcribe();
  const dmoc::Attitudes attitudes(*f.system);
  for (const bool end : {false, true}) {
    dmoc::LinkPose to;
    to.link = 1;
    const VectorXd q = pose(*f.system, end ? 1.0 : 0.0, 0.0);
    const Eigen::Matrix3d R = attitudes.rotation(0, q, f.system->no_reference());
    to.rotation.emplace();
    for (std::size_t i = 0; i < 9; ++i) (*to.rotation)[i] = R(i / 3, i % 3);
    for (std::size_t i = 0; i < 3; ++i) to.place[i] = {Coefficient(q(i)), Coefficient(q(i))};
    add_pose(p.motion, 0, end ? K : 0, to);
  }
  add_turn_limit(p.motion, 0, turn_limit);
  auto& nlp = p.motion.problem();
  if (!with_facets) {
    p.planes = dmoc::SeparatingPlanes(p.motion, {{1, 0, 0.0, {}}});
  } else {
    using autodiff::Var;
    const int rocks = f.rock.b.size(), boxes = f.box.b.size();
    const dmoc::NodeInputs inputs = dmoc::inputs_of(p.motion, 0, {1});
    const int m = inputs.coordinates.size(), n = f.system->n();
    const auto normal = [&f, rocks](const Var* l) {
      systems::Vector3<Var> a{Var(0.0), Var(0.0), Var(0.0)};
      for (int i = 0; i < rocks; ++i)
        for (std::size_t k = 0; k < 3; ++k) a[k] += f.rock.A(i, k) * l[i];
      return a;
    };
    const dmoc::Element unit = dmoc::element(autodiff::record(rocks, 0,
                                                              [&](const auto& l, const auto&) {
                                                                const auto a = normal(l.data());
                                                                return std::vector<Var>{systems::dot(a, a)};
                                                              }),
                                             {});
    const dmoc::Function seen = f.system->record_at_node_with_numbers(
        m + rocks, 0, [&](const auto& tree, const auto&, const std::vector<Var>& z, const auto&) {
          const std::vector<Var> q = inputs.whole(n, z.data());
          const auto frames = tree.frames(q.data());
          const auto a = normal(z.data() + m);
          std::vector<Var> all;
          for (std::size_t i = 0; i < 3; ++i) {
            Var sum(0.0);
            for (std::size_t k = 0; k < 3; ++k) sum += frames[1].rotation[k][i] * a[k];
            all.push_back(sum);
          }
          all.push_back(systems::dot(a, frames[1].origin));
          return all;
        });
    for (int k = 0; k < K; ++k) {
      const int l = nlp.add_variables(rocks, 0.0, nlp::infinity);
      p.multipliers.push_back(l);
      std::vector<int> of_rock;
      for (int i = 0; i < rocks; ++i) of_rock.push_back(l + i);
      nlp.add_element(unit, of_rock, {{0, nlp.add_rows(1, 1.0, 1.0), 1.0}});
      for (int node = k; node <= k + 1; ++node) {
        const int mu = nlp.add_variables(boxes, 0.0, nlp::infinity), rows = nlp.add_rows(3, 0.0, 0.0),
                  apart = nlp.add_rows(1, 0.0, nlp::infinity);
        nlp.add_element(dmoc::element(seen, f.numbers, {}, {p.motion.reference(0, node)}),
                        dmoc::joined(inputs.unknowns(p.motion, 0, node), of_rock),
                        {{0, rows, 1.0}, {1, rows + 1, 1.0}, {2, rows + 2, 1.0}, {3, apart, 1.0}});
        for (int i = 0; i < boxes; ++i) {
          for (int j = 0; j < 3; ++j)
            if (f.box.A(i, j) != 0.0) nlp.add_linear(rows + j, mu + i, f.box.A(i, j));
          nlp.add_linear(apart, mu + i, -f.box.b(i));
        }
        for (int i = 0; i < rocks; ++i) nlp.add_linear(apart, l + i, -f.rock.b(i));
      }
    }
  }
  dmoc::Effort effort;
  effort.squared_control = 1.0;
  p.motion.add_effort(0, effort, 1.0);
  nlp.finish();
  return p;
}

struct Answer {
  bool valid = false;
  double cost = 0.0, seconds = 0.0;
};

Answer answer(const Family& f, int guess, bool with_facets) {
  MatrixXd q(K + 1, f.system->n());
  for (int k = 0; k <= K; ++k) {
    const double s = static_cast<double>(k) / K;
    q.row(k) =
        pose(*f.system, guess == 0 ? 0.0 : s, guess == 2 ? 0.55 * std::sin(std::acos(-1.0) * s) : 0.0).transpose();
  }
  const auto references = dmoc::references_along(*f.system, q);
  const Problem planes = build(f, references, false);
  std::optional<Problem> other;
  if (with_facets) other.emplace(build(f, references, true));
  const Problem& p = with_facets ? *other : planes;
  const auto start = [&](const Problem& of) {
    VectorXd x = VectorXd::Zero(of.motion.problem().lower.size());
    const auto& index = of.motion.index(0);
    for (int k = 0; k <= K; ++k) x.segment(index.theta(k), index.moving) = q.row(k).transpose();
    of.motion.fill(x);
    return x;
  };
  VectorXd x = start(planes);
  planes.planes.fill(planes.motion, x);
  if (with_facets) {  // multipliers that give the same normals
    VectorXd y = start(p);
    const dmoc::Attitudes attitudes(*f.system);
    for (int k = 0; k < K; ++k) {
      const Vector3d a = x.segment<3>(planes.planes.planes()[k].first);
      int at = p.multipliers[k];
      const auto rocks = f.rock.b.size(), boxes = f.box.b.size();
      y.segment(at, rocks) = nonnegative(f.rock.A.transpose(), a);
      at += static_cast<int>(rocks);
      for (int node = k; node <= k + 1; ++node, at += static_cast<int>(boxes))
        y.segment(at, boxes) =
            nonnegative(f.box.A.transpose(),
                        -attitudes.rotation(0, q.row(node).transpose(), p.motion.reference(0, node)).transpose() * a);
    }
    x = y;
  }
  nlp::Options options;
  options.max_iterations = 500;
  options.max_seconds = 120.0;
  const double begin = cpu_seconds();
  const nlp::Solution solution = nlp::solve(p.motion.problem(), x, options);
  Answer found{false, solution.objective, cpu_seconds() - begin};
  if (solution.status != nlp::SolveStatus::solved) return found;
  const double sag = 0.5 * bar.norm() * turn_limit * turn_limit / 8;
  found.valid = dmoc::clearance(p.motion, solution.x, {{1, 0, 0.0, {}}}).lower_bound > -sag;
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const int problems = argc > 1 ? std::atoi(argv[1]) : 1000, first = argc > 2 ? std::atoi(argv[2]) : 1,
            corners = argc > 3 ? std::atoi(argv[3]) : 0;
  if (argc > 4 || problems < 1 || (argc > 3 && corners < 4)) return 2;
  const char* const guesses[] = {"still", "straight", "round"};
  int valid[2][3] = {}, any[2] = {}, near[2] = {};
  std::vector<double> seconds[2], ratios;
  for (int i = 0; i < problems; ++i) {
    const Family f = family(static_cast<std::uint64_t>(first + i), corners);
    Answer all[2][3];
    double best[2] = {1e300, 1e300};
    std::printf("%5d  %2d corners", first + i, static_cast<int>(f.corners.size()));
    for (int method = 0; method < 2; ++method) {
      std::printf("  |");
      for (int g = 0; g < 3; ++g) {
        Answer& a = all[method][g] = answer(f, g, method == 1);
        valid[method][g] += a.valid;
        if (a.valid) best[method] = std::min(best[method], a.cost);
        seconds[method].push_back(a.seconds);
        std::printf(" %s%-9.6g %6.3f s", a.valid ? " " : "n", a.cost, a.seconds);
      }
      any[method] += best[method] < 1e300;
    }
    std::printf("\n");
    std::fflush(stdout);
    for (int method = 0; method < 2; ++method)
      near[method] += best[method] <= 1.01 * std::min(best[0], best[1]) && best[method] < 1e300;
    for (int g = 0; g < 3; ++g)
      if (all[0][g].valid && all[1][g].valid) ratios.push_back(all[1][g].seconds / all[0][g].seconds);
  }
  for (int method = 0; method < 2; ++method) {
    std::printf("%s: valid", method == 0 ? "planes" : "facets");
    for (int g = 0; g < 3; ++g) std::printf(" %s %d", guesses[g], valid[method][g]);
    std::printf(" of %d; from any %d, within 1 %% of the best of both %d; median %.4f s\n", problems, any[method],
                near[method], median(seconds[method]));
  }
  std::printf("facets / planes, where both are valid (%zu): median %.2f\n", ratios.size(), median(ratios));
}
