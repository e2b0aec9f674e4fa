#!/usr/bin/python3
"""Examines optimal motions of rigid bodies by what `dodyn solve --output` writes: numpy, with the bodies' and obstacles' numbers
written down here, not read from the models.

    examine_motion.py DODYN ROOT CONFIG [--KEY VALUE ...]

Worked out anew from q and u: the discrete equations of motion (in space the momentum pi = (1/h) sum_ab E_ab d_a(k) x d_b(k+1) of
directors, Johnson 2013, 4.8), rest at the ends, the balance of linear and angular momentum about the origin, impacts (impulse through the
corner that touches, along the wall's normal or in the cone of friction, the law of restitution), the sum of the cost, the limit on turns, and by separating axes on a mesh
20 times finer that nothing overlaps by more than the sag of arcs."""

import csv
import os
import subprocess
import sys
import tempfile

import numpy as np

from boxes import box, gaps, inertia, rotation, steadily

DODYN, ROOT, CONFIG = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
EXTRA = sys.argv[4:]


UNIT, PLAY = 0.02, 0.001
U2 = 2 * UNIT - PLAY
L = [((0.1, 0.1, 0.1), at) for at in ((0, 0, 0), (0.1, 0, 0), (0, 0.1, 0))]  # three cubes
CASES = {
    "piano-mover": dict(
        dimension=2, turn=0.2,
        bodies={"rod": ([((2.5, 0.15), (0, 0))], 1 / (2.5 * 0.15))}, names={"rod": ("x", "y", "theta")},
        pushes={"rod": ("push_x", "push_y", "turn")},
        walls=[box((3, 3), (1.5, 3.5)), box((4, 1), (2, 0.5)), box((1, 5), (4.5, 2.5))],
        start={"rod": ((1.5, 1.5), 0)}, goal={"rod": ((3.5, 3.5), np.pi / 2)}),
    "satellites": dict(
        dimension=3, turn=1.0,
        bodies={"target": (L, 27), "chaser": (L, 27)},
        walls=[]),
    "cube-wall": dict(
        dimension=3, turn=1.0,
        bodies={"cube": ([((0.1, 0.1, 0.1), (0, 0, 0))], 27)},
        walls=[box((2, 0.2, 2), (0, -0.1, 0))], names3=("%s", "cube_%s"),
        pushes={"cube": ("push_x", "push_y", "push_z", "turn_x", "turn_y", "turn_z")},
        velocity={"cube": ((0, -0.25, 0), (0, 0.25, 0))},
        impacts=[dict(body="cube", of=None, normal=(0, 1, 0), restitution=1.0)]),
    "two-cubes": dict(
        dimension=3, turn=1.0,
        bodies={name: ([((0.1, 0.1, 0.1), (0, 0, 0))], 27) for name in ("blue", "green")},
        pushes={"blue": [f"blue_{what}_{a}" for what in ("push", "turn") for a in "xyz"], "green": ()},
        walls=[], velocity={"blue": ((0.25, 0, 0), (0, 0, 0))}, free_end=("green",),
        impacts=2 * [dict(body="blue", of="green", normal=(-1, 0, 0), restitution=0.5)]),
    "dice": dict(
        dimension=3, turn=1.0, gravity=(0, 0, -9.81), names3=("%s", "die_%s"),
        bodies={"die": ([((0.02, 0.02, 0.02), (0, 0, 0))], 1000)}, pushes={"die": ()},
        walls=[box((0.1, 10, 4), (0.15, 0, 1.95)), box((10, 10, 0.1), (0, 0, -0.05))], free_start=("die",), free_end=("die",),
        impacts=[dict(body="die", of=None, normal=(-1, 0, 0), at=(0.1, 0, 0), restitution=1.0),
                 dict(body="die", of=None, normal=(0, 0, 1), restitution=0.0, stays=True)]),
    "burr": dict(
        dimension=3, turn=0.5,
        bodies={"a": ([((U2, U2, U2), (-2 * UNIT - PLAY / 2, 0, 0)), ((U2, U2, U2), (2 * UNIT + PLAY / 2, 0, 0)),
                       ((2 * UNIT + 2 * PLAY, UNIT - PLAY, UNIT - PLAY), (0, -UNIT / 2, -UNIT / 2))], 700),
                "b": ([((U2, U2, U2), (0, -2 * UNIT - PLAY / 2, 0)), ((U2, U2, U2), (0, 2 * UNIT + PLAY / 2, 0)),
                       ((UNIT - PLAY, 2 * UNIT + 2 * PLAY, UNIT - PLAY), (-UNIT / 2, 0, UNIT / 2))], 700),
                "key": ([((UNIT - PLAY, UNIT - PLAY, 6 * UNIT), (UNIT / 2, UNIT / 2, 0))], 700)},
        pushes={name: [f"{name}_{what}_{a}" for what in ("push", "turn") for a in "xyz"] for name in ("a", "b", "key")},
        walls=[], together=True),
}
case = CASES[CONFIG]
D = case["dimension"]
option = {EXTRA[i][2:]: EXTRA[i + 1] for i in range(0, len(EXTRA), 2)}
PENALTY = option.get("motion.contact") == "penalty"  # in place of impacts: an energy C/2 s^2 of every corner behind the wall's plane
STIFF, WIDTH = float(option.get("motion.contact-stiffness", 20)), float(option.get("motion.contact-width", 1e-4))
laws = case.pop("impacts", [])
clauses = dict((clause.split() + [""])[:2] for clause in option.get("contact.wall.law", "").split(",") if clause)
for law in laws if clauses else ():
    law.update({name: float(value) if value else True for name, value in clauses.items()})
