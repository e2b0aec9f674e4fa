#!/usr/bin/env python3
"""dodyn's search on solar, a published testbed of simulations with constraints, failures, whole numbers and labels.

    bench/solar.py configure SOLAR FOLDER               writes solar-1.cfg, solar-2.cfg, ... of `evaluator = command`
    bench/solar.py times SOLAR                          seconds of one evaluation at the published initial designs
    bench/solar.py run SOLAR DODYN FOLDER [OPTIONS]     studies; archives stay in FOLDER, and a second call continues them
    bench/solar.py peers SOLAR FOLDER [OPTIONS]         COBYLA (nlopt) and CMA-ES (cmaes), from the same initial designs
    bench/solar.py table SOLAR DODYN FOLDER [OPTIONS]   the tables of docs/measured/solar.md

SOLAR is the folder of https://github.com/bbopt/solar, 1.0.7, with bin/solar built. The published histories of NOMAD and CMA-ES are those of its git
repository, which SOLAR/.git or --git names. Options:

    --only 6,7           instances (1 to 7 and 10)
    --seeds 10           seeds 0, 1, ...
    --first-seed 0
    --per-variable 25    evaluations per variable
    --name dodyn         name of a variant; the words after -- are passed to `dodyn run`
    --fidelity 0.5       of the evaluations (2, 3, 4 and 7)
    --low-fidelity NAME  studies begin from the archives of the variant NAME
    --git DIRECTORY      of solar's history
"""

import argparse
import csv
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import solar_point

BEST = {1: -902503.692418, 2: 841839.671915, 3: 62775886.3251, 4: 108197236.146, 5: -28.8817193932, 6: 43954935.1836, 7: -4972.88689831, 10: 42.416671}
FOLDERS = {1: "1_MAXNRG_H1", 2: "2_MINSURF_H1", 3: "3_MINCOST_C1", 4: "4_MINCOST_C2", 5: "5_MAXCOMP_HTF1", 6: "6_MINCOST_TS", 7: "7_MAXEFF_RE",
           10: "10_MINCOST_UNCONSTRAINED"}  # fmt: skip
# Constraints that need no simulation, as `solar -h` states them, and their names: conditions on designs, not evaluations.
FIELD = "3.141592653589793*x3*x3*(x9*x9 - x8*x8)*x7/180 <= "
CONDITIONS = {
    1: {"c2": FIELD + "1.95e6", "c3": "2*x1 <= x3", "c4": "x8 <= x9"},
    2: {"c1": FIELD + "4e6", "c4": "2*x1 <= x3", "c5": "x8 <= x9", "c10": "x13 <= x14", "c11": "x11*x14 <= x5*1.5707963267948966"},
    3: {"c1": FIELD + "8e5", "c3": "2*x1 <= x3", "c4": "x8 <= x9", "c10": "x18 <= x19", "c11": "x16*x19 <= x5*1.5707963267948966"},
    4: {"c1": FIELD + "2e6", "c3": "2*x1 <= x3", "c4": "x8 <= x9", "c10": "x18 <= x19", "c11": "x16*x19 <= x5*1.5707963267948966",
        "c14": "x23 <= x20", "c15": "x22 <= x23"},
    5: {"c6": "x9 <= x10", "c7": "x7*x10 <= 9.42477796076938", "c10": "x14 <= x11", "c11": "x13 <= x14"},
    6: {},
    7: {"c3": "x6 <= x7", "c5": "x4*x7 <= x2*1.5707963267948966"},
    10: {},
}  # fmt: skip
# Upper bounds of whole numbers that have none in solar: heliostats, baffles and tubes of the steam generator.
UNBOUNDED = {(1, 6): 10000, (2, 6): 10000, (3, 6): 10000, (4, 6): 10000, (4, 25): 20, (4, 26): 50000, (5, 16): 20, (5, 17): 50000}
MANY = 100  # whole numbers with more values than this have a logarithmic scale
COUNTS = (10, 25, 50, 100)  # evaluations per variable in the table


