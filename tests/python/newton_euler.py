"""Equations of motion of a URDF by the recursive algorithm of Newton and Euler, in the frames of the URDF: M(q) a + b(q, v) = 0.

It is independent of the program: no Lagrangian, and no frames aligned with the world's. Usage: newton_euler.py EQUATIONS DODYN ROBOT.urdf
... compares each robot that `dodyn import` reads, and prints the largest relative differences of M and b over random states.
"""

import math
import subprocess
import sys
import xml.etree.ElementTree as xml

import numpy as np


def turn(axis, angle):
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k


def three(element, key, otherwise):
    return np.array([float(w) for w in element.get(key, otherwise).split()]) if element is not None else np.array([float(w) for w in otherwise.split()])


def frame(element):
    xyz, rpy = three(element, "xyz", "0 0 0"), three(element, "rpy", "0 0 0")
    return xyz, turn([0, 0, 1], rpy[2]) @ turn([0, 1, 0], rpy[1]) @ turn([1, 0, 0], rpy[0])


class Robot:
    """A tree of links on the ground; `joints`: those with a coordinate of their own, in the order of the file."""

    def __init__(self, text):
        root = xml.fromstring(text)
        self.links = {link.get("name"): link for link in root.findall("link")}
        self.above = {j.find("child").get("link"): j for j in root.findall("joint")}
        moving = [j for j in root.findall("joint") if j.get("type") in ("revolute", "continuous", "prismatic")]
        self.mimic = {}
        for j in moving:
            factor, offset, mimic, name = 1.0, 0.0, j.find("mimic"), j.get("name")
            while mimic is not None:
                offset += factor * float(mimic.get("offset", 0))
                factor *= float(mimic.get("multiplier", 1))
                name = mimic.get("joint")
                mimic = next(o for o in moving if o.get("name") == name).find("mimic")
            self.mimic[j.get("name")] = (name, factor, offset)
        self.joints = [j.get("name") for j in moving if j.find("mimic") is None]
        for j in self.above.values():
            parent = j.find("parent").get("link")
            if parent == "world" and parent not in self.links:
                self.links[parent] = xml.Element("link", name="world")
        order = [name for name in self.links if name not in self.above]
        for name in order:
            order += [child for child, j in self.above.items() if j.find("parent").get("link") == name]
        self.order = order
        self.gears = {}  # rotors: joint -> inertia times squared ratio
        for t in root.findall("transmission"):
            for a in t.findall("actuator"):
                inertia, ratio = a.find("{http://drake.mit.edu}rotor_inertia"), a.find("{http://drake.mit.edu}gear_ratio")
                if inertia is not None:
                    self.gears[t.find("joint").get("name")] = float(inertia.get("value")) * float(ratio.get("value")) ** 2

    def forces(self, q, v, a, gravity=9.81):
        """Generalised forces that make the accelerations a: forward through the tree, then back."""
        place, motion = {}, {}
        for name in self.order:
            link, joint = self.links[name], self.above.get(name)
            if joint is None:
                motion[name] = (np.eye(3), np.zeros(3), np.zeros(3), np.array([0, 0, gravity]))  # rotation from the parent, spin, its rate, acceleration
                continue
            parent = joint.find("parent").get("link")
            _, w, dw, acc = motion[parent]
            xyz, R = frame(joint.find("origin"))
            kind = joint.get("type")
            axis = three(joint.find("axis"), "xyz", "1 0 0")
            axis = axis / (np.linalg.norm(axis) or 1.0)
            x = rate = push = 0.0
            if kind in ("revolute", "continuous", "prismatic"):
                leader, factor, offset = self.mimic[joint.get("name")]
                x, rate, push = factor * q[leader] + offset, factor * v[leader], factor * a[leader]
            slide = kind == "prismatic"
            r = xyz + (R @ axis * x if slide else 0)  # of the joint, in the parent's axes
            E = R if slide else R @ turn(axis, x)
            at = acc + np.cross(dw, r) + np.cross(w, np.cross(w, r))
            w, dw, at = E.T @ w, E.T @ dw, E.T @ at
            if slide:
                at = at + 2 * np.cross(w, axis * rate) + axis * push
            else:
                dw = dw + np.cross(w, axis * rate) + axis * push
                w = w + axis * rate
            place[name] = (parent, r, E, axis, joint.get("name"), kind)
            motion[name] = (E, w, dw, at)
        wrench = {name: [np.zeros(3), np.zeros(3)] for name in self.order}
        for name in self.order:
            inertial = self.links[name].find("inertial")
            if inertial is None:
                continue
            m, i = float(inertial.find("mass").get("value")), inertial.find("inertia")
            c, R = frame(inertial.find("origin"))
            tensor = np.zeros((3, 3))
            if i is not None:
                tensor = R @ np.array([[float(i.get("i" + "".join(sorted(s + t)), 0)) for t in "xyz"] for s in "xyz"]) @ R.T
            _, w, dw, acc = motion[name]
            force = m * (acc + np.cross(dw, c) + np.cross(w, np.cross(w, c)))
            wrench[name][0] += force
            wrench[name][1] += tensor @ dw + np.cross(w, tensor @ w) + np.cross(c, force)
        result = dict.fromkeys(self.joints, 0.0)
        for name in reversed(self.order):
            if name not in place:
                continue
            parent, r, E, axis, joint, kind = place[name]
            force, torque = wrench[name]
            if kind in ("revolute", "continuous", "prismatic"):
                leader, factor, _ = self.mimic[joint]
                result[leader] += factor * float(axis @ (force if kind == "prismatic" else torque))
            force, torque = E @ force, E @ torque
            wrench[parent][0] += force
            wrench[parent][1] += torque + np.cross(r, force)
        for joint, inertia in self.gears.items():
            result[joint] += inertia * a[joint]
        return result

    def equations(self, q, v):
        """(M, b) by unit accelerations."""
        n = len(self.joints)
        none = dict.fromkeys(self.joints, 0.0)
        b = np.array([self.forces(q, v, none)[j] for j in self.joints])
        M = np.zeros((n, n))
        for k, joint in enumerate(self.joints):
            unit = self.forces(q, none, none | {joint: 1.0}, gravity=0.0)
            M[:, k] = [unit[j] for j in self.joints]
        return M, b


