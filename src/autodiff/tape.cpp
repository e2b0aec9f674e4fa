#include "autodiff/tape.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <cmath>

namespace dodyn::autodiff {

thread_local Graph* Recording::current = nullptr;

namespace {

bool takes_two(Operation o) {
  return o == Operation::add || o == Operation::subtract || o == Operation::multiply || o == Operation::divide ||
         o == Operation::arctangent;
}

double result(Operation o, double a, double b) {
  switch (o) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide:
      return a / b;
    case Operation::sine:
      return std::sin(a);
    case Operation::cosine:
      return std::cos(a);
    case Operation::root:
      return std::sqrt(a);
    case Operation::arctangent:
      return std::atan2(a, b);
    case Operation::input:
    case Operation::constant:
      break;
  }
  return a;
}

}  // namespace

bool Graph::is(int node, double value) const {
  return nodes_[node].operation == Operation::constant && nodes_[node].constant == value;
}

int Graph::input() {
  nodes_.push_back({Operation::input, inputs_++, -1, 0.0});
  return static_cast<int>(nodes_.size()) - 1;
}

int Graph::constant(double value) {
  if (value == 0.0) value = 0.0;  // one zero, unsigned
  const auto [at, fresh] = constants_.emplace(std::bit_cast<std::uint64_t>(value), static_cast<int>(nodes_.size()));
  if (fresh) nodes_.push_back({Operation::constant, -1, -1, value});
  return at->second;
}

int Graph::node(Operation o, int a, int b) {
  const bool constant_a = nodes_[a].operation == Operation::constant,
             constant_b = b < 0 || nodes_[b].operation == Operation::constant;
  if (constant_a && constant_b) return constant(result(o, nodes_[a].constant, b < 0 ? 0.0 : nodes_[b].constant));
  if (o == Operation::add || o == Operation::multiply) {
    if (a > b) std::swap(a, b);
    for (const auto& [x, y] : {std::pair(a, b), std::pair(b, a)}) {
      if (o == Operation::add && is(x, 0.0)) return y;
      if (o == Operation::multiply && is(x, 1.0)) return y;
      if (o == Operation::multiply && is(x, 0.0)) return x;
    }
  }
  if (o == Operation::subtract && is(b, 0.0)) return a;
  if (o == Operation::subtract && a == b) return constant(0.0);
  if (o == Operation::subtract && is(a, 0.0)) return node(Operation::multiply, constant(-1.0), b);
  if (o == Operation::divide && is(b, 1.0)) return a;
  if (o == Operation::divide && is(a, 0.0)) return a;
  const auto [at, fresh] = known_.emplace(std::tuple(o, a, b), static_cast<int>(nodes_.size()));
  if (fresh) nodes_.push_back({o, a, b, 0.0});
  return at->second;
}

std::vector<int> Graph::gradient(int output, const std::vector<int>& variables) {
  constexpr int nothing = -1;
  const int minus_one = constant(-1.0), half = constant(0.5);
  std::vector<int> adjoint(output + 1, nothing);
  const auto give = [&](int to, int share) {
    if (!is(share, 0.0)) adjoint[to] = adjoint[to] == nothing ? share : node(Operation::add, adjoint[to], share);
  };
  adjoint[output] = constant(1.0);
  for (int i = output; i >= 0; --i) {
    const int d = adjoint[i];
    if (d == nothing) continue;
    const auto [o, a, b, value] = nodes_[i];  // a copy: nodes_ grows
    using enum Operation;
    switch (o) {
      case add:
        give(a, d);
        give(b, d);
        break;
      case subtract:
        give(a, d);
        give(b, node(multiply, minus_one, d));
        break;
      case multiply:
        give(a, node(multiply, d, b));
        give(b, node(multiply, d, a));
        break;
      case divide: {
        const int share = node(divide, d, b);
        give(a, share);
        give(b, node(multiply, minus_one, node(multiply, share, i)));
        break;
      }
      case sine:
        give(a, node(multiply, d, node(cosine, a)));
        break;
      case cosine:
        give(a, node(multiply, minus_one, node(multiply, d, node(sine, a))));
        break;
      case root:
        give(a, node(divide, node(multiply, half, d), i));
        break;
      case arctangent: {
        const int share = node(divide, d, node(add, node(multiply, a, a), node(multiply, b, b)));
        give(a, node(multiply, share, b));
        give(b, node(multiply, minus_one, node(multiply, share, a)));
        break;
      }
      case input:
      case constant:
        break;
    }
  }
  std::vector<int> result;
  for (const int x : variables) result.push_back(x > output || adjoint[x] == nothing ? constant(0.0) : adjoint[x]);
  return result;
}

