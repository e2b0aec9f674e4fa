#include "systems/model.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "geometry/polytope.hpp"
#include "record/text.hpp"
#include "systems/mass_matrix.hpp"

namespace dodyn::systems {

void Model::fail(int line, const std::string& complaint) const {
  throw ConfigError(origin + (line > 0 ? ":" + std::to_string(line) : "") + ": " + complaint);
}

int Model::parameter(std::string_view parameter_name) const {
  const auto at = std::ranges::find_if(parameters, [&](const auto& one) { return one.name == parameter_name; });
  return at == parameters.end() ? -1 : static_cast<int>(at - parameters.begin());
}

void Model::fail_unknown(const std::string& parameter_name) const {
  const auto names = names_of(parameters);
  fail(0, "has no parameter '" + shown(parameter_name) + "' in [parameters]" + did_you_mean(parameter_name, names) +
              "; allowed: " + (names.empty() ? "none" : listed(names)));
}

void Model::check_requirements(const std::vector<double>& parameter_values) const {
  for (const auto& [requirement, condition] : requirements) {
    std::vector<double> arguments;
    for (const int parameter_index : condition.uses) arguments.push_back(parameter_values[parameter_index]);
    if (!condition.expression.holds(arguments))
      fail(condition.line, requirement + ": '" + shown(condition.text) + "' does not hold");
  }
}

namespace {

// Throws ConfigError if one of the vertices of a shape is not a corner of their convex hull.
void check_convex(const Model& model, const std::vector<double>& defined) {
  for (const Shape& shape : model.shapes) {
    if (shape.kind != Shape::Kind::vertices) continue;  // convex by construction
    try {
      facets(model.corners(shape, defined), model.dimension, shape.name);
    } catch (const std::invalid_argument& error) {
      model.fail(shape.line, error.what());
    }
  }
}

// Throws ConfigError if no face of a shape has the outward normal that the model states: contacts would use a plane
// that the shape does not have.
void check_outward(const Model& model, const std::vector<double>& defined) {
  const int dimension = model.dimension;
  constexpr double rounding = 1e-9;  // 1 - cos of an angle that is rounding
  const auto unit_vector = [](Vector3<double> v) {
    const double length = std::sqrt(dot(v, v));
    for (double& x : v) x /= length;
    return v;
  };
  const auto direction = [&](const Vector3<double>& v) {
    std::string text = formatted("%.9g, %.9g", v[0], v[1]);
    return dimension == 2 ? text : text + formatted(", %.9g", v[2]);
  };
  for (const Shape& shape : model.shapes) {
    if (!shape.outward) continue;
    Vector3<double> outward{};
    for (int axis = 0; axis < dimension; ++axis) outward[axis] = Model::at((*shape.outward)[axis], defined);
    if (!(dot(outward, outward) > 0.0)) model.fail(shape.line, "outward is zero; allowed: a direction");
    outward = unit_vector(outward);
    const std::vector<Vector3<double>> points = model.corners(shape, defined);
    Vector3<double> nearest{};
    double best = -1.0;
    for (const auto& face : facets(points, dimension, shape.name)) {
      const Vector3<double> along = points[face[1]] - points[face[0]];
      Vector3<double> normal =
          dimension == 2 ? Vector3<double>{along[1], -along[0], 0.0} : cross(along, points[face[2]] - points[face[0]]);
      normal = unit_vector(normal);
      if (const double cosine = dot(normal, outward); cosine > best) best = cosine, nearest = normal;
    }
    if (best < 1.0 - rounding)
      model.fail(shape.line, "no face of [shape " + shape.name + "] has the outward normal " + direction(outward) +
                                 "; the nearest is " + direction(nearest));
  }
}

}  // namespace

void Model::check_numbers(const std::vector<double>& defined) const {
  for (const BoundedNumber& bound : bounds) {
    const double value = at(bound.number, defined);
    const std::string mistake = value < 0.0                      ? "negative"
                                : bound.positive && value == 0.0 ? "zero"
                                : value > bound.most             ? "above " + formatted("%g", bound.most)
                                                                 : "";
    if (!mistake.empty())
      fail(bound.line, bound.what + " = " + shown(bound.text) + " is " + mistake + "; allowed: " + bound.allowed);
  }
  for (std::size_t i = 0; i < structure.ranges.size(); ++i) {
    const auto& range = structure.ranges[i];
    if (range.from && range.to && at(*range.from, defined) > at(*range.to, defined))
      fail(range_lines[i], "[joint-limit " + range.name + "] has from above to; exchange them");
  }
  check_convex(*this, defined);
  check_outward(*this, defined);
}

void Model::check_inertias(const std::vector<double>& all_numbers) const {
  constexpr double rounding = 1e-6;  // relative; files give few digits
  for (std::size_t l = 0; l < structure.links.size(); ++l) {
    const Link<Number>& link = structure.links[l];
    if (!link.skew) continue;
    Link<double> numbers;
    for (int i = 0; i < 3; ++i) {
      numbers.inertia[i] = at(link.inertia[i], all_numbers);
      numbers.products[i] = at(link.products[i], all_numbers);
    }
    const Eigen::Vector3d moments =
        Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(inertia_of(numbers), Eigen::EigenvaluesOnly).eigenvalues();
    if (moments[0] < -rounding * moments[2])
      fail(link_lines[l], "link " + link.name +
                              formatted(" has the principal moments of inertia %.6g, %.6g and %.6g kg m2; allowed: 0 "
                                        "or more; correct its inertia or products",
                                        moments[0], moments[1], moments[2]));
  }
}

std::vector<const Shape*> Model::shapes_of(int link) const {
  std::vector<const Shape*> all;
  for (const Shape& shape : shapes)
    if (shape.link == link) all.push_back(&shape);
  return all;
}

std::optional<Variable> Model::variable(const Expression::Quantity& quantity) const {
  const auto index_in = [](const auto& all, std::string_view wanted) {
    const auto at = std::ranges::find_if(all, [&](const auto& one) { return one.name == wanted; });
    return at == all.end() ? -1 : static_cast<int>(at - all.begin());
  };
  const auto coordinate = [&](std::string_view wanted) {
    const auto& names = structure.coordinate_names;
    const auto at = std::ranges::find(names, wanted);
    return at == names.end() ? -1 : static_cast<int>(at - names.begin());
  };
  // A point may be prefixed by its link: female.seat for [point seat].
  const auto point = [&](std::string_view wanted) {
    if (const int at = index_in(structure.named_points, wanted); at >= 0) return at;
    const auto dot = wanted.find('.');
    if (dot == std::string_view::npos) return -1;
    const int at = index_in(structure.named_points, wanted.substr(dot + 1));
    return at >= 0 && structure.named_points[at].place.link == index_in(structure.links, wanted.substr(0, dot)) ? at
                                                                                                                : -1;
  };
  // a component of a point, such as POINT.x
  const auto component = [&](std::string_view wanted, Variable::Kind kind) -> std::optional<Variable> {
    if (wanted.size() < 3 || wanted[wanted.size() - 2] != '.') return std::nullopt;
    const int axis = wanted.back() - 'x', at = point(wanted.substr(0, wanted.size() - 2));
    if (axis < 0 || axis >= dimension || at < 0) return std::nullopt;
    return Variable{kind, at, -1, axis};
  };
  const auto some = [](Variable v) { return v.index >= 0 ? std::optional(v) : std::nullopt; };

  const std::string& what = quantity.name;
  const auto& arguments = quantity.arguments;
  if (arguments.empty()) {
    if (const int at = coordinate(what); at >= 0) return Variable{Variable::coordinate, at};
    if (const int at = parameter(what); at >= 0) return Variable{Variable::parameter, at};
    if (what.starts_with("u.")) return some({Variable::control, index_in(structure.actuators, what.substr(2))});
    return component(what, Variable::position);
  }
  if (what == "rate" && arguments.size() == 1) {
    if (const int at = coordinate(arguments[0]); at >= 0) return Variable{Variable::rate, at};
    return component(arguments[0], Variable::velocity);
  }
  if (what == "speed" && arguments.size() == 1) return some({Variable::speed, point(arguments[0])});
  if (what == "distance" && arguments.size() == 2) {
    const int one = point(arguments[0]), other = point(arguments[1]);
    if (one >= 0 && other >= 0) return Variable{Variable::distance, one, other};
  }
  if (what == "angle" && dimension == 2 && !arguments.empty() && arguments.size() <= 2) {
    const int one = index_in(structure.links, arguments[0]),
              other = arguments.size() == 2 ? index_in(structure.links, arguments[1]) : -1;
    if (one >= 0 && (other >= 0 || arguments.size() == 1)) return Variable{Variable::angle, one, other};
  }
  return std::nullopt;
}

bool Model::slides(int coordinate) const {
  for (const Link<Number>& link : structure.links)
    if (coordinate >= link.first && coordinate < link.first + std::ssize(link.moves))
      return link.moves[coordinate - link.first].kind == Move::slide;
  return false;
}

std::string_view Model::unit(const Variable& variable) const {
  switch (variable.kind) {
    case Variable::parameter:
      return parameters[variable.index].unit;
    case Variable::coordinate:
      return slides(variable.index) ? "m" : "rad";
    case Variable::rate:
      return slides(variable.index) ? "m/s" : "rad/s";
    case Variable::position:
    case Variable::distance:
      return "m";
    case Variable::velocity:
    case Variable::speed:
      return "m/s";
    case Variable::angle:
      return "rad";
    case Variable::control:
      break;
  }
  const auto& actuator = structure.actuators[variable.index];
  const auto& along = actuator.force;
  const bool pushes = actuator.coordinate >= 0
                          ? slides(actuator.coordinate)
                          : std::ranges::any_of(along, [](const Number& x) { return !x.is_zero(); });
  return pushes ? "N" : "N m";
}

std::vector<std::array<int, 3>> facets(const std::vector<Vector3<double>>& corners, int dimension,
                                       const std::string& name) {
  std::vector<std::array<int, 3>> faces;
  const auto facets_of = [&]<int n>(std::integral_constant<int, n>) {
    std::vector<geometry::Vector<n>> points;
    for (const auto& corner : corners) points.push_back(Eigen::Map<const geometry::Vector<n>>(corner.data()));
    const geometry::Polytope<n> polytope(points, "shape " + name);
    for (const auto& facet : polytope.facets()) {
      std::array<int, 3> face{};
      for (int i = 0; i < n; ++i) {
        // finds the corner in the given list: the polytope may have reordered them
        const geometry::Vector<n> corner = polytope.corner(facet[i]);
        for (std::size_t k = 0; k < points.size(); ++k)
          if (points[k] == corner) face[i] = k;
      }
      faces.push_back(face);
    }
  };
  if (dimension == 2)
    facets_of(std::integral_constant<int, 2>());
  else
    facets_of(std::integral_constant<int, 3>());
  return faces;
}

std::vector<Vector3<double>> ball_directions(int levels) {
  const double golden = 0.5 * (1.0 + std::sqrt(5.0));
  std::vector<Eigen::Vector3d> corners;
  for (int axis = 0; axis < 3; ++axis)
    for (const double a : {-1.0, 1.0})
      for (const double b : {-golden, golden}) {
        Eigen::Vector3d corner = Eigen::Vector3d::Zero();
        corner[(axis + 1) % 3] = a;
        corner[(axis + 2) % 3] = b;
        corners.push_back(corner.normalized());
      }
  // Refines a sphere: the neighbours of a corner are the nearest ones, and the middle of every edge becomes a new
  // corner.
  double reach = 1.1;  // between the icosahedron's edge length, 1.0515, and the next distance, 1.70
  for (int level = 0; level < levels; ++level) {
    const std::size_t count = corners.size();
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t j = 0; j < i; ++j)
        if ((corners[i] - corners[j]).norm() < reach) corners.push_back((corners[i] + corners[j]).normalized());
    reach = 0.65;  // edges of 42 corners are 0.547 and 0.618; the next distance is 1
  }
  std::vector<Vector3<double>> directions;
  for (const auto& corner : corners) directions.push_back({corner[0], corner[1], corner[2]});
  return directions;
}

template Tree<double> Model::tree<double>(const std::vector<double>&) const;
template std::vector<Vector3<double>> Model::corners<double>(const Shape&, const std::vector<double>&) const;
template Values<double> Model::evaluate<double>(const std::map<std::string, double>&) const;
template Tree<autodiff::Var> Model::tree<autodiff::Var>(const std::vector<autodiff::Var>&) const;
template std::vector<Vector3<autodiff::Var>> Model::corners<autodiff::Var>(const Shape&,
                                                                           const std::vector<autodiff::Var>&) const;
template Tree<autodiff::Differential> Model::tree<autodiff::Differential>(
    const std::vector<autodiff::Differential>&) const;
template std::vector<Vector3<autodiff::Differential>> Model::corners<autodiff::Differential>(
    const Shape&, const std::vector<autodiff::Differential>&) const;
template Values<autodiff::Differential> Model::evaluate<autodiff::Differential>(
    const std::map<std::string, autodiff::Differential>&) const;

}  // namespace dodyn::systems
