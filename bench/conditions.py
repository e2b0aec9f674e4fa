#!/usr/bin/env python3
"""Searches with conditions on designs (surrogate.design-constraints), whose best design lies where conditions meet.

    bench/conditions.py DODYN [DODYN ...] [--seeds 3] [--only NAME]     prints the table of docs/measured/solar.md, a column for each program

Each search has 20 evaluations for each variable. A run is solved if its best cost is within 0.1 % of the known minimum; its evaluations count until then.
A stop is wrong if the search ended by its own rule unsolved.
"""

import argparse
import csv
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

PER_VARIABLE = 20


def reducer(x1, x2, x3, x4, x5, x6, x7):
    return (0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934) - 1.508 * x1 * (x6**2 + x7**2) + 7.4777 * (x6**3 + x7**3)
            + 0.7854 * (x4 * x6**2 + x5 * x7**2))  # fmt: skip


# Cost, variables (name: lower, upper), whole numbers, conditions, known minimum, scale of its error.
PROBLEMS = {
    "Rosenbrock in a disc": (lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2, {"x": (-1.5, 1.5), "y": (-1.5, 1.5)}, [], "x^2 + y^2 <= 2", 0, 1),
    "Rosenbrock, cubic and line": (lambda x, y: (1 - x) ** 2 + 100 * (y - x**2) ** 2, {"x": (-1.5, 1.5), "y": (-0.5, 2.5)}, [],
                                   "(x - 1)^3 - y + 1 <= 0, x + y <= 2", 0, 1),
    "corner of three": (lambda x, y, z: (x - 1) ** 2 + (y - 1) ** 2 + (z - 1) ** 2, {"x": (0, 1), "y": (0, 1), "z": (0, 1)}, [],
                        "x + y <= 1, z <= x*y + 0.25", 0.75, 0.75),
    "Rosen and Suzuki": (lambda a, b, c, d: a**2 + b**2 + 2 * c**2 + d**2 - 5 * a - 5 * b - 21 * c + 7 * d, {name: (-3, 3) for name in "abcd"}, [],
                         "8 - a^2 - b^2 - c^2 - d^2 - a + b - c + d >= 0, 10 - a^2 - 2*b^2 - c^2 - 2*d^2 + a + d >= 0, "
                         "5 - 2*a^2 - b^2 - c^2 - 2*a + b + d >= 0", -44, 44),
    "Hock and Schittkowski 76": (lambda a, b, c, d: a * a + 0.5 * b * b + c * c + 0.5 * d * d - a * c + c * d - a - 3 * b + c - d,
                                 {name: (0, 4) for name in "abcd"}, [], "a + 2*b + c + d <= 5, 3*a + b + 2*c - d <= 4, b + 4*c >= 1.5", -4.681818, 4.681818),
    "pressure vessel": (lambda m, n, r, l: 0.0625 * (0.6224 * m * r * l + 1.7781 * n * r * r) + 0.0625**2 * m * m * (3.1661 * l + 19.84 * r),
                        {"m": (1, 99), "n": (1, 99), "r": (10, 200), "l": (10, 200)}, ["m", "n"],
                        "0.0193*r <= 0.0625*m, 0.00954*r <= 0.0625*n, 3.141592653589793*r^2*l + 4.1887902047863905*r^3 >= 1296000", 6059.714335, 6059.7),
    "speed reducer": (reducer, {"x1": (2.6, 3.6), "x2": (0.7, 0.8), "x3": (17, 28), "x4": (7.3, 8.3), "x5": (7.3, 8.3), "x6": (2.9, 3.9), "x7": (5, 5.5)},
                      ["x3"], "27 <= x1*x2^2*x3, 397.5 <= x1*x2^2*x3^2, 1.93*x4^3 <= x2*x3*x6^4, 1.93*x5^3 <= x2*x3*x7^4, "
                      "sqrt((745*x4/(x2*x3))^2 + 16.9e6) <= 110*x6^3, sqrt((745*x5/(x2*x3))^2 + 157.5e6) <= 85*x7^3, x2*x3 <= 40, 5*x2 <= x1, "
                      "x1 <= 12*x2, 1.5*x6 + 1.9 <= x4, 1.1*x7 + 1.9 <= x5", 2994.4711, 2994.5),
}  # fmt: skip


def serve(name):
    cost, variables = PROBLEMS[name][:2]
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps({"id": task["id"], "cost": cost(*(task["design"][v] for v in variables))}), flush=True)


def configuration(name):
    _, variables, whole, conditions, _, _ = PROBLEMS[name]
    return ("[study]\nevaluator = command\n[design]\n" + "".join(f"{v}.min = {low}\n{v}.max = {high}\n" for v, (low, high) in variables.items())
            + f"[surrogate]\nstrategy = ego\ndesign-constraints = {conditions}\n" + (f"integers = {', '.join(whole)}\n" if whole else "")
            + f'[command]\nserve = python3 "{os.path.abspath(__file__)}" --serve "{name}"\n')  # fmt: skip


def run(dodyn, name, seed, folder):
    _, variables, _, _, minimum, scale = PROBLEMS[name]
    config, archive = os.path.join(folder, "c.cfg"), os.path.join(folder, f"{seed}.h5")
    with open(config, "w") as file:
        file.write(configuration(name))
    done = subprocess.run([dodyn, "run", config, "--study.archive", archive, "--study.seed", str(seed), "--study.max-evaluations",
                           str(PER_VARIABLE * len(variables))], capture_output=True, text=True)  # fmt: skip
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    table = subprocess.run([dodyn, "show", archive, "--csv"], capture_output=True, text=True, check=True).stdout
    costs = [float(row["cost"]) for row in csv.DictReader(io.StringIO(table))]
    first = next((i + 1 for i, cost in enumerate(costs) if cost - minimum <= 1e-3 * scale), math.inf)
    return first, (min(costs) - minimum) / scale, len(costs), "finished:" in subprocess.run([dodyn, "show", archive], capture_output=True, text=True).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dodyn", nargs="*")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--serve", default="")
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    print("| problem | variables |" + " solved | evaluations until then | error at the end | wrong stops |" * len(options.dodyn))
    print("|---|---|" + "---|---|---|---|" * len(options.dodyn))
    for name in PROBLEMS:
        if options.only not in name:
            continue
        cells = []
        for dodyn in options.dodyn:
            with tempfile.TemporaryDirectory() as folder:
                runs = [run(os.path.abspath(dodyn), name, seed, folder) for seed in range(1, 1 + options.seeds)]
            middle = statistics.median_low([first for first, *_ in runs])
            cells += [f"{sum(math.isfinite(first) for first, *_ in runs)} of {len(runs)}", f"{middle:g}" if math.isfinite(middle) else "",
                      f"{statistics.median_low([error for _, error, *_ in runs]):.1e}",
                      f"{sum(ends and math.isinf(first) for first, _, _, ends in runs)} of {sum(ends for *_, ends in runs)}"]  # fmt: skip
        print(f"| {name} | {len(PROBLEMS[name][1])} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
