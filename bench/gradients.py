#!/usr/bin/env python3
"""Evaluations until a cost is solved, with gradients: dodyn's search beside L-BFGS-B.

    run: PYTHONPATH=python DODYN=build/release/apps/dodyn /usr/bin/python3 bench/gradients.py [--variables 2,5,8] [--first-seed 1]

Quadratics of several conditions along random directions, and Rosenbrock's function, on [-2, 2] for each variable. Solved: the
cost is within 1e-8 of the minimum, which is 0. dodyn searches by its defaults from three seeds. L-BFGS-B of SciPy starts at
five random points of the box and ends by its own rule, with tolerances that ask for every digit. Both get 20 evaluations for
each variable. A cell has the median and how many solved it.
"""

import argparse
from collections.abc import Callable

import dodyn
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Vector = npt.NDArray[np.float64]
Function = Callable[[Vector], tuple[float, Vector]]

LOW, HIGH = -2.0, 2.0
SOLVED = 1e-8


def quadratic(variables: int, condition: float, seed: int) -> Function:
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.normal(size=(variables, variables)))[0]
    hessian = axes @ np.diag(np.logspace(0, np.log10(condition), variables)) @ axes.T
    minimum = random.uniform(-1, 1, variables)
    return lambda x: (0.5 * (x - minimum) @ hessian @ (x - minimum), hessian @ (x - minimum))


def rosenbrock(x: Vector) -> tuple[float, Vector]:
    valley, to_one = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    gradient = np.zeros_like(x)
    gradient[:-1] = -400 * x[:-1] * valley - 2 * to_one
    gradient[1:] += 200 * valley
    return float(np.sum(100 * valley**2 + to_one**2)), gradient


class Count:
    """A function that counts its evaluations until it is solved."""

    def __init__(self, function: Function) -> None:
        self.function, self.evaluations, self.solved = function, 0, 0

    def __call__(self, x: Vector) -> tuple[float, Vector]:
        self.evaluations += 1
        cost, gradient = self.function(x)
        if not self.solved and cost <= SOLVED:
            self.solved = self.evaluations
        return cost, gradient


def search(function: Function, variables: int, budget: int, seed: int) -> int:
    names = [f"x{i}" for i in range(variables)]
    count = Count(function)
    optimizer = dodyn.Optimizer({name: (LOW, HIGH) for name in names}, gradient=True, seed=seed, budget=budget)
    while not optimizer.stopped and not count.solved:
        point = optimizer.ask()
        cost, gradient = count(np.array([point[name] for name in names]))
        optimizer.tell(point, cost, gradient=dict(zip(names, gradient.tolist(), strict=True)))
    optimizer.close()
    return count.solved


def lbfgsb(function: Function, variables: int, budget: int, seed: int) -> int:
    count = Count(function)
    start = np.random.default_rng(seed).uniform(LOW, HIGH, variables)
    options = {"maxfun": budget, "ftol": 1e-16, "gtol": 1e-12}
    minimize(count, start, jac=True, method="L-BFGS-B", bounds=[(LOW, HIGH)] * variables, options=options)
    return count.solved if count.solved <= budget else 0


def cell(counts: list[int]) -> str:
    solved = [one for one in counts if one]
    return f"{np.median(solved):.0f} ({len(solved)} of {len(counts)})" if solved else f"- (0 of {len(counts)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", default="2,5,8")
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    print("| function | variables | dodyn | L-BFGS-B |\n|---|---|---|---|")
    for variables in map(int, given.variables.split(",")):
        functions: list[tuple[str, Callable[[int], Function]]] = [
            (f"quadratic, condition {condition:g}", lambda seed, c=condition: quadratic(variables, c, seed))  # type: ignore[misc]
            for condition in (1e1, 1e4, 1e6)
        ]
        functions.append(("Rosenbrock", lambda seed: rosenbrock))
        for name, make in functions:
            budget = 20 * variables
            own = [search(make(seed), variables, budget, seed) for seed in range(given.first_seed, given.first_seed + 3)]
            peer = [lbfgsb(make(seed), variables, budget, seed) for seed in range(given.first_seed, given.first_seed + 5)]
            print(f"| {name} | {variables} | {cell(own)} | {cell(peer)} |", flush=True)


if __name__ == "__main__":
    main()
