// Solves gaits by the native solver, Ipopt (exact Hessian, MUMPS) and fatrop, with the same problem, start and
// derivative callbacks, in one run. fatrop is an interior-point method. It solves its linear systems by a Riccati
// recursion over the stages of an optimal control problem.
//
//   build/release/bench/gait_fatrop [problems of a kind]         default: 10 of each kind of the battery, K = 80
//
// A gait as stages: the inputs of stage k are the unknowns of interval k and of node k + 1. The states of a stage are
// the unknowns of earlier stages that rows of this stage or a later one use. The "dynamics" pass states on unchanged.
// The equations of motion are equality constraints of a stage, in which fatrop chooses its pivots. Because the motion
// is periodic, the unknowns of the first nodes are states of all stages. Bounds of unknowns are inequalities of the
// stage that has them as inputs.
//
// Cold starts are random postures. Near starts are the gait of a knee 5 mm lower, without its multipliers. Iterations
// and times per solve are medians over problems that all three solvers solve. Times per iteration are medians over
// problems that this solver solves. All times are processor times of the thread.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fatrop/fatrop.hpp>
#include <map>

#include "battery_gaits.hpp"
#include "measure.hpp"

namespace {

using namespace dodyn;
using Eigen::VectorXd;

// Returns the stage that has each unknown as an input. First stage: velocities after touch-down. Last stage: those
// before.
std::vector<int> stages(const dmoc::WalkerGait& gait) {
  const dmoc::PhaseIndex& index = gait.index();
  const int K = index.intervals, n = gait.problem().variables();
  std::vector<int> stage(n, K - 1);
  for (int k = 0; k < K; ++k)
    for (int v = index.theta(k); v < index.theta(k + 1); ++v) stage[v] = v < index.control(k) ? std::max(k - 1, 0) : k;
  for (int v = 0; v < index.moving; ++v) stage[index.velocity_after + v] = 0;
  return stage;
}

// Inputs and states of a stage, its rows, and the bounds of its inputs.
struct Stage {
  std::vector<int> inputs, states;            // variables
  std::vector<int> equalities, inequalities;  // rows of the problem
  std::vector<int> bounded;                   // variables
  std::map<int, int> place;                   // position of a variable among inputs and states
  std::vector<int> next;                      // position in this stage of each state of the next stage
  // Entries of the problem's Jacobian and Hessian: (row or position, position, entry).
  struct Entry {
    int row, place, entry;
  };
  std::vector<Entry> equality_entries, inequality_entries, hessian_entries;
  int size() const { return inputs.size() + states.size(); }
};

class Staged : public fatrop::OcpAbstract {
 public:
  Staged(const nlp::Problem& problem, const std::vector<int>& brought, VectorXd start)
      : problem_(problem), start_(std::move(start)) {
    const int n = problem.variables(), m = problem.constraints();
    const int K = *std::max_element(brought.begin(), brought.end()) + 1;
    stages.resize(K);
    std::vector<int> last(brought), of_row(m, 0);
    const auto at = [](auto& v, int i) -> auto& { return v[i]; };
    const nlp::Pattern &J = problem.jacobian_pattern, &H = problem.hessian_pattern;
    for (int e = 0; e < J.size(); ++e)
      at(of_row, at(J.rows, e)) = std::max(at(of_row, at(J.rows, e)), at(brought, at(J.columns, e)));
    for (int e = 0; e < J.size(); ++e)
      at(last, at(J.columns, e)) = std::max(at(last, at(J.columns, e)), at(of_row, at(J.rows, e)));
    for (int e = 0; e < H.size(); ++e) {
      const int stage = std::max(at(brought, at(H.rows, e)), at(brought, at(H.columns, e)));
      for (const int v : {at(H.rows, e), at(H.columns, e)}) at(last, v) = std::max(at(last, v), stage);
    }
    for (int v = 0; v < n; ++v) {
      at(stages, at(brought, v)).inputs.push_back(v);
      for (int k = at(brought, v) + 1; k <= at(last, v); ++k) at(stages, k).states.push_back(v);
      if (std::isfinite(problem.lower[v]) || std::isfinite(problem.upper[v]))
        at(stages, at(brought, v)).bounded.push_back(v);
    }
    for (int r = 0; r < m; ++r) {
      Stage& s = at(stages, at(of_row, r));
      (problem.constraint_lower[r] == problem.constraint_upper[r] ? s.equalities : s.inequalities).push_back(r);
    }
    for (Stage& s : stages) {
      for (const int v : s.inputs) s.place.emplace(v, static_cast<int>(s.place.size()));
      for (const int v : s.states) s.place.emplace(v, static_cast<int>(s.place.size()));
    }
    for (int k = 0; k + 1 < K; ++k)
      for (const int v : at(stages, k + 1).states) at(stages, k).next.push_back(at(stages, k).place.at(v));
    for (int e = 0; e < J.size(); ++e) {
      Stage& s = at(stages, at(of_row, at(J.rows, e)));
      const auto find = [&](const std::vector<int>& rows) {
        const auto i = std::find(rows.begin(), rows.end(), at(J.rows, e));
        return i == rows.end() ? -1 : static_cast<int>(i - rows.begin());
      };
      const int place = s.place.at(at(J.columns, e));
      if (const int r = find(s.equalities); r >= 0) s.equality_entries.push_back({r, place, e});
      if (const int r = find(s.inequalities); r >= 0) s.inequality_entries.push_back({r, place, e});
    }
    for (int e = 0; e < H.size(); ++e) {
      Stage& s = at(stages, std::max(at(brought, at(H.rows, e)), at(brought, at(H.columns, e))));
      const int a = s.place.at(at(H.rows, e)), b = s.place.at(at(H.columns, e));
      s.hessian_entries.push_back({std::max(a, b), std::min(a, b), e});
      if (a != b) s.hessian_entries.push_back({std::min(a, b), std::max(a, b), e});
    }
    x.resize(n);
    gradient.resize(n);
    values.resize(m);
    multipliers.resize(m);
    jacobian.resize(J.size());
    hessian.resize(H.size());
  }

