#include "search_functions.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>

namespace dodyn::bench {

using Eigen::VectorXd;
using std::numbers::pi;
using surrogate::Random;

std::vector<Variable> cube(int d, double lower, double upper) {
  std::vector<Variable> box;
  for (int i = 0; i < d; ++i) box.push_back({std::string(1, static_cast<char>('a' + i)), "", lower, upper});
  return box;
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

namespace {

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

}  // namespace

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

namespace {

VectorXd somewhere(Random& random, int d, double margin) {
  return VectorXd::NullaryExpr(d, [&] { return margin + (1 - 2 * margin) * random.uniform(); });
}

double six_hump_camel(const VectorXd& x) {
  const double a = x(0) * x(0), b = x(1) * x(1);
  return (4 - 2.1 * a + a * a / 3) * a + x(0) * x(1) + (4 * b - 4) * b;
}

// T. Ishigami, T. Homma (1990). It has six minima of equal cost. The cost is 0 on four edges of the box.
double ishigami(const VectorXd& x) {
  return std::sin(x(0)) + 7 * std::pow(std::sin(x(1)), 2) + 0.1 * std::pow(x(2), 4) * std::sin(x(0));
}

double shekel(const VectorXd& x, int m) {
  static const double a[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1}, {8, 8, 8, 8}, {6, 6, 6, 6}, {3, 7, 3, 7},
                                  {2, 9, 2, 9}, {5, 5, 3, 3}, {8, 1, 8, 1}, {6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
  static const double c[10] = {0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
  double sum = 0;
  for (int i = 0; i < m; ++i) sum -= 1 / ((x - Eigen::Map<const Eigen::Vector4d>(a[i])).squaredNorm() + c[i]);
  return sum;
}

// A failure rate: 1 outside a ball, falling to 0 at its centre.
Problem bump(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, 0.1);
  return {cube(d, 0, 1), budget, 0,
          [=](const VectorXd& x) { return std::min(1.0, (x - c).squaredNorm() / (radius * radius)); }};
}

// Designs evaluate inside a ball only.
Problem ball(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, radius), best = c + (somewhere(random, d, 0) - VectorXd::Constant(d, 0.5)) *
                                                                  radius / std::sqrt(static_cast<double>(d));
  return {cube(d, 0, 1), budget, 1, [=](const VectorXd& x) { return 1 + (x - best).squaredNorm(); },
          [=](const VectorXd& x) { return (x - c).norm() > radius; }};
}

// The cost falls towards a point inside a disc in which designs fail.
Problem edge(Random& random, int d, double radius, int budget) {
  const VectorXd c = somewhere(random, d, 0.3);
  VectorXd along = somewhere(random, d, 0).array() - 0.5;
  along.normalize();
  const VectorXd goal = c + 0.3 * radius * along;
  return {cube(d, 0, 1), budget, 0.1 + 0.7 * radius, [=](const VectorXd& x) { return 0.1 + (x - goal).norm(); },
          [=](const VectorXd& x) { return (x - c).norm() < radius; }};
}

// A cost with two minima. Designs evaluate on one side of a curve, in 37 % of the box.
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

// The lightest coil spring under four limits on stress, deflection, surge frequency and diameter (J. Arora, Introduction
// to optimum design, 1989). Variables: diameters of wire and coil, number of active coils.
Problem coil_spring() {
  Problem p{
      {{"wire", "", 0.05, 2}, {"coil", "", 0.25, 1.3}, {"turns", "", 2, 15}}, 80, 0.0126653, [](const VectorXd& x) {
        return (x(2) + 2) * x(1) * x(0) * x(0);
      }};
  p.metrics = {[](const VectorXd& x) { return 1 - std::pow(x(1), 3) * x(2) / (71785 * std::pow(x(0), 4)); },
               [](const VectorXd& x) {
                 const double d = x(0), c = x(1);
                 return (4 * c * c - d * c) / (12566 * (c * std::pow(d, 3) - std::pow(d, 4))) + 1 / (5108 * d * d) - 1;
               },
               [](const VectorXd& x) { return 1 - 140.45 * x(0) / (x(1) * x(1) * x(2)); },
               [](const VectorXd& x) { return (x(0) + x(1)) / 1.5 - 1; }};
  return p;
}

// The cost falls towards the corner between two planes. Designs beyond either plane fail.
Problem wedge(Random& random, int d, int budget) {
  const VectorXd c = somewhere(random, d, 0.3);
  VectorXd first = somewhere(random, d, 0).array() - 0.5, second = somewhere(random, d, 0).array() - 0.5;
  first.normalize(), second.normalize();
  if (first.dot(second) < -0.5) second = -second;
  const double tilt = 0.3 + 0.4 * random.uniform();
  const VectorXd along =
      tilt * first + (1 - tilt) * second;  // a positive combination: the cost is minimal at the corner
  // component orthogonal to both normals
  const auto rest = [=](const VectorXd& t) {
    const double a = first.dot(second), p = first.dot(t), q = second.dot(t), det = 1 - a * a;
    return t - (p - a * q) / det * first - (q - a * p) / det * second;
  };
  return {cube(d, 0, 1), budget, 0.5,
          [=](const VectorXd& x) { return 0.5 + along.dot(c - x) + rest(x - c).squaredNorm(); },
          [=](const VectorXd& x) { return first.dot(x - c) > 0 || second.dot(x - c) > 0; }};
}

// Minima of random depth and width at random places.
Problem hollows(Random& random, int d, int count, int budget, double wide = 0.11) {
  std::vector<VectorXd> at;
  std::vector<double> depth;
  for (int i = 0; i < count; ++i)
    at.push_back(somewhere(random, d, 0.1)), depth.push_back(i == 0 ? 1 : 0.45 + 0.45 * random.uniform());
  const double width = wide * std::sqrt(static_cast<double>(d));
  const auto f = [=](const VectorXd& x) {
    double sum = 0;
    for (int i = 0; i < count; ++i) sum -= depth[i] / (1 + (x - at[i]).squaredNorm() / (width * width));
    return sum;
  };
  VectorXd best = at[0];  // pattern searches from all of them find the minimum
  for (const VectorXd& start : at) {
    VectorXd x = start;
    for (double step = 0.02; step > 1e-7; step /= 2)
      for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < 2 * d; ++k) {
          VectorXd y = x;
          y(k / 2) = std::clamp(y(k / 2) + (k % 2 ? step : -step), 0.0, 1.0);
          if (f(y) < f(x)) x = y, moved = true;
        }
      }
    if (f(x) < f(best)) best = x;
  }
  return {cube(d, 0, 1), budget, f(best), f};
}

// Cosines on a bowl: a grid of minima. The global minimum is at a random place.
Problem ripples(Random& random, int d, double waves, double height, int budget) {
  const VectorXd c = somewhere(random, d, 0.2);
  return {cube(d, 0, 1), budget, 1, [=](const VectorXd& x) {
            return 1 + 8 * (x - c).squaredNorm() + height * (1 - (2 * pi * waves * (x - c).array()).cos()).sum();
          }};
}

// Two real variables, a whole number and a label. Each label has a bowl of its own.
Problem mixed(Random& random, int labels, int most, int reals, int budget) {
  using surrogate::Domain;
  Problem p{cube(reals, 0, 1), budget, 1, {}};
  p.box.push_back({"n", "", 0, static_cast<double>(most)});
  p.box.push_back({"label", "", 0, labels - 1.0});
  p.domains.assign(reals, Domain::real);
  p.domains.push_back(Domain::integer);
  p.domains.push_back(Domain::category);
  std::vector<VectorXd> at;
  std::vector<double> whole, base;
  const int best = static_cast<int>(random.uniform() * labels);
  for (int i = 0; i < labels; ++i) {
    at.push_back(somewhere(random, reals, 0.1));
    whole.push_back(std::floor(random.uniform() * (most + 1)));
    base.push_back(i == best ? 1 : 1.1 + random.uniform());
  }
  p.f = [=](const VectorXd& x) {
    const auto i = static_cast<std::size_t>(std::lround(x(reals + 1)));
    const double t = (std::round(x(reals)) - whole[i]) / most;
    return base[i] + (x.head(reals) - at[i]).squaredNorm() * 4 + 3 * t * t;
  };
  return p;
}

Problem noisy_bowl(Random& random, int d, double noise, int budget) {
  const VectorXd c = somewhere(random, d, 0.15);
  Problem p{cube(d, 0, 1), budget, 0, [=](const VectorXd& x) {
              const VectorXd t = x - c;
              return 4 * t.squaredNorm() + 0.3 * (1 - std::cos(6 * t(0)));
            }};
  p.noise = noise;
  return p;
}

// The best within a thin shell about a centre, by two metrics.
Problem shell(Random& random, int d, double thick, int budget) {
  const VectorXd c = somewhere(random, d, 0.35);
  VectorXd goal = c;
  goal(0) += 0.1;
  const double r = 0.3;
  Problem p{cube(d, 0, 1), budget, 0.5 + (r - thick - 0.1), [=](const VectorXd& x) { return 0.5 + (x - goal).norm(); }};
  p.metrics = {[=](const VectorXd& x) { return (x - c).norm() - (r + thick); },
               [=](const VectorXd& x) { return (r - thick) - (x - c).norm(); }};
  return p;
}

}  // namespace

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
      {"Ishigami", false, fixed({cube(3, -pi, pi), 90, -1 - 0.1 * std::pow(pi, 4), ishigami})},
      {"ZDT1", false, fixed(zitzler(false, 4))},
      {"ZDT2", false, fixed(zitzler(true, 4))},
      {"wedge 2", false, [](Random& r) { return wedge(r, 2, 60); }},
      {"wedge 3", false, [](Random& r) { return wedge(r, 3, 80); }},
      {"shell 2", false, [](Random& r) { return shell(r, 2, 0.02, 60); }},
      {"hollows 4", false, [](Random& r) { return hollows(r, 4, 8, 150); }},
      {"pits 4", false, [](Random& r) { return hollows(r, 4, 8, 150, 0.04); }},
      {"ripples 2", false, [](Random& r) { return ripples(r, 2, 3, 0.5, 100); }},
      {"mixed 4", false, [](Random& r) { return mixed(r, 4, 8, 2, 80); }},
      {"noisy 2", false, [](Random& r) { return noisy_bowl(r, 2, 0.1, 60); }},
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
      {"Rastrigin 2", false,
       fixed({cube(2, -2, 1.7), 80, 0,
              [](const VectorXd& x) { return 20 + x.squaredNorm() - 10 * (2 * pi * x.array()).cos().sum(); }})},
      {"camel", true, fixed({cube(2, -2, 2), 80, -1.0316285, six_hump_camel})},
      {"ZDT2, 3 variables", true, fixed(zitzler(true, 3))},
      {"coil spring", true, fixed(coil_spring())},
      {"bay 2", true,
       [](Random& r) {  // what fails has a bay, at whose end the optimum lies
         const double at = 0.3 + 0.4 * r.uniform(), deep = 0.4 + 0.2 * r.uniform();
         return Problem{cube(2, 0, 1), 60, 1.5 - deep,
                        [=](const VectorXd& x) { return 1.5 - x(1) + 0.5 * std::pow(x(0) - at, 2); },
                        [=](const VectorXd& x) { return x(1) > deep - 3 * std::pow(x(0) - at, 2); }};
       }},
      {"wedge 4", true, [](Random& r) { return wedge(r, 4, 120); }},
      {"shell 3", true, [](Random& r) { return shell(r, 3, 0.02, 90); }},
      {"hollows 3", true, [](Random& r) { return hollows(r, 3, 7, 120); }},
      {"pits 5", true, [](Random& r) { return hollows(r, 5, 6, 180, 0.05); }},
      {"ripples 3", true, [](Random& r) { return ripples(r, 3, 2, 0.4, 120); }},
      {"mixed 5", true, [](Random& r) { return mixed(r, 3, 12, 3, 100); }},
      {"noisy 3", true, [](Random& r) { return noisy_bowl(r, 3, 0.1, 90); }},
  };
}

