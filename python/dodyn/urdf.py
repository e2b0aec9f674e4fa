"""dodyn import: a robot as others write it (URDF) as a model file.

    dodyn import robot.urdf [--base fixed|free] [--parts none|hulls] [--mimic follow|free] [--package NAME=FOLDER] > robot.model

A URDF link has a frame of its own, turned against its parent's. The frames of a model are aligned with the world's where all
coordinates are zero. So places, axes and tensors are turned once, by the attitude that each link has there. Coordinates are the URDF's.
The numbers of the robot are parameters of the model: of each link its mass and the scale of its lengths, of each joint its range, speed,
effort and damping. Inertias follow mass and scale. Of a mesh the convex hull is taken, with at most 40 corners.
Each element that is left out or changed is a note.
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
FAR = 1e300  # larger ends of a range mean no limit
LARGEST_FILE = 64 << 20  # bytes of a URDF
LARGEST_MESH = 256 << 20  # bytes
LARGEST_SCENE = 10000  # nodes of a DAE
DEEPEST = 100  # limit of nested elements; a URDF has 6
CORNERS = 40  # limit of the corners of a mesh's hull
ALIGNED = 1e-12  # rad; an axis this near to a coordinate axis is replaced by it

# Elements that are read or have no effect on the motion, with their attributes and nested elements.
READ = {
    "robot": ("name version", "link joint material transmission"),
    "link": ("name type", "inertial collision visual"),
    "visual": None,  # only for pictures
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
    "transmission": None,  # rotors() reads its rotor; efforts are those of joints
}
SHAPES = ("box", "cylinder", "sphere", "capsule", "mesh")
JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
WORLD = "world"  # a link that may be a parent without a definition


class UrdfError(Exception):
    """The error and its remedy, one line; `line` of the file, 0: the whole file."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line


class LeftOut(Exception):
    """A convex part that cannot be converted, while the rest of the robot can."""


@dataclass
class Element:
    """An element of the file; `line` is its first line."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def get(self, name: str, default: str = "") -> str:
        """Returns an attribute, or `default` if the element does not have it."""
        return self.attributes.get(name, default)

    def findall(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> Element | None:
        """Returns the single nested element with this tag, or None."""
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
    """Returns a name or value of the file as one line, for a message or comment."""
    shown = "".join(c if c.isprintable() else "?" for c in str(text))
    return shown if len(shown) <= longest else shown[:longest] + "..."


def contents(path: Path, largest: int) -> bytes:
    """Returns the bytes of a regular file. Throws OSError, and UrdfError if the file is a pipe, a device or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a FIFO would wait for a writer
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise UrdfError(0, "not a regular file; give a file")
        if found.st_size > largest:
            raise UrdfError(0, f"more than {largest >> 20} MB; give a smaller file")
        return file.read(largest)


def parsed(data: bytes) -> Element:
    """Returns the root element of the XML in `data`."""
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

    def words(text: str) -> None:
        if inside:
            inside[-1].text += text

    parser.CharacterDataHandler = words
    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.EntityDeclHandler = entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise UrdfError(error.lineno, f"is not XML: {expat.errors.messages[error.code]}; check this line") from None
    except (LookupError, ValueError, UnicodeError) as error:
        raise UrdfError(1, f"is not XML that can be read: {quoted(error)}; write it in UTF-8") from None
    return roots[0]


