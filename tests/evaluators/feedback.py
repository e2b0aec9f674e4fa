#!/usr/bin/python3
"""Compares closed loops of the shipped cart-pole with scipy: equations of motion of its own, by solve_ivp.

    feedback.py DODYN

A continuous law with an integral and a filter converges with order 2 in the step, with its states, effort and work. A sampled law with a delay and a
motor limit does, too: between samples its control is constant."""

import csv
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy.integrate import solve_ivp
except ImportError:
    sys.exit(77)

DODYN = os.path.abspath(sys.argv[1])
CART, POLE, LENGTH, FRICTION, BEARING, TILT = 0.5, 0.2, 0.6, 0.2, 0.002, 0.02
STUDY = f"""[study]
evaluator = simulation
[design]
tilt = {TILT}
[simulation]
model = cart-pole
contact-method = none
end = 1.6 s
nodes = 9
[initial-state]
x = -0.1
angle = 0.2
rate(angle) = -0.3
[cost]
cost = effort
[feedback]
"""
CONTINUOUS = """motor = -50 N*angle - 10 N s*(angle - slow)/lag + 20 N/m*x + 14 N s/m*rate(x) + 8 N/(m s)*sum
rate(slow) = (angle - slow)/lag
slow = angle
rate(sum) = x
[parameters]
lag = 0.01 s
"""
SAMPLED = """sample-rate = 50
delay = 20 ms
motor = -50 N*angle - 10 N s*rate(angle) + 20 N/m*x + 14 N s/m*rate(x) + 8 N/(m s)*sum
rate(sum) = x
"""


def acceleration(x, angle, v, spin, force):
    gx, gy, half = -9.81 * np.sin(TILT), -9.81 * np.cos(TILT), LENGTH / 2
    mass = np.array([[CART + POLE, -POLE * half * np.cos(angle)], [-POLE * half * np.cos(angle), POLE * LENGTH**2 / 3]])
    push = [force - FRICTION * v + (CART + POLE) * gx - POLE * half * np.sin(angle) * spin**2,
            -POLE * half * (gx * np.cos(angle) + gy * np.sin(angle)) - BEARING * spin]  # fmt: skip
    return np.linalg.solve(mass, push)


def flow(rates, state, duration):
    return solve_ivp(lambda _, z: rates(z), (0, duration), state, method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]


def continuous():
    def rates(z):
        x, angle, v, spin, slow, total = z[:6]
        u = np.clip(-50 * angle - 10 * (angle - slow) / 0.01 + 20 * x + 14 * v + 8 * total, -100, 100)
        return [v, spin, *acceleration(x, angle, v, spin, u), (angle - slow) / 0.01, x, u * u, u * v]

    return flow(rates, [-0.1, 0.2, 0, -0.3, 0.2, 0, 0, 0], 1.6)


def sampled():
    z, total, u, queue = np.array([-0.1, 0.2, 0, -0.3, 0, 0]), 0.0, 0.0, [0.0]
    for _ in range(80):  # samples of 20 ms; the delay is one of them
        x, angle, v, spin = z[:4]
        u = queue.pop(0)
        queue.append(np.clip(-50 * angle - 10 * spin + 20 * x + 14 * v + 8 * total, -6, 6))
        total += 0.02 * x
        z = flow(lambda z, u=u: [z[2], z[3], *acceleration(*z[:4], u), u * u, u * z[2]], z, 0.02)
    return np.array([*z[:4], total, *z[4:]])


def dodyn(law, limit, step):
    path = os.path.join(folder, "study.cfg")
    with open(path, "w", encoding="utf-8") as file:
        file.write(STUDY + law)
    output = os.path.join(folder, "run.csv")
    subprocess.run([DODYN, "simulate", path, "--output", output, "--simulation.step", str(step), "--design.force", str(limit)],
                   check=True, capture_output=True)  # fmt: skip
    with open(output, encoding="utf-8") as file:
        last = {name.split(" [")[0]: float(value) for name, value in list(csv.DictReader(file))[-1].items()}
    assert abs(last["t"] - 1.6) < 1e-9, last
    states = [last[f"feedback.{name}"] for name in ("slow", "sum") if f"feedback.{name}" in last]
    return np.array([last["q.cart x"], last["q.pole angle"], last["v.cart x"], last["v.pole angle"], *states,
                     last["feedback.effort"], last["feedback.work"]])  # fmt: skip


with tempfile.TemporaryDirectory() as folder:
    for name, law, limit, exact in (("continuous", CONTINUOUS, 100, continuous()), ("sampled", SAMPLED, 6, sampled())):
        errors = [dodyn(law, limit, step) - exact for step in (2e-3, 1e-3)]
        ratios = errors[0] / errors[1]
        print(name, "errors at 1 ms", errors[1], "ratios", ratios)
        assert abs(errors[1]).max() < 1e-4, (name, errors, exact)
        assert abs(ratios - 4).max() < 0.02, (name, ratios)
