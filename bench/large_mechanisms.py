#!/usr/bin/env python3
"""Motions of robots with 7 to 38 degrees of freedom: number of initial guesses that are solved, and time per iteration.

    bench/large_mechanisms.py PROGRAM FOLDER              # a table in Markdown, for docs/measured/large-mechanisms.md
    bench/large_mechanisms.py PROGRAM FOLDER talos squat  # these rows alone

FOLDER holds published robots: a checkout of Gepetto/example-robot-data, and in `atlas/` the file atlas_minimal_contact.urdf of
RobotLocomotion/models. Rows without their file are omitted.

"reach": from rest to rest between two postures. Each joint moves by a quarter of its range, at most 0.6 rad. "squat": six coordinates hold each
foot, and the pelvis sinks by 0.1 m. "step": the robot stands on both feet, swings the left one 0.15 m ahead, and stands again; three phases of unknown
duration, with friction, and no sole pulls at a corner. The cost is the integral of squared torques and forces.
"""
import argparse
import pathlib
import random
import re
import resource
import subprocess
import sys
import tempfile
import time

TIME_LIMIT_S = 1800  # of one solution
GUESSES = 10
SEED = 1  # seed of the postures

# Name, file, base, task, duration in s, further words of the command. In PR2, springs carry the weight of the arms, but
# its URDF has no springs. Therefore its shoulders get 100 N m instead of 30.
ROWS = [
    ("talos-arm", "robots/talos_data/robots/talos_left_arm.urdf", "fixed", "reach", 2.0, []),
    ("panda", "robots/panda_description/urdf/panda.urdf", "fixed", "reach", 2.0, []),
    ("pr2", "robots/pr2_description/urdf/pr2.urdf", "fixed", "reach", 2.0, ["--design.r_shoulder_lift_joint_effort", "100", "--design.l_shoulder_lift_joint_effort", "100"]),
    ("icub", "robots/icub_description/robots/icub_reduced.urdf", "fixed", "reach", 2.0, []),
    ("atlas", "atlas/atlas_minimal_contact.urdf", "fixed", "reach", 2.0, []),
    ("talos", "robots/talos_data/robots/talos_reduced.urdf", "fixed", "reach", 2.0, []),
    ("talos-squat", "robots/talos_data/robots/talos_reduced.urdf", "free", "squat", 1.0, ["--motion.guess-forces", "balanced"]),
    ("talos-step", "robots/talos_data/robots/talos_reduced.urdf", "free", "step", None, ["--motion.guess-forces", "balanced"]),
]  # fmt: skip

# Half sitting as in the SRDF of Talos. All joints that are not listed are zero. The soles are level.
HALF_SITTING = {
    "torso_2_joint": 0.006761,
    **{f"arm_{side}_{joint}_joint": sign * angle for side, sign in (("left", 1), ("right", -1)) for joint, angle in ((1, 0.25847), (2, 0.173046), (3, -0.0002))},
    **{f"arm_{side}_{joint}_joint": angle for side in ("left", "right") for joint, angle in ((4, -0.525366), (7, 0.1))},
    **{f"leg_{side}_{joint}_joint": angle for side in ("left", "right") for joint, angle in ((3, -0.411354), (4, 0.859395), (5, -0.448041), (6, -0.001708))},
    **{f"gripper_{side}_joint": -0.05 for side in ("left", "right")},
}
PELVIS, SINKS = 1.01927, 0.1  # m
CORNERS = {"heel_in": (-0.1, 0.06), "heel_out": (-0.1, -0.06), "toe": (0.1, 0.0)}  # position of a sole, m
HELD = ["heel_in.x", "heel_in.y", "heel_in.z", "heel_out.x", "heel_out.z", "toe.z"]  # position and attitude of a sole
STEP, HALF_WIDTH, STANDING = 0.15, 0.085, 1.01  # length of a step, distance of a sole from the middle, height of the pelvis, m
FRICTION = 0.6
STEP_PHASES = {"shift": "0.4 .. 1.0", "swing": "0.4 .. 1.0", "settle": "0.4 .. 1.0"}  # durations, s


def sections(text):
    """Returns the sections of a model file: kind, name and keys."""
    found = []
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            kind, _, name = line.strip("[]").partition(" ")
            found.append((kind, name, {}))
        elif "=" in line:
            key, _, value = line.partition("=")
            found[-1][2][key.strip()] = value.strip()
    return found


