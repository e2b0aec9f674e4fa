"""dodyn import: a robot as others write it (URDF) as a model text.

    dodyn import robot.urdf [--base fixed|free] [--parts none|hulls] [--package NAME=FOLDER] > robot.model

A URDF link has a frame of its own, turned against its parent's; a model's frames are all aligned with the world's where all
coordinates are zero. So places, axes and tensors are turned once, by the attitude that each link has there. What a model cannot say
is one line: a joint whose axis lies along none of the world's axes there. Of meshes the convex hull is taken, with at most 40 corners.

A tensor with products of inertia has no place in `inertia = a, b, c`. It becomes six point masses on its principal axes, at
+-sqrt(3 s/m) for each second moment s = (trace I)/2 - I_i along an axis, of a sixth of the mass each: the same mass, centre and tensor, exactly.
"""

import math
import re
import struct
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

import numpy as np


def numbers(text, count=3, default=0.0):
    values = [float(word) for word in (text or "").split()] or [default] * count
    if len(values) != count or not all(map(math.isfinite, values)):
        raise ValueError(f"'{text}' is not {count} numbers")
    return np.array(values)


def rotation(rpy):
    """Fixed axes: roll about x, then pitch about y, then yaw about z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])  # fmt: skip


def origin(element):
    """(place, rotation) of an element's <origin>."""
    found = element.find("origin") if element is not None else None
    if found is None:
        return np.zeros(3), np.eye(3)
    return numbers(found.get("xyz")), rotation(numbers(found.get("rpy")))


def shown(value):
    text = f"{value:.12g}"
    return "0" if text == "-0" else text


def vector(values):
    return ", ".join(shown(0.0 if abs(v) < 1e-12 else v) for v in values)


def name_of(text, taken):
    """A name that a model takes: letters, digits, _; one that no other has."""
    name = re.sub(r"\W", "_", text or "part")
    name = name if re.match(r"[A-Za-z]", name) else "n" + name
    one, count = name, 2
    while one in taken:
        one, count = f"{name}_{count}", count + 1
    taken.add(one)
    return one


# ---- convex parts ---------------------------------------------------------------------------------------------------


def read_mesh(path):
    """Corners of a mesh: STL, text or binary, or OBJ."""
    data = Path(path).read_bytes()
    if path.suffix.lower() == ".obj":
        return np.array([line.split()[1:4] for line in data.decode(errors="replace").splitlines() if line.startswith("v ")],
                        float)  # fmt: skip
    if path.suffix.lower() != ".stl":
        raise ValueError(f"{path.name}: only STL and OBJ meshes are read")
    count = struct.unpack_from("<I", data, 80)[0] if len(data) > 84 else -1
    if len(data) == 84 + 50 * count:
        faces = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]), count, 84)
        return faces["corners"].reshape(-1, 3).astype(float)
    return np.array(re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data), float)


def hull(points, most=40):
    """Corners of the convex hull; beyond `most` of them those that lie furthest in directions spread over the sphere."""
    from scipy.spatial import ConvexHull

    corners = points[ConvexHull(points).vertices]
    if len(corners) <= most:
        return corners
    directions = (np.arange(4 * most) + 0.5) / (4 * most)
    z, turn = 1 - 2 * directions, math.pi * (1 + 5**0.5) * np.arange(4 * most)
    spread = np.c_[np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z]
    for count in range(4 * most, 0, -1):
        chosen = np.unique(np.argmax(corners @ spread[np.linspace(0, 4 * most - 1, count).astype(int)].T, axis=0))
        if len(chosen) <= most:
            return corners[chosen]
    return corners[:4]


def part(geometry, folder, packages):
    """Corners of a <geometry> in its own frame, or ("ball", radius)."""
    box, cylinder, sphere, mesh = (geometry.find(kind) for kind in ("box", "cylinder", "sphere", "mesh"))
    if box is not None:
        size = numbers(box.get("size")) / 2
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size
    if cylinder is not None:
        radius, half = float(cylinder.get("radius")), float(cylinder.get("length")) / 2
        turn = 2 * math.pi * np.arange(12) / 12
        return np.array([[radius * math.cos(a), radius * math.sin(a), z] for a in turn for z in (-half, half)])
    if sphere is not None:
        return "ball", float(sphere.get("radius"))
    if mesh is None:
        raise ValueError("a geometry that is no box, cylinder, sphere or mesh")
    name = mesh.get("filename", "")
    found = re.match(r"(?:package|model)://([^/]+)/(.*)", name)
    path = packages.get(found[1], folder / found[1]) / found[2] if found else folder / re.sub(r"^file://", "", name)
    return hull(read_mesh(path) * numbers(mesh.get("scale"), 3, 1.0))


