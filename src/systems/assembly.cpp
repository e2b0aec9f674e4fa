#include "systems/assembly.hpp"

#include "autodiff/tape.hpp"
#include "record/text.hpp"
#include "systems/sections.hpp"

namespace dodyn::systems {

using autodiff::Var;
using Vars = variational::Formulation::Vars;

variational::Formulation formulation(const HybridModel& system) {
  const Model& model = system.model;
  const HybridParts& pieces = system.pieces;
  variational::Formulation f;
  f.n = model.structure.n();
  f.parameters = model.numbers();
  const auto mapped = [](const Formula<Number>& formula, const Vars& numbers) {
    Formula<Var> x{formula.expression, {}};
    for (const auto& argument : formula.arguments)
      x.arguments.push_back({argument.variable, Model::at(argument.parameter, numbers)});
    return x;
  };
  f.lagrangian = [&model](const Vars& q, const Vars& v, const Vars& p) {
    return model.tree<Var>(p).lagrangian(q.data(), v.data());
  };
  f.forces = [&model](const Vars& q, const Vars& v, const Vars& p) {
    return model.tree<Var>(p).forces(q.data(), v.data(), static_cast<const Var*>(nullptr));
  };
  f.rows = [&model, &pieces, mapped](const Vars& q, const Vars& p) {
    const auto tree = model.tree<Var>(p);
    const auto frames = tree.frames(q.data());
    const Vars v(q.size(), Var(0.0));
    Vars rows;
    const auto add = [&](const Formula<Number>& formula) {
      rows.push_back(tree.value(mapped(formula, p), frames, q.data(), v.data(), static_cast<const Var*>(nullptr)));
    };
    for (const GapContact& contact : pieces.contacts) {
      add(contact.gap);
      if (contact.slip) add(*contact.slip);
    }
    for (const HolonomicConstraint& wire : pieces.constraints) add(wire.zero);
    return rows;
  };
  f.watched = [&model, &pieces, mapped](const Vars& q, const Vars& v, const Vars& p) {
    const auto tree = model.tree<Var>(p);
    const auto frames = tree.frames(q.data(), v.data());
    Vars all;
    const auto add = [&](const Formula<Number>& formula) {
      all.push_back(tree.value(mapped(formula, p), frames, q.data(), v.data(), static_cast<const Var*>(nullptr)));
    };
    for (const Reset& exchange : pieces.resets) {
      add(exchange.guard);
      for (const auto& [at, formula] : exchange.coordinates) add(formula);
      for (const auto& [at, formula] : exchange.rates) add(formula);
    }
    return all;
  };
  return f;
}

variational::Assembly assembly(const HybridModel& system, const Values<double>& values,
                               const variational::Mechanics& mechanics) {
  const Model& model = system.model;
  const HybridParts& pieces = system.pieces;
  variational::Assembly all;
  all.mechanics = &mechanics;
  int row = 0, watched = 0;
  for (const GapContact& contact : pieces.contacts) {
    variational::Contact c;
    c.name = title_at(model, contact.line);
    c.gap = row++;
    if (contact.slip) c.slip = row++;
    c.restitution = Model::at(contact.restitution, values.numbers);
    c.friction = Model::at(contact.friction, values.numbers);
    c.latch = Model::at(contact.latch, values.numbers) != 0.0;
    if (c.latch && c.restitution > 0.0)
      model.fail(contact.line, c.name + " has latch = yes, but its restitution is " + formatted("%g", c.restitution) +
                                   "; set restitution = 0, or remove latch");
    all.contacts.push_back(std::move(c));
  }
  for (const HolonomicConstraint& wire : pieces.constraints) {
    all.constraints.push_back(row++);
    all.constraint_names.push_back("[constraint " + wire.name + "]");
  }
  for (const Reset& exchange : pieces.resets) {
    variational::Reset e;
    e.name = exchange.name;
    e.guard = watched++;
    e.coordinates.assign(model.structure.n(), -1);
    e.rates = e.coordinates;
    for (const auto& [at, formula] : exchange.coordinates) e.coordinates[at] = watched++;
    for (const auto& [at, formula] : exchange.rates) e.rates[at] = watched++;
    all.resets.push_back(std::move(e));
  }
  return all;
}

}  // namespace dodyn::systems
