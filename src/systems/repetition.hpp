// Models with repeated links ([link box_i], count = boxes).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "systems/model.hpp"

namespace dodyn::systems {

// Like read_model(), with other values of the parameters on which counts depend. The model is valid for these counts
// only: evaluate() refuses other values of those parameters.
Model read_model(std::string_view text, const std::string& origin, const std::map<std::string, double>& given);

struct RepeatedLink {
  std::string name;  // "box_i"
  int count;
};
// Returns the sections of a text, each that mentions a repeated link once for each of its copies: box_i is box_1, box_2 ...,
// and in values i is the number. `counted`: gains the names of the copies. Throws ConfigError.
std::vector<ini::Section> repeated(const ini::Text& text, const std::vector<RepeatedLink>& links,
                                   std::set<std::string>& counted);

}  // namespace dodyn::systems
