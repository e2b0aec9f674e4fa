#include "autodiff/tape.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <numeric>

#include "autodiff/lanes.hpp"

// Four numbers at a time if the processor can. No fused multiply-add: the digits are equal on every machine.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define DODYN_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define DODYN_WIDE
#endif

namespace dodyn::autodiff {

thread_local Graph* Recording::current = nullptr;

namespace {

using enum Operation;

bool takes_two(Operation o) { return o == add || o == subtract || o == multiply || o == divide || o == arctangent; }
bool is_leaf(Operation o) { return o == input || o == constant; }

double result(Operation o, double a, double b) {
  switch (o) {
    case add:
      return a + b;
    case subtract:
      return a - b;
    case multiply:
      return a * b;
    case divide:
      return a / b;
    case sine:
      return std::sin(a);
    case cosine:
      return std::cos(a);
    case root:
      return std::sqrt(a);
    case arctangent:
      return std::atan2(a, b);
    case exponential:
      return std::exp(a);
    case logarithm:
      return std::log(a);
    case absolute:
      return std::abs(a);
    case sign:
      return (a > 0.0) - (a < 0.0);
    default:
      return a;
  }
}

}  // namespace

// ---- graph

bool Graph::is(int node, double value) const {
  return nodes_[node].operation == Operation::constant && nodes_[node].constant == value;
}

namespace {

std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9;  // D. Stafford's mixer 13
  h = (h ^ h >> 27) * 0x94d049bb133111eb;
  return h ^ h >> 31;
}

}  // namespace

int Graph::append(const Node& node) {
  const bool leaf = is_leaf(node.operation);
  std::uint64_t key = mixed(static_cast<std::uint64_t>(node.operation) * 2 + node.uniform + 1);
  key = mixed(key + (leaf ? static_cast<std::uint64_t>(node.a) : keys_[node.a]));
  key = mixed(key + (leaf || node.b < 0 ? std::bit_cast<std::uint64_t>(node.constant) : keys_[node.b]));
  nodes_.push_back(node);
  keys_.push_back(key);
  return static_cast<int>(nodes_.size()) - 1;
}

// Returns whether operand a of a sum or product comes before b.
bool Graph::precedes(int a, int b) const { return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b; }

std::vector<int> Graph::operands_first(int output) const {
  std::vector<int> order, path = {output};
  std::vector<char> seen(output + 1, 0);  // 1: on the path, 2: in the order
  while (!path.empty()) {
    const int i = path.back();
    const Node& node = nodes_[i];
    if (seen[i] == 0 && !is_leaf(node.operation)) {
      seen[i] = 1;
      if (takes_two(node.operation) && seen[node.b] == 0) path.push_back(node.b);
      if (seen[node.a] == 0) path.push_back(node.a);
      continue;
    }
    path.pop_back();
    if (seen[i] == 2) continue;
    seen[i] = 2;
    order.push_back(i);
  }
  return order;
}

int Graph::find(const Node& node) {
  const auto hash = [](const Node& x) {
    std::uint64_t h = (static_cast<std::uint64_t>(x.a) << 32 | static_cast<std::uint32_t>(x.b)) ^
                      std::bit_cast<std::uint64_t>(x.constant);
    h = (h + static_cast<std::uint64_t>(x.operation)) * 0x9e3779b97f4a7c15;
    return static_cast<std::size_t>(h ^ h >> 29);
  };
  const auto slot = [&](const Node& x) -> int& {
    for (std::size_t at = hash(x);; ++at) {
      int& known = table_[at & (table_.size() - 1)];
      if (known < 0) return known;
      const Node& y = nodes_[known];
      if (y.operation == x.operation && y.a == x.a && y.b == x.b &&
          std::bit_cast<std::uint64_t>(y.constant) == std::bit_cast<std::uint64_t>(x.constant))
        return known;
    }
  };
  if (table_.size() < 2 * nodes_.size() + 2) {
    table_.assign(std::max<std::size_t>(1024, 2 * table_.size()), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].operation != Operation::input) slot(nodes_[i]) = static_cast<int>(i);
  }
  int& known = slot(node);
  if (known < 0) known = append(node);
  return known;
}

