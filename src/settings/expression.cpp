#include "settings/expression.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>

#include "record/random.hpp"
#include "record/text.hpp"
#include "settings/config_error.hpp"
#include "settings/unit_names.hpp"
#include "settings/units.hpp"

namespace dodyn {

namespace {

constexpr std::size_t longest = 10000;
constexpr int max_depth = 200;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

std::string Expression::Quantity::text() const {
  std::string s = name;
  for (std::size_t i = 0; i < arguments.size(); ++i) s += (i == 0 ? "(" : ", ") + arguments[i];
  return arguments.empty() ? s : s + ")";
}

Expression::Expression(double constant) { add({Operation::constant, -1, -1, constant}); }

// A recursive descent parser; every nesting level counts towards the depth limit.
class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, std::span<const std::string> hyphenated,
                   std::span<const std::string> aggregates)
      : text_(text), hyphenated_(hyphenated), aggregates_(aggregates) {}

  Expression parse() {
    if (text_.size() > longest)
      throw ExpressionError("an expression of " + std::to_string(text_.size()) + " characters; allowed: at most " +
                            std::to_string(longest));
    e_.nodes_.clear();
    e_.text_ = text_;
    disjunction();
    if (next() != '\0') complain();
    return std::move(e_);
  }

 private:
  using Operation = Expression::Operation;

