// dodyn new: writes a small example study that runs at once.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "command.hpp"
#include "settings/config_error.hpp"

namespace dodyn::apps {

namespace po = boost::program_options;
namespace {

struct NewFile {
  std::string name, text;
  bool is_program = false;  // executable
};

struct NewStudy {
  std::string kind, description;
  std::string next;  // the command that starts it
  std::vector<NewFile> files;
};

constexpr const char* gait_cfg = R"(# The knee height of a walker by the energy of its best gait.
#     dodyn run gait.cfg                              then: dodyn show gait.h5, dodyn report gait.h5
#     dodyn solve gait.cfg --design.knee 0.4          one design, with its report
# A model file of your own takes the place of `rabbit`; docs/walkers.md describes it.

[study]
evaluator = gait
max-evaluations = 30

[surrogate]
strategy = spline         # for one variable with gradients

[design]
knee.min = 0.30           # m, above the foot: this variable is free
knee.max = 0.70
step-length = 0.45        # m
period = 0.45             # s, of one step

[gait]
model = rabbit
intervals = 40            # of time; 80 for results
initial-guesses = 8       # 16 for results
contact = friction-cone
friction = 0.8
clearance = 3 cm

[parameters]
copper = 0.02             # W/(N m)^2, of the motors

[cost]
positive-work = 1
heat = copper*(u.stance_knee^2 + u.stance_hip^2 + u.swing_hip^2 + u.swing_knee^2)
)";

constexpr const char* motion_cfg =
    R"(# Which spring at its joint saves an arm the most torque, if it turns by 120 degrees in half a second?
#     dodyn run motion.cfg                            then: dodyn show motion.h5, dodyn report motion.h5
#     dodyn solve motion.cfg --design.stiffness 10    one design, with its report
# Theory: I (pi/T)^2 = 3.257 N m/rad. docs/motions.md describes phases and costs, docs/models.md describes motion.model.

[study]
evaluator = motion        # the score is the cost of the best motion
max-evaluations = 20

[motion]
model = motion.model

[phase swing]
duration = 0.5            # s
intervals = 40

[initial-state]
arm = -60 deg
rate(arm) = 0

[goal]
arm = 60 deg
rate(arm) = 0

[cost]
squared-control = 1

[design]
stiffness.min = 1         # N m/rad: a parameter of the model, free here
stiffness.max = 20
)";

constexpr const char* motion_model = R"(# An arm with a spring and a motor at its joint. It turns in a horizontal plane.

[model]
name = arm
dimension = 2
gravity = 0

[parameters]
stiffness = 10            # N m/rad
mass = 1                  # kg

[link arm]
parent = ground
joint = revolute
end = 0.5, 0              # m
mass = mass               # its centre is in the middle
inertia = 0.02            # kg m2

[spring joint]
coordinate = arm
stiffness = stiffness

[actuator motor]
coordinate = arm
)";

constexpr const char* simulation_cfg =
    R"(# The restitution with which a dropped cube has a given energy after two bounces.
#     dodyn run simulation.cfg                        then: dodyn show simulation.h5, dodyn report simulation.h5
#     dodyn simulate simulation.cfg --design.restitution 0.8 --output bounce.csv
# docs/simulation.md describes models of bodies in contact.

[study]
evaluator = simulation
max-evaluations = 40

[design]
boxes = 1
restitution.min = 0.5     # this variable is free
restitution.max = 0.95

[simulation]
model = stack
step = 2 ms
end = 1.2 s
nodes = 101

[initial-states]
height = 0.5              # m, of the cube's lower face

[initial-state]
box_i_z = height + side/2

[cost]
cost = ((kinetic + potential)/(density*side^3*9.81) - side/2 - 0.2)^2
)";

std::string program_cfg(const std::string& kind, const std::string& run, const std::string& more) {
  return "# A program of your own computes the cost: here how far a stone misses 10 m.\n#     dodyn run " + kind +
         ".cfg          then: dodyn show " + kind + ".h5, dodyn report " + kind + ".h5\n" + more +
         R"(# Each evaluation runs in a directory of its own; $DODYN_STUDY is the directory of this file (docs/own-program.md).

[study]
evaluator = command
max-evaluations = 25
time-limit = 60           # s

[design]
angle.min = 20            # degrees
angle.max = 45

[command]
run = )" +
         run + "\nmetrics = distance\n";
}

