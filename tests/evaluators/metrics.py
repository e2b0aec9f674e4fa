#!/usr/bin/python3
"""Computes metrics of [metrics] again, from the channels of an archive alone: numpy, with Lobatto knots and Gauss points that are written down here.

    metrics.py DODYN ROOT

Hops of two phases of unknown durations, with a landing, and a walker's step with the exchange of its legs, at orders 2, 4 and 6. A jump in space
from feet that are held."""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np
from numpy.polynomial import Polynomial

from one_design import evaluated

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOBATTO = {1: [0.0, 1.0], 2: [0.0, 0.5, 1.0], 3: [0.0, 0.5 - 0.05**0.5, 0.5 + 0.05**0.5, 1.0]}


def decoded(texts):
    return [text.decode() if isinstance(text, bytes) else text for text in texts]


def read(f):
    """Returns the channels by name, each [rows, columns], and the metrics by name."""
    channels = {}
    for name in decoded(f["trajectories"].attrs["names"]):
        data = f[f"trajectories/{name}"]
        if data.ndim == 3:
            channels.update({f"{name}.{column}": data[0][:, i] for i, column in enumerate(decoded(data.attrs["names"]))})
    return channels, dict(zip(decoded(f["evaluations/metrics"].attrs["names"]), f["evaluations/metrics"][0]))


WEIGHTS = {1: [1 / 2], 2: [1 / 6, 2 / 3], 3: [1 / 12, 5 / 12, 5 / 12]}  # of Lobatto's knots, without the last one, which the next interval adds


