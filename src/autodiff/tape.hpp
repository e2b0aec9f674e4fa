// Functions recorded once and differentiated as often as needed.
//
// A function templated on its scalar is run on `Var` numbers, which write every operation into a `Graph`. The graph
// folds constants, shares equal operations, and differentiates itself: gradient, Hessian and derivatives in a direction
// are nodes of the same graph, and share what they can. A `Program` is what is left to do for chosen outputs: a
// straight line of operations, run on doubles of several points at a time, so that the cost of finding out what to do
// next is spread and the processor's vector registers are filled. Inputs that are the same at all points are parameters:
// what depends on them alone is done once, ahead of all points.
//
// For models whose size is known only at run time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "autodiff/differential.hpp"
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
  arctangent,
  exponential,
  logarithm,
  absolute,
  sign,  // -1, 0 or 1; constant where it is not zero
  // in programs only; rounds twice
  multiply_add,       // a b + c
  multiply_subtract,  // a b - c
  subtract_multiply   // c - a b
};

class Graph {
 public:
  struct Node {
    Operation operation;
    int a = -1, b = -1;     // operands; an input's number in a
    double constant = 0.0;  // value of a constant
    bool uniform = false;   // the same at all points: of constants and parameters alone
  };

  int input();      // the next one
  int parameter();  // an input that is the same at all points
  int constant(double value);
  int node(Operation operation, int a, int b = -1);

  // Derivatives of a node with respect to inputs, as nodes.
  struct Derivatives {
    std::vector<int> gradient;  // [variables]
    std::vector<int> hessian;   // lower triangle, row by row
  };
  Derivatives differentiate(int output, const std::vector<int>& variables);
  std::vector<int> gradient(int output, const std::vector<int>& variables);
  // The derivatives of nodes as every one of these inputs moves at the rate that another node gives.
  std::vector<int> directional(const std::vector<int>& outputs, const std::vector<int>& inputs,
                               const std::vector<int>& rates);

  int inputs() const { return inputs_; }  // parameters not counted
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  // An operation's derivatives with respect to its operands, as nodes; one operand that is both counts once.
  struct Partials {
    int count = 0;
    std::array<int, 2> operands, first;
    std::array<int, 3> second;  // aa, ab, bb
  };
  Partials partials(int node);
  bool is(int node, double value) const;
  int find(const Node& node);  // returns the node's number, a new one if the node is unknown
  int append(const Node& node);
  bool precedes(int a, int b) const;
  // The nodes that `output` depends on, operands first: the same whatever order they were written in.
  std::vector<int> operands_first(int output) const;

  int inputs_ = 0, parameters_ = 0;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t>
      keys_;                // by node: what it computes. Compilers write the operands of an operation in either order,
                            // so that numbers of nodes say nothing
  std::vector<int> table_;  // of nodes but inputs, by what they are: open addressing, -1 where empty
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
  static Var parameter() { return at(Recording::current->parameter()); }
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
  friend Var exp(Var a) { return {Operation::exponential, a}; }
  friend Var log(Var a) { return {Operation::logarithm, a}; }
  friend Var sign_of(Var a) { return {Operation::sign, a}; }
  friend Var abs(Var a) { return {Operation::absolute, a}; }
  friend Var max(Var a, Var b) { return 0.5 * (a + b + abs(a - b)); }
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
  static constexpr int lanes = 8;  // points at a time

  Program() = default;
  // It is given all parameters of the graph, and of its other inputs the first `inputs`; the rest is zero.
  Program(const Graph& graph, const std::vector<int>& outputs, int inputs);

  // What depends on the parameters alone: to be given to every run.
  std::vector<double> prepared(const std::vector<double>& parameters) const;

  // A run: room with this thread's copy of the constants and of what was prepared, where input i of point l goes to
  // [i * lanes + l]; then the operations, on all lanes (those past `points` must hold numbers of one of the points);
  // then the outputs. The numbers of one lane do not depend on what the others hold. Room lasts until this thread's
  // next start of any program.
  double* start(const std::vector<double>& prepared = {}) const;
  void run(double* room, int points) const;
  const double* output(const double* room, int j) const { return room + outputs_[j]; }

