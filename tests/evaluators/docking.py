"""Outcomes of docking attempts, checked from the archive by independent geometry, and the constant of the magnets, by the energy along the
axis. Usage: docking.py DODYN ROOT"""

import math
import os
import re
import subprocess
import sys
import tempfile

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.path.insert(0, os.path.join(ROOT, "python"))
try:
    import numpy as np

    import dodyn
    from dodyn import motion
except ImportError:
    sys.exit(77)  # skipped

# The craft, all in m: as in models/docking-craft.model.
HULL, DEPTH, TIP, CLEARANCE, MOUNT, ANGLE = 0.1, 0.015, 0.007, 0.0005, 0.002, math.radians(25)
RECESS, THICK, MASS, REFERENCE = 0.0032, 0.005, 1.2, 0.05


def closing_time(K, distance=0.15):
    """From rest, hulls `distance` apart, until seated; the female craft held. With d = far - (far - near) u^2 the time
    is the integral of a smooth function over u from 0 to 1."""

    def potential(d):
        total = 0.0
        for cup in (1, -1):
            for cone in (1, -1):
                for i, a in enumerate((1.0, -1.0)):
                    for j, b in enumerate((-1.0, 1.0)):
                        along = d + 2 * RECESS + (i + j) * THICK
                        across = 0.5 * REFERENCE * (cup - cone)
                        total += K * a * b / math.hypot(along, across)
        return total

    far, near = distance - DEPTH, MOUNT
    nodes, weights = np.polynomial.legendre.leggauss(200)
    time = 0.0
    for u, w in zip(0.5 * (nodes + 1), 0.5 * weights):
        d = far - (far - near) * u * u
        time += w * 2 * (far - near) * u / math.sqrt(2 * (potential(far) - potential(d)) / MASS)
    return time


def seen_from(pose, point):
    x, y, angle = pose
    c, s = math.cos(angle), math.sin(angle)
    dx, dy = point[0] - x, point[1] - y
    return np.array([c * dx + s * dy, -s * dx + c * dy])


def placed(pose, point):
    x, y, angle = pose
    c, s = math.cos(angle), math.sin(angle)
    return np.array([x + c * point[0] - s * point[1], y + s * point[0] + c * point[1]])


def verdict(spacing, female, male, touched):
    """Returns the outcome that the last row of a run shows, None if the row does not determine it."""
    slack = 3e-5  # of numbers rounded in the archive
    tips = [seen_from(female, placed(male, (HULL / 2 + DEPTH, -side * spacing / 2))) for side in (1, -1)]
    seats = [np.array([HULL / 2 + MOUNT, side * spacing / 2]) for side in (1, -1)]
    off = max(np.linalg.norm(t - s) for t, s in zip(tips, seats))
    turn = abs(math.remainder(male[2] - female[2] - math.pi, 2 * math.pi))
    if off < 0.0005 - slack and turn < math.radians(1) - 1e-3:
        return "docked"
    if off < 0.0005 + slack and turn < math.radians(1) + 1e-3:
        return None
    past = HULL / 2 - seen_from(female, male[:2])[0]
    if past > slack or not touched:
        return "missed"
    if past > -slack:
        return None
    for side, tip in zip((1, -1), tips):
        inside = tip[0] - HULL / 2
        room = TIP / 2 + CLEARANCE + inside * math.tan(ANGLE) - abs(tip[1] + side * spacing / 2)
        if 0 < inside < DEPTH and room > 0:
            return "wrong port"
    return "jammed"


def main():
    text = open(os.path.join(ROOT, "models", "docking-craft.model"), encoding="utf-8").read()
    K = float(re.search(r"^charge_constant = pull\*(\S+)", text, re.M)[1])
    assert abs(closing_time(K) - 30) < 1e-6, closing_time(K)
    assert abs(closing_time(4 * K) - 15) < 1e-6  # speeds scale with sqrt(K/mass)

    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "docking.h5")
        words = ["--study.archive", path, "--initial-states.count", "30", "--strategy", "sweep", "--surrogate.points", "3"]
        done = subprocess.run([DODYN, "run", os.path.join(ROOT, "configs", "docking.cfg"), *words, "--design.spacing.min", "0.027"],
                              capture_output=True, text=True, timeout=280)  # fmt: skip
        assert done.returncode == 0, done
        study, seen = dodyn.open(path), {}
        assert len(study) == 3
        for e in study:
            names, told = motion.outcomes(e.trajectory), e.trajectory["outcome"]
            kinds = [names[int(k)] for k in told.column("outcome")]
            for kind, time, one in zip(kinds, told.column("time"), motion.runs(e.trajectory)):
                poses = [[*one.positions[-1, b], one.attitudes[-1, b]] for b in (0, 1)]
                judged = verdict(e.design["spacing"], *poses, touched=kind != "missed" or time < 119)
                assert abs(one.t[-1] - time) < 2e-3
                if kind == "end":
                    assert judged != "docked" and time > 119.9, (e.id, judged)
                elif judged:
                    assert judged == kind, (e.design, kind, judged, poses)
                seen[kind] = seen.get(kind, 0) + 1
            assert abs(e.cost - 1 + kinds.count("docked") / len(kinds)) < 1e-12
        print("as judged:", seen)
        assert seen["docked"] > 30 and seen["wrong port"] > 0 and seen["jammed"] > 0 and seen["missed"] > 0, seen


main()