int Graph::input() { return append({Operation::input, inputs_++, -1, 0.0, false}); }
int Graph::parameter() { return append({Operation::input, parameters_++, -1, 0.0, true}); }

int Graph::constant(double value) {
  if (value == 0.0) value = 0.0;  // makes 0 of -0, so that both share one node
  return find({Operation::constant, -1, -1, value, true});
}

int Graph::node(Operation o, int a, int b) {
  const bool constant_a = nodes_[a].operation == Operation::constant,
             constant_b = b < 0 || nodes_[b].operation == Operation::constant;
  if (constant_a && constant_b) return constant(result(o, nodes_[a].constant, b < 0 ? 0.0 : nodes_[b].constant));
  // A product's constant comes first, so that signs can be moved to where they cost nothing. Next comes an operand that
  // depends on parameters only, so that it is multiplied once.
  const bool uniform_a = nodes_[a].uniform, uniform_b = b < 0 || nodes_[b].uniform;
  const auto factor = [&](int x) {
    return nodes_[x].operation == multiply && nodes_[nodes_[x].a].uniform && !nodes_[x].uniform;
  };
  const auto negative = [&](int x) { return nodes_[x].operation == multiply && is(nodes_[x].a, -1.0); };
  switch (o) {
    case add:
      if (is(a, 0.0)) return b;
      if (is(b, 0.0)) return a;
      if (negative(b)) return node(subtract, a, nodes_[b].b);
      if (negative(a)) return node(subtract, b, nodes_[a].b);
      if (precedes(b, a)) std::swap(a, b);
      break;
    case subtract:
      if (is(b, 0.0)) return a;
      if (a == b) return constant(0.0);
      if (is(a, 0.0)) return node(multiply, constant(-1.0), b);
      if (negative(b)) return node(add, a, nodes_[b].b);
      if (negative(a)) return node(multiply, constant(-1.0), node(add, nodes_[a].b, b));
      break;
    case multiply:
      if (uniform_a == uniform_b ? constant_b || (!constant_a && precedes(b, a)) : uniform_b) std::swap(a, b);
      if (is(a, 0.0)) return a;
      if (is(a, 1.0)) return b;
      if (nodes_[a].uniform) {
        if (factor(b)) return node(multiply, node(multiply, a, nodes_[b].a), nodes_[b].b);
        if (is(a, -1.0) && nodes_[b].operation == subtract) return node(subtract, nodes_[b].b, nodes_[b].a);
      } else if (factor(a)) {
        return node(multiply, nodes_[a].a, node(multiply, nodes_[a].b, b));
      } else if (factor(b)) {
        return node(multiply, nodes_[b].a, node(multiply, a, nodes_[b].b));
      }
      break;
    case divide:
      if (is(b, 1.0) || is(a, 0.0)) return a;
      break;
    default:
      break;
  }
  return find({o, a, b, 0.0, uniform_a && uniform_b});
}

