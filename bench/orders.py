#!/usr/bin/env python3
"""Motions and gaits by integrators of order 2, 4 and 6 (motion.order, gait.order): errors of costs and plans by the number of intervals, and times.

    bench/orders.py PROGRAM                 # tables in Markdown, for docs/measured/motions.md and gaits.md
    bench/orders.py PROGRAM cart-pole arm   # these rows alone

An error is the relative difference of the cost from that on the finest mesh of the highest order. A deviation is the largest distance from the plan
at its nodes when its controls drive the continuous equations of motion (`max_deviation`).
"""
import argparse
import math
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIME_LIMIT_S = 600  # of one solution
REPEATS = 2  # of a timed solution; the minimum time counts

PENDULUM = """[model]
dimension = 2
gravity = 9.81
[link rod]
parent = ground
joint = revolute
coordinates = a
[mass tip]
link = rod
at = 0, -1
mass = 1
[actuator motor]
coordinate = a
"""
ARM = """[model]
dimension = 2
gravity = 9.81
[link upper]
parent = ground
joint = revolute
coordinates = q1
end = 0.5, 0
mass = 2
inertia = 0.05
centre = 0.25, 0
[link lower]
parent = upper
joint = revolute
coordinates = q2
mass = 1
inertia = 0.02
centre = 0.2, 0
[actuator shoulder]
coordinate = q1
[actuator elbow]
coordinate = q2
"""
SATELLITE = """[model]
dimension = 2
gravity = 0
[link hub]
parent = ground
joint = planar
coordinates = x, y, a
end = 0.4, 0
mass = 5
inertia = 0.4
[link arm]
parent = hub
joint = revolute
coordinates = b
end = 0.5, 0
mass = 1
inertia = 0.03
centre = 0.25, 0
[link hand]
parent = arm
joint = revolute
coordinates = c
mass = 0.6
inertia = 0.02
centre = 0.2, 0
[actuator shoulder]
coordinate = b
[actuator elbow]
coordinate = c
"""
FOUR_BAR = """[model]
dimension = 2
gravity = 9.81
[link crank]
parent = ground
joint = revolute
coordinates = q1
end = 0.2, 0
mass = 1
inertia = 0.004
centre = 0.1, 0
[link coupler]
parent = crank
joint = revolute
coordinates = q2
end = 0.5, 0
mass = 2
inertia = 0.05
centre = 0.25, 0
[link rocker]
parent = ground
at = 0.4, 0
joint = revolute
coordinates = q3
end = 0.4, 0
mass = 1.5
inertia = 0.02
centre = 0.2, 0
[point coupler_end]
link = coupler
at = 0.5, 0
[point rocker_end]
link = rocker
at = 0.4, 0
[actuator motor]
coordinate = q1
"""
DROP = """[model]
dimension = 2
gravity = 9.81
[link leg]
parent = ground
joint = point + revolute
coordinates = x, y, a
end = 0, 0.8
mass = 2
inertia = 0.05
centre = 0, 0.5
[link trunk]
parent = leg
joint = revolute
coordinates = b
mass = 5
inertia = 0.3
centre = 0, 0.2
[actuator hip]
coordinate = b
"""

