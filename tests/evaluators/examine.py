#!/usr/bin/python3
"""Examines the gait of a shipped study from its archive alone, with numpy. The kinematics and the Lagrangian are read from the model file here
and differentiated by complex steps.

    examine.py DODYN ROOT CONFIG [NAME=VALUE ...] [--KEY VALUE ...]

NAME=VALUE set the design at which the study's gait is examined (its optimum); keys reduce the cost of the solve. Only the command line of the
program is used. Computed again from q and u: the discrete Euler-Lagrange equations, the ground's force and its cone, the jump at touch-down,
the exchange of the legs and the footprint, ranges, limits, clearance, and the cost. In space, at 20 points of every interval: the distance of
legs with thickness, and the side on which they pass each other. For a study with scenarios: the gait of each scenario, and the mean cost."""

import os
import re
import subprocess
import sys
import tempfile

import h5py
import numpy as np

DODYN, ROOT, CONFIG = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
FIRST = next((i for i, a in enumerate(sys.argv) if a.startswith("--")), len(sys.argv))
AT = [(a.split("=")[0], float(a.split("=")[1])) for a in sys.argv[4:FIRST]]
EXTRA = sys.argv[FIRST:]
UNITS = {"deg": np.pi / 180, "cm": 0.01, "mm": 0.001}


def sections(path):
    found, current = [], None
    for line in open(path):
        line = line.split("#")[0].strip()
        if line.startswith("["):
            kind, _, name = line[1:-1].partition(" ")
            current = {}
            found.append((kind, name, current))
        elif line:
            key, _, value = line.partition("=")
            current[key.strip()] = value.strip()
    return found


def number(text, values={}):
    text = re.sub(r"([\d.]+)\s*(deg|cm|mm)\b", lambda m: f"({m[1]}*{UNITS[m[2]]!r})", text).replace("^", "**")
    return float(eval(text, {"pi": np.pi, "sin": np.sin, "cos": np.cos, "tan": np.tan}, values))


# ---- what the study asks for
PATHS = [os.path.join(ROOT, folder, CONFIG + ".cfg") for folder in ("configs", "configs/published", "tests/studies")]
PATH = next(path for path in PATHS if os.path.exists(path))
STUDY = sections(PATH)
ASKED = {f"{kind}.{key}": value for kind, name, entries in STUDY if not name for key, value in entries.items()}
ASKED.update({EXTRA[i][2:]: EXTRA[i + 1] for i in range(0, len(EXTRA), 2)})
SCENARIOS = {name: entries for kind, name, entries in STUDY if kind == "scenario"}
DERIVED = {key[11:]: value for key, value in ASKED.items() if key.startswith("parameters.")}
DESIGN = {"step-length": 0.56, "period": 0.9, "knee": 0.5}
DESIGN.update({k[7:]: number(v) for k, v in ASKED.items() if k.startswith("design.") and not k.endswith((".min", ".max"))})
DESIGN.update(AT)


def decoded(names):
    return [n.decode() if isinstance(n, bytes) else n for n in names]