Graph::Partials Graph::partials(int i) {
  const auto [o, a, b, value, uniform] = nodes_[i];  // a copy, because nodes_ grows
  const int zero = constant(0.0), one = constant(1.0), minus_one = constant(-1.0);
  const auto times = [this](int x, int y) { return node(multiply, x, y); };
  Partials p{takes_two(o) ? 2 : 1, {a, b}, {zero, zero}, {zero, zero, zero}};
  switch (o) {
    case add:
      p.first = {one, one};
      break;
    case subtract:
      p.first = {one, minus_one};
      break;
    case multiply:
      p.first = {b, a};
      p.second[1] = one;
      break;
    case divide: {
      const int per = node(divide, one, b);
      p.first = {per, times(minus_one, times(i, per))};
      p.second = {zero, times(minus_one, times(per, per)), times(constant(-2.0), times(p.first[1], per))};
      break;
    }
    case sine:
      p.first[0] = node(cosine, a);
      p.second[0] = times(minus_one, i);
      break;
    case cosine:
      p.first[0] = times(minus_one, node(sine, a));
      p.second[0] = times(minus_one, i);
      break;
    case root:
      p.first[0] = node(divide, constant(0.5), i);
      p.second[0] = node(divide, times(constant(-0.5), p.first[0]), a);
      break;
    case arctangent: {
      const int per = node(divide, one, node(add, times(a, a), times(b, b)));
      const int x = times(b, per), y = times(a, per), twice = times(constant(2.0), times(x, y));
      p.first = {x, times(minus_one, y)};
      p.second = {times(minus_one, twice), node(subtract, times(y, y), times(x, x)), twice};
      break;
    }
    case exponential:
      p.first[0] = p.second[0] = i;
      break;
    case logarithm:
      p.first[0] = node(divide, one, a);
      p.second[0] = times(minus_one, times(p.first[0], p.first[0]));
      break;
    case absolute:
      p.first[0] = node(sign, a);
      break;
    default:
      p.count = 0;
      break;
  }
  if (p.count == 2 && a == b) {
    p.count = 1;
    p.first[0] = node(add, p.first[0], p.first[1]);
    p.second[0] = node(add, node(add, p.second[0], p.second[2]), times(constant(2.0), p.second[1]));
  }
  return p;
}

std::vector<int> Graph::gradient(int output, const std::vector<int>& variables) {
  const int zero = constant(0.0);
  std::vector<int> adjoint(output + 1, zero);
  adjoint[output] = constant(1.0);
  const std::vector<int> order = operands_first(output);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const int i = *at;
    if (is(adjoint[i], 0.0) || is_leaf(nodes_[i].operation)) continue;
    const Partials p = partials(i);
    for (int j = 0; j < p.count; ++j) {
      int& sum = adjoint[p.operands[j]];
      sum = node(add, sum, node(multiply, adjoint[i], p.first[j]));
    }
  }
  std::vector<int> result;
  for (const int x : variables) result.push_back(x > output ? zero : adjoint[x]);
  return result;
}

