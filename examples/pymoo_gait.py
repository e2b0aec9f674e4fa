"""NSGA-II of pymoo searches designs of a gait for two objectives: the cost and the greatest torque.

A generation is one call of `evaluate_all`, which solves its gaits in several processes. A gait that fails breaks a constraint, so that it never
comes before a gait that was found. Run it where `dodyn` is installed: python3 pymoo_gait.py knee.cfg
"""

import sys

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.core.problem import Problem
from pymoo.optimize import minimize

import dodyn

TORQUE = "max_torque"  # a metric of each gait, N m
FAILED = 1e6           # objectives of a gait that was not found

with dodyn.Study(sys.argv[1], settings={"gait.initial-guesses": 4, "gait.intervals": 30}) as study:
    names = [variable.name for variable in study.variables]

    def solve(designs):
        return study.evaluate_all([dict(zip(names, design)) for design in designs], seed=1, processes=2)

    class Gait(Problem):
        def __init__(self):
            super().__init__(n_var=len(names), n_obj=2, n_ieq_constr=1,
                             xl=[v.lower for v in study.variables], xu=[v.upper for v in study.variables])

        def _evaluate(self, x, out, *args, **kwargs):
            results = solve(x)
            out["F"] = np.array([[r.cost, r.metrics[TORQUE]] if r.ok else [FAILED, FAILED] for r in results])
            out["G"] = np.array([[0.0 if r.ok else 1.0] for r in results])

    found = minimize(Gait(), NSGA2(pop_size=8), ("n_gen", 4), seed=1)
    order = np.argsort(found.F[:, 0])
    for design, (cost, torque) in zip(found.X[order], found.F[order]):
        print(", ".join(f"{name} = {value:.4g}" for name, value in zip(names, design)) + f": cost {cost:.5g}, greatest torque {torque:.4g} N m")

    # The check: the designs cost the same when they are solved again, and none is worse than another in both objectives.
    again = solve(found.X)
    assert all(r.cost == f[0] and r.metrics[TORQUE] == f[1] for r, f in zip(again, found.F))
    assert not any(np.all(a <= b) and np.any(a < b) for a in found.F for b in found.F)
