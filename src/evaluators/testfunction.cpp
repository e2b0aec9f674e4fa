#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <functional>
#include <numbers>
#include <random>
#include <sstream>
#include <thread>

#include "evaluators/kinds.hpp"
#include "record/random.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators {
namespace {

// A function of (x, y) with its gradient, and the number of variables that it depends on.
struct Function {
  std::string name;
  int variables;
  std::function<double(double x, double y)> value;
  std::function<Eigen::Vector2d(double x, double y)> gradient;
};

const std::vector<Function>& functions() {
  using std::numbers::pi;
  static const double a = 5.1 / (4 * pi * pi), b = 5 / pi, c = 1 / (8 * pi);  // constants of Branin's function
  static const std::vector<Function> all = {
      // Minimum 0 at (0.3, 0.4).
      {"quadratic", 2, [](double x, double y) { return (x - 0.3) * (x - 0.3) + 2 * (y - 0.4) * (y - 0.4); },
       [](double x, double y) { return Eigen::Vector2d(2 * (x - 0.3), 4 * (y - 0.4)); }},
      // Forrester, Sobester and Keane (2008), "Engineering Design via Surrogate Modelling": on [0, 1] a local minimum
      // near 0.1425 and the global one, -6.02074, at 0.757249.
      {"forrester", 1, [](double x, double) { return std::pow(6 * x - 2, 2) * std::sin(12 * x - 4); },
       [](double x, double) {
         return Eigen::Vector2d(
             12 * (6 * x - 2) * std::sin(12 * x - 4) + 12 * std::pow(6 * x - 2, 2) * std::cos(12 * x - 4), 0);
       }},
      // Dixon and Szegoe (1978): on [-5, 10] x [0, 15] three global minima of 0.397887, one at (pi, 2.275).
      {"branin", 2,
       [](double x, double y) { return std::pow(y - a * x * x + b * x - 6, 2) + 10 * (1 - c) * std::cos(x) + 10; },
       [](double x, double y) {
         const double r = y - a * x * x + b * x - 6;
         return Eigen::Vector2d(2 * r * (b - 2 * a * x) - 10 * (1 - c) * std::sin(x), 2 * r);
       }},
      // Rosenbrock (1960): minimum 0 at (1, 1).
      {"rosenbrock", 2, [](double x, double y) { return 100 * std::pow(y - x * x, 2) + (1 - x) * (1 - x); },
       [](double x, double y) { return Eigen::Vector2d(-400 * x * (y - x * x) - 2 * (1 - x), 200 * (y - x * x)); }},
  };
  return all;
}

enum class Fault { reason, hang, crash, kill, memory };

struct Options {
  const Function* function = &functions().front();
  double delay = 0;         // sleep of an evaluation, s
  double noise = 0;         // standard deviation of the noise
  int samples = 1;          // number of parts
  double fail_above = 100;  // evaluations with a larger x fail
  Fault fault = Fault::reason;
};

const KeyTable<Options>& keys() {
  std::vector<std::pair<std::string, const Function*>> names;
  for (const auto& function : functions()) names.emplace_back(function.name, &function);
  static const auto table =
      KeyTable<Options>("testfunction.")
          .add("name", &Options::function, names, {.description = "the function; forrester depends only on x"})
          .add("delay", &Options::delay, may_change(number(from(0, 3600), "s", "time that each evaluation sleeps")))
          .add("noise", &Options::noise, number(from(0), "1", "standard deviation of the normal noise on the cost"))
          .add("samples", &Options::samples,
               number(from(1, 10000), "number of noisy samples whose mean is the cost; each is a task of its own"))
          .add("fail-above", &Options::fail_above, {.unit = "1", .description = "x above which evaluations fail"})
          .add("fault", &Options::fault,
               {{"reason", Fault::reason},
                {"hang", Fault::hang},
                {"crash", Fault::crash},
                {"kill", Fault::kill},
                {"memory", Fault::memory}},
               {.description = "how evaluations above fail-above fail; reason: with a reason; hang: never return; "
                               "crash: segmentation fault; kill: SIGKILL; memory: take all memory",
                .identity = false});
  return table;
}

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void devour_memory() {
  std::vector<std::vector<char>> all;
  for (;;) all.emplace_back(std::size_t{64} << 20, 'x');
}

class TestFunction : public Evaluator {
 public:
  explicit TestFunction(const Settings& settings)
      : settings_(settings), options_(keys().read(settings)), function_(*options_.function) {
    for (const auto& variable : settings.variables)
      if (variable.name == "y" && function_.variables == 1)
        throw settings.error("design.y.min", "the function " + function_.name + " does not depend on y; free only x");
  }

