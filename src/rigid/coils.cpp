#include "rigid/coils.hpp"

#include <Eigen/QR>
#include <charconv>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace dodyn::rigid {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double vacuum = 4e-7 * pi;  // mu0, N/A^2
using Point = Eigen::Vector3d;

// Points and weights that represent a pole of strength 1 at (x, 0, 0).
struct Pole {
  std::vector<std::pair<Point, double>> points;
};

// Returns one point, or a quadrature over a disc normal to x: Gauss points in the squared radius, sixteen directions.
Pole pole(const Coil& coil, double x) {
  if (!coil.discs) return {{{{x, 0.0, 0.0}, 1.0}}};
  const double radius = 0.5 * coil.diameter, offset = std::sqrt(0.6);
  const std::array<std::pair<double, double>, 3> gauss = {
      {{0.5 * (1.0 - offset), 5.0 / 18.0}, {0.5, 8.0 / 18.0}, {0.5 * (1.0 + offset), 5.0 / 18.0}}};
  Pole disc;
  for (const auto& [square, share] : gauss)
    for (int k = 0; k < 16; ++k) {
      const double at = radius * std::sqrt(square), angle = (k + 0.5) * pi / 8.0;
      disc.points.push_back({{x, at * std::cos(angle), at * std::sin(angle)}, share / 16.0});
    }
  return disc;
}

}  // namespace

double Coil::pole_strength() const { return core_field * 0.25 * pi * diameter * diameter / vacuum; }

Eigen::Vector3d pole_wrench(const Coil& coil, double r, double phi1, double phi2) {
  const double half = 0.5 * coil.length, p = coil.pole_strength();
  const Point centre(r * std::cos(phi1), r * std::sin(phi1), 0.0);
  Eigen::Matrix3d turn;
  turn << std::cos(phi2), -std::sin(phi2), 0.0, std::sin(phi2), std::cos(phi2), 0.0, 0.0, 0.0, 1.0;
  Eigen::Vector3d sum = Eigen::Vector3d::Zero();
  for (const double one : {1.0, -1.0})
    for (const double other : {1.0, -1.0}) {
      const Pole a = pole(coil, one * half), b = pole(coil, other * half);
      for (const auto& [x, share] : a.points)
        for (const auto& [y, part] : b.points) {
          const Point d = x - (centre + turn * y);  // equal poles repel
          const double r2 = d.squaredNorm();
          const Point f = one * other * share * part * vacuum * p * p / (4.0 * pi * r2 * std::sqrt(r2)) * d;
          sum += Eigen::Vector3d(f[0], f[1], x[0] * f[1] - x[1] * f[0]);
        }
    }
  return sum;
}

const std::array<std::array<int, 2>, CoilForm::terms>& CoilForm::powers() {
  static const auto all = [] {
    std::array<std::array<int, 2>, terms> list{};
    std::size_t at = 0;
    for (int degree = 0; degree <= 4; ++degree)
      for (int b = 0; b <= degree; ++b) list[at++] = {degree - b, b};
    return list;
  }();
  return all;
}

namespace {

Eigen::Matrix<double, 1, CoilForm::terms> monomials(double phi1, double phi2) {
  Eigen::Matrix<double, 1, CoilForm::terms> row;
  std::array<double, 5> one{1.0}, other{1.0};
  for (std::size_t k = 1; k < 5; ++k) one[k] = phi1 * one[k - 1], other[k] = phi2 * other[k - 1];
  int i = 0;
  for (const auto& [a, b] : CoilForm::powers()) row[i++] = one[a] * other[b];
  return row;
}

}  // namespace

Eigen::Vector3d CoilForm::operator()(double r, double phi1, double phi2) const {
  const Eigen::Matrix<double, 1, 6> values = monomials(phi1, phi2) * coefficients;
  const double r2 = r * r / (unit * unit), r4 = r2 * r2;
  Eigen::Vector3d wrench;
  for (int i = 0; i < 3; ++i) wrench[i] = values[2 * i] / (r4 * r4) - values[2 * i + 1] / r4;
  return wrench;
}

