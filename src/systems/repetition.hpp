// Models with repeated links ([link box_i], count = boxes).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Reads a model like read_model(), with the values `given` of parameters on which counts depend. The model is valid for
// these counts only: evaluate() refuses values of the parameters that give other counts.
Model read_model(std::string_view text, const std::string& origin, const std::map<std::string, double>& given);

struct RepeatedLink {
  std::string name;  // "box_i"
  int count;
};
// Returns the sections of a text. A section that mentions a repeated link is copied for each of the link's copies:
// box_i becomes box_1, box_2 ..., and in values i becomes the number. In [contact] and [parameters] single entries are
// copied. Adds the names of the copied links to `counted`. Throws ConfigError if a section mentions links with
// different counts, or if there are too many copies.
std::vector<ini::Section> repeated(const ini::Text& text, const std::vector<RepeatedLink>& links,
                                   std::set<std::string>& counted);

}  // namespace dodyn::systems
