#!/usr/bin/python3
"""Applies the exported feedback of a plan (`motion.gains`) to independent equations of motion, by scipy:

- from the planned start, the largest deviation and correction are dodyn's `tracking_error` and `tracking_correction`;
- from a disturbed start, the feedback returns to the plan, and the controls alone do not.

    gains.py DODYN CONFIGS

An acrobot at order 2 from CSV, at order 4, and after a refinement from an archive; a body on a spherical joint. Rows of a gait."""

import csv
import os
import subprocess
import sys
import tempfile

try:
    import acrobot
    import h5py
    import numpy as np
    from scipy.integrate import solve_ivp
    from scipy.spatial.transform import Rotation
except ImportError:
    sys.exit(77)

DODYN, CONFIGS = map(os.path.abspath, sys.argv[1:3])
BEND = """[study]
evaluator = motion
archive = bend.h5
[motion]
model = acrobot.model
initial-guesses = 2
gains = true
[parameters]
lasts = 2
[phase bend]
intervals = 40
duration = lasts
[initial-state]
shoulder = pi
elbow = 0
momentum = 0
[goal]
shoulder = pi - 0.1466
elbow = 0.6
rate(shoulder) = 0
rate(elbow) = 0
[cost]
squared-control = 1
"""
TOP = """[model]
dimension = 3
gravity = 0
[link body]
parent = ground
joint = spherical ZXY
mass = 1
centre = 0, 0, 0
inertia = 0.3, 0.2, 0.1
[actuator roll]
link = body
torque = 1, 0, 0
[actuator pitch]
link = body
torque = 0, 1, 0
[actuator yaw]
link = body
torque = 0, 0, 1
"""
TURN = """[study]
evaluator = motion
[motion]
model = top.model
initial-guesses = 2
gains = true
accuracy = 0
[phase turn]
intervals = 40
duration = 2
[initial-state]
body = turn z 0
momentum = 0
[goal]
body = turn z 1.5, turn x 0.8, turn y -0.4, rest
[cost]
squared-control = 1
"""
INERTIA = np.array([0.3, 0.2, 0.1])


class Acrobot:
    """State: angles and rates of acrobot.py."""

    @staticmethod
    def slope(z, u):
        return np.concatenate([z[2:], acrobot.acceleration(z[:2], z[2:], u[0])])

    @staticmethod
    def state(q, v):
        return np.concatenate([q, v])

    @staticmethod
    def missing(q, v, z):
        """Planned minus actual coordinates and rates."""
        return np.concatenate([q, v]) - z

    @staticmethod
    def distance(q, z):
        return abs(q - z[:2]).max()


class Top:
    """A body that turns about its centre by torques along its own axes. The state is a unit quaternion and the angular velocity."""

    @staticmethod
    def slope(z, u):
        turn, spin = z[:4], z[4:]
        x, y, z0, w = turn
        rate = 0.5 * np.array([w * spin[0] + y * spin[2] - z0 * spin[1], w * spin[1] + z0 * spin[0] - x * spin[2],
                               w * spin[2] + x * spin[1] - y * spin[0], -x * spin[0] - y * spin[1] - z0 * spin[2]])  # fmt: skip
        return np.concatenate([rate, (u - np.cross(spin, INERTIA * spin)) / INERTIA])

    @staticmethod
    def state(q, v):
        return np.concatenate([Rotation.from_euler("ZXY", q).as_quat(), v[[1, 2, 0]]])

    @staticmethod
    def missing(q, v, z):
        """Angles of the turn from the planned attitude, as turns about z, x and y of the body, and their rates."""
        off = (Rotation.from_euler("ZXY", q).inv() * Rotation.from_quat(z[:4])).as_euler("ZXY")
        back = [Rotation.from_euler("Y", -off[2]), Rotation.from_euler("XY", off[1:]).inv()]
        axes = np.array([back[1].apply([0, 0, 1]), back[0].apply([1, 0, 0]), [0, 1, 0]]).T
        return -np.concatenate([off, np.linalg.solve(axes, z[4:]) - v])

    @staticmethod
    def distance(q, z):
        return (Rotation.from_euler("ZXY", q).inv() * Rotation.from_quat(z[:4])).magnitude()


