// Initial guesses near a solved motion: a part is rotated so that another of its corners touches.
#include <Eigen/Geometry>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "dmoc/attitudes.hpp"
#include "evaluators/motion/contacts.hpp"
#include "evaluators/motion/initial_guess.hpp"
#include "geometry/polytope.hpp"

namespace dodyn::evaluators {

namespace {

// Minimum height of the other corners above the lowest one, relative to the part's size.
constexpr double clearly_lower = 0.02;
// Largest rotation in one step, rad, and maximum number of steps.
constexpr double largest_turn_step = 0.1;
constexpr int most_turn_steps = 100;

// Returns for every corner the mean of the normals of the adjacent sides, in link axes. In this direction the corner is
// the farthest one.
template <int n>
std::vector<Eigen::Vector3d> outward_of_corners(const std::vector<systems::Vector3<double>>& corners) {
  std::vector<geometry::Vector<n>> points;
  for (const auto& r : corners) points.push_back(Eigen::Map<const geometry::Vector<n>>(r.data()));
  std::vector<Eigen::Vector3d> all(corners.size(), Eigen::Vector3d::Zero());
  const geometry::Polytope<n> polytope(points);
  for (const auto& side : polytope.facets()) {
    Eigen::Vector3d normal = Eigen::Vector3d::Zero();
    normal.head<n>() = polytope.normal(side).normalized();
    for (const int c : side) all[c] += normal;
  }
  for (Eigen::Vector3d& direction : all) direction.normalize();
  return all;
}

Eigen::Matrix3d eigen_of(const systems::Matrix3<double>& R) {
  Eigen::Matrix3d all;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) all(i, j) = R[i][j];
  return all;
}

}  // namespace

// Rotates a posture until this corner is clearly the lowest, and moves the corner into contact. Returns whether it
// succeeded.
bool bring_down(const PhasedMotion& motion, const MotionContact& contact, int corner, const MotionValues& values,
                Eigen::VectorXd& q) {
  const auto& model = motion.system->model();
  const auto numbers = autodiff::values_of(values.model.numbers);
  const auto tree = model.tree<double>(numbers);
  const dmoc::ContactEvent event = contact_event(motion, contact, values);
  const auto& part = model.shapes[contact.part];
  const auto corners = model.corners(part, numbers);
  const auto outward = model.dimension == 2 ? outward_of_corners<2>(corners) : outward_of_corners<3>(corners);
  double size = 0.0;
  for (const auto& r : corners)
    for (const auto& other : corners) {
      using systems::operator-;
      size = std::max(size, std::sqrt(systems::dot(r - other, r - other)));
    }
  const int face = model.shapes[contact.shape].link;
  std::vector<int> turns;
  for (const auto& link : tree.links)
    for (std::size_t i = 0; i < link.moves.size(); ++i) {
      const int c = link.first + static_cast<int>(i);
      const auto needed = motion.system->coordinates_of(part.link);
      if (link.moves[i].kind == systems::Move::turn && std::ranges::binary_search(needed, c)) turns.push_back(c);
    }
  if (turns.empty()) return false;
  const Eigen::Vector3d down = -Eigen::Map<const Eigen::Vector3d>(event.outward.data());
  // The corner's direction, in the frame of the face's link
  const auto seen = [&](const Eigen::VectorXd& at) -> Eigen::Vector3d {
    const auto frames = tree.frames(at.data());
    return eigen_of(frames[face].rotation).transpose() * eigen_of(frames[part.link].rotation) * outward[corner];
  };
  for (int step = 0; step < most_turn_steps; ++step) {
    auto heights = dmoc::heights(*motion.system, numbers, event, motion.system->no_reference(), q);
    const double own = heights[corner];
    heights.erase(heights.begin() + corner);
    if (*std::ranges::min_element(heights) - own >= clearly_lower * size) {
      touch(motion, contact, values, q);
      return true;
    }
    const Eigen::Vector3d now = seen(q);
    Eigen::MatrixXd slopes(3, turns.size());
    for (Eigen::Index i = 0; i < slopes.cols(); ++i)
      slopes.col(i) = (seen(q + 1e-6 * Eigen::VectorXd::Unit(q.size(), turns[i])) - now) / 1e-6;
    Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> factor;
    factor.setThreshold(1e-5);
    Eigen::Vector3d miss = down - now;
    // More than a quarter turn away, the difference to `down` is no usable direction of rotation.
    if (now.dot(down) < 0.0) {
      miss = down - now.dot(down) * now;
      if (miss.norm() < 1e-6) miss = now.unitOrthogonal();
    }
    Eigen::VectorXd change = factor.compute(slopes).solve(miss);
    if (!(change.norm() > 1e-9)) return false;
    change *= std::min(1.0, largest_turn_step / change.norm());
    q(turns) += change;
  }
  return false;
}

