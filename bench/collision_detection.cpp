// Times collision detection between convex polytopes: the supporting-separating-hyperplane program of geometry/ next to
// FCL and coal (GJK and EPA), on the same pairs in the same run. A time is the minimum of several rounds, per query. A
// ratio is a peer's time divided by that of geometry/.
//
//   collision_detection                      the tables
//   collision_detection cloud                how the time grows with the number of bodies
//   collision_detection agree [pairs]        signs on random pairs (default 1000000): the program, FCL, brute force
//
// FCL and coal are optional; the tables omit a library that is missing at build time. Each row has the fastest of
// coal's five settings.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "../tests/geometry/scenes.hpp"
#include "../tests/geometry/solids.hpp"
#include "geometry/hyperplanes.hpp"
#include "rigid/detection.hpp"
#ifdef DODYN_HAVE_FCL
#include <fcl/fcl.h>
#endif
#ifdef DODYN_HAVE_COAL
#include "coal_queries.hpp"
#endif

namespace {

using namespace dodyn::geometry;
namespace rigid = dodyn::rigid;

struct Query {
  const Polytope<3>*k1, *k2;
  Frame<3> f1, f2;
};

double sink = 0.0;  // keeps results alive

// Returns nanoseconds per query, the minimum of `rounds` rounds.
double time(const std::vector<Query>& queries, const std::function<void(const std::vector<Query>&)>& run,
            int rounds = 15) {
  double best = 1e300;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run(queries);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    best = std::min(best, spent.count() / static_cast<double>(queries.size()));
  }
  return best;
}

void cold(const std::vector<Query>& queries) {
  Contact<3> c;
  for (const auto& q : queries) {
    Basis<3> basis;
    find_contact(*q.k1, q.f1, *q.k2, q.f2, basis, c);
    sink += gradient(c, 0)[4];
  }
}
void warm(const std::vector<Query>& queries) {
  Contact<3> c;
  Basis<3> basis;
  for (const auto& q : queries) {
    find_contact(*q.k1, q.f1, *q.k2, q.f2, basis, c);
    sink += gradient(c, 0)[4];
  }
}

void yes_no(const std::vector<Query>& queries, bool coherent) {
  Basis<3> basis;
  Vector<3> plane = Vector<3>::Zero();
  for (const auto& q : queries) {
    if (!coherent) {
      basis = {};
      plane.setZero();
    }
    sink += overlap(*q.k1, q.f1, *q.k2, q.f2, basis, plane);
  }
}

void distances(const std::vector<Query>& queries, bool coherent) {
  Basis<3> basis;
  for (const auto& q : queries) {
    if (!coherent) basis = {};
    sink += find_distance(*q.k1, q.f1, *q.k2, q.f2, basis).distance;
  }
}

#ifdef DODYN_HAVE_FCL
using Shapes = std::vector<std::pair<const Polytope<3>*, std::unique_ptr<fcl::Convexd>>>;

const fcl::Convexd* shape_of(Shapes& shapes, const Polytope<3>* k) {
  for (const auto& [polytope, shape] : shapes)
    if (polytope == k) return shape.get();
  auto vertices = std::make_shared<std::vector<fcl::Vector3d>>();
  for (const auto& v : k->corners()) vertices->push_back(v);
  auto faces = std::make_shared<std::vector<int>>();
  for (const auto& f : k->facets()) faces->insert(faces->end(), {3, f[0], f[1], f[2]});
  shapes.emplace_back(k, std::make_unique<fcl::Convexd>(vertices, static_cast<int>(k->facets().size()), faces));
  return shapes.back().second.get();
}

fcl::Transform3d transform(const Frame<3>& f) {
  fcl::Transform3d t = fcl::Transform3d::Identity();
  t.linear() = f.directors;
  t.translation() = f.position;
  return t;
}

struct FclQuery {
  const fcl::Convexd *a, *b;
  fcl::Transform3d ta, tb;
};
std::vector<FclQuery> for_fcl(const std::vector<Query>& queries, Shapes& shapes) {
  std::vector<FclQuery> all;
  for (const auto& q : queries)
    all.push_back({shape_of(shapes, q.k1), shape_of(shapes, q.k2), transform(q.f1), transform(q.f2)});
  return all;
}

