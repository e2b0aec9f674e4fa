#include "dmoc/crossing.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace dodyn::dmoc {

namespace {

using Vector12 = Eigen::Matrix<double, 12, 1>;
using Matrix12 = Eigen::Matrix<double, 12, 12>;

// Nearest points a + s (b - a) and c + t (d - c).
struct Nearest {
  Eigen::Vector3d u, v, apart;  // b - a, d - c; from the one point to the other
  Eigen::Vector3d counts;       // 1, but 0 for a component that does not
  double s = 0.0, t = 0.0;
  bool s_free = false, t_free = false;  // inside their parts

  double square() const { return apart.dot(counts.cwiseProduct(apart)); }
  double slope_s() const { return -2.0 * u.dot(counts.cwiseProduct(apart)); }
  double slope_t() const { return 2.0 * v.dot(counts.cwiseProduct(apart)); }
};

// Unconstrained s, kept in its part; the t nearest to it, kept; the s nearest to that (Ericson, Real-Time Collision
// Detection, 2005, section 5.1.9).
Nearest nearest(const double* ends, const Pair& pair, const Eigen::Vector3d& counts) {
  const double *p = ends + 6 * pair.one, *q = ends + 6 * pair.other;
  const Eigen::Map<const Eigen::Vector3d> a(p), b(p + 3), c(q), d(q + 3);
  Nearest n;
  n.counts = counts;
  n.u = b - a;
  n.v = d - c;
  const Eigen::Vector3d r = a - c, u = counts.cwiseProduct(n.u), v = counts.cwiseProduct(n.v);
  const double uu = u.dot(u), vv = v.dot(v), uv = u.dot(v), ur = u.dot(r), vr = v.dot(r);
  const double determinant = uu * vv - uv * uv;
  const auto keep = [](double x, const Part& part, bool& free) {
    free = x > part.from.value && x < part.to.value;
    return std::clamp(x, part.from.value, part.to.value);
  };
  if (determinant <= 1e-12 * uu * vv)
    n.s = pair.first.from.value;
  else
    n.s = keep((uv * vr - ur * vv) / determinant, pair.first, n.s_free);
  n.t = vv > 0.0 ? keep((uv * n.s + vr) / vv, pair.second, n.t_free) : pair.second.from.value;
  if (!n.t_free && uu > 0.0) n.s = keep((uv * n.t - ur) / uu, pair.first, n.s_free);
  n.apart = -(r + n.s * n.u - n.t * n.v);
  return n;
}

Nearest nearest(const double* ends, const Pair& pair) {
  const Nearest n = nearest(ends, pair, Eigen::Vector3d::Ones());
  // The square of what counts is convex in (s, t), and so are both of its branches: n is its least point where it is on
  // its own branch, and where it is not the other one's is.
  return pair.ordered && n.apart.y() < 0.0 ? nearest(ends, pair, {1.0, 0.0, 1.0}) : n;
}

// With x = sum c_i p_i the vector apart, c = (s - 1, -s, 1 - t, t), the square is x.x: at fixed s and t quadratic in
// the ends p. Where s or t are free the least square's gradient is that at fixed s and t (envelope theorem), its
// Hessian
//   D_pp - D_py D_yy^-1 D_yp,  y the free ones of s and t.
Eigen::Vector4d shares(const Nearest& n) { return {n.s - 1.0, -n.s, 1.0 - n.t, n.t}; }

Vector12 slope(const Nearest& n) {
  const Eigen::Vector4d c = shares(n);
  const Eigen::Vector3d x = n.counts.cwiseProduct(n.apart);
  Vector12 g;
  for (int i = 0; i < 4; ++i) g.segment<3>(3 * i) = 2.0 * c(i) * x;
  return g;
}

Matrix12 curvature(const Nearest& n) {
  const Eigen::Vector4d c = shares(n);
  const Eigen::Vector3d x = n.counts.cwiseProduct(n.apart);
  const Eigen::Vector3d u = n.counts.cwiseProduct(n.u), v = n.counts.cwiseProduct(n.v);
  Matrix12 H = Matrix12::Zero();
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) H.block<3, 3>(3 * i, 3 * j).diagonal() = 2.0 * c(i) * c(j) * n.counts;
  // along s: dc = (1, -1, 0, 0), dx = -u; along t: dc = (0, 0, -1, 1), dx = v
  Eigen::Matrix<double, 12, 2> mixed;
  for (int i = 0; i < 4; ++i) {
    mixed.block<3, 1>(3 * i, 0) = -2.0 * c(i) * u + (i == 0 ? 2.0 : i == 1 ? -2.0 : 0.0) * x;
    mixed.block<3, 1>(3 * i, 1) = 2.0 * c(i) * v + (i == 2 ? -2.0 : i == 3 ? 2.0 : 0.0) * x;
  }
  const double uu = 2.0 * u.dot(u), uv = -2.0 * u.dot(v), vv = 2.0 * v.dot(v);
  if (n.s_free && n.t_free) {
    const double determinant = uu * vv - uv * uv;
    Eigen::Matrix2d inverse;
    inverse << vv, -uv, -uv, uu;
    H -= mixed * (inverse / determinant) * mixed.transpose();
  } else if (n.s_free) {
    H -= mixed.col(0) * mixed.col(0).transpose() / uu;
  } else if (n.t_free) {
    H -= mixed.col(1) * mixed.col(1).transpose() / vv;
  }
  return H;
}

