// Functions recorded once and differentiated as often as needed.
//
// A function templated on its scalar is run on `Var` numbers, which write every operation into a `Graph`. The graph
// folds constants, shares equal operations, and differentiates itself backwards (`gradient`), so that derivatives are
// functions of the same kind, of any order. A `Program` is what is left to do for chosen outputs: a straight line of
// operations that is run on doubles, for values or, with a row of forward derivatives to each number, for Jacobians.
//
// For models whose size is known only at run time; a recorded backward pass costs a few times the function, and its
// forward derivatives are one vector operation each.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "autodiff/dual.hpp"
#include "autodiff/element.hpp"

namespace dodyn::autodiff {

enum class Operation : std::uint8_t {
  input,
  constant,
  add,
  subtract,
  multiply,
  divide,
  sine,
  cosine,
  root,
  arctangent
};

class Graph {
 public:
  struct Node {
    Operation operation;
    int a = -1, b = -1;     // operands; an input's number in a
    double constant = 0.0;  // value of a constant
  };

  int input();  // the next one
  int constant(double value);
  int node(Operation operation, int a, int b = -1);
  // d(output)/d(variable) for each of these nodes, as nodes.
  std::vector<int> gradient(int output, const std::vector<int>& variables);

  int inputs() const { return inputs_; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  bool is(int node, double value) const;

  int inputs_ = 0;
  std::vector<Node> nodes_;
  std::map<std::tuple<Operation, int, int>, int> known_;
  std::map<std::uint64_t, int> constants_;  // by bits
};

// The graph that Vars of this thread are written to, while it lives.
class Recording {
 public:
  Recording() : outer_(current) { current = &graph; }
  ~Recording() { current = outer_; }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  Graph graph;
  static thread_local Graph* current;

 private:
  Graph* outer_;
};

// A number being recorded. Needs a Recording.
struct Var {
  int node;
  Var() : Var(0.0) {}
  Var(double constant) : node(Recording::current->constant(constant)) {}  // NOLINT: a constant is a number too
  Var(Operation operation, Var a) : node(Recording::current->node(operation, a.node)) {}
  Var(Operation operation, Var a, Var b) : node(Recording::current->node(operation, a.node, b.node)) {}
  static Var input() { return at(Recording::current->input()); }
  static Var at(int node) {
    Var x;
    x.node = node;
    return x;
  }

  Var& operator+=(Var b) { return *this = *this + b; }
  Var& operator-=(Var b) { return *this = *this - b; }
  Var& operator*=(Var b) { return *this = *this * b; }
  friend Var operator+(Var a, Var b) { return {Operation::add, a, b}; }
  friend Var operator-(Var a, Var b) { return {Operation::subtract, a, b}; }
  friend Var operator*(Var a, Var b) { return {Operation::multiply, a, b}; }
  friend Var operator/(Var a, Var b) { return {Operation::divide, a, b}; }
  friend Var operator-(Var a) { return {Operation::multiply, Var(-1.0), a}; }
  friend Var sin(Var a) { return {Operation::sine, a}; }
  friend Var cos(Var a) { return {Operation::cosine, a}; }
  friend Var sqrt(Var a) { return {Operation::root, a}; }
  friend Var atan2(Var y, Var x) { return {Operation::arctangent, y, x}; }
};

// The angle of (x, y), with its derivative.
template <class S>
Dual<S> atan2(const Dual<S>& y, const Dual<S>& x) {
  using std::atan2;
  return {atan2(y.value, x.value),
          (x.value * y.tangent - y.value * x.tangent) / (x.value * x.value + y.value * y.value)};
}

// What is left to do of a graph for some outputs.
class Program {
 public:
  Program() = default;
  // Derivatives are taken with respect to the first `active` inputs of the graph. The program is given the first
  // `inputs` ones, on which alone the outputs may depend.
  Program(const Graph& graph, int active, const std::vector<int>& outputs, int inputs);

  void values(const double* inputs, double* outputs) const;
  // d(output)/d(active input), row-major [outputs x active]
  void jacobian(const double* inputs, double* jacobian) const;
  int operations() const { return static_cast<int>(steps_.size()); }

 private:
  enum Activity : std::uint8_t { none, first, second, both };  // operands that depend on an active input
  struct Step {
    Operation operation;
    Activity activity;
    int to, a, b;  // places
  };
  template <int width>
  void run(const double* inputs, int from, int count, double* jacobian) const;

  int inputs_ = 0, active_ = 0, places_ = 0;
  std::vector<double> constants_;  // in the places after the inputs
  std::vector<Step> steps_;
  std::vector<int> outputs_;  // places
  std::vector<bool> output_active_;
};

// An element (element.hpp) made of recorded programs.
class RecordedElement final : public Element {
 public:
  // (z, weights) -> d(weights . f)/d(design)
  using DesignDerivative = std::function<double(const double* z, const double* weights)>;
  // `values`: f of z; `weighted_gradient`: d(weights . f)/dz of (z, weights), its active inputs z
  RecordedElement(int input_count, int output_count, Program values, Program weighted_gradient,
                  DesignDerivative design_derivative)
      : Element(input_count, output_count),
        values_(std::move(values)),
        weighted_gradient_(std::move(weighted_gradient)),
        design_derivative_(std::move(design_derivative)) {}

  void evaluate(const double* z, double* values) const override { values_.values(z, values); }
  void jacobian(const double* z, double* jacobian) const override { values_.jacobian(z, jacobian); }
  void hessian(const double* z, const double* weights, double* hessian) const override;
  double design_derivative(const double* z, const double* weights) const override {
    return design_derivative_(z, weights);
  }
  // operations of the two programs
  std::pair<int, int> operations() const { return {values_.operations(), weighted_gradient_.operations()}; }

 private:
  Program values_, weighted_gradient_;
  DesignDerivative design_derivative_;
};

// An element from a callable  std::vector<T> f(const std::vector<T>& z), run once on Var numbers, and one with
// parameters that carry the tangent of the design, run on Dual<double> whenever a derivative with respect to it is
// asked for.
template <class F, class FDesign>
std::shared_ptr<const RecordedElement> record(int inputs, F f, FDesign f_design) {
  const Recording recording;
  Graph& graph = *Recording::current;
  std::vector<Var> z(inputs);
  for (Var& x : z) x = Var::input();
  const std::vector<Var> y = f(z);
  const int outputs = static_cast<int>(y.size());
  std::vector<int> at, variables;
  for (const Var& x : z) variables.push_back(x.node);
  Var sum = 0.0;
  for (const Var& value : y) {
    at.push_back(value.node);
    sum += Var::input() * value;
  }
  Program values(graph, inputs, at, inputs);
  Program weighted(graph, inputs, graph.gradient(sum.node, variables), inputs + outputs);
  return std::make_shared<RecordedElement>(
      inputs, outputs, std::move(values), std::move(weighted),
      [inputs, outputs, f_design = std::move(f_design)](const double* at_z, const double* weights) {
        const std::vector<Dual<double>> fixed(at_z, at_z + inputs);
        const std::vector<Dual<double>> moved = f_design(fixed);
        double derivative = 0.0;
        for (int j = 0; j < outputs; ++j) derivative += weights[j] * moved[j].tangent;
        return derivative;
      });
}

}  // namespace dodyn::autodiff