if "initial-state.cube" in option:
    start = option["initial-state.cube"].split("velocity")[1].split(",")[0]
    case["velocity"]["cube"] = (tuple(map(float, start.split())), case["velocity"]["cube"][1])
if not PENALTY:
    case["impacts"] = laws

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "motion.csv")
    out = subprocess.run([DODYN, "solve", os.path.join(ROOT, "configs", CONFIG + ".cfg"), "--output", path, *EXTRA], check=True,
                         cwd=folder, capture_output=True, text=True).stdout
    cost = next(float(line.split()[1]) for line in out.splitlines() if line.startswith("cost "))
    rows = list(csv.reader(open(path)))
column = {name.split(" [")[0]: i for i, name in enumerate(rows[0])}
values = np.array([[float(x) for x in row] for row in rows[1:]])
get = lambda name: values[:, column[name]]
t, phase = get("t"), get("phase").astype(int)
pieces = [np.flatnonzero(phase == i) for i in range(phase.max() + 1)]


class Body:
    def __init__(self, name):
        parts, density = case["bodies"][name]
        self.mass, self.centre, self.E = inertia(parts, density)
        self.parts = [box(s, a) for s, a in parts]
        self.radius = max(np.linalg.norm(c - self.centre, axis=1).max() for c in self.parts)
        if D == 2:
            x, y, angle = (get("q." + n) for n in case["names"][name])
            self.R = np.array([[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in angle])
            self.angle, origin = angle, np.stack([x, y], 1)
        else:
            slides, turns = case.get("names3", (f"{name}_%s", f"{name}_turn_%s"))
            origin = np.stack([get("q." + slides % a) for a in "xyz"], 1)
            z, x, y = (get("q." + turns % a) for a in "zxy")  # the model's joint: about z, then x, then y
            self.R = np.array([rotation(2, a) @ rotation(0, b) @ rotation(1, c) for a, b, c in zip(z, x, y)])
        self.c = origin + self.R @ self.centre
        names = case.get("pushes", {}).get(name, [f"{name}_{what}_{a}" for what in ("thrust", "torque") for a in "xyz"])
        u = np.stack([get("u." + n) for n in names], 1) if len(names) else np.zeros((len(t), 6))  # nothing drives it
        self.f, self.tau = u[:, :D], u[:, D:]
        self.F, self.M = np.zeros((len(t), D)), np.zeros((len(t), 3 if D == 3 else 1))  # of the penalty at nodes
        self.depth = -np.inf
        for law in laws if PENALTY else ():
            assert law["of"] is None
            normal = np.array(law["normal"], float)
            for part in self.parts:
                for corner in part:
                    arm = self.R @ (corner - self.centre)
                    d = -(self.c + arm) @ normal
                    root = np.sqrt(d ** 2 + WIDTH ** 2)
                    push = STIFF * (d + root) / 2 * (1 + d / root) / 2
                    self.F += push[:, None] * normal
                    self.M += np.cross(arm, push[:, None] * normal)
                    self.depth = max(self.depth, d.max())

    def momenta(self, k, h):
        """Of the interval that begins at row k: linear, angular about the centre of mass."""
        p = self.mass * (self.c[k + 1] - self.c[k]) / h
        if D == 2:
            return p, np.array([np.trace(self.E) * (self.angle[k + 1] - self.angle[k]) / h])
        return p, sum(self.E[a, b] * np.cross(self.R[k][:, a], self.R[k + 1][:, b]) for a in range(3) for b in range(3)) / h

    def rates(self, k, p, pi):
        """Velocity and angular velocity with these momenta."""
        return p / self.mass, np.linalg.solve(self.R[k] @ (np.trace(self.E) * np.eye(3) - self.E) @ self.R[k].T, pi)

    def turn(self, k):
        if D == 2:
            return abs(self.angle[k + 1] - self.angle[k])
        return np.arccos(np.clip((np.trace(self.R[k].T @ self.R[k + 1]) - 1) / 2, -1, 1))

    def between(self, k, shares):
        """Centres of mass on a straight line, attitudes at a steady spin."""
        s = shares[:, None]
        c = (1 - s) * self.c[k] + s * self.c[k + 1]
        if D == 2:
            a = (1 - shares) * self.angle[k] + shares * self.angle[k + 1]
            return c, np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]).transpose(2, 0, 1)
        return c, steadily(self.R[k], self.R[k + 1], shares)