class CrossingElement final : public autodiff::Element {
 public:
  CrossingElement(std::shared_ptr<const Element> segments, std::vector<Pair> pairs, std::optional<double> fraction)
      : Element((fraction ? 2 : 1) * segments->inputs, static_cast<int>(pairs.size())),
        segments_(std::move(segments)),
        pairs_(std::move(pairs)),
        fraction_(fraction) {}

  void evaluate(const double* z, double* values) const override { evaluate_all(1, z, values); }
  void jacobian(const double* z, double* jacobian_values) const override {
    derivatives_all(1, z, nullptr, jacobian_values, nullptr);
  }
  void hessian(const double* z, const double* weights, double* hessian_values) const override {
    derivatives_all(1, z, weights, nullptr, hessian_values);
  }
  void derivatives(const double* z, const double* weights, double* jacobian_values,
                   double* hessian_values) const override {
    derivatives_all(1, z, weights, jacobian_values, hessian_values);
  }

  // A column for each point: the segments' ends are recorded, and cost little more for many than for one.
  void evaluate_all(int count, const double* z, double* values) const override {
    const Eigen::MatrixXd ends = ends_at(thetas(count, z));
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < outputs; ++i) *values++ = squared_distance(ends.col(k).data(), pairs_[i]);
  }
  void derivatives_all(int count, const double* z, const double* weights, double* jacobians,
                       double* hessians) const override {
    const int m = segments_->inputs, points = segments_->outputs;
    const Eigen::MatrixXd at = thetas(count, z), ends = ends_at(at);
    Eigen::MatrixXd J(m, count * points), H(m, hessians ? count * m : 0);  // transposed: row-major, point after point
    Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(points, count);
    Eigen::MatrixXd curvatures = Eigen::MatrixXd::Zero(points, hessians ? count * points : 0);
    for (int k = 0; hessians && k < count; ++k)
      for (int i = 0; i < outputs; ++i) {
        const Nearest n = nearest(ends.col(k).data(), pairs_[i]);
        const Vector12 g = weights[k * outputs + i] * slope(n);
        const Matrix12 C = weights[k * outputs + i] * curvature(n);
        const std::array<int, 2> place = {6 * pairs_[i].one, 6 * pairs_[i].other};
        for (int a = 0; a < 2; ++a) {
          slopes.col(k).segment<6>(place[a]) += g.segment<6>(6 * a);
          for (int b = 0; b < 2; ++b)
            curvatures.block<6, 6>(place[a], k * points + place[b]) += C.block<6, 6>(6 * a, 6 * b);
        }
      }
    segments_->derivatives_all(count, at.data(), slopes.data(), J.data(), hessians ? H.data() : nullptr);
    for (int k = 0; k < count; ++k) {
      const auto slopes_of_ends = J.middleCols(k * points, points);
      if (jacobians) put_jacobian(ends.col(k), slopes_of_ends.transpose(), jacobians + k * outputs * inputs);
      if (!hessians) continue;
      Eigen::MatrixXd sum = H.middleCols(k * m, m).selfadjointView<Eigen::Upper>();
      sum += slopes_of_ends * curvatures.middleCols(k * points, points) * slopes_of_ends.transpose();
      Eigen::Map<Eigen::MatrixXd> whole(hessians + k * inputs * inputs, inputs, inputs);
      if (!fraction_) {
        whole = sum;
        continue;
      }
      const double f = *fraction_;
      whole.topLeftCorner(m, m) = (1.0 - f) * (1.0 - f) * sum;
      whole.topRightCorner(m, m) = whole.bottomLeftCorner(m, m) = f * (1.0 - f) * sum;
      whole.bottomRightCorner(m, m) = f * f * sum;
    }
  }
  void add_design_gradient(int count, const double* z, const double* weights,
                           Eigen::Ref<Eigen::VectorXd> gradient) const override {
    const Eigen::MatrixXd at = thetas(count, z), ends = ends_at(at);
    Eigen::MatrixXd slopes = Eigen::MatrixXd::Zero(segments_->outputs, count);
    // a point at the end of its part moves with that
    const auto add_moved = [&](double x, bool free, const Part& part, double slope) {
      if (!free) (x == part.from.value ? part.from : part.to).add_gradient(slope, gradient);
    };
    for (int k = 0; k < count; ++k)
      for (int i = 0; i < outputs; ++i) {
        const Pair& pair = pairs_[i];
        const double weight = weights[k * outputs + i];
        const Nearest n = nearest(ends.col(k).data(), pair);
        const Vector12 g = weight * slope(n);
        slopes.col(k).segment<6>(6 * pair.one) += g.head<6>();
        slopes.col(k).segment<6>(6 * pair.other) += g.tail<6>();
        add_moved(n.s, n.s_free, pair.first, weight * n.slope_s());
        add_moved(n.t, n.t_free, pair.second, weight * n.slope_t());
      }
    segments_->add_design_gradient(count, at.data(), slopes.data(), gradient);
  }

 private:
  using Jacobian = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::MatrixXd thetas(int count, const double* z) const {
    const int m = segments_->inputs;
    const Eigen::Map<const Eigen::MatrixXd> given(z, inputs, count);
    if (!fraction_) return given;
    return (1.0 - *fraction_) * given.topRows(m) + *fraction_ * given.bottomRows(m);
  }
  Eigen::MatrixXd ends_at(const Eigen::MatrixXd& at) const {
    Eigen::MatrixXd ends(segments_->outputs, at.cols());
    segments_->evaluate_all(static_cast<int>(at.cols()), at.data(), ends.data());
    return ends;
  }
  void put_jacobian(const Eigen::VectorXd& ends, const Jacobian& J, double* jacobian_values) const {
    const int m = segments_->inputs;
    Eigen::Map<Jacobian> whole(jacobian_values, outputs, inputs);
    for (int i = 0; i < outputs; ++i) {
      const Vector12 g = slope(nearest(ends.data(), pairs_[i]));
      const Eigen::RowVectorXd row = g.head<6>().transpose() * J.middleRows<6>(6 * pairs_[i].one) +
                                     g.tail<6>().transpose() * J.middleRows<6>(6 * pairs_[i].other);
      whole.row(i).head(m) = (fraction_ ? 1.0 - *fraction_ : 1.0) * row;
      if (fraction_) whole.row(i).tail(m) = *fraction_ * row;
    }
  }

  std::shared_ptr<const Element> segments_;
  std::vector<Pair> pairs_;
  std::optional<double> fraction_;
};

}  // namespace

double squared_distance(const double* ends, const Pair& pair) { return nearest(ends, pair).square(); }

std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments,
                                                          std::vector<Pair> pairs) {
  return std::make_shared<CrossingElement>(std::move(segments), std::move(pairs), std::nullopt);
}
std::shared_ptr<const autodiff::Element> crossing_element(std::shared_ptr<const autodiff::Element> segments,
                                                          std::vector<Pair> pairs, double fraction) {
  return std::make_shared<CrossingElement>(std::move(segments), std::move(pairs), fraction);
}

}  // namespace dodyn::dmoc
