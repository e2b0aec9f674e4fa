// Where design studies live: plateaus, failures, many minima, two objectives, and the moment to stop.
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target surrogate_benchmark_stops
//   run:    surrogate_benchmark_stops [--seeds 10] [--first-seed 0] [--only TEXT] [--strategy ego] [--gradient]
//           [--aside] [--csv FILE] [--verbose]
//
// Every strategy runs with the defaults and the stop rule that `dodyn run` has: nothing is set but the seed, and
// gradients or constraints where a problem has them. Each seed is another instance: the strategy's seed, and where the
// feature lies (the bump, the disc, the edge of failure), are both drawn from it. Solved: within 1 % of the known
// minimum (0.1 % of the function's median over its box where that is 0). A wrong stop: the strategy ended by its own
// rule, before the budget, and had not solved it. Of two objectives the hypervolume to (1.1, 1.1) counts, as a share of
// that of the true front, at half and at the whole of the budget; --aside runs those that nothing was tuned on.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "surrogate/choice.hpp"
#include "surrogate/random.hpp"

namespace {

using dodyn::Evaluation;
using dodyn::Status;
using dodyn::Variable;
using dodyn::surrogate::Random;
using Eigen::VectorXd;
using std::numbers::pi;

using Scalar = std::function<double(const VectorXd&)>;

struct Problem {
  std::vector<Variable> box;
  int budget = 60;
  double minimum = 0;
  Scalar f;
  std::function<bool(const VectorXd&)> fails = {};
  std::vector<Scalar> metrics = {};  // each to be kept <= 0; or the second objective
  bool two_objectives = false;
  double whole = 0;  // hypervolume of the true front
};

struct Family {
  std::string name;
  bool aside;
  std::function<Problem(Random&)> instance;
};

std::vector<Variable> cube(int d, double lower, double upper) {
  std::vector<Variable> box;
  for (int i = 0; i < d; ++i) box.push_back({std::string(1, static_cast<char>('a' + i)), "", lower, upper});
  return box;
}

VectorXd somewhere(Random& random, int d, double margin) {
  return VectorXd::NullaryExpr(d, [&] { return margin + (1 - 2 * margin) * random.uniform(); });
}

double branin(const VectorXd& x) {
  return std::pow(x(1) - 5.1 / (4 * pi * pi) * x(0) * x(0) + 5 / pi * x(0) - 6, 2) +
         10 * (1 - 1 / (8 * pi)) * std::cos(x(0)) + 10;
}

double goldstein_price(const VectorXd& v) {
  const double x = v(0), y = v(1);
  return (1 + std::pow(x + y + 1, 2) * (19 - 14 * x + 3 * x * x - 14 * y + 6 * x * y + 3 * y * y)) *
         (30 + std::pow(2 * x - 3 * y, 2) * (18 - 32 * x + 12 * x * x + 48 * y - 36 * x * y + 27 * y * y));
}

double six_hump_camel(const VectorXd& x) {
  const double a = x(0) * x(0), b = x(1) * x(1);
  return (4 - 2.1 * a + a * a / 3) * a + x(0) * x(1) + (4 * b - 4) * b;
}

double hartman(const VectorXd& x, const double* a, const double* p) {
  static const double c[4] = {1, 1.2, 3, 3.2};
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    double q = 0;
    for (int j = 0; j < x.size(); ++j) q += a[i * x.size() + j] * std::pow(x(j) - p[i * x.size() + j], 2);
    sum -= c[i] * std::exp(-q);
  }
  return sum;
}

double hartman3(const VectorXd& x) {
  static const double a[] = {3, 10, 30, 0.1, 10, 35, 3, 10, 30, 0.1, 10, 35};
  static const double p[] = {0.3689, 0.1170, 0.2673, 0.4699,  0.4387, 0.7470,
                             0.1091, 0.8732, 0.5547, 0.03815, 0.5743, 0.8828};
  return hartman(x, a, p);
}

double hartman6(const VectorXd& x) {
  static const double a[] = {10, 3,   17,  3.5, 1.7, 8, 0.05, 10, 17,   0.1, 8,   14,
                             3,  3.5, 1.7, 10,  17,  8, 17,   8,  0.05, 10,  0.1, 14};
  static const double p[] = {0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886, 0.2329, 0.4135,
                             0.8307, 0.3736, 0.1004, 0.9991, 0.2348, 0.1451, 0.3522, 0.2883,
                             0.3047, 0.6650, 0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381};
  return hartman(x, a, p);
}