def joints(model):
    """Returns the hinges and slides of a model, with their ranges and speed limits if they have any."""
    all_sections = sections(model)
    numbers = next(keys for kind, _, keys in all_sections if kind == "parameters")
    found = {}
    for kind, name, keys in all_sections:
        if kind == "link" and keys.get("joint", "").split(" ")[0] in ("revolute", "prismatic") and "follows" not in keys:
            found[keys.get("coordinates", name)] = {}
    for kind, _, keys in all_sections:
        if kind == "joint-limit":
            found[keys["coordinate"]].update({key: float(numbers.get(keys[key], keys[key])) for key in ("from", "to", "speed") if key in keys})
    return found


def reach(model, duration):
    """Returns the sections of a motion between two postures within the joint ranges, below half of the speed limits."""
    draw = random.Random(SEED)
    first, last = {}, {}
    for name, joint in joints(model).items():
        low, high = joint.get("from", -3.0), joint.get("to", 3.0)
        margin = 0.1 * (high - low)
        at = min(max(0.0, low + margin), high - margin)
        way = min(0.25 * (high - low), 0.6, 0.5 * joint.get("speed", 1e9) * duration) * draw.uniform(0.5, 1.0) * draw.choice((-1, 1))
        if not low + margin / 2 <= at + way <= high - margin / 2:
            way = -way
        first[name], last[name] = at, at + way
    lines = lambda posture: "".join(f"{name} = {value:.4f}\n" for name, value in posture.items())
    return f"[initial-state]\n{lines(first)}momentum = 0\n[goal]\n{lines(last)}momentum = 0\n"


def squat(model):
    """Returns the sections of a motion on both feet."""
    posture = {name: HALF_SITTING.get(name, 0.0) for name in joints(model)}
    feet = ("left", "right")
    hold = ", ".join(f"{side}_{held}" for side in feet for held in HELD)
    push = ", ".join(f"reaction({side}_{corner}.z) >= 0" for side in feet for corner in CORNERS)
    lines = lambda names: "".join(f"{name} = {posture[name]}\n" for name in names)
    return (
        f"hold = {hold}\nrequire = {push}\n[initial-state]\nbase_link = pose 0 0 {PELVIS}\n{lines(posture)}momentum = 0\n[goal]\n"
        f"base_link = pose free free {PELVIS - SINKS}\n{lines(n for n in posture if not n.startswith('leg'))}momentum = 0\n"
    )


def contact(side):
    """Returns the conditions on the forces of a sole."""
    normal = " + ".join(f"{FRICTION}*reaction({side}_{corner}.z)" for corner in CORNERS)
    along = (f"reaction({side}_heel_in.x) + reaction({side}_heel_out.x)", f"reaction({side}_heel_in.y)")
    return ", ".join([f"reaction({side}_{corner}.z) >= 0" for corner in CORNERS] + [f"abs({force}) <= {normal}" for force in along])


def place(side, ahead):
    """Returns the conditions that put a level sole on the ground."""
    across = HALF_WIDTH if side == "left" else -HALF_WIDTH
    at = {f"{corner}.{axis}": value for corner, (x, y) in CORNERS.items() for axis, value in (("x", ahead + x), ("y", across + y), ("z", 0.0))}
    return ", ".join(f"{side}_{held} == {at[held]:.6g}" for held in HELD)


def step(model, intervals):
    """Returns the sections of a step."""
    posture = {name: HALF_SITTING.get(name, 0.0) for name in joints(model)}
    lines = lambda legs: "".join(f"{name} = {value}\n" for name, value in posture.items() if name.startswith("leg") == legs)
    text = ""
    for phase, duration in STEP_PHASES.items():
        standing = ("right",) if phase == "swing" else ("left", "right")
        require = [contact(side) for side in standing] + [f"left_{corner}.z >= 0" for corner in CORNERS if phase == "swing"]
        hold = ", ".join(f"{side}_{held}" for side in standing for held in HELD)
        text += f"[phase {phase}]\nintervals = {intervals}\nduration = {duration}\nhold = {hold}\nrequire = {', '.join(require)}\n"
    for section, ahead in (("initial-state", 0.0), ("goal", STEP)):
        text += f"[{section}]\nbase_link = pose {ahead / 2} 0 {STANDING}\nrequire = {place('left', ahead)}, {place('right', 0.0)}\n{lines(False)}momentum = 0\n"
    return f"{text}[guess]\n{lines(True)}"