bool fcl_overlap(const FclQuery& q, bool contact, fcl::GJKSolverType solver, fcl::Vector3d* guess) {
  fcl::CollisionRequestd request(1, contact);
  request.gjk_solver_type = solver;
  if (guess) {
    request.enable_cached_gjk_guess = true;
    request.cached_gjk_guess = *guess;
  }
  fcl::CollisionResultd result;
  fcl::collide(q.a, q.ta, q.b, q.tb, request, result);
  if (guess) *guess = result.cached_gjk_guess;
  return result.isCollision();
}
double fcl_distance(const FclQuery& q) {
  fcl::DistanceRequestd request;
  request.enable_signed_distance = true;
  request.enable_nearest_points = true;
  fcl::DistanceResultd result;
  return fcl::distance(q.a, q.ta, q.b, q.tb, request, result);
}
#endif

// Pairs at a given gap along the line of centroids.
Query place(Random& random, const Polytope<3>& k1, const Polytope<3>& k2, double gap) {
  Query q{&k1, &k2, {}, {}};
  q.f1.directors = random_rotation<3>(random);
  q.f2.directors = random_rotation<3>(random);
  const Vector<3> line = random_vector<3>(random).normalized();
  q.f1.position = 3.0 * line - q.f1.directors * k1.centroid();
  q.f2.position = -(q.f2.directors * k2.centroid());
  Basis<3> basis;
  Contact<3> c;
  find_contact(k1, q.f1, k2, q.f2, basis, c);
  q.f1.position += (c.gap - gap) * line;
  return q;
}

struct Shape {
  const char* name;
  std::vector<Polytope<3>> a, b;
};
constexpr int row_queries = 400;

std::vector<Query> random_pairs(Random& random, const Shape& shape, double gap) {
  std::vector<Query> queries;
  for (int i = 0; i < row_queries; ++i)
    queries.push_back(place(random, shape.a[i % shape.a.size()], shape.b[(i / 3) % shape.b.size()], gap));
  return queries;
}

// A few pairs, each along a motion of 100 steps: 5 mm and 0.3 degrees in a step, on bodies of about 2 m.
std::vector<Query> coherent_pairs(Random& random, const Shape& shape, double gap) {
  std::vector<Query> queries;
  for (int i = 0; i < row_queries; ++i) {
    if (i % 100 == 0) {
      queries.push_back(place(random, shape.a[i / 100 % shape.a.size()], shape.b[i / 100 % shape.b.size()], gap));
      continue;
    }
    Query q = queries.back();
    q.f1.position += Vector<3>(0.003, 0.003, -0.003) * (i % 100 < 50 ? 1.0 : -1.0);
    q.f1.directors = Eigen::AngleAxisd(0.005, Vector<3>(1, 2, 3).normalized()) * q.f1.directors;
    queries.push_back(q);
  }
  return queries;
}

// Pairs of bodies one on top of the other, with whole faces in contact. Offsets are random, or change by 5 mm per
// query.
std::vector<Query> faces(Random& random, const Polytope<3>& body, double height, bool coherent) {
  std::uniform_real_distribution<double> aside(-0.3, 0.3);
  std::vector<Query> queries;
  Query q{&body, &body, {}, {}};
  Vector<3> offset;
  for (int i = 0; i < row_queries; ++i) {
    if (!coherent || i % 100 == 0) {
      offset = {aside(random), aside(random), height};
      q.f2.directors = random_rotation<3>(random);
      q.f2.position = random_vector<3>(random);
    }
    offset[0] += coherent ? (offset[0] > 0.0 ? -0.005 : 0.005) : 0.0;
    q.f1.directors = q.f2.directors;
    q.f1.position = q.f2(offset);
    queries.push_back(q);
  }
  return queries;
}

