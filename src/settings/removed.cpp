#include "settings/removed.hpp"

#include <algorithm>

namespace dodyn {

const RemovedKey* find_removed(const std::string& key) {
  static const std::vector<RemovedKey> all = {
      {"air-table.cancel", "", "leave it out: the recorded commands cancel the field"},
      {"air-table.gain-attitude", "0.01", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.gain-position", "1.2", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.gain-spin", "0.008", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.gain-velocity", "2.4", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.inertia", "0.002", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.mass", "1.2", "leave it out: the craft and its controller have fixed numbers"},
      {"air-table.mean", "5", "leave it out: commands settle for 35 s, and their mean is over 5 s"},
      {"air-table.seed", "1", "leave it out: one field is measured"},
      {"air-table.settle", "35", "leave it out: commands settle for 35 s, and their mean is over 5 s"},
      {"air-table.step", "0.01", "leave it out: a step is 0.01 s"},
      {"coil-fit.angles", "9", "leave it out: the grid has 17 distances, 9 bearings and 9 attitudes"},
      {"coil-fit.core-field", "1", "leave it out: cores are 0.1 m long and 0.01 m thick, with 1 T at their ends"},
      {"coil-fit.diameter", "0.01", "leave it out: cores are 0.1 m long and 0.01 m thick, with 1 T at their ends"},
      {"coil-fit.distances", "17", "leave it out: the grid has 17 distances, 9 bearings and 9 attitudes"},
      {"coil-fit.length", "0.1", "leave it out: cores are 0.1 m long and 0.01 m thick, with 1 T at their ends"},
      {"design.shank-fraction", "", "write the masses into a copy of the model, such as shank_mass = 5*shank_fraction"},
      {"gait.absolute-work", "0", "write it in [cost], with squared-torque = 1 if that was not set"},
      {"gait.gravity", "9.81", "set design.gravity"},
      {"gait.hip-mass", "10", "set design.hip_mass"},
      {"gait.inertia-factor", "0.041666666666666664", "set design.inertia_factor"},
      {"gait.leg-check-points", "1", "leave it out: gait.leg-radius applies at nodes and midway between them"},
      {"gait.leg-length", "1", "set design.leg"},
      {"gait.leg-mass", "5", "write the masses into a copy of the model, such as shank_mass = 5*shank_fraction"},
      {"gait.leg-mass-model", "fixed-masses",
       "leave it out for fixed-masses; configs/published/uniform-biped.model replaces uniform-density, and a copy of "
       "the model mass-split"},
      {"gait.leg-radius-from", "0",
       "leave it out: the distance follows from gait.leg-radius, design.step-width and the length of the legs"},
      {"gait.linear-density", "5", "write the masses into a copy of the model, such as shank_mass = 5*knee"},
      {"gait.positive-work", "0", "write it in [cost], with squared-torque = 1 if that was not set"},
      {"gait.rotation", "ZXY", "write the order of the turns into a copy of the model, such as spherical ZXY"},
      {"gait.shank-mass", "2", "set design.shank_mass"},
      {"gait.squared-torque", "1", "write it in [cost]; without that section it is 1"},
      {"gait.step-width", "0.2", "set design.step-width"},
      {"gait.thigh-mass", "3", "set design.thigh_mass"},
      {"rollout.max-delay", "0.25", "leave it out: a late foot is waited for during 25 % of the motion"},
      {"simulation.friction-law", "cone", "leave it out: friction is Coulomb's cone"},
      {"simulation.group", "each", "leave it out: each contact point has an impulse of its own"},
      {"simulation.max-cuts", "40", "leave it out: a step that is cut 40 times in a row fails"},
      {"simulation.refine", "0.25", "leave it out: a step is cut at an overlap of 25 % of the thinner part"},
      {"simulation.resting-contact", "2",
       "leave it out: contacts rest if they close slower than twice what forces give in a step"},
      {"surrogate.acquisition", "expected-improvement", "leave it out: the next design maximises expected improvement"},
      {"surrogate.initial-design", "latin-hypercube",
       "leave it out: the initial designs are a Latin hypercube; surrogate.initial-designs takes others from a CSV "
       "file"},
      {"surrogate.kernel", "matern52", "leave it out: kriging has one kernel, matern52"},
      {"surrogate.pending", "believer",
       "leave it out: the model's mean stands for the cost of a design that is being evaluated"},
      {"surrogate.trend", "constant", "leave it out: the mean function of the kriging model is a constant"},
  };
  const auto at = std::ranges::find_if(all, [&](const RemovedKey& one) { return one.key == key; });
  return at == all.end() ? nullptr : &*at;
}

}  // namespace dodyn
