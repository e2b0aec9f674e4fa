// Names from before 1.0, for messages that suggest the present name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dodyn {

// Returns the candidate that is the present name of `name` ("study.silence": "study.heartbeat-timeout"); empty: none.
std::string renamed(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace dodyn
