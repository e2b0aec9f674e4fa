// Where to sample before there is a model: designs that fill the unit cube [0, 1]^d, one per column.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "record/evaluation.hpp"

namespace dodyn::surrogate {

// Latin hypercube: each coordinate takes one value, anywhere, in each of n equal intervals (one design: the middle). Of the hypercubes that exchanges of
// coordinates reach, one of large least distance and small potential (Morris and Mitchell, Exploratory designs for
// computational experiments, 1995).
Eigen::MatrixXd latin_hypercube(int dimensions, int n, std::uint64_t seed);

// Sobol's sequence with the direction numbers of Joe and Kuo (2008) that Boost has, scrambled by a random digital shift,
// from its point `skip` on. Up to 3667 dimensions; Halton's sequence beyond.
Eigen::MatrixXd sobol(int dimensions, int n, std::uint64_t seed, std::uint64_t skip = 0);

// Halton's sequence, each digit's values permuted at random (0 kept).
Eigen::MatrixXd halton(int dimensions, int n, std::uint64_t seed);

// Designs (in the variables' own units, one per column) from a CSV file with a header that names them; other columns
// are ignored, so the output of `dodyn show --csv` serves. Throws std::invalid_argument "FILE:LINE: ..." on a missing
// variable, a cell that is not a number, or a design outside the bounds.
Eigen::MatrixXd read_designs(const std::string& path, const std::vector<Variable>& variables);

// Evaluations done before, from a CSV file with a column for each variable and `cost`, and where they are known
// `status`, `cost_stderr`, gradient.VARIABLE and metrics.NAME; what `dodyn show --csv` writes. An empty cell or nan:
// not known, and without a cost the evaluation failed. Rows outside the bounds are left out. Throws as above.
std::vector<Evaluation> read_samples(const std::string& path, const std::vector<Variable>& variables,
                                     const std::vector<std::string>& metrics);

}  // namespace dodyn::surrogate
