// Shared by the farm's tests: random records, an independent comparison of them, and work with a known answer.
#pragma once

#include <bit>
#include <random>
#include <string>
#include <vector>

#include "record/task.hpp"

namespace dodyn::farm {

// A double as its bits, so that not-a-numbers and signed zeros compare.
inline std::string text(double value) { return std::to_string(std::bit_cast<std::uint64_t>(value)); }
inline std::string text(const std::string& value) { return value; }
inline std::string text(Status value) { return std::string(to_string(value)); }
inline std::string text(std::integral auto value) { return std::to_string(value); }
inline std::string text(const Eigen::MatrixXd& matrix) {
  std::string all = std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols()) + ":";
  for (double value : matrix.reshaped()) all.append(" ").append(text(value));
  return all;
}

// Every field as text, but those named.
inline std::vector<std::string> texts(const Evaluation& evaluation, const std::vector<std::string_view>& without = {}) {
  std::vector<std::string> all;
  for_each_field(evaluation, [&](Field field, const auto& value) {
    if (std::find(without.begin(), without.end(), field.name) == without.end())
      all.push_back(std::string(field.name) + " = " + text(value));
  });
  return all;
}
inline std::vector<std::string> texts(const Trajectory& trajectory) {
  std::vector<std::string> all;
  for (const auto& matrix : trajectory.values) all.push_back(text(matrix));
  return all;
}

// Records of every shape: empty and long vectors, not-a-numbers and infinities, bytes of any value in the strings.
class Samples {
 public:
  explicit Samples(std::uint64_t seed) : random_(seed) {}

  Evaluation evaluation() {
    Evaluation sample;
    for_each_field(sample, [this](Field, auto& value) { fill(value); });
    return sample;
  }
  Trajectory trajectory() {
    Trajectory sample;
    sample.values.resize(up_to(4));
    for (auto& matrix : sample.values) {
      matrix.resize(up_to(6), up_to(6));
      for (double& value : matrix.reshaped()) fill(value);
    }
    return sample;
  }

 private:
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  template <std::integral T>
  void fill(T& value) {
    value = static_cast<T>(random_());
  }
  void fill(double& value) { value = std::bit_cast<double>(std::uint64_t(random_())); }  // any bits at all
  void fill(Status& value) { value = all_statuses[up_to(5)]; }
  void fill(std::string& value) {
    static const std::string pieces[] = {"",        "knee", "π/2 · Größe", "膝", "line\nbreak", std::string(3, '\0'),
                                         "\xff\xfe"};
    value.clear();
    for (int i = up_to(5); i > 0; --i) value += pieces[up_to(6)];
  }
  void fill(Eigen::VectorXd& value) {
    value.resize(up_to(7));
    for (double& entry : value) fill(entry);
  }

  std::mt19937_64 random_;
};

// A task whose design and warm start follow from its id, and work whose answer follows from the task alone.
inline Task sample_task(std::int64_t id) {
  Task task;
  task.evaluation.id = id;
  task.evaluation.parent = id - 1;
  task.evaluation.seed = 1000 + id;
  task.evaluation.design = Eigen::Vector2d(0.1 * id, -id);
  task.warm_start.values = {Eigen::MatrixXd::Constant(3, 2, id), Eigen::MatrixXd(0, 4)};
  return task;
}

inline Outcome sample_work(const Task& task) {
  Outcome outcome{task.evaluation, {}};
  std::mt19937_64 random(task.evaluation.seed);
  outcome.evaluation.status = all_statuses[task.evaluation.id % 6];
  outcome.evaluation.reason = "id " + std::to_string(task.evaluation.id);
  outcome.evaluation.cost = std::uniform_real_distribution<double>()(random);
  outcome.evaluation.gradient = 3.0 * task.evaluation.design;
  outcome.evaluation.metrics = Eigen::VectorXd::Constant(task.evaluation.id % 4, not_a_number);
  for (const auto& matrix : task.warm_start.values) outcome.trajectory.values.push_back(2.0 * matrix);
  return outcome;
}

// What differs between two runs of the same task.
inline const std::vector<std::string_view> circumstances = {"wall_time", "rank", "host", "start_time"};

}  // namespace dodyn::farm