def soles():
    return "".join(f"[point {side}_{name}]\nlink = {side}_sole_link\nat = {x}, {y}, 0\n" for side in ("left", "right") for name, (x, y) in CORNERS.items())


def run(command, folder):
    """Returns the output of a command, its processor time and its wall time, s."""
    used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    before, begin = used(), time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    return done, used() - before, time.monotonic() - begin


def number(pattern, text):
    found = re.search(pattern, text, re.M)
    return float(found.group(1)) if found else float("nan")


def row(program, folder, entry, intervals, refined):
    name, file, base, task, duration, words = entry
    with tempfile.TemporaryDirectory(prefix="dodyn-large-") as place:
        work = pathlib.Path(place)
        imported, _, _ = run([program, "import", folder / file, "--base", base, "--parts", "none"], work)
        if imported.returncode != 0:
            return f"| {name} | {imported.stderr.strip().splitlines()[-1]} |"
        model = imported.stdout + ("" if task == "reach" else soles())
        (work / "robot.model").write_text(model)
        study = f"[study]\nevaluator = motion\n[motion]\nmodel = robot.model\ninitial-guesses = {GUESSES}\n"
        if task == "step":
            tail = step(model, intervals)
        else:
            tail = f"[phase move]\nintervals = {intervals}\nduration = {duration}\n" + (squat(model) if task == "squat" else reach(model, duration))
        (work / "study.cfg").write_text(study + tail + "[cost]\nsquared-control = 1\n")
        accuracy = [] if refined else ["--motion.accuracy", "0"]
        done, cpu, wall = run([program, "solve", "study.cfg", "--verbose", "--motion.time-limit-per-guess", "600", *accuracy, *words], work)
    text = done.stdout
    solved, iterations = number(r"^metrics.guesses_solved +(\d+)", text), number(r"time of \d+ solves, (\d+) it", text)
    solving = number(r"^  all +([\d.]+) s", text) * cpu / wall  # the program prints wall times; this converts them to processor time
    derivatives = number(r"^  derivatives +[\d.]+ s +([\d.]+) %", text)
    degrees = len(joints(model)) + (6 if base == "free" else 0)
    per_iteration = 1e3 * solving / iterations
    phases = len(STEP_PHASES) if task == "step" else 1
    optima, tracked, mesh = number(r"^metrics.optima +(\d+)", text), number(r"^metrics.tracking_error +(\S+)", text), number(r"^metrics.intervals +(\d+)", text)
    status = re.search(r"^status +(\S+)", text, re.M)
    return (
        f"| {name} | {degrees} | {intervals if phases == 1 else f'{phases} x {intervals}'} | {solved:.0f} of {GUESSES} | {optima:.0f} | {iterations / GUESSES:.0f} | {per_iteration:.1f} | {derivatives:.0f} % | "
        f"{1e3 * per_iteration / (phases * intervals) / degrees:.0f} | {solving:.1f} | {cpu:.1f} | {mesh:.0f}: {tracked:.2g} | {status.group(1) if status else done.stderr.strip()} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, help="with the robots")
    parser.add_argument("rows", nargs="*", help="names of rows; without any, all")
    parser.add_argument("--intervals", type=int, nargs="*", default=[20, 40])
    parser.add_argument("--refine", action="store_true", help="halve intervals until motion.accuracy is met, as by default")
    given = parser.parse_args()
    print("| row | degrees of freedom | intervals | guesses solved | optima | iterations a guess | ms an iteration | derivatives | us an interval and degree of freedom | solving, s | all, s | intervals: tracking error, rad | status |")
    print("|" + "---|" * 13)
    for entry in ROWS:
        if given.rows and entry[0] not in given.rows:
            continue
        if not (given.folder / entry[1]).exists():
            print(f"{entry[0]}: no {entry[1]} in {given.folder}", file=sys.stderr)
            continue
        for intervals in given.intervals:
            print(row(given.program.resolve(), given.folder.resolve(), entry, intervals, given.refine), flush=True)


if __name__ == "__main__":
    main()
