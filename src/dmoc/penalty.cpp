#include "dmoc/penalty.hpp"

namespace dodyn::dmoc {

using autodiff::Var;
using systems::Vector3;

Energy penalty(const systems::Model& model, const std::vector<double>& numbers, const ContactEvent& contact,
               double stiffness, double width) {
  const auto kept = std::make_shared<const systems::Model>(model);  // copy: the function may outlive the model
  const auto corner =
      static_cast<std::size_t>(farthest(model.corners(model.shapes[contact.shape], numbers), contact.outward));
  return [=](const systems::Tree<Var>& tree, const std::vector<Var>& at,
             const std::vector<systems::Frame<Var>>& frames) {
    using systems::operator-, systems::operator*;
    const auto& shape = kept->shapes[contact.shape];
    const auto& face = frames[shape.link];
    const Vector3<Var> out = face.rotation * Vector3<Var>{contact.outward[0], contact.outward[1], contact.outward[2]},
                       level = face.point(kept->corners(shape, at)[corner]);
    Var sum(0.0);
    const auto add = [&](const systems::Place<Var>& place) {
      const Var depth = systems::dot(level - systems::Tree<Var>::position(frames, place), out);
      const Var rounded = 0.5 * (depth + sqrt(depth * depth + width * width));
      sum += (0.5 * stiffness) * (rounded * rounded);
    };
    if (contact.part < 0) {
      add(tree.named_points[contact.point].place);
      return sum;
    }
    const auto& part = kept->shapes[contact.part];
    for (const auto& r : kept->corners(part, at)) add({part.link, r});
    return sum;
  };
}

}  // namespace dodyn::dmoc