  [[noreturn]] void complain() const {
    if (at_ >= text_.size() && !text_.empty())
      throw ExpressionError("'" + shown(text_) + "' is incomplete; it ends where a number, a name or ) is expected");
    throw ExpressionError("'" + shown(text_) + "' is not understood at '" +
                          shown(text_.substr(std::min(at_, text_.size()))) +
                          "'; allowed: numbers with units, names, + - * / ^, comparisons, and, or, not, parentheses");
  }
  char next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) { return next() == c && ++at_; }
  bool take(std::string_view symbol) {
    next();
    if (text_.substr(at_, symbol.size()) != symbol) return false;
    at_ += symbol.size();
    return true;
  }
  bool take_word(std::string_view word) {
    next();
    if (text_.substr(at_, word.size()) != word) return false;
    if (at_ + word.size() < text_.size() && in_name(text_[at_ + word.size()])) return false;
    at_ += word.size();
    return true;
  }
  struct Level {
    ExpressionParser& parser;
    explicit Level(ExpressionParser& p) : parser(p) {
      if (++parser.depth_ > max_depth)
        throw ExpressionError("'" + shown(parser.text_) + "' nests too deep; allowed: " + std::to_string(max_depth) +
                              " signs and parentheses in each other");
    }
    ~Level() { --parser.depth_; }
  };

  // Adds an operation and returns its node. Replaces an operation on constants by its value.
  int make(Operation operation, int a, int b = -1, double value = 0.0) {
    e_.add({operation, a, b, value});
    const auto constant = [&](int i) { return i < 0 || e_.nodes_[i].operation == Operation::constant; };
    if (constant(a) && constant(b)) {
      Expression only = e_.subexpression(std::ssize(e_.nodes_) - 1);
      const double folded = only.constant();
      Dimensions dimensions;
      const Measure measure = only.measure(dimensions, {});
      e_.nodes_.resize(b < 0 ? a : std::min(a, b));
      return constant_of(folded, measure);
    }
    return static_cast<int>(e_.nodes_.size()) - 1;
  }

  int constant_of(double value, const Measure& measure) {
    if (measure.any) return e_.add({Operation::constant, -1, -1, value});
    e_.units_.push_back(measure);
    return e_.add({Operation::constant, -1, -1, value, static_cast<int>(e_.units_.size()) - 1});
  }

  int disjunction() {
    int a = conjunction();
    while (take_word("or")) a = make(Operation::logical_or, a, conjunction());
    return a;
  }
  int conjunction() {
    int a = negation();
    while (take_word("and")) a = make(Operation::logical_and, a, negation());
    return a;
  }
  int negation() {
    if (take_word("not")) {
      const Level level(*this);
      return make(Operation::logical_not, negation());
    }
    return comparison();
  }
  int comparison() {
    const int a = sum();
    if (take("<=")) return make(Operation::less_equal, a, sum());
    if (take(">=")) return swapped(Operation::less_equal, a);
    if (take("==")) return make(Operation::equal, a, sum());
    if (take("<")) return make(Operation::less, a, sum());
    if (take(">")) return swapped(Operation::less, a);
    return a;
  }
  int swapped(Operation operation, int a) {
    const int b = sum();
    return make(operation, b, a);
  }
  int sum() {
    int a = product();
    for (;;) {
      if (take('+'))
        a = make(Operation::add, a, product());
      else if (next() == '-') {
        ++at_;
        a = make(Operation::subtract, a, product());
      } else
        return a;
    }
  }
  int product() {
    int a = factor();
    for (;;) {
      if (take('*'))
        a = make(Operation::multiply, a, factor());
      else if (take('/'))
        a = make(Operation::divide, a, factor());
      else
        return a;
    }
  }
  int factor() {
    if (take('-')) {
      const Level level(*this);
      return make(Operation::negate, factor());
    }
    if (take('+')) {
      const Level level(*this);
      return factor();
    }
    const int base = atom();
    if (!take('^')) return base;
    const Level level(*this);
    const int exponent = factor();
    const auto n = e_.nodes_[exponent];
    if (n.operation == Operation::constant && n.value == std::round(n.value) && std::abs(n.value) <= 10000.0) {
      e_.nodes_.resize(exponent);
      return make(Operation::power, base, -1, n.value);
    }
    return make(Operation::power_of, base, exponent);
  }
  int atom() {
    const Level level(*this);
    const char c = next();
    if (take('(')) {
      const int a = disjunction();
      if (!take(')')) complain();
      return a;
    }
    if (starts_name(c)) return name();
    double value = 0.0;
    const char *from = text_.data() + at_, *end = text_.data() + text_.size();
    if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.') complain();
    const auto [to, error] = std::from_chars(from, end, value);
    if (error != std::errc{}) complain();
    at_ += static_cast<std::size_t>(to - from);
    const std::optional<Unit> own = taken_unit();
    refuse_other_word();
    if (!own) return e_.add({Operation::constant, -1, -1, value});
    return constant_of(value * own->in_si, Measure::of(*own));
  }

  // Returns the letters, digits and _ from here on.
  std::string_view word_here() const {
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  // Throws ExpressionError if a name follows a number.
  void refuse_other_word() {
    if (!starts_name(next())) return;
    const std::string_view word = word_here();
    if (word == "and" || word == "or" || word == "not") return;
    throw ExpressionError("'" + shown(text_) + "': " + not_a_unit(shown(word)) + "; a product needs *");
  }

  // Takes a unit's exponent, as in m^2; 1 if there is none. Without this, 5 m^2 would be (5 m)^2.
  int taken_exponent(std::string_view unit_name) {
    const std::size_t before = at_;
    if (next() != '^') {
      at_ = before;
      return 1;
    }
    const std::size_t at = at_;
    const std::optional<int> exponent = unit_exponent(text_, at_);
    if (!exponent)
      throw ExpressionError("the unit '" + std::string(unit_name) + "' has the exponent '" +
                            std::string(text_.substr(at, 8)) +
                            "'; allowed: a whole number, as in m^2; for a power of the number, parentheses: (5 m)^0.5");
    return *exponent;
  }

  // Takes the unit after a number: words separated by spaces, then '/' and words without spaces, or '/' and words in
  // parentheses; or 1 and such divisors, as in 3 1/s.
  std::optional<Unit> taken_unit() {
    std::optional<Unit> product;
    const auto take_factor = [&](const Unit& factor, int power) {
      if (!product) product.emplace();
      product->in_si = power > 0 ? product->in_si * factor.in_si : product->in_si / factor.in_si;
      product->angle += power * factor.angle;
      for (std::size_t i = 0; i < factor.dimension.size(); ++i) product->dimension[i] += power * factor.dimension[i];
      e_.has_units_ = true;
    };
    for (bool first = true;; first = false) {
      const std::size_t before = at_;
      next();
      const std::string_view word = word_here();
      const std::size_t end = at_ + word.size();
      if (first && word == "1") {
        at_ = end;
        take_divisors(take_factor);
        if (!product) at_ = before;
        return product;
      }
      const auto found = unit(word);
      // a word with '(' or '.' after it is a quantity, even if a unit has the same name
      if (!found || (end < text_.size() && (text_[end] == '(' || text_[end] == '.'))) {
        at_ = before;
        return product;
      }
      at_ = end;
      take_factor(unit_power(*found, taken_exponent(word)), 1);
      take_divisors(take_factor);
    }
  }

  // Takes divisors such as /s^2 or /(N m), and calls take_factor(unit, -1) for each.
  template <class TakeFactor>
  void take_divisors(TakeFactor take_factor) {
    const auto is_of_unit = [](char c) { return in_name(c) || c == ' ' || c == '^'; };
    while (at_ + 1 < text_.size() && text_[at_] == '/') {
      std::size_t last = at_ + 1;
      std::string_view divisor;
      std::optional<Unit> below;
      if (text_[last] == '(') {
        const std::size_t close = text_.find(')', last);
        if (close == std::string_view::npos) return;
        divisor = trimmed(text_.substr(last + 1, close - last - 1));
        // A single word may be a name. Words side by side are a unit.
        if (divisor.find(' ') == std::string_view::npos || !std::ranges::all_of(divisor, is_of_unit)) return;
        below = parse_unit(divisor);
        last = close + 1;
      } else {
        if (!starts_name(text_[last])) return;
        while (last < text_.size() && in_name(text_[last])) ++last;
        divisor = text_.substr(at_ + 1, last - at_ - 1);
        below = unit(divisor);
      }
      if (!below) return;
      at_ = last;
      take_factor(unit_power(*below, taken_exponent(divisor)), -1);
    }
  }

  std::string taken_name() {
    next();
    for (const std::string& known : hyphenated_)
      if (known.size() > 1 && text_.substr(at_, known.size()) == known && known.find('-') != std::string::npos &&
          (at_ + known.size() == text_.size() || !in_name(text_[at_ + known.size()]))) {
        at_ += known.size();
        return known;
      }
    const std::size_t from = at_;
    while (at_ < text_.size() && starts_name(text_[at_])) {
      while (at_ < text_.size() && in_name(text_[at_])) ++at_;
      if (at_ + 1 < text_.size() && text_[at_] == '.' && starts_name(text_[at_ + 1]))
        ++at_;
      else
        break;
    }
    if (at_ == from) complain();
    return std::string(text_.substr(from, at_ - from));
  }

  // Takes an argument whose opening parenthesis is already taken, with its closing parenthesis. Returns the text
  // between the two.
  std::string taken_argument() {
    const std::size_t from = at_;
    for (int open = 1; at_ < text_.size(); ++at_) {
      open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      if (open == 0) return std::string(trimmed(text_.substr(from, at_++ - from)));
    }
    complain();
  }

  // If aggregates are allowed, throws ExpressionError unless the text up to the closing parenthesis is a list of names.
  // Then the function probably is a misspelled aggregate.
  void refuse_unknown_function(const std::string& word) {
    if (aggregates_.empty()) return;
    const std::size_t from = at_;
    const std::string argument = taken_argument();
    at_ = from;
    if (std::ranges::all_of(argument, [](char c) { return in_name(c) || c == '.' || c == ',' || c == ' '; })) return;
    const std::vector<std::string> known(aggregates_.begin(), aggregates_.end());
    throw ExpressionError("unknown function '" + shown(word) + "'" + did_you_mean(word, known) +
                          "; allowed here: " + listed(known) + ", and functions of numbers");
  }

  int name() {
    const std::size_t from = at_;
    const std::string word = taken_name();
    if (next() != '(') {
      if (word == "and" || word == "or" || word == "not") {
        at_ = from;
        complain();
      }
      if (word == "pi") return e_.add({Operation::constant, -1, -1, std::numbers::pi});
      return quantity({word, {}});
    }
    struct Function {
      std::string_view name;
      Operation operation;
      int arguments;
    };
    static constexpr std::array functions = {
        Function{"sin", Operation::sine, 1},        Function{"cos", Operation::cosine, 1},
        Function{"tan", Operation::tangent, 1},     Function{"sqrt", Operation::square_root, 1},
        Function{"exp", Operation::exponential, 1}, Function{"log", Operation::logarithm, 1},
        Function{"abs", Operation::absolute, 1},    Function{"floor", Operation::floor, 1},
        Function{"noise", Operation::noise, 1},     Function{"min", Operation::minimum, 2},
        Function{"max", Operation::maximum, 2}};
    const auto* f = std::ranges::find_if(functions, [&](const Function& g) { return g.name == word; });
    take('(');
    if (std::ranges::find(aggregates_, word) != aggregates_.end()) return quantity({word, {taken_argument()}});
    if (f == functions.end()) {
      refuse_unknown_function(word);
      Expression::Quantity q{word, {}};
      do q.arguments.push_back(taken_name());
      while (take(','));
      if (!take(')')) complain();
      return quantity(std::move(q));
    }
    int a = disjunction();
    if (f->arguments == 1) {
      if (!take(')')) complain();
      return make(f->operation, a);
    }
    if (next() != ',') complain();
    while (take(',')) a = make(f->operation, a, disjunction());
    if (!take(')')) complain();
    return a;
  }

  int quantity(Expression::Quantity q) {
    auto& all = e_.quantities_;
    const auto at = std::ranges::find(all, q);
    const int number = at - all.begin();
    if (at == all.end()) all.push_back(std::move(q));
    return e_.add({Operation::quantity, number});
  }

  std::string_view text_;
  std::span<const std::string> hyphenated_, aggregates_;
  std::size_t at_ = 0;
  int depth_ = 0;
  Expression e_;
};

