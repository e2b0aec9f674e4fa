#include "rigid/contact_points.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::rigid {
namespace {

using geometry::Frame;
using geometry::Vector;

// Face most opposed to (sign < 0) or along (sign > 0) the normal; -1 where it would be seen edge-on.
template <int n>
int facing(const Faces<n>& faces, const Frame<n>& frame, const Vector<n>& normal, double sign) {
  const Vector<n> local = sign * (frame.directors.transpose() * normal);
  int best = -1;
  double most = 0.1;
  for (int f = 0; f < static_cast<int>(faces.normal.size()); ++f)
    if (const double c = faces.normal[f].dot(local); c > most) {
      most = c;
      best = f;
    }
  return best;
}

// A convex polygon seen along the normal, with heights along it; on the stack.
struct Shadow {
  static constexpr int capacity = 64;
  int size = 0;
  std::array<Vector<2>, capacity> corner;
  void push(const Vector<2>& x) {
    if (size < capacity) corner[size++] = x;
  }
};

// Plane height(s) = offset + slope . s over the shadow's coordinates.
struct Height {
  double offset;
  Vector<2> slope;
  double operator()(const Vector<2>& s) const { return offset + slope.dot(s); }
};

// The part of `subject` to the left of the line from a to b.
void clip(const Shadow& subject, const Vector<2>& a, const Vector<2>& b, Shadow& out) {
  out.size = 0;
  const Vector<2> e = b - a;
  const auto side = [&](const Vector<2>& x) { return e[0] * (x[1] - a[1]) - e[1] * (x[0] - a[0]); };
  const double slack = -1e-12 * e.squaredNorm();
  for (int i = 0; i < subject.size; ++i) {
    const auto &p = subject.corner[i], &q = subject.corner[(i + 1) % subject.size];
    const double sp = side(p), sq = side(q);
    if (sp >= slack) out.push(p);
    // crosses where it is as far aside as the slack: between p and q even if it runs along the line
    if ((sp >= slack) != (sq >= slack)) out.push(p + (sp - slack) / (sp - sq) * (q - p));
  }
}

}  // namespace

template <int n>
Faces<n>::Faces(const geometry::Polytope<n>& polytope) {
  for (const auto& f : polytope.facets()) {
    const Vector<n> a = polytope.corner(f[0]), e = polytope.corner(f[1]) - a;
    if constexpr (n == 2) {
      Vector<2> out(e[1], -e[0]);
      out.normalize();
      normal.push_back(out);
      corners.push_back({a, a + e});
    } else {
      const Vector<3> out = e.cross(polytope.corner(f[2]) - a).normalized();
      if (std::any_of(normal.begin(), normal.end(), [&](const auto& m) { return (m - out).norm() < 1e-7; })) continue;
      std::vector<Vector<3>> flat;
      Vector<3> middle = Vector<3>::Zero();
      for (const auto& x : polytope.corners())
        if (std::abs(out.dot(x - a)) <= 1e-9 * polytope.radius()) {
          flat.push_back(x);
          middle += x;
        }
      middle /= static_cast<double>(flat.size());
      const Vector<3> u = (flat[0] - middle).normalized(), v = out.cross(u);
      std::sort(flat.begin(), flat.end(), [&](const auto& x, const auto& y) {
        return std::atan2(v.dot(x - middle), u.dot(x - middle)) < std::atan2(v.dot(y - middle), u.dot(y - middle));
      });
      normal.push_back(out);
      corners.push_back(flat);
    }
  }
}