class Instance:
    def __init__(self, program, number):
        self.program, self.number = program, number
        text = subprocess.run([program, "-h", str(number)], capture_output=True, text=True).stdout  # its exit code is 1
        words = lambda key: re.search(key + r"\s+\((.*?)\)", text).group(1).split()
        self.d = int(re.search(r"DIMENSION\s+(\d+)", text).group(1))
        self.constraints = re.search(r"BB_OUTPUT_TYPE\s+(.*)", text).group(1).split().count("CSTR")
        self.whole = [word == "I" for word in words("BB_INPUT_TYPE")]
        self.lower = [float(word) for word in words("LOWER_BOUND")]
        self.upper = [UNBOUNDED[number, k] if word == "-" else float(word) for k, word in enumerate(words("UPPER_BOUND"), 1)]
        self.labels = [int(k) for k in re.findall(r"x(\d+): [^\n]*Categorical", text)]
        self.x0 = [float(word) for word in words("X0")]

    def start(self, seed, published):
        """The initial design of a seed: that of the published runs, if there are any."""
        folder = FOLDERS[self.number]
        if self.number in (6, 10):
            lines = published(f"tests/{folder}/x0_LH30.txt").split("\n")
            return [float(word) for word in lines[seed % 30].split()]
        feasible = published(f"tests/{folder}/v1/NOMAD440/x0_feasible.txt")
        return [float(word) for word in feasible.split()] if feasible else self.x0

    def configuration(self, fidelity):
        names = [f"x{k}" for k in range(1, self.d + 1)]
        design = "".join(f"{name}.min = {low:.15g}\n{name}.max = {high:.15g}\n" for name, low, high in zip(names, self.lower, self.upper))
        whole = [k for k in range(1, self.d + 1) if self.whole[k - 1] and k not in self.labels]
        wide = [k for k in whole if self.upper[k - 1] - self.lower[k - 1] > MANY]
        metrics = [f"c{k}" for k in range(1, self.constraints + 1)]
        simulated = [c for c in metrics if c not in CONDITIONS[self.number]]
        lists = {
            "integers": ", ".join(names[k - 1] for k in whole),
            "categories": ", ".join(names[k - 1] for k in self.labels),
            "log-scale": ", ".join(names[k - 1] for k in wide),
            "design-constraints": ", ".join(CONDITIONS[self.number].values()),
            "constraints": ", ".join(f"{c} <= 0" for c in simulated),
        }
        return (
            f"# solar {self.number}: {self.d} variables, {self.constraints} constraints.\n[study]\nevaluator = command\nfailure-rate = 1\n\n"
            + "[design]\n" + design + "\n[surrogate]\nstrategy = ego\n" + "".join(f"{key} = {text}\n" for key, text in lists.items() if text)
            + f'\n[command]\nserve = python3 "{os.path.abspath(solar_point.__file__)}" "{self.program}" {self.number} {fidelity:g}\n'
            + (f"metrics = {', '.join(metrics)}\n" if metrics else "")
        )  # fmt: skip


def published_in(git, folder):
    """Returns a function that reads a file of solar's repository, "" if it does not exist there."""

    def read(path):
        if git:
            done = subprocess.run(["git", f"--git-dir={git}", "show", "HEAD:" + path], capture_output=True, text=True)
            return done.stdout if done.returncode == 0 else ""
        full = os.path.join(folder, path)
        return open(full).read() if os.path.exists(full) else ""

    return read


def curve(results):
    """The least feasible cost after each evaluation, of (cost, constraints) pairs; None: no value."""
    least, found = math.inf, []
    for numbers in results:
        if numbers and None not in numbers and all(c <= 0 for c in numbers[1:]):
            least = min(least, numbers[0])
        found.append(least)
    return found


# Published runs: {name: [curve of each run]}


def history_of_nomad_4(text):
    """Evaluations of display lines "N { success } [ 1 f c1 c2 ... ]"; the first number is 0 for a design that was not counted."""
    results = []
    for line in text.splitlines():
        match = re.match(r"\d+ \{.*?\} \[ (.*?) \]", line)
        words = match.group(1).split() if match else []
        if words and words[0] == "1":
            results.append([float(word) if abs(float(word)) < solar_point.MISSING else None for word in words[1:]])
    return results


