#include "systems/description.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "record/text.hpp"
#include "systems/bodies.hpp"
#include "systems/sections.hpp"

namespace dodyn::systems {
namespace {

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::abs(x) < 1e-15 ? 0.0 : x);
  return text;
}

std::string vector(const std::array<double, 3>& r, int dimension) {
  std::string text;
  for (int i = 0; i < dimension; ++i) text += (i ? ", " : "") + number(r[i]);
  return text;
}

// A table whose columns are as wide as their widest cells.
class Table {
 public:
  explicit Table(std::string title) : title_(std::move(title)) {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const {
    if (rows_.empty()) return "";
    std::vector<std::size_t> widths;
    for (const auto& cells : rows_)
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        widths[i] = std::max(widths[i], std::min<std::size_t>(cells[i].size(), 64));
      }
    std::string all = "\n" + title_ + "\n";
    for (const auto& cells : rows_) {
      std::string line = " ";
      for (std::size_t i = 0; i < cells.size(); ++i) {
        line += " " + cells[i];
        if (cells[i].size() < widths[i]) line += std::string(widths[i] - cells[i].size(), ' ');
        line += ' ';
      }
      all += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    return all;
  }

 private:
  std::string title_;
  std::vector<std::vector<std::string>> rows_;
};

std::string axis(const Link<double>& link, const Move& move) {
  return move.is_oblique() ? "(" + vector(link.axes[move.axis - 3], 3) + ")" : std::string(1, "xyz"[move.axis]);
}

std::string joint(const Link<double>& link) {
  std::string text;
  const auto add = [&](const Move& move) {
    text += (text.empty() ? "" : ", ") + std::string(move.kind == Move::slide ? "slide " : "turn ") + axis(link, move);
  };
  for (const Move& move : link.moves) add(move);
  if (link.follower) {
    add(link.follower->move);
    text += " by " + link.follower->place.expression.text();
  }
  return text.empty() ? "fixed" : text;
}

// Returns a sentence if the moments of inertia of a link in 3D are impossible, because the largest moment exceeds the
// sum of the other two. Empty: they are possible.
std::string impossible_inertia(const Link<double>& link) {
  constexpr double rounding = 1e-6;  // relative; files give few digits
  const Eigen::Vector3d moments =
      Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(inertia_of(link), Eigen::EigenvaluesOnly).eigenvalues();
  if (moments[2] <= (moments[0] + moments[1]) * (1.0 + rounding) || moments[0] + moments[1] == 0.0) return "";
  return "no body has these principal moments: " + number(moments[2]) + " exceeds " + number(moments[0]) + " + " +
         number(moments[1]) + " kg m2";
}

// Returns the numbers of bodies and joints of the bodies view; if there is none, "no: " and the reason.
std::string simulated(const Model& model, const Values<double>& values, const std::vector<GapContact>& contacts) {
  try {
    check_honoured(model, "simulation");
    const auto bodies_of = [](const auto& view) {
      const auto count = [](std::size_t n, const std::string& one, const std::string& several) {
        return std::to_string(n) + " " + (n == 1 ? one : several);
      };
      return count(view.world.bodies.size(), "body", "bodies") + ", " +
             count(view.world.joints.size(), "joint", "joints");
    };
    WorldOptions options;
    options.one_sided = &contacts;
    return model.dimension == 2 ? bodies_of(bodies<2>(model, values, {}, options))
                                : bodies_of(bodies<3>(model, values, {}, options));
  } catch (const ConfigError& error) {
    return std::string("no: ") + error.what();
  }
}

}  // namespace

