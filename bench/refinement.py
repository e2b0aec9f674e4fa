#!/usr/bin/env python3
"""Shipped motions on their mesh of K intervals, on 2K and on 4K: costs, deviations, and clearances found by dense sampling.

    bench/refinement.py PROGRAM                      # all motions of configs/, as a table in Markdown
    bench/refinement.py PROGRAM cube-wall swing-up   # these alone
    bench/refinement.py PROGRAM two-cubes --words="--motion.contact-planes node"    # with further options of dodyn solve

The finer meshes begin with the solutions on K intervals (`motion.coarse-intervals`), so that all three are the same optimum if it stays one.

The sampler shares nothing with the program except the model file, which it reads on its own: shapes, joints and parameters. Between two nodes,
slides and hinges move at a constant rate, and spherical joints turn about one axis. Distances of convex hulls are those of separating axes. Where the hulls are
apart, the point of their difference next to the origin gives the distance (a least-distance problem by non-negative least squares).
"""
import argparse
import itertools
import json
import math
import pathlib
import re
import resource
import shlex
import subprocess
import sys

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "configs"
SAMPLES = 20  # of an interval
TIME_LIMIT_S = 7200  # of one solution
LENGTHS = (1, 2, 4)
# Rounding of a sampled distance, m
ROUNDING = 1e-9

# Designs of studies with free variables: the best ones that docs/ and the configurations state, or the middle of the range.
DESIGNS = {
    "feet": {"period": 1.005},
    "hopper": {"leg_stiffness": 4250},
    "satellite-reach": {"arm": 0.06, "thrust_x": 0, "thrust_y": 0.1},
    "quadruped": {"spring": 8.239},
    "squat": {"knee": 0.515},
    "walker-period": {"period": 0.685452},
}

UNITS = {"deg": math.pi / 180, "rad": 1.0, "m": 1.0, "cm": 0.01, "mm": 0.001}
FUNCTIONS = {"pi": math.pi, "sqrt": math.sqrt, "cos": math.cos, "sin": math.sin, "abs": abs, "min": min, "max": max}


