#!/usr/bin/python3
"""Examines the walk of configs/feet.cfg by its archive alone: numpy, the places of nine masses and the model's numbers written down here.

    examine_feet.py DODYN ROOT PERIOD [--KEY VALUE ...]

What the ground does is worked out without the model's coordinates, from the balance of linear and angular momentum of the whole: its
force, its cone, and where it acts, at the heel, between heel and toe, at the toe. The discrete Euler-Lagrange equations of each phase,
the foot that slaps down, the heel that lifts, the other heel that comes down and the exchange of the legs, ranges, limits, heights of
the swing foot also between nodes, the period and the cost."""

import os
import sys

import numpy as np

from one_design import evaluated

DODYN, ROOT, PERIOD = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), float(sys.argv[3])
KNEE, LEG, FOOT, ANKLE, HEIGHT, G, STRIDE, MU, CLEARANCE = 0.46, 0.93, 0.2, 0.05, 0.07, 9.81, 0.5, 0.8, 0.03
THIGH = LEG - KNEE
MASS = np.array([0.6, 2 * KNEE, 1.5, 2 * THIGH, 10.0, 2 * THIGH, 1.5, 2 * KNEE, 0.6])  # from the stance foot to the swing foot
LINE = MASS * np.array([FOOT, KNEE, 0, THIGH, 0, THIGH, 0, KNEE, FOOT]) ** 2 / 12
WEIGHT = MASS.sum() * G
N, HELD = 9, {0: [0, 1, 2], 1: [0, 1, 2, 3], 2: [0, 1, 3]}  # coordinates; of each phase those that stay at zero
FREE = {phase: [i for i in range(N) if i not in held] for phase, held in HELD.items()}
DRIVEN = [4, 5, 6, 7, 8]

with evaluated(DODYN, ROOT, "feet", "period", PERIOD, *sys.argv[4:]) as f:
    PERIOD = f["evaluations/design"][0][0]
    cost, t, Q, U, phase = (f[name][0] for name in ("evaluations/cost", "trajectories/t", "trajectories/q", "trajectories/u", "trajectories/phase"))
t, phase = t.ravel(), phase.ravel().astype(int)
ROWS = [np.flatnonzero(phase == i) for i in range(3)]
STEP = [(t[rows[-1]] - t[rows[0]]) / (len(rows) - 1) for rows in ROWS]


def figure(q):
    """Toe, heel, ankle, knee, hip, and down the other leg knee, ankle, heel, toe: [9, 2]; the masses' places [9, 2] and angles [9]."""
    across, up = lambda a: np.array([np.cos(a), np.sin(a)]), lambda a: np.array([-np.sin(a), np.cos(a)])
    sole, foot = q[2], q[2] + q[3]
    shank = foot + q[4]
    thigh = shank + q[5]
    other = thigh + q[6]
    calf = other + q[7]
    last = calf + q[8]
    heel = q[:2] - FOOT * across(sole)
    ankle = heel + ANKLE * across(foot) + HEIGHT * up(foot)
    knee = ankle + KNEE * up(shank)
    hip = knee + THIGH * up(thigh)
    knee2 = hip - THIGH * up(other)
    ankle2 = knee2 - KNEE * up(calf)
    heel2 = ankle2 - ANKLE * across(last) - HEIGHT * up(last)
    toe2 = heel2 + FOOT * across(last)
    points = np.array([heel + FOOT * across(foot), heel, ankle, knee, hip, knee2, ankle2, heel2, toe2])
    middle = lambda h, a: h + FOOT / 3 * across(a) + HEIGHT / 3 * up(a)
    places = np.array([middle(heel, foot), (ankle + knee) / 2, knee, (knee + hip) / 2, hip, (hip + knee2) / 2, knee2, (knee2 + ankle2) / 2, middle(heel2, last)])
    return points, places, np.array([foot, shank, shank, thigh, thigh, other, calf, calf, last])


points, places = lambda q: figure(q)[0], lambda q: figure(q)[1]
slope = lambda f, x, v: np.imag(f(x + 1e-30j * v)) / 1e-30
speeds = lambda q, v: slope(places, q, v)
turns = lambda q, v: slope(lambda z: figure(z)[2], q, v)