// This function is not divided, because it has the order of its output: one independent table after the other.
std::string description(const Model& model, const Values<double>& values, const std::vector<GapContact>& contacts) {
  const auto tree = model.tree(values.numbers);
  const int d = model.dimension;
  double mass = 0.0;
  for (const auto& link : tree.links)
    if (tree.carrier(&link - tree.links.data()) >= 0) mass += link.mass;
  std::string text = (model.name.empty() ? model.origin : model.name + " (" + model.origin + ")") + ": " +
                     (d == 2 ? "in the plane, y up" : "in space, z up") + "; " + counted(tree.n(), "degree") +
                     " of freedom, " + number(mass) + " kg that move\n";
  const auto at = [&](const Number& x) { return Model::at(x, values.numbers); };
  const auto link_name = [&](int link) { return link < 0 ? std::string("ground") : tree.links[link].name; };
  const auto place = [&](const Place<double>& p) { return link_name(p.link) + " : " + vector(p.at, d); };
  const auto of = [&](const std::string& coordinate) { return "on " + coordinate; };

  Table parameters("parameters");
  for (std::size_t i = 0; i < model.parameters.size(); ++i) {
    const auto& parameter = model.parameters[i];
    const auto& definition = parameter.definition;
    const bool stated = parameter.unit == "1" || parameter.comment.starts_with(parameter.unit);
    const std::string unit = stated ? "" : parameter.unit + (parameter.comment.empty() ? "" : ", ");
    parameters.row({parameter.name, number(values.parameters[i]), unit + parameter.comment,
                    definition.uses.empty() ? "" : "= " + definition.text, "line " + std::to_string(definition.line)});
  }
  Table coordinates("coordinates");
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i) {
      const bool slide = link.moves[i].kind == Move::slide;
      coordinates.row({tree.coordinate_names[link.first + static_cast<int>(i)], slide ? "m" : "rad",
                       std::string(slide ? "slide along " : "turn about ") + axis(link, link.moves[i]),
                       "of " + link.name});
    }
  Table links("links: parent, joint, mass (kg), centre of mass (m), inertia about it (kg m2); what is default");
  Table doubts("doubtful");
  for (std::size_t l = 0; l < tree.links.size(); ++l) {
    const auto& link = tree.links[l];
    std::string defaults;
    for (const auto& one : model.link_defaults[l]) defaults += (defaults.empty() ? "" : "; ") + one;
    links.row(
        {link.name, "on " + link_name(link.parent), joint(link), number(link.mass), vector(link.centre, d),
         d == 2 ? number(link.inertia[2])
                : vector(link.inertia, 3) +
                      (link.skew ? "; xy, xz, yz " + vector({link.products[2], link.products[1], link.products[0]}, 3)
                                 : ""),
         defaults});
    if (const std::string odd = d == 3 ? impossible_inertia(link) : ""; !odd.empty()) doubts.row({link.name, odd});
  }
  Table surroundings("surroundings");
  surroundings.row({"gravity", number(tree.gravity) + " m/s2", "downwards", model.gravity_given ? "" : "default"});
  if (tree.has_lateral_gravity) surroundings.row({"acceleration", vector(tree.lateral_gravity, d) + " m/s2", "across"});
  if (!tree.charges.empty()) surroundings.row({"charge constant", number(tree.charge_constant) + " N m2"});
  Table masses("point masses");
  for (const auto& one : model.masses)
    masses.row({one.name, number(at(one.mass)) + " kg",
                "at " + link_name(one.link) + " : " + vector({at(one.at[0]), at(one.at[1]), at(one.at[2])}, d)});
  Table shapes("shapes");
  for (const auto& shape : model.shapes)
    shapes.row({shape.name, "on " + link_name(shape.link),
                std::to_string(model.corners(shape, values.numbers).size()) + " corners",
                shape.density ? number(at(*shape.density)) + (d == 2 ? " kg/m2" : " kg/m3")
                : shape.mass  ? number(at(*shape.mass)) + " kg"
                              : "weighs nothing"});
  Table points("points");
  for (const auto& point : tree.named_points) points.row({point.name, place(point.place)});
  Table springs("springs");
  for (const auto& spring : tree.springs) {
    const bool line = spring.coordinate < 0;
    springs.row({spring.name,
                 line ? place(spring.from) + " -> " + place(spring.to) : of(tree.coordinate_names[spring.coordinate]),
                 "stiffness " + number(spring.stiffness), (line ? "length " : "rest ") + number(spring.rest),
                 "damping " + number(spring.damping)});
  }
  Table forces("charges, drag, energies and forces");
  for (const auto& charge : tree.charges)
    forces.row({charge.name, "charge " + number(charge.value), "at " + place(charge.place)});
  for (const auto& drag : tree.drags)
    forces.row({drag.name, "drag " + number(drag.linear) + " N s/m, " + number(drag.angular) + " N m s",
                "on " + link_name(drag.link)});
  for (const auto& potential : tree.potentials)
    forces.row({potential.name, "energy " + potential.energy.expression.text()});
  for (const auto& one : tree.rotors)
    forces.row({one.name, "mass " + number(one.mass), "driven to " + one.place.expression.text()});
  for (const auto& load : tree.loads) {
    std::string components;
    for (const auto& component : load.components)
      components += (components.empty() ? "" : ", ") + component.expression.text();
    forces.row({load.name, "force " + components,
                load.coordinate >= 0 ? of(tree.coordinate_names[load.coordinate]) : "at " + place(load.place)});
  }
  Table actuators("actuators");
  for (const auto& actuator : tree.actuators)
    actuators.row(
        {actuator.name,
         actuator.coordinate >= 0 ? of(tree.coordinate_names[actuator.coordinate]) : "at " + place(actuator.place),
         actuator.limit ? "limit " + number(*actuator.limit) : "no limit (default)", "loss " + number(actuator.loss)});
  Table ranges("ranges");
  for (const auto& range : tree.ranges)
    ranges.row({range.name, of(tree.coordinate_names[range.coordinate]),
                "from " + (range.from ? number(*range.from) : std::string("anywhere")),
                "to " + (range.to ? number(*range.to) : std::string("anywhere")),
                range.speed ? "speed at most " + number(*range.speed) : ""});
  Table gaps("contacts and stops: gap");
  for (const auto& contact : contacts)
    gaps.row({contact.name, contact.gap.expression.text(), "restitution " + number(at(contact.restitution)),
              "friction " + number(at(contact.friction)), at(contact.latch) != 0.0 ? "latches" : ""});
  Table surfaces("surfaces");
  for (const auto& surface : model.surfaces)
    surfaces.row({surface.name.empty() ? "of all others" : surface.name,
                  "restitution " + number(at(surface.restitution)), "friction " + number(at(surface.friction))});
  if (!model.shapes.empty() && std::ranges::count(model.link_surfaces, -1) > 0)
    surfaces.row({"of all others", "restitution 1", "friction 0", "default"});
  Table requirements("requires");
  for (const auto& requirement : model.requirements) requirements.row({requirement.name, requirement.condition.text});
  Table views("views");
  views.row({"walks", tree.swing_link >= 0
                          ? "yes: its legs can be exchanged, the swing foot is the end of " + link_name(tree.swing_link)
                          : "no swing-foot"});
  views.row({"contact simulation", simulated(model, values, contacts)});
  for (const Table* table : {&parameters, &coordinates, &links, &surroundings, &masses, &shapes, &points, &springs,
                             &forces, &actuators, &ranges, &gaps, &surfaces, &requirements, &views, &doubts})
    text += table->text();
  return text;
}

}  // namespace dodyn::systems
