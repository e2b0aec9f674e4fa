#include "systems/tree.hpp"

namespace dodyn::systems {

template std::vector<Frame<double>> Tree<double>::frames<double>(const double*, const double*) const;
template std::vector<Frame<autodiff::Var>> Tree<autodiff::Var>::frames<autodiff::Var>(const autodiff::Var*,
                                                                                      const autodiff::Var*) const;
template Tree<double> Tree<double>::plain() const;
template Tree<double> Tree<autodiff::Differential>::plain() const;

}  // namespace dodyn::systems
