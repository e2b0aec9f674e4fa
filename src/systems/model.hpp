// A system from a model file (docs/models.md): read and checked once, evaluated for any values of its parameters.
//
//   const Model model = find_model("hopper.model");
//   const auto values = model.evaluate<double>({{"leg_stiffness", 2000.0}});  // of all parameters and numbers
//   const Tree<double> tree = model.tree<double>(values.numbers);
//
// The numbers of a model file are expressions of its parameters. The list `numbers` has those that depend on a
// parameter, in the order of the file and without repetitions. Then it has the numbers computed from them: mass, centre
// and inertia of links with shapes and point masses, and default centres. So a function of a tree is recorded once with
// the numbers as inputs, and another design has other numbers.
#pragma once

#include <array>
#include <limits>
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

// A number of a model file: an index in the model's numbers, or a constant.
struct Number {
  int index = -1;
  double constant = 0.0;
  Number() = default;
  Number(double value) : constant(value) {}  // NOLINT: a constant is a number
  bool is_zero() const { return index < 0 && constant == 0.0; }
};

// The expression of a parameter or a number, and its line in the file.
struct Definition {
  Expression expression;
  std::vector<int> uses;  // indices of the parameters in the expression, in their order
  std::string text;
  int line = 0;
};

struct Parameter {
  std::string name;
  Definition definition;
  std::string comment;  // comment after it in the file: a unit, a meaning
  // SI unit: from the unit of its number, otherwise from the beginning of its comment, otherwise from the formulas that
  // use it; "1": none.
  std::string unit = "1";
  bool counts = false;  // the number of links depends on it, so that the model is valid for one value only
};

// A convex part of a link.
struct Shape {
  enum class Kind { vertices, box, prism, ball };
  std::string name;
  int link = 0;
  Kind kind = Kind::box;
  std::vector<std::array<Number, 3>> vertices;
  std::array<Number, 3> size;  // box: lengths; prism: side, height; ball: radius, m
  Number scale = 1.0;          // factor on all lengths
  int corners = 0;             // corners of a prism's base or a planar ball; for a spatial ball number of refinements
  std::array<Number, 3> at;    // position of its centre (`vertices`: of their origin) in the link's frame
  struct Turn {
    int axis;
    Number angle;
  };
  std::vector<Turn> turns;                       // applied before the translation, in this order, about the axes of the
                                                 // shape
  std::optional<Number> density, mass;           // kg/m^3 (kg/m^2 in the plane), or total kg; neither: massless
  std::optional<std::array<Number, 3>> outward;  // for a floor or a wall: outward normal of a face, any length
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
// States whether two links may touch.
struct ContactRule {
  int one = 0, other = 0;
  bool allowed = true;
};

template <class T>
struct Values {
  std::vector<T> parameters;  // in the order of the file
  std::vector<T> numbers;
};

struct Model {
  std::string name, origin;
  int dimension = 2;
  std::vector<Parameter> parameters;
  std::vector<Definition> definitions;  // definitions of the first numbers; completions compute the others
  Tree<Number> structure;
  std::vector<PointMass> masses;
  std::vector<Shape> shapes;
  std::vector<Surface> surfaces;
  std::vector<int> link_surfaces;  // [links] index of the surface; -1: frictionless and elastic
  std::vector<ContactRule> contacts;
  bool others_touch = true;  // whether links without a rule may touch

  // Numbers computed for a link, which follow the definitions.
  struct Completion {
    int link = 0;
    bool composite = false;  // true: mass, centre, inertia, products; false: only the centre, halfway to the end
    Number mass;             // mass of the link itself in the file
    std::array<Number, 3> centre, inertia, products;
    int first = 0;  // index of its first number
    int line = 0;
  };
  std::vector<Completion> completions;
  int numbers() const { return number_count; }
  int number_count = 0;

