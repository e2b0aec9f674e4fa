#!/usr/bin/python3
"""Examines the hop of configs/hopper.cfg by its archive alone: numpy, with an independent Lagrangian in the positions
of the three masses, and a copy of the model's numbers.

    examine_hopper.py DODYN ROOT STIFFNESS [--KEY VALUE ...]

Computed again from t, q and u: the discrete Euler-Lagrange equations of stance and flight, the ground's force and its
cone, the momentum at take-off, impulse, loss and cone of the landing, the periodicity of the hop, the fall of the
common centre of mass, limits and ranges, and the cost."""

import os
import sys

import numpy as np

from one_design import evaluated

DODYN, ROOT, STIFFNESS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), float(sys.argv[3])
LEG, LOWER, TRUNK, INERTIA, UP, COPPER, G = 0.5, 0.5, 8.0, 0.2, 0.05, 0.02, 9.81
DAMPING, STRIDE, MU = 0.5 * np.sqrt(STIFFNESS * LOWER), 0.4, 0.8
MASS = np.array([LOWER, LOWER, TRUNK])
LINE = (LOWER * (LEG / 2) ** 2 / 12, INERTIA)  # of the lower leg, of the trunk

with evaluated(DODYN, ROOT, "hopper", "leg_stiffness", STIFFNESS, *sys.argv[4:]) as f:
    STIFFNESS = f["evaluations/design"][0][0]
    DAMPING = 0.5 * np.sqrt(STIFFNESS * LOWER)
    cost, t, Q, U, FORCE, phase = (f[name][0] for name in ("evaluations/cost", "trajectories/t", "trajectories/q", "trajectories/u",
                                                           "trajectories/held_force", "trajectories/phase"))
    names = [n.decode() if isinstance(n, bytes) else n for n in f["evaluations/metrics"].attrs["names"]]
    metric = dict(zip(names, f["evaluations/metrics"][0]))
t, phase = t.ravel(), phase.ravel().astype(int)
STANCE, FLIGHT = np.flatnonzero(phase == 0), np.flatnonzero(phase == 1)
assert len(STANCE) + len(FLIGHT) == len(t)


def places(q):
    """Returns the positions of the three masses [3, 2]: middle of the lower leg, hip, centre of the trunk. The foot
    is at (x, y); angles of leg and trunk are from the vertical, anticlockwise."""
    x, y, leg, stretch, hip = q
    along, up = np.array([-np.sin(leg), np.cos(leg)]), np.array([-np.sin(leg + hip), np.cos(leg + hip)])
    foot, high = np.array([x, y]), (LEG + stretch) * along
    return np.array([foot + LEG / 4 * along, foot + high, foot + high + UP * up])


def speeds(q, v):
    return np.imag(places(q + 1e-30j * v)) / 1e-30


def mass_matrix(q):
    J = np.array([speeds(q, e) for e in np.eye(5)])  # [5, 3, 2]
    M = np.einsum("aij,bij,i->ab", J, J, MASS)
    turns = (np.array([0, 0, 1.0, 0, 0]), np.array([0, 0, 1.0, 0, 1.0]))
    return M + sum(I * np.outer(w, w) for I, w in zip(LINE, turns))


def potential(q):
    return G * MASS @ places(q)[:, 1] + STIFFNESS / 2 * q[3] ** 2


def ends(q0, q1, h, u):
    """Returns the discrete momenta of an interval at its first and at its second node, [5] each."""
    middle, v = (q0 + q1) / 2, (q1 - q0) / h
    p = mass_matrix(middle) @ v
    pull = np.empty(5)  # dL/dq
    for i in range(5):
        e = 1e-6 * np.eye(5)[i]
        kinetic = (v @ mass_matrix(middle + e) @ v - v @ mass_matrix(middle - e) @ v) / 4e-6
        pull[i] = kinetic - np.imag(potential(middle + 1e-30j * np.eye(5)[i])) / 1e-30
    force = np.array([0, 0, 0, u[1] - DAMPING * v[3], u[0]])
    return p - h / 2 * (pull + force), p + h / 2 * (pull + force)


def intervals(rows):
    """Momenta that leave the first node of each interval and arrive at its second."""
    h = (t[rows[-1]] - t[rows[0]]) / (len(rows) - 1)
    assert np.allclose(np.diff(t[rows]), h, rtol=1e-9), "intervals are not alike"
    return h, [ends(Q[k], Q[k + 1], h, U[k]) for k in rows[:-1]]


def cone(force, what):
    assert abs(force[0]) <= MU * force[1] + 1e-6, f"{what}: ({force[0]:.6g}, {force[1]:.6g}) N is outside the friction cone"


