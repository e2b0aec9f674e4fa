// Evaluates the numbers of a model (model.hpp) in any number type: expressions, and mass properties of links with
// parts.
#pragma once

#include <cmath>
#include <numbers>

#include "systems/model.hpp"

namespace dodyn::systems {

// Mass, first moment and second moment of mass about the origin of a link's frame.
template <class T>
struct MassMoments {
  T mass = T(0.0);
  Vector3<T> first{T(0.0), T(0.0), T(0.0)};
  Matrix3<T> second{};  // int r r^T dm; only the upper triangle is valid

  void add(const T& m, const Vector3<T>& centre) {
    mass += m;
    for (int i = 0; i < 3; ++i) {
      first[i] += m * centre[i];
      for (int j = i; j < 3; ++j) second[i][j] += m * (centre[i] * centre[j]);
    }
  }
  MassMoments& operator+=(const MassMoments& b) {
    mass += b.mass;
    for (int i = 0; i < 3; ++i) {
      first[i] += b.first[i];
      for (int j = i; j < 3; ++j) second[i][j] += b.second[i][j];
    }
    return *this;
  }
  MassMoments scaled(const T& s) const {
    MassMoments m = *this;
    m.mass = s * mass;
    for (int i = 0; i < 3; ++i) {
      m.first[i] = s * first[i];
      for (int j = i; j < 3; ++j) m.second[i][j] = s * second[i][j];
    }
    return m;
  }
};

// Returns the facets of the convex hull of corners, oriented outwards (2D: edges, 3D: triangles). They are found from
// values, so that sums over them can be differentiated. Throws std::invalid_argument as geometry::Polytope does.
std::vector<std::array<int, 3>> facets(const std::vector<Vector3<double>>& corners, int dimension,
                                       const std::string& name);

// Returns the moments of a body of density 1 enclosed by facets, as a sum over the simplices from the origin. The
// second moment of a simplex is V/((d + 1)(d + 2)) (sum r_i r_i^T + s s^T), s the sum of its corners r_i, in d
// dimensions.
template <class T>
MassMoments<T> solid_moments(const std::vector<Vector3<T>>& corners, const std::vector<std::array<int, 3>>& faces,
                             int dimension) {
  MassMoments<T> sum;
  for (const auto& face : faces) {
    const Vector3<T>&a = corners[face[0]], &b = corners[face[1]];
    const bool plane = dimension == 2;
    const Vector3<T> c = plane ? Vector3<T>{T(0.0), T(0.0), T(0.0)} : corners[face[2]];
    const T volume = plane ? 0.5 * (a[0] * b[1] - a[1] * b[0]) : (1.0 / 6.0) * dot(a, cross(b, c));
    const Vector3<T> s = a + b + c;
    const double d = dimension;
    sum.mass += volume;
    for (int i = 0; i < 3; ++i) {
      sum.first[i] += (1.0 / (d + 1.0)) * (volume * s[i]);
      for (int j = i; j < 3; ++j)
        sum.second[i][j] +=
            (1.0 / ((d + 1.0) * (d + 2.0))) * (volume * (a[i] * a[j] + b[i] * b[j] + c[i] * c[j] + s[i] * s[j]));
    }
  }
  return sum;
}

// Returns the corners of a refined icosahedron as unit vectors: every edge is halved `levels` times.
std::vector<Vector3<double>> ball_directions(int levels);

template <class T>
std::vector<Vector3<T>> Model::corners(const Shape& shape, const std::vector<T>& all_numbers) const {
  using std::cos, std::sin;
  const T zero(0.0);
  std::vector<Vector3<T>> r;
  const auto size = [&](int i) { return at(shape.size[i], all_numbers); };
  switch (shape.kind) {
    case Shape::Kind::vertices:
      for (const auto& vertex : shape.vertices)
        r.push_back({at(vertex[0], all_numbers), at(vertex[1], all_numbers), at(vertex[2], all_numbers)});
      break;
    case Shape::Kind::box:
      for (int k = 0; k < (dimension == 2 ? 4 : 8); ++k) {
        Vector3<T> corner{zero, zero, zero};
        for (int i = 0; i < dimension; ++i) corner[i] = (k >> i & 1 ? 0.5 : -0.5) * size(i);
        r.push_back(corner);
      }
      break;
    case Shape::Kind::prism:
      for (int level = 0; level < dimension - 1; ++level)
        for (int k = 0; k < shape.corners; ++k) {
          const double turn = std::numbers::pi / shape.corners, radius = 0.5 / std::sin(turn);
          const double angle = dimension == 2 ? (2 * k + 1) * turn - 0.5 * std::numbers::pi : 2 * k * turn;
          r.push_back({(radius * std::cos(angle)) * size(0), (radius * std::sin(angle)) * size(0),
                       dimension == 2 ? zero : (level - 0.5) * size(1)});
        }
      break;
    case Shape::Kind::ball:
      if (dimension == 2)
        for (int k = 0; k < shape.corners; ++k) {
          const double angle = 2.0 * std::numbers::pi * k / shape.corners;
          r.push_back({std::cos(angle) * size(0), std::sin(angle) * size(0), zero});
        }
      else
        for (const auto& direction : ball_directions(shape.corners))
          r.push_back({direction[0] * size(0), direction[1] * size(0), direction[2] * size(0)});
      break;
  }
  Frame<T> frame = Frame<T>::at_rest();
  for (const auto& turn : shape.turns) frame.turn(turn.axis, at(turn.angle, all_numbers), zero);
  for (int i = 0; i < 3; ++i) frame.origin[i] = at(shape.at[i], all_numbers);
  if (shape.scale.index >= 0 || shape.scale.constant != 1.0) {
    const T scale = at(shape.scale, all_numbers);
    for (auto& corner : r) corner = {scale * corner[0], scale * corner[1], scale * corner[2]};
  }
  for (auto& corner : r) corner = shape.turns.empty() ? frame.origin + corner : frame.point(corner);
  return r;
}

// True if numbers of a type have values that a model can check.
template <class T>
inline constexpr bool has_value = requires(const T& x) {
  autodiff::value_of(x);
};

// Returns the moments of a link's own mass in the file (at its centre, without its own inertia), its point masses and
// its shapes. `x`: the numbers computed before. Throws ConfigError if a shape has no convex hull with these corners.
template <class T>
MassMoments<T> moments_of(const Model& model, const Model::Completion& completion, const std::vector<T>& x) {
  MassMoments<T> moments;
  const auto at = [&](const Number& number) { return Model::at(number, x); };
  const auto vector = [&](const std::array<Number, 3>& r) { return Vector3<T>{at(r[0]), at(r[1]), at(r[2])}; };
  moments.add(at(completion.mass), vector(completion.centre));
  for (const PointMass& mass : model.masses)
    if (mass.link == completion.link) moments.add(at(mass.mass), vector(mass.at));
  for (const Shape& shape : model.shapes) {
    if (shape.link != completion.link || (!shape.density && !shape.mass)) continue;
    const auto r = model.corners(shape, x);
    std::vector<Vector3<double>> plain;
    if constexpr (has_value<T>) {
      using autodiff::value_of;
      for (const auto& corner : r) plain.push_back({value_of(corner[0]), value_of(corner[1]), value_of(corner[2])});
    } else {
      plain = model.corners(shape, model.evaluate<double>().numbers);
    }
    std::vector<std::array<int, 3>> faces;
    try {
      faces = facets(plain, model.dimension, shape.name);
    } catch (const std::exception& error) {
      model.fail(shape.line, error.what());
    }
    const auto solid = solid_moments(r, faces, model.dimension);
    moments += solid.scaled(shape.density ? at(*shape.density) : at(*shape.mass) / solid.mass);
  }
  return moments;
}

// Appends the numbers of a completion to x. Composite: mass, centre, then inertia and products about the centre, J =
// tr(S) 1 - S plus the link's own inertia, with the second moment S about the centre. Otherwise: the centre halfway to
// the end.
template <class T>
void append_completion(const Model& model, const Model::Completion& completion, std::vector<T>& x) {
  const auto at = [&](const Number& number) { return Model::at(number, x); };
  if (!completion.composite) {
    for (const Number& end : model.structure.links[completion.link].end) x.push_back(0.5 * at(end));
    return;
  }
  const MassMoments<T> moments = moments_of(model, completion, x);
  Vector3<T> centre{at(completion.centre[0]), at(completion.centre[1]), at(completion.centre[2])};
  bool massive = true;
  if constexpr (has_value<T>) massive = autodiff::value_of(moments.mass) > 0.0;
  if (massive)
    for (int i = 0; i < 3; ++i) centre[i] = moments.first[i] / moments.mass;
  x.push_back(moments.mass);
  for (const T& c : centre) x.push_back(c);
  Matrix3<T> second;
  for (int i = 0; i < 3; ++i)
    for (int j = i; j < 3; ++j) second[i][j] = moments.second[i][j] - moments.mass * (centre[i] * centre[j]);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    x.push_back(at(completion.inertia[i]) + second[j][j] + second[k][k]);
  }
  x.push_back(at(completion.products[0]) - second[1][2]);
  x.push_back(at(completion.products[1]) - second[0][2]);
  x.push_back(at(completion.products[2]) - second[0][1]);
}

