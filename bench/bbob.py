#!/usr/bin/python3
"""Runtime profiles of dodyn's search on the functions of BBOB, beside other optimisers.

    bench/bbob.py BUILD/bench/bbob [--variables 2] [--instances 5] [--first-instance 1] [--per-variable 100] [--store FOLDER]

No setting of the search was tuned on these functions (bench/bbob_functions.hpp). A pair is a run and one of 51 targets: costs from 1e2 to
1e-8 above the minimum, as in COCO. The first table has the share of pairs that are reached within 10, 50 and 100 evaluations for each variable.
The second table has the last of these shares by group. The third table counts the stops. dodyn uses its defaults and its stop rule. The peers
(bench/search_peers.py) use all evaluations. Runs of dodyn in FOLDER are not repeated.
"""
import argparse
import math
import os
import subprocess

import numpy as np

import search_peers

TARGETS = 10 ** np.linspace(2, -8, 51)
BUDGETS = (10, 50, 100)  # evaluations for each variable
GROUPS = (("separable", 1, 5), ("moderate", 6, 9), ("ill-conditioned", 10, 14), ("many minima", 15, 19), ("weak structure", 20, 24))
STATED = 1e-6  # surrogate.tolerance


class Run:
    def __init__(self, name, minimum, improvements):
        self.number = int(name.split()[0][1:])
        self.name, self.minimum, self.improvements = name, minimum, improvements
        self.evaluations, self.stopped, self.height = 0, False, math.nan

    def above(self, evaluations=math.inf):
        """Returns the difference between the lowest cost up to this number of evaluations and the minimum."""
        return min((cost for count, cost in self.improvements if count <= evaluations), default=math.inf) - self.minimum

    def share(self, evaluations):
        return np.mean(self.above(evaluations) <= TARGETS)


def read(lines):
    runs = []
    for line in lines:
        name, _, evaluations, stopped, minimum, height, *pairs = line.strip().split(";")
        run = Run(name, float(minimum), [(int(count), float(cost)) for count, cost in zip(pairs[::2], pairs[1::2])])
        run.evaluations, run.stopped, run.height = int(evaluations), stopped == "1", float(height)
        runs.append(run)
    return runs


def random_search(p, seed):
    chance = np.random.default_rng(seed)
    while True:
        p.unit(chance.random(p.d))


def run_peer(command, search, name, instance):
    problem = search_peers.Problem(command, name, instance)
    try:
        while True:  # a search that ends early restarts with another seed
            search(problem, instance + 1000 * problem.count)
    except (search_peers.Spent, SystemError):  # NLopt's wrapper turns Spent into SystemError
        pass
    problem.close()
    return Run(name, problem.minimum, problem.improvements)


def print_profiles(columns, variables):
    print("| optimiser | " + " | ".join(f"{budget} d" for budget in BUDGETS) + " | " + " | ".join(group[0] for group in GROUPS) + " |")
    print("|---" * (1 + len(BUDGETS) + len(GROUPS)) + "|")
    for label, runs in columns:
        cells = [np.mean([run.share(budget * variables) for run in runs]) for budget in BUDGETS]
        cells += [np.mean([run.share(BUDGETS[-1] * variables) for run in runs if first <= run.number <= last]) for _, first, last in GROUPS]
        print(f"| {label} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")


def print_stops(runs):
    print("\n| function | stops | median evaluations at the stop | wrong by the tolerance | wrong by 0.1 % of the height |\n|---|---|---|---|---|")
    rows = [[run.name, run.stopped, run.evaluations, run.above() > STATED * max(abs(run.minimum), 1e-3 * run.height),
             run.above() > 1e-3 * run.height] for run in runs]
    for name in [*dict.fromkeys(run.name for run in runs), "all"]:
        own = [row for row in rows if name in (row[0], "all")]
        stops = [row for row in own if row[1]]
        median = f"{np.median([row[2] for row in stops]):g}" if stops else ""
        if stops:
            print(f"| {name} | {len(stops)} of {len(own)} | {median} | {sum(row[3] for row in stops)} | {sum(row[4] for row in stops)} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--variables", type=int, default=2)
    parser.add_argument("--instances", type=int, default=5)
    parser.add_argument("--first-instance", type=int, default=1)
    parser.add_argument("--per-variable", type=int, default=100)
    parser.add_argument("--store", default="")
    options = parser.parse_args()
    command = [options.program, "--variables", str(options.variables), "--per-variable", str(options.per_variable)]
    stored = os.path.join(options.store, f"bbob-{options.variables}-{options.first_instance}.csv") if options.store else ""
    if stored and os.path.exists(stored):
        with open(stored) as file:
            lines = file.readlines()
    else:
        lines = subprocess.run(command + ["--instances", str(options.instances), "--first-instance", str(options.first_instance)],
                               check=True, text=True, capture_output=True).stdout.splitlines(keepends=True)
        if stored:
            with open(stored, "w") as file:
                file.writelines(lines)
    own = read(lines)
    columns = [("dodyn", own)]
    for label, package, search in [*search_peers.PEERS, ("random", "numpy", random_search)]:
        try:
            __import__(package)
        except ImportError:
            continue
        runs = [run_peer(command, search, name, instance) for name in dict.fromkeys(run.name for run in own)
                for instance in range(options.first_instance, options.first_instance + options.instances)]
        columns.append((label, runs))
    print_profiles(columns, options.variables)
    print_stops(own)


if __name__ == "__main__":
    main()
