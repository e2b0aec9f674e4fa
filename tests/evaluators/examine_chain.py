#!/usr/bin/python3
"""Examines the optimal motion of the shipped manipulator by what `dodyn solve --output` writes: numpy, with the chain's numbers
written down here, not read from the model.

    examine_chain.py DODYN ROOT --avoid.max-rotation RADIANS [--KEY VALUE ...]

The bars are free bodies here, joined by rows: with the momentum pi = (1/h) sum_ab E_ab d_a(k) x d_b(k+1) of directors (Johnson 2013,
4.8) what each bar lacks at a node is what its joints give; added up from the end of the chain on, it leaves forces and moments at
joints, whose parts along the hinges are the controls', as is all of it at the first bar, which is pushed as if it flew. Then rest at the
ends, the goal, the sum of the cost, and by separating axes on a mesh 20 times finer how far bars keep clear of the wall and of each other."""

import csv
import os
import subprocess
import sys
import tempfile

import numpy as np

from boxes import box, gaps, inertia, rotation, steadily

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
REACH, WIDTH, HOLE, DENSITY = 0.1, 0.04, 0.06, 700.0
SIZE, MIDDLE = (REACH - WIDTH, WIDTH, WIDTH), np.array([REACH / 2, 0, 0])
mass, _, E = inertia([(SIZE, MIDDLE)], DENSITY)
WEIGHT = mass * np.array([0, 0, -9.81])
BAR = box(SIZE, MIDDLE)
MARGIN = (HOLE + 0.15) / 2
WALL = [box((0.04, 0.4, 0.15), (0.03, 0, MARGIN)), box((0.04, 0.4, 0.15), (0.03, 0, -MARGIN)),
        box((0.04, 0.15, HOLE), (0.03, MARGIN, 0)), box((0.04, 0.15, HOLE), (0.03, -MARGIN, 0))]

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "motion.csv")
    out = subprocess.run([DODYN, "solve", os.path.join(ROOT, "configs", "manipulator.cfg"), "--output", path, *sys.argv[3:]],
                         check=True, cwd=folder, capture_output=True, text=True).stdout
    rows = list(csv.reader(open(path)))
said = {line.split()[0]: float(line.split()[1]) for line in out.splitlines()
        if line.startswith(("cost ", "metrics.")) and line.split()[1] != "-"}
column = {name.split(" [")[0]: i for i, name in enumerate(rows[0])}
values = np.array([[float(x) for x in row] for row in rows[1:]])
q = lambda *names: [values[:, column["q." + n]] for n in names]
u = lambda *names: np.stack([values[:, column["u." + n]] for n in names], 1)
t = values[:, column["t"]]
N, h = len(t), t[1] - t[0]
assert np.allclose(np.diff(t), h, rtol=1e-9)
push, turn = u(*(f"bar_1_push_{a}" for a in "xyz")), u(*(f"bar_1_turn_{a}" for a in "xyz"))
joints = [u("joint_2"), u("wrist_z", "wrist_x", "wrist_y"), u("joint_4")]
turned = lambda axis, angles: np.array([rotation(axis, a) for a in angles])
X, Y, Z = range(3)


def chain(origin, first, b2, z, x, y, b4):
    """Returns the origins and attitudes of the four bars, and for each of the three joints the axes of its hinges, in
    columns. Arguments: origins and attitudes of the first bar, and the angles of the joints."""
    second = first @ turned(Y, b2)
    about_z = second @ turned(Z, z)
    about_x = about_z @ turned(X, x)
    third = about_x @ turned(Y, y)
    R = [first, second, third, third @ turned(Y, b4)]
    o = [origin]
    for before in R[:3]:
        o.append(o[-1] + before @ [REACH, 0, 0])
    return o, R, [second[:, :, [Y]], np.stack([second[:, :, Z], about_z[:, :, X], third[:, :, Y]], 2), R[3][:, :, [Y]]]


origin = np.stack(q("x", "y", "z"), 1)
first = np.array([rotation(Z, a) @ rotation(X, b) @ rotation(Y, c) for a, b, c in zip(*q("bar_1_z", "bar_1_x", "bar_1_y"))])
angles = q("bar_2", "wrist_z", "wrist_x", "wrist_y", "bar_4")
o, R, axes = chain(origin, first, *angles)
c = [o[b] + R[b] @ MIDDLE for b in range(4)]


def momenta(b, k):
    """Returns the momentum of bar b in interval k, and its angular momentum about the centre of mass."""
    return (mass * (c[b][k + 1] - c[b][k]) / h,
            sum(E[i, j] * np.cross(R[b][k][:, i], R[b][k + 1][:, j]) for i in range(3) for j in range(3)) / h)