Expression Expression::parse(std::string_view text, std::span<const std::string> hyphenated,
                             std::span<const std::string> aggregates) {
  return ExpressionParser(text, hyphenated, aggregates).parse();
}

// Uses the method of Box and Muller (1958) with two hashes, because the distributions of <random> differ between
// standard libraries.
double Expression::standard_normal(double k) {
  const auto uniform = [&](std::uint64_t which) {  // uniform in (0, 1]
    const auto stream = static_cast<std::int64_t>(std::floor(k));
    return static_cast<double>((evaluation_seed(which, stream) >> 11) + 1) * 0x1p-53;
  };
  return std::sqrt(-2.0 * std::log(uniform(1))) * std::cos(2.0 * std::numbers::pi * uniform(2));
}

bool Expression::is_condition() const {
  const Operation o = nodes_.back().operation;
  return o == Operation::less || o == Operation::less_equal || o == Operation::equal || o == Operation::logical_and ||
         o == Operation::logical_or || o == Operation::logical_not;
}

// The operands of a node precede it, because nodes are in the order of a recursive descent. So they are copied in
// order.
int Expression::copy(const Expression& from, int node) {
  std::vector<bool> needed(static_cast<std::size_t>(node) + 1, false);
  needed[node] = true;
  for (int i = node; i >= 0; --i) {
    const Node& n = from.nodes_[i];
    if (!needed[i] || n.operation == Operation::quantity) continue;
    if (n.a >= 0) needed[n.a] = true;
    if (n.b >= 0) needed[n.b] = true;
  }
  std::vector<int> at(static_cast<std::size_t>(node) + 1, -1);
  for (int i = 0; i <= node; ++i) {
    if (!needed[i]) continue;
    Node n = from.nodes_[i];
    if (n.operation == Operation::quantity) {
      const Quantity& q = from.quantities_[n.a];
      const auto known = std::ranges::find(quantities_, q);
      n.a = known - quantities_.begin();
      if (known == quantities_.end()) quantities_.push_back(q);
    } else {
      if (n.a >= 0) n.a = at[n.a];
      if (n.b >= 0) n.b = at[n.b];
    }
    n.unit = keep_unit(from, n);
    at[i] = add(n);
  }
  return at[node];
}