def sections(path):
    """Returns the sections of a configuration or a model as a list of (kind, name, entries)."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            kind, _, name = line.strip("[]").partition(" ")
            found.append((kind, name.strip(), {}))
        elif "=" in line:
            key, _, value = line.partition("=")
            found[-1][2][key.strip()] = value.strip()
    return found


def number(text, parameters):
    text = re.sub(r"(\d|\))\s*(" + "|".join(UNITS) + r")\b", lambda m: f"{m[1]}*{UNITS[m[2]]!r}", text.replace("^", "**"))
    return float(eval(text, {"__builtins__": {}}, {**FUNCTIONS, **parameters}))


def numbers(text, parameters):
    """Returns the numbers of a list; commas inside parentheses do not separate."""
    return np.array([number(part, parameters) for part in re.split(r",(?![^()]*\))", text)])


def unique(directions):
    """Returns directions without repetitions. The opposite direction counts as one."""
    kept = []
    for d in directions:
        d = d / np.linalg.norm(d)
        if not any(abs(abs(d @ other) - 1) < 1e-12 for other in kept):
            kept.append(d)
    return np.array(kept)


class Part:
    """A convex shape: corners, normals of its sides and directions of its edges, in the frame of its link."""

    def __init__(self, corners):
        hull = ConvexHull(corners)
        self.corners = np.array(corners)
        self.normals = unique(hull.equations[:, :-1])
        self.edges = np.zeros((0, 3))
        if self.corners.shape[1] == 2:
            return
        edges = []
        for i, side in enumerate(hull.simplices):
            for j, neighbour in enumerate(hull.neighbors[i]):  # the edge opposite to corner j
                if np.linalg.norm(hull.equations[i, :-1] - hull.equations[neighbour, :-1]) > 1e-9:  # no diagonal of a face
                    a, b = np.delete(side, j)
                    edges.append(self.corners[a] - self.corners[b])
        self.edges = unique(edges)


class Model:
    """Links, joints and shapes of a model file."""

    def __init__(self, path, given):
        entries = sections(path)
        model = next(e for kind, _, e in entries if kind == "model")
        self.dimension = int(model["dimension"])
        d = self.dimension
        self.parameters = {}
        for kind, _, those in entries:
            if kind == "parameters":
                for name, text in those.items():
                    self.parameters[name] = float(given[name]) if name in given else number(text, self.parameters)
        self.links, self.parts = {}, {}  # name -> (parent, at, moves); name -> parts
        ends = {"ground": np.zeros(d)}
        for kind, name, e in entries:
            if kind != "link":
                continue
            if "count" in e or "follows" in e:
                raise SystemExit(f"{path}: [link {name}]: count and follows are not supported by this sampler")
            parent = e["parent"]
            at = numbers(e["at"], self.parameters) if "at" in e else ends[parent]
            ends[name] = numbers(e["end"], self.parameters) if "end" in e else np.zeros(d)
            self.links[name] = (parent, at, self.moves(e["joint"]))
            self.parts[name] = []
        for kind, name, e in entries:
            if kind == "shape":
                self.parts[e["link"]].append(Part(self.corners(name, e)))

    def moves(self, joint):
        """Returns (kind, axis) of each coordinate. Turns of a spherical joint are together: ("turns", axes)."""
        all_moves, d = [], self.dimension
        for word in joint.split("+"):
            kind, _, axes = word.strip().partition(" ")
            if kind in ("planar", "point", "spatial"):
                all_moves += [("slide", np.eye(d)[i]) for i in range(d)]
            if kind == "planar" or (kind == "revolute" and d == 2):
                all_moves.append(("turn", None))
            elif kind in ("spatial", "spherical"):
                all_moves.append(("turns", axes.strip()))
            elif kind in ("revolute", "prismatic"):
                axis = np.eye(d)["xyz".index(axes)] if axes in ("x", "y", "z") else numbers(axes, self.parameters)
                all_moves.append(("turn" if kind == "revolute" else "slide", axis / np.linalg.norm(axis)))
            elif kind not in ("fixed", "point"):
                raise SystemExit(f"joint {word} is not supported by this sampler")
        return all_moves

    def corners(self, name, e):
        d = self.dimension
        if "box" in e:
            size = numbers(e["box"], self.parameters)
            corners = np.array([0.5 * size * s for s in itertools.product((-1, 1), repeat=d)])
        elif "vertices" in e:
            corners = np.array([numbers(vertex, self.parameters) for vertex in e["vertices"].split(";")])
        elif "prism" in e:
            side, height = numbers(e["prism"], self.parameters)
            count = int(e["corners"])
            angles = 2 * np.pi * np.arange(count) / count
            ring = 0.5 * side / math.sin(math.pi / count) * np.stack([np.cos(angles), np.sin(angles)], 1)
            corners = np.array([[*r, z] for z in (-height / 2, height / 2) for r in ring])
        else:
            raise SystemExit(f"[shape {name}]: this form is not supported by this sampler")
        if "scale" in e:
            corners = number(e["scale"], self.parameters) * corners
        for turn in e.get("turn", "").split(","):
            if turn.strip():
                axis, angle = turn.split(maxsplit=1) if d == 3 else ("z", turn)
                turned = Rotation.from_rotvec(number(angle, self.parameters) * np.eye(3)["xyz".index(axis)]).as_matrix()
                corners = corners @ turned[:d, :d].T
        return corners + (numbers(e["at"], self.parameters) if "at" in e else 0)

    def frames(self, q, after, shares):
        """Returns origins and attitudes of each link at several times of an interval. q, after: coordinates at its nodes."""
        d, count = self.dimension, len(shares)
        found = {"ground": (np.zeros((count, d)), np.repeat(np.eye(d)[None], count, 0))}
        c = 0
        for name, (parent, at, moves) in self.links.items():
            origin, R = found[parent]
            origin = origin + R @ at
            for kind, axis in moves:
                if kind == "turns":
                    here, there = (Rotation.from_euler(axis, x[c : c + 3]) for x in (q, after))
                    R = R @ (here * Rotation.from_rotvec(np.outer(shares, (here.inv() * there).as_rotvec()))).as_matrix()
                    c += 3
                    continue
                value = (1 - shares) * q[c] + shares * after[c]
                c += 1
                if kind == "slide":
                    origin = origin + value[:, None] * (R @ axis)
                elif d == 2:
                    R = R @ np.array([[np.cos(value), -np.sin(value)], [np.sin(value), np.cos(value)]]).transpose(2, 0, 1)
                else:
                    R = R @ Rotation.from_rotvec(np.outer(value, axis)).as_matrix()
            found[name] = (origin, R)
        assert c == len(q), "coordinates of the model and of the trajectory differ"
        return found


def separations(one, R1, x1, other, R2, x2):
    """Returns the largest gap along a normal of a side or across two edges, [times]; negative: the parts overlap.
    x1, x2: corners, [times, corners, d]."""
    axes = [np.einsum("tij,j->ti", R, n) for part, R in ((one, R1), (other, R2)) for n in part.normals]
    for a in one.edges:
        for b in other.edges:
            axes.append(np.cross(R1 @ a, R2 @ b))
    best = np.full(len(R1), -np.inf)
    for a in axes:
        length = np.linalg.norm(a, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            a = a / length[:, None]
        along1, along2 = np.einsum("tcd,td->tc", x1, a), np.einsum("tcd,td->tc", x2, a)
        gap = np.maximum(along1.min(1) - along2.max(1), along2.min(1) - along1.max(1))
        best = np.where(length > 1e-7, np.maximum(best, gap), best)
    return best


def distance(x1, x2):
    """Returns the distance of two hulls that are apart: 1/|a| for the smallest a with a.(y - x) >= 1 at all corners."""
    ways = (x2[None] - x1[:, None]).reshape(-1, x1.shape[1])
    scale = np.abs(ways).max()
    E = np.vstack([ways.T / scale, np.ones(len(ways))])
    f = np.zeros(len(E))
    f[-1] = 1
    weights, _ = nnls(E, f, maxiter=10 * len(ways))
    r = E @ weights - f
    return scale * abs(r[-1]) / np.linalg.norm(r[:-1])


def sampled_clearance(model, pairs, phase, q):
    """Returns the smallest distance of these pairs of links that the samples find, and where: (m, row and share of the interval)."""
    shares = np.arange(SAMPLES + 1) / SAMPLES
    rows = [k for k in range(len(q) - 1) if phase[k] == phase[k + 1]]
    pieces = [model.frames(q[k], q[k + 1], shares) for k in rows]
    frames = {link: tuple(np.concatenate([p[link][i] for p in pieces]) for i in (0, 1)) for link in model.links}
    smallest, place = math.inf, 0
    for one, other in pairs:
        (o1, R1), (o2, R2) = frames[one], frames[other]
        for a in model.parts[one]:
            for b in model.parts[other]:
                x1, x2 = (o[:, None] + p.corners @ R.transpose(0, 2, 1) for o, R, p in ((o1, R1, a), (o2, R2, b)))
                gaps = separations(a, R1, x1, b, R2, x2)
                for t in np.argsort(gaps):
                    if gaps[t] >= smallest:
                        break
                    found = gaps[t] if gaps[t] <= 1e-9 else max(gaps[t], distance(x1[t], x2[t]))
                    if found < smallest:
                        smallest, place = found, t
    return smallest, rows[place // (SAMPLES + 1)] + shares[place % (SAMPLES + 1)]


class Study:
    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(CONFIGS).with_suffix(""))
        self.sections = sections(path)
        self.evaluator = next((e.get("evaluator") for kind, _, e in self.sections if kind == "study"), None)
        self.phases = {name: int(e.get("intervals", 20)) for kind, name, e in self.sections if kind == "phase"}
        self.intervals = sum(self.phases.values())
        self.contacts = {name: e for kind, name, e in self.sections if kind == "contact"}
        self.pairs = [tuple(x.strip() for x in key.split(",")) for kind, _, e in self.sections if kind == "avoid" for key in e if "," in key]
        if self.evaluator != "motion":
            return
        ranges, self.given = {}, {}  # of free variables: their limits; of others: their values
        for kind, _, e in self.sections:
            for key, value in e.items() if kind == "design" else ():
                name, _, limit = key.partition(".")
                if limit:
                    ranges.setdefault(name, []).append(number(value, {}))
                else:
                    self.given[name] = number(value, {})
        self.design = DESIGNS.get(self.name, {name: sum(ends) / 2 for name, ends in ranges.items()})
        assert set(self.design) == set(ranges), f"{self.name}: DESIGNS does not name the free variables {sorted(ranges)}"

    def words(self, times):
        all_words = [f"--design.{name}={value}" for name, value in self.design.items()]
        all_words += ["--motion.accuracy=0", "--motion.refinements=0", "--motion.validity-check=warn", "--motion.time-limit-per-guess=1e6"]
        if times > 1:
            all_words.append(f"--motion.coarse-intervals={self.intervals}")
        all_words += [f"--phase.{name}.intervals={times * count}" for name, count in self.phases.items()]
        for name, e in self.contacts.items():
            all_words += [f"--contact.{name}.{key}={times * int(e[key])}" for key in ("node", "release") if key in e]
        return all_words

    def model(self):
        name = next(e["model"] for kind, _, e in self.sections if kind == "motion")
        path = self.path.parent / name if name.endswith(".model") else ROOT / "models" / f"{name}.model"
        return Model(path, {**self.given, **self.design})


def solve(program, study, times, more):
    """Returns the evaluation as JSON, and the processor time, s."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    words = [str(program), "solve", str(study.path), "--json", *study.words(times), *more]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"status": f"no answer in {TIME_LIMIT_S} s"}, math.nan
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if not done.stdout.lstrip().startswith("{"):
        raise SystemExit(f"{study.name}: {(done.stderr or done.stdout).strip()[-400:]}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def digits(value, form):
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def observed_order(costs):
    """Returns the order that three costs show, as text; "-" if their differences have two signs or are at the level of the tolerance."""
    if len(costs) < 3 or any(c is None for c in costs):
        return "-"
    first, second = costs[1] - costs[0], costs[2] - costs[1]
    if abs(first) < 1e-8 * abs(costs[2]):
        return "converged"
    return f"{math.log2(first / second):.1f}" if first * second > 0 else "no: the differences have two signs"


def millimetres(value):
    return "-" if value is None or not math.isfinite(value) else f"{1e3 * value:.5f}"


HEAD = """| motion | intervals | status | cost | order | tracking error | max deviation | end error | clearance claimed, mm | clearance sampled, mm | s |
|---|---|---|---|---|---|---|---|---|---|---|"""


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("names", nargs="*")
    arguments.add_argument("--words", default="", help="further options of dodyn solve")
    arguments.add_argument("--meshes", type=int, default=len(LENGTHS), help="number of meshes: 1 for K alone, 3 up to 4K")
    options = arguments.parse_args()
    studies = [Study(path) for path in sorted(CONFIGS.rglob("*.cfg"))]
    studies = {study.name: study for study in studies if study.evaluator == "motion"}
    names = options.names or list(studies)
    unknown = [name for name in names if name not in studies]
    if unknown:
        raise SystemExit(f"{unknown[0]}: is not a motion of configs/; allowed: {', '.join(studies)}")
    print(HEAD)
    missed, notes = False, []
    for name in names:
        study, costs = studies[name], []
        design = ", ".join(f"{key} {value:g}" for key, value in study.design.items())
        for times in LENGTHS[: options.meshes]:
            outcome, time = solve(options.program.resolve(), study, times, shlex.split(options.words))
            metrics, cost = outcome.get("metrics", {}), outcome.get("cost")
            costs.append(cost)
            claimed, found = metrics.get("clearance"), math.nan
            remark = ""
            if study.pairs and cost is not None:
                channels = outcome["trajectory"]
                q = np.array(list(channels["q"]["values"].values())).T
                phase = next(iter(channels["phase"]["values"].values()))
                found, _ = sampled_clearance(study.model(), study.pairs, phase, q)
                if claimed is not None and found < claimed - ROUNDING:
                    remark, missed = " LESS THAN CLAIMED", True
            status, reason = outcome["status"], outcome.get("reason")
            if reason:
                status += ", see below"
                notes.append(f"* `{name}`, {times * study.intervals}: {reason}")
            order = observed_order(costs) if times == LENGTHS[-1] else ""
            deviations = [digits(metrics.get(key), ".1e") for key in ("tracking_error", "max_deviation", "end_error")]
            change = ""
            if len(costs) > 1 and None not in costs[-2:] and costs[-2]:
                change = f" ({100 * (costs[-1] / costs[-2] - 1):+.2g} %)"
            cells = [f"`{name}`" + (f" ({design})" if design else ""), str(times * study.intervals), status, digits(cost, ".8g") + change, order,
                     *deviations, millimetres(claimed), millimetres(found) + remark, f"{time:.1f}"]  # fmt: skip
            print("| " + " | ".join(cells) + " |", flush=True)
    if notes:
        print("\n" + "\n".join(notes))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