with tempfile.TemporaryDirectory() as folder:
    archive = os.path.join(folder, "gait.h5")
    tight = [x for name, value in AT for x in (f"--design.{name}.min", repr(value - 1e-6 * abs(value) - 1e-9), f"--design.{name}.max", repr(value + 1e-6 * abs(value)))]
    done = subprocess.run([DODYN, "run", PATH, "--study.archive", archive, "--strategy", "sweep",
                           "--surrogate.points", "1", "--study.max-evaluations", "1", *tight, *EXTRA],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    with h5py.File(archive, "r") as f:
        assert f["evaluations/status"][0] == 0, f["evaluations/reason"][0]
        DESIGN.update(zip(decoded(f["evaluations/design"].attrs["names"]), f["evaluations/design"][0]))
        TOLD = f["evaluations/cost"][0]
        METRICS = dict(zip(decoded(f["evaluations/metrics"].attrs["names"]), f["evaluations/metrics"][0]))
        channel = lambda scenario, what: f[f"trajectories/{scenario}{':' if scenario else ''}{what}"][0]
        MOTIONS = {name: (channel(name, "q"), channel(name, "u")[:-1]) for name in SCENARIOS or [""]}  # the last node repeats the controls


get = lambda key, default: number(ASKED[key]) if key in ASKED else default


def turned(axis, angle):
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def gradient(f, x):
    return np.array([f(x + row).imag / 1e-30 for row in np.eye(len(x)) * 1e-30j])


def examine(scenario, design, Q, U, cost):
    """Checks one gait: the design with the scenario's settings, nodes and torques, and the stated cost.
    It is one function, because it is one derivation from the model file to the residuals, in the order and the symbols of the source."""
    # ---- the model, read from its text
    file = ASKED.get("gait.model", "planar-biped").split("/")[-1].removesuffix(".model") + ".model"
    model = sections(next(path for path in (os.path.join(os.path.dirname(PATH), file), os.path.join(ROOT, "models", file)) if os.path.exists(path)))
    of_kind = lambda kind: [(name, entries) for k, name, entries in model if k == kind]
    head, given = of_kind("model")[0][1], dict(design)
    P = {}
    for key, value in of_kind("parameters")[0][1].items():
        P[key] = given[key] if key in given else number(value, P)
    value = lambda text: number(text, P)
    DIM = int(head["dimension"])
    AXIS = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}
    UP = AXIS["y" if DIM == 2 else "z"]
    pull = head.get("gravity", "9.81")  # a number, downwards, or a vector
    GRAVITY = np.array([value(x) for x in pull.split(",")] + [0.0])[:3] if "," in pull else -value(pull) * UP

    def vector(text):
        v = [value(x) for x in text.split(",")]
        return np.array(v + [0.0] * (3 - len(v)))

    links, names, bodies, index = [], [], [], {}  # bodies: link, place, mass, inertia about it
    for name, e in of_kind("link"):
        parent = -1 if e["parent"] == "ground" else index[e["parent"]]
        moves = []
        for part in e["joint"].split("+"):
            kind, _, axes = part.strip().partition(" ")
            if kind == "point":
                moves += [("slide", AXIS[a]) for a in "xyz"[:DIM]]
            elif kind == "revolute":
                moves.append(("turn", AXIS[axes or "z"]))
            elif kind == "spherical":
                moves += [("turn", AXIS[a.lower()]) for a in axes]
            else:
                assert kind == "fixed", part
        default = [f"{name}_{'xyz'[int(np.argmax(a))]}" if kind == "turn" and len(moves) > 1 and DIM == 3 else "xyz"[int(np.argmax(a))] if kind == "slide" else name for kind, a in moves]
        own = [c.strip() for c in e["coordinates"].split(",")] if "coordinates" in e else default
        end = vector(e.get("end", "0"))
        at = vector(e["at"]) if "at" in e else (links[parent]["end"] if parent >= 0 else np.zeros(3))
        index[name] = len(links)
        links.append(dict(parent=parent, moves=moves, at=at, end=end, first=len(names), partner=e.get("counterpart", name)))
        names += own
        if "mass" in e:
            I = [value(x) for x in e.get("inertia", "0").split(",")]
            bodies.append((index[name], vector(e["centre"]) if "centre" in e else end / 2, value(e["mass"]), np.diag(I if DIM == 3 and len(I) == 3 else [0, 0, I[0]])))
    for _, e in of_kind("mass"):
        bodies.append((index[e["link"]], vector(e.get("at", "0")), value(e["mass"]), np.zeros((3, 3))))
    N = len(names)
    assert Q.shape[1] == N
    drives = [names.index(e["coordinate"]) for _, e in of_kind("actuator")]
    B = np.zeros((N, len(drives)))
    B[drives, range(len(drives))] = 1
    driven = [(names.index(e["place"]), value(e["mass"])) for _, e in of_kind("rotor")]  # flywheels behind gears, at a joint's angle
    springs = [(names.index(e["coordinate"]), value(e.get("stiffness", "0")), value(e.get("rest", "0")), value(e.get("damping", "0"))) for _, e in of_kind("spring")]

    def frames(q, v):
        """Returns position, rotation, velocity and angular velocity of every link."""
        all_ = []
        for l in links:
            x, R, u, w = (np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)) if l["parent"] < 0 else all_[l["parent"]]
            arm = R @ l["at"]
            x, u = x + arm, u + np.cross(w, arm)
            for i, (kind, axis) in enumerate(l["moves"]):
                c = l["first"] + i
                along = R @ axis
                if kind == "slide":
                    x, u = x + along * q[c], u + along * v[c] + np.cross(w, along * q[c])
                else:
                    w, R = w + along * v[c], R @ turned(axis, q[c])
            all_.append((x, R, u, w))
        return all_

    def moving(q, v):
        """Returns position, velocity, angular velocity, inertia in the world frame and mass of every body."""
        f = frames(q, v)
        for link, at, mass, inertia in bodies:
            x, R, u, w = f[link]
            yield x + R @ at, u + np.cross(w, R @ at), w, R @ inertia @ R.T, mass

    def lagrangian(q, v):
        L = -sum(k / 2 * (q[c] - rest) ** 2 for c, k, rest, _ in springs) + sum(m / 2 * v[c] ** 2 for c, m in driven)
        for x, u, w, I, m in moving(q, v):
            L = L + m * (u @ u) / 2 + w @ I @ w / 2 + m * (x @ GRAVITY)
        return L

    h = design["period"] / len(U)
    K, base = len(U), DIM

    def slots(a, b):
        d = gradient(lambda z: h * lagrangian((z[:N] + z[N:]) / 2, (z[N:] - z[:N]) / h), np.concatenate([a, b]).astype(complex))
        push = np.zeros(N)
        for c, _, _, damping in springs:
            push[c] = -damping * (b[c] - a[c]) / 2
        return d[:N] + push, d[N:] + push

    # ---- equations, ground
    D2, D4 = zip(*(slots(Q[k], Q[k + 1]) for k in range(K)))
    D2 = [d + h / 2 * B @ u for d, u in zip(D2, U)]
    D4 = [d + h / 2 * B @ u for d, u in zip(D4, U)]
    worst = max(abs((D4[k - 1] + D2[k])[base:]).max() for k in range(1, K))
    forces = np.array([-(D4[k - 1] + D2[k])[:base] / h for k in range(1, K)])
    normal, ratio = forces[:, -1].min(), (np.linalg.norm(forces[:, :-1], axis=1) / forces[:, -1]).max()

    # ---- touch-down: the momentum before it determines the rates. Bodies of exchanged legs keep their momenta, except
    # for an impulse at the new foot.
    momentum = lambda q, v: gradient(lambda w: lagrangian(q.astype(complex), w), v.astype(complex))
    unit = np.eye(N)
    still = np.zeros(N)
    inertia = lambda q: np.array([momentum(q, unit[i]) for i in range(base, N)])[:, base:]
    before = np.concatenate([np.zeros(base), np.linalg.solve(inertia(Q[K]), D4[K - 1][base:])])
    after = np.concatenate([np.zeros(base), np.linalg.solve(inertia(Q[0]), -D2[0][base:])])
    mirror = np.array([1.0, 1.0, 1.0] if DIM == 2 else [1.0, -1.0, 1.0])
    swing = index[head["swing-foot"]]
    place = lambda q, link, at: (lambda f: f[0] + f[1] @ at)(frames(q, still)[link])
    foot = place(Q[K], swing, links[swing]["end"])
    step = np.array([design["step-length"], 0, 0] if DIM == 2 else [design["step-length"], design.get("step-width", 0.2), 0])
    period = abs(foot - step).max()
    arriving = [(mirror * (x - foot), mirror * u, np.prod(mirror) * mirror * w, mirror[:, None] * I * mirror, m) for x, u, w, I, m in moving(Q[K], before)]
    leaving = list(moving(Q[0], still))
    pairs = []
    for x, u, w, I, m in arriving:
        distances = [np.linalg.norm(x - y[0]) + abs(m - y[4]) + np.abs(I - y[3]).max() for y in leaving]
        pairs.append(int(np.argmin(distances)))
        period = max(period, min(distances))
    assert sorted(pairs) == list(range(len(bodies))), pairs
    # A flywheel turns with the relative rotation of the links of its joint. After the exchange the partners' joint has
    # this speed, with opposite sign if the order of the links along the tree is reversed.
    joint = {l["first"]: (name, links[l["parent"]]) for name, l in zip(index, links)}
    taken = {}
    for c, m in driven:
        name, above = joint[c]
        mine, up = links[index[name]]["partner"], above["partner"]
        straight = links[index[mine]]["parent"] == index[up]
        to, sign = (links[index[mine]]["first"], 1.0) if straight else (links[index[up]]["first"], -1.0)
        assert straight or links[index[up]]["parent"] == index[mine], name
        assert m == dict(driven)[to]
        taken[to] = m * sign * before[c]
    jump = 0.0
    for j in range(base, N):
        rates = [(y[1], y[2]) for y in moving(Q[0], unit[j])]
        kept = sum(m * (u @ rates[to][0]) + w @ I @ rates[to][1] for (x, u, w, I, m), to in zip(arriving, pairs)) + taken.get(j, 0.0)
        jump = max(jump, abs(kept + D2[0][j]))
    impulse = sum(m * u for x, u, w, I, m in moving(Q[0], after)) - sum(m * u for x, u, w, I, m in arriving)
    across = np.linalg.norm(impulse - (impulse @ UP) * UP) / (impulse @ UP)

    # ---- ranges, limits, clearance
    slack = {}
    for name, e in of_kind("joint-limit") if ASKED.get("gait.joint-limits") != "none" else []:
        c = names.index(e["coordinate"])
        slack[name] = min(Q[:, c].min() - value(e["from"]) if "from" in e else np.inf, value(e["to"]) - Q[:, c].max() if "to" in e else np.inf)
    if ASKED.get("gait.knee-stops") == "true":
        for name, e in of_kind("knee"):
            slack["stop of " + name] = (int(e["flexion"]) * Q[:, names.index(e["coordinate"])]).min()
    limits = [min(value(e["limit"].removesuffix("N m")) if "limit" in e else np.inf, get("gait.torque-limit", np.inf)) for _, e in of_kind("actuator")]
    slack["torques"] = (limits - abs(U).max(axis=0)).min()
    slack["rates"] = get("gait.joint-speed-limit", np.inf) - abs(np.diff(Q[:, base:], axis=0)).max() / h
    known = {"pi": np.pi, "abs": abs, **P, **{k.replace("-", "_"): v for k, v in design.items()}, **dict(zip(names, Q.T)),
             **{"u_" + name: U[:, i] for i, (name, _) in enumerate(of_kind("actuator"))}}  # fmt: skip
    for key, text in ASKED.items():  # conditions of the study's own: of parameters, or at all nodes
        if key.startswith("require."):
            left, sign, right = re.split("([<>]=)", text.replace("step-", "step_").replace("u.", "u_"))
            beyond = eval(left, known) - eval(right, known)
            slack[key] = np.min(beyond if sign == ">=" else -beyond)
    heights = [place(Q[k], swing, links[swing]["end"]) @ UP - 4 * k / K * (1 - k / K) * get("gait.clearance", 0.0) for k in range(1, K)]
    slack["clearance"] = min(heights)
    between = min(place(Q[k] + i / 20 * (Q[k + 1] - Q[k]), swing, links[swing]["end"]) @ UP for k in range(K) for i in range(1, 20))

    # ---- the cost
    weight = np.linalg.norm(GRAVITY) * sum(m for _, _, m, _ in bodies)
    speed = np.vstack([after, (Q[2:] - Q[:-2]) / (2 * h), before])[:, drives]  # at nodes; after and before the jump at the ends
    work = h / 2 * np.stack([U * speed[:-1], U * speed[1:]])
    if ASKED.get("gait.work-rule") == "intervals":
        work = U * np.diff(Q, axis=0)[:, drives]
    cost_of = {"squared-torque": h * (U**2).sum(), "absolute-work": abs(work).sum(), "positive-work": work.clip(0).sum(),
               "loss": h * sum(value(e.get("loss", "0")) * (u**2).sum() for (_, e), u in zip(of_kind("actuator"), U.T))}
    weights = {k[5:]: number(v) for k, v in ASKED.items() if k.startswith("cost.") and k[5:] in cost_of} or {"squared-torque": 1.0}
    motors = {"u_" + name: U[:, i] for i, (name, _) in enumerate(of_kind("actuator"))}
    for key, text in ASKED.items():  # costs of the study's own: integrals of expressions of torques and parameters
        if key.startswith("cost.") and key[5:] not in cost_of:
            cost_of[key[5:]] = h * eval(text.replace("u.", "u_").replace("^", "**"), {}, {**P, **design, **motors}).sum()
            weights[key[5:]] = 1.0
    mine = sum(weights[k] * cost_of[k] for k in weights) / (weight * design["step-length"])

    # ---- in space: legs of real thickness, and the side on which they pass, at 20 points of every interval
    words = ""
    if DIM == 3:
        r = get("gait.leg-radius", 0.0)
        stance = [n for n in ("stance_shank", "stance_thigh")]
        swings = [n for n in ("swing_thigh", "swing_shank")]
        s = np.linspace(0, 1, 16)[:, None]
        line = lambda f, n: f[index[n]][0] + s * (f[index[n]][1] @ links[index[n]]["end"])
        nearest, wrong, hidden = np.inf, 0.0, 0
        free = 4 * r / step[1]  # for legs of 1 m: distance from the hip from where the full radius applies
        for k in range(K):
            for i in range(20):
                f = frames(Q[k] + i / 20 * (Q[k + 1] - Q[k]), still)
                one, other = (np.vstack([line(f, n) for n in leg]) for leg in (stance, swings))
                hip = f[index["swing_thigh"]][0]
                apart = other[None] - one[:, None]
                beside = np.hypot(apart[..., 0], apart[..., 2]) < max(2 * r, 0.04)  # the points overlap in side view
                hidden += beside.any()
                wrong = min(wrong, np.where(beside, apart[..., 1], 0).min())
                along = lambda leg: np.concatenate([P["thigh"] * s[:, 0], P["thigh"] + P["knee"] * s[:, 0]]) if leg else np.concatenate([P["thigh"] + P["knee"] * (1 - s[:, 0]), P["thigh"] * (1 - s[:, 0])])
                counts = (along(False) >= free)[:, None] & (along(True) >= free)[None]
                nearest = min(nearest, np.where(counts, np.linalg.norm(apart, axis=2), np.inf).min())
        words = f", legs {nearest:.4f} m apart, {-wrong:.1e} m on the wrong side"
        assert hidden > 20 and wrong > -1e-9, wrong
        assert nearest > 0.9 * 2 * r

    print(f"{CONFIG}{scenario and ' '}{scenario}: cost {cost:.6f} ({mine:.6f} here), equations {worst:.1e}, jump {jump:.1e}, periodicity {period:.1e}, normal force {normal:.1f} N, "
          f"friction {ratio:.3f}, at touch-down {across:.3f}, least slack {min(slack, key=slack.get)} {min(slack.values()):.1e}, foot between nodes {between:.1e} m{words}")
    assert worst < 1e-8 and jump < 1e-7 and period < 1e-6
    assert abs(mine - cost) < 1e-7 * max(1, cost)
    assert min(slack.values()) > -1e-7, slack
    assert between > (-0.001 if "gait.clearance" in ASKED else -0.01), between
    if ASKED.get("gait.contact", "free") != "free":
        assert normal > 0 and impulse @ UP > 0
    if ASKED.get("gait.contact") == "friction-cone":
        assert max(ratio, across) < get("gait.friction", 0.8) + 1e-6
    return mine


costs = {}
for scenario, (Q, U) in MOTIONS.items():
    entries = {k: number(v) for k, v in SCENARIOS.get(scenario, {}).items() if k not in ("weight", "reference")}
    assert not any("." in k for k in entries), "keys of the evaluator in a scenario are not read here"
    design = {**DESIGN, **entries}
    for name, text in DERIVED.items():  # in their order; given or free values are not replaced
        if name not in dict(AT) and name not in entries:
            design[name] = number(text.replace("step-", "step_"), {k.replace("-", "_"): v for k, v in design.items()})
    costs[scenario] = examine(scenario, design, Q, U, METRICS[scenario + ":cost"] if scenario else TOLD)
if SCENARIOS:
    weights = {s: number(e.get("weight", "1")) for s, e in SCENARIOS.items()}
    mean = sum(weights[s] * costs[s] / number(e.get("reference", "1")) for s, e in SCENARIOS.items()) / sum(weights.values())
    print(f"mean over scenarios: {TOLD:.6f} ({mean:.6f} here)")
    assert abs(mean - TOLD) < 1e-7 * max(1, TOLD)
