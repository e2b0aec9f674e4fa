// A legged model for gaits: a tree that stands with its point foot at the origin (models/*.model with a swing-foot).
// Its coordinates q are the foot's position (`base` coordinates: x forward, in space y to the left, height last), then
// the joints theta, which are the unknowns at a node of a gait.
// One instance serves all designs of a model; a design is a set of values of the model's numbers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dmoc/system.hpp"

namespace dodyn::dmoc {

struct Walker {
  // Throws ConfigError if the model has no swing foot, or if its links cannot exchange their roles. `order`: of the
  // integrator (scheme.hpp).
  explicit Walker(systems::Model model, int order = 2);

  std::shared_ptr<const System> system;
  int base = 0, joints = 0;
  int n() const { return base + joints; }
  int inputs() const { return system->inputs(); }

  std::vector<std::string> coordinate_names, input_names, point_names;
  std::vector<std::string> joined_points;  // pairs of points that a picture joins by a line, one pair per link
  struct Knee {
    int joint, flexion;  // joint: index; flexion: sign of the direction in which the knee bends
  };
  std::vector<Knee> knees;
  std::vector<double> spread;     // [joints] relative size of the deviations in cold starts
  std::vector<int> feet() const;  // returns the coordinates that are held while the foot stands: 0 ... base - 1
  // Returns the factor of a coordinate of a point when the legs are exchanged: -1 for y in 3D.
  double mirror(int axis) const { return base == 3 && axis == 1 ? -1.0 : 1.0; }

  Function swing_height;  // theta -> m
  // (theta of the interval's knots; Scheme::values_at(s), numbers) -> swing height at the fraction s of the interval, m
  Function height;
  Function exchanged;  // theta -> q with the legs exchanged (in space, reflected at the plane y = 0), [n]
  // (theta, velocity) -> dL/dv of the same motion in the coordinates of exchanged legs, [n]
  Function exchanged_momentum;
  Function points;    // theta -> foot and link ends, [points base]
  Function segments;  // theta -> both ends of each of the legs' links, [links 2 3], m; in 2D the third component is 0

  // 3D only, otherwise null. With the arguments of `height`: distances of points of the legs from the vertical plane of
  // walking through the middle of the hips, at the fraction s, m; positive on the leg's own side. First one distance
  // for both hips, then the points of `Legs::reach`.
  Function sides;

  // The legs of a design. Segments are indices in `segments`.
  struct Legs {
    struct Segment {
      bool swing = false;
      Coefficient nearer, farther;  // distances of its ends from the hip along the straight leg, m
      bool begins_at_hip = true;    // whether the first end of the segment is its nearer end
    };
    std::vector<Segment> segments;
    std::vector<Coefficient> reach;  // distances of knees and feet from the hip along the straight leg, m
    Coefficient hips = 0.0;          // distance of the hips, m
  };
  Legs legs(const systems::Tree<Coefficient>& design) const;

  // Returns the model's numbers for these values of parameters. Throws ConfigError.
  std::vector<Coefficient> numbers(const std::map<std::string, Coefficient>& given) const {
    return system->model().evaluate<Coefficient>(given).numbers;
  }

 private:
  void find_legs();
  void record_functions();

  std::vector<int> leg_links_;  // links of `segments`
  std::vector<bool> swing_;     // [links] whether the link belongs to the swing leg
  int of_stance_ = 0;           // number of links of the stance leg; they come first in leg_links_
};

}  // namespace dodyn::dmoc
