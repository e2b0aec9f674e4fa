#include "surrogate/sampling.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <stdexcept>

#include "tests/message_of.hpp"

namespace dodyn::surrogate::test_sampling {
namespace {

using Eigen::MatrixXd;

bool inside(const MatrixXd& x) { return x.size() > 0 && x.minCoeff() >= 0 && x.maxCoeff() <= 1; }

// One point in each of n equal intervals of each coordinate.
bool latin(const MatrixXd& x) {
  for (Eigen::Index k = 0; k < x.rows(); ++k) {
    std::set<int> cells;
    for (Eigen::Index i = 0; i < x.cols(); ++i) cells.insert(static_cast<int>(x(k, i) * static_cast<double>(x.cols())));
    if (cells.size() != static_cast<std::size_t>(x.cols())) return false;
  }
  return true;
}

double least_distance(const MatrixXd& x) {
  double least = HUGE_VAL;
  for (Eigen::Index i = 0; i < x.cols(); ++i)
    for (Eigen::Index j = 0; j < i; ++j) least = std::min(least, (x.col(i) - x.col(j)).norm());
  return least;
}

TEST(Sampling, LatinHypercubeIsOneAndSpread) {
  double sum = 0, plain = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const MatrixXd x = latin_hypercube(3, 14, seed);
    EXPECT_TRUE(inside(x) && latin(x));
    EXPECT_EQ(x, latin_hypercube(3, 14, seed));
    sum += least_distance(x);
    plain += least_distance(halton(3, 14, seed));
  }
  EXPECT_GT(sum, 1.3 * plain);
  EXPECT_EQ(latin_hypercube(1, 1, 5)(0, 0), 0.5);
}

// Different seeds give different designs, even with few variables: otherwise a median over seeds would count one design
// several times.
TEST(Sampling, LatinHypercubesOfDifferentSeedsDiffer) {
  for (const int d : {1, 2}) {
    std::set<std::vector<double>> seen;
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      const MatrixXd x = latin_hypercube(d, 6, seed);
      EXPECT_TRUE(inside(x) && latin(x));
      seen.emplace(x.reshaped().begin(), x.reshaped().end());
    }
    EXPECT_EQ(seen.size(), 30u) << d;
  }
}

TEST(Sampling, SobolFillsEveryDyadicInterval) {
  for (const int d : {1, 2, 5, 21, 40}) {
    const MatrixXd x = sobol(d, 256, 9);
    EXPECT_TRUE(inside(x) && latin(x)) << d;  // also after a digital shift
    EXPECT_EQ(sobol(d, 100, 9, 156), x.rightCols(100));
  }
  // the first two coordinates: one point in each of the 16 x 16 squares
  const MatrixXd x = sobol(2, 256, 4);
  std::set<int> cells;
  for (Eigen::Index i = 0; i < 256; ++i)
    cells.insert(16 * static_cast<int>(16 * x(0, i)) + static_cast<int>(16 * x(1, i)));
  EXPECT_EQ(cells.size(), 256u);
  EXPECT_TRUE(inside(sobol(30, 50, 1)));
}

TEST(Sampling, Halton) {
  const MatrixXd x = halton(6, 500, 2);
  EXPECT_TRUE(inside(x));
  EXPECT_NEAR(x.mean(), 0.5, 0.02);
}

// Also in base 2, whose digits have one permutation: sets of initial states with different seeds count as different.
TEST(Sampling, HaltonSequencesOfDifferentSeedsDiffer) {
  std::set<double> seen;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const MatrixXd x = halton(1, 16, seed);
    EXPECT_TRUE(inside(x));
    // shifted 1/32, 1/16, 2/16 ... 15/16: no interval of 0.1 is empty
    std::vector<double> sorted(x.reshaped().begin(), x.reshaped().end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_LT(sorted[i] - sorted[i - 1], 0.1) << seed;
    seen.insert(x(0, 0));
  }
  EXPECT_EQ(seen.size(), 30u);
}

