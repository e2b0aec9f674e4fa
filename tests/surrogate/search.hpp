// Runs a strategy on an analytic function, as the design loop would.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "surrogate/strategy.hpp"

namespace dodyn::surrogate {

using Function = std::function<Evaluation(const Eigen::VectorXd&)>;

struct Search {
  std::vector<Evaluation> evaluations;
  std::vector<std::size_t> batches;  // size of each ask
  std::string stopped;

  const Evaluation& best() const {
    const Evaluation* found = nullptr;
    for (const Evaluation& e : evaluations) {
      if (e.ok() && std::isfinite(e.cost) && (!found || e.cost < found->cost)) found = &e;
    }
    return *found;
  }
  double x() const { return best().design[0]; }
};

inline Search search(Strategy& strategy, const Function& evaluate, int at_most = 100, std::size_t limit = 200) {
  Search out;
  while (strategy.stopped().empty() && out.evaluations.size() < limit) {
    const auto designs = strategy.ask(at_most);
    out.batches.push_back(designs.size());
    if (designs.empty()) break;
    std::vector<Evaluation> batch;
    for (const auto& design : designs) {
      Evaluation e = evaluate(design);
      e.design = design;
      e.id = static_cast<std::int64_t>(out.evaluations.size());
      out.evaluations.push_back(e);
      batch.push_back(e);
    }
    for (const auto& e : batch) strategy.tell(e);
    strategy.decide();
  }
  out.stopped = strategy.stopped();
  return out;
}

}  // namespace dodyn::surrogate
