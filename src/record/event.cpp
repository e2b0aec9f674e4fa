#include "record/event.hpp"

#include <chrono>
#include <ctime>
#include <utility>

#include "record/text.hpp"

namespace dodyn {

Event event_now(std::string kind, std::string text) {
  const auto now = std::chrono::system_clock::now();
  const auto milliseconds = std::chrono::floor<std::chrono::milliseconds>(now).time_since_epoch().count();
  const std::time_t seconds = milliseconds / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char day_and_time[32];
  std::strftime(day_and_time, sizeof day_and_time, "%Y-%m-%dT%H:%M:%S", &utc);
  return {day_and_time + formatted(".%03dZ", static_cast<int>(milliseconds % 1000)), std::move(kind), printable(text)};
}

}  // namespace dodyn
