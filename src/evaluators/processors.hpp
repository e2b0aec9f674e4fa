// The processors that programs of this process may use, where an evaluation is itself a parallel program: each takes as
// many as it needs and no two take the same, so that nothing is oversubscribed.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

namespace dodyn::evaluators {

struct Host {
  std::string name;
  int processors;
};

// "node1:16,node2:16"; a host without a number has one processor; numbers of a repeated host add up. Throws
// std::invalid_argument.
std::vector<Host> parse_hosts(const std::string& text);

// How many tasks of a Slurm job (or processors) its nodes have: "4(x2),3" is 4, 4, 3. Throws std::invalid_argument.
std::vector<int> parse_per_node(const std::string& text);

// What this process was given: the nodes of its Slurm job (SLURM_TASKS_PER_NODE times SLURM_CPUS_PER_TASK), those in
// PBS_NODEFILE, else what it may use of this machine. Names where `by_name` asks for them; otherwise of a Slurm job
// "node 1", ..., which costs no call of scontrol. Throws std::runtime_error if they are unknown.
std::vector<Host> allocation(bool by_name);

class Processors {
 public:
  explicit Processors(std::vector<Host> hosts);
  int total() const;
  // Returns how many evaluations with this number of processors each run at once.
  int room_for(int count) const;
  // Returns the smallest number of hosts that have this number of processors.
  int hosts_for(int count) const;
  std::string text() const;  // "48 (node1:16,node2:32)"

  // Some processors, as long as this lives.
  class Share {
   public:
    Share(Processors& of, std::vector<int> taken) : of_(&of), taken_(std::move(taken)) {}
    Share(Share&& other) noexcept : of_(other.of_), taken_(std::move(other.taken_)) { other.of_ = nullptr; }
    Share& operator=(Share&&) = delete;
    ~Share();
    std::string hosts() const;  // "node1:16,node2:4"
    bool alone() const;         // none of its hosts has processors for another one

   private:
    Processors* of_;
    std::vector<int> taken_;  // of each host
  };
  // Waits until `count` processors are free: on one host where one has as many, the fullest that has room; else on hosts
  // that nobody else uses. There must be room_for() one.
  Share take(int count);

 private:
  std::vector<int> choose(int count, const std::vector<int>& free) const;  // empty: there is no room
  static std::vector<int> sizes(const std::vector<Host>& hosts);

  const std::vector<Host> hosts_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<int> free_;  // of each host
};

}  // namespace dodyn::evaluators
