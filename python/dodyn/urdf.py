"""dodyn import: a robot as others write it (URDF) as a model text.

    dodyn import robot.urdf [--base fixed|free] [--parts none|hulls] [--package NAME=FOLDER] > robot.model

A URDF link has a frame of its own, turned against its parent's; a model's frames are all aligned with the world's where all
coordinates are zero. So places, axes and tensors are turned once, by the attitude that each link has there. What a model cannot say
is one line: a joint whose axis lies along none of the world's axes there. Of meshes the convex hull is taken, with at most 40 corners.
Each element that is left out or changed is a note.

A tensor with products of inertia has no place in `inertia = a, b, c`. It becomes six point masses on its principal axes, at
+-sqrt(3 s/m) for each second moment s = (trace I)/2 - I_i along an axis, of a sixth of the mass each: the same mass, centre and tensor, exactly.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import stat
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import argparse

Array = npt.NDArray[np.float64]

LARGEST_NUMBER = 1e12  # in SI units: products of three such numbers are still finite
LARGEST_FILE = 64 << 20  # bytes of a URDF
LARGEST_MESH = 256 << 20  # bytes
DEEPEST = 100  # elements inside each other; a URDF has 6
CORNERS = 40  # of the hull of a mesh, at most
MOST_OFF = 0.01  # rad; angles in URDFs are rounded, as 1.57

# What is read or has no bearing on the motion: of each element its attributes and the elements inside it.
READ = {
    "robot": ("name version", "link joint material"),
    "link": ("name type", "inertial collision visual"),
    "visual": None,  # only drawn
    "material": None,
    "inertial": ("", "origin mass inertia"),
    "collision": ("name", "origin geometry verbose"),
    "geometry": ("", "box cylinder sphere capsule mesh"),
    "joint": ("name type", "origin parent child axis limit dynamics mimic"),
    "origin": ("xyz rpy", ""),
    "mass": ("value", ""),
    "inertia": ("ixx ixy ixz iyy iyz izz", ""),
    "box": ("size", ""),
    "cylinder": ("radius length", ""),
    "capsule": ("radius length", ""),
    "sphere": ("radius", ""),
    "mesh": ("filename scale", ""),
    "parent": ("link", ""),
    "child": ("link", ""),
    "axis": ("xyz", ""),
    "limit": ("lower upper effort velocity", ""),
    "dynamics": ("damping friction", ""),
    "mimic": ("joint multiplier offset", ""),
    "verbose": None,
}
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


class UrdfError(Exception):
    """What is wrong and what to do, in one line; `line` of the file, 0: of all of it."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class LeftOut(Exception):
    """A convex part that cannot be had; the rest of the robot can."""


@dataclass
class Element:
    """An element of the file: `line` is where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def get(self, name: str, default: str = "") -> str:
        """Returns an attribute, or `default` if the element does not have it."""
        return self.attributes.get(name, default)

    def findall(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> Element | None:
        """The one element of this tag inside it, or None."""
        found = self.findall(tag)
        if len(found) > 1:
            raise UrdfError(found[1].line, f"a second <{tag}> in this <{self.tag}>; leave one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        found = self.find(tag)
        if found is None:
            raise UrdfError(self.line, f"{self.title} has no <{tag}>; add it")
        return found

    @property
    def title(self) -> str:
        name = self.get("name")
        return f"{self.tag} {quoted(name)}" if name else f"<{self.tag}>"


def quoted(text: object, longest: int = 60) -> str:
    """A name or value from the file in one line of a message or comment."""
    shown = "".join(c if c.isprintable() else "?" for c in str(text))
    return shown if len(shown) <= longest else shown[:longest] + "..."


def contents(path: Path, largest: int) -> bytes:
    """The bytes of a regular file. Throws OSError, and UrdfError where the file is a pipe, a device or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a FIFO would wait for a writer
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UrdfError(0, "not a regular file; give a file")
        if found.st_size > largest:
            raise UrdfError(0, f"more than {largest >> 20} MB; give a smaller file")
        return file.read(largest)