bodies = {name: Body(name) for name in case["bodies"]}
lead = None
cross = lambda r, f: np.array([r[0] * f[1] - r[1] * f[0]]) if D == 2 else np.cross(r, f)
worst = dict(equations=0.0, rest=0.0, balance=0.0, turn=0.0)
gravity = np.array(case.get("gravity", np.zeros(D)), float)
impacts = case.get("impacts", [])
assert len(impacts) == len(pieces) - 1, "impacts"


def lowest(law, k):
    """Of the body that touches: its lowest corner (a number and where it is), over which plane along which normal."""
    b, face = bodies[law["body"]], bodies.get(law["of"])
    normal = np.array(law["normal"], float) if face is None else face.R[k] @ law["normal"]
    plane = np.array(law.get("at", np.zeros(3)), float) if face is None else face.c[k] + 0.05 * normal
    corners = b.c[k] + (b.parts[0] - b.centre) @ b.R[k].T
    i = ((corners - plane) @ normal).argmin()
    return i, corners[i], plane, normal


effort, overlap, sag = 0.0, 0.0, 0.0

for number, rows_of in enumerate(pieces):
    stays = impacts[number - 1].get("stays") if number > 0 else False
    if stays:  # on a joint at the corner that touched
        corner, held, _, _ = lowest(impacts[number - 1], rows_of[0])
    h = (t[rows_of[-1]] - t[rows_of[0]]) / (len(rows_of) - 1)
    assert np.allclose(np.diff(t[rows_of]), h, rtol=1e-9), "intervals are not alike"
    for name, b in bodies.items():
        for k in rows_of[:-1]:
            effort += h * (b.f[k] @ b.f[k] + b.tau[k] @ b.tau[k])
            worst["turn"] = max(worst["turn"], b.turn(k))
            sag = max(sag, b.radius * b.turn(k) ** 2 / 8)
            if k == rows_of[0]:
                continue
            (p, pi), (p0, pi0) = b.momenta(k, h), b.momenta(k - 1, h)
            push = p - p0 - h / 2 * (b.f[k - 1] + b.f[k]) - h * (b.mass * gravity + b.F[k])
            turn = pi - pi0 - h / 2 * (b.tau[k - 1] + b.tau[k]) - h * b.M[k]
            if stays:  # what the joint gives acts at the corner: moments about it balance
                assert np.abs(b.c[k] + b.R[k] @ (b.parts[0][corner] - b.centre) - held).max() < 1e-9, "the corner slips"
                worst["equations"] = max(worst["equations"], np.abs(turn + np.cross(b.c[k] - held, push)).max())
                continue
            worst["equations"] = max(worst["equations"], np.abs(push).max(), np.abs(turn).max())
            # of the whole interval about the origin: momentum at its end minus that at its start is what pushed
            at = lambda i, of, sign: (of[0] + sign * h / 2 * (b.f[j] + b.mass * gravity + b.F[i]), of[1] + sign * h / 2 * (b.tau[j] + b.M[i]))
            j = k
            start, end = at(k, (p, pi), -1), at(k + 1, (p, pi), 1)
            L0 = cross(b.c[k], start[0]) + start[1]
            L1 = cross(b.c[k + 1], end[0]) + end[1]
            T = h / 2 * cross(b.c[k] + b.c[k + 1], b.f[k] + b.mass * gravity) + h * b.tau[k]
            T = T + h / 2 * (cross(b.c[k], b.F[k]) + cross(b.c[k + 1], b.F[k + 1]) + b.M[k] + b.M[k + 1])
            worst["balance"] = max(worst["balance"], np.abs(L1 - L0 - T).max())
    # overlap on a finer mesh
    shapes = [(name, part) for name, b in bodies.items() for part in b.parts]
    shares = np.arange(20) / 20
    upright = np.repeat(np.eye(D)[None], len(shares), 0)
    for k in rows_of[:-1]:
        placed = []
        for name, part in shapes:
            c, R = bodies[name].between(k, shares)
            placed.append((name, c[:, None] + (part - bodies[name].centre) @ R.transpose(0, 2, 1), R))
        for i, (name, corners, R) in enumerate(placed):
            for other, corners2, R2 in placed[i + 1:]:
                if other != name:
                    overlap = max(overlap, -gaps(corners, R, corners2, R2).min())
            for wall in () if PENALTY else case["walls"]:
                overlap = max(overlap, -gaps(corners, R, np.repeat(wall[None], len(shares), 0), upright).min())