  // Numbers that must not be negative, and may have an upper bound.
  struct BoundedNumber {
    Number number;
    std::string what, text, allowed;  // "mass", "2 - knee", "0 or more, kg"
    int line = 0;
    bool positive = false;  // must not be zero either
    double most = std::numeric_limits<double>::infinity();
  };
  std::vector<BoundedNumber> bounds;

  // A condition on the parameters that the model requires.
  struct Requirement {
    std::string name;
    Definition condition;
  };
  std::vector<Requirement> requirements;

  // Returns the index of a parameter; -1: unknown name.
  int parameter(std::string_view parameter_name) const;

  // Returns the values of all parameters (`given` replaces values of the file) and of all numbers. T: double, or a
  // number type with arithmetic and, if the model uses them, sin, cos, sqrt, exp, log, abs, max (argument-dependent
  // lookup). Throws ConfigError if a name is not a parameter. For types with value_of it also throws if a number is not
  // finite, and as check_requirements(), check_numbers() and (3D) check_inertias() do.
  template <class T>
  Values<T> evaluate(const std::map<std::string, T>& given = {}) const;

  template <class P>
  Tree<P> tree(const std::vector<P>& all_numbers) const;

  template <class T>
  static T at(const Number& x, const std::vector<T>& all_numbers) {
    return x.index < 0 ? T(x.constant) : all_numbers[x.index];
  }

  // Returns the meaning of a name in a formula, including parameters (index: the parameter's). nullopt: unknown.
  std::optional<Variable> variable(const Expression::Quantity& quantity) const;

  // Returns the unit of a variable; for a parameter Parameter::unit.
  std::string_view unit(const Variable& variable) const;
  bool slides(int coordinate) const;  // returns whether a coordinate is a length, m; otherwise it is an angle, rad

  std::vector<const Shape*> shapes_of(int link) const;
  // Returns the corners of a shape in its link's frame.
  template <class T>
  std::vector<Vector3<T>> corners(const Shape& shape, const std::vector<T>& all_numbers) const;

  // The sections of the file, in their order.
  struct Section {
    std::string kind, name;  // "constraint", "rope"
    int line = 0;
  };
  std::vector<Section> sections;

  [[noreturn]] void fail(int line, const std::string& complaint) const;
  [[noreturn]] void fail_unknown(const std::string& parameter_name) const;
  // Throws ConfigError if a requirement is violated.
  void check_requirements(const std::vector<double>& parameter_values) const;
  // Throws ConfigError if a number is outside its bounds, a range has from above to, the vertices of a shape are not
  // convex, or a shape has no face with the normal `outward`. `defined`: the numbers of `definitions`.
  void check_numbers(const std::vector<double>& defined) const;
  // Throws ConfigError if a link with products of inertia has a negative principal moment.
  void check_inertias(const std::vector<double>& all_numbers) const;
  int swing_line = 0;
  std::vector<int> link_lines, range_lines;
  std::vector<std::vector<std::string>> link_defaults;  // [links] keys that have their default values
  bool gravity_given = false;
};

// Reads a model. Throws ConfigError, "ORIGIN:LINE: what, and what is allowed", for errors in the text and for invalid
// default values. With `judge` false, only evaluate() and check_walker() check values.
Model read_model(std::string_view text, const std::string& origin, bool judge = true);

// Returns the shipped models, models/*.model, by name.
const std::map<std::string, std::string>& shipped_models();

// For walkers: throws ConfigError if the links and joints cannot exchange their roles for any numbers.
void check_legs(const Model& model);
// For walkers with these numbers: throws ConfigError if the exchanged legs differ.
void check_walker(const Model& model, const Tree<double>& tree);

// Return the text of a shipped model or of a file, or the model read from it. Shipped models have priority. Throw
// ConfigError.
std::string model_text(const std::string& name_or_path);
Model find_model(const std::string& name_or_path);

}  // namespace dodyn::systems

#include "systems/model_values.hpp"
