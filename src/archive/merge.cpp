#include <algorithm>
#include <filesystem>
#include <functional>

#include "archive/archive.hpp"
#include "archive/examine.hpp"
#include "archive/schema.hpp"
#include "archive/writer_lock.hpp"

namespace dodyn::archive {

namespace {

// Whether both have the same evaluations, made at the same times.
bool same_rows(const Contents& one, const Contents& other) {
  const auto same = [](const Evaluation& a, const Evaluation& b) {
    return a.id == b.id && a.seed == b.seed && a.design == b.design && a.started == b.started && a.host == b.host;
  };
  return !one.evaluations.empty() && one.created == other.created &&
         std::equal(one.evaluations.begin(), one.evaluations.end(), other.evaluations.begin(), other.evaluations.end(),
                    same);
}

// Returns the first difference between the evaluators, the constraints, the objectives or the variables of two studies:
// "surrogate.constraints: s <= 0.5 / s <= 0.6". Empty: there is none. Such a difference changes which evaluation is the
// best one, or the meaning of a variable's values.
std::string different_question(const Contents& one, const Contents& other) {
  std::vector<std::string> keys = {"surrogate.constraints", "surrogate.objectives", "surrogate.integers",
                                   "surrogate.categories", "surrogate.conditional"};
  for (const Variable& variable : one.layout.variables) keys.push_back("design." + variable.name);
  const auto value_of = [](const Contents& contents, const std::string& key) -> std::string {
    for (const auto& [name, value] : contents.provenance.configuration)
      if (name == key && !value.empty()) return value;
    return "none";
  };
  const std::string &here = one.provenance.evaluator, &there = other.provenance.evaluator;
  if (here != there) return "study.evaluator: " + here + " / " + there;
  for (const std::string& key : keys)
    if (const std::string a = value_of(one, key), b = value_of(other, key); a != b) return key + ": " + a + " / " + b;
  return "";
}

// Returns the contents of the archives. Throws Error if they answer different questions, or if one is given twice.
std::vector<Contents> read_all(const std::vector<std::string>& in) {
  std::vector<Contents> each;
  for (const std::string& path : in) {
    each.push_back(read(path));
    std::string other = difference(each.front().layout, each.back().layout);
    if (other.empty()) other = different_question(each.front(), each.back());
    if (!other.empty()) throw Error(path + ": cannot be merged with " + in.front() + ": " + other);
  }
  for (std::size_t i = 0; i < in.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (std::filesystem::equivalent(in[i], in[j]) || same_rows(each[i], each[j]))
        throw Error(in[i] + ": is given twice (" + in[j] + " is the same, or a copy)");
  return each;
}

// Keeps of `merged` the settings and files that `one` has, too, and widens its ranges to those of `one`.
void join_provenance(Contents& merged, const Contents& one) {
  const auto keep_common = [](auto& ours, const auto& theirs) {
    std::erase_if(ours, [&](const auto& s) { return std::ranges::find(theirs, s) == theirs.end(); });
  };
  keep_common(merged.provenance.configuration, one.provenance.configuration);
  const auto& given = one.provenance.given;  // places may differ: the settings themselves are compared above
  std::erase_if(merged.provenance.given, [&](const auto& ours) {
    return std::ranges::none_of(given, [&](const auto& theirs) { return theirs.first == ours.first; });
  });
  if (merged.provenance.folder != one.provenance.folder) merged.provenance.folder.clear();
  if (merged.provenance.folder_of_files != one.provenance.folder_of_files) merged.provenance.files.clear();
  keep_common(merged.provenance.files, one.provenance.files);
  for (std::size_t i = 0; i < merged.layout.variables.size(); ++i) {
    Variable& range = merged.layout.variables[i];
    range.lower = std::min(range.lower, one.layout.variables[i].lower);
    range.upper = std::max(range.upper, one.layout.variables[i].upper);
  }
}

// Writes the latest row of each evaluation of `one` under a new id, in the order of the ids, and adds it to `merged`.
// path: the archive of `one`. source: its index in merged.sources.
void add_rows(Rewriter& writer, Contents& merged, const Contents& one, const std::string& path, std::int32_t source) {
  const auto rows = latest(one);
  std::map<std::int64_t, std::int64_t> new_ids;
  for (const auto& [id, row] : rows) new_ids[id] = writer.rows() + static_cast<std::int64_t>(new_ids.size());
  std::map<std::size_t, std::int64_t> ids_by_row;
  for (const auto& [id, row] : rows) ids_by_row[row] = id;
  std::map<std::int64_t, Trajectory> out_of_order;
  auto next = rows.begin();
  for_each_trajectory(path, one.evaluations.size(), [&](std::size_t row, Trajectory trajectory) {
    if (!ids_by_row.contains(row)) return;
    out_of_order[ids_by_row[row]] = std::move(trajectory);
    for (; next != rows.end() && out_of_order.contains(next->first); ++next) {
      Outcome outcome{one.evaluations[next->second], std::move(out_of_order[next->first])};
      out_of_order.erase(next->first);
      outcome.evaluation.id = new_ids[next->first];
      const auto parent = new_ids.find(outcome.evaluation.parent);
      outcome.evaluation.parent = parent == new_ids.end() ? -1 : parent->second;
      writer.add(outcome, source);
      merged.evaluations.push_back(std::move(outcome.evaluation));
    }
  });
}

}  // namespace

void merge(const std::string& out, const std::vector<std::string>& in,
           const std::function<Eigen::VectorXd(const Contents&)>& recommend) {
  if (in.empty()) throw Error(out + ": no archives to merge");
  const std::vector<Contents> each = read_all(in);
  if (std::filesystem::exists(out)) throw Error(out + ": exists already");

  Contents merged;
  merged.created = utc_now();
  merged.layout = each.front().layout;
  merged.provenance = each.front().provenance;
  for (const Contents& one : each) join_provenance(merged, one);
  merged.provenance.command_line = "dodyn merge " + out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    merged.provenance.command_line += " " + in[i];
    // What the archives do not have in common is stored with each source.
    merged.sources.push_back({in[i], each[i].created, each[i].stopped, each[i].provenance});
  }
  std::size_t bytes = spare_bytes;
  for (const std::string& path : in) bytes += file_size(path);
  on(out, [&] {
    const WriterLock lock(out);
    if (std::filesystem::exists(out)) throw Error("exists already");
    make_temporary(out, spare_bytes, [&](const std::string& temporary) {
      Rewriter writer(temporary, merged, bytes);
      for (std::size_t i = 0; i < in.size(); ++i)
        add_rows(writer, merged, each[i], in[i], static_cast<std::int32_t>(i));
      surrogate::Iteration decided;
      if (recommend) decided.recommended = recommend(merged);
      decided.note = "recommended by a model of all merged evaluations";
      if (decided.recommended.size() > 0) writer.add({writer.rows(), decided});
      writer.close(Ending::none, "merged from " + std::to_string(in.size()) + " archives");
      publish(out);
    });
  });
}

std::string difference(const Layout& one, const Layout& other) {
  const auto compare = [](const char* what, const auto& a, const auto& b, auto&& text) -> std::string {
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
      const std::string left = i < a.size() ? text(a[i]) : "none", right = i < b.size() ? text(b[i]) : "none";
      if (left != right) return std::string(what) + " " + std::to_string(i + 1) + ": " + left + " / " + right;
    }
    return "";
  };
  const auto quantity = [](const auto& q) { return q.name + " [" + q.unit + "]"; };
  const auto variable = [](const Variable& v) {
    std::string text = v.name + " [" + v.unit + "]";
    for (const std::string& name : v.choices) text += (&name == v.choices.data() ? " of " : ", ") + name;
    return text;
  };
  const auto channel = [](const Channel& c) {
    std::string text = c.name + " [" + c.unit + "] of " + std::to_string(c.nodes) + " x (";
    for (const auto& coordinate : c.coordinates) text += (text.back() == '(' ? "" : " ") + coordinate;
    return text + ")";
  };
  std::string text = compare("design variable", one.variables, other.variables, variable);
  if (text.empty()) text = compare("metric", one.metrics, other.metrics, quantity);
  if (text.empty()) text = compare("channel", one.channels, other.channels, channel);
  return text;
}

}  // namespace dodyn::archive
