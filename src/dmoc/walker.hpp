// What a gait needs of a legged model: a tree that stands with its point foot on the origin (models/*.model with a
// swing-foot). Its coordinates q are the foot's position first (`base` of them: x forward, in space y to the left, last
// the height), then the joints, written theta: what a node of a gait holds.
//
// Made once for a model; designs are values of its numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Walker {
  // Throws ConfigError where the model has no swing foot, or its links cannot exchange their roles.
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

  // In space: (theta, theta'; s, numbers) -> at the fraction s between them how far the legs' joints and feet lie on their
  // own sides of the vertical plane of walking through the middle of the hips, m: first both hips, then the places of
  // `Legs::reach`. Null in the plane.
  Function sides;

  // The legs of a design. Segments are those of `segments`.
  struct Legs {
    struct Segment {
      bool swing = false;
      Coefficient nearer, farther;  // how far its ends are from the hip along the straight leg, m
      bool begins_at_hip = true;    // its first end is the nearer one
    };
    std::vector<Segment> segments;
    std::vector<Coefficient> reach;  // of knees and feet, from the hip along the straight leg, m
    Coefficient hips = 0.0;          // distance of the hips, m
  };
  Legs legs(const systems::Tree<Coefficient>& design) const;

  // The model's numbers where parameters have these values. Throws ConfigError.
  std::vector<Coefficient> numbers(const std::map<std::string, Coefficient>& given) const {
    return system->model().evaluate<Coefficient>(given).numbers;
  }

 private:
  std::vector<int> leg_links_;  // links that `segments` has
  std::vector<bool> swing_;     // of every link: whether it is of the swing leg
  int of_stance_ = 0;           // number of leg_links_, from the first, that belong to the stance leg
};

}  // namespace dodyn::dmoc