TEST(Sampling, DesignsFromCsv) {
  const std::string path = testing::TempDir() + "dodyn_designs.csv";
  const std::vector<Variable> variables = {{"knee", "m", 0, 1}, {"period", "s", 0.5, 2}};
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write("id,period [s],cost,knee\n0,1.5,3,0.25\n1,0.5,4,1\n");
  const MatrixXd x = read_designs(path, variables);
  ASSERT_EQ(x.cols(), 2);
  EXPECT_EQ(x(0, 0), 0.25);
  EXPECT_EQ(x(1, 0), 1.5);
  const auto message = [&] { return message_of<std::invalid_argument>([&] { read_designs(path, variables); }); };
  write("knee,period\n0.2,1\n0.2,many\n");
  EXPECT_EQ(message(), path + ":3: period = 'many' is not a number");
  write("knee,period\n0.2,3\n");
  EXPECT_EQ(message(), path + ":2: period = 3 lies outside its range");
  write("knee\n0.2\n");
  EXPECT_EQ(message(), path + ":1: no column 'period'");
  write("knee [mm],period\n200,1\n");
  EXPECT_EQ(message(), path + ":1: column 'knee' is in mm; the study has it in m, so convert the column");
}

// A design is refused if a variable cannot have its value, or if a condition on designs excludes it.
TEST(Sampling, DesignsFromCsvAreDesignsOfTheStudy) {
  const std::string path = testing::TempDir() + "dodyn_designs_of_the_study.csv";
  std::vector<Variable> variables = {{"n", "", 0, 3}, {"z", "m", 0.5, 1}, {"w", "", 1, 9}, {"mat", "", 0, 1}};
  variables[3].choices = {"steel", "brass"};
  Domain conditional;
  conditional.active = [](const Eigen::VectorXd& x) { return x(0) > 0; };
  const std::vector<Domain> domains = {Domain::integer, conditional, Domain({1, 3, 9}), Domain::category};
  const auto allowed = [](const Eigen::VectorXd& x) { return x(0) <= 2; };
  const auto message = [&](const std::string& text) {
    std::ofstream(path) << text;
    try {
      read_designs(path, variables, domains, allowed);
    } catch (const std::invalid_argument& e) {
      const std::string complaint = e.what();
      EXPECT_TRUE(complaint.starts_with(path)) << complaint;
      return complaint.substr(path.size());
    }
    return std::string("accepted");
  };
  const std::string header = "n,z,w,mat\n";
  EXPECT_EQ(message(header + "1,0.7,3,0\n0,0.5,9,brass,\n"), "accepted");
  const MatrixXd x = read_designs(path, variables, domains, allowed);
  EXPECT_EQ(x.col(0), Eigen::Vector4d(1, 0.7, 3, 0));
  EXPECT_EQ(x.col(1), Eigen::Vector4d(0, 0.5, 9, 1));
  EXPECT_EQ(message(header + "1.3,0.7,3,0\n"), ":2: n = 1.3 is not one of the variable's values; the nearest is 1");
  EXPECT_EQ(message(header + "1,0.7,4,0\n"), ":2: w = 4 is not one of the variable's values; the nearest is 3");
  EXPECT_EQ(message(header + "1,0.7,3,0.2\n"), ":2: mat = 0.2 is not one of the variable's values; the nearest is 0");
  EXPECT_EQ(message(header + "0,0.7,3,0\n"),
            ":2: z = 0.7: the design does not have this variable; expected its lower bound 0.5");
  EXPECT_EQ(message(header + "1,0.7,3,0\n3,0.7,3,0\n"),
            ":3: the design violates surrogate.design-constraints; remove this row");
  EXPECT_EQ(message(header + "1,0.7,3,0,7\n"), ":2: has 5 cells; the header has 4");
  EXPECT_EQ(message("n,n,z,w,mat\n1,2,0.7,3,0\n"), ":1: two columns 'n'; remove one of them");
  EXPECT_EQ(message(header), ":1: no row follows the header");
  // known evaluations of other designs are left out, unless these are all
  std::ofstream(path) << "n,z,w,mat,cost\n1,0.7,3,0,5\n1,0.7,4,0,6\n1.3,0.7,3,0,7\n";
  const auto samples = read_samples(path, variables, {}, domains);
  ASSERT_EQ(samples.size(), 1u);
  EXPECT_EQ(samples[0].cost, 5);
  std::ofstream(path) << "n,z,w,mat,cost\n1,0.7,4,0,6\n";
  EXPECT_THROW(read_samples(path, variables, {}, domains), std::invalid_argument);
}

