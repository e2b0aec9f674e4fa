#include "evaluators/processors.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

#include "record/text.hpp"
#include "settings/expression.hpp"

namespace dodyn::evaluators {
namespace {

// Splits a text at commas, without empty parts.
std::vector<std::string> parts_of(const std::string& text) {
  auto parts = split_list(text);
  std::erase(parts, "");
  return parts;
}

int count_of(const std::string& text, const std::string& whole) {
  const bool digits = !text.empty() && text.size() < 8 &&
                      std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
  const int count = digits ? std::atoi(text.c_str()) : 0;
  if (count < 1) throw std::invalid_argument("'" + text + "' in '" + whole + "' is not a number of processors");
  return count;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Returns the names of a Slurm job's nodes. scontrol expands `node[1-3,7]`.
std::vector<std::string> slurm_names() {
  const std::unique_ptr<FILE, int (*)(FILE*)> lines(popen("scontrol show hostnames \"$SLURM_JOB_NODELIST\"", "r"),
                                                    pclose);
  std::vector<std::string> names;
  char line[512];
  while (lines && std::fgets(line, sizeof line, lines.get()) != nullptr)
    if (const auto name = trimmed(line, " \t\r\n"); !name.empty()) names.emplace_back(name);
  if (names.empty()) throw std::runtime_error("scontrol does not give the nodes of this Slurm job");
  return names;
}

std::vector<Host> slurm_hosts(bool by_name) {
  const std::string tasks = environment("SLURM_TASKS_PER_NODE"), each = environment("SLURM_CPUS_PER_TASK");
  const int of_each = each.empty() ? 1 : count_of(each, "SLURM_CPUS_PER_TASK");
  const std::vector<int> counts = parse_per_node(!tasks.empty() ? tasks : environment("SLURM_JOB_CPUS_PER_NODE"));
  const std::vector<std::string> names = by_name ? slurm_names() : std::vector<std::string>();
  std::vector<Host> hosts;
  for (std::size_t i = 0; i < counts.size(); ++i)
    hosts.push_back(
        {by_name ? names.at(i) : "node " + std::to_string(i + 1), tasks.empty() ? counts[i] : counts[i] * of_each});
  return hosts;
}

}  // namespace

std::vector<Host> parse_hosts(const std::string& text) {
  std::vector<Host> hosts;
  for (const std::string& part : parts_of(text)) {
    const auto colon = part.rfind(':');
    const std::string name = part.substr(0, colon);
    const int processors = colon == std::string::npos ? 1 : count_of(part.substr(colon + 1), part);
    if (name.empty()) throw std::invalid_argument("'" + part + "' names no host");
    const auto known = std::ranges::find(hosts, name, &Host::name);
    if (known == hosts.end())
      hosts.push_back({name, processors});
    else
      known->processors += processors;
  }
  if (hosts.empty()) throw std::invalid_argument("'" + text + "' names no host");
  return hosts;
}

std::vector<int> parse_per_node(const std::string& text) {
  std::vector<int> counts;
  for (const std::string& part : parts_of(text)) {
    const auto times = part.find("(x");
    if (times != std::string::npos && !part.ends_with(")"))
      throw std::invalid_argument("'" + part + "' is not a number of tasks per node");
    const int nodes = times == std::string::npos ? 1 : count_of(part.substr(times + 2, part.size() - times - 3), part);
    counts.insert(counts.end(), nodes, count_of(part.substr(0, times), part));
  }
  if (counts.empty()) throw std::invalid_argument("'" + text + "' gives no tasks per node");
  return counts;
}

std::vector<Host> allocation(bool by_name) {
  if (!environment("SLURM_JOB_ID").empty()) return slurm_hosts(by_name);
  if (const std::string file = environment("PBS_NODEFILE"); !file.empty()) {
    std::string names;
    std::ifstream lines(file);
    for (std::string line; std::getline(lines, line);) names += line + ",";
    if (names.empty()) throw std::runtime_error("PBS_NODEFILE = " + file + " names no host");
    return parse_hosts(names);
  }
  return {{"localhost", static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))}};
}

Processors::Processors(std::vector<Host> hosts) : hosts_(std::move(hosts)), free_(sizes(hosts_)) {}

std::vector<int> Processors::sizes(const std::vector<Host>& hosts) {
  std::vector<int> all;
  for (const Host& host : hosts) all.push_back(host.processors);
  return all;
}

int Processors::total() const {
  const auto all = sizes(hosts_);
  return std::accumulate(all.begin(), all.end(), 0);
}

int Processors::room_for(int count) const {
  auto free = sizes(hosts_);
  int room = 0;
  for (std::vector<int> taken; !(taken = choose(count, free)).empty(); ++room)
    for (std::size_t i = 0; i < free.size(); ++i) free[i] -= taken[i];
  return room;
}

int Processors::hosts_for(int count) const {
  auto all = sizes(hosts_);
  std::ranges::sort(all, std::greater<>());
  int hosts = 0;
  for (int there = 0; there < count && hosts < std::ssize(all); ++hosts) there += all[hosts];
  return hosts;
}

std::string Processors::text() const {
  std::string list;
  for (const Host& host : hosts_) list += (list.empty() ? "" : ",") + host.name + ":" + std::to_string(host.processors);
  return std::to_string(total()) + " (" + list + ")";
}

std::vector<int> Processors::choose(int count, const std::vector<int>& free) const {
  std::vector<int> taken(hosts_.size(), 0);
  if (std::ranges::max(hosts_, {}, &Host::processors).processors >= count) {
    auto best = hosts_.size();
    for (std::size_t i = 0; i < hosts_.size(); ++i)
      if (free[i] >= count && (best == hosts_.size() || free[i] < free[best])) best = i;
    if (best == hosts_.size()) return {};
    taken[best] = count;
    return taken;
  }
  int left = count;
  for (std::size_t i = 0; i < hosts_.size() && left > 0; ++i) {
    if (free[i] < hosts_[i].processors) continue;
    taken[i] = std::min(left, free[i]);
    left -= taken[i];
  }
  return left > 0 ? std::vector<int>() : taken;
}

Processors::Share Processors::take(int count) {
  std::unique_lock lock(mutex_);
  std::vector<int> taken;
  given_back_.wait(lock, [&] { return !(taken = choose(count, free_)).empty(); });
  for (std::size_t i = 0; i < free_.size(); ++i) free_[i] -= taken[i];
  return {*this, std::move(taken)};
}

Processors::Share::~Share() {
  if (of_ == nullptr) return;
  {
    const std::lock_guard lock(of_->mutex_);
    for (std::size_t i = 0; i < taken_.size(); ++i) of_->free_[i] += taken_[i];
  }
  of_->given_back_.notify_all();
}

std::string Processors::Share::hosts() const {
  std::string list;
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (taken_[i] > 0) list += (list.empty() ? "" : ",") + of_->hosts_[i].name + ":" + std::to_string(taken_[i]);
  return list;
}

bool Processors::Share::alone() const {
  for (std::size_t i = 0; i < taken_.size(); ++i)
    if (taken_[i] > 0 && of_->hosts_[i].processors > taken_[i]) return false;
  return true;
}

}  // namespace dodyn::evaluators
