// Queries of coal (github.com/coal-library/coal, the collision detection of Pinocchio) for bench/collision_detection:
// its yes/no and its signed distance with normal and witness points, under five settings of GJK.
#pragma once

#include <coal/collision.h>
#include <coal/distance.h>
#include <coal/shape/convex.h>

#include <map>
#include <memory>
#include <vector>

#include "geometry/hyperplanes.hpp"

namespace dodyn::bench {

struct CoalSetting {
  const char* name;
  coal::GJKInitialGuess guess;
  coal::GJKVariant variant;
};
inline constexpr CoalSetting coal_settings[] = {
    {"default", coal::DefaultGuess, coal::DefaultGJK},
    {"bounding volumes", coal::BoundingVolumeGuess, coal::DefaultGJK},
    {"cached guess", coal::CachedGuess, coal::DefaultGJK},
    {"Polyak", coal::DefaultGuess, coal::PolyakAcceleration},
    {"Nesterov", coal::DefaultGuess, coal::NesterovAcceleration},
};

// Shapes and solvers of pairs, constructed once before any query is timed.
class CoalPairs {
 public:
  struct Query {
    const coal::ComputeCollision* collide;
    const coal::ComputeDistance* distance;
    coal::Transform3s t1, t2;
  };

  Query query(const geometry::Polytope<3>* k1, const geometry::Frame<3>& f1, const geometry::Polytope<3>* k2,
              const geometry::Frame<3>& f2) {
    Pair& pair = pairs_[{k1, k2}];
    if (!pair.collide) {
      pair.collide = std::make_unique<coal::ComputeCollision>(shape(k1), shape(k2));
      pair.distance = std::make_unique<coal::ComputeDistance>(shape(k1), shape(k2));
    }
    return {pair.collide.get(), pair.distance.get(), {f1.directors, f1.position}, {f2.directors, f2.position}};
  }

 private:
  using Convex = coal::Convex<coal::Triangle>;
  struct Pair {
    std::unique_ptr<coal::ComputeCollision> collide;
    std::unique_ptr<coal::ComputeDistance> distance;
  };

  const Convex* shape(const geometry::Polytope<3>* k) {
    std::unique_ptr<Convex>& found = shapes_[k];
    if (!found) {
      auto points = std::make_shared<std::vector<coal::Vec3s>>();
      for (const auto& v : k->corners()) points->push_back(v);
      auto faces = std::make_shared<std::vector<coal::Triangle>>();
      for (const auto& f : k->facets()) faces->emplace_back(f[0], f[1], f[2]);
      found = std::make_unique<Convex>(points, static_cast<unsigned>(points->size()), faces,
                                       static_cast<unsigned>(faces->size()));
      found->computeLocalAABB();
    }
    return found.get();
  }

  std::map<const geometry::Polytope<3>*, std::unique_ptr<Convex>> shapes_;
  std::map<std::pair<const geometry::Polytope<3>*, const geometry::Polytope<3>*>, Pair> pairs_;
};

// Tests whether the bodies of each query overlap. Returns the number of overlaps. With `coherent`, each query starts
// from the final guess of the previous one, if the setting supports guesses.
inline double coal_overlaps(const std::vector<CoalPairs::Query>& queries, const CoalSetting& setting, bool coherent) {
  double sum = 0.0;
  coal::CollisionRequest request(coal::NO_REQUEST, 1);
  request.gjk_initial_guess = setting.guess;
  request.gjk_variant = setting.variant;
  coal::CollisionResult result;
  for (const auto& q : queries) {
    result.clear();
    sum += static_cast<double>((*q.collide)(q.t1, q.t2, request, result));
    if (coherent) request.updateGuess(result);
  }
  return sum;
}

// Computes signed distance, normal and witness points of each query. Returns the sum of the distances.
inline double coal_distances(const std::vector<CoalPairs::Query>& queries, const CoalSetting& setting, bool coherent) {
  double sum = 0.0;
  coal::DistanceRequest request(true, true);
  request.gjk_initial_guess = setting.guess;
  request.gjk_variant = setting.variant;
  coal::DistanceResult result;
  for (const auto& q : queries) {
    result.clear();
    sum += (*q.distance)(q.t1, q.t2, request, result) + result.normal[0];
    if (coherent) request.updateGuess(result);
  }
  return sum;
}

}  // namespace dodyn::bench