template <class T>
Values<T> Model::evaluate(const std::map<std::string, T>& given) const {
  Values<T> values;
  const auto evaluated = [&](const Definition& definition) {
    std::vector<T> arguments;
    arguments.reserve(definition.uses.size());
    for (const int parameter_index : definition.uses) arguments.push_back(values.parameters[parameter_index]);
    T x = definition.expression.evaluate<T>(arguments);
    if constexpr (has_value<T>)
      if (!std::isfinite(autodiff::value_of(x)))
        fail(definition.line, "'" + shown(definition.text) + "' is not a finite number");
    return x;
  };
  const auto plain = [](const std::vector<T>& numbers) {
    std::vector<double> all;
    for (const T& x : numbers) all.push_back(autodiff::value_of(x));
    return all;
  };
  for (const auto& [parameter_name, value] : given)
    if (parameter(parameter_name) < 0) fail_unknown(parameter_name);
  values.parameters.reserve(parameters.size());
  for (const Parameter& one : parameters) {
    const auto at_name = given.find(one.name);
    if (at_name == given.end()) {
      values.parameters.push_back(evaluated(one.definition));
      continue;
    }
    if constexpr (has_value<T>)
      if (!std::isfinite(autodiff::value_of(at_name->second)))
        fail(0, one.name + " is set to a value that is not a finite number");
    values.parameters.push_back(at_name->second);
  }
  if constexpr (has_value<T>) check_requirements(plain(values.parameters));
  values.numbers.reserve(number_count);
  for (const Definition& definition : definitions) values.numbers.push_back(evaluated(definition));
  if constexpr (has_value<T>) check_numbers(plain(values.numbers));
  for (const Completion& completion : completions) append_completion(*this, completion, values.numbers);
  if constexpr (has_value<T>)
    if (dimension == 3) check_inertias(plain(values.numbers));
  return values;
}

