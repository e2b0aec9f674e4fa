"""Docking under control (configs/docking-feedback.cfg): the region of successful starts, the effect of gains and dipole, and section 4.5.6 of Johnson (2013).

    python3 bench/control.py map DODYN FOLDER [STARTS]        starts of each cell of bearing x distance, 8
    python3 bench/control.py gains DODYN FOLDER [STARTS]      each variable moved away from the recommended design, 100 common starts
    python3 bench/control.py alignment DODYN FOLDER           time of alignment and effort to it
    python3 bench/control.py speed DODYN FOLDER               10 s in space, with contact, of 29 and of 48 parts
    python3 bench/control.py table FOLDER                     the tables of docs/measured/control.md from the files in FOLDER
"""

import csv
import json
import math
import os
import subprocess
import sys

CONFIG = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "configs", "docking-feedback.cfg")
VARIABLES = ("gain-position", "gain-velocity", "dipole-offset", "last-leg")
DESIGNS = {
    "magnets alone": (0, 0, 0, 0),
    "published gains, dipole in the centre as printed": (1.2, 9.6, 0, 0),
    "published gains, best curve": (1.2, 9.6, 0.31, 0.148),
    "best gains, best curve": (0.987, 1.865, 0.31, 0.148),
}
BEST = DESIGNS["best gains, best curve"]
BEARINGS = range(0, 50, 10)  # deg
DISTANCES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)  # m
SCAN = {
    "gain-position": (0.25, 0.5, 0.7, 1.4, 2, 4),
    "gain-velocity": (0.7, 1.2, 2.6, 3.7, 7.5, 9.6),
    "dipole-offset": (0.2, 0.25, 0.28, 0.3, 0.315),
    "last-leg": (0, 0.05, 0.1, 0.125, 0.175, 0.2, 0.25),
    "gain-attitude": (0.1, 0.3, 3),
    "gain-spin": (0.03, 0.1, 1),
}


def wilson(hits, tries, z=1.959964):
    p, zz = hits / tries, z * z / tries
    half = z * math.sqrt(p * (1 - p) / tries + zz / tries / 4)
    return max(0, (p + zz / 2 - half) / (1 + zz)), min(1, (p + zz / 2 + half) / (1 + zz))


def words(design, extra):
    gains = dict(zip(VARIABLES, design))
    if not any(design):
        gains.update({"gain-attitude": 0, "gain-spin": 0})
    gains.update(extra)
    return [f"--design.{name}={value}" for name, value in gains.items()]


def solve(dodyn, design, starts, *more, **extra):
    """Returns the metrics of a design by name, with the number of starts that dock. None: the design is refused."""
    out = subprocess.run([dodyn, "solve", CONFIG, *words(design, extra), f"--initial-states.count={starts}", *more], capture_output=True, text=True)
    if out.returncode not in (0, 1):
        sys.exit(out.stderr)
    metrics = {}
    for line in out.stdout.splitlines():
        parts = line.split()
        if len(parts) > 1 and (parts[0].startswith("metrics.") or parts[0] in ("cost", "cost_stderr", "status")):
            metrics[parts[0].removeprefix("metrics.")] = parts[1]
    if "docked" not in metrics:  # the design is refused because no curve leads from some start
        return None
    return {name: value if name == "status" else float("nan" if value == "-" else value) for name, value in metrics.items()}