# name: description, model (or a file of configs/), sections, phases (none: a gait), meshes, orders
ROWS = {
    "pendulum": ("pendulum that swings up in 3 s", PENDULUM, """[phase swing]
duration = 3
[initial-state]
a = 0
momentum = 0
[goal]
a = pi
rate(a) = 0
[cost]
squared-control = 1
""", ["swing"], (10, 20, 40, 80), (2, 4, 6)),
    "cart-pole": ("Kelly's cart-pole", "configs/textbook/cart-pole.cfg", None, ["swing"], (20, 40, 80, 160), (2, 4, 6)),
    "arm": ("arm of two links that lifts in 1 s", ARM, """[phase lift]
duration = 1
[initial-state]
q1 = -90 deg
q2 = 20 deg
momentum = 0
[goal]
q1 = 30 deg
q2 = 40 deg
momentum = 0
[cost]
squared-control = 1
""", ["lift"], (10, 20, 40, 80), (2, 4, 6)),
    "satellite": ("free body that bends two joints, in 1 s", SATELLITE, """[phase turn]
duration = 1
[initial-state]
x = 0
y = 0
a = 0
b = 0
c = 0
momentum = 0
[goal]
b = 120 deg
c = -60 deg
rate(b) = 0
rate(c) = 0
[cost]
squared-control = 1
""", ["turn"], (5, 10, 20, 40), (2, 4, 6)),
    "four-bar": ("four-bar loop that holds a point pair, in 1 s", FOUR_BAR, """[phase turn]
duration = 1
hold = coupler_end - rocker_end
[initial-state]
q1 = 90 deg
require = coupler_end.x - rocker_end.x == 0, coupler_end.y - rocker_end.y == 0
momentum = 0
[guess]
q2 = -60 deg
q3 = 80 deg
[goal]
q1 = 150 deg
rate(q1) = 0
[cost]
squared-control = 1
""", ["turn"], (8, 16, 32), (2, 4, 6)),
    "catch": ("body that flies, and stands after an impact", DROP, """[phase flight]
duration = 0.4
[phase stance]
fixed = x, y
duration = 0.5
[initial-state]
x = -0.3
a = 0
b = 0
rate(y) = 0
rate(a) = 0
rate(b) = 0
[goal]
a = 0
b = 0
rate(a) = 0
rate(b) = 0
[cost]
squared-control = 1
""", ["flight", "stance"], (5, 10, 20), (2, 4, 6)),
    "rabbit-smooth": ("RABBIT, whose foot a cost leads over the ground, by squared torque", None, """[design]
step-length = 0.45
period = 0.45
[gait]
model = rabbit
tolerance = 1e-11
[cost]
squared-torque = 0.02
lift = 3000*(swing_foot.y - 0.2*(t/period)*(1 - t/period))^2
""", [], (10, 20, 40, 80), (2, 4, 6)),
    "rabbit-torque": ("RABBIT with its knee at 0.4 m, by squared torque", "configs/knee.cfg", None, [], (10, 20, 40, 80), (2, 4, 6)),
    "rabbit": ("RABBIT with its knee at 0.4 m, by positive work and heat", "configs/knee.cfg", None, [], (20, 40, 80, 160), (2, 4, 6)),
}  # fmt: skip
WORDS = {
    "catch": ["--motion.tolerance=1e-8"],  # the tolerance that rounding in free flight permits
    "rabbit-torque": ["--design.knee=0.4", "--cost.positive-work=0"],
    "rabbit": ["--design.knee=0.4"],
}


def solved(program, row, intervals, order, guesses, repeats=1):
    """Returns cost, deviation, and the minimum processor time, s."""
    _, model, sections, phases, _, _ = ROWS[row]
    with tempfile.TemporaryDirectory(prefix="dodyn-orders-") as folder:
        path = pathlib.Path(folder)
        if sections is None:
            study = ROOT / model
        else:
            study = path / "study.cfg"
            if phases:
                (path / "own.model").write_text(model, encoding="utf-8")
                sections = "[motion]\nmodel = own.model\n" + sections
            study.write_text(f"[study]\nevaluator = {'motion' if phases else 'gait'}\n" + sections, encoding="utf-8")
        words = [f"--phase.{phase}.intervals={intervals}" for phase in phases] or [f"--gait.intervals={intervals}", "--gait.max-iterations=1000"]
        of = "motion" if phases else "gait"
        words += [f"--{of}.order={order}", f"--{of}.initial-guesses={guesses}", f"--{of}.accuracy=0", f"--{of}.validity-check=warn", *WORDS.get(row, [])]
        least = math.inf
        for _ in range(repeats):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run([str(program), "solve", str(study), *words], cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            least = min(least, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    found = {name: float(value) for name, value in re.findall(r"^(cost|metrics\.\w+) +(\S+)", done.stdout, re.M)}
    if done.returncode or not re.search(r"^status +ok$", done.stdout, re.M):
        raise SystemExit(f"{row}, {intervals} intervals of order {order}: {(done.stderr or done.stdout).strip()[-400:]}")
    return found["cost"], found["metrics.max_deviation"], least


def power(before, now):
    return f" ({math.log2(before / now):.1f})" if before and now > 0 else ""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("rows", nargs="*", default=list(ROWS))
    arguments.add_argument("--guesses", type=int, default=8)
    options = arguments.parse_args()
    program = options.program.resolve()
    for row in options.rows:
        title, _, _, _, meshes, orders = ROWS[row]
        reference = solved(program, row, 2 * meshes[-1], max(orders), options.guesses)[0]
        print(f"{title[0].upper()}{title[1:]} (`{row}`), reference {reference:.9g}:\n")
        print("| intervals | " + " | ".join(f"error, order {o} | deviation, order {o} | s, order {o}" for o in orders) + " |")
        print("|---|" + "---|---|---|" * len(orders))
        last = {order: (0.0, 0.0) for order in orders}
        for mesh in meshes:
            cells = []
            for order in orders:
                cost, deviation, time = solved(program, row, mesh, order, options.guesses, REPEATS)
                error = abs(cost / reference - 1)
                cells.append(f"{error:.1e}{power(last[order][0], error)} | {deviation:.1e}{power(last[order][1], deviation)} | {time:.2f}")
                last[order] = (error, deviation)
            print(f"| {mesh} | " + " | ".join(cells) + " |", flush=True)
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
