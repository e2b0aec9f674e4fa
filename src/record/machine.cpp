#include "record/machine.hpp"

#include <map>
#include <set>

namespace dodyn {

std::vector<Cause> causes_of(std::span<const Evaluation> rows) {
  std::map<std::int64_t, std::set<std::string_view>> hosts;  // by id: hosts on which attempts were lost
  std::map<std::int64_t, Status> last;
  for (const Evaluation& row : rows) {
    if (row.status == Status::lost && !is_machine_trouble(row)) hosts[row.id].insert(row.host);
    if (hosts.contains(row.id)) last[row.id] = row.status;
  }
  std::vector<Cause> causes;
  causes.reserve(rows.size());
  for (const Evaluation& row : rows) {
    const bool alike = row.status == Status::lost && !is_machine_trouble(row) && last.at(row.id) == Status::lost &&
                       hosts.at(row.id).size() > 1;
    causes.push_back(alike ? Cause::design : cause_of(row.status));
  }
  return causes;
}

}  // namespace dodyn
