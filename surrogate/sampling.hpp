// Designs that fill the unit cube [0, 1]^d, one per column, for sampling without a model.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "record/evaluation.hpp"
#include "surrogate/design_space.hpp"

namespace dodyn::surrogate {

// Returns a Latin hypercube: each coordinate has one value, at random, in each of n equal intervals (one design: the
// middle). Exchanges of coordinates maximise the smallest distance and minimise the potential of Morris and Mitchell,
// Exploratory designs for computational experiments (1995).
Eigen::MatrixXd latin_hypercube(int dimensions, int n, std::uint64_t seed);

// Returns Sobol's sequence from its point `skip` on, scrambled by a random digital shift. Boost's direction numbers are
// those of Joe and Kuo (2008). Above 3667 dimensions: Halton's sequence.
Eigen::MatrixXd sobol(int dimensions, int n, std::uint64_t seed, std::uint64_t skip = 0);

// Returns Halton's sequence with random permutations of each digit's values (0 is fixed) and a random shift modulo 1 of
// each coordinate.
Eigen::MatrixXd halton(int dimensions, int n, std::uint64_t seed);

// Reads designs (in the variables' units, one per column) from a CSV file with a header. Other columns are ignored, so
// the output of `dodyn show --csv` is valid. A label is a number or its name. `domains`: as for DesignSpace; `allowed`:
// condition on designs, empty: none. Throws std::invalid_argument "FILE:LINE: ...": a missing variable, a column that
// occurs twice or has another unit, no row, a row with more cells than the header, a cell that is not a number, or a
// design that the study cannot have.
Eigen::MatrixXd read_designs(const std::string& path, const std::vector<Variable>& variables,
                             const std::vector<Domain>& domains = {},
                             const std::function<bool(const Eigen::VectorXd& design)>& allowed = {});

// Reads known evaluations from a CSV file, such as the output of `dodyn show --csv`. Columns: each variable and `cost`;
// optional: `status`, `cost_stderr`, gradient.VARIABLE and metrics.NAME. An empty cell or nan means unknown. An
// evaluation without a cost, or with a status other than ok, counts as failed. Rows with values that the variables
// cannot have are left out. Throws as read_designs(), for a metric in another unit, and if the cost has no column or no
// row is left.
std::vector<Evaluation> read_samples(const std::string& path, const std::vector<Variable>& variables,
                                     const std::vector<Quantity>& metrics, const std::vector<Domain>& domains = {});

// Returns the index of the first variable that cannot have its value in this design; -1: none. Replaces values that
// agree within rounding by the exact ones.
Eigen::Index find_invalid_value(const DesignSpace& space, Eigen::VectorXd& design);

}  // namespace dodyn::surrogate
