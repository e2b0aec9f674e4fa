#!/usr/bin/env python3
"""Evaluations until a cost is solved, with gradients: dodyn's search beside L-BFGS-B and SLSQP.

    run: PYTHONPATH=python DODYN=build/release/apps/dodyn /usr/bin/python3 bench/gradients.py [--variables 2,5,8,10,20,40] [--first-seed 201]

Quadratics of several conditions along random directions, and Rosenbrock's function, on [-2, 2] for each variable. Solved: the
cost is within 1e-8 of the minimum, which is 0. dodyn searches by its defaults from three seeds. L-BFGS-B (with 50 pairs) and
SLSQP of SciPy start at five random points of the box and end by their own rules, with tolerances that ask for every digit. All
get 20 evaluations for each variable. A cell has the median and how many solved it.

Nothing is tuned on the rotated Rosenbrock function, on Zakharov's, and on a chain of trigonometric terms. Seeds 1 to 100 are
for tuning, 201 and above for reports.
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


def rotated_rosenbrock(variables: int, seed: int) -> Function:
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.normal(size=(variables, variables)))[0]
    minimum = random.uniform(-1, 1, variables)

    def function(x: Vector) -> tuple[float, Vector]:
        cost, gradient = rosenbrock(axes @ (x - minimum) + 1)
        return cost, axes.T @ gradient

    return function


def zakharov(variables: int, seed: int) -> Function:
    minimum, weights = np.random.default_rng(seed).uniform(-1, 1, variables), 0.5 * np.arange(1, variables + 1)

    def function(x: Vector) -> tuple[float, Vector]:
        from_minimum = x - minimum
        along = float(weights @ from_minimum)
        return float(from_minimum @ from_minimum) + along**2 + along**4, 2 * from_minimum + (2 * along + 4 * along**3) * weights

    return function


def trigonometric_chain(variables: int, seed: int) -> Function:
    """10 (sin a + b - a cos b)^2 for each pair of neighbours, and 0.1 of the squares; it has local minima."""
    minimum = np.random.default_rng(seed).uniform(-1, 1, variables)

    def function(x: Vector) -> tuple[float, Vector]:
        z = x - minimum
        one, next_one = z[:-1], z[1:]
        term = np.sin(one) + next_one - one * np.cos(next_one)
        gradient = 0.2 * z
        gradient[:-1] += 20 * term * (np.cos(one) - np.cos(next_one))
        gradient[1:] += 20 * term * (1 + one * np.sin(next_one))
        return float(0.1 * z @ z + 10 * term @ term), gradient

    return function


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


def peer(method: str, options: dict[str, float], function: Function, variables: int, budget: int, seed: int) -> int:
    count = Count(function)
    start = np.random.default_rng(seed).uniform(LOW, HIGH, variables)
    minimize(count, start, jac=True, method=method, bounds=[(LOW, HIGH)] * variables, options=options)
    return count.solved if count.solved <= budget else 0


def cell(counts: list[int]) -> str:
    solved = [one for one in counts if one]
    return f"{np.median(solved):.0f} ({len(solved)} of {len(counts)})" if solved else f"- (0 of {len(counts)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--variables", default="2,5,8,10,20,40")
    parser.add_argument("--first-seed", type=int, default=1)
    given = parser.parse_args()
    print("| function | variables | dodyn | L-BFGS-B | SLSQP |\n|---|---|---|---|---|")
    for variables in map(int, given.variables.split(",")):
        functions: list[tuple[str, Callable[[int], Function]]] = [
            (f"quadratic, condition {condition:g}", lambda seed, c=condition: quadratic(variables, c, seed))  # type: ignore[misc]
            for condition in (1e1, 1e4, 1e6)
        ]
        functions.append(("Rosenbrock", lambda seed: rosenbrock))
        for title, of in (("rotated Rosenbrock", rotated_rosenbrock), ("Zakharov", zakharov), ("chain", trigonometric_chain)):
            functions.append((title, lambda seed, n=variables, f=of: f(n, seed)))  # type: ignore[misc]
        for name, make in functions:
            budget = 20 * variables
            own = [search(make(seed), variables, budget, seed) for seed in range(given.first_seed, given.first_seed + 3)]
            peers = {
                "L-BFGS-B": {"maxfun": budget, "maxiter": budget, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50},
                "SLSQP": {"maxiter": budget, "ftol": 1e-16},
            }
            seeds = range(given.first_seed, given.first_seed + 5)
            cells = [
                cell([peer(method, options, make(seed), variables, budget, seed) for seed in seeds]) for method, options in peers.items()
            ]
            print(f"| {name} | {variables} | {cell(own)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