  std::vector<Stage> stages;
  // Point of the latest evaluation and its values.
  VectorXd x, gradient, values, multipliers, jacobian, hessian;
  double objective = 0.0;

  const nlp::Problem& problem() const { return problem_; }
  const Stage& stage(int k) const { return stages[k]; }
  int get_nx(int k) const override { return stage(k).states.size(); }
  int get_nu(int k) const override { return stage(k).inputs.size(); }
  int get_ng(int k) const override { return stage(k).equalities.size(); }
  int get_ng_ineq(int k) const override {
    return static_cast<int>(stage(k).inequalities.size() + stage(k).bounded.size());
  }
  int get_horizon_length() const override { return static_cast<int>(stages.size()); }

  int eval_BAbt(const double*, const double*, const double*, MAT* res, int k) override {
    fatrop::blasfeo_gese_wrap(res->m, res->n, 0.0, res, 0, 0);
    for (std::size_t i = 0; i < stage(k).next.size(); ++i) fatrop::blasfeo_matel_wrap(res, stage(k).next[i], i) = 1.0;
    return 0;
  }
  int eval_RSQrqt(const double*, const double*, const double*, const double*, const double*, const double*, MAT* res,
                  int k) override {
    fatrop::blasfeo_gese_wrap(res->m, res->n, 0.0, res, 0, 0);
    for (const auto& e : stage(k).hessian_entries) fatrop::blasfeo_matel_wrap(res, e.row, e.place) += hessian[e.entry];
    return 0;
  }
  int eval_Ggt(const double*, const double*, MAT* res, int k) override {
    fatrop::blasfeo_gese_wrap(res->m, res->n, 0.0, res, 0, 0);
    for (const auto& e : stage(k).equality_entries)
      fatrop::blasfeo_matel_wrap(res, e.place, e.row) += jacobian[e.entry];
    return 0;
  }
  int eval_Ggt_ineq(const double*, const double*, MAT* res, int k) override {
    fatrop::blasfeo_gese_wrap(res->m, res->n, 0.0, res, 0, 0);
    for (const auto& e : stage(k).inequality_entries)
      fatrop::blasfeo_matel_wrap(res, e.place, e.row) += jacobian[e.entry];
    int row = stage(k).inequalities.size();
    for (const int v : stage(k).bounded) fatrop::blasfeo_matel_wrap(res, stage(k).place.at(v), row++) = 1.0;
    return 0;
  }
  int eval_b(const double* next, const double* inputs, const double* states, double* res, int k) override {
    const Stage& s = stage(k);
    const int count = s.inputs.size();
    for (std::size_t i = 0; i < s.next.size(); ++i)
      res[i] = (s.next[i] < count ? inputs[s.next[i]] : states[s.next[i] - count]) - next[i];
    return 0;
  }
  int eval_g(const double*, const double*, double* res, int k) override {
    for (const int r : stage(k).equalities) *res++ = values[r] - problem_.constraint_lower[r];
    return 0;
  }
  int eval_gineq(const double*, const double*, double* res, int k) override {
    for (const int r : stage(k).inequalities) *res++ = values[r];
    for (const int v : stage(k).bounded) *res++ = x[v];
    return 0;
  }
  int eval_rq(const double*, const double*, const double*, double* res, int k) override {
    for (const int v : stage(k).inputs) *res++ = gradient[v];  // once, where they are inputs
    for (std::size_t i = 0; i < stage(k).states.size(); ++i) *res++ = 0.0;
    return 0;
  }
  int eval_L(const double*, const double*, const double*, double* res, int k) override {
    *res = k == 0 ? objective : 0.0;
    return 0;
  }
  int get_bounds(double* lower, double* upper, int k) const override {
    for (const int r : stage(k).inequalities)
      *lower++ = problem_.constraint_lower[r], *upper++ = problem_.constraint_upper[r];
    for (const int v : stage(k).bounded) *lower++ = problem_.lower[v], *upper++ = problem_.upper[v];
    return 0;
  }
  int get_initial_xk(double* xk, int k) const override {
    for (const int v : stage(k).states) *xk++ = start_[v];
    return 0;
  }
  int get_initial_uk(double* uk, int k) const override {
    for (const int v : stage(k).inputs) *uk++ = start_[v];
    return 0;
  }