def numbers(element: Element, key: str, count: int = 3, default: float | None = None, lowest: float = -math.inf, highest: float = LARGEST_NUMBER) -> Array:
    """Returns `count` numbers of an attribute, above `lowest`; `default` if it is missing."""
    text = element.attributes.get(key)
    if text is None and default is not None:
        return np.full(count, float(default))
    many = "a number" if count == 1 else f"{count} numbers"
    above = "" if lowest < 0 else " above 0" if lowest > 0 else " from 0"
    words = (text or "").split()
    good = all(re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", word, re.ASCII) for word in words)
    values = np.array([float(word) for word in words]) if good else np.array([])
    if len(values) != count or (np.abs(values) > highest).any() or (values < lowest).any():
        given = f'has {key}="{quoted(text)}"' if text is not None else f"has no {key}"
        raise UrdfError(element.line, f"<{element.tag}> {given}; write {many}{above}")
    return values


POSITIVE = 1e-12  # smallest number that counts as positive, in SI units


def real(element: Element, key: str, default: float | None = None, lowest: float = -math.inf, highest: float = LARGEST_NUMBER) -> float:
    return float(numbers(element, key, 1, default, lowest, highest)[0])


def rotation(rpy: Array) -> Array:
    """Returns the rotation matrix for fixed axes: roll about x, then pitch about y, then yaw about z."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    return np.array([[cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
                     [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
                     [-sp, cp * sr, cp * cr]])  # fmt: skip


def origin(element: Element) -> tuple[Array, Array]:
    """Returns (position, rotation) of an element's <origin>."""
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
    """Returns a unique name with the characters that a model accepts: letters, digits, _."""
    name = re.sub(r"\W", "_", text or "part", flags=re.ASCII)
    name = name if re.match(r"[A-Za-z]", name) else "n" + name
    one, count = name, 2
    while one in taken:
        one, count = f"{name}_{count}", count + 1
    taken.add(one)
    return one


# ---- convex parts ---------------------------------------------------------------------------------------------------


def floats(element: Element) -> Array:
    return np.array(element.text.split(), float)


def collada(data: bytes) -> Array:
    """Returns the corners of the meshes in a COLLADA scene (DAE), m. Its up_axis is not applied, as in ROS. Throws ValueError."""
    try:
        root = parsed(data)
    except UrdfError as error:
        raise LeftOut(f"it {error}") from None
    known: dict[str, Element] = {}
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if "id" in element.attributes:
            known["#" + element.get("id")] = element
        waiting += element.children

    def positions(geometry: Element) -> Array:
        """Returns the corners of a <geometry>: the POSITION of its vertices."""
        corners = [np.zeros((0, 3))]
        for vertices in [v for mesh in geometry.findall("mesh") for v in mesh.findall("vertices")]:
            for given in vertices.findall("input"):
                if given.get("semantic") == "POSITION":
                    corners.append(floats(known[given.get("source")].need("float_array")).reshape(-1, 3))
        return np.concatenate(corners)

    def moved(node: Element) -> Array:
        """Returns the transformation of a <node>, [4, 4]."""
        whole = np.eye(4)
        for step in node.children:
            one = np.eye(4)
            if step.tag == "matrix":
                one = floats(step).reshape(4, 4)
            elif step.tag == "translate":
                one[:3, 3] = floats(step)
            elif step.tag == "scale":
                one[:3, :3] = np.diag(floats(step))
            elif step.tag == "rotate":
                x, y, z, degrees = floats(step)
                k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
                angle = math.radians(degrees)
                one[:3, :3] += math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
            whole = whole @ one
        return whole

    found: list[Array] = []
    nodes = [(node, np.eye(4)) for library in root.findall("library_visual_scenes") for scene in library.findall("visual_scene") for node in scene.findall("node")]
    count = 0
    while nodes and count < LARGEST_SCENE:
        count += 1
        node, above = nodes.pop()
        here = above @ moved(node)
        nodes += [(child, here) for child in node.findall("node")]
        nodes += [(known[one.get("url")], here) for one in node.findall("instance_node") if one.get("url") in known]
        for one in node.findall("instance_geometry") + node.findall("instance_controller"):
            geometry = known.get(one.get("url"))
            if geometry is not None and geometry.tag == "geometry":
                corners = positions(geometry)
                found.append((np.c_[corners, np.ones(len(corners))] @ here.T)[:, :3])
    if nodes:
        raise LeftOut(f"a scene of more than {LARGEST_SCENE} nodes")
    corners = np.concatenate(found) if found else np.zeros((0, 3))
    asset = root.find("asset")
    unit = asset.find("unit") if asset is not None else None
    return corners * (float(unit.get("meter", "1")) if unit is not None else 1.0)


def read_mesh(path: Path) -> Array:
    """Returns the corners of a mesh: STL (text or binary), OBJ, or DAE."""
    kind = path.suffix.lower()
    if kind not in (".stl", ".obj", ".dae"):
        raise LeftOut(f"{quoted(path.name)}: only STL, OBJ and DAE meshes are read")
    try:
        data = contents(path, LARGEST_MESH)
    except OSError as error:
        raise LeftOut(f"{quoted(path, 200)}: {error.strerror}") from None
    try:
        if kind == ".dae":
            corners = collada(data)
        elif kind == ".obj":
            corners = np.array([line.split()[1:4] for line in data.decode(errors="replace").splitlines() if line.startswith("v ")], float)
        else:
            count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
            if len(data) == 84 + 50 * count:
                faces = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]), count, 84)
                corners = faces["corners"].reshape(-1, 3).astype(float)
            else:
                corners = np.array(re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data), float)
    except (ValueError, KeyError, UrdfError):
        corners = np.array([])
    if corners.ndim != 2 or corners.shape[1] != 3 or not (np.abs(corners) <= LARGEST_NUMBER).all():
        raise LeftOut(f"{quoted(path.name)}: its corners are not numbers that can be read")
    return corners