  bool has_gradients() const override { return options_.noise == 0; }
  std::vector<Quantity> metrics() const override {
    return {{"slope", "1", "norm of the gradient with respect to x and y"},
            {"warm-start-x", "1", "x of the evaluation that offered a warm start; x itself where there was none"}};
  }

  // A straight line to the design, as an example of a stored motion.
  Channels channels() const override {
    return {{"t", "1", "fraction of the way from the origin to the design", nodes, {"t"}},
            {"q", "1", "points on the way", nodes, {"x", "y"}},
            {"value", "1", "the function along the way", nodes, {"value"}}};
  }

  Outcome evaluate(const Task& task) const override {
    Outcome outcome{task.evaluation, {}};
    Evaluation& evaluation = outcome.evaluation;
    const double x = settings_.design("x", evaluation.design), y = settings_.design("y", evaluation.design);
    if (!sleep(task)) {
      evaluation.status = Status::timed_out;
      evaluation.reason = "time limit during testfunction.delay";
      return outcome;
    }
    if (x > options_.fail_above) {
      if (options_.fault == Fault::hang) hang();
      if (options_.fault == Fault::crash) std::raise(SIGSEGV);
      if (options_.fault == Fault::kill) std::raise(SIGKILL);
      if (options_.fault == Fault::memory) devour_memory();
      evaluation.status = Status::failed;
      evaluation.reason = "x = " + to_text(x) + " is above testfunction.fail-above = " + to_text(options_.fail_above);
      return outcome;
    }

    std::mt19937_64 random(options_.samples == 1 ? evaluation.seed : evaluation_seed(evaluation.seed, task.part));
    evaluation.status = Status::ok;
    evaluation.cost = function_.value(x, y) + options_.noise * std::normal_distribution<double>()(random);
    evaluation.cost_stderr = options_.noise;
    const Eigen::Vector2d gradient = function_.gradient(x, y);
    evaluation.gradient.resize(evaluation.design.size());
    for (Eigen::Index i = 0; i < evaluation.gradient.size(); ++i)
      evaluation.gradient(i) = settings_.variables[i].name == "x" ? gradient(0) : gradient(1);
    const bool warm = !task.warm_start.empty();
    evaluation.metrics =
        Eigen::Vector2d(evaluation.gradient.norm(), warm ? task.warm_start.values.at(1)(nodes - 1, 0) : x);

    const Eigen::VectorXd t = Eigen::VectorXd::LinSpaced(nodes, 0, 1);
    Eigen::MatrixXd q(nodes, 2), value(nodes, 1);
    for (int k = 0; k < nodes; ++k) {
      q.row(k) << t(k) * x, t(k) * y;
      value(k, 0) = function_.value(q(k, 0), q(k, 1));
    }
    outcome.trajectory.values = {t, q, value};
    return outcome;
  }

  int parts() const override { return options_.samples; }

  // Returns the mean of the samples, or the first sample that is not ok.
  Outcome join(const Evaluation&, std::vector<Outcome> parts) const override {
    double sum = 0;
    for (auto& part : parts) {
      if (!part.evaluation.ok()) return std::move(part);
      sum += part.evaluation.cost;
    }
    parts.front().evaluation.cost = sum / options_.samples;
    parts.front().evaluation.cost_stderr = options_.noise / std::sqrt(options_.samples);
    return std::move(parts.front());
  }

  std::string report(const Outcome& outcome) const override {
    std::ostringstream text;
    text << "function            " << function_.name << "\n";
    if (outcome.evaluation.gradient.size() > 0)
      text << "length of gradient  " << outcome.evaluation.gradient.norm() << "\n";
    return text.str();
  }

 private:
  // Returns whether it slept for the whole time. Like a solver, it polls its time limit.
  bool sleep(const Task& task) const {
    using std::chrono::duration;
    for (double left = options_.delay; left > 0; left -= 0.05) {
      if (task.seconds_left() == 0) return false;
      std::this_thread::sleep_for(duration<double>(std::min({left, 0.05, task.seconds_left()})));
    }
    return true;
  }

  static constexpr int nodes = 11;
  Settings settings_;
  Options options_;
  const Function& function_;
};

}  // namespace

EvaluatorKind testfunction_kind() {
  return {
      .name = "testfunction",
      .description = "an analytic function with a known minimum, for tests of strategies and ranks",
      .variables = always({{"x", "1", "first variable", 0.5, -100, 100}, {"y", "1", "second variable", 0, -100, 100}}),
      .keys = keys().keys(),
      .make = make<TestFunction>};
}

}  // namespace dodyn::evaluators