constexpr const char* python_script =
    R"("""Computes one cost of python.cfg: how far a stone, thrown at 10 m/s from 1 m, misses 10 m."""

import json
import math
import os

with open(os.environ["DODYN_DESIGN_FILE"]) as file:
    design = json.load(file)["design"]

angle = math.radians(design["angle"])
x, y = 10 * math.cos(angle), 10 * math.sin(angle)  # m/s
distance = x * (y + math.sqrt(y**2 + 2 * 9.81 * 1)) / 9.81  # m

with open(os.environ["DODYN_RESULT_FILE"], "w") as file:
    json.dump({"cost": (distance - 10) ** 2, "metrics": {"distance": distance}}, file)
)";

constexpr const char* bash_script = R"(#!/usr/bin/env bash
# Computes one cost of bash.cfg: how far a stone, thrown at 10 m/s from 1 m, misses 10 m.
set -euo pipefail
awk -v angle="$DODYN_ANGLE" 'BEGIN {
  angle *= atan2(0, -1) / 180
  x = 10 * cos(angle); y = 10 * sin(angle)
  distance = x * (y + sqrt(y^2 + 2 * 9.81)) / 9.81
  printf "{\"cost\": %.17g, \"metrics\": {\"distance\": %.17g}}\n", (distance - 10)^2, distance
}' >"$DODYN_RESULT_FILE"
)";

constexpr const char* cpp_program =
    R"(// Computes one cost of cpp.cfg: how far a stone, thrown at 10 m/s from 1 m, misses 10 m.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>

int main() {
  const double angle = std::atof(std::getenv("DODYN_ANGLE")) * std::acos(-1.0) / 180;
  const double x = 10 * std::cos(angle), y = 10 * std::sin(angle);  // m/s
  const double distance = x * (y + std::sqrt(y * y + 2 * 9.81)) / 9.81;  // m
  std::ofstream file(std::getenv("DODYN_RESULT_FILE"));
  file << std::setprecision(17) << "{\"cost\": " << (distance - 10) * (distance - 10) << ", \"metrics\": {\"distance\": " << distance << "}}\n";
  return file.flush() ? 0 : 1;
}
)";

std::vector<NewStudy> new_studies() {
  return {{"gait",
           "a walker's knee height, by the energy of its best gait",
           "dodyn run gait.cfg",
           {{"gait.cfg", gait_cfg}}},
          {"motion",
           "the spring at an arm's joint, by the torque of its best swing; with a model file",
           "dodyn run motion.cfg",
           {{"motion.cfg", motion_cfg}, {"motion.model", motion_model}}},
          {"simulation",
           "a cube's restitution, by simulated bounces",
           "dodyn run simulation.cfg",
           {{"simulation.cfg", simulation_cfg}}},
          {"python",
           "a program of your own in Python",
           "dodyn run python.cfg",
           {{"python.cfg", program_cfg("python", "python3 \"$DODYN_STUDY/python.py\"", "")},
            {"python.py", python_script, true}}},
          {"bash",
           "a program of your own in bash",
           "dodyn run bash.cfg",
           {{"bash.cfg", program_cfg("bash", "bash \"$DODYN_STUDY/bash.sh\"", "")}, {"bash.sh", bash_script, true}}},
          {"cpp",
           "a program of your own in C++",
           "c++ -O2 -o cpp cpp.cpp && dodyn run cpp.cfg",
           {{"cpp.cfg",
             program_cfg("cpp", "\"$DODYN_STUDY/cpp\"", "# Compile the program first: c++ -O2 -o cpp cpp.cpp\n")},
            {"cpp.cpp", cpp_program}}}};
}

// Writes a file. Throws std::runtime_error if it exists, even if it appears meanwhile: mode "x" of C11.
void write_new(const NewFile& file) {
  std::FILE* const out = std::fopen(file.name.c_str(), "wx");
  const bool written = out && std::fwrite(file.text.data(), 1, file.text.size(), out) == file.text.size();
  if (!out || std::fclose(out) != 0 || !written) {
    const std::string why = std::strerror(errno);
    if (out) std::remove(file.name.c_str());  // otherwise the next attempt would refuse to replace it
    throw std::runtime_error(file.name + ": cannot be written: " + why);
  }
  if (file.is_program) ::chmod(file.name.c_str(), 0755);
}

}  // namespace

void add_new_options(AddOptions add) { add("list", po::bool_switch(), "list the kinds"); }

ExitCode new_study(const Invocation& call) {
  const Arguments given = parse(call);
  const std::vector<NewStudy> studies = new_studies();
  std::vector<std::string> kinds;
  for (const NewStudy& study : studies) kinds.push_back(study.kind);
  if (given.flag("list")) {
    if (!given.operands.empty()) throw ConfigError("command line: --list takes no kind; leave one of them out");
    for (const NewStudy& study : studies)
      std::cout << study.kind << std::string(12 - study.kind.size(), ' ') << study.description << "\n";
    return finished;
  }
  if (given.operands.empty()) throw ConfigError("usage: " + call.command.usage() + "; kinds: " + listed(kinds));
  const std::string& kind = given.operands.front();
  for (const NewStudy& study : studies) {
    if (study.kind != kind) continue;
    std::error_code error;
    for (const NewFile& file : study.files)
      if (std::filesystem::exists(std::filesystem::symlink_status(file.name, error)))
        throw ConfigError(file.name + ": exists already; remove it, or choose another folder");
    for (const NewFile& file : study.files) {
      write_new(file);
      std::cout << file.name << "\n";
    }
    std::cout << "next: " << study.next << "\n";
    return finished;
  }
  throw ConfigError("unknown kind '" + shown(kind) + "'" + did_you_mean(kind, kinds) + "; kinds: " + listed(kinds));
}

}  // namespace dodyn::apps
