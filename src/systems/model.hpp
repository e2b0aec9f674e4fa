// A system as a text (docs/models.md): read and checked once, evaluated for any values of its parameters.
//
//   const Model model = find_model("hopper.model");
//   const auto values = model.evaluate<double>({{"leg_stiffness", 2000.0}});  // of all parameters and numbers
//   const Tree<double> tree = model.tree<double>(values.numbers);
//
// The numbers of a text are expressions of its parameters. Those that depend on any make up one list, in the order of
// the text and each distinct one once; then follow the numbers that are worked out from them: the mass, the centre and
// the inertia of links with shapes and point masses, and default centres. So a function of a tree is recorded once,
// the numbers its inputs, and another design is other numbers.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "settings/config_error.hpp"
#include "settings/expression.hpp"
#include "settings/ini.hpp"
#include "systems/tree.hpp"

namespace dodyn::systems {

// A number of a text: one of the model's numbers, or a constant.
struct Number {
  int index = -1;
  double constant = 0.0;
  Number() = default;
  Number(double value) : constant(value) {}  // NOLINT: a constant is a number
  bool is_zero() const { return index < 0 && constant == 0.0; }
};

// Of a parameter or a number: what it is computed from, and where it stands.
struct Definition {
  Expression expression;
  std::vector<int> uses;  // the parameters that are its quantities, in their order
  std::string text;
  int line = 0;
};

struct Parameter {
  std::string name;
  Definition definition;
  std::string comment;  // behind it in the text: a unit, a meaning
  // In SI: that of its number, or with which its comment begins, or which follows from where it is used; "1": none.
  std::string unit = "1";
  bool counts = false;  // how many links there are depends on it, so that a model is for one value
};

// A convex part of a link.
struct Shape {
  enum class Kind { vertices, box, prism, ball };
  std::string name;
  int link = 0;
  Kind kind = Kind::box;
  std::vector<std::array<Number, 3>> vertices;
  std::array<Number, 3> size;  // box: lengths; prism: side, height; ball: radius. m
  Number scale = 1.0;          // factor of all its lengths
  int corners = 0;             // of a prism's base, of a planar ball; of a spatial ball its levels of refinement
  std::array<Number, 3> at;    // place of its centre (of `vertices`: of their origin) in the link's frame
  struct Turn {
    int axis;
    Number angle;
  };
  std::vector<Turn> turns;                       // applied first, in this order, each about an axis of the shape
  std::optional<Number> density, mass;           // kg/m^3 (kg/m^2 in the plane), or kg spread evenly; neither: no mass
  std::optional<std::array<Number, 3>> outward;  // of a floor or a wall: its normal
  int line = 0;
};
struct PointMass {
  std::string name;
  int link = 0;
  std::array<Number, 3> at;
  Number mass;
};
struct Surface {
  std::string name;
  Number restitution = 1.0, friction = 0.0;
};
// Whether two links may touch.
struct ContactRule {
  int one = 0, other = 0;
  bool allowed = true;
};

template <class T>
struct Values {
  std::vector<T> parameters;  // in their order
  std::vector<T> numbers;
};

struct Model {
  std::string name, origin;
  int dimension = 2;
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;  // of the first numbers
  Tree<Number> structure;
  std::vector<PointMass> masses;
  std::vector<Shape> shapes;
  std::vector<Surface> surfaces;
  std::vector<int> link_surfaces;  // of every link; -1: smooth and elastic
  std::vector<ContactRule> contacts;
  bool others_touch = true;  // links that no rule names

  // Of the numbers, those that come after the definitions: what is worked out of a link.
  struct Completion {
    int link = 0;
    bool composite = false;  // mass, centre, inertia, products; otherwise the centre alone
    Number mass;             // what the text says of the link itself
    std::array<Number, 3> centre, inertia, products;
    int first = 0;  // its first number
    int line = 0;
  };
  std::vector<Completion> completions;
  int numbers() const { return number_count; }
  int number_count = 0;

  // Numbers that must not be negative.
  struct Sign {
    Number number;
    std::string what, text, allowed;  // "mass", "2 - knee", "0 or more, kg"
    int line = 0;
    bool positive = false;  // nor zero
  };
  std::vector<Sign> signs;

  // Conditions on the parameters that the text requires.
  struct Requirement {
    std::string name;
    Definition condition;
  };
  std::vector<Requirement> requirements;

  // Index of a parameter; -1: none of that name.
  int parameter(std::string_view parameter_name) const;

  // Values of all parameters, where `given` names other ones than the text has, and of all numbers. T: double, or any
  // number with arithmetic and, as far as the text uses them, sin, cos, sqrt, exp, log, abs, max found by
  // argument-dependent lookup. Throws ConfigError where a name is not a parameter, and, of numbers that have a value_of,
  // where one is not finite or has a sign that it may not have, or a requirement of the text does not hold.
  template <class T>
  Values<T> evaluate(const std::map<std::string, T>& given = {}) const;

  template <class P>
  Tree<P> tree(const std::vector<P>& all_numbers) const {
    return structure.mapped<P>([&](const Number& x) { return at(x, all_numbers); });
  }

  template <class T>
  static T at(const Number& x, const std::vector<T>& all_numbers) {
    return x.index < 0 ? T(x.constant) : all_numbers[static_cast<std::size_t>(x.index)];
  }

  // What a name in a formula means, parameters included (index: the parameter's). Nothing: it is unknown.
  std::optional<Variable> variable(const Expression::Quantity& quantity) const;

  // Its unit; of a parameter Parameter::unit.
  std::string_view unit(const Variable& variable) const;
  bool slides(int coordinate) const;  // it is a length, m; otherwise an angle, rad

  std::vector<const Shape*> shapes_of(int link) const;
  // Corners of a shape in its link's frame.
  template <class T>
  std::vector<Vector3<T>> corners(const Shape& shape, const std::vector<T>& all_numbers) const;

  // Of a model that walks, whatever its numbers: throws ConfigError where its links and joints cannot exchange their roles.
  void check_legs() const;
  // With these numbers: throws ConfigError where the legs, exchanged, are not the same legs.
  void check_walker(const Tree<double>& tree) const;

  // The sections of the text, in their order.
  struct Section {
    std::string kind, name;  // "constraint", "rope"
    int line = 0;
  };
  std::vector<Section> sections;

  [[noreturn]] void fail(int line, const std::string& complaint) const;
  int swing_line = 0;
  std::vector<int> link_lines, range_lines;
  std::vector<std::vector<std::string>> link_defaults;  // what the text does not say of each link
  bool gravity_given = false;
};

// Reads a model. Throws ConfigError, "ORIGIN:LINE: what, and what is allowed", of mistakes in the text and of default
// values that make no sense; `judge` false leaves values to evaluate() and check_walker().
Model read_model(std::string_view text, const std::string& origin, bool judge = true);

// Models that come with the program, models/*.model, by name.
const std::map<std::string, std::string>& shipped_models();

// Return a shipped model or a file: its text, or the model read from it. Throw ConfigError.
std::string model_text(const std::string& name_or_path);
Model find_model(const std::string& name_or_path);

}  // namespace dodyn::systems

#include "systems/model_values.hpp"