// Traverses the operations backwards. Second derivatives with respect to the remaining nodes are stored at these nodes
// and passed on to operands (Gower and Mello 2012, "A new framework for the computation of Hessians", algorithm 2). The
// result is sparse if the function is, and symmetry costs nothing.
Graph::Derivatives Graph::differentiate(int output, const std::vector<int>& variables) {
  const int zero = constant(0.0);
  std::vector<bool> active(output + 1, false);
  for (const int x : variables)
    if (x <= output) active[x] = true;
  for (int i = 0; i <= output; ++i)
    if (!is_leaf(nodes_[i].operation))
      active[i] = active[nodes_[i].a] || (takes_two(nodes_[i].operation) && active[nodes_[i].b]);

  struct Entry {
    int node, value;
  };
  const std::vector<int> order = operands_first(output);
  std::vector<int> rank(output + 1, -1);  // inputs keep their own order
  for (std::size_t i = 0; i < order.size(); ++i)
    rank[order[i]] = is_leaf(nodes_[order[i]].operation) ? order[i] : static_cast<int>(i);
  // second derivatives of a node and one that precedes it; inputs precede all others
  std::vector<std::vector<Entry>> second(output + 1);
  const auto before = [&](int i, int j) {
    const bool leaf_i = is_leaf(nodes_[i].operation), leaf_j = is_leaf(nodes_[j].operation);
    return leaf_i == leaf_j ? rank[i] < rank[j] : leaf_i;
  };
  const auto add_second = [&](int i, int j, int value) {
    if (is(value, 0.0) || !active[i] || !active[j]) return;
    if (before(i, j)) std::swap(i, j);
    auto& row = second[i];
    const auto at = std::ranges::find_if(row, [j](const Entry& e) { return e.node == j; });
    if (at == row.end())
      row.push_back({j, value});
    else
      at->value = node(add, at->value, value);
  };
  std::vector<int> adjoint(output + 1, zero);
  adjoint[output] = constant(1.0);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const int i = *at;
    if (!active[i] || is_leaf(nodes_[i].operation) || (is(adjoint[i], 0.0) && second[i].empty())) continue;
    const Partials p = partials(i);
    const auto times = [this](int x, int y) { return node(multiply, x, y); };
    for (const auto [k, value] : second[i])
      for (int j = 0; j < p.count; ++j) {
        const int one = times(p.first[j], value);
        if (k != i)
          add_second(p.operands[j], k, p.operands[j] == k ? times(constant(2.0), one) : one);
        else
          for (int l = 0; l <= j; ++l) add_second(p.operands[j], p.operands[l], times(p.first[l], one));
      }
    for (int j = 0; j < p.count; ++j)
      for (int l = 0; l <= j; ++l) add_second(p.operands[j], p.operands[l], times(adjoint[i], p.second[j + l]));
    for (int j = 0; j < p.count; ++j) {
      int& sum = adjoint[p.operands[j]];
      sum = node(add, sum, times(adjoint[i], p.first[j]));
    }
    std::vector<Entry>().swap(second[i]);
  }
  Derivatives d;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    d.gradient.push_back(variables[i] > output ? zero : adjoint[variables[i]]);
    for (std::size_t j = 0; j <= i; ++j) {
      const auto [low, high] = std::minmax(variables[i], variables[j]);
      d.hessian.push_back(zero);
      if (high > output) continue;
      for (const Entry& e : second[high])
        if (e.node == low) d.hessian.back() = e.value;
    }
  }
  return d;
}

std::vector<int> Graph::directional(const std::vector<int>& outputs, const std::vector<int>& inputs,
                                    const std::vector<int>& rates) {
  const int zero = constant(0.0), count = nodes_.size();
  std::vector<bool> needed(count, false);
  for (const int y : outputs) needed[y] = true;
  for (int i = count - 1; i >= 0; --i) {
    if (!needed[i] || is_leaf(nodes_[i].operation)) continue;
    needed[nodes_[i].a] = true;
    if (takes_two(nodes_[i].operation)) needed[nodes_[i].b] = true;
  }
  std::vector<int> rate(count, zero);
  for (std::size_t i = 0; i < inputs.size(); ++i) rate[inputs[i]] = rates[i];
  for (int i = 0; i < count; ++i) {
    const auto [o, a, b, value, uniform] = nodes_[i];
    if (!needed[i] || is_leaf(o) || (rate[a] == zero && (!takes_two(o) || rate[b] == zero))) continue;
    const Partials p = partials(i);
    for (int j = 0; j < p.count; ++j) rate[i] = node(add, rate[i], node(multiply, p.first[j], rate[p.operands[j]]));
  }
  std::vector<int> result;
  for (const int y : outputs) result.push_back(rate[y]);
  return result;
}

// ---- program

