#!/usr/bin/python3
"""The table of docs/measured/work.md: a work cost against the limit of torques, the time steps, and the measure of work.

    bench/work_costs.py DODYN          (from the root of the repository; minutes)

The underactuated biped of configs/knee-underactuated.cfg with its knee at 0.5 m. The cost is work + 0.02 of squared torque,
then with larger losses."""

import subprocess
import sys

DODYN = sys.argv[1]


def solve(**keys):
    words = [DODYN, "solve", "configs/knee-underactuated.cfg", "--design.knee", "0.5", "--gait.tasks", "1", "--gait.coarse-intervals", "0",
             "--gait.initial-guesses", "12", "--gait.intervals", "40", "--gait.validity-check", "warn"]
    for key, value in keys.items():
        words += ["--gait." + key.replace("_", "-"), str(value)]
    values = {}
    for line in subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines():
        parts = line.split()
        if len(parts) >= 2 and (parts[0] == "cost" or parts[0].startswith("metrics.")):
            values[parts[0].removeprefix("metrics.")] = float("nan" if parts[1] == "-" else parts[1])
    return values


print("| work by | time steps | limit, N m | cost | absolute work / (weight x step) | positive work, J | impact loss, J | largest torque, N m |")
print("|---|---|---|---|---|---|---|---|")
ROWS = [(40, limit, {}) for limit in (20, 40, 80, 160)]
ROWS += [(80, 80, dict(refine_tolerance=1e-9, refinements=1)), (160, 80, dict(refine_tolerance=1e-9, refinements=2))]
WEIGHT = 9.81 * 20 * 0.56
for rule in ("intervals", "ends"):
    for steps, limit, more in ROWS:
        v = solve(work_rule=rule, torque_limit=limit, squared_torque=0.02, **more)
        if int(v["intervals"]) != steps:
            continue  # the refined gait was not found, and the program gave the coarser one
        print(f"| {rule} | {int(v['intervals'])} | {limit} | {v['cost']:.5f} | {v['absolute_work'] / WEIGHT:.4f} | {v['positive_work']:.3f} | "
              f"{v['impact_loss']:.3f} | {v['max_torque']:.1f} |", flush=True)

print("\n| loss | time steps | limit, N m | cost | change by the last halving | absolute work / (weight x step) | positive work / (weight x step) | "
      "largest torque, N m |")
print("|---|---|---|---|---|---|---|---|")
for loss in (0.02, 0.05, 0.1):
    for refinements, limit in ((1, 80), (2, 80), (3, 80), (3, 40), (3, 60), (3, 160)):
        v = solve(squared_torque=loss, torque_limit=limit, refine_tolerance=1e-9, refinements=refinements, max_iterations=3000)
        print(f"| {loss} | {int(v['intervals'])} | {limit} | {v['cost']:.6f} | {v['refinement_change']:.2%} | {v['absolute_work'] / WEIGHT:.4f} | "
              f"{v['positive_work'] / WEIGHT:.4f} | {v['max_torque']:.1f} |", flush=True)