def mass_matrix(q):
    J, W = np.array([speeds(q, e) for e in np.eye(N)]), np.array([turns(q, e) for e in np.eye(N)])
    return np.einsum("aij,bij,i->ab", J, J, MASS) + np.einsum("ai,bi,i->ab", W, W, LINE)


def lagrangian(q, v):
    """With complex q or v: the other one real."""
    J = sum(np.multiply.outer(e, speeds(q, unit)) for e, unit in zip(v, np.eye(N)))
    W = sum(e * turns(q, unit) for e, unit in zip(v, np.eye(N)))
    return (MASS @ (J**2).sum(axis=1) + LINE @ W**2) / 2 - G * MASS @ places(q)[:, 1]


def ends(q0, q1, h, u):
    """What an interval takes from the momentum at its first node, and gives to that at its second."""
    middle, v = (q0 + q1) / 2, (q1 - q0) / h
    p = mass_matrix(middle) @ v
    e = 1e-5 * np.eye(N)  # dL/dq by differences of fourth order: speeds take the complex step
    dL = lambda i, s: lagrangian(middle + s * e[i], v) - lagrangian(middle - s * e[i], v)
    pull = np.array([(8 * dL(i, 1) - dL(i, 2)) / 12e-5 for i in range(N)])
    pull[DRIVEN] += u
    return p - h / 2 * pull, p + h / 2 * pull


def whole(q, v, about):
    """Linear momentum of the whole, and angular momentum about a point."""
    r, u = places(q) - about, speeds(q, v)
    return MASS @ u, MASS @ (r[:, 0] * u[:, 1] - r[:, 1] * u[:, 0]) + LINE @ turns(q, v)


def pushes(force, moment, phase, what):
    """A force or impulse of the ground: its cone, and where it acts, from the toe on."""
    assert abs(force[0]) <= MU * force[1] + 1e-6, f"{what}: ({force[0]:.6g}, {force[1]:.6g}) is outside the friction cone"
    at = moment / force[1]
    low, high = {0: (-FOOT, -FOOT), 1: (-FOOT, 0), 2: (0, 0)}[phase]
    assert low - 1e-7 <= at <= high + 1e-7, f"{what}: the ground pushes {at:.9f} m from the toe, allowed {low} to {high}"
    return abs(force[0]) / force[1]


toe = np.zeros(2)
worst, friction, least, reach = 0.0, 0.0, np.inf, []
slots = [[ends(Q[k], Q[k + 1], STEP[i], U[k]) for k in rows[:-1]] for i, rows in enumerate(ROWS)]
for i, rows in enumerate(ROWS):
    h = STEP[i]
    assert np.allclose(np.diff(t[rows]), h, rtol=1e-8) and np.abs(Q[rows][:, HELD[i]]).max() == 0.0
    # over an interval, momenta of the whole at its middle and what gravity does to them
    halves = []
    for k in rows[:-1]:
        q, v = (Q[k] + Q[k + 1]) / 2, (Q[k + 1] - Q[k]) / h
        halves.append((*whole(q, v, toe), -G * MASS @ places(q)[:, 0]))
    for k in range(1, len(rows) - 1):
        worst = max(worst, np.abs((slots[i][k][0] - slots[i][k - 1][1])[FREE[i]]).max())
        force = (halves[k][0] - halves[k - 1][0]) / h + [0, WEIGHT]
        moment = (halves[k][1] - halves[k - 1][1]) / h - (halves[k][2] + halves[k - 1][2]) / 2
        friction, least = max(friction, pushes(force, moment, i, f"phase {i}, node {k}")), min(least, force[1])
        if i == 1:
            reach.append(moment / force[1])



def solve(q, p, free):
    v = np.zeros(N)
    v[free] = np.linalg.solve(mass_matrix(q)[np.ix_(free, free)], p[free])
    return v


before = [solve(Q[rows[-1]], slots[i][-1][1], FREE[i]) for i, rows in enumerate(ROWS)]
after = [solve(Q[rows[0]], slots[i][0][0], FREE[i]) for i, rows in enumerate(ROWS)]

