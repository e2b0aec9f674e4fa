#!/usr/bin/env python3
"""Writes the outcomes of initial states from archives of sweeps over one variable, for bench/paired_costs.

    bench/outcomes.py ARCHIVE... > FILE

Archives with the same initial states add their designs. Archives with other initial states add columns. Each line of the output is a value of the
variable, followed by 0 (success) or 1 for each initial state. Only designs with all initial states are written.
"""

import sys

import h5py
import numpy


def main() -> None:
    rows: dict[float, dict[bytes, numpy.ndarray]] = {}
    for path in sys.argv[1:]:
        with h5py.File(path, "r", swmr=True) as file:
            evaluations, outcome = file["evaluations"], file["trajectories/outcome"]
            states = file["trajectories/initial_state"][0].tobytes()
            n = len(evaluations["id"])
            metrics = [name.decode() if isinstance(name, bytes) else name for name in evaluations["metrics"].attrs["names"]]
            for design, cost, one in zip(evaluations["design"][:n, 0], evaluations["cost"][:n], outcome[:n, :, 0]):
                # success is the outcome whose share equals 1 - cost
                shares = [numpy.mean(one == k) for k in range(len(metrics))]
                success = int(numpy.argmin([abs(1 - cost - share) for share in shares]))
                rows.setdefault(round(float(design), 9), {})[states] = (one != success).astype(int)
    every = sorted({states for sets in rows.values() for states in sets})
    for value, sets in sorted(rows.items()):
        if len(sets) == len(every):
            print(value, *numpy.concatenate([sets[states] for states in every]))


main()