# stance: the foot is fixed; its two equations give the ground's force, the others must be satisfied
h, stance = intervals(STANCE)
assert np.abs(Q[STANCE][:, :2]).max() == 0.0, "the foot does not stand"
worst, ground = 0.0, 0.0
for k in range(1, len(stance)):
    gap = stance[k][0] - stance[k - 1][1]
    worst = max(worst, np.abs(gap[2:]).max())
    ground = max(ground, np.abs(gap[:2] / h - FORCE[STANCE[k], :2]).max())
    cone(gap[:2] / h, f"node {k} of the stance")
# take-off: the foot is still at rest, and no momentum changes
last = Q[STANCE[-1]]
M = mass_matrix(last)
rate = np.r_[0, 0, np.linalg.solve(M[2:, 2:], stance[-1][1][2:])]
half = 2 / h * ((M @ rate)[:2] - stance[-1][1][:2])
ground = max(ground, np.abs(half - FORCE[STANCE[-1], :2]).max())
cone(half, "take-off")

H, flight = intervals(FLIGHT)
leaves = np.abs(flight[0][0] - M @ rate).max()
assert np.abs(Q[FLIGHT[0]] - last).max() < 1e-10, "the flight does not begin where the stance ends"
fall = 0.0
for k in range(1, len(flight)):
    worst = max(worst, np.abs(flight[k][0] - flight[k - 1][1]).max())
    # without the Lagrangian: only the weight changes the total momentum of the masses
    total = lambda i: MASS @ speeds((Q[FLIGHT[i]] + Q[FLIGHT[i + 1]]) / 2, (Q[FLIGHT[i + 1]] - Q[FLIGHT[i]]) / H)
    fall = max(fall, np.abs(total(k) - total(k - 1) + [0, H * G * MASS.sum()]).max())
# in flight the common centre of mass moves on a parabola, to second order in the interval
centre = np.array([MASS @ places(Q[k]) / MASS.sum() for k in FLIGHT])
s = t[FLIGHT] - t[FLIGHT[0]]
drop = centre + np.outer(s ** 2, [0, G / 2])
straight = np.polynomial.polynomial.polyfit(s, drop, 1)
bend = np.abs(drop - straight[0] - np.outer(s, straight[1])).max()
assert Q[FLIGHT][:, 1].min() > -1e-8, "the foot is under the ground"

# landing: the foot stops, the other momenta are conserved, and the posture is one stride ahead
end, first = Q[FLIGHT[-1]], Q[STANCE[0]]
again = np.abs(end - first - [STRIDE, 0, 0, 0, 0]).max()
M = mass_matrix(end)
arrives, begins = flight[-1][1], stance[0][0]
before = np.linalg.solve(M, arrives)
after = np.r_[0, 0, np.linalg.solve(M[2:, 2:], arrives[2:])]
impulse = (M @ after - arrives)[:2]
cone(impulse, "landing")
landing = np.abs((M @ after - begins)[2:]).max()
half = 2 / h * (begins - M @ after)[:2]
ground = max(ground, np.abs(half - FORCE[STANCE[0], :2]).max())
loss = before @ M @ before / 2 - after @ M @ after / 2
assert loss > 0 and before[1] <= 1e-9, "it does not come down"

weights = np.array([COPPER, COPPER / 100])
anew = (h * np.sum(U[STANCE[:-1]] ** 2 @ weights) + H * np.sum(U[FLIGHT[:-1]] ** 2 @ weights)) / (MASS.sum() * G * STRIDE)
print(f"hopper: cost {cost:.9g}, anew {anew:.9g}; equations {worst:.1e}, ground's force {ground:.1e} N, take-off {leaves:.1e}, "
      f"weight {fall:.1e}, landing {landing:.1e}, repeats {again:.1e}; off the parabola {bend:.1e} m; loss {loss:.9g} J, "
      f"stance {h * len(stance):.6g} s, flight {H * len(flight):.6g} s")
assert worst < 1e-8 and ground < 1e-5 and leaves < 1e-8 and fall < 1e-9 and landing < 1e-8 and again < 1e-9
assert bend < 1e-3
assert abs(loss - metric["impact_loss"]) < 1e-7 and abs(h * len(stance) + H * len(flight) - metric["duration"]) < 1e-9
assert np.abs(U[:, 0]).max() < 60 + 1e-6 and np.abs(U[:, 1]).max() < 400 + 1e-6
assert Q[:, 3].min() > -0.2 - 1e-8 and Q[:, 3].max() < 0.05 + 1e-8
assert 0.05 - 1e-9 < h * len(stance) < 0.4 + 1e-9 and 0.1 - 1e-9 < H * len(flight) < 0.5 + 1e-9
assert abs(anew - cost) < 1e-9 * cost + 1e-15, "the cost is not what it should be"
