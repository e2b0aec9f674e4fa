#include "evaluators/elastic/text.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "evaluators/parameters.hpp"
#include "record/text.hpp"
#include "rigid/director.hpp"
#include "settings/units.hpp"

namespace dodyn::evaluators::elastic_text {
using geometry::Vector;

namespace {

const std::vector<std::string> letters = {"x", "y", "z"}, counters = {"i", "j", "k"};

// Reads a section with the quantities that its entries may use.
struct Reader {
  const CustomSection& section;
  Numbers known;

  const CustomEntry& needed(const std::string& key) const {
    if (const CustomEntry* entry = section.find(key)) return *entry;
    throw section.error("has no " + key);
  }
  double number(const CustomEntry& entry, const std::string& text) const { return value(entry, text, known); }
  double number(const std::string& key, double otherwise) const {
    const CustomEntry* entry = section.find(key);
    return entry ? number(*entry, entry->value) : otherwise;
  }
  template <int n>
  Vector<n> vector(const std::string& key, const Vector<n>& otherwise = Vector<n>::Zero()) const {
    const CustomEntry* entry = section.find(key);
    return entry ? list<n>(*entry) : otherwise;
  }
  template <int n>
  Vector<n> list(const CustomEntry& entry) const {
    const auto parts = split_list(entry.value);
    if (std::ssize(parts) != n) throw entry.error(formatted("expected %d numbers, separated by commas", n));
    Vector<n> v;
    for (int a = 0; a < n; ++a) v[a] = number(entry, parts[a]);
    if (!v.allFinite()) throw entry.error("has a value that is not a finite number");
    return v;
  }
  bool yes(const std::string& key) const {
    const CustomEntry* entry = section.find(key);
    if (!entry) return false;
    if (entry->value != "yes" && entry->value != "no") throw entry->error("allowed: yes, no");
    return entry->value == "yes";
  }
  // Returns the number of copies along up to three directions.
  std::array<int, 3> repeat() const {
    std::array<int, 3> count{1, 1, 1};
    const CustomEntry* entry = section.find("repeat");
    if (!entry) return count;
    const auto parts = split_list(entry->value);
    if (parts.empty() || parts.size() > 3) throw entry->error("allowed: one to three integers, separated by commas");
    for (std::size_t a = 0; a < parts.size(); ++a) {
      const double c = number(*entry, parts[a]);
      if (!(c >= 1 && c <= 1000) || c != std::round(c)) throw entry->error("allowed: integers in [1, 1000]");
      count[a] = static_cast<int>(c);
    }
    return count;
  }

