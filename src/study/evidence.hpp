// A study's archive as the evidence that a search would have: variables as whole numbers or labels where its
// configuration says so, constraints, objectives, noise, and of each evaluation the last attempt that has an answer.
#pragma once

#include "archive/archive.hpp"
#include "surrogate/evidence.hpp"

namespace dodyn::study {

// Throws ConfigError where the archive's configuration cannot be read.
surrogate::Evidence evidence_of(const archive::Contents& contents);

}  // namespace dodyn::study
