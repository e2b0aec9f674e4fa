#!/usr/bin/env python3
"""Prints the tables of docs/cases/docking.md by the program: outcomes and failure rates, with Wilson's intervals of 95 %.

    bench/docking_page.py build/release/apps/dodyn             all tables, about 40 minutes of one core
    bench/docking_page.py build/release/apps/dodyn spacing     the tables whose name has this text (--list: the names)
"""
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OUTCOMES = ("docked", "wrong port", "jammed", "missed", "bounced off", "end")
PLANE = ("25.5", "27.0", "28.5", "30.0", "31.5", "33.0", "34.5")
PORT_57 = {"spacing": "56.9 mm", "half_angle": "24 deg", "depth": "4 mm", "clearance": "0.2 mm", "tip": "9.4 mm", "magnet_recess": "2.2 mm"}
DOCKING_27 = {"spacing": "27 mm", "half_angle": "25 deg", "depth": "15 mm", "clearance": "0.5 mm", "tip": "7 mm", "magnet_recess": "3.2 mm"}


def solve(config, design, *options):
    """Returns the counts of outcomes by scenario, and the number of tries."""
    words = [program, "solve", str(ROOT / "configs" / f"{config}.cfg"), *(f"--design.{name}={value}" for name, value in design.items()), *options]
    printed = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    counts, tries = [], 0
    for outcome, count, of in re.findall(r"^(\w[\w ]*?) +(\d+) of (\d+)$", printed, re.M):
        if outcome == "docked":
            counts.append({})
        counts[-1][outcome], tries = int(count), int(of)
    return counts, tries


def interval(failures, tries):
    z = 1.959964
    rate, spread = failures / tries, z * z / tries
    half = z * math.sqrt(rate * (1 - rate) / tries + spread / (4 * tries))
    return f"{(rate + spread / 2 - half) / (1 + spread):.3f} to {(rate + spread / 2 + half) / (1 + spread):.3f}"


def rate(counts, tries):
    return (tries - counts.get("docked", 0)) / tries


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def spacings():
    row("spacing, mm", *OUTCOMES, "failure rate", "95 %")
    for spacing in ("25.5", "26.2", "27.0", "27.4", "29.7", "30.0", "50.0", "75.5"):
        (counts,), tries = solve("docking", {"spacing": f"{spacing} mm"})
        row(spacing, *(counts.get(outcome, 0) for outcome in OUTCOMES), f"{rate(counts, tries):.3f}", interval(tries - counts["docked"], tries))


def sweep(label, *options):
    row(label, *(f"{rate(counts, tries):.3f}" for (counts,), tries in (solve("docking", {"spacing": f"{s} mm"}, *options) for s in PLANE)))


def crafts():
    row("spacing, mm", *PLANE)
    for label, *options in (("friction 0.1", "--design.friction=0.1"), ("friction 0.4", "--design.friction=0.4"), ("restitution 0", "--design.restitution=0"),
                            ("restitution 0.6", "--design.restitution=0.6"), ("mass 0.6 kg", "--design.mass=0.6"), ("mass 2.4 kg", "--design.mass=2.4")):  # fmt: skip
        sweep(label, *options)


def restitution_law():
    row("spacing, mm", *PLANE)
    sweep("Newton (shipped)")
    sweep("Poisson", "--simulation.restitution-law=poisson")


def free_craft():
    for label, config, spacing, *options in (("both craft free, 27 mm", "docking", "27 mm", "--simulation.fixed=none"), ("both craft free, 50 mm", "docking", "50 mm", "--simulation.fixed=none"),
                                             ("docking-robust, 27 mm", "docking-robust", "27 mm")):  # fmt: skip
        (counts,), tries = solve(config, {"spacing": spacing}, *options)
        row(label, f"{tries - counts['docked']} of {tries}", interval(tries - counts["docked"], tries))


def of_scenarios(label, design, seed, tries):
    counts, tries = solve("docking-ports", design, "--initial-states.sampling=random", f"--initial-states.seed={seed}", f"--initial-states.count={tries}")
    row(label, tries, *(f"{rate(one, tries):.3f} ({interval(tries - one['docked'], tries)})" for one in counts), *(str(one) for one in counts))


def fresh():
    of_scenarios("the 57 mm port", PORT_57, 20001, 2000)
    of_scenarios("docking.cfg at 27 mm", DOCKING_27, 20001, 1000)


def verified():
    for label, design in (("the 57 mm port", PORT_57), ("docking.cfg at 27 mm", DOCKING_27)):
        total = [{}, {}]
        tries = 0
        for seed in range(40001, 40011):
            counts, of = solve("docking-ports", design, "--initial-states.sampling=random", f"--initial-states.seed={seed}", "--initial-states.count=1000")
            tries += of
            for sums, one in zip(total, counts):
                for outcome, count in one.items():
                    sums[outcome] = sums.get(outcome, 0) + count
        row(label, tries, *(f"{tries - one['docked']}: {rate(one, tries):.3f} ({interval(tries - one['docked'], tries)})" for one in total), *(str(one) for one in total))


def space():
    for label, design in (("docking.cfg, 50 mm", DOCKING_27 | {"spacing": "50 mm"}), ("docking.cfg, 27 mm", DOCKING_27)):
        design = {name: design[name] for name in ("spacing", "half_angle", "depth", "magnet_recess")}
        (counts,), tries = solve("docking-space", design)
        row(label, counts, f"{rate(counts, tries):.2f} ({interval(tries - counts['docked'], tries)})")


def first_ports():
    for friction, clearance in (("0.6", "0.2 mm"), ("0.6", "1 mm"), ("0.2", "0.2 mm")):
        (counts,), tries = solve("docking-first", {"friction": friction, "clearance": clearance})
        row(friction, clearance, counts, tries)


TABLES = {"spacing": spacings, "crafts": crafts, "restitution law": restitution_law, "free craft": free_craft, "fresh": fresh, "verified": verified, "space": space,
          "first ports": first_ports}  # fmt: skip

if "--list" in sys.argv:
    print(*TABLES, sep="\n")
    sys.exit()
program = str(pathlib.Path(sys.argv[1]).resolve())
for name, table in TABLES.items():
    if len(sys.argv) < 3 or sys.argv[2] in name:
        print(f"\n{name}\n", flush=True)
        table()
