// Ipopt and MPI in one program. Debian's Ipopt brings MUMPS with its sequential stub of MPI, whose MPI_Init and
// MPI_Finalize must not win over those of the real library: every rank solves a small problem and rank 0 checks that
// all answers come in. Linked twice, with the libraries in either order.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "farm/farm.hpp"
#include "nlp/solve.hpp"

using namespace dodyn;

namespace {

// minimise (x - 3)^2
class Parabola : public nlp::Problem {
 public:
  Parabola() {
    lower = Eigen::VectorXd::Constant(1, -nlp::infinity);
    upper = Eigen::VectorXd::Constant(1, nlp::infinity);
    hessian_pattern = {{0}, {0}};
  }
  double objective(const Eigen::VectorXd& x) const override { return (x[0] - 3.0) * (x[0] - 3.0); }
  void objective_gradient(const Eigen::VectorXd& x, Eigen::Ref<Eigen::VectorXd> gradient) const override {
    gradient[0] = 2.0 * (x[0] - 3.0);
  }
  void constraint_values(const Eigen::VectorXd&, Eigen::Ref<Eigen::VectorXd>) const override {}
  void jacobian(const Eigen::VectorXd&, Eigen::Ref<Eigen::VectorXd>) const override {}
  void hessian(const Eigen::VectorXd&, double objective_factor, const Eigen::VectorXd&,
               Eigen::Ref<Eigen::VectorXd> values) const override {
    values[0] = 2.0 * objective_factor;
  }
};

Outcome solve_from_design(const Task& task) {
  const nlp::Solution solution = nlp::solve(Parabola(), task.evaluation.design);
  Outcome outcome;
  outcome.evaluation.status = solution.status == nlp::SolveStatus::solved ? Status::ok : Status::failed;
  outcome.evaluation.reason = solution.reason;
  outcome.evaluation.cost = solution.x[0];
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  const farm::Session session(argc, argv);
  const char* ranks = std::getenv("DODYN_TEST_RANKS");
  if (!ranks || session.size() != std::atoi(ranks)) {
    std::fprintf(stderr, "%d ranks instead of %s\n", session.size(), ranks ? ranks : "?");
    return 1;
  }
  if (session.rank() > 0) {
    farm::serve(session, solve_from_design);
    return 0;
  }
  const auto farm = farm::make_mpi_farm(session, solve_from_design);
  for (int id = 0; id < 30; ++id) {
    Task task;
    task.evaluation.id = id;
    task.evaluation.design = Eigen::VectorXd::Constant(1, id);
    farm->submit(task);
  }
  int solved = 0;
  while (const auto outcome = farm->next(std::chrono::seconds(30)))
    if (outcome->evaluation.ok() && std::abs(outcome->evaluation.cost - 3.0) < 1e-6) ++solved;
  std::printf("%d of 30 solved on %d ranks\n", solved, session.size());
  return solved == 30 ? 0 : 1;
}