double shekel(const VectorXd& x, int m) {
  static const double a[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1}, {8, 8, 8, 8}, {6, 6, 6, 6}, {3, 7, 3, 7},
                                  {2, 9, 2, 9}, {5, 5, 3, 3}, {8, 1, 8, 1}, {6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
  static const double c[10] = {0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
  double sum = 0;
  for (int i = 0; i < m; ++i) sum -= 1 / ((x - Eigen::Map<const Eigen::Vector4d>(a[i])).squaredNorm() + c[i]);
  return sum;
}

// A rate: 1 outside the bump, and within it down to 0.
Problem bump(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, 0.1);
  return {cube(d, 0, 1), budget, 0,
          [=](const VectorXd& x) { return std::min(1.0, (x - c).squaredNorm() / (radius * radius)); }};
}

// Evaluates in a ball alone.
Problem ball(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, radius), best = c + (somewhere(random, d, 0) - VectorXd::Constant(d, 0.5)) *
                                                                  radius / std::sqrt(static_cast<double>(d));
  return {cube(d, 0, 1), budget, 1, [=](const VectorXd& x) { return 1 + (x - best).squaredNorm(); },
          [=](const VectorXd& x) { return (x - c).norm() > radius; }};
}

// The cost falls towards a place that fails: a disc about it.
Problem edge(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, 0.3);
  VectorXd along = somewhere(random, d, 0).array() - 0.5;
  along.normalize();
  const VectorXd goal = c + 0.3 * radius * along;
  return {cube(d, 0, 1), budget, 0.1 + 0.7 * radius, [=](const VectorXd& x) { return 0.1 + (x - goal).norm(); },
          [=](const VectorXd& x) { return (x - c).norm() < radius; }};
}

// Two humps; of the box evaluates what is on one side of a curve, 37 % of it.
Problem humps(Random& random, double waves, int budget) {
  const double phase = 2 * pi * random.uniform(), shift = 0.15 * random.uniform();
  const auto curve = [=](double a) { return 0.34 + 0.12 * std::sin(waves * a + phase); };
  const double a1 = 0.15 + 0.2 * random.uniform(), a2 = 0.65 + 0.2 * random.uniform();
  const Eigen::Vector2d low(a1, 0.6 * curve(a1) + 0.3 * shift), high(a2, 0.5 * curve(a2));
  const auto hump = [](const VectorXd& x, const Eigen::Vector2d& c, double width) {
    return std::exp(-(x - c).squaredNorm() / (2 * width * width));
  };
  const auto f = [=](const VectorXd& x) { return -hump(x, low, 0.08) - 0.7 * hump(x, high, 0.15); };
  double least = 0;
  for (double s = -0.02; s <= 0.02; s += 1e-3)
    for (double t = -0.02; t <= 0.02; t += 1e-3) least = std::min(least, f(low + Eigen::Vector2d(s, t)));
  return {cube(2, 0, 1), budget, least, f, [=](const VectorXd& x) { return x(1) > curve(x(0)) + 0.03; }};
}

double zdt(const VectorXd& x, bool second_problem, int which) {
  if (which == 0) return x(0);
  const double g = 1 + 9 * x.tail(x.size() - 1).mean();
  return second_problem ? g * (1 - x(0) * x(0) / (g * g)) : g * (1 - std::sqrt(x(0) / g));
}

Problem zitzler(bool second_problem, int d) {
  Problem p{cube(d, 0, 1), 100, 0, [=](const VectorXd& x) { return zdt(x, second_problem, 0); }};
  p.metrics = {[=](const VectorXd& x) { return zdt(x, second_problem, 1); }};
  p.two_objectives = true;
  // 1.1^2 less what lies below the front: integral of 1 - sqrt(x), or 1 - x^2, from 0 to 1
  p.whole = 1.21 - (second_problem ? 2.0 / 3 : 1.0 / 3);
  return p;
}

