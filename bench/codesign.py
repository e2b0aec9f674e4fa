"""Optimises eight variables of a walker at once (configs/codesign.cfg): a surrogate with gradients against searches without, and the gain from each variable.

    python3 bench/codesign.py ours DODYN FOLDER [EVALUATIONS [SEED]]     25 evaluations
    python3 bench/codesign.py variables DODYN FOLDER [EVALUATIONS]       fixes one variable at a time at the leg's value, optimises the others
    python3 bench/codesign.py cma-es DODYN FOLDER [EVALUATIONS [SEED]]   python3-cmaes, in generations of ten
    python3 bench/codesign.py crs DODYN FOLDER [EVALUATIONS]             NLopt's CRS2-LM
    python3 bench/codesign.py table DODYN FOLDER                     the tables of docs/measured/codesign.md from the files in FOLDER

Archives stay in FOLDER; a second call continues them. The default seed is 1.
"""

import csv
import glob
import io
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONFIG = os.path.join(ROOT, "configs", "codesign.cfg")
AS_IT_STANDS = {"knee": 0.46, "shank_share": 0.46, "motor_at": 0.0, "hip_stiffness": 0.0, "hip_rest": 0.0,
                "knee_stiffness": 0.0, "stride": 0.5, "growth": 0.5}  # fmt: skip
RANGES = {"knee": (0.30, 0.65), "shank_share": (0.25, 0.60), "motor_at": (0, 1), "hip_stiffness": (0, 60), "hip_rest": (-0.5, 0.5),
          "knee_stiffness": (0, 20), "stride": (0.35, 0.65), "growth": (0, 1)}  # fmt: skip
GENERATION = 10


def rows(dodyn, archive):
    table = subprocess.run([dodyn, "show", archive, "--csv"], capture_output=True, text=True, check=True).stdout
    latest = {int(row["id"]): row for row in csv.DictReader(io.StringIO(table))}
    return [latest[i] for i in sorted(latest)]


def study(dodyn, folder, name, evaluations, *words):
    archive = os.path.join(folder, name + ".h5")
    done = subprocess.run([dodyn, "run", CONFIG, "--study.archive", archive, "--study.max-evaluations", str(evaluations), *words],
                          capture_output=True, text=True)  # fmt: skip
    if not os.path.exists(archive):
        sys.exit(done.stderr)
    return rows(dodyn, archive)


def cost(row):
    return float(row["cost"]) if row["status"] == "ok" else 1e3


def design(row):
    return {key.split(".", 1)[1].split(" ")[0]: float(value) for key, value in row.items() if key.startswith("design.")}


def write_designs(path, names, designs):
    with open(path, "w") as file:
        file.write("\n".join([",".join(names)] + [",".join(repr(float(x)) for x in one) for one in designs]) + "\n")


def variables(dodyn, folder, evaluations):
    best = design(min(rows(dodyn, os.path.join(folder, "ours-1.h5")), key=cost))
    for name, value in AS_IT_STANDS.items():
        others = [other for other in AS_IT_STANDS if other != name]
        path = os.path.join(folder, f"start-{name}.csv")
        write_designs(path, others, [[best[other] for other in others]])
        study(dodyn, folder, f"without-{name}", evaluations, f"--design.{name}", str(value), "--surrogate.initial-designs", path,
              "--surrogate.initial-samples", "2")  # fmt: skip


def cma_es(dodyn, folder, evaluations, seed):
    import numpy as np
    from cmaes import CMA

    names, lower, upper = list(RANGES), *np.array(list(RANGES.values()), dtype=float).T
    search = CMA(mean=np.full(8, 0.5), sigma=0.25, bounds=np.array([[0.0, 1.0]] * 8), population_size=GENERATION, seed=seed)
    for generation in range(evaluations // GENERATION):
        asked = [search.ask() for _ in range(GENERATION)]
        path = os.path.join(folder, f"cma-es-{seed}-{generation:03d}")
        write_designs(path + ".csv", names, [lower + (upper - lower) * x for x in asked])
        told = study(dodyn, folder, os.path.basename(path), GENERATION, "--surrogate.initial-designs", path + ".csv", "--surrogate.gradient",
                     "false", "--surrogate.batch", str(GENERATION), "--study.batch", str(GENERATION), "--gait.initial-guesses", "2",
                     "--study.seed", str(seed))  # fmt: skip
        search.tell([(x, cost(row)) for x, row in zip(asked, told)])
        print(generation, min(map(cost, told)), flush=True)


def peers(dodyn, folder):
    """Returns the costs that the searches without gradients received, in order: {name: costs}."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "cma-es-*-*.h5"))):
        seed = os.path.basename(path).split("-")[2]
        found.setdefault(f"CMA-ES, seed {seed}", []).extend(cost(row) for row in rows(dodyn, path)[:GENERATION])
    crs = os.path.join(folder, "crs.h5")
    if os.path.exists(crs):
        found["CRS2-LM"] = [cost(row) for row in rows(dodyn, crs)]
    return found


def table(dodyn, folder):
    ours = rows(dodyn, os.path.join(folder, "ours-1.h5"))
    best = min(ours, key=cost)
    curves = {f"surrogate, seed {os.path.basename(path)[5:-3]}": [cost(row) for row in rows(dodyn, path)]
              for path in sorted(glob.glob(os.path.join(folder, "ours-*.h5")))}  # fmt: skip
    curves.update(peers(dodyn, folder))
    counts = (5, 10, 15, 20, 25, 50, 120, 250, 500, 1000, 2500)
    print("| evaluations | " + " | ".join(map(str, counts)) + " |\n" + "|---" * (1 + len(counts)) + "|")
    for name, costs in curves.items():
        print(f"| {name} | " + " | ".join(f"{min(costs[:n]):.5f}" if n <= len(costs) else "" for n in counts) + " |")
    for name, costs in curves.items():
        within = next((i + 1 for i, row in enumerate(ours) if cost(row) <= min(costs)), None)
        print(f"{name}: {len(costs)} evaluations, {min(costs):.6f}; evaluation {within} of seed 1 of the surrogate is as good")
    print("\n| variable | as the leg has it | chosen | best without it | costs more by |\n|---|---|---|---|---|")
    for name, value in AS_IT_STANDS.items():
        archive = os.path.join(folder, f"without-{name}.h5")
        if not os.path.exists(archive):
            continue
        without = min(map(cost, rows(dodyn, archive)))
        print(f"| `{name}` | {value:g} | {design(best)[name]:.4g} | {without:.5f} | {100 * (without / cost(best) - 1):.1f} % |")


def main(what, dodyn, folder, evaluations=None, seed=1):
    dodyn = os.path.abspath(dodyn)
    os.makedirs(folder, exist_ok=True)
    if what == "ours":
        study(dodyn, folder, f"ours-{seed}", int(evaluations or 25), "--study.seed", str(seed))
    elif what == "variables":
        variables(dodyn, folder, int(evaluations or 12))
    elif what == "cma-es":
        cma_es(dodyn, folder, int(evaluations or 2500), int(seed))
    elif what == "crs":
        study(dodyn, folder, "crs", int(evaluations or 2500), "--strategy", "crs", "--gait.initial-guesses", "2")
    elif what == "table":
        table(dodyn, folder)
    else:
        sys.exit(__doc__)


if len(sys.argv) < 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
