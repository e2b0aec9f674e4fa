// Records functions once and differentiates them as often as needed.
//
// A function templated on its scalar is run on `Var` numbers, which write every operation into a `Graph`. The graph
// folds constants, shares equal operations, and differentiates itself: gradient, Hessian and directional derivatives
// are nodes of the same graph, and share common operations. A `Program` is the sequence of operations for chosen
// outputs. It runs on doubles of several points at a time, which spreads the cost of decoding and fills vector
// registers. Inputs that are equal at all points are parameters: operations that depend on them alone run once, before
// all points.
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
  sign,  // -1, 0 or 1; constant except at zero
  // fused operations of programs; they round twice
  multiply_add,       // a b + c
  multiply_subtract,  // a b - c
  subtract_multiply   // c - a b
};

class Graph {
 public:
  struct Node {
    Operation operation;
    int a = -1, b = -1;     // operands; for an input `a` is its index among inputs (or among parameters)
    double constant = 0.0;  // value of a constant node
    bool uniform = false;   // equal at all points: depends on constants and parameters only
  };

  int input();      // adds the next input
  int parameter();  // adds an input that is equal at all points
  int constant(double value);
  int node(Operation operation, int a, int b = -1);

  // Derivatives of a node with respect to variables, which are inputs or parameters, as nodes.
  struct Derivatives {
    std::vector<int> gradient;  // [variables]
    std::vector<int> hessian;   // lower triangle, row by row
  };
  // Records the gradient and the Hessian of a node.
  Derivatives differentiate(int output, const std::vector<int>& variables);
  // Records the gradient of a node by reverse differentiation, [variables].
  std::vector<int> gradient(int output, const std::vector<int>& variables);
  // Records the directional derivatives of the outputs: input i changes at the rate of node rates[i].
  std::vector<int> directional(const std::vector<int>& outputs, const std::vector<int>& inputs,
                               const std::vector<int>& rates);

  int inputs() const { return inputs_; }  // without parameters
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  // Derivatives of an operation with respect to its operands, as nodes. An operand that occurs twice counts once.
  struct Partials {
    int count = 0;
    std::array<int, 2> operands, first;
    std::array<int, 3> second;  // aa, ab, bb
  };
  Partials partials(int node);
  bool is(int node, double value) const;
  int find(const Node& node);  // returns the index of the node; adds it if it is unknown
  int append(const Node& node);
  bool precedes(int a, int b) const;
  // Returns the nodes on which `output` depends, operands first, in an order that does not depend on the order of
  // recording.
  std::vector<int> operands_first(int output) const;

  int inputs_ = 0, parameters_ = 0;
  std::vector<Node> nodes_;
  // by node: a hash of its computation. Compilers may evaluate the operands of an operation in either order, so node
  // indices are not reproducible.
  std::vector<std::uint64_t> keys_;
  std::vector<int> table_;  // hash table of nodes other than inputs: open addressing, -1: empty
};

// While it lives, Vars of this thread are recorded in its graph.
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

// A number that is being recorded. Requires a Recording.
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

// Returns the angle of (x, y), with its derivative.
template <class S>
Dual<S> atan2(const Dual<S>& y, const Dual<S>& x) {
  using std::atan2;
  return {atan2(y.value, x.value),
          (x.value * y.tangent - y.value * x.tangent) / (x.value * x.value + y.value * y.value)};
}

// The operations of a graph that some outputs need.
class Program {
 public:
  static constexpr int lanes = 8;  // number of points evaluated at a time

  Program() = default;
  // Uses all parameters of the graph and its first `inputs` other inputs; the rest is zero.
  Program(const Graph& graph, const std::vector<int>& outputs, int inputs);

  // Returns the values that depend on parameters only; pass them to every start().
  std::vector<double> prepared(const std::vector<double>& parameters) const;

  // A run has three steps. start() returns this thread's buffer with the constants and prepared values; write input i
  // of point l to [i * lanes + l]. Then run() executes the operations on all lanes; `points`: number of lanes in use, 1
  // to lanes. Then read the outputs. The numbers of one lane
  // do not depend on the other lanes. The buffer is valid until this thread starts any program again.
  double* start(const std::vector<double>& prepared = {}) const;
  void run(double* room, int points) const;
  const double* output(const double* room, int j) const { return room + outputs_[j]; }  // returns the lanes of output j

  int operations() const { return static_cast<int>(steps_.size()); }  // number of operations in a run

  struct Step {
    std::uint32_t to, a, b, c;  // positions of the first lanes of result and operands
  };

 private:
  // Builds the steps. `given`: nodes whose values a run receives, in the order of their positions 0, 1, ...; -1:
  // unused.
  void build(const Graph& graph, const std::vector<int>& outputs, const std::vector<int>& given);

  std::uint32_t inputs_ = 0, prepared_ = 0, places_ = 0;
  std::vector<double> constants_;  // at the positions after inputs and prepared values
  std::vector<Step> steps_;
  struct Run {
    Operation operation;
    std::size_t end;  // index after its last step
  };
  std::vector<Run> runs_;  // ranges of steps with one operation
  std::vector<std::uint32_t> outputs_;
  std::shared_ptr<const Program> prologue_;  // computes the prepared values from the parameters; null: there are none
};

// The programs of a vector function f(z; parameters). The programs of derivatives are built at their first use.
class RecordedFunction {
 public:
  struct Derivatives {
    Program jacobian;  // [outputs, inputs], row-major
    Program both;      // the Jacobian, then the lower triangle of the Hessian of weights . f
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

// A recorded function with values of its parameters, and their gradients with respect to the design.
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

// Returns the function of these outputs of a graph. `variables`: nodes of the graph's first inputs; `parameters`: nodes
// of its parameters.
std::shared_ptr<const RecordedFunction> recorded_function(Graph graph, std::vector<int> variables,
                                                          std::vector<int> parameters, std::vector<int> outputs);

inline std::vector<int> nodes_of(const std::vector<Var>& x) {
  std::vector<int> all;
  for (const Var& each : x) all.push_back(each.node);
  return all;
}

// Records a callable std::vector<Var> f(const std::vector<Var>& z, const std::vector<Var>& parameters).
template <class F>
std::shared_ptr<const RecordedFunction> record(int inputs, int parameters, F f) {
  Recording recording;
  std::vector<Var> z(inputs), p(parameters);
  for (Var& x : z) x = Var::input();
  for (Var& x : p) x = Var::parameter();
  const std::vector<int> outputs = nodes_of(f(z, p));
  return recorded_function(std::move(recording.graph), nodes_of(z), nodes_of(p), outputs);
}

}  // namespace dodyn::autodiff
