"""Searches that begin from a cheaper study of the same variables (surrogate.low-fidelity), on studies of configs/.

    python3 bench/fidelity.py run DODYN FOLDER STUDY [SEEDS]   STUDY: one of docking, knee-step, codesign; 3 seeds
    python3 bench/fidelity.py table DODYN FOLDER               the table of docs/measured/fidelity.md from the archives in FOLDER

Each seed has three studies: the expensive one alone, the cheaper one, and the expensive one that begins from the cheaper one. Archives stay in FOLDER;
a second call skips complete studies, and repeats others. Times are processor time of all processes, that of the search included. The part until the target is in proportion to the
evaluations' times. Target: within 1 % of the lowest cost of both searches, or within half the standard error of that cost if this is more.
"""

import csv
import glob
import io
import json
import math
import os
import resource
import statistics
import subprocess
import sys

import scipy.stats

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# configuration, the words of both studies, those of the cheaper one, and the words for the page
STUDIES = {
    "docking": ("docking.cfg", ["--surrogate.initial-samples", "automatic", "--initial-states.count", "60"],
                ["--initial-states.count", "12"], "12 of 60 initial states"),
    "knee-step": ("knee-step.cfg", ["--gait.initial-guesses", "2"], ["--gait.intervals", "10"], "10 of 80 intervals"),
    "codesign": ("codesign.cfg", ["--gait.initial-guesses", "2"], ["--gait.intervals", "15"], "15 of 60 intervals"),
}  # fmt: skip


def study(dodyn, archive, config, words):
    if os.path.exists(archive + ".seconds"):
        return
    if os.path.exists(archive):  # interrupted, after an unknown time
        os.remove(archive)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([dodyn, "run", os.path.join(ROOT, "configs", config), "--study.archive", archive, *words], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{archive}: {done.stdout}{done.stderr}")
    with open(archive + ".seconds", "w") as file:
        print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, file=file)


def run(dodyn, folder, name, seeds):
    config, words, cheaper, _ = STUDIES[name]
    for seed in range(1, seeds + 1):
        archive = lambda kind: os.path.join(folder, f"{name}-{kind}-{seed}.h5")
        common = [*words, "--study.seed", str(seed), "--strategy", "ego"]
        study(dodyn, archive("alone"), config, common)
        study(dodyn, archive("cheap"), config, [*common, *cheaper])
        study(dodyn, archive("with"), config, [*common, "--surrogate.low-fidelity", archive("cheap")])


def rows(dodyn, archive):
    table = subprocess.run([dodyn, "show", archive, "--csv"], capture_output=True, text=True, check=True).stdout
    latest = {int(row["id"]): row for row in csv.DictReader(io.StringIO(table))}
    return [latest[i] for i in sorted(latest)]


def seconds(archive):
    with open(archive + ".seconds") as file:
        return float(file.read())


def wall(some):
    return sum(float(row["wall_time [s]"]) for row in some)


def until(some, target):
    """The evaluations until a cost is at most the target."""
    for i, row in enumerate(some):
        if row["status"] == "ok" and float(row["cost"]) <= target:
            return some[: i + 1]
    return None


def best_of(some):
    return min((row for row in some if row["status"] == "ok"), key=lambda row: float(row["cost"]))


def rank_correlation(dodyn, cheap, some):
    """Spearman's coefficient of the costs, and of the predictions of the cheaper study's archive at their designs."""
    names = list(json.loads(subprocess.run([dodyn, "predict", cheap, "--json"], capture_output=True, text=True, check=True).stdout)["design"])
    costs, predictions = [], []
    for row in some:
        if row["status"] != "ok":
            continue
        design = [word for name in names for word in ("--design." + name, next(row[key] for key in row if key.split(" ")[0] == "design." + name))]
        answer = subprocess.run([dodyn, "predict", cheap, "--json", *design], capture_output=True, text=True, check=True).stdout
        costs.append(float(row["cost"]))
        predictions.append(json.loads(answer)["quantities"]["cost"]["middle"])
    return scipy.stats.spearmanr(costs, predictions).statistic


def ended(dodyn, archive):
    """The last line of `dodyn show` that states how the search ended, and that of the factor."""
    lines = subprocess.run([dodyn, "show", archive], capture_output=True, text=True, check=True).stdout.splitlines()
    factor = next((line for line in lines if line.startswith("low fidelity: ")), "")
    return "own rule" if any("; finished: " in line for line in lines) else "budget", factor.rsplit(" ", 1)[-1] if "factor" in factor else "left out"


def table(dodyn, folder):
    print("| study | seed | rank correlation | cheaper: evaluations, s | alone: until the target | s | with: until the target | s | time, relative | until the end: alone | s "
          "| with | s | time, relative | lowest cost, alone | with | factor |")  # fmt: skip
    print("|---" * 17 + "|")
    for name, (_, _, _, words) in STUDIES.items():
        ratios, ends = [], []
        for path in sorted(glob.glob(os.path.join(folder, f"{name}-with-*.h5"))):
            seed = path[len(os.path.join(folder, f"{name}-with-")) : -3]
            archives = [os.path.join(folder, f"{name}-{kind}-{seed}.h5") for kind in ("alone", "cheap", "with")]
            alone, cheap, with_low = (rows(dodyn, archive) for archive in archives)
            time_alone, time_cheap, time_with = map(seconds, archives)
            best = min(best_of(alone), best_of(with_low), key=lambda row: float(row["cost"]))
            error = float(best.get("cost_stderr") or 0)
            target = float(best["cost"]) + max(0.01 * abs(float(best["cost"])), 0.5 * error if math.isfinite(error) else 0)
            cells, times = [], []
            for some, time in ((alone, time_alone), (with_low, time_with)):
                first = until(some, target)
                times.append(time * wall(first) / wall(some) if first else math.inf)
                cells += [len(first), f"{times[-1]:.3g}"] if first else ["not reached", ""]
            ratio = (time_cheap + times[1]) / times[0] if math.isfinite(times[0]) else 0.0
            ratios.append(ratio)
            ends.append((time_cheap + time_with) / time_alone)
            (end_alone, _), (end_with, factor) = ended(dodyn, archives[0]), ended(dodyn, archives[2])
            print(f"| {name}, {words} | {seed} | {rank_correlation(dodyn, archives[1], alone):.2f} | {len(cheap)}, {time_cheap:.3g} | {' | '.join(map(str, cells))} | {ratio:.2f} "
                  f"| {len(alone)}, {end_alone} | {time_alone:.3g} | {len(with_low)}, {end_with} | {time_with:.3g} | {ends[-1]:.2f} "
                  f"| {float(best_of(alone)['cost']):.5g} | {float(best_of(with_low)['cost']):.5g} | {factor} |")  # fmt: skip
        if ratios:
            print(f"<!-- {name}: median of the relative time until the target {statistics.median(ratios):.2f}, until the end {statistics.median(ends):.2f} -->")


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("run", "table") or (sys.argv[1] == "run" and (len(sys.argv) < 5 or sys.argv[4] not in STUDIES)):
        sys.exit(__doc__)
    if sys.argv[1] == "table":
        table(os.path.abspath(sys.argv[2]), sys.argv[3])
    else:
        run(os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]) if len(sys.argv) > 5 else 3)