# ---- the text ---------------------------------------------------------------------------------------------------------


def inertial(link, turn):
    """(mass, centre, tensor) in world-aligned axes of the link's frame."""
    element = link.find("inertial")
    if element is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    mass = float(element.find("mass").get("value"))
    place, own = origin(element)
    entries = element.find("inertia")
    get = (lambda key: float(entries.get(key, "0"))) if entries is not None else (lambda key: 0.0)
    tensor = np.array([[get("ixx"), get("ixy"), get("ixz")],
                       [get("ixy"), get("iyy"), get("iyz")],
                       [get("ixz"), get("iyz"), get("izz")]])  # fmt: skip
    axes = turn @ own
    return mass, turn @ place, axes @ tensor @ axes.T


MOST_OFF = 0.01  # rad; angles in URDFs are rounded, as 1.57


def along(axis):
    """("x", 1.0, 0.0) of an axis that lies along one of the world's, or the angle off it; None of others."""
    best = int(np.argmax(np.abs(axis)))
    off = math.atan2(np.linalg.norm(np.delete(axis, best)), abs(axis[best]))
    return ("xyz"[best], math.copysign(1.0, axis[best]), off) if off < MOST_OFF else None


def convert(path, base="fixed", parts="hulls", packages=None):
    """The model text of the URDF file at `path`, and notes: what of it the text leaves out, a line each."""
    path, packages = Path(path), packages or {}
    robot = xml.parse(path).getroot()
    if robot.tag != "robot":
        raise ValueError(f"is <{robot.tag}>, not <robot>")
    links = {link.get("name"): link for link in robot.findall("link")}
    joints = [joint for joint in robot.findall("joint") if joint.find("parent") is not None]
    children = {}
    for joint in joints:
        for end in ("parent", "child"):
            if joint.find(end).get("link") not in links:
                raise ValueError(f"joint {joint.get('name')}: no link {joint.find(end).get('link')}")
        children.setdefault(joint.find("parent").get("link"), []).append(joint)
    roots = [name for name in links if not any(j.find("child").get("link") == name for j in joints)]
    if len(roots) != 1:
        raise ValueError(f"has {len(roots)} links without a parent; a tree has one")

    notes, taken, out = [], set(), []
    out += [f"# {robot.get('name', path.stem)}, from {path.name}", "[model]", "dimension = 3", f"name = {name_of(robot.get('name') or path.stem, set())}", ""]

    def add(link, joint, parent, at, turn, own):
        """A link, what it weighs and its parts, then its children. `turn`: its attitude where coordinates are zero."""
        text = [f"[link {own}]", f"parent = {parent}"]
        sign = 1.0
        kind = joint.get("type") if joint is not None else base
        if kind in ("revolute", "continuous", "prismatic"):
            element = joint.find("axis")
            axis = turn @ numbers(element.get("xyz") if element is not None else "1 0 0")
            found = along(axis / np.linalg.norm(axis))
            if found is None:
                raise ValueError(f"joint {joint.get('name')}: its axis is {vector(axis)} where all joints are at zero; "
                                 "a model's axes lie along the world's")  # fmt: skip
            letter, sign, off = found
            if off > 1e-9:
                notes.append(f"joint {joint.get('name')}: its axis, {off:.2g} rad off {letter}, is taken as {letter}")
            text += [f"joint = {'prismatic' if kind == 'prismatic' else 'revolute'} {letter}"]
            coordinate = name_of(joint.get("name"), taken)
            text += [f"coordinates = {coordinate}"]
            if sign < 0:
                notes.append(f"{coordinate} counts against the URDF's: its axis is -{letter}")
        elif kind in ("floating", "free"):
            text += ["joint = spatial ZYX"]
        elif kind == "planar":
            raise ValueError(f"joint {joint.get('name')}: planar joints are not read")
        else:
            text += ["joint = fixed"]
        if joint is not None or np.any(at):
            text += [f"at = {vector(at)}"]
        mass, centre, tensor = inertial(link, turn)
        points = []
        if mass > 0:
            diagonal = np.allclose(tensor, np.diag(np.diag(tensor)), atol=1e-9 * max(np.trace(tensor), 1e-300))
            if diagonal:
                text += [f"mass = {shown(mass)}", f"centre = {vector(centre)}", f"inertia = {', '.join(map(shown, np.diag(tensor)))}"]
            else:
                values, axes = np.linalg.eigh(tensor)
                seconds = np.sum(values) / 2 - values
                if seconds.min() < -1e-6 * abs(np.sum(values)):
                    notes.append(f"link {own}: no body has its tensor (a second moment is {seconds.min():.3g} kg m2); taken as 0")
                text += ["mass = 0"]
                for i, second in enumerate(np.maximum(seconds, 0)):
                    reach = math.sqrt(3 * second / mass) * axes[:, i]
                    points += [centre + reach, centre - reach]
        else:
            text += ["mass = 0"]
        out.extend([*text, ""])
        for point in points:
            out.extend([f"[mass {name_of(own + '_mass', taken)}]", f"link = {own}", f"at = {vector(point)}", f"mass = {shown(mass)}/6", ""])
        if joint is not None and kind in ("revolute", "continuous", "prismatic"):
            limit, dynamics, mimic = (joint.find(tag) for tag in ("limit", "dynamics", "mimic"))
            if mimic is not None:
                notes.append(f"{coordinate} mimics {mimic.get('joint')}: here it moves by itself")
            if limit is not None and kind != "continuous" and limit.get("lower") is not None and limit.get("upper") is not None:
                low, high = sorted(sign * float(limit.get(end)) for end in ("lower", "upper"))
                if low < high:
                    out.extend([f"[range {coordinate}]", f"coordinate = {coordinate}", f"from = {shown(low)}", f"to = {shown(high)}", ""])
            out.extend([f"[actuator {coordinate}]", f"coordinate = {coordinate}"])
            if limit is not None and float(limit.get("effort", "0")) > 0:
                out.append(f"limit = {limit.get('effort')}")
            out.append("")
            if dynamics is not None and float(dynamics.get("damping", "0")) > 0:
                out.extend([f"[spring {coordinate}]", f"coordinate = {coordinate}", "stiffness = 0", f"damping = {dynamics.get('damping')}", ""])
            if dynamics is not None and float(dynamics.get("friction", "0")) > 0:
                notes.append(f"{coordinate}: dry friction in a joint is left out")
        for geometry in link.findall("collision") if parts == "hulls" else []:
            place, attitude = origin(geometry)
            try:
                found = part(geometry.find("geometry"), path.parent, packages)
            except (OSError, ValueError, ImportError, RuntimeError) as error:  # the last of a flat mesh
                notes.append(f"link {own}: a part is left out: {str(error).splitlines()[0]}")
                continue
            lines = [f"[shape {name_of(own + '_shape', taken)}]", f"link = {own}"]
            if isinstance(found, tuple):
                lines += [f"at = {vector(turn @ place)}", f"ball = {shown(found[1])}"]
            else:
                corners = (turn @ (place[:, None] + attitude @ found.T)).T
                lines += ["vertices = " + "; ".join(", ".join(f"{round(v, 7):.7g}" for v in corner) for corner in corners)]
            out.extend([*lines, ""])
        for below in children.get(link.get("name"), []):
            place, attitude = origin(below)
            child = links[below.find("child").get("link")]
            add(child, below, own, turn @ place, turn @ attitude, name_of(child.get("name"), taken))

    reached, new = set(), {roots[0]}
    while new:
        reached |= new
        new = {j.find("child").get("link") for name in new for j in children.get(name, [])} - reached
    if len(reached) < len(links):
        raise ValueError(f"{len(links) - len(reached)} links do not hang on {roots[0]}, as {sorted(set(links) - reached)[0]}")
    add(links[roots[0]], None, "ground", np.zeros(3), np.eye(3), name_of(roots[0], taken))
    for joint in joints:
        if joint.find("safety_controller") is not None:
            notes.append("safety controllers are left out")
            break
    head = [f"# note: {note}" for note in notes]
    return "\n".join([out[0], *head, *out[1:]]).rstrip() + "\n", notes


def main(words, Parser, Refused):
    parser = Parser(prog="dodyn import", description="A URDF robot as a model text, on standard output.")
    parser.add_argument("file", metavar="FILE.urdf")
    parser.add_argument("--base", choices=["fixed", "free"], default="fixed", help="how its first link is on the ground (default: fixed)")
    parser.add_argument("--parts", choices=["hulls", "none"], default="hulls", help="convex parts from its collision geometry, or none")
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER", help="where package://NAME/ lies")
    given = parser.parse_args(words)
    packages = {}
    for one in given.package:
        if "=" not in one:
            raise Refused(f"--package {one}: allowed: NAME=FOLDER")
        packages[one.split("=", 1)[0]] = Path(one.split("=", 1)[1])
    try:
        text, notes = convert(given.file, given.base, given.parts, packages)
    except xml.ParseError as error:
        raise Refused(f"{given.file}: is not XML: {error}") from None
    except OSError as error:
        raise Refused(f"{given.file}: {error.strerror}") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise Refused(f"{given.file}: {error}") from None
    sys.stdout.write(text)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
