#!/usr/bin/python3
"""Judges the flagship's gait by the archive alone: numpy, a Lagrangian written here and differentiated by complex steps.

    walk.py DODYN ROOT

Nothing of the program is used but its command line: the discrete Euler-Lagrange equations at inner nodes, the ground's force, the
jump at touch-down, periodicity, ranges, cone and clearance are worked out anew from q and u."""

import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
KNEE, LEG, DENSITY, HIP, MOTOR, FOOT, G, STEP, PERIOD = 0.459, 1.0, 2.0, 10.0, 1.5, 0.3, 9.81, 0.5, 0.8
SHANK, THIGH = KNEE, LEG - KNEE


def lagrangian(q, v):
    """Rods and points of the biped: angles add up along the chain, the stance leg is climbed, the swing leg descended."""
    angles, rates = np.cumsum(q[2:6]), np.cumsum(v[2:6])
    place, speed = np.array(q[:2]), np.array(v[:2])
    kinetic = potential = 0

    def mass(m, at, moves):
        nonlocal kinetic, potential
        kinetic = kinetic + m * (moves[0] ** 2 + moves[1] ** 2) / 2
        potential = potential + m * G * at[1]

    mass(FOOT, place, speed)
    for i, (length, way) in enumerate([(SHANK, 1), (THIGH, 1), (THIGH, -1), (SHANK, -1)]):
        s, c = np.sin(angles[i]), np.cos(angles[i])
        reach, turn = way * length * np.array([-s, c]), way * length * rates[i] * np.array([-c, -s])
        mass(DENSITY * length, place + reach / 2, speed + turn / 2)
        kinetic = kinetic + DENSITY * length**3 / 12 * rates[i] ** 2 / 2
        place, speed = place + reach, speed + turn
        mass([MOTOR, HIP, MOTOR, FOOT][i], place, speed)
    return kinetic - potential


def gradient(f, x):
    e = np.eye(len(x)) * 1e-30j
    return np.array([f(x + row).imag / 1e-30 for row in e])


def slots(a, b, h):
    action = lambda z: h * lagrangian((z[:6] + z[6:]) / 2, (z[6:] - z[:6]) / h)
    d = gradient(action, np.concatenate([a, b]).astype(complex))
    return d[:6], d[6:]


def momentum(q, v):
    return gradient(lambda w: lagrangian(q.astype(complex), w), v.astype(complex))


with tempfile.TemporaryDirectory() as folder:
    archive = os.path.join(folder, "walk.h5")
    subprocess.run([DODYN, "run", os.path.join(ROOT, "configs", "knee.cfg"), "--study.archive", archive, "--gait.intervals", "40",
                    "--gait.starts", "4", "--strategy", "sweep", "--surrogate.points", "1",
                    "--design.knee.min", str(KNEE - 0.001), "--design.knee.max", str(KNEE + 0.001)],
                   check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with h5py.File(archive, "r") as f:
        assert f["evaluations/status"][0] == 0, f["evaluations/reason"][0]
        assert abs(f["evaluations/design"][0, 0] - KNEE) < 1e-12
        cost, q, u = (f[name][0] for name in ("evaluations/cost", "trajectories/q", "trajectories/u"))
K = len(u)
h = PERIOD / K
B = np.vstack([np.zeros((2, 4)), np.eye(4)])
D2, D4 = zip(*(slots(q[k], q[k + 1], h) for k in range(K)))
worst, least, ratio = 0.0, np.inf, 0.0
for k in range(1, K):
    residual = D4[k - 1] + D2[k] + h / 2 * B @ (u[k - 1] + u[k])
    worst = max(worst, abs(residual[2:]).max())
    force = -residual[:2] / h
    least, ratio = min(least, force[1]), max(ratio, abs(force[0]) / force[1])
# touch-down: the momentum that arrives gives the rates, the exchanged legs keep them, the impulse acts at the new foot alone
arriving = (D4[-1] + h / 2 * B @ u[-1])[2:]
M = np.array([momentum(q[K], np.eye(6)[i])[2:] for i in range(2, 6)])
rates = np.linalg.solve(M, arriving)
T = np.array([[1, 1, 1, 1], [0, 0, 0, -1], [0, 0, -1, 0], [0, -1, 0, 0]])
s, c = np.sin(np.cumsum(q[K, 2:])), np.cos(np.cumsum(q[K, 2:]))
lengths = np.array([SHANK, THIGH, -THIGH, -SHANK])
foot = np.array([-(lengths * s).sum(), (lengths * c).sum()])
turns = np.cumsum(rates)
foot_rate = np.array([-(lengths * c * turns).sum(), -(lengths * s * turns).sum()])
before = momentum(np.concatenate([[0, 0], T @ q[K, 2:]]), np.concatenate([foot_rate, T @ rates]))
leaving = -(D2[0] + h / 2 * B @ u[0])[2:]
jump = abs(before[2:] - leaving).max()
period = max(abs(T @ q[K, 2:] - q[0, 2:]).max(), abs(foot - [STEP, 0]).max())
heights = [(lengths * np.cos(np.cumsum(row[2:]))).sum() - 4 * k / K * (1 - k / K) * 0.03 for k, row in enumerate(q)]
weight = G * (2 * DENSITY * LEG + HIP + 2 * MOTOR + 2 * FOOT)
print(f"equations {worst:.1e}, jump {jump:.1e}, periodicity {period:.1e}, normal force {least:.1f} N, friction {ratio:.3f}, "
      f"knees {np.degrees(q[:, 3].max()):.1f} and {np.degrees(-q[:, 5].min()):.1f} degrees")
assert worst < 1e-8 and jump < 1e-7 and period < 1e-7
assert least > 0 and ratio < 0.8 + 1e-6
assert q[:, 3].min() > -1e-7 and q[:, 5].max() < 1e-7 and max(q[:, 3].max(), -q[:, 5].min()) < np.radians(130) + 1e-7
assert abs(u).max() < 60 + 1e-7 and abs(np.diff(q, axis=0)).max() / h < 15 + 1e-6
assert min(heights[1:-1]) > -1e-7
assert abs(h * (u**2).sum() / (weight * STEP) - cost) < 1e-8
