// The channel `shapes`: corners of the convex parts of a world's bodies, for drawing pictures.
#pragma once

#include <string>
#include <vector>

#include "record/trajectory.hpp"
#include "rigid/world.hpp"

namespace dodyn::evaluators {

// Returns rows [corner, body part x y[ z]]: indices of body and part from 0, and the corner in body coordinates, m.
template <int n>
Eigen::MatrixXd shapes(const rigid::World<n>& world) {
  std::vector<Eigen::Vector<double, 2 + n>> rows;
  for (std::size_t body = 0; body < world.bodies.size(); ++body) {
    const auto& parts = world.bodies[body].parts;
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (const auto& corner : parts[part].corners())
        rows.emplace_back() << static_cast<double>(body), static_cast<double>(part), corner;
  }
  Eigen::MatrixXd values(rows.size(), 2 + n);
  for (std::size_t i = 0; i < rows.size(); ++i) values.row(i) = rows[i].transpose();
  return values;
}

// Declares the channel for this number of corners. If designs differ, use the maximum; unused rows are NaN.
inline Channel shapes_channel(int dimension, int corners) {
  Channel channel{
      "shapes", "", "corners of the bodies' convex parts, body coordinates", corners, {"body", "part", "x", "y"}};
  channel.units = {"1", "1", "m", "m"};
  if (dimension == 3) {
    channel.coordinates.emplace_back("z");
    channel.units.emplace_back("m");
  }
  return channel;
}

}  // namespace dodyn::evaluators
