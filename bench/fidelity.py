"""Searches that begin from a cheaper study of the same variables (surrogate.low-fidelity), on studies of configs/.

    python3 bench/fidelity.py run DODYN FOLDER STUDY [SEEDS]   STUDY: one of docking, knee-step, codesign; 3 seeds
    python3 bench/fidelity.py table DODYN FOLDER               the tables of docs/measured/fidelity.md from the archives in FOLDER

Each seed has three studies: the expensive one alone, the cheaper one, and the expensive one that begins from the cheaper one. Archives stay in FOLDER;
a second call continues them. A study's work is the sum of its evaluations' times.
"""

import csv
import glob
import io
import os
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# configuration, the words of both studies, those of the cheaper one, and the words for the page
STUDIES = {
    "docking": ("docking.cfg", ["--study.max-evaluations", "40", "--surrogate.initial-samples", "automatic"],
                ["--initial-states.count", "25"], "25 of 200 initial states"),
    "knee-step": ("knee-step.cfg", [], ["--gait.intervals", "10", "--gait.initial-guesses", "4"], "10 of 80 intervals"),
    "codesign": ("codesign.cfg", [], ["--gait.intervals", "15"], "15 of 60 intervals"),
}  # fmt: skip


def study(dodyn, archive, config, words):
    done = subprocess.run([dodyn, "run", os.path.join(ROOT, "configs", config), "--study.archive", archive, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{archive}: {done.stdout}{done.stderr}")


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


def work(some):
    return sum(float(row["wall_time [s]"]) for row in some)


def until(some, target):
    """The evaluations until a cost is at most the target."""
    for i, row in enumerate(some):
        if row["status"] == "ok" and float(row["cost"]) <= target:
            return some[: i + 1]
    return None


def least(some):
    return min(float(row["cost"]) for row in some if row["status"] == "ok")


def table(dodyn, folder):
    print("| study | cheaper | seed | alone: evaluations until within 1 %, s | cheaper: evaluations, s | with: evaluations until within 1 %, s | work, relative "
          "| least cost, alone | with | factor |")  # fmt: skip
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, (_, _, _, words) in STUDIES.items():
        saved = []
        for path in sorted(glob.glob(os.path.join(folder, f"{name}-with-*.h5"))):
            seed = path[len(os.path.join(folder, f"{name}-with-")) : -3]
            alone, cheap, with_low = (rows(dodyn, os.path.join(folder, f"{name}-{kind}-{seed}.h5")) for kind in ("alone", "cheap", "with"))
            best = min(least(alone), least(with_low))
            target = best + 0.01 * abs(best)
            first, second = until(alone, target), until(with_low, target)
            text = subprocess.run([dodyn, "show", path], capture_output=True, text=True, check=True).stdout
            line = next((line for line in text.splitlines() if line.startswith("low fidelity: ")), "")
            factor = line.rsplit(" ", 1)[-1] if "factor" in line else "left out"
            shown = lambda part: f"{len(part)}, {work(part):.3g}" if part else "not reached"
            ratio = (work(cheap) + work(second)) / work(first) if first and second else float("nan")
            saved.append(ratio)
            print(f"| {name} | {words} | {seed} | {shown(first)} | {len(cheap)}, {work(cheap):.3g} | {shown(second)} | {ratio:.2f} "
                  f"| {least(alone):.5g} | {least(with_low):.5g} | {factor} |")  # fmt: skip
        if saved:
            print(f"<!-- {name}: median of the relative work {statistics.median(saved):.2f} -->")


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("run", "table") or (sys.argv[1] == "run" and (len(sys.argv) < 5 or sys.argv[4] not in STUDIES)):
        sys.exit(__doc__)
    if sys.argv[1] == "table":
        table(os.path.abspath(sys.argv[2]), sys.argv[3])
    else:
        run(os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4], int(sys.argv[5]) if len(sys.argv) > 5 else 3)
