#include "surrogate/sampling.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "surrogate/random.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

// Joe and Kuo, Constructing Sobol sequences with better two-dimensional projections (2008), table new-joe-kuo-6: degree
// and coefficients of the primitive polynomial, initial direction numbers; the first dimension has none.
struct Direction {
  unsigned degree, coefficients;
  std::array<unsigned, 7> initial;
};
constexpr std::array<Direction, 20> directions = {{
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
}};

std::array<std::uint32_t, 32> direction_numbers(int dimension) {
  std::array<std::uint32_t, 32> v{};
  if (dimension == 0) {
    for (unsigned i = 0; i < 32; ++i) v[i] = 1u << (31 - i);
    return v;
  }
  const auto& [s, a, m] = directions[dimension - 1];
  for (unsigned i = 0; i < 32; ++i) {
    if (i < s) {
      v[i] = m[i] << (31 - i);
      continue;
    }
    v[i] = v[i - s] ^ (v[i - s] >> s);
    for (unsigned k = 1; k < s; ++k)
      if ((a >> (s - 1 - k)) & 1) v[i] ^= v[i - k];
  }
  return v;
}

void shuffle(std::vector<int>& values, Random& random) {
  for (int i = static_cast<int>(values.size()) - 1; i > 0; --i) std::swap(values[i], values[random.below(i + 1)]);
}

}  // namespace

MatrixXd latin_hypercube(int dimensions, int n, std::uint64_t seed) {
  Random random(seed);
  MatrixXd x(dimensions, n);
  std::vector<int> order(n);
  for (int k = 0; k < dimensions; ++k) {
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    for (int i = 0; i < n; ++i) x(k, i) = (order[i] + 0.5) / n;
  }
  if (n < 3 || dimensions < 2) return x;
  // phi = sum over pairs of distance^-2p; an exchange changes the terms of two samples only.
  constexpr double p = 5;
  const auto terms_of = [&](int i, int without) {
    double sum = 0;
    for (int j = 0; j < n; ++j)
      if (j != i && j != without) sum += std::pow((x.col(i) - x.col(j)).squaredNorm() + 1e-12, -p);
    return sum;
  };
  const int tries = std::min(2000, 40 * n * dimensions);
  double temperature = 0.1;
  for (int trial = 0; trial < tries; ++trial, temperature *= 0.998) {
    const int k = random.below(dimensions), i = random.below(n), j = random.below(n);
    if (i == j) continue;
    const double before = terms_of(i, j) + terms_of(j, i);
    std::swap(x(k, i), x(k, j));
    const double after = terms_of(i, j) + terms_of(j, i);
    if (after > before && random.uniform() >= std::exp(-std::log(after / before) / temperature))
      std::swap(x(k, i), x(k, j));
  }
  return x;
}

MatrixXd sobol(int dimensions, int n, std::uint64_t seed, std::uint64_t skip) {
  if (dimensions > static_cast<int>(directions.size()) + 1) return halton(dimensions, n, seed + skip);
  Random random(seed);
  MatrixXd x(dimensions, n);
  for (int k = 0; k < dimensions; ++k) {
    const auto v = direction_numbers(k);
    const auto shift = static_cast<std::uint32_t>(random.bits());
    for (int i = 0; i < n; ++i) {
      std::uint32_t digits = shift;
      std::uint64_t gray = (skip + i) ^ ((skip + i) >> 1);
      for (int bit = 0; gray; ++bit, gray >>= 1)
        if (gray & 1) digits ^= v[bit];
      x(k, i) = (digits + 0.5) * 0x1p-32;
    }
  }
  return x;
}

MatrixXd halton(int dimensions, int n, std::uint64_t seed) {
  Random random(seed);
  MatrixXd x(dimensions, n);
  int prime = 1;
  for (int k = 0; k < dimensions; ++k) {
    bool composite = true;
    while (composite) {
      ++prime;
      composite = false;
      for (int q = 2; q * q <= prime; ++q) composite = composite || prime % q == 0;
    }
    std::vector<int> digits(prime);
    std::iota(digits.begin(), digits.end(), 0);
    std::vector<int> tail(digits.begin() + 1, digits.end());
    shuffle(tail, random);
    std::copy(tail.begin(), tail.end(), digits.begin() + 1);
    for (int i = 0; i < n; ++i) {
      double value = 0, weight = 1;
      for (int rest = i + 1; rest > 0; rest /= prime) value += (weight /= prime) * digits[rest % prime];
      x(k, i) = value;
    }
  }
  return x;
}

MatrixXd corners(int dimensions) {
  if (dimensions < 1 || dimensions > 10) throw std::invalid_argument("corners: 1 to 10 variables");
  const int n = 1 << dimensions;
  MatrixXd x = MatrixXd::Constant(dimensions, n + 1, 0.5);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < dimensions; ++k) x(k, i) = (i >> k) & 1;
  return x;
}

MatrixXd read_designs(const std::string& path, const std::vector<Variable>& variables) {
  std::ifstream file(path);
  if (!file) throw std::invalid_argument(path + ": cannot be read");
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) {
      const auto from = cell.find_first_not_of(" \t\r\""), to = cell.find_last_not_of(" \t\r\"");
      out.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
    }
    return out;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> header = cells(line);
  std::vector<std::size_t> column;
  for (const Variable& v : variables) {
    const auto at = std::find_if(header.begin(), header.end(), [&](const std::string& cell) {
      return cell == v.name || cell == "design." + v.name || cell.starts_with(v.name + " [");
    });
    if (at == header.end()) throw std::invalid_argument(path + ":1: no column '" + v.name + "'");
    column.push_back(static_cast<std::size_t>(at - header.begin()));
  }
  std::vector<VectorXd> designs;
  for (int number = 2; std::getline(file, line); ++number) {
    const std::vector<std::string> row = cells(line);
    if (row.empty()) continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    VectorXd design(static_cast<Index>(variables.size()));
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const std::string cell = column[k] < row.size() ? row[column[k]] : "";
      std::size_t read = 0;
      double value = not_a_number;
      try {
        value = std::stod(cell, &read);
      } catch (const std::exception&) {
      }
      if (read == 0 || read != cell.size())
        throw std::invalid_argument(where + variables[k].name + " = '" + cell + "' is not a number");
      if (!(value >= variables[k].lower && value <= variables[k].upper))
        throw std::invalid_argument(where + variables[k].name + " = " + cell + " lies outside its range");
      design(static_cast<Index>(k)) = value;
    }
    designs.push_back(design);
  }
  MatrixXd x(static_cast<Index>(variables.size()), static_cast<Index>(designs.size()));
  for (std::size_t i = 0; i < designs.size(); ++i) x.col(static_cast<Index>(i)) = designs[i];
  return x;
}

}  // namespace dodyn::surrogate