// The change of posture that brings the corner into contact increases linearly from the preceding contact (or the
// start), and decreases linearly until the following contact (or the goal).
std::vector<MotionPath> paths_with_other_corners(const PhasedMotion& motion, const MotionPath& path,
                                                 const Eigen::VectorXd& design) {
  std::vector<MotionPath> all;
  if (!motion.keys.corners || motion.penalty > 0.0) return all;
  const MotionValues values = motion_values(motion, design);
  const auto touched = touching(motion, values, path);
  const dmoc::Attitudes attitudes(*motion.system);
  const dmoc::Reference& none = motion.system->no_reference();
  const auto tree = motion.system->model().tree<double>(autodiff::values_of(values.model.numbers));
  for (std::size_t i = 0; i < motion.contacts.size(); ++i) {
    const MotionContact& contact = motion.contacts[i];
    if (contact.part < 0 || contact.edges) continue;
    // The change increases in the phases from `first` to contact.phase, is constant up to `stands`, and decreases up to
    // `last`.
    const int first = i > 0 ? motion.contacts[i - 1].phase + (motion.contacts[i - 1].stays ? 2 : 1) : 0;
    const int stands = contact.phase + (contact.stays ? 1 : 0);
    const int last = i + 1 < motion.contacts.size() ? motion.contacts[i + 1].phase : std::ssize(motion.phases) - 1;
    const auto time = [&](int from, int to) {
      double sum = 0.0;
      for (int p = from; p <= to; ++p) sum += path.duration[p];
      return sum;
    };
    const double before = time(first, contact.phase), after = time(stands + 1, last);
    const Eigen::VectorXd q = path.q[contact.phase].bottomRows(1).transpose();
    const int count =
        motion.system->model()
            .corners(motion.system->model().shapes[contact.part], autodiff::values_of(values.model.numbers))
            .size();
    for (int corner = 0; corner < count; ++corner) {
      Eigen::VectorXd turned = q;
      if (corner == touched[i].corner || !bring_down(motion, contact, corner, values, turned)) continue;
      const Eigen::VectorXd change = turned - q;
      MotionPath other = path;
      other.references.clear();
      for (int p = first; p <= last; ++p) {
        Eigen::MatrixXd& rows = other.q[p];
        const double T = path.duration[p];
        const auto K = static_cast<double>(rows.rows() - 1);
        for (Eigen::Index k = 0; k < rows.rows(); ++k) {
          const double t = T * static_cast<double>(k) / K;
          const double share = p <= contact.phase ? (time(first, p - 1) + t) / before
                               : p <= stands      ? 1.0
                                                  : 1.0 - (time(stands + 1, p - 1) + t) / after;
          const Eigen::VectorXd row = rows.row(k).transpose();
          Eigen::VectorXd moved = row + share * change;
          for (std::size_t c = 0; c < motion.system->charts().size(); ++c) {
            const Eigen::AngleAxisd turn(attitudes.rotation(c, turned, none) *
                                         attitudes.rotation(c, q, none).transpose());
            attitudes.set(c, Eigen::AngleAxisd(share * turn.angle(), turn.axis()) * attitudes.rotation(c, row, none),
                          none, moved);
          }
          rows.row(k) = moved.transpose();
        }
      }
      for (Eigen::MatrixXd& u : other.controls) u.setZero();
      all.push_back(std::move(other));
    }
  }
  return all;
}

}  // namespace dodyn::evaluators