TEST(Sampling, EvaluationsFromCsv) {
  const std::string path = testing::TempDir() + "dodyn_samples.csv";
  const std::vector<Variable> variables = {{"knee", "m", 0, 1}, {"period", "s", 0.5, 2}};
  const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
  write(
      "id,design.period [s],design.knee [m],status,reason,cost,gradient.knee,gradient.period,metrics.torque [N m]\r\n"
      "0,1.5,0.25,ok,,3,0.5,-0.5,7\r\n"
      "1,1.5,0.5,failed,\"fell, \"\"twice\"\"\",nan,nan,nan,nan\r\n"
      "2,0.5,3,ok,,4,1,1,1\r\n"
      "3,0.5,1,ok,,4,,,2\r\n");
  const auto samples = read_samples(path, variables, {{"speed", "m/s", ""}, {"torque", "N m", ""}});
  ASSERT_EQ(samples.size(), 3u);  // one lies outside
  EXPECT_TRUE(samples[0].ok());
  EXPECT_EQ(samples[0].design, Eigen::Vector2d(0.25, 1.5));
  EXPECT_EQ(samples[0].cost, 3);
  EXPECT_EQ(samples[0].gradient, Eigen::Vector2d(0.5, -0.5));
  EXPECT_TRUE(std::isnan(samples[0].metrics(0)));
  EXPECT_EQ(samples[0].metrics(1), 7);
  EXPECT_EQ(samples[1].status, Status::failed);
  EXPECT_EQ(samples[2].gradient.size(), 0);
  EXPECT_EQ(read_designs(path, {{"period", "s", 0.5, 2}}).cols(), 4);
  write("knee,period\n0.2,1\n");
  EXPECT_THROW(read_samples(path, variables, {}), std::invalid_argument);
}

TEST(Sampling, CsvFilesOfSpreadsheetsAndMistakenFiles) {
  const std::string path = testing::TempDir() + "dodyn_mistaken.csv";
  const std::vector<Variable> variables = {{"knee", "m", 0, 1}};
  const auto message = [&](const std::string& text) {
    std::ofstream(path) << text;
    try {
      read_samples(path, variables, {{"torque", "N m", ""}});
    } catch (const std::invalid_argument& error) {
      return std::string(error.what()).substr(path.size());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("\xEF\xBB\xBFknee,cost\r\n0.2,1\r\n"), "accepted");  // a byte order mark
  EXPECT_EQ(message("knee,cost,metrics.torque [N m]\n0.2,1,3\n"), "accepted");
  EXPECT_EQ(message("knee,cost,metrics.torque [N mm]\n0.2,1,3000\n"),
            ":1: column 'metrics.torque' is in N mm; the study has it in N m, so convert the column");
  EXPECT_EQ(message("design.knee [mm],cost\n200,1\n"),
            ":1: column 'design.knee' is in mm; the study has it in m, so convert the column");
  EXPECT_EQ(message("\x89HDF\r\n\x1a\n"), ": is an HDF5 file; expected a CSV file, such as that of dodyn show --csv");
  for (const std::string& unreadable : {testing::TempDir(), path + ".missing"}) try {
      read_designs(unreadable, variables);
      FAIL() << unreadable;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()), unreadable + ": cannot be read");
    }
}

}  // namespace
}  // namespace dodyn::surrogate::test_sampling