worst = 0.0
for k in range(N):
    # F, M: changes of the momenta of each bar at node k, without gravity; the motion starts and ends at rest
    F, M = [], []
    for b in range(4):
        rest = (np.zeros(3), np.zeros(3))
        (p, pi), (before, spin) = momenta(b, k) if k < N - 1 else rest, momenta(b, k - 1) if k > 0 else rest
        F.append(p - before - WEIGHT * h * (0.5 if k in (0, N - 1) else 1.0))
        M.append(pi - spin)
    given = lambda of: h / 2 * ((of[k] if k < N - 1 else 0) + (of[k - 1] if k > 0 else 0))
    for j in range(3):  # moments of the bars beyond the joint about it
        beyond = range(j + 1, 4)
        moment = sum(M[b] + np.cross(c[b][k] - o[j + 1][k], F[b]) for b in beyond)
        worst = max(worst, np.abs(axes[j][k].T @ moment - given(joints[j])).max())
    whole = sum(M[b] + np.cross(c[b][k] - c[0][k], F[b]) for b in range(4))
    worst = max(worst, np.abs(sum(F) - given(push)).max(), np.abs(whole - given(turn)).max())

goal = [np.abs(a[-1] - at) for a, at in zip(angles, (np.pi / 2, 0, 0, -np.pi / 2, np.pi / 2))]
middle = o[2][-1]
assert max(goal) < 1e-8 and -0.03 - 1e-8 < middle[0] < -0.01 + 1e-8 and np.abs(middle[1:]).max() < 0.01 + 1e-8
assert (R[3][-1] @ [REACH, 0, 0])[2] <= -0.8 * REACH + 1e-8, "the hook does not hang down"
assert np.abs(origin[0] - [-0.4, 0, 0]).max() < 1e-8 and np.abs(first[0] - np.eye(3)).max() < 1e-8
assert max(abs(a[0]) for a in angles) < 1e-8

steps = [np.arccos(np.clip((np.trace(Rb[k].T @ Rb[k + 1]) - 1) / 2, -1, 1)) for Rb in R for k in range(N - 1)]
shares, least, sag, deepest = np.arange(21) / 20, {"bars": np.inf, "neighbours": np.inf, "wall": np.inf}, 0.0, -np.inf
at_nodes = np.inf
upright = np.repeat(np.eye(3)[None], len(shares), 0)
wrist = R[1].transpose(0, 2, 1) @ R[2]
on_way = lambda a, k: (1 - shares) * a[k] + shares * a[k + 1]


def arc(x):
    """Returns the largest distance of corners from the chords of their paths. The planes separate both ends, and so
    the chords."""
    s = shares[:, None, None]
    return np.linalg.norm(x - (1 - s) * x[0] - s * x[-1], axis=2).max()


for k in range(N - 1):
    # between nodes: constant spin of the first bar and of the wrist, constant rates of the other hinges
    Rs = [steadily(first[k], first[k + 1], shares)]
    Rs.append(Rs[0] @ turned(Y, on_way(angles[0], k)))
    Rs.append(Rs[1] @ steadily(wrist[k], wrist[k + 1], shares))
    Rs.append(Rs[2] @ turned(Y, on_way(angles[4], k)))
    at = [np.outer(1 - shares, origin[k]) + np.outer(shares, origin[k + 1])]
    for before in Rs[:3]:
        at.append(at[-1] + before @ [REACH, 0, 0])
    corners = [x[:, None] + BAR @ Rb.transpose(0, 2, 1) for x, Rb in zip(at, Rs)]
    pairs = [("neighbours" if b == a + 1 else "bars", a, corners[b], Rs[b]) for a in range(4) for b in range(a + 1, 4)]
    pairs += [("wall", a, np.repeat(part[None], len(shares), 0), upright) for a in range(4) for part in WALL]
    for kind, a, other, turns in pairs:
        gap, strays = gaps(corners[a], Rs[a], other, turns), arc(corners[a]) + arc(other)
        least[kind], sag, at_nodes = min(least[kind], gap.min()), max(sag, strays), min(at_nodes, gap[0], gap[-1])
        asked = -1e-3 if kind == "neighbours" else 0.0
        deepest = max(deepest, asked - gap[0], asked - gap[-1], asked - gap.min() - strays)

effort = h * sum(np.sum(of[:-1] ** 2) for of in (push, turn, *joints))
print(f"cost {said['cost']:.9g}, sum of squares {effort:.9g}; equations {worst:.1e}, turn {max(steps):.4g} rad, gaps "
      + ", ".join(f"{name} {1e3 * gap:.4g} mm" for name, gap in least.items()) + f", arcs off chords by {1e3 * sag:.4g} mm, nearer than that explains by {1e3 * deepest:.2g} mm")
assert worst < 1e-9 and abs(effort - said["cost"]) < 1e-9 * said["cost"]
assert max(steps) < float(sys.argv[sys.argv.index("--avoid.max-rotation") + 1]) + 1e-9
assert deepest < 1e-6, "bars go through each other or the wall"
# The program measures overlaps along facets and contacts; separating axes include those of pairs of edges.
assert -5e-5 < said["metrics.clearance_at_nodes"] - at_nodes < 1e-9, (said["metrics.clearance_at_nodes"], at_nodes)