Program::Program(const Graph& graph, const std::vector<int>& outputs, int inputs) {
  // Separates the nodes that are equal at all points: uniform nodes that are outputs or that other nodes need.
  const auto& nodes = graph.nodes();
  const int count = nodes.size();
  std::vector<bool> needed(count, false), shared(count, false);
  const auto need = [&](int x) {
    if (nodes[x].operation == Operation::constant) return;
    (nodes[x].uniform ? shared : needed)[x] = true;
  };
  for (const int y : outputs) need(y);
  for (int i = count - 1; i >= 0; --i) {
    if (!needed[i] || is_leaf(nodes[i].operation)) continue;
    need(nodes[i].a);
    if (takes_two(nodes[i].operation)) need(nodes[i].b);
  }
  std::vector<int> given(inputs, -1), parameters, uniform;
  for (int i = 0; i < count; ++i) {
    if (shared[i]) uniform.push_back(i);
    if (nodes[i].operation != Operation::input) continue;
    if (nodes[i].uniform)
      parameters.push_back(i);
    else if (nodes[i].a < inputs)
      given[nodes[i].a] = i;
  }
  inputs_ = static_cast<std::uint32_t>(inputs);
  prepared_ = static_cast<std::uint32_t>(uniform.size());
  given.insert(given.end(), uniform.begin(), uniform.end());
  build(graph, outputs, given);
  if (uniform.empty()) return;
  auto prologue = std::make_shared<Program>();
  prologue->inputs_ = static_cast<std::uint32_t>(parameters.size());
  prologue->build(graph, uniform, parameters);
  prologue_ = std::move(prologue);
}

std::vector<double> Program::prepared(const std::vector<double>& parameters) const {
  if (!prologue_) return {};
  double* room = prologue_->start({});
  for (std::size_t i = 0; i < prologue_->inputs_; ++i) std::fill_n(room + i * lanes, lanes, parameters[i]);
  prologue_->run(room, 1);
  std::vector<double> numbers;
  for (std::size_t j = 0; j < prologue_->outputs_.size(); ++j)
    numbers.push_back(*prologue_->output(room, static_cast<int>(j)));
  return numbers;
}

namespace {

// An operation: computes node `to` from the nodes a, b and c.
struct Instruction {
  Operation operation;
  int to, a, b, c;
};

// Returns the operations that outputs need, the last ones first. A product that occurs in one sum only is fused with
// that sum.
template <class Leaf>
std::vector<Instruction> needed_backwards(const Graph& graph, const std::vector<int>& outputs, const Leaf& leaf) {
  const auto& nodes = graph.nodes();
  const int count = nodes.size();
  std::vector<int> uses(count, 0);
  for (const int y : outputs) uses[y] += 2;  // never fused
  for (int i = count - 1; i >= 0; --i) {
    if (uses[i] == 0 || leaf(i)) continue;
    ++uses[nodes[i].a];
    if (takes_two(nodes[i].operation)) ++uses[nodes[i].b];
  }
  std::vector<Instruction> backwards;
  std::vector<bool> absorbed(count, false);
  const auto product = [&](int x) { return nodes[x].operation == multiply && uses[x] == 1 && !leaf(x); };
  for (int i = count - 1; i >= 0; --i) {
    const auto [o, a, b, value, uniform] = nodes[i];
    if (uses[i] == 0 || absorbed[i] || leaf(i)) continue;
    if ((o == add || o == subtract) && product(b)) {
      backwards.push_back({o == add ? multiply_add : subtract_multiply, i, nodes[b].a, nodes[b].b, a});
      absorbed[b] = true;
    } else if ((o == add || o == subtract) && product(a)) {
      backwards.push_back({o == add ? multiply_add : multiply_subtract, i, nodes[a].a, nodes[a].b, b});
      absorbed[a] = true;
    } else {
      backwards.push_back({o, i, a, takes_two(o) ? b : a, a});
    }
  }
  return backwards;
}

// Groups steps of the same level and operation into runs. Within a run the processor need not predict the next
// operation or wait for the previous step. `count`: nodes of the graph.
std::vector<Instruction> in_runs(const std::vector<Instruction>& backwards, int count) {
  constexpr int kinds = static_cast<int>(subtract_multiply) + 1;
  std::vector<int> level(count, 0);
  std::vector<int> first;  // first[key + 1]: number of steps of this level and operation; then first[key]: their start
  const auto key = [&](const Instruction& t) {
    return static_cast<std::size_t>(level[t.to] * kinds + static_cast<int>(t.operation));
  };
  std::for_each(backwards.rbegin(), backwards.rend(), [&](const Instruction& t) {
    level[t.to] = 1 + std::max({level[t.a], level[t.b], level[t.c]});
    if (first.size() < key(t) + 2) first.resize(key(t) + 2, 0);
    ++first[key(t) + 1];
  });
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Instruction> instructions(backwards.size());
  std::for_each(backwards.rbegin(), backwards.rend(), [&](const Instruction& t) { instructions[first[key(t)]++] = t; });
  return instructions;
}

}  // namespace

