#include "rigid/island.hpp"

#include "rigid/impulses.hpp"

namespace dodyn::rigid {

// Returns the number of nodes for a free body, or a tree with this many degrees of freedom.
template <int n, int directions>
int Island<n, directions>::pieces(int size) {
  return (size + width - 1) / width;
}

template <int n, int directions>
int Island<n, directions>::link(int i, int j) const {
  return i == j ? -1 : factor_.find(std::max(i, j), std::min(i, j));
}

// Collects the contacts that can press, and the pairs of nodes that share a contact or a tree. Returns the number of
// nodes.
template <int n, int directions>
int Island<n, directions>::gather_contacts(std::span<const int> contacts, std::span<const double> given) {
  const ContactRows<n>& rows = *rows_;
  contact_.clear();
  admittance_.clear();
  root_.clear();
  edge_.clear();
  given_.clear();
  pairs_.clear();
  node_of_.assign(rows.inertia().bodies().dofs(), -1);
  int nodes = 0;
  for (const int c : contacts) {
    if (!std::isfinite(rows.metric(c, 0, 0)) || !std::isfinite(target_[c])) continue;
    contact_.push_back(c);
    Along admittance;
    admittance[0] = 1.0 / rows.metric(c, 0, 0);
    double tangential = 0.0;  // largest entry of the metric in the directions that slide
    for (int k = 1; k < directions; ++k)
      if (const double own = rows.metric(c, k, k); std::isfinite(own)) tangential = std::max(tangential, own);
    for (int k = 1; k < directions; ++k) admittance[k] = 1.0 / (tangential > 0.0 ? tangential : rows.metric(c, 0, 0));
    admittance_.push_back(admittance);
    root_.push_back(admittance.cwiseSqrt());
    if constexpr (directions > 1) {
      edge_.push_back(friction_[c] * root_.back()[0] / root_.back()[1]);
      given_.push_back(given.empty() ? 0.0 : given[c] / root_.back()[0]);
    }
    int from[2], to[2];
    for (int s = 0; s < 2; ++s) {
      const auto& side = rows.sides(c)[s];
      from[s] = to[s] = 0;
      if (side.size == 0) continue;
      if (node_of_[side.first] < 0) {
        node_of_[side.first] = nodes;
        nodes += pieces(side.size);
        for (int i = node_of_[side.first]; i < nodes; ++i)
          for (int j = node_of_[side.first]; j < i; ++j) pairs_.emplace_back(i, j);
      }
      from[s] = node_of_[side.first];
      to[s] = from[s] + pieces(side.size);
    }
    for (int i = from[0]; i < to[0]; ++i)
      for (int j = from[1]; j < to[1]; ++j) pairs_.emplace_back(i, j);
  }
  return nodes;
}

// Computes the effect of each contact on the momentum of its nodes, in the order of the factorisation.
template <int n, int directions>
void Island<n, directions>::gather_shares() {
  const ContactRows<n>& rows = *rows_;
  shares_.clear();
  links_.clear();
  first_share_.assign(1, 0);
  first_link_.clear();
  for (const int c : contact_) {
    first_link_.push_back(links_.size());
    for (const auto& side : rows.sides(c)) {
      if (side.size == 0) continue;
      for (int i = 0; i < pieces(side.size); ++i) {
        Share share{factor_.place(node_of_[side.first] + i), Eigen::Matrix<double, width, directions>::Zero()};
        const int size = std::min(width, side.size - width * i);
        for (int k = 0; k < directions; ++k)
          share.rows.col(k).head(size) = Eigen::Map<const Eigen::VectorXd>(rows.row(side, k) + width * i, size);
        shares_.push_back(share);
      }
    }
    for (std::size_t i = first_share_.back(); i < shares_.size(); ++i)
      for (std::size_t j = first_share_.back(); j < i; ++j) links_.push_back(link(shares_[i].place, shares_[j].place));
    first_share_.push_back(shares_.size());
  }
}

// Sets the nodes' mass matrices and the inverses of their diagonal blocks. Clears the map from bodies to nodes.
template <int n, int directions>
void Island<n, directions>::gather_masses(int nodes) {
  const ContactRows<n>& rows = *rows_;
  mass_.clear();
  inverse_mass_.resize(nodes);
  for (const int c : contact_)
    for (const auto& side : rows.sides(c)) {
      if (side.size == 0 || node_of_[side.first] < 0) continue;
      const int first = std::exchange(node_of_[side.first], -1), of_tree = pieces(side.size);
      Eigen::MatrixXd mass = Eigen::MatrixXd::Identity(width * of_tree, width * of_tree);
      mass.topLeftCorner(side.size, side.size) = rows.inertia().mass_matrix(side.body);
      for (int i = 0; i < of_tree; ++i)
        for (int j = 0; j <= i; ++j) {
          int row = factor_.place(first + i), column = factor_.place(first + j);
          Block block = mass.block<width, width>(width * i, width * j);
          if (row < column) {
            std::swap(row, column);
            block.transposeInPlace();
          }
          if (i == j) inverse_mass_[row] = block.inverse();
          mass_.push_back({row, column, link(row, column), block});
        }
    }
}

template <int n, int directions>
void Island<n, directions>::gather(const ContactRows<n>& rows, std::span<const int> contacts,
                                   std::span<const double> target, std::span<const double> friction,
                                   std::span<const double> given) {
  rows_ = &rows;
  target_ = target;
  friction_ = friction;
  const int nodes = gather_contacts(contacts, given);
  const std::size_t count = contact_.size();
  for (auto* v : {&error_, &impulse_, &wanted_, &result_, &push_, &open_}) v->resize(count);
  mode_.resize(count);
  factored_.resize(count);
  factor_.analyse(nodes, pairs_);
  usable_ = false;
  gather_shares();
  gather_masses(nodes);
}

template <int n, int directions>
inline auto Island<n, directions>::allowed(std::size_t i, const Along& wanted, Mode& mode) const -> Along {
  if constexpr (directions == 1) {
    mode = wanted[0] > 0.0 ? Mode::sticks : Mode::off;
    return wanted.cwiseMax(0.0);
  } else {
    // in scaled variables, in which the metric is Euclidean
    Along y = wanted.cwiseQuotient(root_[i]);
    auto t = y.template tail<directions - 1>();
    const double mu = edge_[i], given = given_[i], size = t.norm();
    if (size <= mu * (y[0] + given) && y[0] >= 0.0) {
      mode = Mode::sticks;
      return wanted;
    }
    if (const double normal = (y[0] + given + mu * size) / (1.0 + mu * mu);
        normal > given && size > mu * (y[0] + given)) {
      mode = Mode::slides;
      y[0] = normal - given;
      t *= mu * normal / size;
      if (mu == 0.0) t.setZero();
    } else {
      y[0] = 0.0;
      mode = given == 0.0 ? Mode::off : size <= mu * given ? Mode::friction_only : Mode::friction_only_edge;
      if (given == 0.0)
        t.setZero();
      else if (mode == Mode::friction_only_edge)
        t *= mu * given / size;
    }
    return y.cwiseProduct(root_[i]);
  }
}

// Returns P' K at the wanted impulse of contact i, in the region `mode_[i]` of P.
template <int n, int directions>
auto Island<n, directions>::slope(std::size_t i) const -> Slope {
  Slope out = Slope::Identity();
  if constexpr (directions > 1) {
    constexpr int tangents = directions - 1;
    if (mode_[i] != Mode::sticks) {
      const Along y = wanted_[i].cwiseQuotient(root_[i]);
      const Eigen::Matrix<double, tangents, 1> t = y.template tail<tangents>();
      const double mu = edge_[i], given = given_[i], size = t.norm();
      Along along;  // direction of the cone's edge
      along << 1.0, mu * t / size;
      Slope across = Slope::Identity();
      across(0, 0) = 0.0;
      if (mode_[i] != Mode::friction_only)
        across.template bottomRightCorner<tangents, tangents>() -= t * t.transpose() / (size * size);
      if (mode_[i] == Mode::friction_only)
        out = across;
      else if (mode_[i] == Mode::friction_only_edge)
        out = mu * given / size * across;
      else
        out = (along * along.transpose() + mu * (y[0] + given + mu * size) / size * across) / (1.0 + mu * mu);
    }
  }
  return stiffness_ * root_[i].asDiagonal() * out * root_[i].asDiagonal();
}

template <int n, int directions>
double Island<n, directions>::residual(const Eigen::VectorXd& nu, const std::vector<double>& impulse) {
  double worst = 0.0;
  for (std::size_t i = 0; i < contact_.size(); ++i) {
    const int c = contact_[i];
    for (int k = 0; k < directions; ++k) {
      error_[i][k] = (k == 0 ? target_[c] : 0.0) - rows_->relative_velocity(c, k, nu);
      impulse_[i][k] = impulse[n * c + k];
    }
    open_[i] = error_[i];
    if constexpr (directions > 1) error_[i][0] -= friction_[c] * error_[i].template tail<directions - 1>().norm();
    const Along wanted = impulse_[i] + admittance_[i].cwiseProduct(error_[i]);
    const Along change = allowed(i, wanted, mode_[i]) - impulse_[i];
    worst = std::max(worst, change.cwiseQuotient(admittance_[i]).cwiseAbs().maxCoeff());
  }
  return worst;
}

template <int n, int directions>
bool Island<n, directions>::factor_smooth() {
  if constexpr (!smooth) {
    return false;
  } else {
    factor_.set_zero();
    for (const auto& m : mass_) (m.index < 0 ? factor_.diagonal(m.row) : factor_.below(m.index)) += m.block;
    for (std::size_t i = 0; i < contact_.size(); ++i) {
      factored_[i] = mode_[i];
      if (mode_[i] == Mode::off) continue;
      const Slope slope = this->slope(i);
      const auto own = shares(i);
      const int* link = links_.data() + first_link_[i];
      for (std::size_t a = 0; a < own.size(); ++a) {
        const Eigen::Matrix<double, width, directions> weighted = own[a].rows * slope;
        factor_.diagonal(own[a].place).noalias() += weighted * own[a].rows.transpose();
        for (std::size_t b = 0; b < a; ++b, ++link)
          if (own[a].place > own[b].place)
            factor_.below(*link).noalias() += weighted * own[b].rows.transpose();
          else
            factor_.below(*link).noalias() += own[b].rows * weighted.transpose();
      }
    }
    return factor_.factor();
  }
}

// Returns a step length along the direction at which the slope of the objective is at most 30 % of the initial slope in
// magnitude; 1 if the objective still decreases there. Stops after 12 iterations.
template <int n, int directions>
double Island<n, directions>::search(double inertia, double curvature, double steepest) const {
  if constexpr (!smooth) {
    return 0.0;
  } else {
    double constant = inertia;
    for (std::size_t i = 0; i < contact_.size(); ++i) constant += push_[i].dot(impulse_[i]);
    const auto slope = [&](double s) {
      double sum = constant + s * curvature;
      Mode ignored;
      for (std::size_t i = 0; i < contact_.size(); ++i)
        sum -= push_[i].dot(allowed(i, wanted_[i] - s * stiffness_ * admittance_[i].cwiseProduct(push_[i]), ignored));
      return sum;
    };
    double left = 0.0, right = 1.0, low = steepest, high = slope(1.0), s = 1.0;
    if (high <= -0.3 * steepest) return 1.0;
    for (int i = 0; i < 12; ++i) {  // regula falsi, Illinois variant
      s = left + (right - left) * low / (low - high);
      const double here = slope(s);
      if (std::abs(here) <= -0.3 * steepest) break;
      if (here > 0.0) {
        right = s;
        high = here;
        low *= 0.5;
      } else {
        left = s;
        low = here;
        high *= 0.5;
      }
    }
    return s;
  }
}

template <int n, int directions>
void Island<n, directions>::apply(Eigen::VectorXd& nu, std::vector<double>& impulse) const {
  for (std::size_t i = 0; i < contact_.size(); ++i) {
    const int c = contact_[i];
    for (int k = 0; k < directions; ++k)
      if (const double change = result_[i][k] - impulse_[i][k]; change != 0.0) {
        rows_->add_impulse(c, k, change, nu);
        impulse[n * c + k] = result_[i][k];
      }
  }
}

// Computes M x and J x for the direction x.
template <int n, int directions>
void Island<n, directions>::set_direction() {
  pushed_.setZero(direction_.size());
  for (const auto& m : mass_) {
    pushed_.segment<width>(width * m.row).noalias() += m.block * direction_.segment<width>(width * m.column);
    if (m.row != m.column)
      pushed_.segment<width>(width * m.column).noalias() +=
          m.block.transpose() * direction_.segment<width>(width * m.row);
  }
  for (std::size_t i = 0; i < contact_.size(); ++i) {
    Along along = Along::Zero();
    for (const auto& share : shares(i))
      along.noalias() += share.rows.transpose() * direction_.segment<width>(width * share.place);
    push_[i] = along;
  }
}

// Returns r^T M^-1 r for r = `residual_`, a change of momenta. Uses only the diagonal blocks of M.
template <int n, int directions>
double Island<n, directions>::inverse_mass_norm() const {
  double sum = 0.0;
  for (int i = 0; i < factor_.nodes(); ++i) {
    const auto own = residual_.segment<width>(width * i);
    sum += own.dot(inverse_mass_[i] * own);
  }
  return sum;
}

template <int n, int directions>
int Island<n, directions>::step_smooth(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse) {
  if constexpr (!smooth) {
    return 0;
  } else {
    const int size = width * factor_.nodes();
    const std::size_t count = contact_.size();
    if (stiffness != std::exchange(stiffness_, stiffness)) usable_ = false;
    moved_.setZero(size);
    momentum_.setZero(size);
    for (std::size_t i = 0; i < count; ++i)
      wanted_[i] = impulse_[i] + stiffness * admittance_[i].cwiseProduct(error_[i]);
    bool full = false;  // whether the last step had full length
    int factorisations = 0;
    for (int k = 0;; ++k) {
      residual_ = -momentum_;
      bool same = usable_;
      for (std::size_t i = 0; i < count; ++i) {
        result_[i] = allowed(i, wanted_[i], mode_[i]);
        same = same && mode_[i] == factored_[i];
        const Along change = result_[i] - impulse_[i];
        if (change.isZero(0.0)) continue;
        for (const auto& share : shares(i))
          residual_.segment<width>(width * share.place).noalias() += share.rows * change;
      }
      // The problem is piecewise quadratic, and a full step within one piece solves it. Otherwise stop when the
      // velocities match the velocities that the impulses cause, to 1 % in the norm of the kinetic energy.
      if (inverse_mass_norm() <= 1e-4 * moved_.dot(momentum_) || (same && full)) break;
      if (k == most) {
        factorisations = most + 1;
        break;
      }
      if (!same) {
        ++factorisations;
        if (!(usable_ = factor_smooth())) return most + 1;
      }
      direction_ = residual_;
      factor_.solve(direction_);
      if (!direction_.allFinite()) {
        usable_ = false;
        return most + 1;
      }
      set_direction();
      const double s = search(direction_.dot(momentum_), direction_.dot(pushed_), -direction_.dot(residual_));
      full = s == 1.0;
      moved_ += s * direction_;
      momentum_ += s * pushed_;
      for (std::size_t i = 0; i < count; ++i) wanted_[i] -= s * stiffness * admittance_[i].cwiseProduct(push_[i]);
    }
    apply(nu, impulse);
    return factorisations;
  }
}

template <int n, int directions>
bool Island<n, directions>::factor_rough() {
  if constexpr (smooth) {
    return false;
  } else {
    factor_.set_zero();
    for (const auto& m : mass_)
      if (m.index < 0) {
        factor_.diagonal(m.row) += m.block;
      } else {
        factor_.below(m.index) += m.block;
        factor_.above(m.index) += m.block.transpose();
      }
    for (std::size_t i = 0; i < contact_.size(); ++i) {
      if (mode_[i] == Mode::off) continue;
      Slope slope = this->slope(i);
      const auto t = open_[i].template tail<directions - 1>();
      if (const double size = t.norm(); size > 0.0)
        slope.template rightCols<directions - 1>() -=
            slope.col(0) * (friction_[contact_[i]] / size * t.transpose()).eval();
      const auto own = shares(i);
      const int* link = links_.data() + first_link_[i];
      for (std::size_t a = 0; a < own.size(); ++a) {
        const Eigen::Matrix<double, width, directions> left = own[a].rows * slope,
                                                       right = own[a].rows * slope.transpose();
        factor_.diagonal(own[a].place).noalias() += left * own[a].rows.transpose();
        for (std::size_t b = 0; b < a; ++b, ++link) {
          const bool below = own[a].place > own[b].place;
          (below ? factor_.below(*link) : factor_.above(*link)).noalias() += left * own[b].rows.transpose();
          (below ? factor_.above(*link) : factor_.below(*link)).noalias() += own[b].rows * right.transpose();
        }
      }
    }
    return factor_.factor();
  }
}

// Sets `residual_` to its value after the fraction `s` of the direction. Returns inverse_mass_norm().
template <int n, int directions>
double Island<n, directions>::missed(double s) {
  if constexpr (smooth) {
    return 0.0;
  } else {
    residual_ = -momentum_ - s * pushed_;
    for (std::size_t i = 0; i < contact_.size(); ++i) {
      Along error = open_[i] - s * push_[i];
      error[0] -= friction_[contact_[i]] * error.template tail<directions - 1>().norm();
      wanted_[i] = impulse_[i] + stiffness_ * admittance_[i].cwiseProduct(error);
      result_[i] = allowed(i, wanted_[i], mode_[i]);
      const Along change = result_[i] - impulse_[i];
      if (change.isZero(0.0)) continue;
      for (const auto& share : shares(i))
        residual_.segment<width>(width * share.place).noalias() += share.rows * change;
    }
    return inverse_mass_norm();
  }
}

template <int n, int directions>
int Island<n, directions>::step_rough(double stiffness, int most, Eigen::VectorXd& nu, std::vector<double>& impulse) {
  if constexpr (smooth) {
    return 0;
  } else {
    const int size = width * factor_.nodes();
    stiffness_ = stiffness;
    usable_ = false;
    moved_.setZero(size);
    momentum_.setZero(size);
    pushed_.setZero(size);
    for (auto& push : push_) push.setZero();
    double now = missed(0.0);
    int k = 0;
    for (; now > 1e-4 * moved_.dot(momentum_) && now > 0.0; ++k) {
      if (k == most || !factor_rough()) return most + 1;
      direction_ = residual_;
      factor_.solve(direction_);
      if (!direction_.allFinite()) return most + 1;
      set_direction();
      double s = 1.0, then = missed(s);
      for (; then > (1.0 - 0.2 * s) * now; then = missed(s))
        if ((s *= 0.5) < 0.1) return most + 1;
      moved_ += s * direction_;
      momentum_ += s * pushed_;
      for (std::size_t i = 0; i < contact_.size(); ++i) open_[i] -= s * push_[i];
      now = then;
    }
    apply(nu, impulse);
    return k;
  }
}

template class Island<2, 1>;
template class Island<2, 2>;
template class Island<3, 1>;
template class Island<3, 3>;

}  // namespace dodyn::rigid
