// Texts of trees drawn at random, of joints that both views have.
#pragma once

#include <random>
#include <string>
#include <vector>

namespace dodyn::systems {

// `dimension` 2 or 3. `slides`: links that slide on others, too. One to three roots, up to six links; springs, charges, drag and forces on them.
inline std::string random_tree(std::mt19937_64& random, int dimension, bool free_roots, bool forces,
                               bool slides = false) {
  const auto pick = [&](int from, int to) { return static_cast<int>(random() % (to - from + 1)) + from; };
  const auto number = [&](double from, double to) {
    return std::to_string(from + (to - from) * static_cast<double>(random() >> 11) * 0x1p-53);
  };
  const auto vector = [&] {
    std::string text = number(-0.5, 0.5) + ", " + number(-0.5, 0.5);
    return dimension == 3 ? text + ", " + number(-0.5, 0.5) : text;
  };
  std::string text = "[model]\ndimension = " + std::to_string(dimension) +
                     "\ngravity = " + (pick(0, 1) ? vector() : number(0, 10)) +
                     (forces ? "\ncharge-constant = 0.05" : "") + "\n[parameters]\nk = 3 # 1\n";
  const int links = pick(1, 6);
  std::vector<std::string> turns;
  for (int l = 0; l < links; ++l) {
    const bool root = l == 0 || pick(0, 3) == 0;
    const std::string axis = pick(0, 1) ? std::string(1, static_cast<char>('x' + pick(0, 2)))
                                        : number(-1, 1) + ", " + number(-1, 1) + ", " + number(0.1, 1);
    const char* const orders[] = {"XYZ", "YZX", "ZXY", "ZYX"};
    std::string joint;
    const int kind = pick(0, 5);
    if (root && (free_roots || kind > 2))
      joint = dimension == 2 ? "planar" : std::string("spatial ") + orders[pick(0, 3)];
    else if (kind == 0 && !root)
      joint = "fixed";
    else if (slides && kind == 1 && !root)
      joint = std::string("prismatic ") + (dimension == 3 ? axis : std::string(1, static_cast<char>('x' + pick(0, 1))));
    else if (dimension == 2)
      joint = "revolute";
    else
      joint = kind < 3 ? std::string("revolute ") + axis : std::string("spherical ") + orders[pick(0, 3)];
    const std::string name = "l" + std::to_string(l);
    text += "[link " + name + "]\nparent = " + (root ? "ground" : "l" + std::to_string(pick(0, l - 1))) +
            "\njoint = " + joint + "\nat = " + vector() + "\nend = " + vector() + "\nmass = " + number(0.5, 3) +
            "\ninertia = " +
            (dimension == 2 ? number(0.1, 0.3) : number(0.2, 0.3) + ", " + number(0.2, 0.3) + ", " + number(0.2, 0.3)) +
            "\n";
    if (joint.starts_with("revolute") || joint.starts_with("prismatic")) turns.push_back(name);
    if (pick(0, 2) == 0) text += "[mass m" + name + "]\nlink = " + name + "\nat = " + vector() + "\nmass = 0.4\n";
    if (pick(0, 2) == 0)
      text += "[shape s" + name + "]\nlink = " + name + "\nball = 0.1\nat = " + vector() + "\ndensity = 50\n";
    if (!forces) continue;
    text += "[charge c" + name + "]\nlink = " + name + "\nat = " + vector() + "\nvalue = " + number(0.5, 1) + "\n";
    text += "[point p" + name + "]\nlink = " + name + "\nat = " + vector() + "\n";
    text += "[spring a" + name + "]\nfrom = p" + name + "\nto = ground : " + vector() +
            "\nstiffness = 1*k\nlength = 0.3\ndamping = 0.2\n";
    text += "[force f" + name + "]\nlink = " + name + "\nat = " + vector() + "\nforce = " + number(-1, 1) +
            ", -0.1 N s/m*rate(p" + name + ".x)" + (dimension == 3 ? ", 0.1" : "") + "\n";
    text += "[potential v" + name + "]\nenergy = cos(p" + name + ".y/1 m)*k\n";
  }
  if (forces && !turns.empty())
    text += "[spring t]\ncoordinate = " + turns[0] +
            "\nstiffness = 2*k\nrest = 0.1\ndamping = 0.1\n[actuator u]\ncoordinate = " + turns[0] + "\n";
  return text + "[contact]\nothers = no\n";
}

}  // namespace dodyn::systems
