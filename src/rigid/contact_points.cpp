#include "rigid/contact_points.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <limits>

namespace dodyn::rigid {
namespace {

using geometry::Frame;
using geometry::Vector;

// Returns the face whose normal is most opposed to `normal` (sign < 0) or most along it (sign > 0). -1: that face is
// seen edge-on.
template <int n>
int facing(const Faces<n>& faces, const Frame<n>& frame, const Vector<n>& normal, double sign) {
  const Vector<n> local = sign * (frame.directors.transpose() * normal);
  int best = -1;
  double most = 0.1;
  for (int f = 0; f < std::ssize(faces.normal); ++f)
    if (const double c = faces.normal[f].dot(local); c > most) {
      most = c;
      best = f;
    }
  return best;
}

// A convex polygon, projected along the normal.
using Shadow = std::vector<Vector<2>>;

// The plane height(s) = offset + slope . s over the projected coordinates.
struct Height {
  double offset;
  Vector<2> slope;
  double operator()(const Vector<2>& s) const { return offset + slope.dot(s); }
};

// Clips `subject`: keeps the part to the left of the line from a to b.
void clip(const Shadow& subject, const Vector<2>& a, const Vector<2>& b, Shadow& out) {
  out.clear();
  const Vector<2> e = b - a;
  const auto side = [&](const Vector<2>& x) { return e[0] * (x[1] - a[1]) - e[1] * (x[0] - a[0]); };
  const double slack = -1e-12 * e.squaredNorm();
  for (std::size_t i = 0; i < subject.size(); ++i) {
    const auto &p = subject[i], &q = subject[(i + 1) % subject.size()];
    const double sp = side(p), sq = side(q);
    if (sp >= slack) out.push_back(p);
    // The edge is cut at the distance `slack` from the line. That point lies between p and q even if the edge runs
    // along the line.
    if ((sp >= slack) != (sq >= slack)) out.push_back(p + (sp - slack) / (sp - sq) * (q - p));
  }
}

// Adds the corners of the overlap region to the points of a contact.
template <int n>
struct RegionCorners {
  const ContactPoint<n>& own;
  double margin;
  double same;  // points closer than this coincide, m
  std::vector<ContactPoint<n>>& out;
  bool whole = true;       // all corners up to now are in contact
  bool at_corner = false;  // the contact's own point coincides with a corner
  double deepest = -std::numeric_limits<double>::infinity();

  // Adds the contact point at `at`. height1, height2: heights of the two faces there along the normal, relative to the
  // contact's own point.
  void add(const Vector<n>& at, double height1, double height2) {
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
  }
};

// Adds the ends of the overlap of two edges, projected along the normal.
void add_corners(const std::array<const Frame<2>*, 2>& frames,
                 const std::array<const std::vector<Vector<2>>*, 2>& edges, RegionCorners<2>& region) {
  const ContactPoint<2>& own = region.own;
  const Vector<2> tangent(-own.normal[1], own.normal[0]);
  double s[2][2], z[2][2];
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t k = 0; k < 2; ++k) {
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
    region.add(own.point + at * tangent, height[0], height[1]);
    if (high - low < region.same) break;
  }
}

// Adds the corners of the overlap of two faces, projected along the normal.
void add_corners(const std::array<const Frame<3>*, 2>& frames, const std::array<const Faces<3>*, 2>& faces,
                 const std::array<int, 2>& face, RegionCorners<3>& corners) {
  const ContactPoint<3>& own = corners.own;
  const Vector<3> u = own.normal.unitOrthogonal(), v = own.normal.cross(u);
  static thread_local Shadow shadow[2], region, rest;  // static: no allocation in later steps
  std::array<Height, 2> height;
  for (std::size_t b = 0; b < 2; ++b) {
    const auto& around = faces[b]->corners[face[b]];
    const Vector<3> m = frames[b]->directors * faces[b]->normal[face[b]];
    const double across = m.dot(own.normal);
    const Vector<3> x0 = (*frames[b])(around[0]) - own.point;
    height[b] = {m.dot(x0) / across, Vector<2>(-m.dot(u) / across, -m.dot(v) / across)};
    shadow[b].clear();
    for (std::size_t k = 0; k < around.size(); ++k) {
      // counter-clockwise when seen against the normal: the face of body 1 has the opposite normal
      const Vector<3> x = (*frames[b])(around[b == 0 ? around.size() - 1 - k : k]) - own.point;
      shadow[b].emplace_back(u.dot(x), v.dot(x));
    }
  }
  region = shadow[0];
  for (std::size_t k = 0; k < shadow[1].size() && !region.empty(); ++k) {
    clip(region, shadow[1][k], shadow[1][(k + 1) % shadow[1].size()], rest);
    std::swap(region, rest);
  }
  for (std::size_t k = 0; k < region.size(); ++k) {
    const Vector<2>& s = region[k];
    if (k > 0 && (s - region[k - 1]).norm() < corners.same) continue;
    if (k > 0 && k == region.size() - 1 && (s - region[0]).norm() < corners.same) continue;
    corners.add(own.point + s[0] * u + s[1] * v, height[0](s), height[1](s));
  }
}

}  // namespace

template <int n>
Faces<n>::Faces(const geometry::Polytope<n>& polytope) {
  for (const auto& f : polytope.facets()) {
    const Vector<n> a = polytope.corner(f[0]), out = polytope.normal(f).normalized();
    if constexpr (n == 2) {
      normal.push_back(out);
      const Vector<n> e = polytope.corner(f[1]) - a;
      corners.push_back({a, a + e});
    } else {
      if (std::ranges::any_of(normal, [&](const auto& m) { return (m - out).norm() < 1e-7; })) continue;
      std::vector<Vector<3>> flat;
      Vector<3> middle = Vector<3>::Zero();
      for (const auto& x : polytope.corners())
        if (std::abs(out.dot(x - a)) <= 1e-9 * polytope.radius()) {
          flat.push_back(x);
          middle += x;
        }
      middle /= static_cast<double>(flat.size());
      const Vector<3> u = (flat[0] - middle).normalized(), v = out.cross(u);
      std::ranges::sort(flat, [&](const auto& x, const auto& y) {
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
  const std::size_t first = out.size();
  if (own.gap > -margin) out.push_back(own);

  const int f1 = facing(faces1, frame1, own.normal, -1.0), f2 = facing(faces2, frame2, own.normal, 1.0);
  if (f1 < 0 || f2 < 0) return;
  RegionCorners<n> region{.own = own, .margin = margin, .same = 1e-9 + 1e-3 * margin, .out = out};
  if constexpr (n == 2)
    add_corners({&frame1, &frame2}, {&faces1.corners[f1], &faces2.corners[f2]}, region);
  else
    add_corners({&frame1, &frame2}, {&faces1, &faces2}, {f1, f2}, region);
  // the own point is redundant if it lies between the corners of the region
  if (!keep_own && region.whole && !region.at_corner && own.gap > -margin && out.size() - first > n &&
      own.gap <= region.deepest + 1e-12)
    out.erase(out.begin() + first);
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
    contact_points(c, detection.key(i), faces_[c.body[0]][c.part[0]], at[c.body[0]], faces_[c.body[1]][c.part[1]],
                   at[c.body[1]], margin, keep_own, out);
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