Expression Expression::subexpression(int node) const {
  Expression e;
  e.nodes_.clear();
  e.copy(*this, node);
  e.text_ = text_;
  return e;
}

// Not split into functions: one switch lets the compiler warn about a missing operation.
Measure Expression::measure(Dimensions& dimensions, std::span<const Measure> quantities) const {
  std::vector<Measure> x;
  x.reserve(nodes_.size());
  const auto in_text = [&] { return " in '" + shown(text_) + "'"; };
  const auto alike = [&](const Measure& a, const Measure& b, const char* done) -> const Measure& {
    if (!dimensions.agree(a, b))
      throw ExpressionError(dimensions.described(a) + " and " + dimensions.described(b) + " are " + done + in_text() +
                            "; allowed: one dimension");
    return a.any || (!a.angle && b.angle) ? b : a;
  };
  const auto pure = [&](const Measure& a, const char* what) {
    if (!dimensions.agree(a, Measure{}))
      throw ExpressionError(std::string(what) + " " + dimensions.described(a) + in_text() +
                            "; allowed: an angle or a number without a unit; divide it by 1 " +
                            si_unit(dimensions.resolved(a).exponents));
    return Measure::anything();  // like a literal number without a unit
  };
  const auto value = [&](const Node& n) -> Measure {
    const auto a = [&]() -> const Measure& { return x[n.a]; };
    const auto b = [&]() -> const Measure& { return x[n.b]; };
    switch (n.operation) {
      case Operation::constant:
        return n.unit < 0 ? Measure::anything() : units_[n.unit];
      case Operation::quantity:
        return dimensions.resolved(quantities[n.a]);
      case Operation::add:
        return alike(a(), b(), "added");
      case Operation::subtract:
        return alike(a(), b(), "subtracted");
      case Operation::minimum:
      case Operation::maximum:
        return alike(a(), b(), "compared");
      case Operation::less:
      case Operation::less_equal:
      case Operation::equal:
        alike(a(), b(), "compared");
        return Measure{};
      case Operation::multiply:
        return a().times(b(), 1.0);
      case Operation::divide:
        return a().times(b(), -1.0);
      case Operation::negate:
      case Operation::absolute:
        return a();
      case Operation::power:
        return a().any ? a() : Measure{}.times(a(), n.value);
      case Operation::square_root:
        return a().any ? a() : Measure{}.times(a(), 0.5);
      case Operation::power_of:
        pure(b(), "the exponent is");
        return pure(a(), "a power that is not a constant whole number is taken of");
      case Operation::sine:
      case Operation::cosine:
      case Operation::tangent:
        return pure(a(), "a sine, cosine or tangent is taken of");
      case Operation::exponential:
        return pure(a(), "exp is taken of");
      case Operation::logarithm:
        return pure(a(), "log is taken of");
      case Operation::floor:
        return pure(a(), "floor is taken of");
      case Operation::noise:
        return pure(a(), "noise is taken of");
      case Operation::logical_and:
      case Operation::logical_or:
      case Operation::logical_not:
        return Measure{};
    }
    throw std::logic_error("an operation without a dimension");
  };
  for (const Node& n : nodes_) x.push_back(value(n));
  return x.back();
}

