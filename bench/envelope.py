"""How large a box of starts a pair of docking ports captures (configs/docking-space.cfg): the largest of which 99 % dock.

    python3 bench/envelope.py find DODYN FOLDER [PORT ...]     all ports of PORTS, or some; goes on where it was stopped
    python3 bench/envelope.py table FOLDER                     the table of docs/measured/docking.md from what is in FOLDER

A box's size is found by bisection with 500 starts, the same shares of each box, and then held against 10 000 others.
"""

import json
import math
import os
import subprocess
import sys

CONFIG = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "configs", "docking-space.cfg")
SHARE = 0.99
VARIABLES = ("spacing", "half_angle", "depth", "clearance", "tip", "magnet_recess")
# mm and degrees
PORTS = {
    "docking.cfg, 50 mm": (50, 25, 15, 0.5, 7, 3.2),
    "docking.cfg, 27 mm": (27, 25, 15, 0.5, 7, 3.2),
    "docking-ports.cfg, design 36": (29.8, 15, 6, 0.2, 9.5, 3.1),
    "docking-ports.cfg, design 6": (23.4, 17.2, 10.6, 0.34, 9.0, 2.5),
}
CASES = {
    "held": ["--simulation.hold=female"],
    "free": ["--simulation.hold=none"],
}


def wilson(hits, tries, z=1.959964):
    p, zz = hits / tries, z * z / tries
    half = z * math.sqrt(p * (1 - p) / tries + zz / tries / 4)
    return max(0, (p + zz / 2 - half) / (1 + zz)), min(1, (p + zz / 2 + half) / (1 + zz))


def docked(dodyn, port, case, box, starts, *more):
    """How many of so many starts dock."""
    design = [f"--design.{name}={value} {'deg' if name == 'half_angle' else 'mm'}" for name, value in zip(VARIABLES, port)]
    out = subprocess.run([dodyn, "solve", CONFIG, *design, *CASES[case], f"--starts.box={box}", f"--starts.count={starts}", *more],
                         capture_output=True, text=True)  # fmt: skip
    for line in out.stdout.splitlines():
        if line.startswith("metrics.docked "):
            return round(float(line.split()[1]) * starts)
    sys.exit(out.stdout + out.stderr)


def kept(folder):
    path = os.path.join(folder, "envelope.jsonl")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def find(dodyn, folder, ports):
    done = {(r["port"], r["case"]) for r in kept(folder)}
    for case in CASES:
        for name in ports:
            if (name, case) in done:
                continue

            def good(box, starts=500):
                return docked(dodyn, PORTS[name], case, box, starts) >= SHARE * starts

            low, high = 0.0, 0.04
            while high < 3 and good(high):
                low, high = high, 2 * high
            while high - low > 0.05 * high:
                middle = 0.5 * (low + high)
                low, high = (middle, high) if good(middle) else (low, middle)
            box = float(f"{low:.2g}")
            hits = docked(dodyn, PORTS[name], case, box, 10000, "--starts.sampling=random", "--starts.seed=20001")
            with open(os.path.join(folder, "envelope.jsonl"), "a", encoding="utf-8") as file:
                file.write(json.dumps({"port": name, "case": case, "box": box, "starts": 10000, "docked": hits}) + "\n")


def table(folder):
    print("| port | other craft | box | aside, mm | across, mm/s | about each axis, deg | docked of 10 000 others (Wilson, 95 %) |")
    print("|---|---|---|---|---|---|---|")
    for r in kept(folder):
        low, high = wilson(r["docked"], r["starts"])
        print(f"| {r['port']} | {r['case']} | {r['box']:g} | {100 * r['box']:.1f} | {40 * r['box']:.1f} | {4 * r['box']:.2f} | "
              f"{r['docked'] / r['starts']:.4f} ({low:.4f} to {high:.4f}) |")  # fmt: skip


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "table":
        return table(sys.argv[2])
    if len(sys.argv) < 4 or sys.argv[1] != "find":
        sys.exit(__doc__)
    os.makedirs(sys.argv[3], exist_ok=True)
    return find(sys.argv[2], sys.argv[3], sys.argv[4:] or PORTS)


if __name__ == "__main__":
    main()
