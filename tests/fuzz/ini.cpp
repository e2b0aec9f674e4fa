// The reader of sectioned texts: a text is read, or refused by a ConfigError.
#include "settings/ini.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    dodyn::ini::parse({reinterpret_cast<const char*>(data), size}, "fuzz.cfg");
  } catch (const dodyn::ConfigError&) {
  }
  return 0;
}
