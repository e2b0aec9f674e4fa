// An event of a study: a start, a lost rank, an interruption. For readers of the archive; no evaluation uses it.
#pragma once

#include <string>

namespace dodyn {

struct Event {
  std::string time;  // UTC, ISO 8601: 2026-01-31T12:34:56.789Z
  std::string kind;  // a few words of a fixed list: "started", "rank lost", ... (docs/archive.md)
  std::string text;  // one line
};

// Returns an event with the present time.
Event event_now(std::string kind, std::string text);

}  // namespace dodyn