 private:
  const nlp::Problem& problem_;
  VectorXd start_;
};

// Evaluates the problem once per point for all stages; each stage then reads its entries.
class StagedProgram : public fatrop::NlpOcp {
 public:
  using Base = fatrop::NlpOcp;
  using Info = fatrop::ProblemInfo<fatrop::OcpType>;
  using View = fatrop::VecRealView;
  explicit StagedProgram(std::shared_ptr<Staged> staged) : Base(staged), staged_(std::move(staged)) {}
  const VectorXd& point(const Info& info, const View& primal) {
    const double* at = primal.data();
    for (int k = 0; k < info.dims.K; ++k) {
      const double* u = at + info.offsets_primal_u[k];
      for (const int v : staged_->stage(k).inputs) staged_->x[v] = *u++;
    }
    return staged_->x;
  }
  fatrop::Index eval_lag_hess(const Info& info, const double scale, const View& x, const View& s, const View& lam,
                              fatrop::Hessian<fatrop::OcpType>& hess) override {
    Staged& all = *staged_;
    for (int k = 0; k < info.dims.K; ++k) {
      const double *equal = lam.data() + info.offsets_g_eq_path[k], *other = lam.data() + info.offsets_g_eq_slack[k];
      for (const int r : all.stage(k).equalities) all.multipliers[r] = *equal++;
      for (const int r : all.stage(k).inequalities) all.multipliers[r] = *other++;
    }
    all.problem().hessian(point(info, x), scale, all.multipliers, all.hessian);
    return Base::eval_lag_hess(info, scale, x, s, lam, hess);
  }
  fatrop::Index eval_constr_jac(const Info& info, const View& x, const View& s,
                                fatrop::Jacobian<fatrop::OcpType>& jac) override {
    staged_->problem().jacobian(point(info, x), staged_->jacobian);
    return Base::eval_constr_jac(info, x, s, jac);
  }
  fatrop::Index eval_constraint_violation(const Info& info, const View& x, const View& s, View& res) override {
    staged_->problem().constraint_values(point(info, x), staged_->values);
    return Base::eval_constraint_violation(info, x, s, res);
  }
  fatrop::Index eval_objective_gradient(const Info& info, const double scale, const View& x, const View& s,
                                        View& grad_x, View& grad_s) override {
    staged_->problem().objective_gradient(point(info, x), staged_->gradient);
    staged_->gradient *= scale;
    return Base::eval_objective_gradient(info, scale, x, s, grad_x, grad_s);
  }
  fatrop::Index eval_objective(const Info& info, const double scale, const View& x, const View& s,
                               double& res) override {
    staged_->objective = scale * staged_->problem().objective(point(info, x));
    return Base::eval_objective(info, scale, x, s, res);
  }

