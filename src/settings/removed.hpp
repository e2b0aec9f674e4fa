// Keys and words that earlier versions had, so that a text which has one is answered by what takes its place.
#pragma once

#include <string>
#include <vector>

namespace dodyn {

struct Removed {
  std::string key;     // "surrogate.kernel"
  std::string word;    // of a choice that is still there: the word removed from it; empty: the key is gone
  std::string value;   // what the program does without the key, as an archive may hold it; empty: none
  std::string advice;  // "leave it out: kriging has one kernel, matern52"
};

// The entry of a key, or of a word of a key; null: there is none.
const Removed* find_removed(const std::string& key, const std::string& word = "");

}  // namespace dodyn
