// What a gait problem needs of a legged model: its numbers, and its functions as elements (autodiff/element.hpp).
//
// A walker stands with its point foot on the origin. Its coordinates q are the foot's position first (`base` of them: x
// forward, in space y to the left, last the height), then the joints, written theta: what a node of a gait holds. A
// model becomes a walker by one of the functions below, one for models that are trees (models/tree.hpp), one for
// classes of fixed size (models/planar_biped.hpp).
#pragma once

#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "autodiff/tape.hpp"
#include "systems/tree.hpp"
#include "variational/action_element.hpp"

namespace dodyn::dmoc {

using Coefficient = autodiff::Dual<double>;  // a number and its derivative with respect to the design

struct Walker {
  using Function = std::shared_ptr<const autodiff::Element>;

  int base = 0, joints = 0;
  int n() const { return base + joints; }
  int inputs() const { return static_cast<int>(input_joints.size()); }

  std::vector<std::string> coordinate_names, input_names, point_names;
  std::vector<int> input_joints;  // the joint each torque acts on
  struct Knee {
    int joint, flexion;  // which way it bends
  };
  std::vector<Knee> knees;
  std::vector<double> spread;  // [joints] how far cold starts bend it, relative
  Coefficient weight;          // N

  std::function<std::vector<double>(const std::vector<double>& step)> touch_down;  // theta in double support
  double mirror(int axis) const { return base == 3 && axis == 1 ? -1.0 : 1.0; }

  std::function<Function(Coefficient h)> action;  // (theta, theta') of an interval -> D2 L_d, D4 L_d, [2n]
  Function swing_height;                          // theta -> m
  std::function<Function(double s)> height;       // (theta, theta') -> the same, at the fraction s between them
  Function momentum;                              // (theta, velocity) -> dL/dv, [n]
  Function exchanged_momentum;                    // the same motion, its momentum in the coordinates of exchanged legs
  Function exchanged;  // theta -> q with the legs exchanged (in space, in a mirror at the plane y = 0), [n]
  Function points;     // theta -> foot and link ends, [points base]
  Function segments;   // theta -> both ends of each of the legs' links, [links 2 3]; in the plane z = 0
  // Two of them, one of the stance leg, one of the swing leg.
  struct Links {
    int one = 0, other = 0;
    // Which ends keep their distance whatever the posture, being joints on one body (0 or 1; the nearest, if several);
    int joint = 0, other_joint = 0;
    // that distance, 0 where the links share a joint (the thighs), infinite where there are no such ends; how high the
    // first of them is when the leg is straight; the links' lengths: m.
    Coefficient gap = std::numeric_limits<double>::infinity(), height = 0.0, length = 0.0, other_length = 0.0;
    bool share_a_joint() const { return gap.value < 1e-9; }
  };
  std::vector<Links> pairs;  // in the plane only those that share no joint
  Function lagrangian;       // (q, v), all coordinates -> L
  Function moving_momentum;  // (q, v), all coordinates -> dL/dv, [n]
};

Walker walker(const systems::Tree<Coefficient>& tree);

namespace walking {

// dL/dv at (q, v).
template <class System, class T>
std::vector<T> momentum(const System& system, const std::vector<T>& q, const std::vector<T>& v) {
  using autodiff::Dual;
  std::vector<Dual<T>> a, b;
  for (std::size_t i = 0; i < q.size(); ++i) {
    a.emplace_back(q[i], T(0.0));
    b.emplace_back(v[i], T(0.0));
  }
  std::vector<T> p;
  for (Dual<T>& x : b) {
    x.tangent = T(1.0);
    p.push_back(system.lagrangian(a.data(), b.data()).tangent);
    x.tangent = T(0.0);
  }
  return p;
}

// All that the recorded functions of a System have in common. It has n(), dimension, and, of pointers to numbers of any
// type, lagrangian(q, v), swing_foot(q), exchange_legs(q), points(q), segments(q, link, link).
template <class System>
struct Functions {
  std::shared_ptr<const System> system;
  int base() const { return system->dimension; }
  int joints() const { return system->n() - base(); }

