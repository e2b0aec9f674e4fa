// Seeds: every random number of a study follows from its seed and the evaluation's id.
#pragma once

#include <cstdint>

namespace dodyn {

// Returns one output of SplitMix64 (Steele, Lea, Flood 2014) for this state. Outputs of neighbouring states differ in
// about half of their bits.
constexpr std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Returns the seed of one evaluation of a study, or of one part of an evaluation.
constexpr std::uint64_t evaluation_seed(std::uint64_t study_seed, std::int64_t id) {
  return splitmix64(splitmix64(study_seed) ^ static_cast<std::uint64_t>(id));
}

}  // namespace dodyn