def parsed(data: bytes) -> Element:
    """The root element of the XML in `data`."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    roots: list[Element] = []
    inside: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(inside) == DEEPEST:
            raise UrdfError(parser.CurrentLineNumber, f"more than {DEEPEST} elements inside each other; a URDF has 6")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (inside[-1].children if inside else roots).append(element)
        inside.append(element)

    def entity(name: str, *_: object) -> None:
        raise UrdfError(parser.CurrentLineNumber, f"declares the entity {quoted(name)}; write its text where it is used")

    def end(_tag: str) -> None:
        inside.pop()

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UrdfError(error.lineno, f"is not XML: {expat.errors.messages[error.code]}; check this line") from None
    except (LookupError, ValueError, UnicodeError) as error:
        raise UrdfError(1, f"is not XML that can be read: {quoted(error)}; write it in UTF-8") from None
    return roots[0]


def numbers(element: Element, key: str, count: int = 3, default: float | None = None, lowest: float = -LARGEST_NUMBER) -> Array:
    """`count` numbers in an attribute, above `lowest`; `default` where it is not there."""
    text = element.attributes.get(key)
    if text is None and default is not None:
        return np.full(count, float(default))
    many = "a number" if count == 1 else f"{count} numbers"
    above = "" if lowest < 0 else " above 0" if lowest > 0 else " from 0"
    words = (text or "").split()
    good = all(re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word, re.ASCII) for word in words)
    values = np.array([float(word) for word in words]) if good else np.array([])
    if len(values) != count or (np.abs(values) > LARGEST_NUMBER).any() or (values < lowest).any():
        given = f'has {key}="{quoted(text)}"' if text is not None else f"has no {key}"
        raise UrdfError(element.line, f"<{element.tag}> {given}; write {many}{above}")
    return values


POSITIVE = 1e-12  # the least number that is above 0, in SI units


def real(element: Element, key: str, default: float | None = None, lowest: float = -LARGEST_NUMBER) -> float:
    return float(numbers(element, key, 1, default, lowest)[0])


def rotation(rpy: Array) -> Array:
    """Fixed axes: roll about x, then pitch about y, then yaw about z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])  # fmt: skip


def origin(element: Element) -> tuple[Array, Array]:
    """(place, rotation) of an element's <origin>."""
    found = element.find("origin")
    if found is None:
        return np.zeros(3), np.eye(3)
    return numbers(found, "xyz", default=0), rotation(numbers(found, "rpy", default=0))


def shown(value: float) -> str:
    text = f"{value:.12g}"
    return "0" if text == "-0" else text


def vector(values: Array) -> str:
    return ", ".join(shown(0.0 if abs(v) < 1e-12 else v) for v in values)


def name_of(text: str, taken: set[str]) -> str:
    """A name that a model takes: letters, digits, _; one that no other has."""
    name = re.sub(r"\W", "_", text or "part", flags=re.ASCII)
    name = name if re.match(r"[A-Za-z]", name) else "n" + name
    one, count = name, 2
    while one in taken:
        one, count = f"{name}_{count}", count + 1
    taken.add(one)
    return one


# ---- convex parts ---------------------------------------------------------------------------------------------------


def read_mesh(path: Path) -> Array:
    """Corners of a mesh: STL, text or binary, or OBJ."""
    kind = path.suffix.lower()
    if kind not in (".stl", ".obj"):
        raise LeftOut(f"{quoted(path.name)}: only STL and OBJ meshes are read")
    try:
        data = contents(path, LARGEST_MESH)
    except OSError as error:
        raise LeftOut(f"{quoted(path, 200)}: {error.strerror}") from None
    try:
        if kind == ".obj":
            corners = np.array([line.split()[1:4] for line in data.decode(errors="replace").splitlines() if line.startswith("v ")], float)
        else:
            count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
            if len(data) == 84 + 50 * count:
                faces = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]), count, 84)
                corners = faces["corners"].reshape(-1, 3).astype(float)
            else:
                corners = np.array(re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data), float)
    except ValueError:
        corners = np.array([])
    if corners.ndim != 2 or corners.shape[1] != 3 or not (np.abs(corners) <= LARGEST_NUMBER).all():
        raise LeftOut(f"{quoted(path.name)}: its corners are not numbers that can be read")
    return corners


