// The settings of [simulation] and [disturbance].
#pragma once

#include <string>
#include <vector>

#include "evaluators/simulation/runner.hpp"
#include "settings/key_table.hpp"

namespace dodyn::evaluators::simulation {

struct SimulationSettings {
  std::string model, hold = "none";
  std::string coil_text;  // content of coils.table; empty: none
  SimulationOptions run_options;
  int batch = 25, start = 1, frames = 24;
};

// Returns the key `dwell` of [outcome NAME].
const Key& dwell_key();

const KeyTable<SimulationSettings>& simulation_keys();
// Returns the keys that the chosen contact method does not use, each with the reason.
std::vector<std::pair<std::string, std::string>> idle_simulation_keys(const Settings& settings);

// Reads a configuration; checks names of links and inconsistent keys. Throws ConfigError.
SimulationSettings read_simulation(const Settings& settings);
// Returns the links that simulation.fixed names. Throws ConfigError.
std::vector<int> held_links(const Settings& settings, const systems::Model& model);

// Returns the keys of [coils].
std::vector<Key> coil_keys();

// Returns the names of the keys of [disturbance].
std::vector<std::string> disturbance_keys();

}  // namespace dodyn::evaluators::simulation
