// Expressions of named quantities, for model files and configurations:
//
//   density*knee^3/12        130 deg        abs(tangential(foot)) <= 0.8*normal(foot) and foot.y >= 5 mm
//
// Numbers may carry a unit, which is converted to SI: `130 deg`, `5 mm`, `60 N m`, `15 rad/s`. Functions: sin, cos,
// tan, sqrt, exp, log, abs, min, max, floor; noise(k), a standard normal number that is fixed for each floor(k) and
// independent for different ones. Comparisons and `and`, `or`, `not` make conditions. Any other name, dotted or with
// arguments, is a quantity; the caller gives it a meaning by `quantities()`.
#pragma once

#include <cassert>
#include <cmath>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/dimensions.hpp"

namespace dodyn {

// The error and what is allowed, one line without the place.
struct ExpressionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Expression {
 public:
  // A name with its arguments: `knee`, `foot.x`, `rate(hip)`, `distance(male.tip, female.seat)`.
  struct Quantity {
    std::string name;
    std::vector<std::string> arguments;
    std::string text() const;
    bool operator==(const Quantity&) const = default;
  };

  Expression() : Expression(0.0) {}
  Expression(double constant);  // NOLINT: a number is an expression

  // Throws ExpressionError. Limits: 10 000 characters, 200 nested signs and parentheses. Constants of different
  // dimensions cannot be added. Names have letters, digits, _ and dots; those in `hyphenated` also a '-', which
  // otherwise is a subtraction.
  static Expression parse(std::string_view text, std::span<const std::string> hyphenated = {});

  bool is_constant() const { return quantities_.empty(); }
  bool is_condition() const;                     // its value is 1 or 0
  bool has_units() const { return has_units_; }  // a number in it has a unit; the value is in SI
  double constant() const { return evaluate<double>({}); }

  // distinct quantities, in the order of their first occurrence
  const std::vector<Quantity>& quantities() const { return quantities_; }

  // Returns the dimension of the value, given those of quantities(). A condition is pure; a sine, a power or a
  // logarithm is a number without a unit. Throws ExpressionError if the expression adds or compares two dimensions, or
  // takes a sine, a logarithm or a power of a number with a unit.
  Measure measure(Dimensions& dimensions, std::span<const Measure> quantities) const;

  // Evaluates for values of quantities(), in their order. T: double or a number type with arithmetic and sin, cos,
  // sqrt, exp, log, abs, max (argument-dependent lookup). Conditions need double.
  template <class T>
  T evaluate(std::span<const T> values) const;
  bool holds(std::span<const double> values) const { return evaluate<double>(values) != 0.0; }

  // Splits a condition that is a conjunction of comparisons into `what >= 0` (or == 0). An upper limit on an absolute
  // value gives two of them. Throws ExpressionError for other conditions.
  struct Comparison;
  std::vector<Comparison> comparisons() const;

  const std::string& text() const { return text_; }
  // Whether the values are always equal, in whatever units the numbers are written.
  bool operator==(const Expression& other) const { return nodes_ == other.nodes_ && quantities_ == other.quantities_; }

 private:
  friend class ExpressionParser;
  enum class Operation : unsigned char {
    constant,
    quantity,  // number a
    add,
    subtract,
    multiply,
    divide,
    negate,
    power,  // with the integer exponent `value`
    power_of,
    sine,
    cosine,
    tangent,
    square_root,
    exponential,
    logarithm,
    absolute,
    floor,
    noise,
    minimum,
    maximum,
    less,
    less_equal,
    equal,
    logical_and,
    logical_or,
    logical_not
  };
  struct Node {
    Operation operation = Operation::constant;
    int a = -1, b = -1;
    double value = 0.0;
    int unit = -1;  // for a constant: index in units_; -1: none
    bool operator==(const Node& other) const {
      return operation == other.operation && a == other.a && b == other.b && value == other.value;
    }
  };
  static double standard_normal(double k);
  Expression subexpression(int node) const;
  int copy(const Expression& from, int node);
  int keep_unit(const Expression& from, const Node& node) {  // of a copied constant
    if (node.unit < 0) return -1;
    units_.push_back(from.units_[node.unit]);
    return static_cast<int>(units_.size()) - 1;
  }
  int add(Node node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }

  std::vector<Node> nodes_;  // operands precede their operation; the last node is the value
  std::vector<Quantity> quantities_;
  std::vector<Measure> units_;  // of constants
  std::string text_;
  bool has_units_ = false;
};

struct Expression::Comparison {
  Expression what;  // >= 0, or == 0
  bool equality = false;
};

// Splits a text at commas outside parentheses and trims the parts; an empty text has none.
std::vector<std::string> split_list(std::string_view text, char separator = ',');

// Parses "0.05 .. 0.4": both ends as expressions. A text without dots gives the one expression twice.
std::pair<Expression, Expression> parse_range(std::string_view text, std::span<const std::string> hyphenated = {});

// ---- implementation

template <class T>  // whole: one case for each operation, and the compiler warns if one is missing
T Expression::evaluate(std::span<const T> values) const {
  assert(values.size() == quantities_.size());
  using std::sin, std::cos, std::sqrt, std::exp, std::log, std::abs, std::max;
  std::vector<T> x;
  x.reserve(nodes_.size());
  const auto truth = [&](bool (*f)(double, double), int a, int b) -> T {
    if constexpr (std::is_same_v<T, double>)
      return f(x[a], b < 0 ? 0.0 : x[b]) ? 1.0 : 0.0;
    else
      throw ExpressionError("'" + text_ + "' is a condition; allowed here: a number");
  };
  // stepwise functions have the derivative zero
  const auto stepwise = [&](double (*f)(double), int a) -> T {
    if constexpr (std::is_same_v<T, double>)
      return f(x[a]);
    else if constexpr (requires(const T& v) { static_cast<double>(v.value); })
      return T(f(x[a].value));
    else
      throw ExpressionError("'" + text_ + "' jumps; allowed here: no floor or noise of a quantity");
  };
  for (const Node& n : nodes_) {
    const auto a = [&]() -> const T& { return x[n.a]; };
    const auto b = [&]() -> const T& { return x[n.b]; };
    switch (n.operation) {
      case Operation::constant:
        x.push_back(T(n.value));
        break;
      case Operation::quantity:
        x.push_back(values[n.a]);
        break;
      case Operation::add:
        x.push_back(a() + b());
        break;
      case Operation::subtract:
        x.push_back(a() - b());
        break;
      case Operation::multiply:
        x.push_back(a() * b());
        break;
      case Operation::divide:
        x.push_back(a() / b());
        break;
      case Operation::negate:
        x.push_back(-a());
        break;
      case Operation::power: {
        T power(1.0);
        for (int i = 0; i < static_cast<int>(std::abs(n.value)); ++i) power = power * a();
        x.push_back(n.value < 0.0 ? T(1.0) / power : power);
        break;
      }
      case Operation::power_of:
        x.push_back(exp(b() * log(a())));
        break;
      case Operation::sine:
        x.push_back(sin(a()));
        break;
      case Operation::cosine:
        x.push_back(cos(a()));
        break;
      case Operation::tangent:
        x.push_back(sin(a()) / cos(a()));
        break;
      case Operation::square_root:
        x.push_back(sqrt(a()));
        break;
      case Operation::exponential:
        x.push_back(exp(a()));
        break;
      case Operation::logarithm:
        x.push_back(log(a()));
        break;
      case Operation::absolute:
        x.push_back(abs(a()));
        break;
      case Operation::floor:
        x.push_back(stepwise([](double p) { return std::floor(p); }, n.a));
        break;
      case Operation::noise:
        x.push_back(stepwise(standard_normal, n.a));
        break;
      case Operation::minimum:
        x.push_back(-max(-a(), -b()));
        break;
      case Operation::maximum:
        x.push_back(max(a(), b()));
        break;
      case Operation::less:
        x.push_back(truth([](double p, double q) { return p < q; }, n.a, n.b));
        break;
      case Operation::less_equal:
        x.push_back(truth([](double p, double q) { return p <= q; }, n.a, n.b));
        break;
      case Operation::equal:
        x.push_back(truth([](double p, double q) { return p == q; }, n.a, n.b));
        break;
      case Operation::logical_and:
        x.push_back(truth([](double p, double q) { return p != 0 && q != 0; }, n.a, n.b));
        break;
      case Operation::logical_or:
        x.push_back(truth([](double p, double q) { return p != 0 || q != 0; }, n.a, n.b));
        break;
      case Operation::logical_not:
        x.push_back(truth([](double p, double) { return p == 0; }, n.a, -1));
        break;
    }
  }
  return x.back();
}

}  // namespace dodyn