void Program::build(const Graph& graph, const std::vector<int>& outputs, const std::vector<int>& given) {
  const auto& nodes = graph.nodes();
  const int count = nodes.size();
  const std::uint32_t leaves = inputs_ + prepared_;
  std::vector<int> place_given(count, -1);
  for (std::size_t i = 0; i < given.size(); ++i)
    if (given[i] >= 0) place_given[given[i]] = i;
  const auto leaf = [&](int i) { return place_given[i] >= 0 || is_leaf(nodes[i].operation); };
  const std::vector<Instruction> instructions = in_runs(needed_backwards(graph, outputs, leaf), count);

  std::vector<int> last_use(count, -1);  // last step that uses a node
  const int steps = static_cast<int>(instructions.size());
  for (int s = 0; s < steps; ++s)
    for (const int x : {instructions[s].a, instructions[s].b, instructions[s].c}) last_use[x] = s;
  for (const int y : outputs) last_use[y] = steps;

  std::vector<std::uint32_t> place(count, 0), free_places;
  const auto keep = [&](double value) {
    constants_.push_back(value);
    return (leaves + static_cast<std::uint32_t>(constants_.size()) - 1) * lanes;
  };
  for (int i = 0; i < count; ++i) {
    if (last_use[i] < 0 || !leaf(i)) continue;
    place[i] = place_given[i] >= 0 ? static_cast<std::uint32_t>(place_given[i] * lanes)
                                   : keep(nodes[i].operation == Operation::constant ? nodes[i].constant : 0.0);
  }
  places_ = leaves + static_cast<std::uint32_t>(constants_.size());
  for (int s = 0; s < steps; ++s) {
    const auto [o, to, a, b, c] = instructions[s];
    Step step{0, place[a], place[b], place[c]};
    // Frees the memory of an operand after its last use. Constants and prepared values stay.
    for (const int x : {a, b, c}) {
      if (last_use[x] != s) continue;
      last_use[x] = -1;
      if (!leaf(x) || (place_given[x] >= 0 && place_given[x] < static_cast<int>(inputs_)))
        free_places.push_back(place[x]);
    }
    if (free_places.empty()) free_places.push_back(places_++ * lanes);
    step.to = place[to] = free_places.back();
    free_places.pop_back();
    steps_.push_back(step);
    if (runs_.empty() || runs_.back().operation != o) runs_.push_back({o, 0});
    runs_.back().end = steps_.size();
  }
  for (const int y : outputs) outputs_.push_back(place[y]);
}

double* Program::start(const std::vector<double>& prepared) const {
  constexpr std::size_t alignment = 64;
  thread_local std::vector<double> numbers;
  const std::size_t size = static_cast<std::size_t>(places_) * lanes + alignment / sizeof(double);
  if (numbers.size() < size) numbers.resize(size);
  double* room = numbers.data();
  room += (alignment - reinterpret_cast<std::uintptr_t>(room) % alignment) % alignment / sizeof(double);
  double* place = room + static_cast<std::size_t>(inputs_) * lanes;
  for (const double value : prepared) place = std::fill_n(place, lanes, value);
  for (const double value : constants_) place = std::fill_n(place, lanes, value);
  return room;
}