def hull(points: Array, most: int = CORNERS) -> Array:
    """Corners of the convex hull; beyond `most` of them those that lie furthest in directions spread over the sphere."""
    try:
        from scipy.spatial import ConvexHull
    except ImportError:
        raise LeftOut("meshes need scipy (Debian: python3-scipy)") from None
    try:
        corners: Array = points[ConvexHull(points).vertices]
    except (RuntimeError, ValueError):
        raise LeftOut("a mesh that is flat or has fewer than 4 corners") from None
    if len(corners) <= most:
        return corners
    directions = (np.arange(4 * most) + 0.5) / (4 * most)
    z, turn = 1 - 2 * directions, math.pi * (1 + 5**0.5) * np.arange(4 * most)
    spread = np.c_[np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z]
    for count in range(4 * most, 0, -1):
        chosen = np.unique(np.argmax(corners @ spread[np.linspace(0, 4 * most - 1, count).astype(int)].T, axis=0))
        if len(chosen) <= most:
            return np.asarray(corners[chosen])
    return corners[:4]


def ring(radius: float, height: float, count: int) -> Array:
    turn = 2 * math.pi * np.arange(count) / count
    corners: Array = np.c_[radius * np.cos(turn), radius * np.sin(turn), np.full(count, height)]
    return corners


def part(geometry: Element, folder: Path, packages: Mapping[str, Path]) -> tuple[Array | float, str]:
    """(corners of a <geometry> in its own frame, or the radius of a ball; its measures in words)."""
    found = [child for child in geometry.children if child.tag in SHAPES]
    if len(found) != 1:
        several = "no box, cylinder, sphere, capsule or mesh" if not found else f"{len(found)} shapes"
        raise UrdfError(geometry.line, f"<geometry> has {several}; give it one")
    shape = found[0]
    if shape.tag == "box":
        size = numbers(shape, "size", lowest=POSITIVE)
        return np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2, f"box {vector(size)}"
    if shape.tag == "mesh":
        name = shape.get("filename", "")
        at = re.match(r"(?:package|model)://([^/]+)/(.*)", name)
        path = packages.get(at[1], folder / at[1]) / at[2] if at else folder / re.sub(r"^file://", "", name)
        if not name or "\0" in name:
            raise UrdfError(shape.line, f'<mesh> has filename="{quoted(name)}"; name a file')
        scale = numbers(shape, "scale", default=1.0)
        try:
            return hull(read_mesh(path) * scale), f"convex hull of {quoted(Path(name).name)}"
        except UrdfError as error:
            raise UrdfError(shape.line, f"mesh {quoted(path, 200)}: {error}") from None
    radius = real(shape, "radius", lowest=POSITIVE)
    if shape.tag == "sphere":
        return radius, f"sphere of radius {shown(radius)}"
    half = real(shape, "length", lowest=POSITIVE) / 2
    words = f"{shape.tag} of radius {shown(radius)}, length {shown(2 * half)}"
    rings = [(radius, half, 12)]
    if shape.tag == "capsule":  # its length is that of the cylinder between the caps
        rings += [(radius * math.sqrt(0.5), half + radius * math.sqrt(0.5), 6), (0.0, half + radius, 1)]
    return np.concatenate([ring(r, side * z, count) for r, z, count in rings for side in (-1, 1)]), words


# ---- the text ---------------------------------------------------------------------------------------------------------


def inertial(link: Element, turn: Array) -> tuple[float, Array, Array]:
    """(mass, centre, tensor) in world-aligned axes of the link's frame."""
    element = link.find("inertial")
    if element is None:
        return 0.0, np.zeros(3), np.zeros((3, 3))
    mass = real(element.need("mass"), "value", lowest=0.0)
    place, own = origin(element)
    entries = element.find("inertia")

    def get(key: str) -> float:
        return 0.0 if entries is None else real(entries, key, None if key[1] == key[2] else 0.0)

    tensor = np.array([[get("ixx"), get("ixy"), get("ixz")],
                       [get("ixy"), get("iyy"), get("iyz")],
                       [get("ixz"), get("iyz"), get("izz")]])  # fmt: skip
    if mass == 0 and entries is not None and tensor.any():
        raise UrdfError(entries.line, f"{link.title} has inertia without mass; give it mass, or take the inertia out")
    axes = turn @ own
    return mass, turn @ place, axes @ tensor @ axes.T


def along(axis: Array) -> tuple[str, float, float] | None:
    """("x", 1.0, 0.0) of an axis that lies along one of the world's, or the angle off it; None of others."""
    best = int(np.argmax(np.abs(axis)))
    off = math.atan2(np.linalg.norm(np.delete(axis, best)), abs(axis[best]))
    return ("xyz"[best], math.copysign(1.0, axis[best]), off) if off < MOST_OFF else None