Program::Program(const Graph& graph, int active, const std::vector<int>& outputs, int inputs)
    : inputs_(inputs), active_(active) {
  const auto& nodes = graph.nodes();
  const int count = static_cast<int>(nodes.size());
  std::vector<int> last_use(count, -1);  // index of the last node that needs this one; count for outputs
  for (const int y : outputs) last_use[y] = count;
  std::vector<bool> depends(count, false);
  for (int i = count - 1; i >= 0; --i) {
    if (last_use[i] < 0 || nodes[i].operation == Operation::input || nodes[i].operation == Operation::constant)
      continue;
    last_use[nodes[i].a] = std::max(last_use[nodes[i].a], i);
    if (takes_two(nodes[i].operation)) last_use[nodes[i].b] = std::max(last_use[nodes[i].b], i);
  }
  std::vector<int> place(count, -1), free_places;
  for (int i = 0; i < count; ++i) {
    if (nodes[i].operation == Operation::input) {
      place[i] = nodes[i].a;
      depends[i] = nodes[i].a < active;
    } else if (nodes[i].operation == Operation::constant && last_use[i] >= 0) {
      place[i] = inputs_ + static_cast<int>(constants_.size());
      constants_.push_back(nodes[i].constant);
    }
  }
  places_ = inputs_ + static_cast<int>(constants_.size());
  for (int i = 0; i < count; ++i) {
    const auto& node = nodes[i];
    if (last_use[i] < 0 || node.operation == Operation::input || node.operation == Operation::constant) continue;
    const bool two = takes_two(node.operation);
    const int b = two ? node.b : node.a;
    const auto activity = static_cast<Activity>((depends[node.a] ? first : none) | (two && depends[b] ? second : none));
    depends[i] = activity != none;
    // An operand that is not needed any more makes room. Constants stay.
    for (const int x : {node.a, b})
      if (last_use[x] == i && nodes[x].operation != Operation::constant &&
          std::find(free_places.begin(), free_places.end(), place[x]) == free_places.end())
        free_places.push_back(place[x]);
    if (free_places.empty()) free_places.push_back(places_++);
    place[i] = free_places.back();
    free_places.pop_back();
    steps_.push_back({node.operation, activity, place[i], place[node.a], place[b]});
  }
  for (const int y : outputs) {
    outputs_.push_back(place[y]);
    output_active_.push_back(depends[y]);
  }
}

namespace {

// Room for a program's numbers, one per thread.
double* room(std::size_t size) {
  thread_local std::vector<double> numbers;
  if (numbers.size() < size + 2) numbers.resize(size + 2);
  double* start = numbers.data();
  return start + (reinterpret_cast<std::uintptr_t>(start) % 16 != 0);
}

}  // namespace

void Program::values(const double* inputs, double* outputs) const {
  double* v = room(places_);
  std::copy_n(inputs, inputs_, v);
  std::copy(constants_.begin(), constants_.end(), v + inputs_);
  for (const Step& s : steps_) v[s.to] = result(s.operation, v[s.a], v[s.b]);
  for (std::size_t j = 0; j < outputs_.size(); ++j) outputs[j] = v[outputs_[j]];
}

