#!/usr/bin/python3
"""Drives the planned controls of an acrobot through independent equations of motion, by scipy, and compares dodyn's `end_error` and
`max_deviation`; then with feedback, and compares `tracking_error`.

    continuous.py DODYN

The swing-up is unstable, so that 20 intervals miss the goal by radians and their deviation falls as intervals get shorter."""

import csv
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from acrobot import MODEL, acceleration, mass
    from scipy.integrate import solve_ivp
except ImportError:
    sys.exit(77)

DODYN = os.path.abspath(sys.argv[1])
STUDY = """[study]
evaluator = motion
[motion]
model = acrobot.model
initial-guesses = 8
validity-check = warn
[phase swing]
intervals = 20
duration = 2
[initial-state]
shoulder = 0
elbow = 0
momentum = 0
[goal]
shoulder = pi
elbow = 0
rate(shoulder) = 0
rate(elbow) = 0
[cost]
squared-control = 1
"""


def flow(state, u, duration):
    return solve_ivp(lambda _, z: np.concatenate([z[2:], acceleration(z[:2], z[2:], u)]), (0, duration), state,
                     method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]  # fmt: skip


def tracked(Q, P, U, h):
    """Largest deviation of an angle from the nodes with a sampled linear-quadratic regulator: 1 mrad, 10 mrad/s and 0.2 % of the
    largest torque weigh the same, 100 times as much at the end. What an interval misses is known beforehand."""
    X = np.hstack([Q, [np.linalg.solve(mass(q[1]), p) for q, p in zip(Q, P)]])
    weights, effort = np.diag([1e6, 1e6, 1e4, 1e4]), 1 / (2e-3 * abs(U).max()) ** 2
    maps = []
    for k, u in enumerate(U):
        e = 1e-5
        A = np.array([flow(X[k] + e * d, u, h) - flow(X[k] - e * d, u, h) for d in np.eye(4)]).T / (2 * e)
        B = (flow(X[k], u + e, h) - flow(X[k], u - e, h))[:, None] / (2 * e)
        maps.append((A, B, flow(X[k], u, h) - X[k + 1]))
    S, s, laws = 100 * weights, np.zeros(4), []
    for A, B, r in reversed(maps):
        H = effort + (B.T @ S @ B).item()
        gain, ahead = (B.T @ S @ A)[0] / H, (B.T @ (S @ r + s)).item() / H
        laws.insert(0, (gain, ahead))
        closed = A - np.outer(B[:, 0], gain)
        s = closed.T @ (S @ (r - B[:, 0] * ahead) + s) - gain * effort * -ahead
        S = A.T @ S @ closed + weights
    x, largest, correction = X[0], 0.0, 0.0
    for k, (gain, ahead) in enumerate(laws):
        more = -gain @ (x - X[k]) - ahead
        correction = max(correction, abs(more))
        x = flow(x, U[k] + more, h)
        largest = max(largest, abs(x[:2] - Q[k + 1]).max())
    return largest, correction


def examine(intervals, folder):
    path = os.path.join(folder, "plan.csv")
    done = subprocess.run([DODYN, "solve", "acrobot.cfg", "--motion.accuracy", "0", "--phase.swing.intervals", str(intervals), "--output", path],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if line.startswith("metrics.")}
    rows = [{name.split(" [")[0]: value for name, value in row.items()} for row in csv.DictReader(open(path))]
    t = np.array([float(r["t"]) for r in rows])
    Q = np.array([[float(r["q.shoulder"]), float(r["q.elbow"])] for r in rows])
    U = np.array([float(r["u.motor"]) for r in rows])
    state, largest = np.concatenate([Q[0], [0, 0]]), 0.0
    for k in range(intervals):
        flow = solve_ivp(lambda _, z: np.concatenate([z[2:], acceleration(z[:2], z[2:], U[k])]), (t[k], t[k + 1]), state,
                         method="DOP853", rtol=1e-12, atol=1e-13)  # fmt: skip
        state = flow.y[:, -1]
        largest = max(largest, abs(state[:2] - Q[k + 1]).max())
    end = abs(state[:2] - Q[-1]).max()
    if intervals in (80, 160):
        P = np.array([[float(r["p.shoulder"]), float(r["p.elbow"])] for r in rows])
        mine = np.array(tracked(Q, P, U[:-1], t[1]))
        theirs = np.array([float(told["metrics.tracking_error"]), float(told["metrics.tracking_correction"])])
        print(f"{intervals} intervals with feedback: {mine} here, {theirs} by dodyn")
        # slopes half way through an interval stand for its own derivatives there
        assert abs(mine[0] - theirs[0]) < (0.05 if intervals == 160 else 0.1) * mine[0], (mine, theirs)
    mine, theirs = np.array([end, largest]), np.array([float(told["metrics.end_error"]), float(told["metrics.max_deviation"])])
    print(f"{intervals} intervals: end {end:.6g} and largest {largest:.6g} rad here, {theirs[0]:.6g} and {theirs[1]:.6g} by dodyn; "
          f"the scheme re-solved: {told['metrics.reintegration_error']}")
    assert np.all(abs(mine - theirs) < 1e-5 * (1 + mine)), (mine, theirs)
    assert "the continuous equations of motion under these controls end" in done.stdout, done.stdout
    return end


with tempfile.TemporaryDirectory() as folder:
    open(os.path.join(folder, "acrobot.model"), "w").write(MODEL)
    open(os.path.join(folder, "acrobot.cfg"), "w").write(STUDY)
    ends = [examine(intervals, folder) for intervals in (20, 80, 160, 320)]
    assert ends[0] > 1.0 and ends[1] < ends[0] and ends[3] < 0.3 * ends[1], ends