first, last = pieces[0][0], pieces[-1][-1]
for name, b in bodies.items():
    h0, h1 = t[pieces[0][1]] - t[first], t[last] - t[pieces[-1][-2]]
    (p, pi), (q, qi) = b.momenta(first, h0), b.momenta(last - 1, h1)
    v0, v1 = (np.array(v, float) for v in case.get("velocity", {}).get(name, (np.zeros(D), np.zeros(D))))
    q, qi = q + h1 / 2 * b.f[last - 1], qi + h1 / 2 * b.tau[last - 1]
    if name not in case.get("free_start", ()):
        worst["rest"] = max(worst["rest"], np.abs(p - h0 / 2 * b.f[first] - b.mass * v0).max(),
                            np.abs(pi - h0 / 2 * b.tau[first]).max())
    if case.get("together"):  # at the end they move as one body
        v, w = b.rates(last, q, qi)
        lead = lead if name != "a" else (v, w, b.c[last])
        worst["rest"] = max(worst["rest"], b.mass * np.abs(v - lead[0] - np.cross(lead[1], b.c[last] - lead[2])).max(),
                            np.trace(b.E) * np.abs(w - lead[1]).max())
        assert np.abs((b.c[last] - b.R[last] @ b.centre) - (bodies["a"].c[last] - bodies["a"].R[last] @ bodies["a"].centre)).max() < 1e-8
        assert np.abs(b.R[last] - bodies["a"].R[last]).max() < 1e-7, "it is not put together"
    elif name not in case.get("free_end", ()):
        worst["rest"] = max(worst["rest"], np.abs(q - b.mass * v1).max(), np.abs(qi).max())
    for end, row in (("initial-state", first), ("goal", last)):
        if end in case:
            c, angle = case[end][name]
            assert np.abs(b.c[row] - c).max() < 1e-8 and abs(b.angle[row] - angle) < 1e-8, end

