#include "evaluators/motion/relabel.hpp"

namespace dodyn::evaluators {

Relabelling relabelling(const systems::Model& model, const systems::Reset& exchange, const std::vector<int>& moving) {
  using autodiff::Var;
  using Vars = std::vector<Var>;
  const int n = model.structure.n(), m = moving.size();
  using Changes = std::vector<std::pair<int, systems::Formula<systems::Number>>>;
  // returns the coordinates or rates `entries` after the assignments of a reset
  const auto changed = [&model](const Changes& changes, Vars entries, const Vars& q, const Vars& v,
                                const Vars& numbers) {
    const auto tree = model.tree<Var>(numbers);
    const auto frames = tree.frames(q.data(), v.data());
    for (const auto& [at, formula] : changes) {
      systems::Formula<Var> f{formula.expression, {}};
      for (const auto& argument : formula.arguments)
        f.arguments.push_back({argument.variable, systems::Model::at(argument.parameter, numbers)});
      entries[at] = tree.value(f, frames, q.data(), v.data(), static_cast<const Var*>(nullptr));
    }
    return entries;
  };
  Relabelling all;
  all.configuration = autodiff::record(m, model.numbers(), [&](const Vars& z, const Vars& numbers) {
    const Vars q = dmoc::whole(n, moving, z.data()), rest(n, Var(0.0));
    return changed(exchange.coordinates, q, q, rest, numbers);
  });
  all.momentum = autodiff::record(2 * m, model.numbers(), [&](const Vars& z, const Vars& numbers) {
    const Vars q = dmoc::whole(n, moving, z.data()), v = dmoc::whole(n, moving, z.data() + m);
    return dmoc::momentum(model.tree<Var>(numbers), changed(exchange.coordinates, q, q, v, numbers),
                          changed(exchange.rates, v, q, v, numbers));
  });
  return all;
}

}  // namespace dodyn::evaluators