def drive(machine, plan, degree, start, feedback):
    """Returns the distance to the plan at each node, and the largest correction. `plan`: t, q, v, u, gain, feedforward by knot."""
    t, q, v, u, gain, ahead = plan
    points = {1: [0.5], 2: [0.5 - 3**0.5 / 6, 0.5 + 3**0.5 / 6]}[degree]
    z, distances, largest = start, [], 0.0
    for k in range(0, len(t) - 1, degree):
        h = t[k + degree] - t[k]
        more = np.zeros(u.shape[1])
        if feedback:
            more = ahead[k] + gain[k].reshape(u.shape[1], -1) @ machine.missing(q[k], v[k], z)
            largest = max(largest, abs(more).max())

        def control(time):
            if degree == 1:
                return u[k] + more
            share = (time / h - points[0]) / (points[1] - points[0])
            return u[k] + share * (u[k + 1] - u[k]) + more

        z = solve_ivp(lambda time, z: machine.slope(z, control(time)), (0, h), z, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        distances.append(machine.distance(q[k + degree], z))
    return np.array(distances), largest


def solved(folder, study, *words):
    """Returns the plan in the CSV file of a solved motion, and its metrics."""
    path = os.path.join(folder, "plan.csv")
    done = subprocess.run([DODYN, "solve", study, *words, "--output", path], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr + done.stdout
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("metrics.")]
    reported = {name[8:]: float(value) for name, value, *_ in lines if value != "-"}
    names, *rows = csv.reader(open(path))
    values = np.array(rows, float)

    def channel(name):
        return values[:, [i for i, full in enumerate(names) if full == name or full.split(" [")[0].startswith(name + ".")]]

    return (channel("t [s]")[:, 0], *map(channel, ("q", "v", "u", "gain", "feedforward"))), reported, names


def examine(name, machine, plan, reported, degree, push):
    t, q, v = plan[:3]
    start = machine.state(q[0], v[0])
    along, correction = drive(machine, plan, degree, start, True)
    print(f"{name}: at most {along.max():.6g} from the plan here, {reported['tracking_error']:.6g} by dodyn; "
          f"correction {correction:.6g} and {reported['tracking_correction']:.6g}")  # fmt: skip
    assert abs(along.max() - reported["tracking_error"]) < 1e-3 * along.max() + 1e-9, name
    assert abs(correction - reported["tracking_correction"]) < 1e-3 * correction + 1e-9, name
    disturbed = start + push
    back, _ = drive(machine, plan, degree, disturbed, True)
    away, _ = drive(machine, plan, degree, disturbed, False)
    print(f"{name}: disturbed, {back.max():.3g} from the plan at most and {back[-1]:.3g} at the end; without feedback {away[-1]:.3g}")
    assert back[-1] < 0.05 * away[-1] and back[-1] < 0.1 * back.max(), (name, back[-1], away[-1])


def expected_names(controls, coordinates):
    return [f"gain.{u}/{one}" for u in controls for one in (*coordinates, *(f"rate({c})" for c in coordinates))]


with tempfile.TemporaryDirectory() as folder:
    for name, text in (("acrobot.model", acrobot.MODEL), ("bend.cfg", BEND), ("top.model", TOP), ("turn.cfg", TURN)):
        open(os.path.join(folder, name), "w").write(text)
    push = np.array([0.004, -0.006, 0.02, -0.02])

    plan, reported, names = solved(folder, "bend.cfg", "--motion.accuracy", "0")
    assert [n.split(" [")[0] for n in names if n.startswith("gain.")] == expected_names(["motor"], ["shoulder", "elbow"]), names
    assert "gain.motor/elbow [N m/rad]" in names and "gain.motor/rate(elbow) [N m s/rad]" in names, names
    examine("acrobot", Acrobot, plan, reported, 1, push)

    plan, reported, _ = solved(folder, "bend.cfg", "--motion.accuracy", "0", "--motion.order", "4", "--phase.bend.intervals", "20")
    assert np.isnan(plan[2][1::2]).all() and np.isfinite(plan[2][::2]).all()  # planned rates at nodes alone
    assert np.array_equal(plan[4][0::2][:-1], plan[4][1::2]) and np.isfinite(plan[4]).all()
    examine("acrobot, order 4", Acrobot, plan, reported, 2, push)

    # A refined row: the gains belong to its own nodes and mean controls. Its tracking error is that of the finer mesh.
    done = subprocess.run([DODYN, "run", "bend.cfg", "--phase.bend.intervals", "20", "--motion.accuracy", "1e-4", "--design.lasts.min", "1.9",
                           "--design.lasts.max", "2.1", "--study.max-evaluations", "1"],
                          cwd=folder, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    with h5py.File(os.path.join(folder, "bend.h5"), "r") as file:
        metrics = dict(zip(file["evaluations/metrics"].attrs["names"], file["evaluations/metrics"][0]))
        assert metrics["intervals"] > 20, metrics["intervals"]
        t, q, v, u, gain, ahead = (file["trajectories/" + name][0] for name in ("t", "q", "v", "u", "gain", "feedforward"))
        assert list(file["trajectories/gain"].attrs["names"])[1] == "motor/elbow"
    plan = (t[:, 0], q, v, u, gain, ahead)
    start = Acrobot.state(q[0], v[0])
    for what, at in (("planned", start), ("disturbed", start + push)):
        back, _ = drive(Acrobot, plan, 1, at, True)
        away, _ = drive(Acrobot, plan, 1, at, False)
        print(f"refined to {metrics['intervals']:.0f}, {what} start: {back.max():.3g} at most, {back[-1]:.3g} at the end; without feedback {away[-1]:.3g}")
        assert back[-1] < 0.05 * away[-1], (back[-1], away[-1])

    plan, reported, names = solved(folder, "turn.cfg")
    coordinates = [n.split(" [")[0][2:] for n in names if n.startswith("q.")]
    assert [n.split(" [")[0] for n in names if n.startswith("gain.")] == expected_names(["roll", "pitch", "yaw"], coordinates), names
    tilt = Rotation.from_euler("xyz", [0.03, -0.02, 0.04]).as_quat() - [0, 0, 0, 1]
    examine("spherical joint", Top, plan, reported, 1, np.concatenate([tilt, [0.05, -0.05, 0.02]]))

    # The same key of a gait
    plan, _, names = solved(folder, os.path.join(CONFIGS, "knee.cfg"), "--design.knee", "0.5", "--gait.initial-guesses", "1", "--gait.gains", "true",
                            "--gait.accuracy", "0", "--gait.validity-check", "warn")  # fmt: skip
    assert np.isfinite(plan[4]).all() and plan[4].shape[1] == 2 * plan[1].shape[1] * plan[3].shape[1], plan[4].shape
    assert abs(plan[5]).max() < abs(plan[3]).max()
