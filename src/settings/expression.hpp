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
  // otherwise is a subtraction. Functions in `aggregates` have any text in parentheses as their argument; each call is
  // a quantity, `max_over(abs(u.hip))`.
  static Expression parse(std::string_view text, std::span<const std::string> hyphenated = {},
                          std::span<const std::string> aggregates = {});

  bool is_constant() const { return quantities_.empty(); }
  bool is_condition() const;                     // its value is 1 or 0
  bool has_units() const { return has_units_; }  // a number in it has a unit; the value is in SI
  double constant() const { return evaluate<double>({}); }

  // Returns the distinct quantities, in the order of their first occurrence.
  const std::vector<Quantity>& quantities() const { return quantities_; }

  // Returns the dimension of the value, given the dimensions of quantities(). A condition is pure. Sine, cosine,
  // tangent, exp, log, floor, noise and powers give a number without a unit; only square roots and powers with a
  // constant whole exponent keep units. Throws ExpressionError if the expression adds or compares two dimensions, or if
  // one of these functions has an argument with a unit (angles are allowed).
  Measure measure(Dimensions& dimensions, std::span<const Measure> quantities) const;

  // Evaluates for values of quantities(), in their order. T: double or a number type with arithmetic and sin, cos,
  // sqrt, exp, log, abs, max (argument-dependent lookup). Conditions need double.
  template <class T>
  T evaluate(std::span<const T> values) const;
  bool holds(std::span<const double> values) const { return evaluate<double>(values) != 0.0; }

  // Splits a condition at its outermost `and`, `or` or `not`. A comparison or a quantity has no parts.
  struct Parts;
  Parts parts() const;

  // Splits a condition that is a conjunction of comparisons into `what >= 0` (or == 0); `<` counts as `<=`. An upper
  // limit on an absolute value gives two comparisons. Throws ExpressionError for other conditions.
  struct Comparison;
  std::vector<Comparison> comparisons() const;

  const std::string& text() const { return text_; }
  // Whether the values are always equal, in whatever units the numbers are written.
  bool operator==(const Expression& other) const { return nodes_ == other.nodes_ && quantities_ == other.quantities_; }

 private:
  friend class ExpressionParser;
  enum class Operation : unsigned char {
    constant,
    quantity,  // quantities_[a]
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
  int keep_unit(const Expression& from, const Node& node) {  // returns the index of a copied constant's unit
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

struct Expression::Parts {
  enum Kind { none, all, any, opposite } kind = none;
  std::vector<Expression> list;
};

struct Expression::Comparison {
  Expression what;  // >= 0, or == 0
  bool equality = false;
};

// Splits a text at each `separator` outside parentheses and trims the parts; an empty text has no parts.
std::vector<std::string> split_list(std::string_view text, char separator = ',');

// Parses "0.05 .. 0.4": both ends as expressions. A text without dots gives the one expression twice.
std::pair<Expression, Expression> parse_range(std::string_view text, std::span<const std::string> hyphenated = {});

// ---- implementation

template <class T>  // not split into functions: one switch lets the compiler warn about a missing operation
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
  const auto value = [&](const Node& n) -> T {
    const auto a = [&]() -> const T& { return x[n.a]; };
    const auto b = [&]() -> const T& { return x[n.b]; };
    switch (n.operation) {
      case Operation::constant:
        return T(n.value);
      case Operation::quantity:
        return values[n.a];
      case Operation::add:
        return a() + b();
      case Operation::subtract:
        return a() - b();
      case Operation::multiply:
        return a() * b();
      case Operation::divide:
        return a() / b();
      case Operation::negate:
        return -a();
      case Operation::power: {
        T power(1.0);
        for (int i = 0; i < static_cast<int>(std::abs(n.value)); ++i) power = power * a();
        return n.value < 0.0 ? T(1.0) / power : power;
      }
      case Operation::power_of:
        return exp(b() * log(a()));
      case Operation::sine:
        return sin(a());
      case Operation::cosine:
        return cos(a());
      case Operation::tangent:
        return sin(a()) / cos(a());
      case Operation::square_root:
        return sqrt(a());
      case Operation::exponential:
        return exp(a());
      case Operation::logarithm:
        return log(a());
      case Operation::absolute:
        return abs(a());
      case Operation::floor:
        return stepwise([](double p) { return std::floor(p); }, n.a);
      case Operation::noise:
        return stepwise(standard_normal, n.a);
      case Operation::minimum:
        return -max(-a(), -b());
      case Operation::maximum:
        return max(a(), b());
      case Operation::less:
        return truth([](double p, double q) { return p < q; }, n.a, n.b);
      case Operation::less_equal:
        return truth([](double p, double q) { return p <= q; }, n.a, n.b);
      case Operation::equal:
        return truth([](double p, double q) { return p == q; }, n.a, n.b);
      case Operation::logical_and:
        return truth([](double p, double q) { return p != 0 && q != 0; }, n.a, n.b);
      case Operation::logical_or:
        return truth([](double p, double q) { return p != 0 || q != 0; }, n.a, n.b);
      case Operation::logical_not:
        return truth([](double p, double) { return p == 0; }, n.a, -1);
    }
    throw std::logic_error("an operation without a value");
  };
  for (const Node& n : nodes_) x.push_back(value(n));
  return x.back();
}

}  // namespace dodyn