def hull(points: Array, most: int = CORNERS) -> Array:
    """Returns the corners of the convex hull. If there are more than `most`, returns those that are extreme in directions spread over the sphere."""
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


def in_package(name: str, rest: str, folder: Path, packages: Mapping[str, Path]) -> Path:
    """Returns a file of a package: in the folder of --package, or in a folder of that name next to the URDF or above it."""
    if name in packages:
        return packages[name] / rest
    above = [folder, *folder.resolve().parents]
    tried = [one / name / rest for one in above] + [one / rest for one in above if one.name == name]
    return next((one for one in tried if one.exists()), tried[0])


def part(geometry: Element, folder: Path, packages: Mapping[str, Path]) -> tuple[Array | float, str]:
    """Returns (corners of a <geometry> in its own frame, or the radius of a ball; its dimensions in words)."""
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
        path = in_package(at[1], at[2], folder, packages) if at else folder / re.sub(r"^file://", "", name)
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
    if shape.tag == "capsule":  # the length in the URDF is that of the cylinder between the caps
        rings += [(radius * math.sqrt(0.5), half + radius * math.sqrt(0.5), 6), (0.0, half + radius, 1)]
    return np.concatenate([ring(r, side * z, count) for r, z, count in rings for side in (-1, 1)]), words


# ---- the text ---------------------------------------------------------------------------------------------------------


def inertial(link: Element, turn: Array) -> tuple[float, Array, Array]:
    """Returns (mass, centre, tensor) in world-aligned axes of the link's frame."""
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
    axes = turn @ own
    return mass, turn @ place, axes @ tensor @ axes.T


def along(axis: Array) -> str:
    """Returns a unit vector in the syntax of a model's axis: x, y or z, or three numbers."""
    for letter, own in zip("xyz", np.eye(3)):
        if np.linalg.norm(axis - own) < ALIGNED:
            return letter
    return ", ".join(f"{value:.17g}" if abs(value) > 1e-15 else "0" for value in axis)


def by_name(robot: Element, tag: str) -> dict[str, Element]:
    """Returns the links or joints by name. Throws if a name is repeated."""
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
    """Returns (links by name, the root's name, joints below each link): each link except the root has one parent joint."""
    links, joints = by_name(robot, "link"), by_name(robot, "joint").values()
    if not links:
        raise UrdfError(robot.line, "the robot has no <link>; give it one")
    above: dict[str, Element] = {}
    below: dict[str, list[Element]] = {}
    for joint in joints:
        ends = []
        if joint.need("parent").get("link") == WORLD and WORLD not in links:
            links[WORLD] = Element("link", {"name": WORLD}, joint.need("parent").line)
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
    if len(reached) < len(links):  # every other link has a parent, so the joints form a loop
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
    """Returns one note for each kind of element or attribute that the file has and a model does not support."""
    found: dict[str, list[int]] = {}
    waiting = [robot]
    while waiting:
        element = waiting.pop()
        read = READ[element.tag]
        if read is None:
            continue
        attributes, children = (words.split() for words in read)
        for name in element.attributes:
            if name not in attributes and not name.startswith("xmlns"):  # a namespace has no effect
                found.setdefault(f'{quoted(name)}="..." of <{element.tag}>', []).append(element.line)
        for child in element.children:
            if child.tag in children:
                waiting.append(child)
            else:
                found.setdefault(f"<{quoted(child.tag)}> in <{element.tag}>", []).append(child.line)
    def places(lines: list[int]) -> str:
        return f"line {min(lines)}" + (f" and {len(lines) - 1} more" if len(lines) > 1 else "")

    return [f"{what} ({places(lines)}) is left out" for what, lines in sorted(found.items(), key=lambda item: min(item[1]))]