def history_of_30_starts(text, variables, outputs):
    """Evaluations of lines "N x1 ... xn f c1 ..." (NOMAD), or "N [x1, ...] [c1, ...] f" (CMA-ES)."""
    results = []
    for line in text.splitlines():
        words = re.sub(r"[\[\],]", " ", line).split()
        if not words or not words[0].isdigit():
            continue
        numbers = [float(word) if abs(float(word)) < solar_point.MISSING else None for word in words[1 + variables :]]
        if "[" in line:
            numbers = numbers[-1:] + numbers[:-1]
        if len(numbers) >= outputs:
            results.append(numbers[:outputs])
    return results


def published_curves(instance, published):
    folder = f"tests/{FOLDERS[instance.number]}/v1/"
    found = {}
    if instance.number == 6:
        for name, path in (("NOMAD 3.9.1", "NOMAD391/from_30_LHS_points/results/nomad{:02}.txt"),
                           ("NOMAD 4.3.1", "NOMAD431/from_30_LHS_points/results/nomad{:02}.txt"),
                           ("CMA-ES, published", "CMAES/outputs/cmaes_{:02}.txt")):  # fmt: skip
            texts = [published(folder + path.format(k)) for k in range(1, 31)]
            found[name] = [curve(history_of_30_starts(text, instance.d, 1 + instance.constraints)) for text in texts if text]
    elif instance.number in (2, 3, 4, 7):
        for kind in ("PB", "EB"):
            texts = [published(f"{folder}NOMAD440/with_NOMAD_seeds_0_to_19_and_{kind}/{seed}/nomad_output.txt") for seed in range(20)]
            found[f"NOMAD 4.4, {kind}"] = [curve(history_of_nomad_4(text)) for text in texts if text]
    return found


# Studies


def rows(dodyn, archive):
    table = subprocess.run([dodyn, "show", archive, "--csv"], capture_output=True, text=True, check=True).stdout
    latest = {int(row["id"]): row for row in csv.DictReader(io.StringIO(table))}
    return [latest[i] for i in sorted(latest)]


def curve_of_study(dodyn, archive, instance):
    results = []
    for row in rows(dodyn, archive):
        number = {key.split(" ")[0].split(".")[-1]: value for key, value in row.items()}
        metrics = [number[f"c{k}"] for k in range(1, instance.constraints + 1)]
        results.append([float(value) for value in [row["cost"], *metrics]] if row["status"] == "ok" else [None])
    return curve(results)


def ending(dodyn, archive):
    text = subprocess.run([dodyn, "show", archive], capture_output=True, text=True, check=True).stdout
    found = re.search(r"; ((finished|stopped|failed)\b.*)", text)
    return (found.group(2), found.group(1)) if found else ("running", "running")


def write_start(path, instance, seed, published):
    with open(path, "w") as file:
        file.write(",".join(f"x{k}" for k in range(1, instance.d + 1)) + "\n")
        file.write(",".join(f"{value:.17g}" for value in instance.start(seed, published)) + "\n")


def run(instance, options, published):
    n, folder = instance.number, options.folder
    config = os.path.join(folder, f"solar-{n}-{options.fidelity:g}.cfg")
    with open(config, "w") as file:
        file.write(instance.configuration(options.fidelity))
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        start = os.path.join(folder, f"start-{n}-{seed}.csv")
        write_start(start, instance, seed, published)
        archive = os.path.join(folder, f"{options.name}-{n}-{seed}.h5")
        words = ["--study.archive", archive, "--study.seed", str(seed), "--study.max-evaluations", str(options.per_variable * instance.d),
                 "--surrogate.initial-designs", start, *options.words]  # fmt: skip
        if options.low_fidelity:
            words += ["--surrogate.low-fidelity", os.path.join(folder, f"{options.low_fidelity}-{n}-{seed}.h5")]
        begin = time.time()
        done = subprocess.run([options.dodyn, "run", config, *words], capture_output=True, text=True)
        if not os.path.exists(archive):
            sys.exit(f"{archive}: {done.stdout}{done.stderr}")
        found = curve_of_study(options.dodyn, archive, instance)
        print(f"solar {n}, seed {seed}: {len(found)} evaluations, {found[-1]:.8g} (best known {BEST[n]:.8g}), {time.time() - begin:.0f} s; "
              f"{ending(options.dodyn, archive)[1]}", flush=True)  # fmt: skip


# Peers on this machine