def compared(equations, text, model, states=3, seed=1):
    """(largest differences of M and of b, relative to their largest entries) between a URDF's text and the file of its model."""
    robot = Robot(text)
    names = subprocess.run([equations, model], input="", capture_output=True, text=True, check=True).stdout.split()
    own = {name: "".join(c if c.isalnum() else "_" for c in name) for name in robot.joints}
    at = [names.index(own[name] if own[name][0].isalpha() else "n" + own[name]) for name in robot.joints]
    assert len(names) == len(robot.joints), (names, robot.joints)
    random = np.random.default_rng(seed)
    worst = np.zeros(2)
    n = len(names)
    for _ in range(states):
        q, v = random.uniform(-1, 1, n), random.uniform(-2, 2, n)
        line = " ".join(f"{x:.17g}" for x in [*q, *v]) + "\n"
        found = subprocess.run([equations, model], input=line, capture_output=True, text=True, check=True).stdout.splitlines()[1]
        numbers = np.array([float(w) for w in found.split()])
        M, b = numbers[: n * n].reshape(n, n)[np.ix_(at, at)], numbers[n * n :][at]
        wanted_M, wanted_b = robot.equations(*(dict(zip(robot.joints, x[at])) for x in (q, v)))
        worst = np.maximum(worst, [np.abs(M - wanted_M).max() / np.abs(wanted_M).max(), np.abs(b - wanted_b).max() / max(np.abs(wanted_b).max(), 1e-300)])
    return worst


if __name__ == "__main__":
    equations, dodyn, *robots = sys.argv[1:]
    for path in robots:
        made = subprocess.run([dodyn, "import", path, "--parts", "none"], capture_output=True, text=True)
        if made.returncode:
            print(f"{path}: refused: {made.stderr.strip()}")
            continue
        open("compared.model", "w").write(made.stdout)
        text = open(path, "rb").read().decode(errors="replace")
        print(path, "M %.2g, b %.2g" % tuple(compared(equations, text, "compared.model")))