// Returns the times of one row of the table. -1: the peer is missing or does not support these bodies.
std::vector<double> measure(const std::vector<Query>& queries, bool coherent, [[maybe_unused]] bool fcl_can) {
  std::vector<double> times{time(queries, coherent ? warm : cold)};
  times.push_back(time(queries, [&](const auto& all) { yes_no(all, coherent); }));
  times.push_back(time(queries, [&](const auto& all) { distances(all, coherent); }));
#ifdef DODYN_HAVE_FCL
  Shapes convex;
  const auto fcl_queries = for_fcl(queries, convex);
  const auto collide = [&](bool contact) {
    return time(
        queries,
        [&](const auto&) {
          fcl::Vector3d guess = fcl::Vector3d::UnitX();
          for (const auto& q : fcl_queries)
            sink += fcl_overlap(q, contact, fcl::GST_LIBCCD, coherent ? &guess : nullptr);
        },
        5);
  };
  times.push_back(collide(false));
  times.push_back(collide(true));
  times.push_back(fcl_can ? time(
                                queries,
                                [&](const auto&) {
                                  for (const auto& q : fcl_queries) sink += fcl_distance(q);
                                },
                                3)
                          : -1.0);
#else
  times.insert(times.end(), 3, -1.0);
#endif
#ifdef DODYN_HAVE_COAL
  dodyn::bench::CoalPairs pairs;
  std::vector<dodyn::bench::CoalPairs::Query> coal_queries;
  for (const auto& q : queries) coal_queries.push_back(pairs.query(q.k1, q.f1, q.k2, q.f2));
  for (const auto answer : {dodyn::bench::coal_overlaps, dodyn::bench::coal_distances}) {
    double fastest = 1e300;
    for (const auto& setting : dodyn::bench::coal_settings) {
      const auto ask = [&](const auto&) { sink += answer(coal_queries, setting, coherent); };
      fastest = std::min(fastest, time(queries, ask));
    }
    times.push_back(fastest);
  }
#else
  times.insert(times.end(), 2, -1.0);
#endif
  return times;
}

void print_row(const char* shape, const char* state, const char* order, const std::vector<double>& times) {
  std::printf("%-18s %-11s %-9s", shape, state, order);
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] < 0.0)
      std::printf(" %15s", "-");
    else if (i == 0)
      std::printf(" %8.0f ns    ", times[i]);
    else
      std::printf(" %7.0f (%5.1f)", times[i], times[i] / times[0]);
  }
  std::printf("\n");
  std::fflush(stdout);
}

void tables() {
  Random random(2026);
  std::vector<Shape> shapes;
  constexpr int variety = 20;
  const auto random_shapes = [&](const char* name, int corners) {
    Shape s{name, {}, {}};
    for (int i = 0; i < variety; ++i) {
      s.a.push_back(random_polytope<3>(random, corners));
      s.b.push_back(random_polytope<3>(random, corners));
    }
    shapes.push_back(std::move(s));
  };
  random_shapes("tetrahedra", 4);
  shapes.push_back({"cubes", {box(1, 1, 1)}, {box(1, 1, 1)}});
  random_shapes("8 corners", 8);
  random_shapes("12 corners", 12);
  random_shapes("20 corners", 20);
  random_shapes("50 corners", 50);
  random_shapes("100 corners", 100);
  random_shapes("200 corners", 200);

  std::printf("ns per query, in brackets the ratio to the first column, which includes the gradient.\n");
  std::printf("%-18s %-11s %-9s %15s %15s %15s %15s %15s %15s %15s %15s\n", "bodies", "state", "order", "program",
              "yes/no", "distance", "FCL yes/no", "FCL contact", "FCL distance", "coal yes/no", "coal distance");
  const struct {
    const char* name;
    double gap;
  } states[] = {{"separated", -0.3}, {"touching", 0.0}, {"overlapping", 0.1}};
  for (const auto& shape : shapes)
    for (const auto& state : states) {
      // FCL 0.7 aborts on an assertion of its expanding polytope for some touching or overlapping larger bodies
      const bool fcl_can = shape.a[0].size() <= 8 || state.gap < 0.0;
      print_row(shape.name, state.name, "random", measure(random_pairs(random, shape, state.gap), false, fcl_can));
      print_row(shape.name, state.name, "coherent", measure(coherent_pairs(random, shape, state.gap), true, fcl_can));
    }
  const std::pair<const char*, Polytope<3>> flat[] = {{"cubes", box(1, 1, 1)},
                                                      {"12-sided prisms", regular_prism(12, 0.3, 1.0)},
                                                      {"120-sided prisms", regular_prism(120, 0.03, 1.0)}};
  for (const auto& [name, body] : flat)
    for (const bool coherent : {false, true})
      print_row(name, "face on face", coherent ? "coherent" : "random",
                measure(faces(random, body, 1.0, coherent), coherent, false));
}