// G6 of the 2006 CEC collection: a crescent between two circles, less than 0.01 % of the box.
Problem g6(double first, double second, double minimum, int budget) {
  Problem p{{{"a", "", 13, 100}, {"b", "", 0, 100}}, budget, minimum, [](const VectorXd& x) {
              return std::pow(x(0) - 10, 3) + std::pow(x(1) - 20, 3);
            }};
  p.metrics = {[=](const VectorXd& x) { return -std::pow(x(0) - 5, 2) - std::pow(x(1) - 5, 2) + first; },
               [=](const VectorXd& x) { return std::pow(x(0) - 6, 2) + std::pow(x(1) - 5, 2) - second; }};
  return p;
}

std::vector<Family> families() {
  const std::vector<Variable> branin_box = {{"x1", "", -5, 10}, {"x2", "", 0, 15}};
  const auto fixed = [](const Problem& p) { return [p](Random&) { return p; }; };
  const auto griewank = [](double reach) {
    return Problem{cube(2, -reach, 0.9 * reach), 80, 0, [](const VectorXd& x) {
                     return 1 + x.squaredNorm() / 4000 - std::cos(x(0)) * std::cos(x(1) / std::sqrt(2.0));
                   }};
  };
  return {
      {"bump 2", false, [](Random& r) { return bump(r, 2, 0.15, 60); }},
      {"bump 4", false, [](Random& r) { return bump(r, 4, 0.35, 120); }},
      {"ball 2", false, [](Random& r) { return ball(r, 2, 0.15, 60); }},
      {"ball 4", false, [](Random& r) { return ball(r, 4, 0.35, 120); }},
      {"63 % fails", false, [](Random& r) { return humps(r, 6, 60); }},
      {"edge 2", false, [](Random& r) { return edge(r, 2, 0.25, 60); }},
      {"edge 3", false, [](Random& r) { return edge(r, 3, 0.3, 80); }},
      {"Shekel 10", false, fixed({cube(4, 0, 10), 150, -10.53641, [](const VectorXd& x) { return shekel(x, 10); }})},
      {"Hartman 6", false, fixed({cube(6, 0, 1), 150, -3.32237, hartman6})},
      {"Griewank 2", false, fixed(griewank(6))},
      {"G6", false, fixed(g6(100, 82.81, -6961.81388, 60))},
      {"Branin", false, fixed({branin_box, 80, 0.397887, branin})},
      {"Goldstein-Price", false, fixed({cube(2, -2, 2), 80, 3, goldstein_price})},
      {"Hartman 3", false, fixed({cube(3, 0, 1), 80, -3.86278, hartman3})},
      {"ZDT1", false, fixed(zitzler(false, 4))},
      {"ZDT2", false, fixed(zitzler(true, 4))},
      {"bump 3", true, [](Random& r) { return bump(r, 3, 0.25, 90); }},
      {"step 2", true,
       [](Random& r) {  // a rate of few starts: whole tenths, a tilted box of success
         const VectorXd c = somewhere(r, 2, 0.2);
         const double turn = pi * r.uniform();
         return Problem{cube(2, 0, 1), 60, 0, [=](const VectorXd& x) {
                          const Eigen::Vector2d t = x - c;
                          const double u = std::abs(std::cos(turn) * t(0) + std::sin(turn) * t(1)) / 0.2,
                                       v = std::abs(-std::sin(turn) * t(0) + std::cos(turn) * t(1)) / 0.12;
                          return std::min(1.0, std::floor(10 * std::max(u, v)) / 10);
                        }};
       }},
      {"ball 3", true, [](Random& r) { return ball(r, 3, 0.25, 90); }},
      {"half-plane", true,
       [](Random& r) {  // evaluates beyond a line, in 37 % of the box; the optimum on that line
         const double b = 0.55 + 0.1 * r.uniform(), slope = 0.3 * (r.uniform() - 0.5), a = 0.2 + 0.6 * r.uniform();
         const Eigen::Vector2d foot(a, b + slope * (a - 0.5)), normal = Eigen::Vector2d(-slope, 1).normalized();
         const Eigen::Vector2d goal = foot - 0.1 * normal;
         return Problem{cube(2, 0, 1), 60, 0.5 + 0.1, [=](const VectorXd& x) { return 0.5 + (x - goal).norm(); },
                        [=](const VectorXd& x) { return (x - foot).dot(normal) < 0; }};
       }},
      {"Shekel 7", true, fixed({cube(4, 0, 10), 150, -10.40294, [](const VectorXd& x) { return shekel(x, 7); }})},
      {"Rastrigin 2", true,
       fixed({cube(2, -2, 1.7), 80, 0,
              [](const VectorXd& x) { return 20 + x.squaredNorm() - 10 * (2 * pi * x.array()).cos().sum(); }})},
      {"camel", true, fixed({cube(2, -2, 2), 80, -1.0316285, six_hump_camel})},
      {"ZDT2, 3 variables", true, fixed(zitzler(true, 3))},
  };
}

