// Assigns processors to evaluations that are parallel programs. Each gets the number that it needs, and no two share
// one, so that nothing is oversubscribed.
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

// Parses "node1:16,node2:16". A host without a number has one processor; numbers of a repeated host are added. Throws
// std::invalid_argument.
std::vector<Host> parse_hosts(const std::string& text);

// Returns the number of tasks (or processors) on each node of a Slurm job: "4(x2),3" is 4, 4, 3. Throws
// std::invalid_argument.
std::vector<int> parse_per_node(const std::string& text);

// Returns the processors of this process: nodes of its Slurm job (SLURM_TASKS_PER_NODE times SLURM_CPUS_PER_TASK, or
// SLURM_JOB_CPUS_PER_NODE without the former), the nodes in PBS_NODEFILE, or the processors of this machine that it may
// use. With `by_name` a Slurm job's nodes have their names; otherwise "node 1", ..., which avoids a call of scontrol.
// Throws std::runtime_error if the nodes are unknown, std::invalid_argument if a variable has an invalid value.
std::vector<Host> allocation(bool by_name);

class Processors {
 public:
  explicit Processors(std::vector<Host> hosts);
  int total() const;
  // Returns how many evaluations with this number of processors each can run concurrently.
  int room_for(int count) const;
  // Returns the smallest number of hosts that have this number of processors.
  int hosts_for(int count) const;
  std::string text() const;  // "48 (node1:16,node2:32)"

  // Processors that are reserved during the life of this object.
  class Share {
   public:
    Share(Processors& of, std::vector<int> taken) : of_(&of), taken_(std::move(taken)) {}
    Share(Share&& other) noexcept : of_(other.of_), taken_(std::move(other.taken_)) { other.of_ = nullptr; }
    Share& operator=(Share&&) = delete;
    ~Share();
    std::string hosts() const;  // "node1:16,node2:4"
    bool alone() const;         // no other evaluation can use processors of its hosts

   private:
    Processors* of_;
    std::vector<int> taken_;  // [hosts]
  };
  // Waits until `count` processors can be taken. If a host has that many in total: from one host, the one with the
  // fewest free processors that suffices. Otherwise: from hosts that no other evaluation uses. Requires
  // room_for(count) >= 1.
  Share take(int count);

 private:
  std::vector<int> choose(int count, const std::vector<int>& free) const;  // returns the number to take of each host;
                                                                           // empty: not enough are free
  static std::vector<int> sizes(const std::vector<Host>& hosts);

  const std::vector<Host> hosts_;
  std::mutex mutex_;
  std::condition_variable given_back_;
  std::vector<int> free_;  // [hosts]
};

}  // namespace dodyn::evaluators