class Motion:
    """A motion at its quadrature points. `weights` [points]: the times that they represent."""

    def __init__(self, channels, order, phases):
        self.channels, self.degree = channels, order // 2
        phase = channels["phase.phase"].astype(int)
        self.rows = [np.flatnonzero(phase == i) for i in range(phase.max() + 1) if phases is None or i in phases]
        self.gauss, self.share = np.polynomial.legendre.leggauss(self.degree)
        self.weights = np.concatenate([np.repeat(self._steps(rows), self.degree) * np.tile(0.5 * self.share, (len(rows) - 1) // self.degree) for rows in self.rows])

    def _steps(self, rows):
        return np.diff(self.channels["t.t"][rows][:: self.degree])

    def knots(self, name):
        return np.concatenate([self.channels[name][rows] for rows in self.rows])

    def control(self, name):
        return np.concatenate([self.channels[name][rows][:-1] for rows in self.rows])

    def at_points(self, name, rate=False):
        values = []
        for rows in self.rows:
            knots, steps = self.channels[name][rows], self._steps(rows)
            for k, h in enumerate(steps):
                curve = Polynomial.fit(LOBATTO[self.degree], knots[k * self.degree : (k + 1) * self.degree + 1], self.degree, domain=[0, 1], window=[0, 1])
                values.extend((curve.deriv() if rate else curve)(0.5 * (1 + self.gauss)) / (h if rate else 1.0))
        return np.array(values)

    def mean_of_knots(self, name):
        """Returns the mean over time by Lobatto's rule, over the phases of this motion."""
        total = 0.0
        for rows in self.rows:
            for k, h in enumerate(self._steps(rows)):
                values = self.channels[name][rows][k * self.degree : (k + 1) * self.degree + 1]
                total += h * np.array([*WEIGHTS[self.degree], WEIGHTS[self.degree][0]]) @ values
        return total / self.weights.sum()

    def mean(self, values):
        return self.weights @ values / self.weights.sum()


def check(config, order, expressions, values, *words):
    """`expressions`: of [metrics]. `values(all, phase)`: numbers of the metrics from the motion and from its phase i alone."""
    given = [word for name, text in expressions.items() for word in (f"--metrics.{name}", text)]
    with evaluated(DODYN, ROOT, config, *words[:2], *given, *words[2:]) as f:
        channels, metrics = read(f)
    expected = values(Motion(channels, order, None), lambda i: Motion(channels, order, [i]))
    assert expected.keys() == expressions.keys()
    for name, value in expected.items():
        error = abs(metrics[name] - value) / max(1e-3, abs(value))
        print(f"{config}, order {order}: {name} = {expressions[name]}: {metrics[name]:.10g} by dodyn, {value:.10g} here")
        assert error < 1e-9, (name, metrics[name], value)
    return metrics


hop = {
    "peak": "max_over(abs(u.hip))",
    "rms": "sqrt(mean(u.thrust^2, stance))",
    "work": "integral(max(u.hip*rate(hip), 0)) + integral(max(u.thrust*rate(stretch), 0))",
    "clearance": "min_over(foot.y, flight)",
    "shortest": "min_over(stretch)",
    "lean": "mean(leg^2)",
    "mixed": "max_over(stretch*u.thrust + t*1 W, flight)",
    "way": "at_end(x) - at_start(x)",
    "take_off": "at_start(leg, flight)",
    "push": "max_over(normal(foot))",
    "carried": "mean(normal(foot))",
    "slips": "max_over(abs(tangential(foot)) - mu*normal(foot), stance)",
}


def of_hop(motion, phase):
    stance, flight = phase(0), phase(1)
    work = sum(motion.weights @ np.maximum(motion.control(f"u.{u}") * motion.at_points(f"q.{q}", True), 0) for u, q in (("hip", "hip"), ("thrust", "stretch")))
    return {
        "peak": abs(motion.control("u.hip")).max(),
        "rms": stance.mean(stance.control("u.thrust") ** 2) ** 0.5,
        "work": work,
        "clearance": flight.knots("q.y").min(),
        "shortest": motion.knots("q.stretch").min(),
        "lean": motion.mean(motion.at_points("q.leg") ** 2),
        "mixed": (flight.at_points("q.stretch") * flight.control("u.thrust") + flight.at_points("t.t")).max(),
        "way": motion.knots("q.x")[-1] - motion.knots("q.x")[0],
        "take_off": stance.knots("q.leg")[-1],
        "push": stance.knots("held_force.y").max(),
        "carried": stance.mean_of_knots("held_force.y"),
        "slips": (abs(stance.knots("held_force.x")) - 0.8 * stance.knots("held_force.y")).max(),
    }


step = {
    "peak": "max_over(abs(u.stance_hip))",
    "rms": "sqrt(mean(u.swing_knee^2))",
    "squared": "integral(u.stance_knee^2 + u.stance_hip^2 + u.swing_hip^2 + u.swing_knee^2)",
    "height": "max_over(swing_foot.y)",
    "fastest": "max_over(abs(rate(swing_knee)))",
    "way": "at_end(swing_foot.x)",
    "first": "at_start(swing_knee)",
}


def of_step(motion, phase):
    torques = [motion.control(f"u.{name}") for name in ("stance_knee", "stance_hip", "swing_hip", "swing_knee")]
    foot = [name for name in motion.channels if name.startswith("points.swing_shin_end") or name.startswith("points.swing_shank_end")]
    return {
        "peak": abs(torques[1]).max(),
        "rms": motion.mean(torques[3] ** 2) ** 0.5,
        "squared": motion.weights @ sum(u**2 for u in torques),
        "height": motion.knots(foot[1]).max(),
        "fastest": abs(motion.at_points("q.swing_knee", True)).max(),
        "way": motion.knots(foot[0])[-1],
        "first": motion.knots("q.swing_knee")[0],
    }


jump = {
    "push": "max_over(reaction(front_left_foot.z))",
    "landing": "max_over(normal(rear_left_foot), land)",
    "back": "mean(reaction(front_left_foot.x), push)",
}


def of_jump(motion, phase):
    return {
        "push": max(phase(i).knots("hold_force.front_left_foot.z").max() for i in (0, 2)),
        "landing": phase(2).knots("hold_force.rear_left_foot.z").max(),
        "back": phase(0).mean_of_knots("hold_force.front_left_foot.x"),
    }


# in space, with held feet
check("quadruped", 2, jump, of_jump, "spring", 8.0, "--motion.initial-guesses", "1", "--motion.accuracy", "0", "--motion.refinements", "0",
      "--motion.validity-check", "warn")  # fmt: skip
for order in (2, 4, 6):
    coarse = ("--motion.order", str(order), "--motion.accuracy", "0", "--motion.initial-guesses", "1", "--phase.stance.intervals", "12", "--phase.flight.intervals", "12")
    metrics = check("hopper", order, hop, of_hop, "leg_stiffness", 1254, *coarse)
    assert abs(metrics["way"] - 0.4) < 1e-8
    coarse = ("--gait.order", str(order), "--gait.accuracy", "0", "--gait.initial-guesses", "1", "--gait.tasks", "1", "--gait.intervals", "16",
              "--gait.coarse-intervals", "0", "--gait.validity-check", "warn")  # fmt: skip
    metrics = check("knee", order, step, of_step, "knee", 0.5, *coarse)
    assert abs(metrics["height"] - metrics["max_foot_height"]) < 1e-12 and abs(metrics["squared"] - metrics["squared_torque"]) < 1e-9 * metrics["squared"]


def solved(path, *words):
    """Returns the metrics of a squat with the knee at 0.4 m."""
    done = subprocess.run([DODYN, "solve", path, "--json", "--design.knee", "0.4", "--motion.initial-guesses", "1", "--motion.accuracy", "0",
                           "--motion.refinements", "0", "--motion.validity-check", "warn", "--metrics.push", "integral(normal(swing_foot))", *words],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return json.loads(done.stdout)["metrics"]


def free_end():
    """An end whose rates are no unknowns leaves the force on a held point undetermined there. The integral is that of the same motion with
    another condition that does not act but makes the rates unknowns."""
    with open(os.path.join(ROOT, "configs", "squat.cfg")) as file:
        text = file.read()
    start, end = text.split("[goal]")
    text = start + "[goal]" + end.replace("require = hip.y == 0.78", "stance_hip = -15 deg").replace("momentum = 0", "", 1)
    slack = ", normal(swing_foot) <= 90000 N"
    lean = "require = abs(stance_shank + stance_knee + stance_hip) <= lean"
    text = "\n".join(lean if line.startswith("require = abs(reaction") else line for line in text.splitlines()) + "\n"
    values = []
    for condition in ("", slack):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "squat.cfg")
            with open(path, "w") as file:
                file.write(text.replace(lean, lean + condition))
            values.append(solved(path)["push"])
    print(f"integral of a held force up to a free end: {values[0]:.8g}; with rates as unknowns {values[1]:.8g}")
    assert abs(values[0] - values[1]) < 1e-4 * values[1], values


def from_rest_to_rest():
    """The ground carries the weight of 40 kg for 0.3 s, by both feet together."""
    metrics = solved(os.path.join(ROOT, "configs", "squat.cfg"), "--metrics.other", "integral(reaction(y))")
    total = metrics["push"] + metrics["other"]
    print(f"impulse of the ground from rest to rest: {total:.10g} N s; weight times time {40 * 9.81 * 0.3:.10g} N s")
    assert abs(total - 40 * 9.81 * 0.3) < 1e-6


free_end()
from_rest_to_rest()
