#include "systems/link_distance.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "geometry/closest_features.hpp"
#include "record/text.hpp"

namespace dodyn::systems {

namespace {

constexpr double printed_zero = 1e-12;  // m or 1; smaller components are rounding errors

// A part with the frame of its link.
template <int n>
struct PlacedPart {
  const Shape* shape;
  geometry::Polytope<n> polytope;
  geometry::Frame<n> frame;
};

// The contact of a part of the first link with a part of the second. `swapped`: the second part is body 1.
template <int n>
struct ClosestPair {
  const PlacedPart<n>* one;
  const PlacedPart<n>* other;
  geometry::Contact<n> contact;
  bool swapped;
};

template <int n>
std::string components(const geometry::Vector<n>& r) {
  std::string text;
  for (int i = 0; i < n; ++i) text += (i ? ", " : "") + formatted("%.6g", std::abs(r[i]) < printed_zero ? 0.0 : r[i]);
  return text;
}

template <int n>
std::vector<PlacedPart<n>> parts_of(const Model& model, const Values<double>& values, int link,
                                    const Frame<double>& at) {
  geometry::Frame<n> frame;
  for (int i = 0; i < n; ++i) {
    frame.position[i] = at.origin[i];
    for (int j = 0; j < n; ++j) frame.directors(i, j) = at.rotation[i][j];
  }
  std::vector<PlacedPart<n>> parts;
  for (const Shape* shape : model.shapes_of(link)) {
    std::vector<geometry::Vector<n>> corners;
    for (const auto& corner : model.corners(*shape, values.numbers)) {
      geometry::Vector<n>& x = corners.emplace_back();
      for (int i = 0; i < n; ++i) x[i] = corner[i];
    }
    try {
      parts.push_back({shape, geometry::Polytope<n>(corners, "shape " + shape->name), frame});
    } catch (const std::invalid_argument& error) {
      model.fail(shape->line, error.what());
    }
  }
  return parts;
}

template <int n>
ClosestPair<n> closest_pair(const Values<double>& values, const PlacedPart<n>& one, const PlacedPart<n>& other) {
  const bool swapped = one.shape->outward && !other.shape->outward;
  const PlacedPart<n>&first = swapped ? other : one, &second = swapped ? one : other;
  ClosestPair<n> pair{&one, &other,
                      geometry::find_closest_features(first.polytope, first.frame, second.polytope, second.frame),
                      swapped};
  if (pair.contact.gap <= 0.0 || !second.shape->outward) return pair;
  geometry::Vector<n> outward;
  for (int i = 0; i < n; ++i) outward[i] = Model::at((*second.shape->outward)[i], values.numbers);
  std::array<geometry::Basis<n>, 2> bases;
  geometry::find_contact<n>(first.polytope, first.frame, second.polytope, second.frame, outward.normalized(), bases,
                            pair.contact);
  return pair;
}

std::string feature_name(geometry::Feature feature) {
  return feature == geometry::Feature::vertex ? "corner" : feature == geometry::Feature::edge ? "edge" : "face";
}

// Returns the lines about one side of a pair.
template <int n>
std::string side_text(const std::string& link, const PlacedPart<n>& part, const geometry::Contact<n>& contact,
                      std::size_t side) {
  const int count = contact.feature_size[side], shown = std::min(count, geometry::max_listed);
  std::string text = link + ": " + feature_name(contact.feature[side]) + " of [shape " + part.shape->name + "]\n";
  text += "  point      " + components<n>(contact.witness[side]) + " m\n";
  for (int i = 0; i < shown; ++i) {
    const int corner = contact.vertex[side][i];
    text += formatted("  corner %-3d ", corner) + components<n>(part.frame(part.polytope.corner(corner))) + " m\n";
  }
  if (shown < count) text += formatted("  and %d more corners\n", count - shown);
  return text;
}

template <int n>
std::string distance_of(const Model& model, const Values<double>& values, const std::vector<double>& q,
                        const std::array<int, 2>& link) {
  const auto tree = model.tree(values.numbers);
  const auto frames = tree.template frames<double>(q.data());
  const auto parts = [&](int l) { return parts_of<n>(model, values, l, frames[l]); };
  const auto ones = parts(link[0]), others = parts(link[1]);
  std::optional<ClosestPair<n>> nearest;
  std::size_t overlaps = 0;
  for (const PlacedPart<n>& one : ones)
    for (const PlacedPart<n>& other : others) {
      const ClosestPair<n> pair = closest_pair(values, one, other);
      const double reach = geometry::feature_tolerance * std::min(one.polytope.radius(), other.polytope.radius());
      overlaps += pair.contact.normal_gap() > reach;
      if (!nearest || pair.contact.normal_gap() > nearest->contact.normal_gap()) nearest = pair;
    }
  const auto& [one, other, contact, swapped] = *nearest;
  const std::array<std::string, 2> names{tree.links[link[0]].name, tree.links[link[1]].name};
  const std::size_t first = swapped ? 1 : 0, second = 1 - first;  // sides of the contact
  const double overlap = contact.normal_gap(),
               reach = geometry::feature_tolerance * std::min(one->polytope.radius(), other->polytope.radius());
  std::string text = names[0] + " and " + names[1];
  text += std::abs(overlap) <= reach ? std::string(" touch")
          : overlap > 0.0            ? formatted(" overlap by %.6g m", overlap)
                                     : formatted(" are %.6g m apart", -overlap);
  text += ": " + feature_name(contact.feature[first]) + "-" + feature_name(contact.feature[second]) + "\n";
  if (overlaps > 1)
    text +=
        formatted("%zu of %zu pairs of shapes overlap; this is the deepest\n", overlaps, ones.size() * others.size());
  text += "normal       " + components<n>(contact.normal()) + " from " + names[second] + " to " + names[first] + "\n";
  return text + side_text(names[0], *one, contact, first) + side_text(names[1], *other, contact, second);
}

}  // namespace

std::string link_distance(const Model& model, const Values<double>& values, const std::vector<double>& q,
                          const std::string& one, const std::string& other) {
  std::vector<std::string> shaped;
  const auto& links = model.structure.links;
  for (std::size_t l = 0; l < links.size(); ++l)
    if (!model.shapes_of(l).empty()) shaped.push_back(links[l].name);
  if (shaped.size() < 2)
    throw ConfigError(model.origin + " has " + counted(shaped.size(), "link") +
                      " with a [shape]; a distance needs two of them");
  std::array<int, 2> link{};
  for (std::size_t side = 0; side < 2; ++side) {
    const std::string& name = side == 0 ? one : other;
    const auto at = std::ranges::find_if(links, [&](const auto& known) { return known.name == name; });
    const std::string allowed = "; links with shapes: " + listed(shaped, 5);
    if (at == links.end())
      throw ConfigError("no link '" + shown(name) + "' in " + model.origin + did_you_mean(name, shaped) + allowed);
    link[side] = at - links.begin();
    if (model.shapes_of(link[side]).empty())
      throw ConfigError("[link " + name + "] of " + model.origin + " has no [shape]" + allowed);
  }
  if (link[0] == link[1]) throw ConfigError("[link " + one + "] is named twice; give two links");
  return model.dimension == 2 ? distance_of<2>(model, values, q, link) : distance_of<3>(model, values, q, link);
}

}  // namespace dodyn::systems