class Peer:
    """Counts evaluations. Constraints are divided by the magnitude of their first value, so that a peer sees all of them."""

    def __init__(self, instance, budget):
        self.instance, self.budget, self.results, self.scale, self.last = instance, budget, [], None, None

    def __call__(self, unit):
        unit = [min(max(float(u), 0.0), 1.0) for u in unit]
        if unit == self.last:
            return self.numbers
        if len(self.results) >= self.budget:
            raise StopIteration
        i = self.instance
        x = [low + u * (high - low) for u, low, high in zip(unit, i.lower, i.upper)]
        x = [round(value) if whole else value for value, whole in zip(x, i.whole)]
        numbers, _ = solar_point.outputs(i.program, i.number, 1.0, x)
        self.results.append(numbers)
        self.numbers, self.last = self.scaled(numbers), unit
        return self.numbers

    def scaled(self, numbers):
        """Cost and constraints; 1 for a constraint without a value, and the highest cost up to now for a failure."""
        m = 1 + self.instance.constraints
        numbers = numbers if len(numbers) == m else [None] * m
        if self.scale is None:
            self.scale = [abs(value) if value else 1.0 for value in numbers]
        known = [value / scale for value, scale in zip(numbers, self.scale) if value is not None]
        costs = [r[0] / self.scale[0] for r in self.results if r and r[0] is not None]
        out = [value / scale if value is not None else 1.0 for value, scale in zip(numbers, self.scale)]
        if numbers[0] is None:
            out[0] = max(costs, default=1.0)
        return out if len(known) == m else [out[0], *(max(value, 0.0) for value in out[1:])]

    def unit(self, x):
        i = self.instance
        return [(value - low) / (high - low) for value, low, high in zip(x, i.lower, i.upper)]


def cobyla(peer, x0, seed):
    import nlopt
    import numpy as np

    start, size = np.array(peer.unit(x0)), 0.1
    random = np.random.default_rng(seed)
    while True:
        search = nlopt.opt(nlopt.LN_COBYLA, peer.instance.d)
        search.set_lower_bounds(0), search.set_upper_bounds(1)
        search.set_min_objective(lambda u, _: peer(u)[0])
        for k in range(1, 1 + peer.instance.constraints):
            search.add_inequality_constraint(lambda u, _, k=k: peer(u)[k], 0)
        search.set_initial_step(size)
        search.set_xtol_abs(1e-5)
        try:
            search.optimize(start)
        except nlopt.RoundoffLimited:
            pass
        start = random.random(peer.instance.d)


def cma_es(peer, x0, seed):
    """Ranks by feasibility first: a design without a value is behind one that violates constraints."""
    import numpy as np
    from cmaes import CMA

    mean = np.array(peer.unit(x0))
    while True:
        search = CMA(mean=mean, sigma=0.2, bounds=np.array([[0.0, 1.0]] * peer.instance.d), seed=seed + 1)
        while not search.should_stop():
            answers = []
            for _ in range(search.population_size):
                u = search.ask()
                numbers = peer(u)
                violation = sum(max(value, 0.0) for value in numbers[1:])
                missing = None in peer.results[-1] or not peer.results[-1]
                answers.append((u, 1e12 * missing + (1e6 * (1 + violation) if violation > 0 or missing else numbers[0])))
            search.tell(answers)
        mean, seed = np.random.default_rng(seed).random(peer.instance.d), seed + 1000


PEERS = {"COBYLA": cobyla, "CMA-ES": cma_es}


def peers(instance, options, published):
    for name, method in PEERS.items():
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            path = os.path.join(options.folder, f"{name}-{instance.number}-{seed}.json")
            if os.path.exists(path):
                continue
            peer = Peer(instance, options.per_variable * instance.d)
            try:
                peer(peer.unit(instance.start(seed, published)))
                method(peer, instance.start(seed, published), seed)
            except StopIteration:
                pass
            except ImportError as error:
                print(f"note: {name} is left out: {error}", flush=True)
                break
            with open(path, "w") as file:
                json.dump(curve(peer.results), file)
            print(f"{name}, solar {instance.number}, seed {seed}: {curve(peer.results)[-1]:.8g}", flush=True)


# Tables