def by_name(robot: Element, tag: str) -> dict[str, Element]:
    """The links or joints by their names, which differ."""
    found: dict[str, Element] = {}
    for element in robot.findall(tag):
        name = element.get("name")
        if not name:
            raise UrdfError(element.line, f"a <{tag}> has no name; give it one")
        if name in found:
            raise UrdfError(element.line, f"{element.title} is in line {found[name].line} already; rename one of them")
        found[name] = element
    return found


def tree(robot: Element) -> tuple[dict[str, Element], str, dict[str, list[Element]]]:
    """(links by name, the root's name, joints below each link): each link hangs on one joint, but for the root."""
    links, joints = by_name(robot, "link"), by_name(robot, "joint").values()
    if not links:
        raise UrdfError(robot.line, "the robot has no <link>; give it one")
    above: dict[str, Element] = {}
    below: dict[str, list[Element]] = {}
    for joint in joints:
        ends = []
        for end in ("parent", "child"):
            name = joint.need(end).get("link")
            if name not in links:
                near = difflib.get_close_matches(name, links, 1)
                hint = f"did you mean {quoted(near[0])}?" if near else "name a link of this file"
                raise UrdfError(joint.need(end).line, f"{joint.title}: no link '{quoted(name)}'; {hint}")
            ends.append(name)
        parent, child = ends
        if child in above:
            raise UrdfError(joint.line, f"link {quoted(child)} is the child of two joints, {quoted(above[child].get('name'))} and "
                            f"{quoted(joint.get('name'))}; a tree has one, close loops in the model")  # fmt: skip
        above[child] = joint
        below.setdefault(parent, []).append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise UrdfError(links[roots[1]].line, f"{len(roots)} links have no parent, as {quoted(roots[0])} and {quoted(roots[1])}; join them to one tree")
    reached = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        reached.add(name)
        waiting += [joint.need("child").get("link") for joint in below.get(name, [])]
    if len(reached) < len(links):  # each other link has a parent, so these lead round
        name = next(name for name in links if name not in reached)
        loop: list[str] = []
        while name not in loop:
            loop.append(name)
            name = above[name].need("parent").get("link")
        loop = loop[loop.index(name) :][::-1]
        named = ", ".join(quoted(one) for one in loop[:5]) + (", ..." if len(loop) > 5 else "")
        raise UrdfError(min(above[one].line for one in loop), f"links {named} hang on each other in a loop; a tree has none, close loops in the model")
    return links, roots[0], below


def not_read(robot: Element) -> list[str]:
    """A note for each kind of element or attribute that the file has and a model does not."""
    found: dict[str, list[int]] = {}
    waiting = [robot]
    while waiting:
        element = waiting.pop()
        read = READ[element.tag]
        if read is None:
            continue
        attributes, children = (words.split() for words in read)
        for name in element.attributes:
            if name not in attributes:
                found.setdefault(f'{quoted(name)}="..." of <{element.tag}>', []).append(element.line)
        for child in element.children:
            if child.tag in children:
                waiting.append(child)
            else:
                found.setdefault(f"<{quoted(child.tag)}> in <{element.tag}>", []).append(child.line)
    def places(lines: list[int]) -> str:
        return f"line {min(lines)}" + (f" and {len(lines) - 1} more" if len(lines) > 1 else "")

    return [f"{what} ({places(lines)}) is left out" for what, lines in sorted(found.items(), key=lambda item: min(item[1]))]