def keep(folder, name, row):
    with open(os.path.join(folder, name + ".jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def kept(folder, name):
    path = os.path.join(folder, name + ".jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def map_(dodyn, folder, starts):
    done = {(r["design"], r["bearing"], r["distance"]) for r in kept(folder, "map")}
    for name, design in reversed(DESIGNS.items()):
        for bearing in BEARINGS:
            for distance in DISTANCES:
                if (name, bearing, distance) in done:
                    continue
                step = ["--simulation.max-step=32 ms"] if not any(design) else []
                metrics = solve(dodyn, design, starts, f"--initial-states.bearing={bearing} deg .. {bearing + 10} deg",
                             f"--initial-states.distance={distance} .. {distance + 0.1}", "--outcome.missed.when=x < front or gap(female, male) > 1", *step)  # fmt: skip
                keep(folder, "map", {"design": name, "bearing": bearing, "distance": distance, "starts": starts,
                                     "docked": round(metrics["docked"] * starts) if metrics else None})  # fmt: skip


def gains(dodyn, folder, starts):
    def record(variable, value, design, **extra):
        metrics = solve(dodyn, design, starts, "--cost.cost=effort", "--cost.max-other-share=1", **extra)
        row = {"variable": variable, "value": value, "starts": starts, "docked": 0}
        if metrics and metrics["docked"] > 0:
            row.update(docked=round(metrics["docked"] * starts), effort=metrics["cost"], stderr=metrics["cost_stderr"])
        keep(folder, "gains", row)

    for name in ("best gains, best curve", "published gains, best curve"):
        record(name, None, DESIGNS[name])
    for variable, values in SCAN.items():
        for value in values:
            if variable in VARIABLES:
                record(variable, value, [value if v == variable else b for v, b in zip(VARIABLES, BEST)])
            else:
                record(variable, value, BEST, **{variable: value})


def alignment(dodyn, folder):
    for offset in (0.0, 0.3):
        for bearing in (0, 2, 5, 10, 15):
            path = os.path.join(folder, "run.csv")
            subprocess.run([dodyn, "simulate", CONFIG, *words((1.2, 9.6, offset, 0), {"charge_constant": 0, "restitution": 1}),
                            f"--initial-states.bearing={bearing} deg", "--initial-states.height=0", "--initial-states.distance=0.6", "--initial-states.yaw=0", "--initial-states.pitch=0",
                            "--control.max-force=none", "--control.max-torque=none", "--simulation.end=10 s", "--simulation.step=1 ms",
                            "--simulation.nodes=2001", "--output", path], capture_output=True, check=False)  # fmt: skip
            with open(path, encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            aligned = None
            for row in rows:
                x = {k.split(" [")[0]: float(v) for k, v in row.items()}
                # half a turn about z is the quaternion (0, 0, 0, 1)
                angle = 2 * math.acos(min(1.0, abs(x["q.male qz"])))
                fine = math.hypot(x["q.male y"], x["q.male z"]) < 3e-3 and angle < math.radians(1)
                if not fine:
                    aligned = None
                elif aligned is None:
                    aligned = (x["t"], x["control.effort"])
            beside = math.hypot(x["q.male y"], x["q.male z"])
            keep(folder, "alignment", {"offset": offset, "bearing": bearing, "time": aligned and aligned[0], "effort": aligned and aligned[1],
                                       "end": x["t"], "beside": beside})  # fmt: skip


def speed(dodyn, folder):
    with open(os.path.join(os.path.dirname(CONFIG), "..", "models", "docking-cubesat.model"), encoding="utf-8") as file:
        text = file.read()
    for link, slabs in (("female", 16), ("male", 5)):  # 41 and 7 parts, like the craft of the source
        hull = f"[shape {link}_hull]\nlink = {link}\nbox = length, width, width\n"
        cut = "".join(f"[shape {link}_hull_{i}]\nlink = {link}\nat = ({i + 0.5}/{slabs} - 0.5)*length, 0, 0\nbox = length/{slabs}, width, width\n"
                      for i in range(slabs))  # fmt: skip
        assert hull in text
        text = text.replace(hull, cut)
    many = os.path.join(folder, "docking-48.model")
    with open(many, "w", encoding="utf-8") as file:
        file.write(text)
    for model in ("docking-cubesat", many):
        for step in (1, 2):
            metrics = subprocess.run([dodyn, "simulate", CONFIG, *words(BEST, {}), "--simulation.model", model, "--initial-states.bearing=15 deg", "--initial-states.distance=0.7",
                                   "--simulation.end=10 s", f"--simulation.step={step} ms", "--outcome.docked.dwell=20 s", "--outcome.jammed.for=20 s"],
                                  capture_output=True, text=True).stdout  # fmt: skip
            lines = [line for line in metrics.splitlines() if line.startswith(("ended", "contact", "speed"))]
            print(os.path.basename(model), f"h = {step} ms", *lines, sep="\n  ")


def table(folder):
    rows = kept(folder, "map")
    if rows:
        starts = rows[0]["starts"]
        found = {(r["design"], r["bearing"], r["distance"]): r["docked"] for r in rows}
        print(f"Docked of {starts} in each cell, and the share of a row (Wilson, 95 %); refused: some of the starts are beside the dock, or overlap.\n")
        for name in DESIGNS:
            print(f"{name[0].upper() + name[1:]}:\n")
            print("| bearing \\ distance (m) | " + " | ".join(f"{d:g} to {d + 0.1:g}" for d in DISTANCES) + " | all |")
            print("|---" * (len(DISTANCES) + 2) + "|")
            for bearing in BEARINGS:
                cells = [found[name, bearing, d] for d in DISTANCES if (name, bearing, d) in found]
                if len(cells) < len(DISTANCES):
                    continue
                shown = ["refused" if cell is None else str(cell) for cell in cells]
                cells = [cell for cell in cells if cell is not None]
                tries = starts * len(cells)
                low, high = wilson(sum(cells), tries)
                print(f"| {bearing} to {bearing + 10} deg | " + " | ".join(shown) + f" | {sum(cells) / tries:.2f} ({low:.2f} to {high:.2f}) |")
            print()
    rows = kept(folder, "gains")
    if rows:
        print("| what is moved | value | docked (Wilson, 95 %) | effort of those that dock (N2 s, 95 %) |\n|---|---|---|---|")
        for r in rows:
            low, high = wilson(r["docked"], r["starts"])
            effort = f"{r['effort']:.4f} ± {1.96 * r['stderr']:.4f}" if r["docked"] else ""
            value = "" if r["value"] is None else f"{r['value']:g}"
            print(f"| {r['variable']} | {value} | {r['docked']} of {r['starts']} ({low:.2f} to {high:.2f}) | {effort} |")
        print()
    rows = kept(folder, "alignment")
    if rows:
        print("| dipole (m) | bearing (deg) | aligned from (s) | effort to then (N2 s) | off the axis when the run ends (mm) |\n|---|---|---|---|---|")
        for r in rows:
            time, effort = ("never", "") if r["time"] is None else (f"{r['time']:.2f}", f"{r['effort']:.3f}")
            print(f"| {r['offset']:g} | {r['bearing']} | {time} | {effort} | {1e3 * r['beside']:.1f} at {r['end']:.1f} s |")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        return table(sys.argv[2])
    if len(sys.argv) < 4 or sys.argv[1] not in ("map", "gains", "alignment", "speed"):
        sys.exit(__doc__)
    what, dodyn, folder = sys.argv[1:4]
    os.makedirs(folder, exist_ok=True)
    starts = int(sys.argv[4]) if len(sys.argv) > 4 else {"map": 8, "gains": 100}.get(what, 0)
    if what == "map":
        map_(dodyn, folder, starts)
    elif what == "gains":
        gains(dodyn, folder, starts)
    elif what == "speed":
        speed(dodyn, folder)
    else:
        alignment(dodyn, folder)
    return None


if __name__ == "__main__":
    main()
