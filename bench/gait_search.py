"""Counts how often the search for a gait misses the best known one: studies x seeds x designs.

    python3 bench/gait_search.py run DODYN FOLDER NAME [STUDY ...] [--designs 17] [--key value ...]
    python3 bench/gait_search.py table FOLDER NAME [NAME ...] [--reference NAME ...]

`run` sweeps every shipped study over its first variable, with the others in the middle of their ranges and with three seeds. It writes the cost of
each design to FOLDER/NAME-STUDY-SEED.json; `--key value` goes to dodyn. `table` counts failures of each run: designs without a gait, or with a cost
above 1.001 times the best cost of all runs in FOLDER plus 1e-5. (The term 1e-5 is needed only for the problem as published, whose infimum is 0, see
docs/measured/published-figures.md.)
"""

import csv
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STUDIES = ("knee", "knee-motor", "knee-energy", "knee-speeds", "codesign", "knee-free", "knee-published", "knee-fixed-masses", "knee-torso",
           "knee-underactuated", "knee-step", "hip-spring", "knee-spatial")  # fmt: skip
SEEDS, MISS, NOTHING = (1, 2, 3), 1e-3, 1e-5


def free(dodyn, config):
    """Names and ranges of the free variables."""
    told = subprocess.run([dodyn, "check", config], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    found = {}
    for line in told.splitlines():
        match = re.match(r"design\.(\S+)\.(min|max)\s+(\S+)", line)
        if match:
            found.setdefault(match[1], {})[match[2]] = float(match[3])
    return [(name, each["min"], each["max"]) for name, each in found.items()]


def sweep(dodyn, folder, name, study, seed, designs, words):
    path = os.path.join(folder, f"{name}-{study}-{seed}.json")
    if os.path.exists(path):
        return
    config = glob.glob(os.path.join(ROOT, "configs", "**", study + ".cfg"), recursive=True)[0]
    variables = free(dodyn, config)
    words = list(words)
    for variable, lower, upper in variables[1:]:
        words += [f"--design.{variable}", repr(0.5 * (lower + upper))]
    with tempfile.TemporaryDirectory() as scratch:
        archive = os.path.join(scratch, "sweep.h5")
        base = [dodyn, "run", config, "--strategy", "sweep", "--surrogate.points", str(designs), "--study.seed", str(seed),
                "--study.max-evaluations", "100", "--study.archive", archive, *words]  # fmt: skip
        done = subprocess.run(base, cwd=ROOT, capture_output=True, text=True)
        if not os.path.exists(archive):
            sys.exit(done.stderr)
        table = subprocess.run([dodyn, "show", archive, "--csv"], capture_output=True, text=True, check=True).stdout
    rows = {}
    for row in csv.DictReader(io.StringIO(table)):  # the latest row of an id counts
        x = next(float(value) for key, value in row.items() if key.startswith(f"design.{variables[0][0]}"))
        cost = float(row["cost"]) if row["status"] == "ok" else None
        iterations = sum(float(value) for key, value in row.items()
                         if re.fullmatch(r"metrics\.(.*:)?iterations", key) and value not in ("", "nan"))  # fmt: skip
        before = rows.get(row["id"], {"iterations": 0.0, "seconds": 0.0})
        rows[row["id"]] = {"x": round(x, 9), "cost": cost, "status": row["status"],
                           "seconds": before["seconds"] + float(row["wall_time [s]"]),
                           "iterations": before["iterations"] + iterations}  # fmt: skip
    with open(path, "w") as file:
        json.dump(list(rows.values()), file)
    print(path, flush=True)


def table(folder, names):
    known, runs = {}, {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        name, study, seed = re.fullmatch(r"([^-]+)-(.+)-(\d+)\.json", os.path.basename(path)).groups()
        rows = json.load(open(path))
        runs.setdefault(name, {}).setdefault(study, {})[int(seed)] = rows
        for row in rows:
            if row["cost"] is not None:
                key = study, row["x"]
                known[key] = min(known.get(key, row["cost"]), row["cost"])
    print("| study | " + " | ".join(f"{n}: misses by seed | share found | worst | s a design | iterations" for n in names) + " |")
    print("|---" * (1 + 5 * len(names)) + "|")
    for study in STUDIES:
        cells = []
        for name in names:
            by_seed = runs.get(name, {}).get(study, {})
            misses, worst, seconds, iterations, count = [], 0.0, 0.0, 0.0, 0
            for seed in sorted(by_seed):
                missed = 0
                for row in by_seed[seed]:
                    if (study, row["x"]) not in known:
                        continue
                    count += 1
                    seconds += row["seconds"]
                    iterations += row["iterations"]
                    best = known[study, row["x"]]
                    excess = row["cost"] / best - 1 if row["cost"] is not None else float("inf")
                    if excess > MISS and not (row["cost"] is not None and row["cost"] - best <= NOTHING):
                        missed += 1
                        worst = max(worst, excess)
                misses.append(missed)
            if not count:
                cells += ["-"] * 5
                continue
            cells += [", ".join(map(str, misses)), f"{100 * (1 - sum(misses) / count):.0f} %",
                      f"{100 * worst:.1f} %", f"{seconds / count:.2f}", f"{iterations / count:.0f}"]  # fmt: skip
        if any(cell != "-" for cell in cells):
            print(f"| `{study}` | " + " | ".join(cells) + " |")


def main(words):
    if words[:1] == ["run"] and len(words) >= 4:
        dodyn, folder, name = os.path.abspath(words[1]), words[2], words[3]
        rest = words[4:]
        first = next((i for i, word in enumerate(rest) if word.startswith("--")), len(rest))
        keys, designs = rest[first:], "17"
        if keys[:1] == ["--designs"]:
            designs, keys = keys[1], keys[2:]
        os.makedirs(folder, exist_ok=True)
        for study in rest[:first] or STUDIES:
            for seed in SEEDS:
                sweep(dodyn, os.path.abspath(folder), name, study, seed, designs, keys)
    elif words[:1] == ["table"] and len(words) >= 3:
        table(words[1], words[2:])
    else:
        sys.exit(__doc__)


main(sys.argv[1:])
