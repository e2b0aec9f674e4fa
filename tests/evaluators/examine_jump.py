#!/usr/bin/env python3
"""Examines the jump of configs/quadruped.cfg by its CSV file alone: Newton's law for the whole robot, friction, and feet that stay in place.

    examine_jump.py DODYN ROOT

The masses are written down here. The forces of the feet are those of the file; momenta follow from them by the trapezoidal rule.
"""
import csv
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

DODYN, ROOT = sys.argv[1:3]
SPRING, GRAVITY, FRICTION, JUMP, INTERVALS = "8.24", 9.81, 0.6, 0.3, 20
MASS = 7 + 4 * (0.6 + (3 * 0.2 + 0.3) + 0.6 * 0.2)  # kg: trunk, hips, thighs with motors, shanks
LEGS = [f"{end}_{side}" for end in ("front", "rear") for side in ("left", "right")]

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "jump.csv"
    words = ["solve", f"{ROOT}/configs/quadruped.cfg", "--design.spring", SPRING, "--motion.initial-guesses", "1", "--output", path]
    done = subprocess.run([DODYN, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [row for row in csv.reader(path.open(encoding="utf-8")) if row and not row[0].startswith("#")]
names = [name.split(" ")[0] for name in rows[0]]
table = {name: np.array([float(row[i]) if row[i] else np.nan for row in rows[1:]]) for i, name in enumerate(names) if name != "phase"}
t = table["t"]
phases = [slice(i * (INTERVALS + 1), (i + 1) * (INTERVALS + 1)) for i in range(3)]
assert len(t) == 3 * (INTERVALS + 1)
force = {axis: np.array([table[f"hold_force.{leg}_foot.{axis}"] for leg in LEGS]) for axis in "xyz"}
foot = {axis: np.array([table[f"points.{leg}_shank_end_{axis}"] for leg in LEGS]) for axis in "xyz"}

flown = phases[1]
fall = table["p.z"][flown][-1] - table["p.z"][flown][1]  # the first is that of take-off, the others those of the interval before
weight = MASS * GRAVITY
assert abs(fall + weight * (t[flown][-1] - t[flown][1])) < 1e-9, fall
for phase in (phases[0], phases[2]):
    # at rest before the push and after the landing: the forces give the momentum of take-off, and take that of landing
    gained = np.trapz(force["z"][:, phase].sum(axis=0) - weight, t[phase])
    if phase is phases[0]:
        assert abs(gained - table["p.z"][flown][0]) < 1e-9, gained
    assert np.all(force["z"][:, phase] > -1e-6)
    for axis in "xy":
        assert np.all(np.abs(force[axis][:, phase]) <= FRICTION * force["z"][:, phase] + 1e-6)
    for axis in "xyz":
        assert np.ptp(foot[axis][:, phase], axis=1).max() < 1e-8
assert foot["z"][:, flown].min() > -1e-8 and foot["z"][:, flown].max() > 1e-3
assert np.abs(foot["x"][:, -1] - foot["x"][:, 0] - JUMP).max() < 1e-8 and np.abs(foot["z"][:, [0, -1]]).max() < 1e-8
print(f"flight of {t[flown][-1] - t[flown][0]:.4f} s; feet rise to {foot['z'].max():.4f} m")