def rotors(robot: Element) -> dict[str, tuple[float, float]]:
    """Returns (inertia, kg m2; gear ratio) for each joint with a geared rotor (Drake's elements of an <actuator>)."""
    found = {}
    for transmission in robot.findall("transmission"):
        for actuator in transmission.findall("actuator"):
            inertia, ratio = actuator.find("drake:rotor_inertia"), actuator.find("drake:gear_ratio")
            if inertia is None:
                continue
            for joint in transmission.findall("joint"):
                found[joint.get("name")] = (real(inertia, "value", lowest=0.0), real(ratio, "value") if ratio is not None else 1.0)
    return found


@dataclass
class Leader:
    """The joint that another one follows: position = factor * position of the leader + offset."""

    joint: str
    factor: float
    offset: float


def leaders(robot: Element) -> dict[str, Leader]:
    """Returns for each joint with <mimic> the independent joint at the end of its chain."""
    joints = by_name(robot, "joint")
    found: dict[str, Leader] = {}
    for name, joint in joints.items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        factor, offset, seen = 1.0, 0.0, [name]
        while mimic is not None:
            other = mimic.get("joint")
            if other not in joints:
                near = difflib.get_close_matches(other, joints, 1)
                hint = f"did you mean {quoted(near[0])}?" if near else "name a joint of this file"
                raise UrdfError(mimic.line, f"{joint.title} mimics '{quoted(other)}', which is not a joint; {hint}")
            if other in seen:
                raise UrdfError(mimic.line, f"{joint.title} mimics itself; name a joint that moves by itself")
            seen.append(other)
            offset += factor * real(mimic, "offset", 0.0)
            factor *= real(mimic, "multiplier", 1.0)
            mimic = joints[other].find("mimic")
        found[name] = Leader(other, factor, offset)
    return found


def beside(axis: Array) -> tuple[Array, Array]:
    """Returns two unit vectors that form a right-handed frame with this one."""
    for own in np.eye(3):
        if np.linalg.norm(axis - own) < ALIGNED:
            return np.roll(own, 1), np.roll(own, 2)
    first = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    first /= np.linalg.norm(first)
    return first, np.cross(axis, first)