 private:
  std::shared_ptr<Staged> staged_;
};

// Measures the time that the callbacks of a problem take.
class Timed : public nlp::Problem {
 public:
  explicit Timed(const nlp::Problem& problem) : Problem(problem), problem_(problem) {}
  double objective(const VectorXd& x) const override {
    const Clock clock(seconds);
    return problem_.objective(x);
  }
  void objective_gradient(const VectorXd& x, Eigen::Ref<VectorXd> gradient) const override {
    const Clock clock(seconds);
    problem_.objective_gradient(x, gradient);
  }
  void constraint_values(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    const Clock clock(seconds);
    problem_.constraint_values(x, values);
  }
  void jacobian(const VectorXd& x, Eigen::Ref<VectorXd> values) const override {
    const Clock clock(seconds);
    problem_.jacobian(x, values);
  }
  void hessian(const VectorXd& x, double factor, const VectorXd& multipliers,
               Eigen::Ref<VectorXd> values) const override {
    const Clock clock(seconds);
    problem_.hessian(x, factor, multipliers, values);
  }
  void derivatives(const VectorXd& x, double factor, const VectorXd& multipliers, Eigen::Ref<VectorXd> gradient,
                   Eigen::Ref<VectorXd> jacobian, Eigen::Ref<VectorXd> hessian) const override {
    const Clock clock(seconds);
    problem_.derivatives(x, factor, multipliers, gradient, jacobian, hessian);
  }
  mutable double seconds = 0.0;

 private:
  struct Clock {
    double& sum;
    double begin = bench::cpu_seconds();
    explicit Clock(double& seconds) : sum(seconds) {}
    ~Clock() { sum += bench::cpu_seconds() - begin; }
  };
  const nlp::Problem& problem_;
};

struct Result {
  bool solved = false;
  int iterations = 0;
  double cost = 0.0, milliseconds = 0.0, own_milliseconds = 0.0;  // all; without the callbacks
};

Result by_fatrop(const dmoc::WalkerGait& gait, const VectorXd& start) {
  const Timed problem(gait.problem());
  auto staged = std::make_shared<Staged>(problem, stages(gait), start.cwiseMax(problem.lower).cwiseMin(problem.upper));
  auto program = std::make_shared<StagedProgram>(staged);
  fatrop::OptionRegistry options;
  fatrop::IpAlgBuilder<fatrop::OcpType> builder(program);
  const auto algorithm = builder.with_options_registry(&options).build();
  options.set_option("tolerance", 1e-9);
  options.set_option("max_iter", 1000);
  options.set_option("print_level", std::getenv("LOG") ? 5 : 0);
  const double begin = bench::cpu_seconds();
  Result r;
  r.solved = algorithm->optimize() == fatrop::IpSolverReturnFlag::Success;
  r.milliseconds = 1e3 * (bench::cpu_seconds() - begin);
  r.own_milliseconds = r.milliseconds - 1e3 * problem.seconds;
  r.iterations = builder.get_ipdata()->iteration_number();
  program->point(algorithm->info(), algorithm->solution_primal());
  r.cost = problem.objective(staged->x);
  VectorXd c(problem.constraints());
  problem.constraint_values(staged->x, c);
  const double missed = std::max((c - problem.constraint_upper).maxCoeff(), (problem.constraint_lower - c).maxCoeff());
  r.solved = r.solved && missed < 1e-8;
  return r;
}

Result by(nlp::Backend backend, const dmoc::WalkerGait& gait, const VectorXd& start, double push) {
  nlp::Options options;
  options.backend = backend;
  options.max_seconds = 600.0;
  options.push = push;
  const double begin = bench::cpu_seconds();
  const Timed problem(gait.problem());
  const nlp::Solution s = nlp::solve(problem, start, options);
  const double all = 1e3 * (bench::cpu_seconds() - begin);
  return {s.status == nlp::SolveStatus::solved, s.iterations, s.objective, all, all - 1e3 * problem.seconds};
}

}  // namespace

