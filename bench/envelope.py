"""Finds the largest box of initial states such that a pair of docking ports captures 99 % of them (configs/docking-space.cfg).

    python3 bench/envelope.py find DODYN FOLDER [CASE [PORT ...]]     all cases and ports, or some; continues an earlier call
    python3 bench/envelope.py table FOLDER                            the table of docs/cases/docking.md from the files in FOLDER

All boxes and ports use the same relative initial states. After every 250 starts, a box is decided if 0.99 is outside Wilson's 99.9 % interval.
The largest box that satisfies 99 % is bracketed to 10 % of its size by at most 1000 starts (half-width 0.6 %). It is then tested with 10 000
starts (0.2 %). If it fails, boxes are reduced by 5 % until one succeeds.
"""

import json
import math
import os
import subprocess
import sys

CONFIG = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "configs", "docking-space.cfg")
SHARE = 0.99
STARTS, FEW, BATCH, SEED = 10000, 1000, 250, 20001
VARIABLES = ("spacing", "half_angle", "depth", "clearance", "tip", "magnet_recess")
# mm and degrees
PORTS = {
    "docking.cfg, 50 mm": (50, 25, 15, 0.5, 7, 3.2),
    "docking.cfg, 27 mm": (27, 25, 15, 0.5, 7, 3.2),
    "docking-ports.cfg, 30 mm": (29.8, 15, 6, 0.2, 9.5, 3.1),
    "docking-ports.cfg, design 6": (23.4, 17.2, 10.6, 0.34, 9.0, 2.5),
    "docking-space.cfg, best": (75, 15, 9.11, 0.5, 7, 3.38),
}
CASES = {
    "held": ["--simulation.fixed=female"],
    "free": ["--simulation.fixed=none"],
}


def wilson(hits, tries, z=1.959964):
    p, zz = hits / tries, z * z / tries
    half = z * math.sqrt(p * (1 - p) / tries + zz / tries / 4)
    return max(0, (p + zz / 2 - half) / (1 + zz)), min(1, (p + zz / 2 + half) / (1 + zz))


def docked(dodyn, port, case, box, batch):
    """Returns the number of starts of a batch that dock."""
    design = [f"--design.{name}={value} {'deg' if name == 'half_angle' else 'mm'}" for name, value in zip(VARIABLES, port)]
    out = subprocess.run([dodyn, "solve", CONFIG, *design, *CASES[case], f"--initial-states.box={box}", f"--initial-states.count={BATCH}",
                          "--initial-states.sampling=random", f"--initial-states.seed={SEED + batch}"], capture_output=True, text=True)  # fmt: skip
    for line in out.stdout.splitlines():
        if line.startswith("metrics.docked "):
            return round(float(line.split()[1]) * BATCH)
    sys.exit(out.stdout + out.stderr)


def kept(folder):
    """Returns the number of starts of each batch that docked, by case, port and box."""
    counts = {}
    path = os.path.join(folder, "envelope.jsonl")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for r in map(json.loads, file):
                counts.setdefault((r["case"], r["port"], r["box"]), {})[r["batch"]] = r["docked"]
    return counts


def find(dodyn, folder, cases, ports):
    os.makedirs(folder, exist_ok=True)
    counts = kept(folder)

    def holds(case, port, box, starts):
        """Returns whether 99 % of the starts in a box dock. Stops as soon as the answer is certain."""
        batches = counts.setdefault((case, port, box), {})
        hits = met = 0
        while met < starts:
            batch = met // BATCH
            if batch not in batches:
                batches[batch] = docked(dodyn, PORTS[port], case, box, batch)
                with open(os.path.join(folder, "envelope.jsonl"), "a", encoding="utf-8") as file:
                    r = {"case": case, "port": port, "box": box, "batch": batch, "docked": batches[batch]}
                    file.write(json.dumps(r) + "\n")
            hits, met = hits + batches[batch], met + BATCH
            low, high = wilson(hits, met, 3.29)
            if high < SHARE or (starts < STARTS and low > SHARE):
                break
        return hits >= SHARE * met

    for starts in (FEW, STARTS):  # a rough estimate for all cases first
        for case in cases:
            for port in ports:
                low, high = 0.0, 0.04
                while high < 3 and holds(case, port, high, BATCH):
                    low, high = high, 2 * high
                while high - low > max(0.1 * high, 0.0025):
                    middle = round(0.5 * (low + high), 4)
                    low, high = (middle, high) if holds(case, port, middle, FEW) else (low, middle)
                while starts == STARTS and low > 0.001 and not holds(case, port, low, STARTS):
                    low = round(0.95 * low, 4)


def table(folder):
    sizes = {}
    for (case, port, box), batches in kept(folder).items():
        sizes.setdefault((case, port), []).append((box, sum(batches.values()), len(batches) * BATCH))
    print("| port | other craft | box | aside, mm | across, mm/s | about each axis, deg | docked (Wilson, 95 %) | a larger box | docked |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (case, port), met in sorted(sizes.items()):
        held = [m for m in met if m[1] >= SHARE * m[2]]
        box = max(held)[0] if held else 0
        larger = [m for m in met if m[0] > box]

        def rate(m):
            low, high = wilson(m[1], m[2])
            return f"{m[1]} of {m[2]}: {m[1] / m[2]:.4f} ({low:.4f} to {high:.4f})"

        cells = [port, case, f"{box:.3g}", f"{100 * box:.1f}", f"{40 * box:.1f}", f"{4 * box:.2f}"]
        cells += [rate(max(held))] if held else [""]
        cells += [f"{min(larger)[0]:.3g}", rate(min(larger))] if larger else ["", ""]
        print("| " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        return table(sys.argv[2])
    if len(sys.argv) < 4 or sys.argv[1] != "find":
        sys.exit(__doc__)
    return find(sys.argv[2], sys.argv[3], sys.argv[4:5] or CASES, sys.argv[5:] or PORTS)


if __name__ == "__main__":
    main()