Expression::Parts Expression::parts() const {
  const auto& [operation, a, b, value, unit] = nodes_.back();
  if (operation == Operation::logical_and) return {Parts::all, {subexpression(a), subexpression(b)}};
  if (operation == Operation::logical_or) return {Parts::any, {subexpression(a), subexpression(b)}};
  if (operation == Operation::logical_not) return {Parts::opposite, {subexpression(a)}};
  return {};
}

std::vector<Expression::Comparison> Expression::comparisons() const {
  std::vector<Comparison> all;
  const auto visit = [&](const auto& self, int i) -> void {
    const Node n = nodes_[i];
    if (n.operation == Operation::logical_and) {
      self(self, n.a);
      self(self, n.b);
    } else if (n.operation == Operation::less || n.operation == Operation::less_equal ||
               n.operation == Operation::equal) {
      // a <= b gives b - a >= 0; |a| <= b gives both b - a >= 0 and b + a >= 0
      const bool absolute = n.operation != Operation::equal && nodes_[n.a].operation == Operation::absolute;
      for (const bool plus : {false, true}) {
        if (plus && !absolute) break;
        Expression e;
        e.nodes_.clear();
        const int b = e.copy(*this, n.b), a = e.copy(*this, absolute ? nodes_[n.a].a : n.a);
        e.add({plus ? Operation::add : Operation::subtract, b, a});
        e.text_ = text_;
        all.push_back({std::move(e), n.operation == Operation::equal});
      }
    } else {
      throw ExpressionError("'" + shown(text_) +
                            "' is not a comparison; allowed: comparisons (<, <=, ==, >=, >), joined by 'and'");
    }
  };
  visit(visit, static_cast<int>(nodes_.size()) - 1);
  return all;
}

std::vector<std::string> split_list(std::string_view text, char separator) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] != separator || depth > 0) continue;
    parts.emplace_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  parts.emplace_back(trimmed(text.substr(from)));
  if (parts.size() == 1 && parts[0].empty()) parts.clear();
  return parts;
}

std::pair<Expression, Expression> parse_range(std::string_view text, std::span<const std::string> hyphenated) {
  const auto dots = text.find("..");
  if (dots == text.npos) {
    const Expression one = Expression::parse(text, hyphenated);
    return {one, one};
  }
  return {Expression::parse(text.substr(0, dots), hyphenated), Expression::parse(text.substr(dots + 2), hyphenated)};
}

}  // namespace dodyn