class Writer:
    """Writes the text of a model from the links and joints of a robot."""

    def __init__(self, robot: Element, folder: Path, parts: str, mimic: str, packages: Mapping[str, Path]) -> None:
        self.folder, self.parts, self.packages = folder, parts, packages
        self.notes = not_read(robot)
        self.taken = {"ground"}
        self.parameters: list[str] = []
        self.out: list[str] = []
        self.inside: set[str] = set()  # kinds of round parts that polytopes replace
        self.rotors = rotors(robot)
        self.leaders = leaders(robot) if mimic == "follow" else {}
        self.kinds = {name: joint.get("type") for name, joint in by_name(robot, "joint").items()}
        self.coordinates = {name: name_of(name, self.taken) for name, joint in by_name(robot, "joint").items()
                            if joint.get("type") in ("revolute", "continuous", "prismatic")}  # fmt: skip
        if mimic == "free":
            for name, joint in by_name(robot, "joint").items():
                if (found := joint.find("mimic")) is not None:
                    self.notes.append(f"{quoted(name)} mimics {quoted(found.get('joint'))}: here it moves by itself")

    def parameter(self, name: str, value: float, comment: str) -> str:
        """Adds a parameter to the model and returns its name."""
        name = name_of(name, self.taken)
        self.parameters.append(f"{name} = {value:.17g}  # {comment}")
        return name

    @staticmethod
    def scaled(values: Array, size: str) -> str:
        """Returns a vector (m) times the scale of a link."""
        return ", ".join(f"{value:.17g} m*{size}" if size and abs(value) > 1e-15 else shown(value) for value in values)

    def moves(self, joint: Element, kind: str, turn: Array) -> tuple[str, str]:
        """Returns (joint, coordinates) of a moving joint."""
        name = quoted(joint.get("name"))
        if kind == "floating":
            own = name_of(name, set())
            return "spatial ZYX", ", ".join(name_of(f"{own}_{one}", self.taken) for one in ("x", "y", "z", "yaw", "pitch", "roll"))
        element = joint.find("axis")
        axis = numbers(element, "xyz") if element is not None else np.array([1.0, 0, 0])
        length = np.linalg.norm(axis)
        if element is not None and length < POSITIVE:
            raise UrdfError(element.line, f"{joint.title} has the axis 0, 0, 0; give it a direction")
        axis = turn @ axis / length
        if kind == "planar":  # the URDF's axis is the normal of the plane
            first, second = beside(axis)
            own = name_of(name, set())
            return (f"prismatic {along(first)} + prismatic {along(second)} + revolute {along(axis)}",
                    ", ".join(name_of(f"{own}_{one}", self.taken) for one in ("first", "second", "turn")))  # fmt: skip
        return f"{'prismatic' if kind == 'prismatic' else 'revolute'} {along(axis)}", self.coordinates[joint.get("name")]

    def link(self, link: Element, joint: Element | None, base: str, parent: str, size_above: str, at: Array, turn: Array, own: str, carries: bool) -> str:
        """Writes a link, its mass and its parts. `turn`: its attitude if all coordinates are zero. Returns the parameter that scales it."""
        text = [f"[link {own}]", f"parent = {parent}"]
        kind = ("floating" if base == "free" else "fixed") if joint is None else joint.get("type")
        if joint is not None and kind not in JOINTS:
            near = difflib.get_close_matches(kind or "", JOINTS, 1)
            raise UrdfError(joint.line, f"{joint.title} has type '{quoted(kind or '')}'; " + (f"did you mean {near[0]}?" if near else f"write one of {', '.join(JOINTS)}"))
        leader = self.leaders.get(joint.get("name")) if joint is not None else None
        if kind == "fixed":
            text += ["joint = fixed"]
        elif joint is None:  # the coordinates of a root are x, y, z and so on
            text += ["joint = spatial ZYX"]
        else:
            moves, coordinates = self.moves(joint, kind, turn)
            text += [f"joint = {moves}"]
            if leader is None:
                text += [f"coordinates = {coordinates}"]
            elif "," in coordinates:
                raise UrdfError(joint.line, f"{joint.title}: a {kind} joint mimics nothing; take its <mimic> out")
            else:
                followed = self.coordinates.get(leader.joint)
                units = [" m" if one == "prismatic" else " rad" for one in (kind, self.kinds.get(leader.joint))]
                per = "" if units[0] == units[1] else f"{units[0]}/{units[1].strip()}"
                text += [f"follows = {shown(leader.offset)}{units[0]}" + (f" + {leader.factor:.17g}{per}*{followed}" if followed else "")]
        if joint is not None or np.any(at):
            text += [f"at = {self.scaled(at, size_above)}"]
        mass, centre, tensor = inertial(link, turn)
        collisions = link.findall("collision") if self.parts == "hulls" else []
        size = ""
        if mass > 0 or tensor.any() or carries or collisions:
            size = self.parameter(f"{own}_size", 1.0, f"1, scale of the lengths of link {own}")
        if not all(np.abs(values).max(initial=0) <= LARGEST_NUMBER for values in (at, centre, tensor)):
            raise UrdfError(link.line, f"{link.title}: its place, mass and inertia do not fit together; check their units")
        text += self.inertia(own, link, mass, centre, tensor, size)
        self.out.extend([*text, ""])
        if joint is not None and kind in ("revolute", "continuous", "prismatic"):
            self.limits(joint, kind, self.coordinates[joint.get("name")], leader)
        for geometry in collisions:
            self.shape(link, geometry, own, size, turn)
        return size

    def inertia(self, own: str, link: Element, mass: float, centre: Array, tensor: Array, size: str) -> list[str]:
        """Writes mass, centre and tensor; the tensor scales with the mass and the square of the scale."""
        if mass == 0 and not tensor.any():
            return ["mass = 0"]
        values, axes = np.linalg.eigh(tensor)
        largest = np.abs(values).max()
        if values.min() < -1e-9 * largest:
            self.notes.append(f"link {own}: its inertia about an axis is {values.min():.3g} kg m2; it is taken as 0")
            tensor = axes @ np.diag(np.maximum(values, 0)) @ axes.T
        elif (np.sum(values) / 2 - values).min() < -1e-6 * largest:
            self.notes.append(f"link {own}: no body has its tensor (a second moment is {(np.sum(values) / 2 - values).min():.3g} kg m2)")
        if mass > 0:
            heavy = self.parameter(f"{own}_mass", mass, f"kg, of link {own}")
        else:
            self.notes.append(f"link {own} has inertia without mass")
            heavy = "0"

        def each(value: float) -> str:
            if value == 0:
                return "0"
            return f"{value / mass:.17g} m2*{heavy}*{size}^2" if mass > 0 else f"{value:.17g} kg m2*{size}^2"

        tensor = np.where(np.abs(tensor) < 1e-12 * np.trace(tensor), 0.0, tensor)
        text = [f"mass = {heavy}", f"centre = {self.scaled(centre, size)}", f"inertia = {', '.join(each(value) for value in np.diag(tensor))}"]
        products = tensor[[0, 0, 1], [1, 2, 2]]
        return text + ([f"products = {', '.join(each(value) for value in products)}"] if products.any() else [])

    def shape(self, link: Element, collision: Element, own: str, size: str, turn: Array) -> None:
        place, attitude = origin(collision)
        try:
            corners_or_radius, words = part(collision.need("geometry"), self.folder, self.packages)
        except LeftOut as error:
            self.notes.append(f"link {own}: a part (line {collision.line}) is left out: {error}")
            return
        lines = [f"[shape {name_of(own + '_shape', self.taken)}]", f"# {words}", f"link = {own}", f"scale = {size}"]
        self.inside.update({words.split()[0]} - {"box"})
        if isinstance(corners_or_radius, float):
            lines += [f"at = {self.scaled(turn @ place, size)}", f"ball = {shown(corners_or_radius)}"]
        else:
            corners = (turn @ (place[:, None] + attitude @ corners_or_radius.T)).T
            if np.abs(corners).max() > LARGEST_NUMBER:
                raise UrdfError(collision.line, f"{link.title}: a part reaches beyond {LARGEST_NUMBER:g} m; check its units")
            lines += ["vertices = " + "; ".join(", ".join(f"{round(v, 7):.7g}" for v in corner) for corner in corners)]
        self.out.extend([*lines, ""])

    def limits(self, joint: Element, kind: str, coordinate: str, leader: Leader | None) -> None:
        """Writes range, speed, actuator, damping and rotor of a moving joint."""
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        place, rate, force = ("m", "m/s", "N") if kind == "prismatic" else ("rad", "rad/s", "N m")
        ends = [real(limit, end, 0.0, highest=FAR) for end in ("lower", "upper")] if limit is not None else [0.0, 0.0]
        damping, friction = (real(dynamics, key, 0.0, lowest=0.0) if dynamics is not None else 0.0 for key in ("damping", "friction"))
        name = quoted(joint.get("name"))
        if friction > 0:
            self.notes.append(f"{name}: dry friction in a joint is left out")
        if leader is not None:
            followed = self.coordinates.get(leader.joint)
            self.notes.append(f"{name} follows {quoted(leader.joint)}: limits and effort are those of {quoted(leader.joint)} alone")
            if damping > 0 and followed:  # with the same power
                self.spring(f"{coordinate}_damping", followed, damping * leader.factor**2, force, rate)
            if joint.get("name") in self.rotors:
                self.notes.append(f"{name}: its rotor is left out")
            return
        entries = []
        if kind != "continuous" and ends[0] < ends[1]:
            entries += [f"{key} = {self.parameter(f'{coordinate}_{name_}', end, place)}"
                        for key, name_, end in (("from", "min", ends[0]), ("to", "max", ends[1])) if abs(end) < LARGEST_NUMBER]  # fmt: skip
        elif kind != "continuous" and limit is not None:
            self.notes.append(f"{name} has no range: its limits {shown(ends[0])} and {shown(ends[1])} (line {limit.line}) are left out")
        elif kind != "continuous":
            self.notes.append(f"{name} has no range: {joint.title} has no <limit>")
        speed = real(limit, "velocity", 0.0) if limit is not None else 0.0
        if speed > 0:
            entries += [f"speed = {self.parameter(f'{coordinate}_speed', speed, rate)}"]
        elif limit is not None and "velocity" in limit.attributes:
            self.notes.append(f"{name}: the velocity {shown(speed)} (line {limit.line}) is taken as no limit")
        if entries:
            self.out.extend([f"[joint-limit {coordinate}]", f"coordinate = {coordinate}", *entries, ""])
        effort = real(limit, "effort", 0.0) if limit is not None else 0.0
        if limit is not None and effort <= 0:
            self.notes.append(f"{name}: the effort {shown(effort)} (line {limit.line}) is taken as no limit")
        self.out.extend([f"[actuator {coordinate}]", f"coordinate = {coordinate}"])
        if effort > 0:
            self.out.append(f"limit = {self.parameter(f'{coordinate}_effort', effort, force)}")
        self.out.append("")
        if damping > 0:
            self.spring(coordinate, coordinate, damping, force, rate)
        if joint.get("name") in self.rotors:
            inertia, ratio = self.rotors[joint.get("name")]
            heavy = self.parameter(f"{coordinate}_rotor", inertia, "kg" if kind == "prismatic" else "kg m2")
            gear = self.parameter(f"{coordinate}_gear", ratio, "1, the ratio of its gear")
            self.out.extend([f"[rotor {coordinate}]", f"place = {gear}*{coordinate}", f"mass = {heavy}", ""])

    def spring(self, name: str, coordinate: str, damping: float, force: str, rate: str) -> None:
        unit = "N s/m" if rate == "m/s" else "N m s/rad"
        self.out.extend([f"[spring {name}]", f"coordinate = {coordinate}", "stiffness = 0",
                         f"damping = {self.parameter(f'{name}_damping', damping, unit)}", ""])  # fmt: skip


