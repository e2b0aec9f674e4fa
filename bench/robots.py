#!/usr/bin/env python3
"""Imports every public robot in FOLDER..., and compares it with a program of its own: Newton's and Euler's equations of each link.

    bench/robots.py PROGRAM FOLDER... > robots.md
    bench/robots.py PROGRAM FOLDER... --results FILE          # continues an interrupted run: FILE has a line for each finished robot
    bench/robots.py PROGRAM FOLDER... --results FILE --minutes 60 --motions panda,ur5_robot    # what is not done then is counted as not tried
    bench/robots.py PROGRAM FOLDER... --check                 # one line for each robot, no motions; exit code 1 if a robot misses its tolerance

A FOLDER is a checkout, or the files of one next to a file FOLDER.commit with the commit.

Robots are URDF files, and MJCF files with a world, with two moving joints or more. Files with the same links, joints and numbers count once. Each is
imported by the module behind `dodyn import`.

The comparison reads the URDF on its own, and uses the frames of the file, not those of the model. The program's numbers come from `dodyn serve` with
the evaluator `hybrid`. Kinetic energies in pairs of rates are the entries of the mass matrix. Differences of potential energies are the torques of
gravity, exactly: along a hinge the potential is a sine, along a slide a straight line.
"""
import argparse
import collections
import datetime
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the matrices are small
import numpy as np  # noqa: E402
from large_mechanisms import number, reach
from scipy.integrate import solve_ivp

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import dodyn.robots  # noqa: E402

GRAVITY = 9.81  # m/s2
STATES = 2  # random postures for mass matrix and gravity
SEED = 1  # of postures and rates
FALL_S = 0.1  # duration of a fall
FIRST_STEP_S, HALVINGS = 2e-3, 4  # of a fall's integrator, of order 6: until two steps agree
FALL_TOLERANCE = 1e-12  # of the own integrator
STIFF = 1000  # decay of a rate by damping during a fall, as an exponent
SINGULAR = 1e-12  # eigenvalue of the mass matrix whose diagonal is 1
AGREED = 1e-10  # rad, m: two falls with different steps that differ by less are accurate enough
LIMIT_S = 900  # of one command
FALL_LIMIT_S = 120  # no further halving after a fall that took longer
GUESSES, INTERVALS, MOTION_S, MOTION_LIMIT_S = 2, 20, 2.0, 60  # of a motion; the last one is the limit of a guess
TOLERANCE = 1e-9  # of mass matrix, gravity and fall
FALL_FACTOR = 10  # of the change by the last halving, where steps do not agree to the tolerance
MOVING = {"revolute", "continuous", "prismatic", "floating", "planar"}
# Differences of order 10: weights of the function at +-1, +-2, ... steps.
WEIGHTS = (5 / 6, -5 / 21, 5 / 84, -5 / 504, 1 / 1260)
FOLLOWED_STEP = 0.1  # rad or m, of these differences, where other joints follow


# ---- the robot by its own equations ----------------------------------------------------------------------------------


