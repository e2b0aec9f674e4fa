// Rigid links in the plane, each hinged to an earlier one, standing on a point foot: a tree in which only the absolute
// angles phi_j of the links matter. Every such system has the Lagrangian
//
//   L = m/2 |v|^2 + v . sum_j B_j omega_j (-cos phi_j, -sin phi_j) + 1/2 sum_jk C_jk cos(phi_j - phi_k) omega_j omega_k
//       - g (m y + sum_j B_j cos phi_j),
//
// v the foot's velocity, omega_j = dphi_j/dt: mass centre i lies at foot + sum_j a_ij (-sin phi_j, cos phi_j), with
// B_j = sum_i m_i a_ij and C_jk = sum_i m_i a_ij a_ik + (inertia of link j where j = k). A transcription evaluates the
// derivatives of its midpoint rule a million times; from these few coefficients they take a hundredth of the time that
// differentiating a program for L takes.
#pragma once

#include <array>
#include <cmath>

namespace dodyn::variational {

template <int links>
struct PlanarLinkage {
  static constexpr int n = links;
  using Angles = std::array<double, n>;
  using Table = std::array<Angles, n>;

  std::array<int, n> parent;  // joint j measures the angle of link j from that of link parent[j] < j; -1: the vertical
  double mass = 0.0;          // m, kg
  double gravity = 9.81;      // g, m/s^2
  Angles first;               // B, kg m
  Table second;               // C, kg m^2

  // Joint angles or rates -> those of the links, and the transpose.
  void accumulate(Angles& a) const {
    for (int j = 0; j < n; ++j)
      if (parent[j] >= 0) a[j] += a[parent[j]];
  }
  void gather(Angles& a) const {
    for (int j = n - 1; j >= 0; --j)
      if (parent[j] >= 0) a[parent[j]] += a[j];
  }
  void gather(Table& A) const {  // both sides
    for (int j = n - 1; j >= 0; --j)
      if (parent[j] >= 0)
        for (int i = 0; i < n; ++i) A[parent[j]][i] += A[j][i];
    for (int i = 0; i < n; ++i) gather(A[i]);
  }
};

// One interval under the midpoint rule (3.1.1), L_d = h L((q0 + q1)/2, (q1 - q0)/h), with the foot at rest at the
// origin. Slots: D2 L_d = h/2 L_q - L_v and D4 L_d = h/2 L_q + L_v, the foot's two coordinates first.
template <int links>
class LinkageInterval {
 public:
  static constexpr int n = links;
  using Linkage = PlanarLinkage<n>;
  using Angles = typename Linkage::Angles;
  using Table = typename Linkage::Table;

  // z: joint angles at both ends, [2n]
  LinkageInterval(const Linkage& linkage, double h, const double* z) : s_(linkage), h_(h) {
    for (int j = 0; j < n; ++j) {
      angle_[j] = 0.5 * (z[j] + z[n + j]);
      rate_[j] = (z[n + j] - z[j]) / h;
    }
    s_.accumulate(angle_);
    s_.accumulate(rate_);
    for (int j = 0; j < n; ++j) {
      cos_[j] = std::cos(angle_[j]);
      sin_[j] = std::sin(angle_[j]);
    }
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        Cc_[j][k] = s_.second[j][k] * (cos_[j] * cos_[k] + sin_[j] * sin_[k]);
        Cs_[j][k] = s_.second[j][k] * (sin_[j] * cos_[k] - cos_[j] * sin_[k]);
      }
  }

  // D2 and D4, [2 (2 + n)]
  void slots(double* values) const {
    Angles Lq, Lv;
    double px = 0.0, py = 0.0;
    for (int j = 0; j < n; ++j) {
      double momentum = 0.0, force = 0.0;
      for (int k = 0; k < n; ++k) {
        momentum += Cc_[j][k] * rate_[k];
        force += Cs_[j][k] * rate_[k];
      }
      Lv[j] = momentum;
      Lq[j] = s_.gravity * s_.first[j] * sin_[j] - force * rate_[j];
      px -= s_.first[j] * rate_[j] * cos_[j];
      py -= s_.first[j] * rate_[j] * sin_[j];
    }
    s_.gather(Lv);
    s_.gather(Lq);
    const double weight = -0.5 * h_ * s_.mass * s_.gravity;
    double *D2 = values, *D4 = values + 2 + n;
    D2[0] = -px;
    D4[0] = px;
    D2[1] = weight - py;
    D4[1] = weight + py;
    for (int j = 0; j < n; ++j) {
      D2[2 + j] = 0.5 * h_ * Lq[j] - Lv[j];
      D4[2 + j] = 0.5 * h_ * Lq[j] + Lv[j];
    }
  }