namespace {

// Returns the sorted costs of 2001 random designs. `only_usable`: without designs that fail or violate a limit.
std::vector<double> sample_costs(const Problem& p, bool only_usable = false) {
  Random random(1);
  std::vector<double> values;
  VectorXd x(p.box.size());
  for (int i = 0; i < 2001; ++i) {
    for (std::size_t k = 0; k < p.box.size(); ++k)
      x(k) = p.box[k].lower + random.uniform() * (p.box[k].upper - p.box[k].lower);
    const auto broken = [&](const auto& metric) { return metric(x) > 0; };
    const bool usable = !(p.fails && p.fails(x)) && std::none_of(p.metrics.begin(), p.metrics.end(), broken);
    if (usable || !only_usable) values.push_back(p.f(x));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

double median_of(const Problem& p) {
  const std::vector<double> values = sample_costs(p, true);
  return values.empty() ? not_a_number : values[values.size() / 2];
}

double allowance(const Problem& p) {
  const std::vector<double> values = sample_costs(p);
  if (p.noise > 0) return 0.03 * (values[1800] - values[200]);
  return p.minimum != 0 ? 0.01 * std::abs(p.minimum) : 0.001 * values[1000];
}

void serve(const Problem& p, std::uint64_t seed) {
  Random noise(5000 + seed);
  std::printf("%zu %d %.17g %.17g", p.box.size(), p.budget, p.minimum, allowance(p));
  for (const auto& v : p.box) std::printf(" %.17g %.17g", v.lower, v.upper);
  std::printf("\n");
  std::fflush(stdout);
  VectorXd x(p.box.size());
  while (true) {
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (std::scanf("%lf", &x(i)) != 1) return;
      if (!p.domains.empty() && p.domains[i].kind != surrogate::Domain::real) x(i) = std::round(x(i));
    }
    const bool fails = p.fails && p.fails(x);
    double broken = 0;
    for (const auto& metric : p.metrics) broken = std::max(broken, metric(x));
    const double value = fails ? 0 : p.f(x);
    std::printf("%d %.17g %.17g %.17g\n", fails ? 0 : 1, value + (p.noise > 0 ? p.noise * noise.normal() : 0), value,
                broken);
    std::fflush(stdout);
  }
}

}  // namespace dodyn::bench
