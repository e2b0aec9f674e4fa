// The message of an exception that a test expects.
#pragma once

#include <string>

namespace dodyn {

// Returns the message of the exception that `action` throws; `otherwise`: it throws none. Exceptions of other types pass.
template <class Exception, class Action>
std::string message_of(Action&& action, const std::string& otherwise = "") {
  try {
    action();
  } catch (const Exception& error) {
    return error.what();
  }
  return otherwise;
}

}  // namespace dodyn