template <class P>
Tree<P> Model::tree(const std::vector<P>& all_numbers) const {
  return structure.mapped<P>([&](const Number& x) { return at(x, all_numbers); });
}

#ifndef DOXYGEN  // it takes these for definitions
// Compiled in model.cpp, for the number types that many files use.
extern template Tree<double> Model::tree<double>(const std::vector<double>&) const;
extern template std::vector<Vector3<double>> Model::corners<double>(const Shape&, const std::vector<double>&) const;
extern template Values<double> Model::evaluate<double>(const std::map<std::string, double>&) const;
extern template Tree<autodiff::Var> Model::tree<autodiff::Var>(const std::vector<autodiff::Var>&) const;
extern template std::vector<Vector3<autodiff::Var>> Model::corners<autodiff::Var>(
    const Shape&, const std::vector<autodiff::Var>&) const;
extern template Tree<autodiff::Differential> Model::tree<autodiff::Differential>(
    const std::vector<autodiff::Differential>&) const;
extern template std::vector<Vector3<autodiff::Differential>> Model::corners<autodiff::Differential>(
    const Shape&, const std::vector<autodiff::Differential>&) const;
extern template Values<autodiff::Differential> Model::evaluate<autodiff::Differential>(
    const std::map<std::string, autodiff::Differential>&) const;
#endif

}  // namespace dodyn::systems
