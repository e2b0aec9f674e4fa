#!/usr/bin/python3
"""dodyn's search next to other optimisers, on the functions of bench/search_functions.cpp, in one run.

    bench/search_peers.py BUILD/bench/surrogate_benchmark_stops [--seeds 10] [--first-seed 0] [--aside] [--only TEXT] [--csv FILE]

Each function has a row: the number of seeds that find the minimum to 1 % within the budget, and the median of their evaluations. dodyn runs with
the defaults and the stop rule of `dodyn run`, with gradients and without. The peers use the whole budget. Peers: scipy's dual annealing, NLopt's
BOBYQA from random places until the budget ends, DIRECT-L, CRS2 and MLSL over BOBYQA, expected improvement over scikit-learn's Gaussian process,
cmaes' CMA-ES, pagmo's differential evolution, nevergrad's NGOpt. Peers that are not installed are omitted. For a design that fails or violates a
constraint, a peer receives a cost above all earlier ones, increased by the violation. Whole numbers are rounded for the peers. FILE stores the
peers' runs, so that the next call continues an interrupted one.
"""
import argparse
import csv
import math
import os
import statistics
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")


class Spent(Exception):
    """The budget of evaluations is spent."""


class Problem:
    def __init__(self, program, name, seed):
        self.process = subprocess.Popen([*program, "--serve", "--only", name, "--first-seed", str(seed)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        head = [float(word) for word in self.process.stdout.readline().split()]
        self.d, self.budget, self.minimum, self.allowance = int(head[0]), int(head[1]), head[2], head[3]
        self.lower, self.upper = np.array(head[4::2]), np.array(head[5::2])
        self.count, self.reached, self.worst, self.least = 0, 0, 1.0, math.inf
        self.improvements = []  # (evaluations, cost)

    def __call__(self, x, *_):
        if self.count >= self.budget:
            raise Spent
        x = np.clip(np.asarray(x, float), self.lower, self.upper)
        self.process.stdin.write(" ".join(repr(float(v)) for v in x) + "\n")
        self.process.stdin.flush()
        ok, seen, value, broken = (float(word) for word in self.process.stdout.readline().split())
        self.count += 1
        if ok and broken <= 0:
            self.worst = max(self.worst, seen) if self.count > 1 else seen
            if seen < self.least:
                self.least = seen
                self.improvements.append((self.count, seen))
                good = value - self.minimum <= self.allowance
                self.reached = (self.reached or self.count) if good else 0
            return seen
        return self.worst + abs(self.worst) * 0.1 + max(broken, 0)

    def unit(self, u):
        return self(self.lower + np.asarray(u) * (self.upper - self.lower))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def dual_annealing(p, seed):
    from scipy.optimize import dual_annealing
    while True:
        dual_annealing(p.unit, [(0, 1)] * p.d, seed=seed)


def bobyqa(p, seed):
    import nlopt
    random = np.random.default_rng(seed)
    start = np.full(p.d, 0.5)
    while True:
        search = nlopt.opt(nlopt.LN_BOBYQA, p.d)
        search.set_lower_bounds(0), search.set_upper_bounds(1)
        search.set_min_objective(lambda u, _: p.unit(u))
        search.set_xtol_abs(1e-4)
        search.set_initial_step(0.2)
        try:
            search.optimize(start)
        except (nlopt.RoundoffLimited, RuntimeError):
            pass
        start = random.random(p.d)


def direct_l(p, seed):
    import nlopt
    search = nlopt.opt(nlopt.GN_DIRECT_L, p.d)
    search.set_lower_bounds(0), search.set_upper_bounds(1)
    search.set_min_objective(lambda u, _: p.unit(u))
    search.set_maxeval(p.budget + 1)
    search.optimize(np.full(p.d, 0.5))


def crs(p, seed):
    import nlopt
    nlopt.srand(seed + 1)
    search = nlopt.opt(nlopt.GN_CRS2_LM, p.d)
    search.set_lower_bounds(0), search.set_upper_bounds(1)
    search.set_min_objective(lambda u, _: p.unit(u))
    search.set_maxeval(p.budget + 1)
    search.optimize(np.random.default_rng(seed).random(p.d))


def mlsl(p, seed):
    import nlopt
    nlopt.srand(seed + 1)
    local = nlopt.opt(nlopt.LN_BOBYQA, p.d)
    local.set_xtol_abs(1e-4)
    search = nlopt.opt(nlopt.G_MLSL_LDS, p.d)
    search.set_local_optimizer(local)
    search.set_lower_bounds(0), search.set_upper_bounds(1)
    search.set_min_objective(lambda u, _: p.unit(u))
    search.set_maxeval(p.budget + 1)
    search.optimize(np.random.default_rng(seed).random(p.d))


def scikit_learn(p, seed):
    from scipy.stats import norm, qmc
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern
    random = np.random.default_rng(seed)
    x = qmc.LatinHypercube(p.d, seed=seed).random(2 * p.d + 2)
    y = np.array([p.unit(u) for u in x])
    while True:
        model = GaussianProcessRegressor(ConstantKernel() * Matern(np.full(p.d, 0.5), (1e-2, 1e2), nu=2.5), alpha=1e-8, normalize_y=True,
                                         n_restarts_optimizer=1, random_state=seed).fit(x, y)
        around = x[np.argmin(y)] + 10 ** random.uniform(-3, -0.5, (500, 1)) * random.normal(size=(500, p.d))
        points = np.vstack([random.random((2000, p.d)), np.clip(around, 0, 1)])
        mean, deviation = model.predict(points, return_std=True)
        deviation = np.maximum(deviation, 1e-12)
        z = (y.min() - mean) / deviation
        u = points[np.argmax((y.min() - mean) * norm.cdf(z) + deviation * norm.pdf(z))]
        x, y = np.vstack([x, u]), np.append(y, p.unit(u))


def cma_es(p, seed):
    from cmaes import CMA
    random = np.random.default_rng(seed)
    while True:
        search = CMA(mean=random.random(p.d), sigma=0.3, bounds=np.array([[0, 1]] * p.d), seed=seed + 1)
        while not search.should_stop():
            designs = [search.ask() for _ in range(search.population_size)]
            search.tell([(u, p.unit(u)) for u in designs])
        seed += 1000


def pagmo(p, seed):
    import pygmo

    class Wrapped:
        def fitness(self, u):
            return [p.unit(u)]

        def get_bounds(self):
            return [0] * p.d, [1] * p.d

    population = pygmo.population(pygmo.problem(Wrapped()), 10, seed=seed)
    pygmo.algorithm(pygmo.sade(gen=1000, seed=seed)).evolve(population)


def nevergrad(p, seed):
    import nevergrad
    parameter = nevergrad.p.Array(init=np.full(p.d, 0.5)).set_bounds(0, 1)
    parameter.random_state.seed(seed)
    nevergrad.optimizers.NGOpt(parameter, budget=p.budget).minimize(p.unit)


PEERS = [("dual annealing", "scipy", dual_annealing), ("BOBYQA, restarted", "nlopt", bobyqa), ("DIRECT-L", "nlopt", direct_l),
         ("CRS2", "nlopt", crs), ("MLSL", "nlopt", mlsl),
         ("scikit-learn EI", "sklearn", scikit_learn), ("CMA-ES", "cmaes", cma_es), ("pagmo", "pygmo", pagmo),
         ("nevergrad", "nevergrad", nevergrad)]


def cell(reached):
    found = [n for n in reached if n]
    return f"{len(found)} of {len(reached)}" + (f", {statistics.median(found):g}" if found else "")


def dodyn(program, name, aside, seeds, first, more):
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        subprocess.run([program, "--only", name, "--seeds", str(seeds), "--first-seed", str(first), "--csv", file.name] + more
                       + (["--aside"] if aside else []), check=True, stdout=subprocess.DEVNULL)
        with open(file.name) as text:
            rows = [row for row in csv.reader(text) if row[0] == name]
    return [int(row[4]) for row in rows], sum(int(row[5]) for row in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--csv", default=os.devnull)
    options = parser.parse_args()
    with open(options.csv, "a+") as file:
        file.seek(0)
        done = {(row[0], row[1], int(row[2])): int(row[3]) for row in csv.reader(file)}
    peers = []
    for name, package, run in PEERS:
        try:
            __import__(package)
            peers.append((name, run))
        except ImportError:
            print(f"{name}: {package} is not installed, left out", file=sys.stderr)
    heads = ["function", "auto", "wrong stops", "with gradients", "wrong stops"] + [name for name, _ in peers]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads), flush=True)
    wrong, runs = [0, 0], 0
    for line in subprocess.run([options.program, "--list"], text=True, capture_output=True, check=True).stdout.splitlines():
        aside, name = line.split(" ", 1)
        if (aside == "1") != options.aside or options.only not in name:
            continue
        cells = [name]
        for which, more in enumerate(([], ["--gradient"])):
            reached, stops = dodyn(options.program, name, options.aside, options.seeds, options.first_seed, more)
            cells += [cell(reached), str(stops)]
            wrong[which] += stops
        runs += options.seeds
        for peer, run in peers:
            reached = []
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                if (name, peer, seed) in done:
                    reached.append(done[name, peer, seed])
                    continue
                problem = Problem([options.program], name, seed)
                try:
                    run(problem, seed)
                except (Spent, SystemError):  # NLopt's wrapper turns Spent into SystemError
                    pass
                reached.append(problem.reached)
                problem.close()
                with open(options.csv, "a") as file:
                    csv.writer(file).writerow([name, peer, seed, problem.reached])
            cells.append(cell(reached))
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\nWrong stops: {wrong[0]} of {runs}; with gradients {wrong[1]} of {runs}.")


if __name__ == "__main__":
    main()
