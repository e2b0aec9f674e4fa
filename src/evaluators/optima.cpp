#include "evaluators/optima.hpp"

#include <algorithm>
#include <cmath>

#include "record/evaluation.hpp"
#include "record/text.hpp"

namespace dodyn::evaluators {

namespace {

bool same(const Optimum& a, const Optimum& b) {
  return std::abs(a.cost - b.cost) <= 1e-6 * std::abs(a.cost) + std::max(a.residual, b.residual) &&
         (a.joints - b.joints).norm() <= 1e-3 * std::sqrt(static_cast<double>(a.joints.size()));
}

}  // namespace

void add(std::vector<Optimum>& optima, Optimum found) {
  for (Optimum& known : optima)
    if (same(known, found)) {
      found.count += known.count;
      known.count = found.count;
      if (found.cost < known.cost) known = std::move(found);
      return;
    }
  optima.insert(
      std::ranges::upper_bound(optima, found, [](const Optimum& a, const Optimum& b) { return a.cost < b.cost; }),
      std::move(found));
}

Eigen::MatrixXd table(const std::vector<Optimum>& optima, int rows) {
  Eigen::MatrixXd m = Eigen::MatrixXd::Constant(rows, 4, not_a_number);
  for (int i = 0; i < rows && i < std::ssize(optima); ++i) {
    const Optimum& o = optima[i];
    m.row(i) << o.cost, o.count, o.residual,
        (o.joints - optima.front().joints).norm() / std::sqrt(static_cast<double>(o.joints.size()));
  }
  return m;
}
Eigen::MatrixXd joints_of(const std::vector<Optimum>& optima) {
  Eigen::MatrixXd m(optima.size(), optima.empty() ? 0 : optima.front().joints.size());
  for (std::size_t i = 0; i < optima.size(); ++i) m.row(i) = optima[i].joints.transpose();
  return m;
}

GuessesByOptimum guesses_by_optimum(const Eigen::MatrixXd& table) {
  GuessesByOptimum guesses;
  for (Eigen::Index i = 0; i < table.rows() && std::isfinite(table(i, 0)); ++i) {
    guesses.ended += static_cast<int>(table(i, 1));
    guesses.single += table(i, 1) == 1.0;
  }
  return guesses;
}

std::string optima_text(const Eigen::MatrixXd& table, double guesses, double solved, const std::string& unit) {
  Eigen::Index rows = 0;
  while (rows < table.rows() && std::isfinite(table(rows, 0))) ++rows;
  if (rows == 0) return formatted("  none of %.0f initial guesses ended at an optimum\n", guesses);
  std::string text = formatted("  %.0f of %.0f initial guesses found this motion; %.0f ended at an optimum\n",
                               table(0, 1), guesses, solved);
  if (rows == 1)
    return text + "  no other optimum was found; a better one may exist, because the guesses are similar\n";
  text += formatted("  %d distinct optima: cost, initial guesses, distance to the best (%s)\n", static_cast<int>(rows),
                    unit.c_str());
  for (Eigen::Index i = 0; i < rows; ++i)
    text += formatted("    %-12.6g %3.0f  %.3f\n", table(i, 0), table(i, 1), table(i, 3));
  if (const GuessesByOptimum by = guesses_by_optimum(table); by.single > 0 && by.ended >= few_guesses)
    text += formatted(
        "  %d of %d guesses ended where no other did: about %.0f %% of further ones would find another optimum\n",
        by.single, by.ended, 100.0 * by.single / by.ended);
  return text;
}

}  // namespace dodyn::evaluators
