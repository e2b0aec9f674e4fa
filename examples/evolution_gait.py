"""An evolutionary search of your own over two objectives of a gait: the cost and the greatest torque.

It stands for any population search, such as NSGA-II of pymoo: a generation is a list of designs, evaluated in several processes.
Run it where `dodyn` is installed: python3 evolution_gait.py knee.cfg
"""

import sys

import numpy as np

import dodyn

GENERATIONS, POPULATION = 3, 6
TORQUE = "max_torque"
random = np.random.default_rng(1)


def dominates(a, b):
    return bool(np.all(a <= b) and np.any(a < b))


with dodyn.Study(sys.argv[1], settings={"gait.initial-guesses": 4, "gait.intervals": 30}) as study:
    knee = study.variables[0]
    assert TORQUE in [metric.name for metric in study.metrics], study.metrics
    found = []  # (result, objectives)
    designs = [{"knee": value} for value in random.uniform(knee.lower, knee.upper, POPULATION)]
    for _ in range(GENERATIONS):
        results = study.evaluate_all(designs, processes=2)
        found += [(r, np.array([r.cost, r.metrics[TORQUE]])) for r in results if r.ok]
        front = [(d, v) for d, v in found if not any(dominates(w, v) for _, w in found)]
        parents = [front[i][0].design["knee"] for i in random.integers(len(front), size=POPULATION)]
        children = np.clip(parents + 0.05 * random.standard_normal(POPULATION), knee.lower, knee.upper)
        designs = [{"knee": value} for value in children]
    for result, values in sorted(front, key=lambda one: one[1][0]):
        print(f"knee = {result.design['knee']:.4g} m: cost {values[0]:.5g}, greatest torque {values[1]:.4g} N m")

    # The check: processes do not change digits, and the front is one.
    assert all(study.evaluate(r.design, seed=r.seed).cost == r.cost for r, _ in front[:2])
    assert not any(dominates(v, w) for _, v in front for _, w in front)
