#!/usr/bin/python3
"""Examines Kelly's cart-pole by integrators of order 2, 4 and 6 from its table alone: numpy and scipy, with equations of motion written down
here in accelerations.

    orders.py DODYN ROOT

The controls between nodes are the polynomial through Gauss points, and drive the equations: the end and the largest deviation are those that
dodyn states, and fall with the order. The integral of the squared controls is the cost. Knots lie at Lobatto points."""

import csv
import os
import subprocess
import sys
import tempfile

import numpy as np
from numpy.polynomial import Polynomial
from scipy.integrate import solve_ivp

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CART, BOB, LENGTH, G, LIMIT = 1.0, 0.3, 0.5, 9.81, 20.0
LOBATTO = {1: [0.0], 2: [0.0, 0.5], 3: [0.0, 0.5 - 0.05**0.5, 0.5 + 0.05**0.5]}  # of an interval, without its end


def acceleration(angle, rate, force):
    """Of the cart and of the angle, by Newton's law for the cart with its bob, and by the balance of moments about the cart."""
    c, s = np.cos(angle), np.sin(angle)
    matrix = [[CART + BOB, BOB * LENGTH * c], [c, LENGTH]]
    return np.linalg.solve(matrix, [force + BOB * LENGTH * s * rate**2, -G * s])


def examine(order, intervals, folder):
    degree, path = order // 2, os.path.join(folder, "plan.csv")
    done = subprocess.run([DODYN, "solve", os.path.join(ROOT, "configs", "textbook", "cart-pole.cfg"), "--motion.order", str(order),
                           "--motion.accuracy", "0", "--phase.swing.intervals", str(intervals), "--output", path],
                          cwd=folder, capture_output=True, text=True, check=True)  # fmt: skip
    stated = dict(line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("cost ", "metrics.")))
    rows = [{name.split(" [")[0]: value for name, value in row.items()} for row in csv.DictReader(open(path))]
    t, u = (np.array([float(row[name]) for row in rows]) for name in ("t", "u.force"))
    q = np.array([[float(row["q.x"]), float(row["q.angle"])] for row in rows])
    h = 2.0 / intervals
    assert len(t) == intervals * degree + 1
    assert np.allclose(t[:-1].reshape(intervals, degree), h * (np.arange(intervals)[:, None] + LOBATTO[degree]), atol=1e-12)
    assert abs(u).max() <= LIMIT * (1 + 1e-9)

    points = 0.5 * (1 + np.polynomial.legendre.leggauss(degree)[0])
    fine, weights = np.polynomial.legendre.leggauss(8)
    state, largest, effort = np.array([*q[0], 0.0, 0.0]), 0.0, 0.0
    for k in range(intervals):
        force = Polynomial.fit(points, u[k * degree : (k + 1) * degree], degree - 1, domain=[0, 1])
        effort += 0.5 * h * weights @ force(0.5 * (1 + fine)) ** 2
        state = solve_ivp(lambda s, z: np.concatenate([z[2:], acceleration(z[1], z[3], float(force(s / h)))]), (0, h), state,
                          method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]  # fmt: skip
        largest = max(largest, abs(state[:2] - q[(k + 1) * degree]).max())
    end = abs(state[:2] - q[-1]).max()
    cost = float(stated["cost"])
    theirs = np.array([float(stated["metrics.end_error"]), float(stated["metrics.max_deviation"])])
    print(f"order {order}, {intervals} intervals: cost {effort:.9g} here, {cost:.9g} by dodyn; end {end:.3g}, {theirs[0]:.3g}; largest {largest:.3g}, {theirs[1]:.3g}")
    assert abs(effort - cost) < 1e-9 * cost
    assert np.all(abs(np.array([end, largest]) - theirs) < 2e-8 + 1e-5 * theirs), (end, largest, theirs)
    return cost, largest


with tempfile.TemporaryDirectory() as folder:
    found = {(order, intervals): examine(order, intervals, folder) for order in (2, 4, 6) for intervals in (40, 80)}
    for order in (2, 4):
        assert found[order, 80][1] < found[order, 40][1] / 2 ** (order - 0.5), found
    assert found[6, 80][1] < 1e-7 < found[6, 40][1] < 1e-5, found
    assert abs(found[6, 40][0] - 57.94478) < 6e-5 and abs(found[6, 40][0] - found[6, 80][0]) < 6e-5, found
