// Measures how often the 95 % interval of `dodyn predict` contains the function's value, and the interval's width.
//
//   build:  cmake --preset release -DDODYN_BENCH=ON && cmake --build --preset release --target prediction_bands
//   run:    prediction_bands [--seeds 10] [--first-seed 0] [--aside] [--only TEXT]
//
// The functions are those of surrogate_benchmark_stops with one objective and without failures. Samples are 5, 10, 20
// and 40 points of a Latin hypercube, or the first half of a search's budget. Each model predicts at 500 random points
// of the box. For a search it also predicts at 500 points within 10 % of the range around its best design. The score is
// the interval's width plus 40 times the distance by which the value lies outside, as a share of the function's spread
// (10 % to 90 % quantile). Lower is better. Source: T. Gneiting and A. Raftery, Strictly proper scoring rules, 2007,
// equation 43.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "search_functions.hpp"
#include "surrogate/archive_model.hpp"
#include "surrogate/sampling.hpp"
#include "surrogate/strategy_options.hpp"

namespace {

using namespace dodyn::bench;
using namespace dodyn;
using namespace dodyn::surrogate;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int asked = 500;
constexpr double nearby = 0.1;  // of the range

Evaluation evaluated(const Problem& p, const VectorXd& design, std::int64_t id, Random& noise) {
  Evaluation e;
  e.id = id;
  e.design = design;
  e.status = Status::ok;
  e.cost = p.f(design) + (p.noise > 0 ? p.noise * noise.normal() : 0);
  return e;
}

struct Tally {
  double held = 0, score = 0;
  int count = 0;
  void add(const Tally& other) { held += other.held, score += other.score, count += other.count; }
};

// Predicts by a model of the samples at `units` [variables, points].
Tally tally(const Problem& p, const ObservedData& observed, const MatrixXd& units, double spread) {
  const ArchiveModel model(observed, -1);
  Tally all;
  for (Eigen::Index i = 0; i < units.cols(); ++i) {
    const VectorXd design = observed.space.design(units.col(i));
    const double value = p.f(design);
    const PredictionInterval band = model.at(design);
    const double rounding = 1e-9 * spread;
    all.held += value >= band.lower - rounding && value <= band.upper + rounding;
    all.score += (band.upper - band.lower + 40 * std::max({0.0, band.lower - value, value - band.upper})) / spread;
    ++all.count;
  }
  return all;
}

MatrixXd random_points(Eigen::Index d, Random& random) {
  MatrixXd units(d, asked);
  for (double& u : units.reshaped()) u = random.uniform();
  return units;
}

}  // namespace

int main(int count, char** words) {
  int seeds = 10, first_seed = 0;
  bool aside = false;
  std::string only;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--aside")
      aside = true;
    else if (i + 1 < count && word == "--seeds")
      seeds = std::atoi(words[++i]);
    else if (i + 1 < count && word == "--first-seed")
      first_seed = std::atoi(words[++i]);
    else if (i + 1 < count && word == "--only")
      only = words[++i];
    else
      return std::printf("see the head of bench/prediction_bands.cpp\n"), 2;
  }
  std::map<std::string, Tally> total;
  std::printf("%-22s", "function");
  const std::vector<std::string> kinds = {"5", "10", "20", "40", "search", "near"};
  for (const auto& kind : kinds) std::printf("  %6s       ", kind.c_str());
  std::printf("\n");
  for (const Family& family : families()) {
    if (family.aside != aside || family.name.find(only) == std::string::npos) continue;
    std::map<std::string, Tally> own;
    for (int seed = first_seed; seed < first_seed + seeds; ++seed) {
      Random random(9000 + static_cast<std::uint64_t>(seed)), noise(100 + static_cast<std::uint64_t>(seed));
      const Problem p = family.instance(random);
      if (p.two_objectives || p.fails || !p.domains.empty()) break;
      const ObservedData empty{DesignSpace(p.box, {}, "bench"), {}, {-1}, p.noise > 0};
      const Eigen::Index d = p.box.size();
      std::vector<double> values;
      for (int i = 0; i < 4; ++i) {
        const MatrixXd units = random_points(d, random);
        for (const auto& u : units.colwise()) values.push_back(p.f(empty.space.design(u)));
      }
      std::sort(values.begin(), values.end());
      const double spread = values[values.size() * 9 / 10] - values[values.size() / 10];
      if (!(spread > 0)) continue;
      const MatrixXd everywhere = random_points(d, random);
      for (const int n : {5, 10, 20, 40}) {
        ObservedData observed = empty;
        const MatrixXd units = latin_hypercube(d, n, static_cast<std::uint64_t>(1000 * seed + n));
        for (int i = 0; i < n; ++i)
          observed.evaluations.push_back(evaluated(p, empty.space.design(units.col(i)), i, noise));
        own[std::to_string(n)].add(tally(p, observed, everywhere, spread));
      }
      StrategyOptions choice;
      choice.name = "auto";
      choice.ego.noise = p.noise > 0;
      choice.ego.seed = static_cast<std::uint64_t>(seed);
      const auto strategy = make_strategy(choice, p.box);
      ObservedData observed = empty;
      while (std::ssize(observed.evaluations) < p.budget / 2 && strategy->stopped().empty())
        for (const VectorXd& design : strategy->ask(1)) {
          observed.evaluations.push_back(
              evaluated(p, design, static_cast<std::int64_t>(observed.evaluations.size()), noise));
          strategy->tell(observed.evaluations.back());
          strategy->decide();
        }
      own["search"].add(tally(p, observed, everywhere, spread));
      const Evaluation* best = &observed.evaluations[0];
      for (const Evaluation& e : observed.evaluations)
        if (e.cost < best->cost) best = &e;
      MatrixXd near = random_points(d, random);
      for (Eigen::Index i = 0; i < near.cols(); ++i)
        near.col(i) = (observed.unit(*best) + nearby * (2 * near.col(i).array() - 1).matrix()).cwiseMax(0).cwiseMin(1);
      own["near"].add(tally(p, observed, near, spread));
    }
    if (own.empty()) continue;
    std::printf("%-22s", family.name.c_str());
    for (const auto& kind : kinds) {
      const Tally& t = own[kind];
      std::printf("  %5.1f %% %6.3g", 100 * t.held / t.count, t.score / t.count);
      total[kind].add(t);
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("%-22s", "all");
  for (const auto& kind : kinds) {
    const Tally& t = total[kind];
    std::printf("  %5.1f %% %6.3g", 100 * t.held / t.count, t.score / t.count);
  }
  std::printf("\n");
  return 0;
}