def convert(
    path: str | Path, base: str = "fixed", parts: str = "hulls", packages: Mapping[str, Path] | None = None
) -> tuple[str, list[str]]:
    """The model text of the URDF file at `path`, and notes: what of it the text leaves out, a line each. Throws UrdfError and OSError."""
    path = Path(path)
    folder, known = path.parent, packages or {}
    robot = parsed(contents(path, LARGEST_FILE))
    if robot.tag != "robot":
        raise UrdfError(robot.line, f"is <{quoted(robot.tag)}>, not <robot>; give a URDF file")
    if any(tag.startswith("xacro:") for tag in [child.tag for child in robot.children]):
        raise UrdfError(robot.line, "is a xacro file; import what `xacro FILE` makes of it")
    links, root, below = tree(robot)

    name = robot.get("name") or path.stem
    notes, taken = not_read(robot), {"ground"}
    out: list[str] = []
    out += [f"# {quoted(name)}, from {quoted(path.name)}", "[model]", "dimension = 3", f"name = {name_of(name, set())}", ""]
    inside: set[str] = set()  # kinds of round parts that are polytopes here

    def add(link: Element, joint: Element | None, parent: str, at: Array, turn: Array, own: str) -> None:
        """A link, its mass and its parts. `turn`: its attitude where coordinates are zero."""
        text = [f"[link {own}]", f"parent = {parent}"]
        sign = 1.0
        kind = base if joint is None else joint.get("type")
        moves = kind in ("revolute", "continuous", "prismatic")
        if joint is not None and kind not in JOINTS:
            near = difflib.get_close_matches(kind or "", JOINTS, 1)
            raise UrdfError(joint.line, f"{joint.title} has type '{quoted(kind or '')}'; " + (f"did you mean {near[0]}?" if near else f"write one of {', '.join(JOINTS[:5])}"))
        if joint is not None and moves:
            element = joint.find("axis")
            axis = numbers(element, "xyz") if element is not None else np.array([1.0, 0, 0])
            length = np.linalg.norm(axis)
            if element is not None and length < POSITIVE:
                raise UrdfError(element.line, f"{joint.title} has the axis 0, 0, 0; give it a direction")
            axis = turn @ axis / length
            found = along(axis)
            if found is None:
                raise UrdfError(joint.line, f"{joint.title}: its axis is {vector(axis)} where all joints are at zero; "
                                "turn the frames: a model's axes lie along the world's")  # fmt: skip
            letter, sign, off = found
            if off > 1e-9:
                notes.append(f"{joint.title}: its axis, {off:.2g} rad off {letter}, is taken as {letter}")
            text += [f"joint = {'prismatic' if kind == 'prismatic' else 'revolute'} {letter}"]
            coordinate = name_of(joint.get("name"), taken)
            text += [f"coordinates = {coordinate}"]
            if sign < 0:
                notes.append(f"{coordinate} counts against the URDF's: its axis is -{letter}")
        elif kind in ("floating", "free"):
            text += ["joint = spatial ZYX"]
            if joint is not None:  # of a root they are x, y, z and so on
                text += [f"coordinates = {', '.join(name_of(f'{own}_{one}', taken) for one in ('x', 'y', 'z', 'yaw', 'pitch', 'roll'))}"]
        elif joint is not None and kind == "planar":
            raise UrdfError(joint.line, f"{joint.title}: planar joints are not read; make it two prismatic joints and a revolute one")
        else:
            text += ["joint = fixed"]
        if joint is not None or np.any(at):
            text += [f"at = {vector(at)}"]
        mass, centre, tensor = inertial(link, turn)
        points: list[Array] = []
        if mass > 0:
            values, axes = np.linalg.eigh(tensor)
            seconds = np.sum(values) / 2 - values
            if seconds.min() < -1e-6 * np.abs(values).max():
                notes.append(f"link {own}: no body has its tensor (a second moment is {seconds.min():.3g} kg m2)")
            diagonal = np.allclose(tensor, np.diag(np.diag(tensor)), atol=1e-9 * max(np.trace(tensor), 1e-300))
            if diagonal:
                text += [f"mass = {shown(mass)}", f"centre = {vector(centre)}", f"inertia = {', '.join(map(shown, np.diag(tensor)))}"]
            else:
                text += ["mass = 0"]
                for i, second in enumerate(np.maximum(seconds, 0)):
                    reach = math.sqrt(3 * second / mass) * axes[:, i]
                    points += [centre + reach, centre - reach]
        else:
            text += ["mass = 0"]
        if not all(np.abs(values).max(initial=0) <= LARGEST_NUMBER for values in (at, centre, tensor, np.array(points))):
            raise UrdfError(link.line, f"{link.title}: its place, mass and inertia do not fit together; check their units")
        out.extend([*text, ""])
        for point in points:
            out.extend([f"[mass {name_of(own + '_mass', taken)}]", f"link = {own}", f"at = {vector(point)}", f"mass = {shown(mass)}/6", ""])
        if joint is not None and moves:
            add_limits(joint, kind, coordinate, sign)
        for geometry in link.findall("collision") if parts == "hulls" else []:
            place, attitude = origin(geometry)
            try:
                corners_or_radius, words = part(geometry.need("geometry"), folder, known)
            except LeftOut as error:
                notes.append(f"link {own}: a part (line {geometry.line}) is left out: {error}")
                continue
            lines = [f"[shape {name_of(own + '_shape', taken)}]", f"# {words}", f"link = {own}"]
            inside.update({words.split()[0]} - {"box"})
            if isinstance(corners_or_radius, float):
                lines += [f"at = {vector(turn @ place)}", f"ball = {shown(corners_or_radius)}"]
            else:
                corners = (turn @ (place[:, None] + attitude @ corners_or_radius.T)).T
                if np.abs(corners).max() > LARGEST_NUMBER:
                    raise UrdfError(geometry.line, f"{link.title}: a part reaches beyond {LARGEST_NUMBER:g} m; check its units")
                lines += ["vertices = " + "; ".join(", ".join(f"{round(v, 7):.7g}" for v in corner) for corner in corners)]
            out.extend([*lines, ""])

    def add_limits(joint: Element, kind: str, coordinate: str, sign: float) -> None:
        """Range, actuator and damping of a joint that moves."""
        limit, dynamics, mimic = (joint.find(tag) for tag in ("limit", "dynamics", "mimic"))
        effort = 0.0
        comments: list[str] = []
        if mimic is not None:
            notes.append(f"{coordinate} mimics {quoted(mimic.get('joint'))}: here it moves by itself")
        if limit is not None:
            ends = [real(limit, end, 0.0) for end in ("lower", "upper")]
            low, high = sorted(sign * end for end in ends)
            if kind != "continuous" and ends[0] < ends[1]:
                out.extend([f"[joint-limit {coordinate}]", f"coordinate = {coordinate}", f"from = {shown(low)}", f"to = {shown(high)}", ""])
            elif kind != "continuous":
                notes.append(f"{coordinate} has no range: its limits {shown(ends[0])} and {shown(ends[1])} (line {limit.line}) are left out")
            effort = real(limit, "effort", 0.0)
            if effort <= 0:
                notes.append(f"{coordinate}: the effort {shown(effort)} (line {limit.line}) is taken as no limit")
            if "velocity" in limit.attributes:
                speed = f"{shown(real(limit, 'velocity'))} {'m/s' if kind == 'prismatic' else 'rad/s'}"
                comments.append(f"# left out: the velocity limit {speed}")
                notes.append(f"{coordinate}: its velocity limit {speed} is left out: a model has none")
        elif kind != "continuous":
            notes.append(f"{coordinate} has no range: {joint.title} has no <limit>")
        out.extend([f"[actuator {coordinate}]", *comments, f"coordinate = {coordinate}"])
        if effort > 0:
            out.append(f"limit = {shown(effort)}")
        out.append("")
        damping, friction = (real(dynamics, key, 0.0, lowest=0.0) if dynamics is not None else 0.0 for key in ("damping", "friction"))
        if damping > 0:
            out.extend([f"[spring {coordinate}]", f"coordinate = {coordinate}", "stiffness = 0", f"damping = {shown(damping)}", ""])
        if friction > 0:
            notes.append(f"{coordinate}: dry friction in a joint is left out")

    waiting: list[tuple[Element, Element | None, str, Array, Array]] = [(links[root], None, "ground", np.zeros(3), np.eye(3))]
    while waiting:
        link, joint, parent, at, turn = waiting.pop()
        own = name_of(link.get("name"), taken)
        add(link, joint, parent, at, turn, own)
        for joint in reversed(below.get(link.get("name"), [])):
            place, attitude = origin(joint)
            waiting.append((links[joint.need("child").get("link")], joint, own, turn @ place, turn @ attitude))
    if inside:
        kinds = {"convex": f"meshes as convex hulls of at most {CORNERS} corners", "sphere": "spheres as polytopes of 42 corners",
                 "cylinder": "cylinders as prisms of 24 corners", "capsule": "capsules as polytopes of 38 corners"}  # fmt: skip
        notes.append("shapes are polytopes inside: " + ", ".join(kinds[kind] for kind in sorted(inside)))
    head = [f"# note: {note}" for note in notes]
    return "\n".join([out[0], *head, *out[1:]]).rstrip() + "\n", notes


def main(words: Sequence[str], Parser: type[argparse.ArgumentParser], Refused: type[Exception]) -> None:
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
    except UrdfError as error:
        raise Refused(f"{given.file}{f':{error.line}' if error.line else ''}: {error}") from None
    except OSError as error:
        raise Refused(f"{given.file}: {error.strerror}; give a URDF file") from None
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