def cross(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def turned(axis, angle):
    k = cross(axis)
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * (k @ k)


def three(element, key, otherwise=(0.0, 0.0, 0.0)):
    return np.array([float(word) for word in element.get(key).split()]) if element is not None and element.get(key) else np.array(otherwise, float)


def frame(element):
    """Returns the place and the attitude of an <origin>: about fixed axes x, y, z, in this order."""
    roll, pitch, yaw = three(element, "rpy")
    return three(element, "xyz"), turned([0, 0, 1], yaw) @ turned([0, 1, 0], pitch) @ turned([1, 0, 0], roll)


class NotCompared(Exception):
    pass


class Move:
    """A joint's motion along or about `axis`, in its own frame, by factor*coordinate + offset."""

    def __init__(self, slides, axis, coordinate, factor=1.0, offset=0.0):
        self.slides, self.axis, self.coordinate, self.factor, self.offset = slides, np.array(axis, float), coordinate, factor, offset


class Link:
    def __init__(self, name, parent, place, attitude, moves, mass, centre, tensor):
        self.name, self.parent, self.place, self.attitude, self.moves, self.mass, self.centre, self.tensor = name, parent, place, attitude, moves, mass, centre, tensor


class Robot:
    """The links of a URDF, parents first; `names`: of the joints that do not follow others. With `is_free` six coordinates of the root come first."""

    def __init__(self, text, is_free=False):
        root = xml.fromstring(text)
        joints = {joint.get("name"): joint for joint in root.findall("joint")}
        moving = {name: joint for name, joint in joints.items() if joint.get("type") in MOVING}
        if any(joint.get("type") in ("floating", "planar") for joint in moving.values()):
            raise NotCompared("not compared: it has a floating or planar joint")
        leaders = {name: self.leader(joints, name) for name in moving}
        self.names = [f"base {k}" for k in range(6)] if is_free else []  # x, y, z, then turns about z, y, x
        self.free = len(self.names)
        self.names += [name for name in moving if moving[name].find("mimic") is None]
        at = {name: i + self.free for i, name in enumerate(self.names[self.free :])}
        self.n = len(self.names)
        self.follows = {leader for name, (leader, _, _) in leaders.items() if name != leader}  # those that others follow
        self.steepest = collections.defaultdict(lambda: 1.0)  # largest factor among the followers of a joint
        for leader, factor, _ in leaders.values():
            self.steepest[leader] = max(self.steepest[leader], abs(factor))
        self.damping, self.rotor = np.zeros(self.n), np.zeros(self.n)
        self.slides = [k < 3 and is_free for k in range(self.n)]
        above = {joint.find("child").get("link"): joint for joint in joints.values()}
        elements = {link.get("name"): link for link in root.findall("link")}
        for joint in joints.values():
            elements.setdefault(joint.find("parent").get("link"), xml.Element("link"))  # an implicit world
        children = collections.defaultdict(list)
        for child, joint in above.items():
            children[joint.find("parent").get("link")].append(child)
        self.links, index, waiting = [], {}, [name for name in elements if name not in above]
        while waiting:
            name = waiting.pop(0)
            waiting += children[name]
            joint, moves = above.get(name), []
            place, attitude = frame(joint.find("origin")) if joint is not None else (np.zeros(3), np.eye(3))
            if joint is None and is_free:
                moves = [Move(True, axis, k) for k, axis in enumerate(np.eye(3))] + [Move(False, np.eye(3)[2 - k], 3 + k) for k in range(3)]
            elif joint is not None and joint.get("name") in moving:
                leader, factor, offset = leaders[joint.get("name")]
                axis = three(joint.find("axis"), "xyz", (1.0, 0.0, 0.0))
                slides = joint.get("type") == "prismatic"
                if leader not in at:  # the leader is fixed: its followers stay at their offset
                    moves = [Move(slides, axis / np.linalg.norm(axis), None, 0.0, offset)]
                else:
                    moves = [Move(slides, axis / np.linalg.norm(axis), at[leader], factor, offset)]
                    dynamics = joint.find("dynamics")
                    self.damping[at[leader]] += factor**2 * float(dynamics.get("damping", 0)) if dynamics is not None else 0.0
                    if leader == joint.get("name"):
                        self.slides[at[leader]] = slides
            inertial = elements[name].find("inertial")
            mass, centre, tensor = 0.0, np.zeros(3), np.zeros((3, 3))
            if inertial is not None:
                mass = float(inertial.find("mass").get("value"))
                centre, axes = frame(inertial.find("origin"))
                given = inertial.find("inertia")
                if given is not None:
                    tensor = np.array([[float(given.get("i" + min(a, b) + max(a, b), 0)) for b in "xyz"] for a in "xyz"])
                    tensor = axes @ tensor @ axes.T
            index[name] = len(self.links)
            parent = index[joint.find("parent").get("link")] if joint is not None else -1
            self.links.append(Link(name, parent, place, attitude, moves, mass, centre, tensor))
        for transmission in root.findall("transmission"):
            for actuator in transmission.findall("actuator"):
                inertia, ratio = (actuator.find("{http://drake.mit.edu}" + one) for one in ("rotor_inertia", "gear_ratio"))
                for joint in transmission.findall("joint"):
                    if inertia is not None and joint.get("name") in at:
                        self.rotor[at[joint.get("name")]] = float(inertia.get("value")) * float(ratio.get("value") if ratio is not None else 1) ** 2
        self.mass = sum(link.mass for link in self.links)

    @staticmethod
    def leader(joints, name):
        """Returns (joint, factor, offset): where a joint is, by the joint at the end of its chain of <mimic>."""
        factor, offset = 1.0, 0.0
        while (mimic := joints[name].find("mimic")) is not None:
            offset += factor * float(mimic.get("offset", 0))
            factor *= float(mimic.get("multiplier", 1))
            name = mimic.get("joint")
        return name, factor, offset

    def equations(self, q, v):
        """Returns the mass matrix and the forces f of M a = f: Newton's and Euler's equations of each link, projected onto the coordinates."""
        M, f, n = np.diag(self.rotor), -self.damping * v, self.n
        M = M.astype(float)
        ground = (np.eye(3), np.zeros(3), np.zeros((3, n)), np.zeros((3, n)), np.zeros(3), np.zeros(3))
        done = []
        for link in self.links:
            # Attitude, place, their derivatives by the coordinates, and the accelerations (angular, linear) without those of the coordinates.
            R, p, turns, slides, alpha, a = done[link.parent] if link.parent >= 0 else ground
            omega = turns @ v

            r = R @ link.place
            slides, a = slides - cross(r) @ turns, a + cross(alpha) @ r + cross(omega) @ (cross(omega) @ r)
            R, p = R @ link.attitude, p + r
            for move in link.moves:
                axis = R @ move.axis
                x = move.offset + (move.factor * q[move.coordinate] if move.coordinate is not None else 0.0)
                rate = move.factor * v[move.coordinate] if move.coordinate is not None else 0.0
                if move.slides:
                    r = axis * x
                    slides = slides - cross(r) @ turns
                    a = a + cross(alpha) @ r + cross(omega) @ (cross(omega) @ r + 2 * axis * rate)
                    p = p + r
                    if move.coordinate is not None:
                        slides[:, move.coordinate] += axis * move.factor
                else:
                    alpha = alpha + cross(omega) @ axis * rate
                    R = R @ turned(move.axis, x)
                    if move.coordinate is not None:
                        turns = turns.copy()
                        turns[:, move.coordinate] += axis * move.factor
                    omega = omega + axis * rate
            done.append((R, p, turns, slides, alpha, a))
            if link.mass == 0 and not link.tensor.any():
                continue
            r, tensor = R @ link.centre, R @ link.tensor @ R.T
            moves = slides - cross(r) @ turns
            pushed = a + cross(alpha) @ r + cross(omega) @ (cross(omega) @ r) + np.array([0, 0, GRAVITY])
            M += link.mass * moves.T @ moves + turns.T @ tensor @ turns
            f -= moves.T @ (link.mass * pushed) + turns.T @ (tensor @ alpha + cross(omega) @ (tensor @ omega))
        return M, f

    def gravity(self, q):
        return -self.equations(q, np.zeros(self.n))[1]

    def falls(self, q, v, duration):
        """Returns the coordinates after a fall: by the method of Dormand and Prince of order 8; with strong damping by Radau's."""
        n = self.n
        strongest = np.abs(np.linalg.eigvals(np.linalg.solve(self.equations(q, v)[0], np.diag(self.damping)))).max()
        method = "DOP853" if strongest * duration < STIFF else "Radau"

        def rates(_, state):
            M, f = self.equations(state[:n], state[n:])
            scale = 1 / np.sqrt(np.diag(M))
            return np.concatenate([state[n:], scale * np.linalg.solve(M * np.outer(scale, scale), scale * f)])

        ran = solve_ivp(rates, (0, duration), np.concatenate([q, v]), method, rtol=FALL_TOLERANCE, atol=FALL_TOLERANCE)
        if not ran.success:
            raise NotCompared(f"not compared: {ran.message}")
        return ran.y[:n, -1]


# ---- the robot by the program ----------------------------------------------------------------------------------------


def without(model, kinds):
    """Returns the model text without sections of these kinds."""
    parts = re.split(r"(?m)^(?=\[)", model)
    return "".join(part for part in parts if not re.match(rf"\[({'|'.join(kinds)})[\] ]", part))


class Served:
    """`dodyn serve` with the evaluator hybrid: the model's coordinates and rates at the start are parameters."""

    def __init__(self, program, folder, model, order, step, end):
        coordinates = []
        for line in model.splitlines():
            if line.startswith("coordinates = "):
                coordinates += [name.strip() for name in line.split("=", 1)[1].split(",")]
        self.coordinates = coordinates
        start = {**{name: f"start_{k}" for k, name in enumerate(coordinates)}, **{f"rate({name})": f"rate_{k}" for k, name in enumerate(coordinates)}}
        text = without(model, ["joint-limit"])
        parameters = "".join(f"{name} = 0\n" for name in start.values())
        text = text.replace("[parameters]\n", "[parameters]\n" + parameters, 1) if "[parameters]\n" in text else text + "\n[parameters]\n" + parameters
        (folder / "robot.model").write_text(text)
        study = f"[study]\nevaluator = hybrid\n[hybrid]\nmodel = robot.model\norder = {order}\nstep = {step}\nend = {end}\nnodes = 2\n[initial-state]\n"
        (folder / "study.cfg").write_text(study + "".join(f"{key} = {name}\n" for key, name in start.items()))
        words = [word for name in start.values() for word in (f"--design.{name}.min", "-1e6", f"--design.{name}.max", "1e6")]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "serve", "study.cfg", *words], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def ask(self, states):
        """Returns for each state (q, v) the rows of a motion from there: {channel: {coordinate: values}}. All questions are written at once."""
        n = len(self.coordinates)
        lines = []
        for q, v in states:
            design = {f"start_{k}": float(q[k]) for k in range(n)} | {f"rate_{k}": float(v[k]) for k in range(n)}
            lines.append(json.dumps({"design": design, "trajectory": True}) + "\n")

        def write():
            try:
                self.process.stdin.write("".join(lines))
                self.process.stdin.flush()
            except BrokenPipeError:
                pass  # the missing answer has the reason

        writer = threading.Thread(target=write)  # both pipes can be full
        writer.start()
        answers = [self.answer() for _ in lines]
        writer.join()
        return answers

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            raise NotCompared("serve: " + (self.errors.read().strip().splitlines() or ["no answer"])[-1])
        answer = json.loads(line)
        if answer.get("status") != "ok":
            raise NotCompared("serve: " + (answer.get("error") or answer.get("reason") or "no answer"))
        return {name: channel["values"] for name, channel in answer["trajectory"].items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def places(robot, coordinates):
    """Returns the places of the robot's coordinates among those of the program."""
    found = []
    for k, name in enumerate(robot.names):
        own = re.sub(r"\W", "_", name, flags=re.ASCII)
        own = coordinates[k] if k < robot.free else own if re.match("[A-Za-z]", own) else "n" + own  # those of the root come first
        if own not in coordinates:
            raise NotCompared(f"not compared: the model has no coordinate {own}")
        found.append(coordinates.index(own))
    if len(coordinates) != robot.n:
        raise NotCompared(f"not compared: the model has {len(coordinates)} coordinates, the file {robot.n}")
    return np.array(found)


def is_positive(M):
    if (np.diag(M) <= 0).any():
        return False
    scale = np.sqrt(np.diag(M))
    return np.linalg.eigvalsh(M / np.outer(scale, scale)).min() > SINGULAR


def matrices(program, folder, model, robot, states):
    """Returns the largest differences of mass matrix and gravity. An entry of the mass matrix counts relative to the roots of its two diagonal
    entries, a torque relative to the largest one."""
    random = np.random.default_rng(SEED)
    worst_mass = worst_gravity = 0.0
    with Served(program, folder, model, 2, 1e-6, 1e-6) as served:
        at = places(robot, served.coordinates)

        for _ in range(states):
            q, none = random.uniform(-1, 1, robot.n), np.zeros(robot.n)
            M = robot.equations(q, none)[0]
            if not is_positive(M):
                raise NotCompared("not compared: its mass matrix is singular, because a joint moves no mass or inertia of the file")
            units = np.diag(1 / np.sqrt(np.diag(M)))
            pairs = [(i, j) for i in range(robot.n) for j in range(i)]
            slopes = []  # coordinate, weight, step of a difference of potential energies
            for i, name in enumerate(robot.names):
                if name in robot.follows:
                    h = FOLLOWED_STEP / robot.steepest[name]
                    slopes += [(i, weight / h, (k + 1) * h) for k, weight in enumerate(WEIGHTS)]
                else:
                    slopes += [(i, 0.5, 1.0 if robot.slides[i] else math.pi / 2)]
            steps = [sign * h * np.eye(robot.n)[i] for i, _, h in slopes for sign in (1, -1)]
            asked = [(q, unit) for unit in units] + [(q, units[i] + units[j]) for i, j in pairs] + [(q + step, none) for step in steps]
            found = [rows["energy"] for rows in served.ask([tuple(x[np.argsort(at)] for x in state) for state in asked])]
            alone = [2 * rows["kinetic"][0] for rows in found[: robot.n]]
            worst_mass = max(worst_mass, *(abs(entry - 1) for entry in alone))
            for (i, j), rows in zip(pairs, found[robot.n :]):
                entry = rows["kinetic"][0] - 0.5 * (alone[i] + alone[j])
                worst_mass = max(worst_mass, abs(entry - M[i, j] * units[i, i] * units[j, j]))
            potential = [rows["potential"][0] for rows in found[len(found) - len(steps) :]]
            torques = np.zeros(robot.n)
            for (i, weight, _), ahead, behind in zip(slopes, potential[::2], potential[1::2]):
                torques[i] += weight * (ahead - behind)
            wanted = robot.gravity(q)
            floor = 1e-9 * robot.mass * GRAVITY
            worst_gravity = max(worst_gravity, np.abs(torques - wanted).max() / max(np.abs(wanted).max(), floor))
    return worst_mass, worst_gravity


def fall(program, folder, model, robot):
    """Returns the largest difference of the coordinates after a fall, and by how much the last two steps of the program's integrator differ."""
    random = np.random.default_rng(SEED + 1)
    q, v = random.uniform(-1, 1, robot.n), random.uniform(-1, 1, robot.n)
    wanted = robot.falls(q, v, FALL_S)
    before, difference, accuracy, step = None, math.nan, math.nan, FIRST_STEP_S
    for _ in range(HALVINGS + 1):
        began = time.monotonic()
        with Served(program, folder, model, 6, step, FALL_S) as served:
            at = places(robot, served.coordinates)
            try:
                rows = served.ask([tuple(x[np.argsort(at)] for x in (q, v))])[0]["q"]
            except NotCompared:  # a step that is too long for the joint's damping
                if step < 1.5 * FIRST_STEP_S / 2**HALVINGS:
                    raise
                step /= 2
                continue
            found = np.array([rows[served.coordinates[k]][-1] for k in at])
        difference = np.abs(found - wanted).max()
        if before is not None:
            accuracy = np.abs(found - before).max()
            if accuracy < AGREED:
                break
        before, step = found, step / 2
        if time.monotonic() - began > FALL_LIMIT_S:
            break
    return difference, accuracy


def motion(program, folder, model):
    """Returns status, tracking error and time of a motion from one posture to another."""
    (folder / "robot.model").write_text(model)
    study = f"[study]\nevaluator = motion\n[motion]\nmodel = robot.model\ninitial-guesses = {GUESSES}\n[phase move]\nintervals = {INTERVALS}\nduration = {MOTION_S}\n"
    (folder / "study.cfg").write_text(study + reach(model, MOTION_S) + "[cost]\nsquared-control = 1\n")
    began = time.monotonic()
    try:
        done = subprocess.run([program, "solve", "study.cfg", "--motion.time-limit-per-guess", str(MOTION_LIMIT_S)], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {"motion": f"no answer in {LIMIT_S} s"}
    status = re.search(r"^status +(\S+)", done.stdout, re.M)
    reason = re.search(r"^reason +(.+)", done.stdout, re.M)
    return {
        "motion": status.group(1) if status else "refused: " + (done.stderr.strip().splitlines() or ["?"])[-1],
        "reason": reason.group(1) if reason else "",
        "deviation": number(r"^metrics.tracking_error +(\S+)", done.stdout),
        "seconds": time.monotonic() - began,
    }


# ---- all robots ------------------------------------------------------------------------------------------------------


def moving_joints(path):
    """Returns the number of moving joints of a robot's file, and a text that is the same for the same robot; None if it is no robot."""
    data = path.read_bytes()
    try:
        root = xml.fromstring(data)
    except (xml.ParseError, LookupError, ValueError):
        if path.suffix == ".xml":
            return None
        return len(re.findall(rb'type\s*=\s*"(?:revolute|continuous|prismatic|floating|planar)"', data)), hashlib.sha256(data).hexdigest()
    if path.suffix == ".xml":
        if root.tag != "mujoco" or root.find("worldbody") is None:
            return None
        count = len([one for tag in ("joint", "freejoint") for one in root.find("worldbody").iter(tag)])
        return count, hashlib.sha256(data).hexdigest()
    if root.tag != "robot":
        return None
    alike = []
    for joint in root.findall("joint"):
        dynamics = [sorted(joint.find(tag).attrib.items()) if joint.find(tag) is not None else () for tag in ("axis", "limit", "dynamics", "origin")]
        mimic = joint.find("mimic")
        alike.append([joint.get("type"), dynamics, mimic is not None and [mimic.get("multiplier"), mimic.get("offset")]])
    for link in root.findall("link"):
        alike.append([sorted(one.attrib.items()) for part in link.findall("inertial") for one in part])
    count = sum(joint.get("type") in MOVING for joint in root.findall("joint"))
    return count, hashlib.sha256(json.dumps(sorted(map(str, alike))).encode()).hexdigest()


def files(folders):
    """Returns (repository, path, moving joints) of each different robot, and the number of robots that were there before."""
    found, seen, repeated = [], set(), 0
    for folder in folders:
        for path in sorted(one for ending in ("urdf", "xml") for one in folder.rglob(f"*.{ending}")):
            known = moving_joints(path) if path.is_file() else None
            if known is None or known[0] < 2:
                continue
            if known[1] in seen:
                repeated += 1
                continue
            seen.add(known[1])
            found.append((folder.name.replace("+", "/"), path, known[0]))
    return found, repeated


def refusal(path, base, parts):
    """Returns why the module behind `dodyn import` refuses a file: one process for all files of a folder."""
    try:
        dodyn.robots.convert(path, base if path.suffix == ".urdf" else "", parts)
    except dodyn.robots.RobotError as error:
        place = f"{(error.file or path).name}:{error.line}" if error.line else (error.file or path).name
        return re.sub(r"(?<!\w)/\S*/", "", f"{place}: {error}")  # without folders of this machine
    return ""


def imported(program, path, base, folder):
    """Returns the model without shapes."""
    words = ["--base", base] if path.suffix == ".urdf" else []
    done = subprocess.run([program, "import", path, "--parts", "none", *words], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode != 0:
        raise NotCompared((done.stderr.strip().splitlines() or [f"{path.name}: exit code {done.returncode}"])[-1].replace(str(path), path.name))
    return done.stdout


def compared(program, path, base):
    """Returns the differences of a robot from the separate program, by name."""
    result = {}
    with tempfile.TemporaryDirectory(prefix="dodyn-robots-") as place:
        folder = pathlib.Path(place)
        try:
            model = imported(program, path, base, folder)
            robot = Robot(path.read_bytes(), base == "free")
            result["coordinates"] = robot.n
            result["mass"], result["gravity"] = matrices(program, folder, model, robot, STATES)
            result["fall"], result["agreed"] = fall(program, folder, model, robot)
        except NotCompared as error:
            result["why"] = str(error)
    return result


def moved(program, path, base):
    with tempfile.TemporaryDirectory(prefix="dodyn-robots-") as place:
        folder = pathlib.Path(place)
        return motion(program, folder, imported(program, path, base, folder))


def commit(folder):
    """Returns the commit of a checkout, in short, or an empty text."""
    if (beside := folder.parent / f"{folder.name}.commit").is_file():
        return beside.read_text().split()[0][:7]
    done = subprocess.run(["git", "-C", folder, "log", "-1", "--format=%h"], capture_output=True, text=True) if (folder / ".git").exists() else None
    return done.stdout.strip()[:7] if done and done.returncode == 0 else ""


MUJOCO = """
## MJCF files and MuJoCo

Of 63 models in MuJoCo Menagerie (of March 2026), 58 are imported. Four are refused: for springs in tendons, a plugin, `springdamper`, and a mass from a capsule that
fits a mesh. One needs a mesh that was not there. Mass matrix and forces in random states agree with MuJoCo 3.3.8 to 1e-9 where inertias are numbers of the file or those of
primitives. Inertias of meshes agree to 6e-7 of the largest entry: MuJoCo turns their axes by up to 1e-6 rad. With its way of finding the axes they agree to rounding.
These models are not in the tables of this page.
"""

HEAD = """# Public robots

On this page you see which robots of public collections dodyn imports, and how far their equations are from those of a separate program.

    COMMAND

`bench/robots.py` imports each robot with two moving joints or more, and writes this page. The folders have the files of public repositories of
GitHub, at the commits in the first table. The robots are not part of dodyn. Files with the same links, joints and numbers count once.
With `--results FILE` a run continues earlier ones.
DATE, commit COMMIT, on two cores with much other work.

The separate program reads the URDF on its own, and projects Newton's and Euler's equations of each link onto the joints. It uses the frames of the file.

* **Mass matrix**: the largest difference of an entry, relative to the roots of its two diagonal entries, in STATES random postures.
* **Gravity**: the largest difference of a torque or force, relative to the largest one, in the same postures.
* **Fall**: the largest difference of a coordinate (rad, m) after FALL s without torques, from a random posture and random rates. Damping acts.
* **Steps agree**: the change of that fall when the steps of the program's integrator are halved. "Fall" cannot be expected to be smaller.
* **Motion**: from rest to rest between two postures in MOTION s, on INTERVALS intervals and with GUESSES initial guesses
  (see "reach" in [large mechanisms](large-mechanisms.md)). A guess may take LIMIT s. Its tracking error (rad, m) and the time of the whole command follow.

Collision parts are converted of MESHES. MJCF files are imported; [below](#mjcf-files-and-mujoco) they are compared with MuJoCo. Motions are those of `--motions` alone.

"""


def shown(value, form="{:.1e}"):
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else form.format(value)


def worst(rows, key):
    values = [row[key] for row in rows if row.get(key) is not None and not math.isnan(row[key])]
    return shown(max(values)) if values else ""


def listed(rows, key):
    """Prints the texts of `key`, each with the robots that have it."""
    alike = collections.defaultdict(list)
    for row in rows:
        if key in row:
            alike[row[key].removeprefix("not compared: ")].append(row["robot"] + row["kind"])
    if not alike:
        print("None.")
    for text, names in alike.items():
        print(f"* {', '.join(dict.fromkeys(names))}: {text}" if key == "why" else f"* `{text}`" + (f" ({len(names)} times)" if len(names) > 1 else ""))


def page(rows, repeated, commits, command, meshes):
    """Prints the tables."""
    commit_here = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h"], capture_output=True, text=True).stdout.strip()[:8]
    constants = {"STATES": STATES, "FALL": FALL_S, "MOTION": f"{MOTION_S:g}", "INTERVALS": INTERVALS, "GUESSES": GUESSES, "LIMIT": MOTION_LIMIT_S}
    constants |= {"MESHES": "all robots" if meshes == math.inf else f"robots with at most {meshes:g} joints", "COMMAND": command, "DATE": f"{datetime.date.today():%-d %B %Y}", "COMMIT": commit_here}
    print(re.sub(rf"\b(?:{'|'.join(constants)})\b", lambda found: str(constants[found.group()]), HEAD), end="")
    print("| repository | robots | imported | compared | mass matrix | gravity | fall | motions solved |\n|" + "---|" * 8)
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row["repository"]].append(row)
    for name, group in [*sorted(groups.items()), ("all", rows)]:
        tried = [row for row in group if "motion" in row]
        counts = [len(group), sum("refused" not in row for row in group), sum("fall" in row for row in group)]
        solved = f"{sum(row['motion'] == 'ok' for row in tried)} of {len(tried)}" if tried else ""
        title = f"{name} ({commits[name]})" if commits.get(name) else name
        print(f"| {title} | {' | '.join(map(str, counts))} | {worst(group, 'mass')} | {worst(group, 'gravity')} | {worst(group, 'fall')} | {solved} |")
    agreeing = [row for row in rows if "fall" in row and not misses(row)]
    waiting = sum("compared" not in row and "refused" not in row and row["kind"] == ".urdf" for row in rows)
    print(f"\n{repeated} more files repeat one of these robots. Of {sum('fall' in row for row in rows)} compared robots, {len(agreeing)} agree: mass matrix and gravity to")
    print(f"{TOLERANCE:.0e}, the fall to {TOLERANCE:.0e} or {FALL_FACTOR} times \"steps agree\". {waiting} URDF robots were not tried in the time of the run.")
    kinds = [[row for row in rows if (row["kind"] == ".urdf") == is_urdf] for is_urdf in (True, False)]
    imported_of = [f"{len(kind)} {name} files {sum('refused' not in row for row in kind)}" for kind, name in zip(kinds, ("URDF", "MJCF"))]
    print(f"Of {imported_of[0]} are imported, of {imported_of[1]}.\n{MUJOCO}", end="")
    print("\n## Refused\n\nEach line names file, line and reason. A URDF file is refused for an error in the file, an MJCF file mostly for an element that a model does not have.\n")
    listed(rows, "refused")
    print("\n## Imported, and not compared to the end\n")
    listed(rows, "why")
    print("\n## Each robot\n\n| robot | joints | coordinates | mass matrix | gravity | fall | steps agree | motion | deviation | time, s |\n|" + "---|" * 10)
    for row in rows:
        if "mass" in row or "motion" in row:
            cells = [f"{row['repository'].split('/')[1]}: {row['robot']}{row['kind']}", str(row["joints"]), str(row.get("coordinates", ""))]
            cells += [shown(row.get(key)) for key in ("mass", "gravity", "fall", "agreed")]
            cells += [row.get("motion", ""), shown(row.get("deviation"), "{:.2g}"), shown(row.get("seconds"), "{:.1f}")]
            print(f"| {' | '.join(cells)} |")


def misses(row):
    """Returns whether mass matrix, gravity or fall are farther from the separate program than they may be."""
    if "refused" in row or "why" in row:
        return True
    return row["kind"] == ".urdf" and "compared" in row and not (row["mass"] < TOLERANCE and row["gravity"] < TOLERANCE and row["fall"] < max(TOLERANCE, FALL_FACTOR * row["agreed"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folders", type=pathlib.Path, nargs="+", help="each a repository, or a folder of robots")
    parser.add_argument("--results", type=pathlib.Path, help="where finished robots are stored")
    parser.add_argument("--base", choices=["fixed", "free"], default="fixed", help="of URDF robots")
    parser.add_argument("--motions", default="all", help="robots that move, by the names of their files without ending, separated by commas; all, or none")
    parser.add_argument("--meshes", type=float, default=math.inf, metavar="JOINTS", help="collision parts are converted of robots with at most this number of joints; of all by default")
    parser.add_argument("--minutes", type=float, default=math.inf, help="time after which no further robot is tried")
    parser.add_argument("--check", action="store_true", help="compare only, and judge")
    given = parser.parse_args()
    program, folders = given.program.resolve(), [folder.resolve() for folder in given.folders]
    end = time.monotonic() + 60 * given.minutes
    found, repeated = files(folders)
    done = {}  # results by file, in parts: import, comparison, motion
    if given.results and given.results.exists():
        for row in map(json.loads, given.results.read_text().splitlines()):
            done.setdefault(row["file"], {}).update(row)
    joints_of = {path: joints for _, path, joints in found}

    def tried(path):
        why = refusal(path, given.base, "hulls" if joints_of[path] <= given.meshes else "none")
        return {"refused": why} if why else {}

    parts = {"imported": tried, "compared": lambda path: compared(program, path, given.base)}
    if not given.check:
        parts["moved"] = lambda path: moved(program, path, given.base)
    names = given.motions.split(",")
    for part, run in parts.items():
        for repository, path, joints in sorted(found, key=lambda one: one[2]):
            row = done.setdefault(str(path), {"file": str(path), "repository": repository, "robot": path.stem, "kind": path.suffix, "joints": joints})
            if part in row or "refused" in row or (part == "compared" and row["kind"] != ".urdf") or (part == "moved" and given.motions != "all" and path.stem not in names):
                continue
            if part != "imported" and time.monotonic() > end:
                break
            row.update({part: True, **run(path)})
            if given.results:
                with given.results.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            if not given.check and part != "imported":
                print(f"{part} {row['robot']}: {row.get('why') or [row.get(k) for k in ('mass', 'gravity', 'fall', 'agreed', 'motion')]}", file=sys.stderr, flush=True)
    rows = [done[str(path)] for _, path, _ in found]
    if not given.check:
        words = " ".join("FILE" if word == str(given.results) else word for word in sys.argv[2:] if not pathlib.Path(word).is_dir())
        page(rows, repeated, {folder.name.replace("+", "/"): commit(folder) for folder in folders}, f"bench/robots.py PROGRAM FOLDER... {words}", given.meshes)
        return 0
    for row in rows:
        verdict = "MISSED" if misses(row) else "ok"
        what = row.get("refused") or row.get("why") or ", ".join(f"{key} {row[key]:.1e}" for key in ("mass", "gravity", "fall", "agreed") if key in row)
        print(f"{row['robot']}: {verdict}: {what}")
    return 1 if any(map(misses, rows)) else 0


if __name__ == "__main__":
    sys.exit(main())
