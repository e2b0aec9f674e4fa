// Archives with changed bytes: read, verified and repaired, or refused by an Error. An input is a list of changes of
// five bytes each: the place (4 bytes), and the number to add there without a carry.
#include "archive/archive.hpp"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

using namespace dodyn;

namespace {

std::string sound_archive() {
  const std::string path = "sound-" + std::to_string(getpid()) + ".h5";
  const archive::Layout layout{
      {{"x", "m", 0, 1}}, {{"speed", "m/s", "mean speed"}}, {{"q", "rad", "angles", 5, {"a", "b"}}}, 5, {"length"}, {}};
  {
    auto file =
        archive::Archive::create(path, layout, {.evaluator = "testfunction", .configuration = {{"study.seed", "1"}}});
    for (int i = 0; i < 4; ++i) {
      Outcome row;
      row.evaluation.id = i;
      row.evaluation.design.setConstant(1, 0.1 * i);
      row.evaluation.metrics.setConstant(1, 2.0);
      row.evaluation.status = i == 2 ? Status::failed : Status::ok;
      row.evaluation.reason = i == 2 ? "no motion" : "";
      row.evaluation.cost = i;
      row.evaluation.host = "host1";
      if (i != 2) row.trajectory.values.push_back(Eigen::MatrixXd::Constant(5, 2, i));
      file.append(row);
      surrogate::Iteration iteration;
      iteration.best_id = 0;
      iteration.note = "note";
      file.append(iteration);
    }
    file.stop(Ending::finished, "finished");
  }
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  return bytes.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string sound = sound_archive();
  static const std::string path = "fuzz-" + std::to_string(getpid()) + ".h5";
  std::string bytes = sound;
  for (std::size_t i = 0; i + 5 <= size; i += 5) {
    const std::size_t where = (data[i] | data[i + 1] << 8 | data[i + 2] << 16) % bytes.size();
    bytes[where] = static_cast<char>(bytes[where] + data[i + 4]);
  }
  std::ofstream(path, std::ios::binary) << bytes;
  const auto attempt = [](auto&& action) {
    try {
      action();
    } catch (const archive::Error&) {
    }
  };
  attempt([] { archive::read(path); });
  attempt([] { archive::read_trajectory(path, 1); });
  attempt([] { archive::verify(path); });
  attempt([] { std::filesystem::remove(archive::repair(path).backup); });
  return 0;
}
