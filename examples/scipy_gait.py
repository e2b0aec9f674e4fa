"""SciPy chooses the knee height and the step length of a walker, by exact gradients of its best gait.

L-BFGS-B asks for a cost and a gradient; each is one optimal control problem, solved by one long-lived `dodyn serve`.
Run it where `dodyn` is installed: python3 scipy_gait.py knee.cfg
"""

import sys

import numpy as np
import scipy.optimize

import dodyn

NAMES, LOWER, UPPER = ["knee", "step-length"], [0.25, 0.35], [0.70, 0.55]  # m
free = {name: (low, high) for name, low, high in zip(NAMES, LOWER, UPPER)}

with dodyn.Study(sys.argv[1], design=free, settings={"gait.initial-guesses": 4, "gait.intervals": 30}) as study:
    results = []

    def cost_and_gradient(values):
        result = study.evaluate(dict(zip(NAMES, values)), trajectory=False, seed=1)  # the same initial guesses for each design
        if not result.ok:
            return 1e3, np.zeros(len(NAMES))  # L-BFGS-B then shortens its step
        results.append(result)
        return result.cost, [result.gradient[name] for name in NAMES]

    found = scipy.optimize.minimize(cost_and_gradient, [0.5, 0.45], jac=True, method="L-BFGS-B", bounds=list(zip(LOWER, UPPER)))
    best = min(results, key=lambda result: result.cost)
    print(f"{found.nfev} gaits: cost {best.cost:.6g} at", ", ".join(f"{name} = {value:.4g} m" for name, value in best.design.items()))

    # The check: no slope is left in a direction that stays in the box, and neighbours cost no less.
    inside = [LOWER[i] + 1e-6 < best.design[name] < UPPER[i] - 1e-6 for i, name in enumerate(NAMES)]
    for name, free_here in zip(NAMES, inside):
        if free_here:
            assert abs(best.gradient[name]) < 0.02, (name, best.gradient)
            for step in (-0.02, 0.02):
                assert study.evaluate({**best.design, name: best.design[name] + step}, seed=1).cost > best.cost, (name, step)
    assert best.cost < results[0].cost
