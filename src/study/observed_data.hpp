// A study's archive as the evidence that a search would have: variables as whole numbers or labels where its
// configuration says so, constraints, objectives, noise, and of each evaluation the last attempt that has an answer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "archive/archive.hpp"
#include "surrogate/observed_data.hpp"

namespace dodyn::study {

// The value of a key; empty where there is none.
std::string text_in(const std::vector<std::pair<std::string, std::string>>& configuration, const std::string& key);

// Throws ConfigError where the archive's configuration cannot be read.
surrogate::ObservedData observed_data(const archive::Contents& contents);

// The evaluation that the study recommends. Of costs without noise: the feasible one that is least in the objective. Of
// noisy ones, where the least cost seen owes part of it to luck: the one whose design the search recommended last. Null:
// none is feasible, or there are several objectives, whose front is the result.
const Evaluation* recommended_of(const archive::Contents& contents, const surrogate::ObservedData& observed);

}  // namespace dodyn::study
