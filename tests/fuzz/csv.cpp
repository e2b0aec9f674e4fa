// Designs and samples as CSV files: read, or refused by an invalid_argument.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include "surrogate/sampling.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "fuzz-" + std::to_string(getpid()) + ".csv";  // the test's folder is temporary
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  const std::vector<dodyn::Variable> variables = {{"x", "m", 0, 1}, {"y", "", -1, 1}};
  const auto attempt = [](auto&& read) {
    try {
      read();
    } catch (const std::invalid_argument&) {
    }
  };
  attempt([&] { dodyn::surrogate::read_designs(path, variables); });
  attempt([&] { dodyn::surrogate::read_samples(path, variables, {{"speed", "m/s", ""}}); });
  return 0;
}
