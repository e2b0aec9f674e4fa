#include "rigid/island.hpp"

#include "rigid/impulses.hpp"

namespace dodyn::rigid {

template <int n, int directions>
void Island<n, directions>::gather(const ContactRows<n>& rows, std::span<const int> contacts,
                                   std::span<const double> target, std::span<const double> friction,
                                   std::span<const double> given) {
  // The nodes are free bodies, and the dofs of trees in pieces of a body's width.
  const auto pieces = [](int size) { return (size + width - 1) / width; };
  rows_ = &rows;
  target_ = target;
  friction_ = friction;
  given_ = given;
  contact_.clear();
  admittance_.clear();
  pairs_.clear();
  node_of_.assign(rows.inertia().bodies().dofs(), -1);
  int nodes = 0;
  for (const int c : contacts) {
    if (!std::isfinite(rows.metric(c, 0, 0)) || !std::isfinite(target[c])) continue;
    contact_.push_back(c);
    Along admittance;
    admittance[0] = 1.0 / rows.metric(c, 0, 0);
    for (int k = 1; k < directions; ++k)
      admittance[k] = 1.0 / std::max(rows.metric(c, 1, 1), rows.metric(c, n - 1, n - 1));
    admittance_.push_back(admittance);
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
  const std::size_t count = contact_.size();
  for (auto* v : {&error_, &impulse_, &stiffness_, &wanted_, &result_, &push_}) v->resize(count);
  limit_.assign(count, 0.0);
  mode_.resize(count);
  factored_.resize(count);
  cholesky_.analyse(nodes, pairs_);
  usable_ = false;

  mass_.clear();
  inverse_mass_.resize(nodes);
  shares_.clear();
  links_.clear();
  first_share_.assign(1, 0);
  first_link_.clear();
  const auto link = [&](int i, int j) { return i == j ? -1 : cholesky_.find(std::max(i, j), std::min(i, j)); };
  for (const int c : contact_) {
    first_link_.push_back(static_cast<int>(links_.size()));
    for (const auto& side : rows.sides(c)) {
      if (side.size == 0) continue;
      for (int i = 0; i < pieces(side.size); ++i) {
        Share share{cholesky_.place(node_of_[side.first] + i), Eigen::Matrix<double, width, directions>::Zero()};
        const int size = std::min(width, side.size - width * i);
        for (int k = 0; k < directions; ++k)
          share.rows.col(k).head(size) = Eigen::Map<const Eigen::VectorXd>(rows.row(side, k) + width * i, size);
        shares_.push_back(share);
      }
    }
    for (std::size_t i = first_share_.back(); i < shares_.size(); ++i)
      for (std::size_t j = first_share_.back(); j < i; ++j) links_.push_back(link(shares_[i].place, shares_[j].place));
    first_share_.push_back(static_cast<int>(shares_.size()));
  }
  for (const int c : contact_)
    for (const auto& side : rows.sides(c)) {
      if (side.size == 0 || node_of_[side.first] < 0) continue;
      const int first = std::exchange(node_of_[side.first], -1), of_tree = pieces(side.size);
      Eigen::MatrixXd mass = Eigen::MatrixXd::Identity(width * of_tree, width * of_tree);
      mass.topLeftCorner(side.size, side.size) = rows.inertia().mass_matrix(side.body);
      for (int i = 0; i < of_tree; ++i)
        for (int j = 0; j <= i; ++j) {
          int row = cholesky_.place(first + i), column = cholesky_.place(first + j);
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
inline auto Island<n, directions>::allowed(const Along& wanted, double limit, Mode& mode) const -> Along {
  Along out = wanted;
  out[0] = std::max(0.0, wanted[0]);
  mode = wanted[0] > 0.0 ? Mode::on : Mode::off;
  if constexpr (directions > 1) {
    const double square = wanted.template tail<directions - 1>().squaredNorm();
    if (square > limit * limit) {
      out.template tail<directions - 1>() *= limit / std::sqrt(square);
      if (mode == Mode::on) mode = Mode::slides;
    }
  }
  return out;
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
    if (directions > 1) limit_[i] = friction_[c] * (impulse_[i][0] + (given_.empty() ? 0.0 : given_[c]));
    const Along wanted = impulse_[i] + admittance_[i].cwiseProduct(error_[i]);
    const Along change = allowed(wanted, limit_[i], mode_[i]) - impulse_[i];
    for (int k = 0; k < directions; ++k)
      if (change[k] != 0.0) worst = std::max(worst, std::abs(change[k]) / admittance_[i][k]);
  }
  return worst;
}

template <int n, int directions>
bool Island<n, directions>::factor() {
  cholesky_.set_zero();
  for (const auto& m : mass_) (m.index < 0 ? cholesky_.diagonal(m.row) : cholesky_.below(m.index)) += m.block;
  for (std::size_t i = 0; i < contact_.size(); ++i) {
    factored_[i] = mode_[i];
    if (mode_[i] == Mode::off) continue;
    Eigen::Matrix<double, directions, directions> slope = stiffness_[i].asDiagonal();
    if constexpr (directions > 1)
      if (mode_[i] == Mode::slides) {
        const Eigen::Matrix<double, directions - 1, 1> t = wanted_[i].template tail<directions - 1>();
        const double square = t.squaredNorm();
        slope.template bottomRightCorner<directions - 1, directions - 1>() =
            stiffness_[i][1] * limit_[i] / std::sqrt(square) *
            (Eigen::Matrix<double, directions - 1, directions - 1>::Identity() - t * t.transpose() / square);
      }
    const auto own = shares(i);
    const int* link = links_.data() + first_link_[i];
    for (std::size_t a = 0; a < own.size(); ++a) {
      const Eigen::Matrix<double, width, directions> weighted = own[a].rows * slope;
      cholesky_.diagonal(own[a].place).noalias() += weighted * own[a].rows.transpose();
      for (std::size_t b = 0; b < a; ++b, ++link)
        if (own[a].place > own[b].place)
          cholesky_.below(*link).noalias() += weighted * own[b].rows.transpose();
        else
          cholesky_.below(*link).noalias() += own[b].rows * weighted.transpose();
    }
  }
  return cholesky_.factor();
}

// How far to go along the direction, at most 1: to where the slope of what is minimised is a tenth of the first.
template <int n, int directions>
double Island<n, directions>::search(double inertia, double curvature, double steepest) const {
  double constant = inertia;
  for (std::size_t i = 0; i < contact_.size(); ++i) constant += push_[i].dot(impulse_[i]);
  const auto slope = [&](double s) {
    double sum = constant + s * curvature;
    Mode ignored;
    for (std::size_t i = 0; i < contact_.size(); ++i)
      sum -= push_[i].dot(allowed(wanted_[i] - s * stiffness_[i].cwiseProduct(push_[i]), limit_[i], ignored));
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

template <int n, int directions>
bool Island<n, directions>::step(double stiffness, Eigen::VectorXd& nu, std::vector<double>& impulse) {
  const int size = width * cholesky_.nodes();
  const std::size_t count = contact_.size();
  if (stiffness != std::exchange(stiffness_used_, stiffness)) usable_ = false;
  moved_.setZero(size);
  momentum_.setZero(size);
  for (std::size_t i = 0; i < count; ++i) {
    stiffness_[i] = stiffness * admittance_[i];
    wanted_[i] = impulse_[i] + stiffness_[i].cwiseProduct(error_[i]);
  }
  bool done = false, full = false;  // whether the last step went all the way
  for (int k = 0; k < 20; ++k) {
    residual_ = -momentum_;
    bool same = usable_;
    for (std::size_t i = 0; i < count; ++i) {
      result_[i] = allowed(wanted_[i], limit_[i], mode_[i]);
      same = same && mode_[i] == factored_[i];
      const Along change = result_[i] - impulse_[i];
      if (change.isZero(0.0)) continue;
      for (const auto& share : shares(i))
        residual_.segment<width>(width * share.place).noalias() += share.rows * change;
    }
    // Without sliding in space the problem is piecewise quadratic and a full step in one piece ends it. Otherwise it is
    // done when the velocities that the impulses give are those found to a hundredth, in the kinetic metric.
    double missed = 0.0;
    for (int i = 0; i < cholesky_.nodes(); ++i) {
      const auto own = residual_.segment<width>(width * i);
      missed += own.dot(inverse_mass_[i] * own);
    }
    done = missed <= 1e-4 * moved_.dot(momentum_) || (directions < 3 && same && full);
    if (done) break;
    if (!same && !(usable_ = factor())) return false;
    direction_ = residual_;
    cholesky_.solve(direction_);
    if (!direction_.allFinite()) {
      usable_ = false;
      return false;
    }
    pushed_.setZero(size);
    for (const auto& m : mass_) {
      pushed_.segment<width>(width * m.row).noalias() += m.block * direction_.segment<width>(width * m.column);
      if (m.row != m.column)
        pushed_.segment<width>(width * m.column).noalias() +=
            m.block.transpose() * direction_.segment<width>(width * m.row);
    }
    for (std::size_t i = 0; i < count; ++i) {
      Along along = Along::Zero();
      for (const auto& share : shares(i))
        along.noalias() += share.rows.transpose() * direction_.segment<width>(width * share.place);
      push_[i] = along;
    }
    const double s = search(direction_.dot(momentum_), direction_.dot(pushed_), -direction_.dot(residual_));
    full = s == 1.0;
    moved_ += s * direction_;
    momentum_ += s * pushed_;
    for (std::size_t i = 0; i < count; ++i) wanted_[i] -= s * stiffness_[i].cwiseProduct(push_[i]);
  }
  if (!done) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const int c = contact_[i];
    for (int k = 0; k < directions; ++k)
      if (const double change = result_[i][k] - impulse_[i][k]; change != 0.0) {
        rows_->add_impulse(c, k, change, nu);
        impulse[n * c + k] = result_[i][k];
      }
  }
  return true;
}

template class Island<2, 1>;
template class Island<2, 2>;
template class Island<3, 1>;
template class Island<3, 3>;

}  // namespace dodyn::rigid
