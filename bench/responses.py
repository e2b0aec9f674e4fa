#!/usr/bin/python3
"""Compares the contact responses for docs/measured/contact.md (Johnson 2013, section 3.6): the cradle and the metronome by all three.

    bench/responses.py DODYN          (from the root of the repository; a minute)
    bench/responses.py DODYN times    the processor times that the source prints, next to dodyn's

This file computes energies, momenta and positions from the velocities that `dodyn simulate` writes. It compares the cradle's positions with the
closed form of equal cubes that exchange their speeds, and the metronome's with the exact response at h = 0.1 ms."""

import csv
import os
import re
import resource
import subprocess
import sys
import tempfile

import numpy as np

DODYN = sys.argv[1]
FOLDER = tempfile.TemporaryDirectory()


def simulate(scene, response, step, stiffness=None, **more):
    table = os.path.join(FOLDER.name, "run.csv")
    words = [DODYN, "simulate", f"configs/scene-{scene}.cfg", "--output", table, "--simulation.contact-method", response, "--simulation.step", repr(step)]
    if stiffness:
        words += ["--simulation.stiffness", repr(stiffness)]
    for key, value in more.items():
        words += ["--" + key.replace("__", "."), repr(value)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(words, check=True, capture_output=True)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    with open(table) as file:
        rows = list(csv.reader(file))
    names = [name.split(" [")[0] for name in rows[0]]
    values = np.array(rows[1:], dtype=float)
    return {name: values[:, i] for i, name in enumerate(names)}, seconds


def cradle(run):
    """Returns kinetic energies, the largest changes of momenta, and the largest position error."""
    side, gap, speed, mass = 0.28284271247461906, 0.1, 0.105, 0.28284271247461906**2 * 76.36753236814713
    x = np.stack([run[f"q.cube_{i} x"] for i in range(1, 6)], 1)
    v = np.stack([run[f"v.cube_{i} x"] for i in range(1, 6)], 1)
    start = np.array([0, 1.5, 2.5 + gap, 3.5 + 2 * gap, 4.5 + 3 * gap]) * side
    hit = [-1.0, 0.5 * side / speed]  # time at which each cube begins to move; the last one hits nothing
    for _ in range(3):
        hit.append(hit[-1] + gap * side / speed)
    t = run["t"]
    exact = np.tile(start, (len(t), 1))
    for i in range(5):
        begins, ends = (0.0 if i == 0 else hit[i]), (hit[i + 1] if i < 4 else np.inf)
        exact[:, i] += speed * np.clip(np.minimum(t, ends) - begins, 0, None)
    return 0.5 * mass * (v**2).sum(1), np.abs(mass * v.sum(1) - mass * speed).max(), None, np.abs(x - exact).max()


REFERENCE = {}


def metronome(run):
    """Returns the same quantities for the metronome; the position is that of the joint."""
    edge, gap, density = 0.34641016151377546, 0.01, 270.0
    mass = density * edge**3 * np.sqrt(2) / 3
    J = mass * edge**2 / 10  # inertia of an octahedron about any axis
    read = lambda channel, body, names: np.stack([run[f"{channel}.{body} {name}"] for name in names], 1)
    energy, p, L = 0.0, 0.0, 0.0
    for body in ("lower", "upper"):
        x, v, w = read("q", body, "xyz"), read("v", body, "xyz"), read("v", body, ("wx", "wy", "wz"))
        energy = energy + 0.5 * mass * (v**2).sum(1) + 0.5 * J * (w**2).sum(1)
        p = p + mass * v
        L = L + mass * np.cross(x, v) + J * w
    q = read("q", "lower", ("q0", "qx", "qy", "qz"))
    arm = edge / np.sqrt(2) + gap / 2
    turn = lambda q: np.stack([2 * (q[:, 1] * q[:, 3] + q[:, 0] * q[:, 2]), 2 * (q[:, 2] * q[:, 3] - q[:, 0] * q[:, 1]), 1 - 2 * (q[:, 1]**2 + q[:, 2]**2)], 1)
    joint = read("q", "lower", "xyz") + arm * turn(q)
    if not REFERENCE:
        REFERENCE.update(t=run["t"], joint=joint)
    miss = np.abs(joint - np.stack([np.interp(run["t"], REFERENCE["t"], REFERENCE["joint"][:, a]) for a in range(3)], 1)).max()
    return energy, np.abs(p - p[0]).max(), np.abs(L - L[0]).max(), miss


def cell(x):
    return "" if x is None else f"{x:.1e}"


SCENES = {
    "cradle": (cradle, [("projection", 0.01, None), ("event-driven", 0.01, None), ("penalty", 1e-3, 1e4), ("penalty", 1e-4, 1e6), ("penalty", 5e-3, 1.0)]),
    "metronome": (metronome, [("event-driven", 1e-4, None), ("event-driven", 5e-3, None), ("event-driven", 1e-3, None), ("projection", 5e-3, None), ("projection", 1e-3, None),
                              ("penalty", 1e-3, 1e4), ("penalty", 1e-3, 1e6), ("penalty", 1e-4, 1e6), ("penalty", 1.5e-3, 1.0), ("penalty", 1e-4, 1.0)]),
}
# Name, the source's section and processor time, configuration and options. Charged prisms start 20 mm apart with 1 mm/s, and are elastic.
PRISMS = ["--design.charge", "5e-4", "--design.restitution", "1", "--design.friction", "0", "--initial-states.speed", "0.001"]
TIMES = [
    ("cradle, two strikers", "3.4.3", "10.57 or 10.96 s", "cradle", 0.01, ["--initial-states.gap", "0.01", "--initial-state.cube_5_x=(5 + 2*gap)*side", "--initial-state.rate(cube_5_x)=-speed"], 3),
    ("metronome", "3.4.3", "6.15 or 6.68 s", "metronome", 0.015, [], 4),
    ("two charged prisms", "3.4.3", "44.3 or 50.4 s for 80 intervals", "prisms", 0.01, [*PRISMS, "--design.prisms", "2"], 40),
    ("seven charged prisms", "3.4.3", "4500 s for 0.3085 s in 40 intervals", "prisms", 0.01, PRISMS, 40),
]


def source_times():
    print("| scene, event-driven | published | simulated, s | updates of contacts | energy unaccounted for, J | CPU, s |")
    print("|---|---|---:|---:|---:|---:|")
    for name, section, published, scene, step, words, end in TIMES:
        words = [DODYN, "simulate", f"configs/scene-{scene}.cfg", "--simulation.contact-method", "event-driven", "--simulation.step", repr(step), "--simulation.end", str(end), *words]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        contacts, error = re.search(r"(\d+) updates of contacts", printed)[1], re.search(r"unaccounted for (\S+) J", printed)[1]
        print(f"| {name} ({section}) | {published} | {end} | {contacts} | {abs(float(error)):.0e} | {seconds:.2f} |", flush=True)


def comparison():
    print("| scene | response | h, ms | kinetic energy at the end, of that at the start | least of it on the way | momentum, N s | angular momentum, N m s | position, m | CPU, s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for scene, (judge, rows) in SCENES.items():
        for response, step, stiffness in rows:
            run, seconds = simulate(scene, response, step, stiffness)
            energy, linear, angular, miss = judge(run)
            name = response + (f", C = {stiffness:g} N/m" if stiffness else "")
            change = energy[-1] / energy[0] - 1
            print(f"| {scene} | {name} | {1e3 * step:g} | 1 {'+' if change >= 0 else '-'} {abs(change):.1e} | {energy.min() / energy[0]:.4f} | {cell(linear)} | "
                  f"{cell(angular)} | {cell(miss)} | {seconds:.3f} |", flush=True)

    print("\nThe metronome's energy change by the penalty, over 24 steps next to h, of its energy at the start:\n")
    print("| C, N/m | h, ms | least | mean | largest | gains |")
    print("|---:|---:|---:|---:|---:|---:|")
    for stiffness in (1e4, 1e6):
        for h in (1e-3, 5e-4, 2.5e-4, 1e-4):
            changes = []
            for step in h * np.linspace(1.0, 1.05, 24):
                energy, *_ = metronome(simulate("metronome", "penalty", float(step), stiffness)[0])
                changes.append(energy[-1] / energy[0] - 1)
            changes = np.array(changes)
            print(f"| {stiffness:g} | {1e3 * h:g} | {changes.min():+.1e} | {changes.mean():+.1e} | {changes.max():+.1e} | {(changes > 0).sum()} of 24 |", flush=True)


if sys.argv[2:] == ["times"]:
    source_times()
else:
    comparison()
    source_times()