# impacts at the borders of pieces: one corner on one face, along its normal, by the law of restitution
for before, after, law in zip(pieces, pieces[1:], impacts):
    k, j = before[-1], after[0]
    h0, h1 = t[k] - t[before[-2]], t[after[1]] - t[j]
    _, low, plane, normal = lowest(law, k)
    face = bodies.get(law["of"])
    come, go = {}, {}
    for name, b in bodies.items():
        assert np.abs(b.c[k] - b.c[j]).max() < 1e-9 and np.abs(b.R[k] - b.R[j]).max() < 1e-9
        (p, pi), (q, qi) = b.momenta(k - 1, h0), b.momenta(j, h1)
        come[name] = (p + h0 / 2 * (b.f[k - 1] + b.mass * gravity), pi + h0 / 2 * b.tau[k - 1])
        go[name] = (q - h1 / 2 * (b.f[j] + b.mass * gravity), qi - h1 / 2 * b.tau[j])
    impulse = go[law["body"]][0] - come[law["body"]][0]
    print(f"impact at {t[k]:.6g} s: height {(low - plane) @ normal:.1e} m, impulse {impulse}")
    assert abs((low - plane) @ normal) < 1e-8, "the corner does not touch"
    if law.get("stays"):  # the first interval on the joint has half of its force, too, so that only moments about the corner tell
        b = bodies[law["body"]]
        moment = lambda of: of[1] + np.cross(b.c[k] - low, of[0])
        assert np.abs(moment(go[law["body"]]) - moment(come[law["body"]])).max() < 1e-9, "the impulse does not act at the corner"
        continue
    assert impulse @ normal > 0, "it pulls"
    for name, sign in [(law["body"], 1)] + ([(law["of"], -1)] if face else []):
        of = bodies[name]
        assert np.abs(go[name][0] - come[name][0] - sign * impulse).max() < 1e-9, "impulses are not opposite"
        assert np.abs(go[name][1] - come[name][1] - np.cross(low - of.c[k], sign * impulse)).max() < 1e-9, "the impulse does not act at the corner"

    def meets(momenta):
        """Velocity of the corner against the face."""
        u = np.zeros(3)
        for name, sign in [(law["body"], 1)] + ([(law["of"], -1)] if face else []):
            v, w = bodies[name].rates(k, *momenta[name])
            u += sign * (v + np.cross(w, low - bodies[name].c[k]))
        return u @ normal, u - (u @ normal) * normal

    (comes, _), (goes, slip) = meets(come), meets(go)
    assert comes < 0 and abs(goes + law["restitution"] * comes) < 1e-7, "the law of restitution"
    across, mu = impulse - (impulse @ normal) * normal, law.get("friction", 0.0)
    print(f"it slips at {np.linalg.norm(slip):.4g} m/s, braked by {np.linalg.norm(across) / (impulse @ normal):.6g} of the normal impulse")
    if law.get("stick"):
        assert np.abs(slip).max() < 1e-8 and np.linalg.norm(across) <= law.get("friction", np.inf) * (impulse @ normal) + 1e-9
    else:
        along = slip / np.linalg.norm(slip) if mu > 0 else slip
        assert np.abs(across + mu * (impulse @ normal) * along).max() < 1e-9, "the impulse is not that of friction"

print(f"{CONFIG}: cost {cost:.9g}, sum of squares {effort:.9g}; equations {worst['equations']:.1e}, ends {worst['rest']:.1e}, "
      f"balance {worst['balance']:.1e}, turn {worst['turn']:.4g} rad, overlap {overlap:.2e} m, sag {sag:.2e} m")
if PENALTY:
    depth = max(b.depth for b in bodies.values())
    told = next(float(line.split()[1]) for line in out.splitlines() if line.startswith("metrics.overlap_"))
    print(f"deepest overlap {1e3 * depth:.6g} mm")
    assert 0 < depth and abs(depth - told) < 1e-9
if CONFIG == "dice":  # upright and at rest: its middle, and points half a side along its axes
    b = bodies["die"]
    k, h1 = last, t[last] - t[last - 1]
    p, pi = b.momenta(last - 1, h1)
    # on the joint the last velocity turns about the corner, with the moment of momentum that arrives
    arm = b.c[k] - held
    J = b.R[k] @ (np.trace(b.E) * np.eye(3) - b.E) @ b.R[k].T + b.mass * (arm @ arm * np.eye(3) - np.outer(arm, arm))
    w = np.linalg.solve(J, pi + np.cross(arm, p + h1 / 2 * b.mass * gravity))
    points = [b.c[k]] + [b.c[k] + 0.01 * b.R[k][:, a] for a in range(3)]
    effort = (b.R[k][2, 2] - 1) ** 2 + sum(np.sum(np.cross(w, x - held) ** 2) for x in points)
    print(f"upright within {np.degrees(np.arccos(min(1, b.R[k][2, 2]))):.2f} deg, cost anew {effort:.9g}")
assert abs(effort - cost) < 1e-9 * max(1.0, cost), "the cost is not what it should be"
assert worst["equations"] < 1e-9 and worst["rest"] < 1e-9 and worst["balance"] < 1e-9
assert worst["turn"] < case["turn"] + 1e-9
assert overlap < 2 * sag + 1e-6