void cloud() {
  Random random(2027);
  std::printf("\nhexagonal prisms in a cloud of constant density: detection, one step\n");
  std::printf("%8s %12s %14s %16s\n", "bodies", "looked at", "us", "ns per body");
  for (const int count : {16, 64, 256, 1024, 4096}) {
    rigid::World<3> world;
    world.bodies.assign(count, rigid::solid<3>("prism", {regular_prism(6, 0.2, 0.4)}, 270.0).body);
    rigid::Detection<3> detection(world);
    std::uniform_real_distribution<double> place_at(0.0, 0.5 * std::cbrt(count));
    std::vector<Frame<3>> at(count);
    for (auto& f : at) f = {{place_at(random), place_at(random), place_at(random)}, random_rotation<3>(random)};
    detection.find(at);
    double us = 0.0;
    std::size_t looked_at = 0;
    constexpr int steps = 100;
    for (int i = 0; i < steps; ++i) {
      for (auto& f : at) f.position += random_vector<3>(random, 0.001);
      const auto start = std::chrono::steady_clock::now();
      looked_at += detection.find(at).size();
      us += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::printf("%8d %12zu %14.1f %16.0f\n", count, looked_at / steps, us / steps, 1e3 * us / steps / count);
  }
}

int agree(long pairs) {
  Random random(99);
  std::vector<Polytope<3>> shapes;
  for (int i = 0; i < 40; ++i) shapes.push_back(random_polytope<3>(random, i < 30 ? 4 : 5 + i % 6));
  shapes.push_back(box(1, 1, 1));
  shapes.push_back(regular_prism(6, 0.6, 1.0));
  std::uniform_int_distribution<int> any(0, static_cast<int>(shapes.size()) - 1);
  std::uniform_real_distribution<double> exponent(-12.0, 0.0);
  long overlapping = 0, brute_differs = 0;
  [[maybe_unused]] long fcl_differs = 0, fcl_differs_closely = 0;
  double value_error = 0.0;
  [[maybe_unused]] double fcl_worst = 0.0;
#ifdef DODYN_HAVE_FCL
  Shapes convex;
#endif
  for (long i = 0; i < pairs; ++i) {
    const auto &k1 = shapes[any(random)], &k2 = shapes[any(random)];
    // Half of the distances are random. The other half are near contact, logarithmic from 1e-12 m, on either side.
    Query q = place(random, k1, k2, (i & 2 ? 1.0 : -1.0) * std::pow(10.0, i & 1 ? exponent(random) : 0.0));
    if (!(i & 1)) q.f1.position += random_vector<3>(random, 0.5);
    Basis<3> basis;
    Contact<3> c;
    find_contact(k1, q.f1, k2, q.f2, basis, c);
    const BruteForce<3> brute(k1, q.f1, k2, q.f2);
    const double slab = brute.slab();
    const bool overlaps = c.gap > 0.0;
    overlapping += overlaps;
    value_error = std::max(value_error, std::abs(c.gap + brute.along(c.beta)) / c.alpha.norm());
    const bool near = std::abs(slab) <= 1e-9;
    if (overlaps != (slab < 0.0) && !near) ++brute_differs;
#ifdef DODYN_HAVE_FCL
    const FclQuery f{shape_of(convex, &k1), shape_of(convex, &k2), transform(q.f1), transform(q.f2)};
    if (fcl_overlap(f, false, fcl::GST_LIBCCD, nullptr) != overlaps && !near) {
      ++(std::abs(slab) < 1e-6 ? fcl_differs_closely : fcl_differs);
      fcl_worst = std::max(fcl_worst, std::abs(slab));
    }
#endif
  }
  std::printf("%ld pairs, %ld overlapping; signs that differ more than 1e-9 m from touching:\n", pairs, overlapping);
  std::printf("  brute force %ld   (worst error of the value along the normal: %.1e m)\n", brute_differs, value_error);
#ifdef DODYN_HAVE_FCL
  std::printf("  FCL %ld within 1e-6 m of touching, %ld beyond; farthest %.1e m\n", fcl_differs_closely, fcl_differs,
              fcl_worst);
#endif
  return brute_differs == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "agree") == 0) return agree(argc > 2 ? std::atol(argv[2]) : 1000000);
  if (argc == 1) tables();
  cloud();
  return sink == 1.0;  // never true; the sum must be used, or the compiler could remove the queries
}
