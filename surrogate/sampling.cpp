#include "surrogate/sampling.hpp"

#include <algorithm>
#include <boost/random/sobol.hpp>
#include <cmath>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

#include "record/text.hpp"
#include "settings/choices.hpp"
#include "surrogate/random.hpp"

namespace dodyn::surrogate {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr int most_sobol = 3667;  // number of dimensions in Boost's table

void shuffle(std::vector<int>& values, Random& random) {
  for (int i = std::ssize(values) - 1; i > 0; --i) std::swap(values[i], values[random.below(i + 1)]);
}

}  // namespace

MatrixXd latin_hypercube(int dimensions, int n, std::uint64_t seed) {
  Random random(seed);
  MatrixXd x(dimensions, n);
  std::vector<int> order(n);
  for (int k = 0; k < dimensions; ++k) {
    std::iota(order.begin(), order.end(), 0);
    shuffle(order, random);
    for (int i = 0; i < n; ++i) x(k, i) = n == 1 ? 0.5 : (order[i] + random.uniform()) / n;
  }
  if (n < 3 || dimensions < 2) return x;
  // phi = sum over pairs of distance^-10. An exchange changes only the terms of two samples.
  const auto terms_of = [&](int i, int without) {
    double sum = 0;
    for (int j = 0; j < n; ++j) {
      if (j == i || j == without) continue;
      const double square = (x.col(i) - x.col(j)).squaredNorm() + 1e-12, fourth = square * square;
      sum += 1 / (fourth * fourth * square);
    }
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
  if (dimensions > most_sobol) return halton(dimensions, n, seed + skip);
  Random random(seed);
  std::vector<std::uint64_t> shift(dimensions);
  for (auto& digits : shift) digits = random.bits();
  boost::random::sobol engine(dimensions);  // this sequence starts after point 0, the origin
  if (skip > 0) engine.seed(skip - 1);
  MatrixXd x(dimensions, n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < dimensions; ++k) {
      const std::uint64_t digits = skip + static_cast<std::uint64_t>(i) == 0 ? 0 : engine();
      x(k, i) = (static_cast<double>((digits ^ shift[k]) >> 12) + 0.5) * 0x1p-52;
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
    const double shift = random.uniform();  // because permutations alone differ little: primes 2 and 3 have 1 and 2
    for (int i = 0; i < n; ++i) {
      double value = shift, weight = 1;
      for (int rest = i + 1; rest > 0; rest /= prime) value += (weight /= prime) * digits[rest % prime];
      x(k, i) = value - std::floor(value);
    }
  }
  return x;
}

namespace {

// A CSV file and its columns by name, without units in brackets.
struct Csv {
  std::string path;
  std::vector<std::string> header, units;                      // name and unit of each column; empty: no unit
  std::vector<std::pair<int, std::vector<std::string>>> rows;  // line number and cells of each row

  explicit Csv(const std::string& where) : path(where) {
    std::ifstream file(path);
    std::string line;
    if (!std::getline(file, line) && (!file.is_open() || file.bad()))
      throw std::invalid_argument(path + ": cannot be read");
    if (line.starts_with("\x89HDF"))
      throw std::invalid_argument(path + ": is an HDF5 file; expected a CSV file, such as that of dodyn show --csv");
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";  // of spreadsheets
    if (line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    header = cells(line);
    for (std::string& name : header) {
      const auto at = name.find(" [");
      units.push_back(at != std::string::npos && name.ends_with(']') ? name.substr(at + 2, name.size() - at - 3) : "");
      name = name.substr(0, at);
    }
    for (int number = 2; std::getline(file, line); ++number)
      if (const auto row = cells(line); !row.empty()) {
        rows.emplace_back(number, row);
        if (std::any_of(row.begin() + static_cast<std::ptrdiff_t>(std::min(row.size(), header.size())), row.end(),
                        [](const std::string& cell) { return !cell.empty(); }))
          throw std::invalid_argument(place(rows.size() - 1) + "has " + std::to_string(row.size()) +
                                      " cells; the header has " + std::to_string(header.size()));
      }
  }

  // Splits a line at commas. Quotes protect commas; a doubled quote is a quote.
  static std::vector<std::string> cells(const std::string& line) {
    std::vector<std::string> out;
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (out.empty()) out.emplace_back();
      if (line[i] == '"') {
        if (quoted && i + 1 < line.size() && line[i + 1] == '"')
          out.back() += line[i++];
        else
          quoted = !quoted;
      } else if (line[i] == ',' && !quoted) {
        out.emplace_back();
      } else if (line[i] != '\r') {
        out.back() += line[i];
      }
    }
    for (std::string& cell : out) {
      const auto from = cell.find_first_not_of(" \t"), to = cell.find_last_not_of(" \t");
      cell = from == std::string::npos ? "" : cell.substr(from, to - from + 1);
    }
    return out;
  }

  // Returns the index of a column; -1: not found.
  std::ptrdiff_t column(const std::string& name) const {
    const auto at = std::find(header.begin(), header.end(), name);
    if (at == header.end()) return -1;
    if (std::find(at + 1, header.end(), name) != header.end())
      throw std::invalid_argument(path + ":1: two columns '" + name + "'; remove one of them");
    return at - header.begin();
  }
  std::vector<std::ptrdiff_t> columns(const std::vector<Variable>& variables) const {
    std::vector<std::ptrdiff_t> found;
    for (const Variable& v : variables) {
      const std::ptrdiff_t full = column("design." + v.name);
      found.push_back(full >= 0 ? full : column(v.name));
      if (found.back() < 0) throw std::invalid_argument(path + ":1: no column '" + v.name + "'");
      check_unit(found.back(), v.unit);
    }
    if (rows.empty()) throw std::invalid_argument(path + ":1: no row follows the header");
    return found;
  }
  // Throws if the column exists and its header has another unit.
  void check_unit(std::ptrdiff_t at, const std::string& unit) const {
    if (at < 0) return;
    const std::string expected = unit.empty() ? "1" : unit;
    if (!units[at].empty() && units[at] != expected)
      throw std::invalid_argument(path + ":1: column '" + header[at] + "' is in " + units[at] +
                                  "; the study has it in " + expected + ", so convert the column");
  }
  std::string cell(std::size_t row, std::ptrdiff_t at) const {
    const auto& all = rows[row].second;
    return at >= 0 && static_cast<std::size_t>(at) < all.size() ? all[at] : "";
  }
  // Returns a number; NaN if the cell is empty and `optional`.
  double number(std::size_t row, std::ptrdiff_t at, const std::string& name, bool optional) const {
    const std::string text = cell(row, at);
    if (optional && text.empty()) return not_a_number;
    std::size_t read = 0;
    double value = not_a_number;
    try {
      value = std::stod(text, &read);
    } catch (const std::exception&) {
    }
    if (read == 0 || read != text.size())
      throw std::invalid_argument(place(row) + name + " = '" + text + "' is not a number");
    return value;
  }
  // Returns the design of a row. A cell may have the name of a label instead of its number.
  VectorXd design(std::size_t row, const std::vector<std::ptrdiff_t>& at,
                  const std::vector<Variable>& variables) const {
    VectorXd x(variables.size());
    for (std::size_t k = 0; k < variables.size(); ++k) {
      const auto& choices = variables[k].choices;
      const auto label = std::find(choices.begin(), choices.end(), cell(row, at[k]));
      const bool has_name = label != choices.end() && !are_numbers({*label});
      x(k) = has_name ? static_cast<double>(label - choices.begin()) : number(row, at[k], variables[k].name, false);
    }
    return x;
  }
  std::string place(std::size_t row) const { return path + ":" + std::to_string(rows[row].first) + ": "; }
};

}  // namespace

Index find_invalid_value(const DesignSpace& space, VectorXd& design) {
  const auto& variables = space.variables();
  for (Index k = 0; k < design.size(); ++k) {
    const Variable& v = variables[k];
    if (!(design(k) >= v.lower && design(k) <= v.upper)) return k;
  }
  const VectorXd valid = space.nearest_valid(design);
  for (Index k = 0; k < design.size(); ++k)
    if (std::abs(valid(k) - design(k)) > 1e-9 * std::max(1.0, std::abs(design(k)))) return k;
  design = valid;
  return -1;
}

MatrixXd read_designs(const std::string& path, const std::vector<Variable>& variables,
                      const std::vector<Domain>& domains, const std::function<bool(const VectorXd&)>& allowed) {
  const Csv csv(path);
  const auto columns = csv.columns(variables);
  const DesignSpace space(variables, domains, path);
  MatrixXd x(variables.size(), csv.rows.size());
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    const VectorXd given = csv.design(i, columns, variables);
    VectorXd design = given;
    if (const Index at = find_invalid_value(space, design); at >= 0) {
      const std::string value = csv.place(i) + variables[at].name + " = " + csv.cell(i, columns[at]);
      if (!(given(at) >= variables[at].lower && given(at) <= variables[at].upper))
        throw std::invalid_argument(value + " lies outside its range");
      const VectorXd valid = space.nearest_valid(given);
      throw std::invalid_argument(
          value + (space.active(at, valid)
                       ? not_a_value(valid(at))
                       : ": the design does not have this variable; expected its lower bound " + to_text(valid(at))));
    }
    if (allowed && !allowed(design))
      throw std::invalid_argument(csv.place(i) + "the design violates surrogate.design-constraints; remove this row");
    x.col(i) = design;
  }
  return x;
}