def convert(
    path: str | Path, base: str = "fixed", parts: str = "hulls", packages: Mapping[str, Path] | None = None, mimic: str = "follow"
) -> tuple[str, list[str]]:
    """Returns the model text of the URDF file at `path`, and notes: one line for each element that the text leaves out.
    Throws UrdfError and OSError."""
    path = Path(path)
    robot = parsed(contents(path, LARGEST_FILE))
    if robot.tag != "robot":
        raise UrdfError(robot.line, f"is <{quoted(robot.tag)}>, not <robot>; give a URDF file")
    if any(tag.startswith("xacro:") for tag in [child.tag for child in robot.children]):
        raise UrdfError(robot.line, "is a xacro file; import what `xacro FILE` makes of it")
    links, root, below = tree(robot)
    writer = Writer(robot, path.parent, parts, mimic, packages or {})
    waiting: list[tuple[Element, Element | None, str, str, Array, Array]] = [(links[root], None, "ground", "", np.zeros(3), np.eye(3))]
    while waiting:
        link, joint, parent, size_above, at, turn = waiting.pop()
        own = name_of(link.get("name"), writer.taken)
        hung = below.get(link.get("name"), [])
        size = writer.link(link, joint, base, parent, size_above, at, turn, own, bool(hung))
        for joint in reversed(hung):
            place, attitude = origin(joint)
            waiting.append((links[joint.need("child").get("link")], joint, own, size, turn @ place, turn @ attitude))
    notes = writer.notes
    if writer.inside:
        kinds = {"convex": f"meshes as convex hulls of at most {CORNERS} corners", "sphere": "spheres as polytopes of 42 corners",
                 "cylinder": "cylinders as prisms of 24 corners", "capsule": "capsules as polytopes of 38 corners"}  # fmt: skip
        notes.append("shapes are polytopes inside: " + ", ".join(kinds[kind] for kind in sorted(writer.inside)))
    name = robot.get("name") or path.stem
    head = [f"# {quoted(name)}, from {quoted(path.name)}", *[f"# note: {note}" for note in notes]]
    head += ["[model]", "dimension = 3", f"name = {name_of(name, set())}", ""]
    parameters = ["[parameters]", *writer.parameters, ""] if writer.parameters else []
    return "\n".join([*head, *parameters, *writer.out]).rstrip() + "\n", notes


def main(words: Sequence[str], Parser: type[argparse.ArgumentParser], Refused: type[Exception]) -> None:
    parser = Parser(prog="dodyn import", description="A URDF robot as a model text, on standard output.")
    parser.add_argument("file", metavar="FILE.urdf")
    parser.add_argument("--base", choices=["fixed", "free"], default="fixed", help="how its first link is on the ground (default: fixed)")
    parser.add_argument("--parts", choices=["hulls", "none"], default="hulls", help="convex parts from its collision geometry, or none")
    parser.add_argument("--mimic", choices=["follow", "free"], default="follow", help="joints that mimic others follow them (default), or move by themselves")
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER", help="where package://NAME/ lies")
    given = parser.parse_args(words)
    packages = {}
    for one in given.package:
        if "=" not in one:
            raise Refused(f"--package {one}: allowed: NAME=FOLDER")
        packages[one.split("=", 1)[0]] = Path(one.split("=", 1)[1])
    try:
        text, notes = convert(given.file, given.base, given.parts, packages, given.mimic)
    except UrdfError as error:
        raise Refused(f"{given.file}{f':{error.line}' if error.line else ''}: {error}") from None
    except OSError as error:
        raise Refused(f"{given.file}: {error.strerror}; give a URDF file") from None
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