namespace {

// Applies f to every point; unused lanes get the last point's data.
template <class F>
void each(double* to, const double* a, const double* b, int points, F f) {
  for (int l = 0; l < points; ++l) to[l] = f(a[l], b[l]);
  std::fill(to + points, to + Program::lanes, to[points - 1]);
}

DODYN_WIDE void run_steps(Operation operation, const Program::Step* s, const Program::Step* end, double* room,
                          int points) {
  const auto lanes = [room](std::uint32_t place) -> Lanes& { return *reinterpret_cast<Lanes*>(room + place); };
  switch (operation) {
    case add:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) + lanes(s->b);
      break;
    case subtract:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) - lanes(s->b);
      break;
    case multiply:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) * lanes(s->b);
      break;
    case divide:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) / lanes(s->b);
      break;
    case multiply_add:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) * lanes(s->b) + lanes(s->c);
      break;
    case multiply_subtract:
      for (; s != end; ++s) lanes(s->to) = lanes(s->a) * lanes(s->b) - lanes(s->c);
      break;
    case subtract_multiply:
      for (; s != end; ++s) lanes(s->to) = lanes(s->c) - lanes(s->a) * lanes(s->b);
      break;
    case sine:
    case cosine:
      for (; s != end; ++s) {
        const Lanes x = lanes(s->a);  // the result may take its place
        Lanes& to = lanes(s->to);
        sine_of_lanes(x, operation == cosine, to);
        if (!sines_reach(x))
          for (int l = 0; l < Program::lanes; ++l)
            if (!sine_reaches(x[l])) to[l] = result(operation, x[l], x[l]);
      }
      break;
    default:
      for (; s != end; ++s)
        each(room + s->to, room + s->a, room + s->b, points,
             [operation](double a, double b) { return result(operation, a, b); });
  }
}

}  // namespace

void Program::run(double* room, int points) const {
  const Step* step = steps_.data();
  for (const Run& run : runs_) {
    const Step* end = steps_.data() + run.end;
    run_steps(run.operation, step, end, room, points);
    step = end;
  }
}

// ---- element

const RecordedFunction::Derivatives& RecordedFunction::derivatives() const {
  std::call_once(once_, [this] {
    derivatives_ = differentiate_();
    differentiate_ = nullptr;
  });
  return derivatives_;
}

std::shared_ptr<const RecordedFunction> recorded_function(Graph graph, std::vector<int> variables,
                                                          std::vector<int> parameters, std::vector<int> outputs) {
  [[maybe_unused]] const auto is_node = [&](int i) { return i >= 0 && i < std::ssize(graph.nodes()); };
  assert(std::ranges::all_of(variables, is_node));
  assert(std::ranges::all_of(outputs, is_node) && "outputs of this recording");
  const int inputs = variables.size(), count = outputs.size(), numbers = parameters.size();
  Program values(graph, outputs, inputs);
  const auto differentiate = [graph = std::move(graph), variables = std::move(variables),
                              parameters = std::move(parameters), outputs = std::move(outputs), inputs]() mutable {
    // The Jacobian is the block of the weighted sum's Hessian with rows of weights and columns of variables.
    int sum = graph.constant(0.0);
    for (const int y : outputs) {
      variables.push_back(graph.input());
      sum = graph.node(add, sum, graph.node(multiply, variables.back(), y));
    }
    Program design(graph, graph.gradient(sum, parameters), graph.inputs());
    const auto hessian = graph.differentiate(sum, variables).hessian;
    const auto row = [&](int i) { return hessian.begin() + i * (i + 1) / 2; };
    std::vector<int> derivatives;
    for (int j = inputs; j < std::ssize(variables); ++j) derivatives.insert(derivatives.end(), row(j), row(j) + inputs);
    Program jacobian(graph, derivatives, inputs);
    derivatives.insert(derivatives.end(), row(0), row(inputs));
    Program both(graph, derivatives, graph.inputs());
    return RecordedFunction::Derivatives{std::move(jacobian), std::move(both), std::move(design)};
  };
  return std::make_shared<RecordedFunction>(inputs, numbers, count, std::move(values), differentiate);
}

