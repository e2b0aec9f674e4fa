#include "study/parts.hpp"

#include <algorithm>
#include <boost/crc.hpp>
#include <cassert>
#include <cmath>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "farm/message.hpp"

namespace dodyn::study {
namespace {

// The header of one answer in the file. `size` bytes follow: an outcome as the farm sends it (farm/message.hpp).
struct AnswerHeader {
  std::uint64_t size;
  std::uint32_t checksum;
};

std::uint32_t checksum(const farm::Bytes& bytes) {
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  return crc.checksum();
}

bool is_same_task(const Evaluation& a, const Evaluation& b) {
  return a.parent == b.parent && a.seed == b.seed && a.design.size() == b.design.size() && a.design == b.design;
}

}  // namespace

Parts::Parts(std::string file, int count, bool resume) : file_(std::move(file)), count_(count) {
  if (resume && count_ > 1)
    read();
  else
    std::filesystem::remove(file_);
}

void Parts::read() {
  std::ifstream in(file_, std::ios::binary);
  std::error_code none;
  const std::uint64_t size = in ? std::filesystem::file_size(file_, none) : 0;
  std::uint64_t sound = 0;
  for (AnswerHeader head; in.read(reinterpret_cast<char*>(&head.size), sizeof head.size) &&
                          in.read(reinterpret_cast<char*>(&head.checksum), sizeof head.checksum) &&
                          head.size <= size;) {
    farm::Bytes bytes(head.size);
    if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()))) break;
    if (checksum(bytes) != head.checksum) break;
    Outcome answer;
    try {
      answer = farm::unpack_outcome(bytes);
    } catch (const std::runtime_error&) {
      break;  // written by another version of this program
    }
    if (answer.part >= 0 && answer.part < count_) {
      Entry& entry = entries_[answer.evaluation.id];
      if (answer.evaluation.status == Status::lost)
        entry.lost[answer.part].push_back(std::move(answer));
      else
        entry.answers.try_emplace(answer.part, std::move(answer));
    }
    sound = static_cast<std::uint64_t>(in.tellg());
  }
  if (sound < size) std::filesystem::resize_file(file_, sound);
}

std::vector<int> Parts::missing(const Evaluation& asked) {
  auto entry = entries_.find(asked.id);
  if (entry != entries_.end() && !is_same_task(entry->second.question(), asked)) {
    entries_.erase(entry);
    entry = entries_.end();
  }
  std::vector<int> all;
  for (int part = 0; part < count_; ++part)
    if (entry == entries_.end() || !entry->second.answers.contains(part)) all.push_back(part);
  return all;
}

void Parts::write(const Outcome& answer) const {
  const farm::Bytes bytes = farm::pack(answer);
  const AnswerHeader head{bytes.size(), checksum(bytes)};
  std::ofstream out(file_, std::ios::binary | std::ios::app);
  out.write(reinterpret_cast<const char*>(&head.size), sizeof head.size);
  out.write(reinterpret_cast<const char*>(&head.checksum), sizeof head.checksum);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error(file_ + ": cannot be written (disk full?)");
}

bool Parts::add(Outcome answer) {
  assert(answer.part >= 0 && answer.part < count_);
  write(answer);
  auto& answers = entries_[answer.evaluation.id].answers;
  answers.try_emplace(answer.part, std::move(answer));
  return answers.size() == static_cast<std::size_t>(count_);
}

std::vector<Outcome> Parts::record_lost_attempt(const Outcome& attempt) {
  write(attempt);
  auto& lost = entries_[attempt.evaluation.id].lost[attempt.part];
  lost.push_back(attempt);
  return lost;
}

std::vector<Outcome> Parts::answers(std::int64_t id) const {
  assert(entries_.count(id) == 1);
  std::vector<Outcome> all;
  for (const auto& [part, answer] : entries_.at(id).answers) all.push_back(answer);
  return all;
}

void Parts::forget(std::int64_t id) {
  entries_.erase(id);
  if (count_ > 1 && entries_.empty()) std::filesystem::remove(file_);
}

Outcome join(const Evaluator& evaluator, const Evaluation& asked, std::vector<Outcome> parts) {
  const auto seconds = std::accumulate(parts.begin(), parts.end(), 0.0,
                                       [](double sum, const Outcome& part) { return sum + part.evaluation.seconds; });
  const Evaluation first = parts.front().evaluation;
  std::string started = first.started;
  for (const auto& part : parts) started = std::min(started, part.evaluation.started);
  Outcome whole;
  try {
    whole = validated(evaluator, asked, evaluator.join(asked, std::move(parts)));
  } catch (const std::exception& error) {
    whole.evaluation.status = Status::failed;
    whole.evaluation.reason = error.what();
  }
  Evaluation& evaluation = whole.evaluation;
  evaluation.id = asked.id;
  evaluation.parent = asked.parent;
  evaluation.design = asked.design;
  evaluation.seed = asked.seed;
  evaluation.seconds = seconds;
  evaluation.rank = first.rank;
  evaluation.host = first.host;
  evaluation.started = started;
  if (evaluation.ok() && !std::isfinite(evaluation.cost)) {
    evaluation.status = Status::failed;
    evaluation.reason = "the cost is not a finite number";
  }
  return whole;
}

Outcome validated(const Evaluator& evaluator, const Evaluation& asked, Outcome outcome) {
  Evaluation& evaluation = outcome.evaluation;
  const Channels channels = evaluator.channels();
  const Eigen::Index metrics = evaluator.metrics().size();
  const auto& values = outcome.trajectory.values;
  bool fits = values.empty() || values.size() == channels.size();
  for (std::size_t i = 0; fits && i < values.size(); ++i)
    fits = values[i].rows() == channels[i].nodes &&
           values[i].cols() == static_cast<Eigen::Index>(channels[i].coordinates.size());
  fits = fits && (evaluation.metrics.size() == 0 || evaluation.metrics.size() == metrics) &&
         (evaluation.gradient.size() == 0 || evaluation.gradient.size() == asked.design.size());
  if (!fits) {
    evaluation.status = Status::failed;
    evaluation.reason = "the evaluator's answer has another shape than it declared";
    evaluation.gradient.resize(0);
    evaluation.metrics.resize(0);
    outcome.trajectory = {};
  }
  if (!evaluation.gradient.allFinite()) evaluation.gradient.resize(0);
  return outcome;
}

Outcome evaluate(const Evaluator& evaluator, farm::Farm& farm, Task task) {
  std::vector<Outcome> answers(evaluator.parts());
  for (task.part = 0; task.part < evaluator.parts(); ++task.part) farm.submit(task);
  while (farm.outstanding() > 0)
    if (auto answer = farm.next(std::chrono::milliseconds::max())) answers[answer->part] = std::move(*answer);
  return answers.size() == 1 ? std::move(answers.front()) : join(evaluator, task.evaluation, std::move(answers));
}

}  // namespace dodyn::study
