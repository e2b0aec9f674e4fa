// Names that texts of the time before 1.0 have, so that one of them is answered by the name that it has now.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// The name among `candidates` that `name` has today ("study.silence": "study.heartbeat-timeout"); empty: none.
std::string renamed(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace dodyn