std::vector<Evaluation> read_samples(const std::string& path, const std::vector<Variable>& variables,
                                     const std::vector<Quantity>& metrics, const std::vector<Domain>& domains) {
  const Csv csv(path);
  const auto columns = csv.columns(variables);
  const DesignSpace space(variables, domains, path);
  const auto cost = csv.column("cost"), status = csv.column("status"), deviation = csv.column("cost_stderr");
  if (cost < 0) throw std::invalid_argument(path + ":1: no column 'cost'");
  const auto vector = [&](std::size_t row, const std::string& group, const std::vector<std::string>& names) {
    VectorXd values(names.size());
    for (std::size_t k = 0; k < names.size(); ++k)
      values(k) = csv.number(row, csv.column(group + names[k]), names[k], true);
    return values;
  };
  std::vector<std::string> names, metric_names;
  for (const Variable& v : variables) names.push_back(v.name);
  for (const Quantity& metric : metrics) {
    metric_names.push_back(metric.name);
    csv.check_unit(csv.column("metrics." + metric.name), metric.unit);
  }
  std::vector<Evaluation> samples;
  for (std::size_t i = 0; i < csv.rows.size(); ++i) {
    Evaluation e;
    e.design = csv.design(i, columns, variables);
    if (find_invalid_value(space, e.design) >= 0) continue;
    e.cost = csv.number(i, cost, "cost", true);
    if (const double s = csv.number(i, deviation, "cost_stderr", true); s > 0) e.cost_stderr = s;
    const std::string word = csv.cell(i, status);
    e.status = std::isfinite(e.cost) && (word.empty() || word == "ok") ? Status::ok : Status::failed;
    e.gradient = vector(i, "gradient.", names);
    if (!e.gradient.allFinite()) e.gradient.resize(0);
    e.metrics = vector(i, "metrics.", metric_names);
    samples.push_back(e);
  }
  if (samples.empty())
    throw std::invalid_argument(path +
                                ": none of its designs is one of this study: compare the ranges and values of "
                                "the variables");
  return samples;
}

}  // namespace dodyn::surrogate