bool verbose = false;  // a line for each tell

double median_of(const Problem& p) {
  Random random(1);
  std::vector<double> values;
  VectorXd x(static_cast<Eigen::Index>(p.box.size()));
  for (int i = 0; i < 2001; ++i) {
    for (std::size_t k = 0; k < p.box.size(); ++k)
      x(static_cast<Eigen::Index>(k)) = p.box[k].lower + random.uniform() * (p.box[k].upper - p.box[k].lower);
    values.push_back(p.f(x));
  }
  std::nth_element(values.begin(), values.begin() + 1000, values.end());
  return values[1000];
}

double dominated(std::vector<Eigen::Vector2d> points) {
  std::sort(points.begin(), points.end(), [](const auto& a, const auto& b) { return a(0) < b(0); });
  double area = 0, below = 1.1;
  for (const auto& p : points) {
    if (p(0) >= 1.1 || p(1) >= below) continue;
    area += (1.1 - p(0)) * (below - p(1));
    below = p(1);
  }
  return area;
}

struct Run {
  int evaluations = 0, reached = 0;  // in all; when solved (0: not)
  bool stopped = false;
  double half = 0, full = 0;        // hypervolume
  double slowest = 0, seconds = 0;  // of an ask, of all: processor time
  std::string reason;
};

