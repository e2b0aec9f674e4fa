#include "evaluators/motion/pictures.hpp"

#include <Eigen/Geometry>

#include "evaluators/shapes.hpp"
#include "systems/bodies.hpp"

namespace dodyn::evaluators {

namespace {

template <int n>
std::optional<systems::Bodies<n>> drawn(const PhasedMotion& motion, const Eigen::VectorXd& design) {
  if (motion.system->model().shapes.empty()) return std::nullopt;
  try {
    return systems::bodies<n>(motion.system->model(), plain_values(motion, design), {}, {false, std::nullopt, false});
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

template <int n>
Channels channels_of(const PhasedMotion& motion, int nodes) {
  const auto view = drawn<n>(motion, middle_design(motion));
  if (!view) return {};
  Channel poses{"poses", "", n == 2 ? "centres, angles" : "centres, unit quaternions", nodes, {}};
  for (const auto& body : view->world.bodies)
    for (const char* part : {"x", "y", n == 2 ? "angle" : "z", "q0", "qx", "qy", "qz"}) {
      if (n == 2 && part[0] == 'q') break;
      poses.coordinates.push_back(body.name + " " + part);
      poses.units.emplace_back(part[0] == 'q' ? "1" : part[0] == 'a' ? "rad" : "m");
    }
  return {std::move(poses), shapes_channel(n, shapes(view->world).rows())};
}

template <int n>
std::vector<Eigen::MatrixXd> pictures_of(const PhasedMotion& motion, const Eigen::VectorXd& design,
                                         const Eigen::MatrixXd& q) {
  const auto view = drawn<n>(motion, design);
  if (!view) return {};
  constexpr int columns = n == 2 ? 3 : 7;
  Eigen::MatrixXd poses(q.rows(), columns * static_cast<Eigen::Index>(view->world.bodies.size()));
  const std::vector<double> still(q.cols(), 0.0);
  for (Eigen::Index k = 0; k < q.rows(); ++k) {
    const std::vector<double> at(q.row(k).begin(), q.row(k).end());
    Eigen::Index column = 0;
    for (const auto& pose : view->state(at, still).poses) {
      poses.block(k, column, 1, n) = pose.position.transpose();
      if constexpr (n == 2) {
        poses(k, column + 2) = pose.angle;
      } else {
        const Eigen::Quaterniond turn(pose.directors);
        poses.block(k, column + 3, 1, 4) << turn.w(), turn.x(), turn.y(), turn.z();
      }
      column += columns;
    }
  }
  return {std::move(poses), shapes(view->world)};
}

}  // namespace

Channels picture_channels(const PhasedMotion& motion, int nodes) {
  return motion.system->structure().dimension == 2 ? channels_of<2>(motion, nodes) : channels_of<3>(motion, nodes);
}

std::vector<Eigen::MatrixXd> pictures(const PhasedMotion& motion, const Eigen::VectorXd& design,
                                      const Eigen::MatrixXd& q) {
  return motion.system->structure().dimension == 2 ? pictures_of<2>(motion, design, q)
                                                   : pictures_of<3>(motion, design, q);
}

}  // namespace dodyn::evaluators