  int operations() const { return static_cast<int>(steps_.size()); }

  struct Step {
    std::uint32_t to, a, b, c;  // places: where their first lane is
  };

 private:
  // Nodes that are leaves to it stand in `given`, in their order: places 0, 1, ...
  void build(const Graph& graph, const std::vector<int>& outputs, const std::vector<int>& given);

  std::uint32_t inputs_ = 0, prepared_ = 0, places_ = 0;
  std::vector<double> constants_;  // in the places after the inputs and what is prepared
  std::vector<Step> steps_;
  struct Run {
    Operation operation;
    std::size_t end;  // of its steps
  };
  std::vector<Run> runs_;  // of steps of one operation
  std::vector<std::uint32_t> outputs_;
  std::shared_ptr<const Program> prologue_;  // from the parameters what is prepared; null where there is nothing
};

// The programs of a vector function f(z; parameters). What derivatives need is worked out when the first one is asked
// for.
class RecordedFunction {
 public:
  struct Derivatives {
    Program jacobian;  // row-major [outputs x inputs]
    Program both;      // that, then the lower triangle of the Hessian of weights . f
    Program design;    // gradient of weights . f with respect to the parameters
  };
  RecordedFunction(int input_count, int parameter_count, int output_count, Program value_program,
                   std::function<Derivatives()> differentiate)
      : inputs(input_count),
        parameters(parameter_count),
        outputs(output_count),
        values(std::move(value_program)),
        differentiate_(std::move(differentiate)) {}

  const int inputs, parameters, outputs;
  const Program values;
  const Derivatives& derivatives() const;

 private:
  mutable std::once_flag once_;
  mutable std::function<Derivatives()> differentiate_;
  mutable Derivatives derivatives_;
};

// A recorded function with its parameters' values, and their gradients with respect to the design.
class RecordedElement final : public Element {
 public:
  RecordedElement(std::shared_ptr<const RecordedFunction> function, std::vector<Differential> parameters);

  void evaluate(const double* z, double* values) const override { evaluate_all(1, z, values); }
  void jacobian(const double* z, double* jacobian) const override { derivatives_all(1, z, nullptr, jacobian, nullptr); }
  void hessian(const double* z, const double* weights, double* hessian) const override {
    derivatives(z, weights, nullptr, hessian);
  }
  void derivatives(const double* z, const double* weights, double* jacobian, double* hessian) const override;
  void evaluate_all(int count, const double* z, double* values) const override;
  void derivatives_all(int count, const double* z, const double* weights, double* jacobian,
                       double* hessian) const override;
  void add_design_gradient(int count, const double* z, const double* weights,
                           Eigen::Ref<Eigen::VectorXd> gradient) const override;
  const RecordedFunction& function() const { return *function_; }

 private:
  // Runs a program at up to Program::lanes points.
  void run(const Program& program, double* room, int points, const double* z, const double* weights) const;
  struct Prepared {
    std::vector<double> jacobian, both, design;
  };
  const Prepared& prepared() const;

  std::shared_ptr<const RecordedFunction> function_;
  std::vector<Differential> parameters_;
  std::vector<double> prepared_values_;
  mutable std::once_flag once_;
  mutable Prepared prepared_;
};

// The programs of nodes that depend on these `variables`, a graph's first inputs, and on these `parameters`.
std::shared_ptr<const RecordedFunction> recorded_function(Graph graph, std::vector<int> variables,
                                                          std::vector<int> parameters, std::vector<int> outputs);

// Of a callable  std::vector<Var> f(const std::vector<Var>& z, const std::vector<Var>& parameters).
template <class F>
std::shared_ptr<const RecordedFunction> record(int inputs, int parameters, F f) {
  Recording recording;
  const auto nodes = [](const std::vector<Var>& numbers) {
    std::vector<int> all;
    for (const Var& x : numbers) all.push_back(x.node);
    return all;
  };
  std::vector<Var> z(inputs), p(parameters);
  for (Var& x : z) x = Var::input();
  for (Var& x : p) x = Var::parameter();
  const std::vector<int> outputs = nodes(f(z, p));
  return recorded_function(std::move(recording.graph), nodes(z), nodes(p), outputs);
}

}  // namespace dodyn::autodiff