def cell(curves, count, best):
    """The median excess over the best known cost in percent, and how many runs have a feasible design."""
    reached = [c[min(count, len(c)) - 1] for c in curves]
    if not reached:
        return ""
    found = sum(math.isfinite(value) for value in reached)
    middle = statistics.median_low(reached)
    share = "" if found == len(reached) else f" ({found} of {len(reached)})"
    return (f"{100 * (middle - best) / abs(best):.3g}" if math.isfinite(middle) else "none") + share


def first_feasible(curves):
    firsts = [next((i + 1 for i, value in enumerate(c) if math.isfinite(value)), math.inf) for c in curves]
    middle = statistics.median_low(firsts)
    return f"{middle:g}" if math.isfinite(middle) else "none"


def table(instances, options, published):
    print("| instance | variables | search | runs | first feasible | " + " | ".join(f"{n} per variable" for n in COUNTS) + " | ended by its rule | wrong |")
    print("|---" * (7 + len(COUNTS)) + "|")
    for instance in instances:
        n, best = instance.number, BEST[instance.number]
        variants = {}
        for path in sorted(os.listdir(options.folder)):
            match = re.fullmatch(rf"(.+)-{n}-\d+\.(h5|json)", path)
            if match:
                variants.setdefault(match.group(1), []).append(os.path.join(options.folder, path))
        lines = []
        for name, paths in variants.items():
            if paths[0].endswith(".json"):
                lines.append((name, [json.load(open(path)) for path in paths], "", ""))
                continue
            curves = [curve_of_study(options.dodyn, path, instance) for path in paths]
            ends = [ending(options.dodyn, path)[0] for path in paths]
            finished = [c[-1] for c, end in zip(curves, ends) if end == "finished"]
            wrong = sum(value - best > 0.01 * abs(best) for value in finished)
            lines.append((name, curves, str(len(finished)), str(wrong)))
        lines += [(name, curves, "", "") for name, curves in published_curves(instance, published).items()]
        for name, curves, finished, wrong in lines:
            # A study that ended by its own rule has its last value at higher counts, too; one at its budget has none there.
            longest = max(len(c) for c in curves)
            cells = [cell(curves, k * instance.d, best) if k * instance.d <= max(longest, options.per_variable * instance.d) else "" for k in COUNTS]
            print(f"| {n} | {instance.d} | {name} | {len(curves)} | {first_feasible(curves)} | " + " | ".join(cells) + f" | {finished} | {wrong} |")


def times(instance, published):
    for name, x in (("x0", instance.x0), ("published start", instance.start(0, published))):
        begin = time.time()
        numbers, error = solar_point.outputs(instance.program, instance.number, 1.0, x)
        print(f"solar {instance.number}, {name}: {time.time() - begin:.2f} s, {numbers or error}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["configure", "times", "run", "peers", "table"])
    parser.add_argument("places", nargs="+", metavar="SOLAR [DODYN] [FOLDER]")
    parser.add_argument("--only", default=",".join(map(str, BEST)))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--per-variable", type=int, default=25)
    parser.add_argument("--name", default="dodyn")
    parser.add_argument("--fidelity", type=float, default=1.0)
    parser.add_argument("--low-fidelity", default="")
    parser.add_argument("--git", default="")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.words = words[split + 1 :]
    names = {"times": 1, "configure": 2, "peers": 2, "run": 3, "table": 3}
    if len(options.places) != names[options.command]:
        parser.error(f"{options.command} needs {names[options.command]} places, see --help")
    solar = options.places[0]
    options.folder = options.places[-1]
    options.dodyn = os.path.abspath(options.places[1]) if len(options.places) == 3 else ""
    published = published_in(options.git or next((g for g in [os.path.join(solar, ".git")] if os.path.exists(g)), ""), solar)
    instances = [Instance(os.path.abspath(os.path.join(solar, "bin", "solar")), int(n)) for n in options.only.split(",")]
    if options.command != "times":
        os.makedirs(options.folder, exist_ok=True)
    if options.command == "table":
        table(instances, options, published)
    for instance in instances:
        if options.command == "times":
            times(instance, published)
        elif options.command == "run":
            run(instance, options, published)
        elif options.command == "peers":
            peers(instance, options, published)
        elif options.command == "configure":
            with open(os.path.join(options.folder, f"solar-{instance.number}.cfg"), "w") as file:
                file.write(instance.configuration(options.fidelity))


if __name__ == "__main__":
    main()
