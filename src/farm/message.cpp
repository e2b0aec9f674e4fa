#include "farm/message.hpp"

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace dodyn::farm {
namespace {

template <class T>
concept Scalar = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  template <Scalar T>
  void operator()(const T& value) {
    append(&value, sizeof value);
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    append(text.data(), text.size());
  }
  void operator()(const Eigen::VectorXd& vector) {
    (*this)(vector.size());
    append(vector.data(), vector.size() * sizeof(double));
  }
  void operator()(const Eigen::MatrixXd& matrix) {
    (*this)(matrix.rows());
    (*this)(matrix.cols());
    append(matrix.data(), matrix.size() * sizeof(double));
  }
  void operator()(const std::vector<Eigen::MatrixXd>& matrices) {
    (*this)(matrices.size());
    for (const auto& matrix : matrices) (*this)(matrix);
  }
  void operator()(const std::vector<Packed>& all) {
    (*this)(all.size());
    for (const auto& [data, deflated] : all) {
      (*this)(deflated);
      (*this)(data.size());
      append(data.data(), data.size());
    }
  }

  Bytes bytes;

 private:
  void append(const void* data, std::size_t size) {
    const auto* begin = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), begin, begin + size);
  }
};

class Reader {
 public:
  explicit Reader(const Bytes& bytes) : position_(bytes.data()), left_(bytes.size()) {}

  template <Scalar T>
  void operator()(T& value) {
    extract(&value, sizeof value);
  }
  void operator()(std::string& text) {
    text.resize(count(1));
    extract(text.data(), text.size());
  }
  void operator()(Eigen::VectorXd& vector) {
    vector.resize(count(sizeof(double)));
    extract(vector.data(), vector.size() * sizeof(double));
  }
  void operator()(Eigen::MatrixXd& matrix) {
    Eigen::Index rows = 0, columns = 0;
    (*this)(rows);
    (*this)(columns);
    const Eigen::Index most = left_ / sizeof(double);
    if (rows < 0 || columns < 0 || (columns > 0 && rows > most / columns)) malformed();
    matrix.resize(rows, columns);
    extract(matrix.data(), matrix.size() * sizeof(double));
  }
  void operator()(std::vector<Eigen::MatrixXd>& matrices) {
    matrices.resize(count(2 * sizeof(Eigen::Index)));
    for (auto& matrix : matrices) (*this)(matrix);
  }
  void operator()(std::vector<Packed>& all) {
    all.resize(count(sizeof(bool) + sizeof(std::size_t)));
    for (auto& [data, deflated] : all) {
      (*this)(deflated);
      data.resize(count(1));
      extract(data.data(), data.size());
    }
  }
  void finish() const {
    if (left_ != 0) malformed();
  }

 private:
  // Reads a number of elements of at least `element_size` bytes each. Throws before anything is allocated if the
  // message is too short for them.
  std::size_t count(std::size_t element_size) {
    std::size_t elements = 0;
    (*this)(elements);
    if (elements > left_ / element_size) malformed();
    return elements;
  }
  void extract(void* data, std::size_t size) {
    if (size > left_) malformed();
    if (size > 0) std::memcpy(data, position_, size);
    position_ += size;
    left_ -= size;
  }
  [[noreturn]] static void malformed() {
    throw std::runtime_error("farm: malformed message (do all ranks run the same program?)");
  }

  const std::byte* position_;
  std::size_t left_;
};

// Writes or reads the members that tasks and outcomes share: a record, a trajectory and a part.
template <class Stream, class Record, class Motion, class Part>
void walk(Stream& stream, Record& evaluation, Motion& trajectory, Part& part) {
  for_each_field(evaluation, [&](Field, auto& value) { stream(value); });
  stream(trajectory.values);
  stream(part);
}

}  // namespace

Bytes pack(const Task& task) {
  Writer writer;
  walk(writer, task.evaluation, task.warm_start, task.part);
  writer(task.time_limit);
  return std::move(writer.bytes);
}

Bytes pack(const Outcome& outcome) {
  Writer writer;
  walk(writer, outcome.evaluation, outcome.trajectory, outcome.part);
  writer(outcome.killed);
  writer(outcome.packed);
  return std::move(writer.bytes);
}

Task unpack_task(const Bytes& bytes) {
  Reader reader(bytes);
  Task task;
  walk(reader, task.evaluation, task.warm_start, task.part);
  reader(task.time_limit);
  reader.finish();
  return task;
}

Outcome unpack_outcome(const Bytes& bytes) {
  Reader reader(bytes);
  Outcome outcome;
  walk(reader, outcome.evaluation, outcome.trajectory, outcome.part);
  reader(outcome.killed);
  reader(outcome.packed);
  reader.finish();
  return outcome;
}

}  // namespace dodyn::farm
