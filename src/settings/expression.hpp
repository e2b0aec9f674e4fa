// Expressions of named quantities, as texts of systems, motions and studies hold them:
//
//   density*knee^3/12        130 deg        abs(tangential(foot)) <= 0.8*normal(foot) and foot.y >= 5 mm
//
// Numbers may carry a unit, which is converted to SI: `130 deg`, `5 mm`, `60 N m`, `15 rad/s`. Functions: sin, cos, tan,
// sqrt, exp, log, abs, min, max; floor(x); noise(k), a standard normal number, always the same for the whole part of k and
// independent of those of other k. Comparisons and `and`, `or`, `not` make conditions. Any other name, dotted or with
// arguments, is a quantity: what it means is for the reader of `quantities()` to say.
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

// What is wrong and what is allowed, in one line without a place.
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

  // Throws ExpressionError, for texts of more than 10 000 characters or 200 nested signs and parentheses too, and for
  // constants that are added across dimensions. Names hold letters, digits, _ and dots; those of `hyphenated` also a '-', which elsewhere subtracts.
  static Expression parse(std::string_view text, std::span<const std::string> hyphenated = {});

  bool is_constant() const { return quantities_.empty(); }
  bool is_condition() const;                     // its value is 1 or 0
  bool has_units() const { return has_units_; }  // a number in it has a unit: what it gives is in SI
  double constant() const { return evaluate<double>({}); }

  // Distinct, in the order in which they are met.
  const std::vector<Quantity>& quantities() const { return quantities_; }

  // What its value measures, from what its quantities() do; a condition is pure, a sine, a power or a logarithm a number
  // without a unit. Throws ExpressionError where it adds or
  // compares two dimensions, or takes a sine, a logarithm or a power of what is not pure.
  Measure measure(Dimensions& dimensions, std::span<const Measure> quantities) const;

  // From the values of quantities(), in their order. T: double or any number with arithmetic and sin, cos, sqrt, exp, log,
  // abs, max found by argument-dependent lookup. Conditions are evaluated on double alone.
  template <class T>
  T evaluate(std::span<const T> values) const;
  bool holds(std::span<const double> values) const { return evaluate<double>(values) != 0.0; }

  // A condition that is a conjunction of comparisons, as `what >= 0` (or == 0); one of an absolute value that is at most
  // something is two of them. Throws ExpressionError where it is not.
  struct Comparison;
  std::vector<Comparison> comparisons() const;

  // The same expression with quantities replaced: replace(quantity) gives what stands for it.
  template <class Replace>
  Expression substituted(Replace replace) const;

  const std::string& text() const { return text_; }
  // Whether they have the same values, whatever the units that their numbers are written in.
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
    power,  // to the integer `value`
    power_of,
    sine,
    cosine,
    tangent,
    root,
    exponential,
    logarithm,
    absolute,
    whole,   // floor
    random,  // noise
    minimum,
    maximum,
    less,
    less_equal,
    equal,
    both,
    either,
    opposite
  };
  struct Node {
    Operation operation = Operation::constant;
    int a = -1, b = -1;
    double value = 0.0;
    int unit = -1;  // of a constant: number in units_; -1: it has none
    bool operator==(const Node& other) const {
      return operation == other.operation && a == other.a && b == other.b && value == other.value;
    }
  };
  static double standard_normal(double k);
  Expression subexpression(int node) const;
  int copy(const Expression& from, int node);
  int keep_unit(const Expression& from, const Node& node) {  // of a constant that is copied
    if (node.unit < 0) return -1;
    units_.push_back(from.units_[static_cast<std::size_t>(node.unit)]);
    return static_cast<int>(units_.size()) - 1;
  }
  int add(Node node) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }

  std::vector<Node> nodes_;  // operands before what they are operands of; the last one is the value
  std::vector<Quantity> quantities_;
  std::vector<Measure> units_;  // of constants
  std::string text_;
  bool has_units_ = false;
};

struct Expression::Comparison {
  Expression what;  // >= 0, or == 0
  bool equality = false;
};

// The parts of a text between commas that stand outside of parentheses, trimmed; of an empty text none.
std::vector<std::string> split_list(std::string_view text, char separator = ',');

// "0.05 .. 0.4": both ends as expressions; of a text without dots the one expression twice.
std::pair<Expression, Expression> parse_range(std::string_view text, std::span<const std::string> hyphenated = {});

// ---- implementation

template <class T>
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
  // functions that jump have no derivative to hand on
  const auto stepwise = [&](double (*f)(double), int a) -> T {
    if constexpr (std::is_same_v<T, double>)
      return f(x[a]);
    else if constexpr (requires(const T& v) { static_cast<double>(v.value); })
      return T(f(x[a].value));
    else
      throw ExpressionError("'" + text_ + "' jumps; allowed here: no floor or noise of a quantity");
  };
  for (const Node& n : nodes_) {
    const auto a = [&]() -> const T& { return x[static_cast<std::size_t>(n.a)]; };
    const auto b = [&]() -> const T& { return x[static_cast<std::size_t>(n.b)]; };
    switch (n.operation) {
      case Operation::constant:
        x.push_back(T(n.value));
        break;
      case Operation::quantity:
        x.push_back(values[static_cast<std::size_t>(n.a)]);
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
      case Operation::root:
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
      case Operation::whole:
        x.push_back(stepwise([](double p) { return std::floor(p); }, n.a));
        break;
      case Operation::random:
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
      case Operation::both:
        x.push_back(truth([](double p, double q) { return p != 0 && q != 0; }, n.a, n.b));
        break;
      case Operation::either:
        x.push_back(truth([](double p, double q) { return p != 0 || q != 0; }, n.a, n.b));
        break;
      case Operation::opposite:
        x.push_back(truth([](double p, double) { return p == 0; }, n.a, -1));
        break;
    }
  }
  return x.back();
}

template <class Replace>
Expression Expression::substituted(Replace replace) const {
  Expression result;
  result.nodes_.clear();
  result.text_ = text_;
  std::vector<int> at;
  for (const Node& n : nodes_) {
    if (n.operation == Operation::quantity) {
      const Expression by = replace(quantities_[static_cast<std::size_t>(n.a)]);
      at.push_back(result.copy(by, static_cast<int>(by.nodes_.size()) - 1));
    } else {
      Node copied = n;
      if (n.a >= 0) copied.a = at[static_cast<std::size_t>(n.a)];
      if (n.b >= 0) copied.b = at[static_cast<std::size_t>(n.b)];
      copied.unit = result.keep_unit(*this, n);
      at.push_back(result.add(copied));
    }
  }
  return result;
}

}  // namespace dodyn
