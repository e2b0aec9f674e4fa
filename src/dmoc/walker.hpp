// What a gait needs of a legged model: a tree that stands with its point foot on the origin (models/*.model with a
// swing-foot). Its coordinates q are the foot's position first (`base` of them: x forward, in space y to the left, last
// the height), then the joints, written theta: what a node of a gait holds.
//
// Made once for a model; designs are values of its numbers.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Walker {
  // Throws ConfigError where the model has no swing foot.
  explicit Walker(systems::Model model);

  std::shared_ptr<const System> system;
  int base = 0, joints = 0;
  int n() const { return base + joints; }
  int inputs() const { return system->inputs(); }

  std::vector<std::string> coordinate_names, input_names, point_names;
  std::vector<std::string> joined_points;  // two by two: the points that a picture joins by a line, one a link
  struct Knee {
    int joint, flexion;  // which way it bends
  };
  std::vector<Knee> knees;
  std::vector<double> spread;     // [joints] how far cold starts bend it, relative
  std::vector<int> feet() const;  // coordinates held while the foot stands: 0 ... base - 1
  double mirror(int axis) const { return base == 3 && axis == 1 ? -1.0 : 1.0; }

  Function swing_height;  // theta -> m
  Function height;        // (theta, theta'; s, numbers) -> the same, at the fraction s between them
  Function exchanged;     // theta -> q with the legs exchanged (in space, in a mirror at the plane y = 0), [n]
  Function
      exchanged_momentum;  // (theta, velocity) -> dL/dv of the same motion in the coordinates of exchanged legs, [n]
  Function points;         // theta -> foot and link ends, [points base]
  Function segments;       // theta -> both ends of each of the legs' links, [links 2 3]; in the plane z = 0

  // Two of the segments, one of the stance leg, one of the swing leg, of straight legs in a design.
  struct Links {
    int one = 0, other = 0;
    // The ends (0 start, 1 end) that keep their distance whatever the posture, being joints on one body; the nearest, if
    // there are several.
    int joint = 0, other_joint = 0;
    Coefficient gap = std::numeric_limits<double>::infinity();  // that distance, m; 0: a joint they share; inf: none
    Coefficient height = 0.0;                                   // of `joint` above the foot of straight legs, m
    Coefficient length = 0.0, other_length = 0.0;               // of the links, m
    bool share_a_joint() const { return gap.value < 1e-9; }
  };
  // In the plane only those that share no joint.
  std::vector<Links> pairs(const systems::Tree<Coefficient>& design) const;

  // The model's numbers where parameters have these values. Throws ConfigError.
  std::vector<Coefficient> numbers(const std::map<std::string, Coefficient>& given) const {
    return system->model().evaluate<Coefficient>(given).numbers;
  }

 private:
  std::vector<int> leg_links_;  // links that `segments` has
  std::vector<bool> swing_;     // of every link: whether it is of the swing leg
};

}  // namespace dodyn::dmoc
