// Numbers as people read them.
#pragma once

#include <string>

namespace dodyn {

// As printf would print it.
__attribute__((format(printf, 1, 2))) std::string formatted(const char* pattern, ...);

// "43 s", "2 min 05 s", "3 h 12 min".
std::string duration(double seconds);

// The shortest text that reads back as the same number.
std::string to_text(double value);

}  // namespace dodyn