  void placed(rigid::Pose<2>& pose, rigid::Twist<2>& twist) const {
    pose.position = vector<2>("at");
    pose.angle = number("turn", 0.0);
    twist << vector<2>("velocity"), number("spin", 0.0);
  }
  void placed(rigid::Pose<3>& pose, rigid::Twist<3>& twist) const {
    pose.position = vector<3>("at");
    pose.directors = rigid::exponential(vector<3>("turn"));
    twist << vector<3>("velocity"), vector<3>("spin");
  }
};

// Calls `one` for each body of a section with its indices i, j, k from 0 and its name.
template <class One>
void each(const CustomSection& section, const Numbers& parameters, One one) {
  Reader reader{section, parameters};
  const auto count = reader.repeat();
  const bool many = section.find("repeat") != nullptr;
  std::array<int, 3> at{};
  for (at[0] = 0; at[0] < count[0]; ++at[0])
    for (at[1] = 0; at[1] < count[1]; ++at[1])
      for (at[2] = 0; at[2] < count[2]; ++at[2]) {
        std::string name = section.name;
        for (std::size_t a = 0; a < 3 && many; ++a) {
          reader.known[counters[a]] = at[a];
          if (count[a] > 1) name += "_" + std::to_string(at[a]);
        }
        try {
          one(reader, name);
        } catch (const std::invalid_argument& error) {
          throw section.error(error.what());
        }
      }
}

template <int n>
elastic::Mesh<n> cut(const Reader& reader) {
  const Vector<n> size = reader.list<n>(reader.needed("size"));
  const CustomEntry& entry = reader.needed("cells");
  const Vector<n> given = reader.list<n>(entry);
  std::array<int, n> cells;
  double count = 1.0;
  for (int a = 0; a < n; ++a) {
    count *= given[a];
    if (!(given[a] >= 1) || given[a] != std::round(given[a]) || !(count <= 1e6))
      throw entry.error("allowed: integers of 1 or more, with a product of at most 1000000");
    cells[a] = static_cast<int>(given[a]);
  }
  auto beside = [known = reader.known](const Vector<n>& at) mutable -> const Numbers& {
    for (int a = 0; a < n; ++a) known[letters[a]] = at[a];
    return known;
  };
  std::function<bool(const Vector<n>&)> there;
  if (const CustomEntry* inside = reader.section.find("inside")) {
    there = [inside, condition = inside->condition(), beside](const Vector<n>& centre) mutable {
      return value(*inside, condition, beside(centre)) != 0.0;
    };
  }
  elastic::Mesh<n> mesh = elastic::block<n>(size, cells, there);
  if (const CustomEntry* map = reader.section.find("map")) {
    const auto parts = split_list(map->value);
    if (std::ssize(parts) != n)
      throw map->error(formatted("expected %d expressions of %s, separated by commas", n, n == 2 ? "x, y" : "x, y, z"));
    std::vector<Expression> to;
    for (const auto& part : parts) to.push_back(map->parsed(part));
    for (Vector<n>& node : mesh.nodes) {
      const Numbers& known = beside(Vector<n>(node));
      for (int a = 0; a < n; ++a) node[a] = value(*map, to[a], known);
      if (!node.allFinite()) throw map->error("the map gives a position that is not finite for a corner of the mesh");
    }
  }
  return mesh;
}

geometry::Polytope<2> box(const Vector<2>& size) { return geometry::rectangle(size[0], size[1]); }
geometry::Polytope<3> box(const Vector<3>& size) { return geometry::box(size[0], size[1], size[2]); }

// Returns an estimate of the largest distance, m, of a moving body from a point during `duration`, s. It leaves out
// collisions, which may make a body faster. The first `walls` rigid bodies do not move.
template <int n>
double reach(const Scene<n>& scene, std::size_t walls, const Vector<n>& from, double duration) {
  double largest = 0.0;
  const double by_gravity = 0.5 * scene.world.rigid.gravity.norm() * duration * duration;
  const auto consider = [&](const rigid::Pose<n>& pose, const rigid::Twist<n>& twist, double radius) {
    const double speed =
        twist.template head<n>().norm() + twist.template tail<rigid::Multibody<n>::spin>().norm() * radius;
    largest = std::max(largest, (pose.position - from).norm() + radius + speed * duration + by_gravity);
  };
  const auto& start = scene.start;
  for (std::size_t b = walls; b < scene.world.rigid.bodies.size(); ++b)
    if (!scene.world.rigid.bodies[b].fixed)
      consider(start.rigid_poses[b], start.rigid_twists[b], rigid::radius(scene.world.rigid.bodies[b]));
  for (std::size_t d = 0; d < scene.world.deformable.size(); ++d) {
    double radius = 0.0;
    for (const auto& node : scene.world.deformable[d].mesh.nodes) radius = std::max(radius, node.norm());
    consider(start.deformable_poses[d], start.deformable_twists[d], radius);
  }
  return largest;
}

// Returns a wall: a box below its origin, whose outward normal is its last axis. `reach`: distance of the bodies from
// the origin, m.
template <int n>
rigid::Body<n> wall(const std::string& name, double reach) {
  const double side = std::clamp(4.0 * reach, 20.0, 2e6);  // m; larger ones would round gaps to more than 1e-10 m
  Vector<n> size = Vector<n>::Constant(side);
  size[n - 1] = side / 20.0;
  geometry::Frame<n> below;
  below.position[n - 1] = -0.5 * size[n - 1];
  return rigid::fixed_body<n>(name, {box(size).moved(below)}, Vector<n>(Vector<n>::Unit(n - 1)));
}

}  // namespace

double value(const CustomEntry& entry, const Expression& parsed, const Numbers& known) {
  std::vector<double> numbers;
  for (const auto& q : parsed.quantities()) {
    const auto at = known.find(q.text());
    if (at == known.end()) {
      std::vector<std::string> names;
      for (const auto& [name, number] : known) names.push_back(name);
      throw entry.error("'" + shown(q.text()) + "' is unknown" + did_you_mean(q.text(), names) +
                        "; known here: " + (names.empty() ? "nothing" : listed(names)));
    }
    numbers.push_back(at->second);
  }
  return parsed.evaluate<double>(numbers);
}

double value(const CustomEntry& entry, const std::string& text, const Numbers& known) {
  return value(entry, entry.parsed(text), known);
}

std::vector<DesignVariable> variables(const Settings& so_far) {
  std::vector<DesignVariable> all;
  Numbers known;
  for (const CustomSection* section : so_far.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries) {
      known[entry.key] = value(entry, entry.value, known);
      const Expression parsed = entry.parsed();
      all.push_back({entry.key, stated_unit(entry.value), "parameter from the section [parameters]", known[entry.key],
                     -1e300, 1e300});
      if (!parsed.is_constant()) all.back().formula = entry.value;
      for (const CustomSection* starts : so_far.sections_of("initial-states"))  // that section draws its value
        if (const CustomEntry* range = starts->find(entry.key)) all.back().formula = range->value;
    }
  return all;
}

Numbers parameters(const Settings& settings, const Eigen::VectorXd& design, const Numbers& before) {
  Numbers known = before;
  for (const CustomSection* section : settings.sections_of("parameters"))
    for (const CustomEntry& entry : section->entries)
      if (!before.count(entry.key))
        known[entry.key] =
            settings.design_given(entry.key) ? settings.design(entry.key, design) : value(entry, entry.value, known);
  return known;
}

std::vector<ini::SectionKind> sections() {
  using Name = ini::SectionKind::Name;
  const auto kind = [](const char* name, Name named, std::vector<std::string> keys, std::vector<std::string> needed,
                       const char* description) {
    return ini::SectionKind{name, named, std::move(keys), false, std::move(needed), false, description};
  };
  return {
      {.kind = "parameters",
       .any_key = true,
       .description =
           "parameters of the scene: NAME = an expression of earlier entries; [design] can set or free each of them"},
      kind("world", Name::none, {"dimension", "gravity", "stiffness"}, {"dimension"},
           "the scene: dimension = 2 or 3; gravity = a vector (m/s2); stiffness (N/m) of a pair of parts that overlap, "
           "with contact-method = penalty"),
      kind("body", Name::required,
           {"size", "cells", "inside", "map", "lambda", "mu", "density", "at", "turn", "velocity", "spin", "repeat"},
           {"size", "cells", "lambda", "mu", "density"},
           "a deformable body, a box of cells; inside = a condition of x, y, z that selects cells; map = expressions "
           "of x, y, z that move the corners of the mesh; repeat = number of bodies along i, j, k"),
      kind("rigid", Name::required, {"size", "density", "fixed", "at", "turn", "velocity", "spin", "repeat"}, {"size"},
           "a rigid box, free (with a density) or fixed"),
      kind("wall", Name::required, {"at", "normal"}, {"normal"}, "a wall through a point, with its outward normal"),
      {.kind = "initial-states",
       .any_key = true,
       .description = "values that differ between initial states: NAME = LOW .. HIGH for entries of [parameters]; "
                      "count, sampling, seed"},
      kind("outcome", Name::required, {"when"}, {"when"},
           "a class of runs: when = a condition at the end of the run, with the names of a cost; the first outcome "
           "whose condition is true counts"),
      kind("cost", Name::none, {"cost", "success"}, {},
           "cost = an expression of parameters, metrics, and BODY.x, BODY.vx ... at the end (with several initial "
           "states, its mean); or success = OUTCOME: the cost is the fraction of initial states that end otherwise"),
  };
}

int dimension(const Settings& settings) {
  const auto all = settings.sections_of("world");
  if (all.empty()) throw ConfigError(settings.file + ": there is no [world]; allowed: dimension = 2 or 3");
  const CustomEntry* entry = all.front()->find("dimension");
  if (!entry || (entry->value != "2" && entry->value != "3")) throw all.front()->error("dimension; allowed: 2, 3");
  return entry->value == "2" ? 2 : 3;
}

template <int n>
Scene<n> scene(const Settings& settings, const Numbers& known) {
  Scene<n> scene;
  const Reader world{*settings.sections_of("world").front(), known};
  scene.world.rigid.gravity = world.vector<n>("gravity");
  if (settings.text("elastic.contact-method") == "penalty") world.needed("stiffness");
  scene.stiffness = world.number("stiffness", scene.stiffness);
  const auto add = [&](rigid::Body<n> body, const rigid::Pose<n>& pose, const rigid::Twist<n>& twist) {
    scene.world.rigid.bodies.push_back(std::move(body));
    scene.start.rigid_poses.push_back(pose);
    scene.start.rigid_twists.push_back(twist);
  };
  for (const CustomSection* section : settings.sections_of("wall")) {
    const Reader reader{*section, known};
    const CustomEntry& entry = reader.needed("normal");
    const Vector<n> normal = reader.list<n>(entry);
    if (!(normal.norm() > 0.0)) throw entry.error("has no length");
    rigid::Pose<n> pose;
    pose.position = reader.vector<n>("at");
    if constexpr (n == 2)
      pose.angle = std::atan2(-normal[0], normal[1]);
    else {  // the smallest turn that takes z to the normal; not by FromTwoVectors(), whose SVD takes 11 s to compile
      const Vector<3> axis(-normal[1], normal[0], 0);
      const double sine = axis.norm();
      const Vector<3> unit = sine > 0 ? Vector<3>(axis / sine) : Vector<3>(Vector<3>::UnitX());
      pose.directors = Eigen::AngleAxisd(std::atan2(sine, normal[2]), unit).toRotationMatrix();
    }
    rigid::Body<n> body;
    body.name = section->name;
    add(std::move(body), pose, rigid::Twist<n>::Zero());
  }
  const std::size_t walls = scene.world.rigid.bodies.size();  // their shapes follow, when all bodies are known
  for (const CustomSection* section : settings.sections_of("rigid"))
    each(*section, known, [&](const Reader& reader, const std::string& name) {
      const auto shape = box(reader.list<n>(reader.needed("size")));
      rigid::Pose<n> pose;
      rigid::Twist<n> twist;
      reader.placed(pose, twist);
      if (!reader.yes("fixed")) {
        const CustomEntry& density = reader.needed("density");
        add(rigid::solid<n>(name, {shape}, reader.number(density, density.value)).body, pose, twist);
        return;
      }
      for (const char* key : {"velocity", "spin", "density"})
        if (const CustomEntry* entry = section->find(key))
          throw entry->error("has no effect on a fixed body; remove it");
      add(rigid::fixed_body<n>(name, {shape}), pose, twist);
    });
  for (const CustomSection* section : settings.sections_of("body"))
    each(*section, known, [&](const Reader& reader, const std::string& name) {
      elastic::Deformable<n> body{name, cut<n>(reader), {}};
      const auto number = [&](const char* key) { return reader.number(reader.needed(key), reader.needed(key).value); };
      body.material.lambda = number("lambda");
      body.material.mu = number("mu");
      body.material.density = number("density");
      rigid::Pose<n> pose;
      rigid::Twist<n> twist;
      reader.placed(pose, twist);
      elastic::Elements<n>().add(name, body.mesh, body.material);  // throws here, so that the message names the section
      scene.world.deformable.push_back(std::move(body));
      scene.start.deformable_poses.push_back(pose);
      scene.start.deformable_twists.push_back(twist);
    });
  if (scene.world.deformable.empty())
    throw ConfigError(settings.file + ": there is no [body NAME]; allowed: one or more deformable bodies");
  for (std::size_t w = 0; w < walls; ++w)
    scene.world.rigid.bodies[w] =
        wall<n>(scene.world.rigid.bodies[w].name,
                reach(scene, walls, scene.start.rigid_poses[w].position, settings.real("elastic.duration")));
  return scene;
}

template Scene<2> scene(const Settings&, const Numbers&);
template Scene<3> scene(const Settings&, const Numbers&);

}  // namespace dodyn::evaluators::elastic_text