  // Their derivatives with respect to z, row-major [2 (2 + n) x 2n].
  void jacobian(double* J) const {
    Table qq, qv, vv;  // second derivatives of L; qv: rows q, columns v
    for (int j = 0; j < n; ++j) {
      double sum = 0.0, row = 0.0;
      for (int k = 0; k < n; ++k) {
        vv[j][k] = Cc_[j][k];
        qv[j][k] = -Cs_[j][k] * rate_[j];
        qq[j][k] = Cc_[j][k] * rate_[j] * rate_[k];
        sum += qq[j][k];
        row += Cs_[j][k] * rate_[k];
      }
      qq[j][j] += s_.gravity * s_.first[j] * cos_[j] - sum;
      qv[j][j] -= row;
    }
    s_.gather(vv);
    s_.gather(qv);
    s_.gather(qq);
    double *D2 = J + 2 * 2 * n, *D4 = D2 + (2 + n) * 2 * n;
    const double quarter = 0.25 * h_, per_h = 1.0 / h_;
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        const double a = quarter * qq[j][k], b = 0.5 * qv[j][k], c = 0.5 * qv[k][j], d = per_h * vv[j][k];
        D2[j * 2 * n + k] = a - b - c + d;
        D2[j * 2 * n + n + k] = a + b - c - d;
        D4[j * 2 * n + k] = a - b + c - d;
        D4[j * 2 * n + n + k] = a + b + c + d;
      }

    // the foot's momentum
    Angles xq, xv, yq, yv;
    for (int j = 0; j < n; ++j) {
      const double c = s_.first[j] * cos_[j], s = s_.first[j] * sin_[j];
      xv[j] = -c;
      yv[j] = -s;
      xq[j] = s * rate_[j];
      yq[j] = -c * rate_[j];
    }
    for (Angles* a : {&xq, &xv, &yq, &yv}) s_.gather(*a);
    double *F2 = J, *F4 = J + (2 + n) * 2 * n;
    for (int k = 0; k < n; ++k) {
      F4[k] = 0.5 * xq[k] - per_h * xv[k];
      F4[n + k] = 0.5 * xq[k] + per_h * xv[k];
      F4[2 * n + k] = 0.5 * yq[k] - per_h * yv[k];
      F4[3 * n + k] = 0.5 * yq[k] + per_h * yv[k];
    }
    for (int k = 0; k < 4 * n; ++k) F2[k] = -F4[k];
  }

  // d2(w . (D2, D4))/dz2, symmetric [2n x 2n]. With alpha = h/2 (w2 + w4) and beta = w4 - w2 carried to the links, it
  // is the Hessian of  alpha . L_phi + beta . L_omega + beta_foot . p_foot.
  void hessian(const double* w, double* H) const {
    const double *w2 = w + 2, *w4 = w + 4 + n;
    const double bx = w[2 + n] - w[0], by = w[3 + n] - w[1];
    Angles alpha, beta;
    for (int j = 0; j < n; ++j) {
      alpha[j] = 0.5 * h_ * (w2[j] + w4[j]);
      beta[j] = w4[j] - w2[j];
    }
    s_.accumulate(alpha);
    s_.accumulate(beta);
    Table qq, qv, vv;
    for (int j = 0; j < n; ++j) {
      double sum = 0.0, row = 0.0;
      for (int k = 0; k < n; ++k) {
        const double difference = alpha[j] - alpha[k];
        vv[j][k] = -difference * Cs_[j][k];
        // rows q, columns v
        qv[j][k] = -difference * Cc_[j][k] * rate_[j] - beta[j] * Cs_[j][k];
        qq[j][k] = vv[j][k] * rate_[j] * rate_[k] + Cc_[j][k] * (beta[j] * rate_[k] + beta[k] * rate_[j]);
        sum += qq[j][k];
        row += difference * Cc_[j][k] * rate_[k] + beta[k] * Cs_[j][k];
      }
      const double c = s_.first[j] * cos_[j], s = s_.first[j] * sin_[j];
      qq[j][j] += rate_[j] * (bx * c + by * s) - s_.gravity * alpha[j] * s - sum;
      qv[j][j] += bx * s - by * c - row;
    }
    s_.gather(vv);
    s_.gather(qv);
    s_.gather(qq);
    const double per_h = 1.0 / h_;
    for (int j = 0; j < n; ++j)
      for (int k = 0; k < n; ++k) {
        const double a = 0.25 * qq[j][k], b = 0.5 * per_h * qv[j][k], c = 0.5 * per_h * qv[k][j],
                     d = per_h * per_h * vv[j][k];
        H[j * 2 * n + k] = a - b - c + d;
        H[j * 2 * n + n + k] = a + b - c - d;
        H[(n + j) * 2 * n + k] = a - b + c - d;
        H[(n + j) * 2 * n + n + k] = a + b + c + d;
      }
  }

 private:
  const Linkage& s_;
  double h_;
  Angles angle_, rate_, cos_, sin_;
  Table Cc_, Cs_;  // C_jk cos(phi_j - phi_k) and C_jk sin(phi_j - phi_k)
};

}  // namespace dodyn::variational