  // The foot at the origin (or at rest), joints from here on.
  template <class T>
  std::vector<T> pinned(const T* joint) const {
    std::vector<T> q(base(), T(0.0));
    q.insert(q.end(), joint, joint + joints());
    return q;
  }

  auto swing_height() const {
    return [f = *this](const auto& theta) {
      using T = std::decay_t<decltype(theta[0])>;
      return std::vector<T>{f.system->swing_foot(f.pinned(theta.data()).data())[f.base() - 1]};
    };
  }
  auto height(double s) const {
    return [f = *this, s](const auto& z) {
      using T = std::decay_t<decltype(z[0])>;
      std::vector<T> theta;
      for (int i = 0; i < f.joints(); ++i) theta.push_back((1.0 - s) * z[i] + s * z[f.joints() + i]);
      return std::vector<T>{f.system->swing_foot(f.pinned(theta.data()).data())[f.base() - 1]};
    };
  }
  auto momentum() const {
    return [f = *this](const auto& z) {
      return walking::momentum(*f.system, f.pinned(z.data()), f.pinned(z.data() + f.joints()));
    };
  }
  auto exchanged_momentum() const {
    return [f = *this](const auto& z) {
      using T = std::decay_t<decltype(z[0])>;
      std::vector<autodiff::Dual<T>> moving(f.base());
      for (int i = 0; i < f.joints(); ++i) moving.emplace_back(z[i], z[f.joints() + i]);
      std::vector<T> q, v;
      for (const auto& x : f.system->exchange_legs(moving.data())) {
        q.push_back(x.value);
        v.push_back(x.tangent);
      }
      return walking::momentum(*f.system, q, v);
    };
  }
  auto exchanged() const {
    return [f = *this](const auto& theta) { return f.system->exchange_legs(f.pinned(theta.data()).data()); };
  }
  auto points() const {
    return [f = *this](const auto& theta) { return f.system->points(f.pinned(theta.data()).data()); };
  }
  auto segments(const std::vector<int>& links) const {
    return [f = *this, links](const auto& theta) {
      using T = std::decay_t<decltype(theta[0])>;
      std::vector<T> ends;
      for (std::size_t i = 0; i < links.size(); i += 2) {
        const bool last = i + 1 == links.size();
        const auto two = f.system->segments(f.pinned(theta.data()).data(), links[i], links[last ? i : i + 1]);
        ends.insert(ends.end(), two.begin(), last ? two.begin() + 6 : two.end());
      }
      return ends;
    };
  }
  auto lagrangian() const {
    return [f = *this](const auto& z) {
      using T = std::decay_t<decltype(z[0])>;
      return std::vector<T>{f.system->lagrangian(z.data(), z.data() + f.system->n())};
    };
  }
  auto moving_momentum() const {
    return [f = *this](const auto& z) {
      using T = std::decay_t<decltype(z[0])>;
      const int n = f.system->n();
      return walking::momentum(*f.system, std::vector<T>(z.begin(), z.begin() + n),
                               std::vector<T>(z.begin() + n, z.end()));
    };
  }
};

// The functions of a walker but its action, which a class of fixed size may have a faster one of.
template <class System, class DesignSystem>
void record_functions(Walker& w, const System& plain, const DesignSystem& design, const std::vector<int>& leg_links) {
  using autodiff::record;
  const Functions<System> f{std::make_shared<System>(plain)};
  const Functions<DesignSystem> d{std::make_shared<DesignSystem>(design)};
  const int j = w.joints, n = w.n();
  w.height = [f, d, j](double s) { return record(2 * j, f.height(s), d.height(s)); };
  w.swing_height = record(j, f.swing_height(), d.swing_height());
  w.momentum = record(2 * j, f.momentum(), d.momentum());
  w.exchanged_momentum = record(2 * j, f.exchanged_momentum(), d.exchanged_momentum());
  w.exchanged = record(j, f.exchanged(), d.exchanged());
  w.points = record(j, f.points(), d.points());
  w.segments = record(j, f.segments(leg_links), d.segments(leg_links));
  w.lagrangian = record(2 * n, f.lagrangian(), d.lagrangian());
  w.moving_momentum = record(2 * n, f.moving_momentum(), d.moving_momentum());
}

// A model of fixed size, seen as a System: a chain of links in the plane.
template <class Model>
struct FixedSize {
  Model model;
  int dimension = Model::base;
  static int n() { return Model::n; }
  template <class T>
  static std::array<T, Model::n> array(const T* q) {
    std::array<T, Model::n> a;
    std::copy_n(q, Model::n, a.begin());
    return a;
  }
  template <class T>
  static std::vector<T> vector(const auto& a) {
    return std::vector<T>(a.begin(), a.end());
  }
  template <class T>
  T lagrangian(const T* q, const T* v) const {
    return model.lagrangian(array(q), array(v));
  }
  template <class T>
  std::vector<T> swing_foot(const T* q) const {
    return vector<T>(model.swing_foot(array(q)));
  }
  template <class T>
  std::vector<T> exchange_legs(const T* q) const {
    return vector<T>(model.exchange_legs(array(q)));
  }
  template <class T>
  std::vector<T> points(const T* q) const {
    return vector<T>(model.points(array(q)));
  }
  template <class T>
  std::vector<T> segments(const T* q, int one, int other) const {
    const auto p = model.points(array(q));
    std::vector<T> s;
    for (const int end : {one, one + 1, other, other + 1}) {
      for (int i = 0; i < 2; ++i) s.push_back(p[2 * end + i]);
      s.push_back(T(0.0));
    }
    return s;
  }
};

}  // namespace walking

// A planar model of fixed size; models/planar_biped.hpp shows all it has to offer.
template <template <class> class Model>
Walker walker(const Model<Coefficient>& model) {
  using M = Model<double>;
  static_assert(M::base == 2);
  Walker w;
  w.base = M::base;
  w.joints = M::joints;
  w.coordinate_names.assign(M::coordinate_names.begin(), M::coordinate_names.end());
  w.input_names.assign(M::input_names.begin(), M::input_names.end());
  for (int p = 0; p <= M::links; ++p)  // the joint that a link ends in is where the next one's coordinate is
    for (const char* axis : {"_x", "_y"})
      w.point_names.push_back((p == 0          ? "foot"
                               : p == M::links ? "swing_foot"
                                               : M::coordinate_names[M::base + p]) +
                              std::string(axis));
  w.input_joints.assign(M::input_joints.begin(), M::input_joints.end());
  for (const auto& knee : M::knees) w.knees.push_back({knee.joint, knee.flexion});
  w.spread.assign(M::joints, 1.0);
  w.weight = model.weight();
  const M plain = model.plain();
  w.touch_down = [plain](const std::vector<double>& step) {
    const auto joints = plain.touch_down(step[0]);
    return std::vector<double>(joints.begin(), joints.end());
  };
  w.action = [plain, model](Coefficient h) {
    return std::make_shared<variational::ActionElement<variational::Midpoint, M::joints, M, Model<Coefficient>>>(
        plain, model, h);
  };
  std::vector<int> leg_links(M::links);
  for (int i = 0; i < M::links; ++i) leg_links[i] = i;
  for (int i = 0; i < M::links / 2; ++i)
    for (int j = M::links / 2; j < M::links; ++j)
      if (j > i + 1) w.pairs.push_back({i, j});
  walking::record_functions(w, walking::FixedSize<M>{plain}, walking::FixedSize<Model<Coefficient>>{model}, leg_links);
  return w;
}

}  // namespace dodyn::dmoc