CoilForm read_coil_form(const std::string& text) {
  CoilForm form;
  std::array<bool, CoilForm::terms> there{};
  int line = 0;
  bool header = true;
  for (std::size_t from = 0; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    std::string row = text.substr(from, end - from);
    from = end + 1;
    ++line;
    const auto fail = [&](const std::string& what) {
      throw std::invalid_argument("line " + std::to_string(line) + ": " + what);
    };
    if (!row.empty() && row.back() == '\r') row.pop_back();
    if (row.empty() || row[0] == '#') continue;
    if (header) {
      std::string names;
      for (std::size_t at = 0, k = 0; k < 8 && at < row.size(); ++k) {
        const auto comma = std::min(row.find(',', at), row.size());
        const std::string cell = row.substr(at, comma - at), prefix = "coefficients.";
        names += (k ? "," : "") + (cell.starts_with(prefix) ? cell.substr(prefix.size()) : cell);
        at = comma + 1;
      }
      if (names != "phi1,phi2,A_x,B_x,A_y,B_y,A_theta,B_theta")
        fail("is not a header of such a table; allowed: phi1,phi2,A_x,B_x,A_y,B_y,A_theta,B_theta");
      header = false;
      continue;
    }
    std::vector<double> cells;
    for (std::size_t at = 0; at <= row.size();) {
      const auto comma = std::min(row.find(',', at), row.size());
      double value = 0.0;
      const auto [to, error] = std::from_chars(row.data() + at, row.data() + comma, value);
      if (error != std::errc{} || to != row.data() + comma || !std::isfinite(value))
        fail("'" + row.substr(at, comma - at) + "' is not a number");
      cells.push_back(value);
      at = comma + 1;
    }
    if (cells.size() < 8) fail(std::to_string(cells.size()) + " cells; expected 8 or more");
    int found = -1;
    for (int i = 0; i < CoilForm::terms; ++i)
      if (CoilForm::powers()[i][0] == cells[0] && CoilForm::powers()[i][1] == cells[1]) found = i;
    if (found < 0) fail("rows whose powers have a sum of at most 4 must come first");
    if (there[found]) fail("these powers are given twice");
    there[found] = true;
    for (int k = 0; k < 6; ++k) form.coefficients(found, k) = cells[k + 2];
  }
  for (int i = 0; i < CoilForm::terms; ++i)
    if (!there[i])
      throw std::invalid_argument("the row of powers " + std::to_string(CoilForm::powers()[i][0]) + ", " +
                                  std::to_string(CoilForm::powers()[i][1]) + " is missing");
  return form;
}

CoilForm fit_coil_form(const std::vector<CoilSample>& samples, double weight) {
  const Eigen::Index count = samples.size();
  constexpr int terms = CoilForm::terms;
  CoilForm form;
  Eigen::MatrixXd rows(count, 2 * terms), values(count, 3);
  for (Eigen::Index i = 0; i < count; ++i) {
    const auto& s = samples[i];
    const double r = s.r / form.unit, w = std::pow(r, weight), r4 = std::pow(r, 4);
    const auto m = monomials(s.phi1, s.phi2);
    rows.row(i) << w / (r4 * r4) * m, -w / r4 * m;
    values.row(i) = w * s.wrench.transpose();
  }
  // normalises the columns, so that the rank does not depend on their scales
  const Eigen::RowVectorXd size = rows.colwise().norm();
  for (Eigen::Index k = 0; k < rows.cols(); ++k)
    if (size[k] > 0.0) rows.col(k) /= size[k];
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(rows);
  if (count < rows.cols() || qr.rank() < rows.cols())
    throw std::invalid_argument(
        "the samples do not determine the 30 coefficients of a component; allowed: at least five "
        "of each angle and two distances");
  const Eigen::MatrixXd solution = qr.solve(values);
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < terms; ++i) {
      form.coefficients(i, 2 * c) = solution(i, c) / size[i];
      form.coefficients(i, 2 * c + 1) = solution(terms + i, c) / size[terms + i];
    }
  return form;
}

}  // namespace dodyn::rigid