// Values, and `width` columns of the Jacobian from column `from` on, the first `count` of which are wanted.
template <int width>
void Program::run(const double* inputs, int from, int count, double* jacobian) const {
  using Row = Eigen::Array<double, width, 1>;
  const int even_places = places_ + places_ % 2;
  double* v = room(static_cast<std::size_t>(even_places) + static_cast<std::size_t>(places_) * width);
  double* tangents = v + even_places;
  const auto row = [&](int place) { return Eigen::Map<Row, Eigen::Aligned16>(tangents + place * width); };
  std::copy_n(inputs, inputs_, v);
  std::copy(constants_.begin(), constants_.end(), v + inputs_);
  for (int i = 0; i < active_; ++i) {
    row(i).setZero();
    if (i >= from && i < from + count) row(i)(i - from) = 1.0;
  }
  for (const Step& s : steps_) {
    const double a = v[s.a], b = v[s.b];
    auto to = row(s.to);
    const auto da = row(s.a), db = row(s.b);
    using enum Operation;
    switch (s.operation) {
      case add:
        v[s.to] = a + b;
        if (s.activity == both)
          to = da + db;
        else if (s.activity == first)
          to = da;
        else if (s.activity == second)
          to = db;
        break;
      case subtract:
        v[s.to] = a - b;
        if (s.activity == both)
          to = da - db;
        else if (s.activity == first)
          to = da;
        else if (s.activity == second)
          to = -db;
        break;
      case multiply:
        v[s.to] = a * b;
        if (s.activity == both)
          to = a * db + b * da;
        else if (s.activity == first)
          to = b * da;
        else if (s.activity == second)
          to = a * db;
        break;
      case divide: {
        const double q = a / b, per = 1.0 / b;
        v[s.to] = q;
        if (s.activity == both)
          to = per * da - (q * per) * db;
        else if (s.activity == first)
          to = per * da;
        else if (s.activity == second)
          to = (-q * per) * db;
        break;
      }
      case sine:
        v[s.to] = std::sin(a);
        if (s.activity) to = std::cos(a) * da;
        break;
      case cosine:
        v[s.to] = std::cos(a);
        if (s.activity) to = -std::sin(a) * da;
        break;
      case root: {
        const double r = std::sqrt(a);
        v[s.to] = r;
        if (s.activity) to = (0.5 / r) * da;
        break;
      }
      case arctangent: {
        const double per = 1.0 / (a * a + b * b);
        v[s.to] = std::atan2(a, b);
        if (s.activity == both)
          to = (per * b) * da - (per * a) * db;
        else if (s.activity == first)
          to = (per * b) * da;
        else if (s.activity == second)
          to = (-per * a) * db;
        break;
      }
      case input:
      case constant:
        break;
    }
  }
  for (std::size_t j = 0; j < outputs_.size(); ++j)
    for (int i = 0; i < count; ++i) jacobian[j * active_ + from + i] = output_active_[j] ? row(outputs_[j])(i) : 0.0;
}

void Program::jacobian(const double* inputs, double* jacobian) const {
  // widths that fill whole vector registers; wider ones in several runs
  for (int from = 0; from < active_;) {
    const int count = std::min(active_ - from, 24);
    if (count <= 4)
      run<4>(inputs, from, count, jacobian);
    else if (count <= 8)
      run<8>(inputs, from, count, jacobian);
    else if (count <= 12)
      run<12>(inputs, from, count, jacobian);
    else if (count <= 16)
      run<16>(inputs, from, count, jacobian);
    else
      run<24>(inputs, from, count, jacobian);
    from += count;
  }
}

void RecordedElement::hessian(const double* z, const double* weights, double* hessian) const {
  thread_local std::vector<double> both;
  both.assign(z, z + inputs);
  both.insert(both.end(), weights, weights + outputs);
  weighted_gradient_.jacobian(both.data(), hessian);
}

}  // namespace dodyn::autodiff