RecordedElement::RecordedElement(std::shared_ptr<const RecordedFunction> function, std::vector<Differential> parameters)
    : Element(function->inputs, function->outputs),
      function_(std::move(function)),
      parameters_(std::move(parameters)),
      prepared_values_(function_->values.prepared(values_of(parameters_))) {
  assert(std::ssize(parameters_) == function_->parameters);
}

const RecordedElement::Prepared& RecordedElement::prepared() const {
  std::call_once(once_, [this] {
    const auto& derivatives = function_->derivatives();
    const std::vector<double> values = values_of(parameters_);
    prepared_ = {derivatives.jacobian.prepared(values), derivatives.both.prepared(values),
                 derivatives.design.prepared(values)};
  });
  return prepared_;
}

void RecordedElement::run(const Program& program, double* room, int points, const double* z,
                          const double* weights) const {
  double* place = room;
  const auto give = [&](const double* numbers, int size) {
    for (int i = 0; i < size; ++i)
      for (int l = 0; l < Program::lanes; ++l) *place++ = numbers[std::min(l, points - 1) * size + i];
  };
  give(z, inputs);
  if (weights) give(weights, outputs);
  program.run(room, points);
}

void RecordedElement::evaluate_all(int count, const double* z, double* values) const {
  const Program& program = function_->values;
  double* room = program.start(prepared_values_);
  for (int done = 0; done < count; done += Program::lanes) {
    const int points = std::min(count - done, Program::lanes);
    run(program, room, points, z + done * inputs, nullptr);
    for (int j = 0; j < outputs; ++j)
      for (int l = 0; l < points; ++l) values[(done + l) * outputs + j] = program.output(room, j)[l];
  }
}

void RecordedElement::derivatives_all(int count, const double* z, const double* weights, double* jacobians,
                                      double* hessians) const {
  const auto& derivatives = function_->derivatives();
  const Prepared& given = prepared();
  const Program& program = hessians ? derivatives.both : derivatives.jacobian;
  double* room = program.start(hessians ? given.both : given.jacobian);
  for (int done = 0; done < count; done += Program::lanes) {
    const int points = std::min(count - done, Program::lanes);
    run(program, room, points, z + done * inputs, hessians ? weights + done * outputs : nullptr);
    const int size = outputs * inputs;
    if (jacobians)
      for (int e = 0; e < size; ++e)
        for (int l = 0; l < points; ++l) jacobians[(done + l) * size + e] = program.output(room, e)[l];
    if (!hessians) continue;
    for (int i = 0, e = size; i < inputs; ++i)
      for (int j = 0; j <= i; ++j, ++e)
        for (int l = 0; l < points; ++l) hessians[((done + l) * inputs + i) * inputs + j] = program.output(room, e)[l];
  }
}

void RecordedElement::add_design_gradient(int count, const double* z, const double* weights,
                                          Eigen::Ref<Eigen::VectorXd> gradient) const {
  const bool varies = std::ranges::any_of(parameters_, [](const Differential& p) { return p.gradient.size() > 0; });
  if (!varies) return;
  const Program& program = function_->derivatives().design;
  std::vector<double> sums(parameters_.size(), 0.0);
  double* room = program.start(prepared().design);
  for (int done = 0; done < count; done += Program::lanes) {
    const int points = std::min(count - done, Program::lanes);
    run(program, room, points, z + done * inputs, weights + done * outputs);
    for (std::size_t i = 0; i < sums.size(); ++i)
      for (int l = 0; l < points; ++l) sums[i] += program.output(room, static_cast<int>(i))[l];
  }
  for (std::size_t i = 0; i < sums.size(); ++i) parameters_[i].add_gradient(sums[i], gradient);
}

void RecordedElement::derivatives(const double* z, const double* weights, double* jacobian, double* hessian) const {
  derivatives_all(1, z, weights, jacobian, hessian);
  for (int i = 0; i < inputs; ++i)
    for (int j = 0; j < i; ++j) hessian[j * inputs + i] = hessian[i * inputs + j];
}

}  // namespace dodyn::autodiff