int main(int argc, char** argv) {
  const int problems = argc > 1 ? std::atoi(argv[1]) : 10;
  std::printf(
      "| kind, start | solved by native, fatrop, Ipopt | iterations | ms an iteration | fatrop / native | Ipopt / "
      "native | "
      "of it without callbacks, native and fatrop | fatrop / native | ms of a solve "
      "|\n|---|---|---|---|---|---|---|---|---|\n");
  for (int row = 0; row < 2 * bench::gait_kinds; ++row) {
    const int kind = row / 2;
    const bool near = row % 2 == 1;
    std::vector<double> iterations[3], each[3], own[3], whole[3];
    int solved[3] = {};
    for (int i = 0; i < problems; ++i) {
      const double shank = 0.35 + 0.4 * (i + 0.5) / problems;
      const dmoc::WalkerGait gait = bench::battery_gait(kind, shank);
      VectorXd start = gait.cold_start(static_cast<std::uint64_t>(1000 * kind + i));
      if (near) {  // the gait of a knee 5 mm lower
        nlp::Options options;
        options.push = dmoc::push_of_cold_start;
        start = nlp::solve(bench::battery_gait(kind, shank - 0.005).problem(), start, options).x;
      }
      const Result results[3] = {by(nlp::Backend::native, gait, start, near ? 0.0 : dmoc::push_of_cold_start),
                                 by_fatrop(gait, start), by(nlp::Backend::ipopt, gait, start, 0.0)};
      const bool all = results[0].solved && results[1].solved && results[2].solved;
      for (int s = 0; s < 3; ++s) {
        const Result& r = results[s];
        std::fprintf(
            stderr, "%s%s, knee at %.2f m, %s: %s after %d iterations, cost %.9f, %.2f ms, without callbacks %.2f ms\n",
            bench::gait_kind_names[kind], near ? ", near" : "", shank,
            s == 0   ? "native"
            : s == 1 ? "fatrop"
                     : "Ipopt",
            r.solved ? "solved" : "lost", r.iterations, r.cost, r.milliseconds, r.own_milliseconds);
        solved[s] += r.solved;
        if (!r.solved) continue;
        each[s].push_back(r.milliseconds / r.iterations);
        own[s].push_back(r.own_milliseconds / r.iterations);
        if (!all) continue;
        iterations[s].push_back(r.iterations);
        whole[s].push_back(r.milliseconds);
      }
    }
    const auto m = [](const std::vector<double>& v) { return bench::median(v); };
    std::printf(
        "| %s, %s | %d, %d, %d of %d | %.0f, %.0f, %.0f | %.3f, %.2f, %.2f | %.1f | %.1f | %.3f, %.3f | %.1f | %.1f, "
        "%.1f, %.0f |\n",
        bench::gait_kind_names[kind], near ? "near" : "cold", solved[0], solved[1], solved[2], problems,
        m(iterations[0]), m(iterations[1]), m(iterations[2]), m(each[0]), m(each[1]), m(each[2]),
        m(each[1]) / m(each[0]), m(each[2]) / m(each[0]), m(own[0]), m(own[1]), m(own[1]) / m(own[0]), m(whole[0]),
        m(whole[1]), m(whole[2]));
    std::fflush(stdout);
  }
}