Run run(const Problem& p, const std::string& strategy_name, bool gradient, std::uint64_t seed) {
  dodyn::surrogate::Choice choice;
  choice.name = strategy_name;
  choice.ego.seed = choice.mesh_search.seed = choice.nlopt.seed = seed;
  choice.ego.gradient = choice.mesh_search.gradient = choice.strawman.gradient = gradient;
  if (p.two_objectives)
    choice.ego.objectives = {-1, 0};
  else
    for (std::size_t k = 0; k < p.metrics.size(); ++k)
      choice.ego.constraints.push_back({"g" + std::to_string(k), static_cast<int>(k), 0, true});
  const auto strategy = dodyn::surrogate::make_strategy(choice, p.box);
  const double allowance = p.minimum != 0 ? 0.01 * std::abs(p.minimum) : 0.001 * median_of(p);
  Run out;
  std::vector<Eigen::Vector2d> points;
  Evaluation last;
  while (out.evaluations < p.budget) {
    const std::clock_t from = std::clock();
    const bool ended = !strategy->stopped().empty();
    const auto designs = ended ? std::vector<VectorXd>() : strategy->ask(8);  // study.batch
    const double seconds = static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
    out.slowest = std::max(out.slowest, seconds), out.seconds += seconds;
    if (designs.empty()) {
      out.stopped = true;
      out.reason = strategy->stopped();
      break;
    }
    for (const VectorXd& x : designs) {
      if (out.evaluations >= p.budget) break;
      Evaluation e;
      e.design = x;
      e.id = out.evaluations++;
      if (p.fails && p.fails(x)) {
        e.status = Status::failed;
        e.reason = "fails there";
        strategy->tell(last = e);
        continue;
      }
      e.status = Status::ok;
      e.cost = p.f(x);
      e.metrics.resize(static_cast<Eigen::Index>(p.metrics.size()));
      for (std::size_t k = 0; k < p.metrics.size(); ++k) e.metrics(static_cast<Eigen::Index>(k)) = p.metrics[k](x);
      if (gradient) {
        e.gradient.resize(x.size());
        for (Eigen::Index i = 0; i < x.size(); ++i) {
          VectorXd up = x, down = x;
          const double h = 1e-6 * (p.box[static_cast<std::size_t>(i)].upper - p.box[static_cast<std::size_t>(i)].lower);
          up(i) += h, down(i) -= h;
          e.gradient(i) = (p.f(up) - p.f(down)) / (2 * h);
        }
      }
      if (p.two_objectives) {
        points.push_back({e.cost, e.metrics(0)});
        if (out.evaluations == p.budget / 2) out.half = dominated(points) / p.whole;
      } else if (!out.reached && e.cost - p.minimum <= allowance &&
                 (e.metrics.size() == 0 || e.metrics.maxCoeff() <= 0)) {
        out.reached = out.evaluations;
      }
      strategy->tell(last = e);
    }
    const std::clock_t begin = std::clock();
    strategy->decide();
    const double decided = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    out.slowest = std::max(out.slowest, decided), out.seconds += decided;
    if (verbose) {
      const Evaluation& e = last;
      std::printf("%3d %-60s", out.evaluations, (e.ok() ? std::to_string(e.cost) : "fails").c_str());
      for (const double v : e.design) std::printf(" %.4f", v);
      std::printf("  | %s\n", strategy->describe(0).note.c_str());
    }
  }
  if (p.two_objectives) out.full = dominated(points) / p.whole;
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return NAN;
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

int main(int argc, char** argv) {
  int seeds = 10, first_seed = 0, budget = 0;
  std::string only, strategy = "ego", csv;
  bool gradient = false, aside = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return std::string(i + 1 < argc ? argv[++i] : ""); };
    if (word == "--seeds") {
      seeds = std::atoi(value().c_str());
    } else if (word == "--first-seed") {
      first_seed = std::atoi(value().c_str());
    } else if (word == "--budget") {  // instead of each function's own
      budget = std::atoi(value().c_str());
    } else if (word == "--only") {
      only = value();
    } else if (word == "--strategy") {
      strategy = value();
    } else if (word == "--csv") {
      csv = value();
    } else if (word == "--gradient") {
      gradient = true;
    } else if (word == "--verbose") {
      verbose = true;
    } else if (word == "--aside") {
      aside = true;
    } else {
      std::fprintf(stderr, "surrogate_benchmark_stops: unknown option '%s'\n", word.c_str());
      return 2;
    }
  }
  std::ofstream file;
  if (!csv.empty()) file.open(csv, std::ios::app);
  std::printf(
      "| function | solved | wrong stops | evaluations until solved | at the stop | s per run | slowest ask |\n");
  std::printf("|---|---|---|---|---|---|---|\n");
  int runs = 0, wrong_in_all = 0;
  for (const Family& family : families()) {
    if (family.aside != aside || (!only.empty() && family.name.find(only) == std::string::npos)) continue;
    int solved = 0, wrong = 0;
    double slowest = 0, seconds = 0;
    std::vector<double> until, at_stop, half, full;
    for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
      Random random(77777 + static_cast<std::uint64_t>(seed));
      Problem p = family.instance(random);
      if (budget > 0) p.budget = budget;
      const Run r = run(p, strategy, gradient, static_cast<std::uint64_t>(seed));
      solved += r.reached > 0;
      const bool wrong_stop = !p.two_objectives && r.stopped && r.reached == 0;
      wrong += wrong_stop;
      runs += !p.two_objectives;
      slowest = std::max(slowest, r.slowest), seconds += r.seconds;
      if (r.reached) until.push_back(r.reached);
      if (r.stopped) at_stop.push_back(r.evaluations);
      if (p.two_objectives) half.push_back(r.half), full.push_back(r.full);
      if (file.is_open())
        file << family.name << ',' << strategy << (gradient ? "+gradient" : "") << ',' << seed << ',' << r.evaluations
             << ',' << r.reached << ',' << wrong_stop << ',' << r.half << ',' << r.full << ",\"" << r.reason << "\""
             << std::endl;
    }
    wrong_in_all += wrong;
    if (full.empty())
      std::printf("| %s | %d of %d | %d | %g | %g (%zu) | %.2f | %.2f |\n", family.name.c_str(), solved, seeds, wrong,
                  median(until), median(at_stop), at_stop.size(), seconds / seeds, slowest);
    else
      std::printf("| %s | hypervolume %.4f, then %.4f | | | %g (%zu) | %.2f | %.2f |\n", family.name.c_str(),
                  median(half), median(full), median(at_stop), at_stop.size(), seconds / seeds, slowest);
    std::fflush(stdout);
  }
  std::printf("\nwrong stops: %d of %d runs\n", wrong_in_all, runs);
}