template <int n>
void contact_points(const geometry::Contact<n>& c, PairKey pair, const Faces<n>& faces1, const Frame<n>& frame1,
                    const Faces<n>& faces2, const Frame<n>& frame2, double margin, bool keep_own,
                    std::vector<ContactPoint<n>>& out) {
  ContactPoint<n> own;
  own.pair = pair;
  own.body = c.body;
  own.part = c.part;
  own.normal = c.normal();
  own.point = 0.5 * (c.witness[0] + c.witness[1]);
  own.gap = c.normal_gap();
  const double same = 1e-9 + 1e-3 * margin;
  const std::size_t first = out.size();
  if (own.gap > -margin) out.push_back(own);

  const int f1 = facing(faces1, frame1, own.normal, -1.0), f2 = facing(faces2, frame2, own.normal, 1.0);
  if (f1 < 0 || f2 < 0) return;
  // whether all corners of the region are in contact, and whether the own point is one of them
  bool whole = true, at_corner = false;
  double deepest = -std::numeric_limits<double>::infinity();
  // gap at the point that is over `at` (seen along the normal), with heights of the two faces over the own point
  const auto add = [&](const Vector<n>& at, double height1, double height2) {
    ContactPoint<n> p = own;
    p.gap = height2 - height1;
    p.point = at + 0.5 * (height1 + height2) * own.normal;
    if (p.gap <= -margin) {
      whole = false;
      return;
    }
    if ((p.point - own.point).norm() < same) {
      at_corner = true;
      return;
    }
    deepest = std::max(deepest, p.gap);
    out.push_back(p);
  };

  if constexpr (n == 2) {
    const Vector<2> tangent(-own.normal[1], own.normal[0]);
    double s[2][2], z[2][2];
    const Frame<2>* frames[2] = {&frame1, &frame2};
    const std::vector<Vector<2>>* edges[2] = {&faces1.corners[f1], &faces2.corners[f2]};
    for (int b = 0; b < 2; ++b) {
      for (int k = 0; k < 2; ++k) {
        const Vector<2> x = (*frames[b])((*edges[b])[k]) - own.point;
        s[b][k] = tangent.dot(x);
        z[b][k] = own.normal.dot(x);
      }
      if (s[b][0] > s[b][1]) {
        std::swap(s[b][0], s[b][1]);
        std::swap(z[b][0], z[b][1]);
      }
    }
    const double low = std::max(s[0][0], s[1][0]), high = std::min(s[0][1], s[1][1]);
    if (!(low <= high)) return;
    for (const double at : {low, high}) {
      double height[2];
      for (int b = 0; b < 2; ++b) height[b] = z[b][0] + (at - s[b][0]) / (s[b][1] - s[b][0]) * (z[b][1] - z[b][0]);
      add(own.point + at * tangent, height[0], height[1]);
      if (high - low < same) break;
    }
  } else {
    const Vector<3> u = own.normal.unitOrthogonal(), v = own.normal.cross(u);
    Shadow shadow[2];
    Height height[2];
    const Frame<3>* frames[2] = {&frame1, &frame2};
    const Faces<3>* faces[2] = {&faces1, &faces2};
    const int face[2] = {f1, f2};
    for (int b = 0; b < 2; ++b) {
      const auto& corners = faces[b]->corners[face[b]];
      const Vector<3> m = frames[b]->directors * faces[b]->normal[face[b]];
      const double across = m.dot(own.normal);
      const Vector<3> x0 = (*frames[b])(corners[0]) - own.point;
      height[b] = {m.dot(x0) / across, Vector<2>(-m.dot(u) / across, -m.dot(v) / across)};
      const int count = static_cast<int>(corners.size());
      for (int k = 0; k < count; ++k) {
        // counter-clockwise as seen against the normal: body 1's face has the opposite normal
        const Vector<3> x = (*frames[b])(corners[b == 0 ? count - 1 - k : k]) - own.point;
        shadow[b].push({u.dot(x), v.dot(x)});
      }
    }
    Shadow region = shadow[0], rest;
    for (int k = 0; k < shadow[1].size && region.size > 0; ++k) {
      clip(region, shadow[1].corner[k], shadow[1].corner[(k + 1) % shadow[1].size], rest);
      std::swap(region, rest);
    }
    for (int k = 0; k < region.size; ++k) {
      const Vector<2>& s = region.corner[k];
      if (k > 0 && (s - region.corner[k - 1]).norm() < same) continue;
      if (k > 0 && k == region.size - 1 && (s - region.corner[0]).norm() < same) continue;
      add(own.point + s[0] * u + s[1] * v, height[0](s), height[1](s));
    }
  }
  // between the corners of the region the own point says nothing new
  if (!keep_own && whole && !at_corner && own.gap > -margin && out.size() - first > n && own.gap <= deepest + 1e-12)
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(first));
}

template <int n>
ContactPoints<n>::ContactPoints(const World<n>& world) {
  for (const auto& body : world.bodies) {
    faces_.emplace_back();
    for (const auto& part : body.parts) faces_.back().emplace_back(part);
  }
}

template <int n>
void ContactPoints<n>::collect(const Detection<n>& detection, Frames<n> at, double margin, bool keep_own,
                               std::vector<ContactPoint<n>>& out) const {
  out.clear();
  for (std::size_t i = 0; i < detection.found().size(); ++i) {
    const auto& c = detection.found()[i];
    if (c.normal_gap() <= -margin) continue;
    contact_points(c, detection.key(static_cast<int>(i)), faces_[c.body[0]][c.part[0]], at[c.body[0]],
                   faces_[c.body[1]][c.part[1]], at[c.body[1]], margin, keep_own, out);
  }
}

template class ContactPoints<2>;
template class ContactPoints<3>;
template struct Faces<2>;
template struct Faces<3>;
template void contact_points(const geometry::Contact<2>&, PairKey, const Faces<2>&, const Frame<2>&, const Faces<2>&,
                             const Frame<2>&, double, bool, std::vector<ContactPoint<2>>&);
template void contact_points(const geometry::Contact<3>&, PairKey, const Faces<3>&, const Frame<3>&, const Faces<3>&,
                             const Frame<3>&, double, bool, std::vector<ContactPoint<3>>&);

}  // namespace dodyn::rigid