# the foot slaps down: what goes on moving keeps its momentum, the ground takes the rest between heel and toe
q = Q[ROWS[1][0]]
slap = max(np.abs(q - Q[ROWS[0][-1]]).max(), np.abs((slots[1][0][0] - slots[0][-1][1])[FREE[1]]).max())
(P0, H0), (P1, H1) = whole(q, before[0], toe), whole(q, after[1], toe)
if np.linalg.norm(P1 - P0) > 1e-9:
    pushes(P1 - P0, H1 - H0, 1, "the foot's slap")
assert before[0][3] <= 1e-9, "the foot does not come down"
# the heel lifts: everything goes on as it moves
q = Q[ROWS[2][0]]
lift = max(np.abs(q - Q[ROWS[1][-1]]).max(), np.abs(after[2] - before[1]).max())
# the other heel comes down a stride ahead, bodies go on in the other leg's place but for an impulse at that heel
end, first = Q[ROWS[2][-1]], Q[ROWS[0][0]]
ahead = np.array([STRIDE, 0.0])
again = max(np.abs(points(end)[::-1] - points(first) - ahead).max(), np.abs(places(end)[::-1] - places(first) - ahead).max())
u, w = speeds(end, before[2])[::-1], turns(end, before[2])[::-1]
kept = np.array([np.sum(MASS[:, None] * u * speeds(first, e)) + LINE @ (w * turns(first, e)) for e in np.eye(N)])
jump = np.abs((kept - slots[0][0][0])[FREE[0]]).max()
heel = points(end)[7]
(P0, H0), (P1, H1) = whole(end, before[2], heel), whole(first, after[0], heel - ahead)
impulse, landing = P1 - P0, abs(H1 - H0)
knock = abs(impulse[0]) / impulse[1]
assert impulse[1] > 0 and knock <= MU + 1e-9 and slope(points, end, before[2])[7, 1] <= 1e-9, "no landing"

# ranges, limits, heights
degree = np.pi / 180
for c, low, high in ((2, -80, 0), (3, 0, 45), (4, -40, 40), (8, -40, 40), (5, 0, 75), (7, -75, 0), (6, -90, 90)):
    assert Q[:, c].min() > low * degree - 1e-7 and Q[:, c].max() < high * degree + 1e-7, c
assert np.abs(U).max() < 60 + 1e-6
heights = np.inf
for i, rows in enumerate(ROWS):
    for k in rows[:-1]:
        for s in np.linspace(0, 1, 20, endpoint=False):
            heights = min(heights, points(Q[k] + s * (Q[k + 1] - Q[k]))[7:, 1].min())
    for k in rows if i == 1 else []:
        for x, y in points(Q[k])[7:]:
            assert y > CLEARANCE * np.exp(-((x / 0.2) ** 2)) - 1e-7, "the swing foot does not clear the ground"
assert heights > -1e-3, heights

# the period and the cost: positive work by the rates at both ends of each interval, and heat
work = heat = 0.0
for i, rows in enumerate(ROWS):
    v = np.vstack([after[i], (Q[rows[2:]] - Q[rows[:-2]]) / (2 * STEP[i]), before[i]])[:, DRIVEN]
    u = U[rows[:-1]]
    work += STEP[i] / 2 * (np.clip(u * v[:-1], 0, None) + np.clip(u * v[1:], 0, None)).sum()
    heat += STEP[i] * 0.02 * (u**2).sum()
anew, lasts = (work + heat) / (WEIGHT * STRIDE), [h * (len(rows) - 1) for h, rows in zip(STEP, ROWS)]
print(f"feet: cost {cost:.9g}, anew {anew:.9g}; on the heel {lasts[0]:.4f} s, flat {lasts[1]:.4f}, on the toe {lasts[2]:.4f}; equations {worst:.1e}, slap {slap:.1e}, "
      f"lift {lift:.1e}, jump {jump:.1e}, moment about the landing heel {landing:.1e}, repeats {again:.1e}; normal force {least:.1f} N at least, friction {friction:.3f}, at the "
      f"landing {knock:.3f}; flat, the ground pushes {min(reach):.3f} to {max(reach):.3f} m from the toe; swing foot between nodes {heights:.1e} m")
assert worst < 1e-7 and slap < 1e-7 and lift < 1e-6 and jump < 1e-7 and landing < 1e-7 and again < 1e-8
assert least > 0
assert abs(sum(lasts) - PERIOD) < 1e-9
assert abs(anew - cost) < 1e-7, "the cost is not what it should be"
