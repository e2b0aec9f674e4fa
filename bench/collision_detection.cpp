// Collision detection between convex polytopes: the supporting-separating-hyperplane program of geometry/ next to FCL
// (GJK and EPA) and to general LP libraries, on the same pairs in the same run. Times are the least of several rounds,
// per query; ratios are to the program of geometry/.
//
//   collision_detection                      the tables
//   collision_detection cloud                how the time grows with the number of bodies
//   collision_detection agree [pairs]        signs on random pairs (default 1000000): the program, FCL, brute force
//
// FCL and the LP libraries are optional; what is missing at build time is left out of the tables.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>

#include "../tests/geometry/scenes.hpp"
#include "geometry/hyperplanes.hpp"
#include "rigid/detection.hpp"
#ifdef DODYN_HAVE_FCL
#include <fcl/fcl.h>
#endif
#ifdef DODYN_HAVE_GLPK
#include <glpk.h>
#endif
#ifdef DODYN_HAVE_CLP
#include <ClpSimplex.hpp>
#endif

namespace {

using namespace dodyn::geometry;
namespace rigid = dodyn::rigid;

struct Query {
  const Polytope<3>*k1, *k2;
  Frame<3> f1, f2;
};

double sink = 0.0;  // keeps results alive

// Nanoseconds per query, least of `rounds`.
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

// The program as it stands in (2.29) for a general LP code: 5 free variables, one row per corner, one for beta.
struct Rows {
  std::vector<std::array<double, 5>> row;
  Vector<3> beta;
};
[[maybe_unused]] Rows rows(const Query& q) {
  Rows r;
  r.beta = (q.f1(q.k1->centroid()) - q.f2(q.k2->centroid())).normalized();
  for (const auto& v : q.k1->corners()) {
    const Vector<3> x = q.f1(v);
    r.row.push_back({x[0], x[1], x[2], -1.0, 0.0});
  }
  for (const auto& v : q.k2->corners()) {
    const Vector<3> y = q.f2(v);
    r.row.push_back({-y[0], -y[1], -y[2], 0.0, 1.0});
  }
  return r;
}

#ifdef DODYN_HAVE_GLPK
void glpk(const std::vector<Query>& queries, bool keep_basis) {
  glp_smcp options;
  glp_init_smcp(&options);
  options.msg_lev = GLP_MSG_OFF;
  glp_prob* lp = glp_create_prob();
  int size = 0;
  for (const auto& q : queries) {
    const Rows r = rows(q);
    const int count = static_cast<int>(r.row.size());
    if (count != size) {
      glp_erase_prob(lp);
      glp_set_obj_dir(lp, GLP_MAX);
      glp_add_cols(lp, 5);
      for (int i = 1; i <= 5; ++i) glp_set_col_bnds(lp, i, GLP_FR, 0, 0);
      glp_set_obj_coef(lp, 4, 1.0);
      glp_set_obj_coef(lp, 5, -1.0);
      glp_add_rows(lp, count + 1);
      for (int i = 1; i <= count; ++i) glp_set_row_bnds(lp, i, GLP_LO, 0, 0);
      glp_set_row_bnds(lp, count + 1, GLP_FX, 1, 1);
      size = count;
    }
    const int index[6] = {0, 1, 2, 3, 4, 5};
    for (int i = 0; i < count; ++i) {
      double value[6] = {0.0};
      std::copy(r.row[i].begin(), r.row[i].end(), value + 1);
      glp_set_mat_row(lp, i + 1, 5, index, value);
    }
    const double beta[4] = {0.0, r.beta[0], r.beta[1], r.beta[2]};
    glp_set_mat_row(lp, count + 1, 3, index, beta);
    if (!keep_basis) glp_std_basis(lp);
    glp_simplex(lp, &options);
    sink += glp_get_obj_val(lp);
  }
  glp_delete_prob(lp);
}
#endif

#ifdef DODYN_HAVE_CLP
void clp(const std::vector<Query>& queries) {
  ClpSimplex lp;
  lp.setLogLevel(0);
  for (const auto& q : queries) {
    const Rows r = rows(q);
    const int count = static_cast<int>(r.row.size());
    std::vector<double> values, low(count + 1, 0.0), high(count + 1, COIN_DBL_MAX);
    std::vector<int> index;
    std::vector<CoinBigIndex> start{0};
    for (int column = 0; column < 5; ++column) {
      for (int i = 0; i < count; ++i)
        if (r.row[i][column] != 0.0) values.push_back(r.row[i][column]), index.push_back(i);
      if (column < 3) values.push_back(r.beta[column]), index.push_back(count);
      start.push_back(static_cast<CoinBigIndex>(values.size()));
    }
    low[count] = high[count] = 1.0;
    const double lower[5] = {-COIN_DBL_MAX, -COIN_DBL_MAX, -COIN_DBL_MAX, -COIN_DBL_MAX, -COIN_DBL_MAX};
    const double upper[5] = {COIN_DBL_MAX, COIN_DBL_MAX, COIN_DBL_MAX, COIN_DBL_MAX, COIN_DBL_MAX};
    const double objective[5] = {0, 0, 0, -1, 1};
    lp.loadProblem(5, count + 1, start.data(), index.data(), values.data(), lower, upper, objective, low.data(),
                   high.data());
    lp.dual();
    sink += lp.objectiveValue();
  }
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

void print_row(const char* shape, const char* state, const char* order, const std::vector<double>& times) {
  std::printf("%-12s %-11s %-9s", shape, state, order);
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
  random_shapes("200 corners", 200);

  std::printf("ns per query, in brackets the ratio to the first column. The program's time includes the gradient.\n");
  std::printf("%-12s %-11s %-9s %15s %15s %15s %15s %15s %15s %15s\n", "bodies", "state", "order", "program", "yes/no",
              "FCL yes/no", "FCL contact", "FCL distance", "GLPK", "CLP");
  const struct {
    const char* name;
    double gap;
  } states[] = {{"separated", -0.3}, {"touching", 0.0}, {"overlapping", 0.1}};
  for (const auto& shape : shapes)
    for (const auto& state : states)
      for (const bool coherent : {false, true}) {
        std::vector<Query> queries;
        const int count = 400;
        if (!coherent) {
          for (int i = 0; i < count; ++i)
            queries.push_back(place(random, shape.a[i % shape.a.size()], shape.b[(i / 3) % shape.b.size()], state.gap));
        } else {
          // a few pairs, each along a motion of 100 steps: 5 mm and 0.3 degrees in a step, on bodies of about 2 m
          for (int i = 0; i < count; ++i) {
            if (i % 100 == 0) {
              queries.push_back(
                  place(random, shape.a[i / 100 % shape.a.size()], shape.b[i / 100 % shape.b.size()], state.gap));
              continue;
            }
            Query q = queries.back();
            q.f1.position += Vector<3>(0.003, 0.003, -0.003) * (i % 100 < 50 ? 1.0 : -1.0);
            q.f1.directors = Eigen::AngleAxisd(0.005, Vector<3>(1, 2, 3).normalized()) * q.f1.directors;
            queries.push_back(q);
          }
        }
        std::vector<double> times{time(queries, coherent ? warm : cold)};
        times.push_back(time(queries, [&](const auto& all) { yes_no(all, coherent); }));
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
        // FCL 0.7 aborts on an assertion of its expanding polytope for some touching or overlapping larger bodies
        if (shape.a[0].size() <= 8 || state.gap < 0.0)
          times.push_back(time(
              queries,
              [&](const auto&) {
                for (const auto& q : fcl_queries) sink += fcl_distance(q);
              },
              3));
        else
          times.push_back(-1.0);
#else
        times.insert(times.end(), 3, -1.0);
#endif
#ifdef DODYN_HAVE_GLPK
        times.push_back(time(
            queries, [&](const auto& q) { glpk(q, coherent); }, 3));
#else
        times.push_back(-1.0);
#endif
#ifdef DODYN_HAVE_CLP
        times.push_back(time(queries, clp, 2));
#else
        times.push_back(-1.0);
#endif
        print_row(shape.name, state.name, coherent ? "coherent" : "random", times);
      }
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
    // half at random distances, half near touching on a logarithmic scale, from 1e-12 m on, either side
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
  return sink == 1.0;  // never: the results were needed
}
