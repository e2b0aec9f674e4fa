// Model files: a text is read and judged, or refused by a ConfigError.
#include "systems/model.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "settings/config_error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    dodyn::systems::read_model({reinterpret_cast<const char*>(data), size}, "fuzz.model");
  } catch (const dodyn::ConfigError&) {
  }
  return 0;
}
