"""Reads and writes what robots in several formats have in common: XML with line numbers, meshes, the text of a model.

Each link of a model has a frame that is aligned with the world's where all coordinates are zero. The formats (urdf.py, mjcf.py) turn places,
axes and tensors once, by the attitude that each link has there. The numbers of a robot are parameters of its model: of each link its mass
and the scale of its lengths, of each joint its range, speed, effort and damping. Inertias follow mass and scale.
"""

from __future__ import annotations

import math
import os
import re
import stat
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import argparse

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

LARGEST_NUMBER = 1e12  # in SI units: products of three such numbers are still finite
FAR = 1e300  # larger ends of a range mean no limit
POSITIVE = 1e-12  # smallest number that counts as positive, in SI units
LARGEST_FILE = 64 << 20  # bytes of an XML file
LARGEST_MESH = 256 << 20  # bytes
LARGEST_SCENE = 10000  # nodes of a DAE
DEEPEST = 400  # limit of nested elements
CORNERS = 40  # limit of the corners of a mesh's hull
ALIGNED = 1e-12  # rad; an axis this near to a coordinate axis is replaced by it


class RobotError(Exception):
    """The error and its remedy, one line, at an element or a line of the file; line 0: the whole file."""

    def __init__(self, at: Element | int, what: str, file: str = "") -> None:
        super().__init__(what)
        self.line = at if isinstance(at, int) else at.line
        self.file = file if isinstance(at, int) else at.file  # "": the file that was given


class LeftOut(Exception):
    """A convex part that cannot be converted, while the rest of the robot can."""


@dataclass
class Element:
    """An element of the file; `line` is its first line, `file` the included file that has it."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)
    text: str = ""
    file: str = ""

    def get(self, name: str, default: str = "") -> str:
        """Returns an attribute, or `default` if the element does not have it."""
        return self.attributes.get(name, default)

    def findall(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def find(self, tag: str) -> Element | None:
        """Returns the single nested element with this tag, or None."""
        found = self.findall(tag)
        if len(found) > 1:
            raise RobotError(found[1], f"a second <{tag}> in this <{self.tag}>; leave one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        found = self.find(tag)
        if found is None:
            raise RobotError(self, f"{self.title} has no <{tag}>; add it")
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
    """Returns the bytes of a regular file. Throws OSError, and RobotError if the file is a pipe, a device or too large."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a FIFO would wait for a writer
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise RobotError(0, "not a regular file; give a file")
        if found.st_size > largest:
            raise RobotError(0, f"more than {largest >> 20} MB; give a smaller file")
        return file.read(largest)


def parsed(data: bytes, file: str = "") -> Element:
    """Returns the root element of the XML in `data`. Errors name `file`."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    roots: list[Element] = []
    inside: list[Element] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if len(inside) == DEEPEST:
            raise RobotError(parser.CurrentLineNumber, f"more than {DEEPEST} elements inside each other; nest fewer", file)
        element = Element(tag, attributes, parser.CurrentLineNumber, file=file)
        (inside[-1].children if inside else roots).append(element)
        inside.append(element)

    def entity(name: str, *_: object) -> None:
        raise RobotError(parser.CurrentLineNumber, f"declares the entity {quoted(name)}; write its text where it is used", file)

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
        raise RobotError(error.lineno, f"is not XML: {expat.errors.messages[error.code]}; check this line", file) from None
    except (LookupError, ValueError, UnicodeError) as error:
        raise RobotError(1, f"is not XML that can be read: {quoted(error)}; write it in UTF-8", file) from None
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
        raise RobotError(element, f"<{element.tag}> {given}; write {many}{above}")
    return values



def real(element: Element, key: str, default: float | None = None, lowest: float = -math.inf, highest: float = LARGEST_NUMBER) -> float:
    return float(numbers(element, key, 1, default, lowest, highest)[0])



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
    except RobotError as error:
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


def read_mesh(path: Path) -> tuple[Array, Indices]:
    """Returns (corners, [n, 3]; triangles, [m, 4]: three indices of corners, and the polygon that the triangle is from) of a mesh: STL (text or
    binary), OBJ, or DAE. Of a DAE there are no triangles. In a polygon that is not convex, triangles may lie upside down."""
    kind = path.suffix.lower()
    if kind not in (".stl", ".obj", ".dae"):
        raise LeftOut(f"{quoted(path.name)}: only STL, OBJ and DAE meshes are read")
    try:
        data = contents(path, LARGEST_MESH)
    except OSError as error:
        raise LeftOut(f"{quoted(path, 200)}: {error.strerror}") from None
    triangles: list[list[int]] = []
    try:
        if kind == ".dae":
            corners = collada(data)
        elif kind == ".obj":
            rows = [line.split() for line in data.decode(errors="replace").splitlines() if line.startswith(("v ", "f "))]
            corners = np.array([row[1:4] for row in rows if row[0] == "v"], float)
            for count, row in enumerate(row for row in rows if row[0] == "f"):
                polygon = [int(word.split("/")[0]) for word in row[1:]]
                polygon = [k - 1 if k > 0 else len(corners) + k for k in polygon]
                triangles += [[polygon[0], polygon[k], polygon[k + 1], count] for k in range(1, len(polygon) - 1)]
        else:
            count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
            if len(data) == 84 + 50 * count:
                records = np.frombuffer(data, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("rest", "<u2")]), count, 84)
                corners = records["corners"].reshape(-1, 3).astype(float)
            else:
                corners = np.array(re.findall(rb"vertex\s+(\S+)\s+(\S+)\s+(\S+)", data), float)
    except (ValueError, KeyError, RobotError):
        corners = np.array([])
    if kind == ".stl":
        triangles = [[k, k + 1, k + 2, k] for k in range(0, len(corners) - 2, 3)]
    faces: Indices = np.array(triangles, np.int64).reshape(-1, 4)
    if corners.ndim != 2 or corners.shape[1] != 3 or not (np.abs(corners) <= LARGEST_NUMBER).all() or (faces < 0).any() or (faces[:, :3] >= len(corners)).any():
        raise LeftOut(f"{quoted(path.name)}: its corners are not numbers that can be read")
    return corners, faces


def directions(count: int) -> Array:
    """Returns unit vectors that are spread evenly over the sphere, [count, 3]."""
    z, turn = 1 - 2 * (np.arange(count) + 0.5) / count, math.pi * (1 + 5**0.5) * np.arange(count)
    spread: Array = np.c_[np.sqrt(1 - z * z) * np.cos(turn), np.sqrt(1 - z * z) * np.sin(turn), z]
    return spread


def whole_hull(points: Array) -> tuple[Indices, Indices]:
    """Returns (corners; triangles as of read_mesh(), whose order of corners has no meaning) of the convex hull, as indices of points. Throws LeftOut."""
    try:
        from scipy.spatial import ConvexHull
    except ImportError:
        raise LeftOut("meshes need scipy (Debian: python3-scipy)") from None
    try:
        found = ConvexHull(points)
    except (RuntimeError, ValueError):
        raise LeftOut("a mesh that is flat or has fewer than 4 corners") from None
    return found.vertices, np.c_[found.simplices, np.arange(len(found.simplices))]


def hull(points: Array, most: int = CORNERS) -> Array:
    """Returns the corners of the convex hull. If there are more than `most`, returns those that are extreme in directions spread over the sphere.
    If these lie near a plane, as in a shallow bowl, the two that are extreme along its normal are among them."""
    corners: Array = points[whole_hull(points)[0]]
    if len(corners) <= most:
        return corners
    spread = directions(4 * most)
    depth = corners @ np.linalg.svd(corners - corners.mean(axis=0), full_matrices=False)[2][2]  # along the thinnest direction
    for count in range(4 * most, 0, -1):
        chosen = np.unique(np.argmax(corners @ spread[np.linspace(0, 4 * most - 1, count).astype(int)].T, axis=0))
        if np.ptp(depth[chosen]) < 0.5 * np.ptp(depth):
            chosen = np.union1d(chosen, [depth.argmin(), depth.argmax()])
        if len(chosen) <= most:
            return np.asarray(corners[chosen])
    return corners[:4]


def ring(radius: float, height: float, count: int) -> Array:
    turn = 2 * math.pi * np.arange(count) / count
    corners: Array = np.c_[radius * np.cos(turn), radius * np.sin(turn), np.full(count, height)]
    return corners


def box(size: Array) -> Array:
    """Returns the corners of a box with these edges."""
    corners: Array = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * size / 2
    return corners


def rounded(radius: float, half: float, has_caps: bool) -> Array:
    """Returns the corners of a cylinder about z, or of a capsule; `half`: half the length of the cylinder between the caps."""
    rings = [(radius, half, 12)]
    if has_caps:
        rings += [(radius * math.sqrt(0.5), half + radius * math.sqrt(0.5), 6), (0.0, half + radius, 1)]
    return np.concatenate([ring(r, side * z, count) for r, z, count in rings for side in (-1, 1)])


# ---- the text ---------------------------------------------------------------------------------------------------------


def along(axis: Array) -> str:
    """Returns a unit vector in the syntax of a model's axis: x, y or z, or three numbers."""
    for letter, own in zip("xyz", np.eye(3)):
        if np.linalg.norm(axis - own) < ALIGNED:
            return letter
    return ", ".join(f"{value:.17g}" if abs(value) > 1e-15 else "0" for value in axis)


def scaled(values: Array, size: str) -> str:
    """Returns a vector (m) times the scale of a link."""
    return ", ".join(f"{value:.17g} m*{size}" if size and abs(value) > 1e-15 else shown(value) for value in values)


def places(what: str, lines: Sequence[int]) -> str:
    """Returns the note that the model leaves `what` out, with the first of its lines."""
    return f"{what} (line {min(lines)}" + (f" and {len(lines) - 1} more" if len(lines) > 1 else "") + ") is left out"


def first_of(names: Sequence[str]) -> str:
    """Returns the first five names and the number of the others."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


class Units(NamedTuple):
    """The units of a joint's numbers."""

    place: str
    rate: str
    force: str
    stiffness: str
    damping: str
    rotor: str


UNITS = {"revolute": Units("rad", "rad/s", "N m", "N m/rad", "N m s/rad", "kg m2"), "prismatic": Units("m", "m/s", "N", "N/m", "N s/m", "kg")}


@dataclass
class Leader:
    """The joint that another one follows: position = factor * position of the leader + offset. Without a leader the position is the offset."""

    joint: str
    factor: float
    offset: float

    def expression(self, kind: str, leader_kind: str, coordinate: str) -> str:
        """Returns the position as an expression of the leader's coordinate. Kinds: keys of UNITS."""
        own, its = UNITS[kind].place, UNITS[leader_kind].place
        per = "" if own == its else f" {own}/{its}"
        return f"{shown(self.offset)} {own}" + (f" + {self.factor:.17g}{per}*{coordinate}" if coordinate else "")


class Carried(NamedTuple):
    """A link as inertias of joints need it; axes of the world where all coordinates are zero."""

    parent: str
    joint: str  # as in the model: "revolute z"
    coordinates: Sequence[str]  # its own, or the one that it follows
    at: Array  # from the parent's origin, m
    mass: float
    centre: Array
    tensor: Array


def moved(tensor: Array, mass: float, by: Array) -> Array:
    """Returns a tensor about the centre of mass as the tensor about a point at this distance."""
    return np.asarray(tensor + mass * (by @ by * np.eye(3) - np.outer(by, by)))


def inertias(joint: str, mass: float, tensor: Array) -> list[float]:
    """Returns for each coordinate of a joint the inertia that moves with it: of `mass`, with this tensor about the link's origin."""
    found = []
    for move in joint.split(" + "):
        kind, _, words = move.partition(" ")
        if kind in ("spatial", "spherical"):
            found += [mass] * (3 if kind == "spatial" else 0) + [float(np.linalg.eigvalsh(tensor)[0])] * 3
        elif kind != "fixed":
            axis = np.eye(3)["xyz".index(words)] if words in ("x", "y", "z") else np.array([float(word) for word in words.split(",")])
            found.append(mass if kind == "prismatic" else float(axis @ tensor @ axis))
    return found


class Writer:
    """Writes the text of a model, one section after another. Places and attitudes are in the axes of the world."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.taken = {"ground", "pi", "t", "and", "or", "not"}  # words of a model
        self.masses: dict[str, str] = {}  # the parameters of the masses of links
        self.parameters: list[str] = []
        self.out: list[str] = []
        self.inside: set[str] = set()  # kinds of round parts that polytopes replace
        self.carried: dict[str, Carried] = {}  # the links; parents come first
        self.joints_alone: set[str] = set()  # links that the writer adds for a further joint of a body

    def parameter(self, name: str, value: float, comment: str) -> str:
        """Adds a parameter to the model and returns its name."""
        name = name_of(name, self.taken)
        self.parameters.append(f"{name} = {value:.17g}  # {comment}")
        return name

    def link(self, element: Element, own: str, joint: Sequence[str], at: tuple[Array, str] | None, body: tuple[float, Array, Array], has_size: bool) -> str:
        """Writes a link with its mass. `joint`: its lines from `parent` on; `at`: its place and the scale of that; `body`: mass, centre and tensor.
        Returns the parameter that scales the link."""
        mass, centre, tensor = body
        text = [f"[link {own}]", *joint]
        if at is not None:
            text += [f"at = {scaled(*at)}"]
        size = self.parameter(f"{own}_size", 1.0, f"1, scale of the lengths of link {own}") if has_size or mass > 0 or tensor.any() else ""
        if not all(np.abs(values).max(initial=0) <= LARGEST_NUMBER for values in (at[0] if at else np.zeros(3), centre, tensor)):
            raise RobotError(element, f"{element.title}: its place, mass and inertia do not fit together; check their units")
        self.out.extend([*text, *self.inertia(own, mass, centre, tensor, size), ""])
        entries = dict(line.split(" = ", 1) for line in joint)
        followed = entries.get("follows", "").rpartition("*")
        coordinates = entries["coordinates"].split(", ") if "coordinates" in entries else [followed[2]] if followed[1] else []
        self.carried[own] = Carried(entries["parent"], entries["joint"], coordinates, at[0] if at else np.zeros(3), mass, centre, tensor)
        return size

    def note_missing_mass(self) -> None:
        """Notes the links without mass that move, and the coordinates with which no inertia moves."""
        fixed = {"ground"}
        fixed.update(own for own, link in self.carried.items() if link.joint == "fixed" and link.parent in fixed)  # parents come first
        without = [own for own, link in self.carried.items() if link.mass == 0 and own not in fixed | self.joints_alone]
        if without:
            self.notes.append(f"links without mass: {first_of(without)}")
        moving: dict[str, float] = {}  # inertia by coordinate
        mass = {own: link.mass for own, link in self.carried.items()}  # of a link and all that it carries; moments about the link's origin
        moment = {own: link.mass * link.centre for own, link in self.carried.items()}
        tensor = {own: moved(link.tensor, link.mass, link.centre) for own, link in self.carried.items()}
        for own, link in reversed(self.carried.items()):
            for coordinate, inertia in zip(link.coordinates, inertias(link.joint, mass[own], tensor[own])):
                moving[coordinate] = moving.get(coordinate, 0.0) + (inertia if inertia > 1e-12 * np.trace(tensor[own]) else 0.0)
            if link.parent in self.carried:
                centre = moment[own] / mass[own] if mass[own] > 0 else np.zeros(3)
                mass[link.parent] += mass[own]
                moment[link.parent] += mass[own] * (centre + link.at)
                tensor[link.parent] += moved(moved(tensor[own], -mass[own], centre), mass[own], centre + link.at)
        words_of_rotors = set(re.findall(r"\w+", " ".join(line for line in self.out if line.startswith("place = "))))
        coordinates = dict.fromkeys(one for link in self.carried.values() for one in link.coordinates)
        alone = [one for one in coordinates if moving[one] == 0.0 and one not in words_of_rotors]
        if alone:
            self.notes.append(f"no inertia moves with {first_of(alone)}, so motions are singular: give the links of these joints mass and inertia, or fix the joints")

    def inertia(self, own: str, mass: float, centre: Array, tensor: Array, size: str) -> list[str]:
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
            heavy = self.masses[own] = self.parameter(f"{own}_mass", mass, f"kg, of link {own}")
        else:
            self.notes.append(f"link {own} has inertia without mass")
            heavy = "0"

        def each(value: float) -> str:
            if value == 0:
                return "0"
            return f"{value / mass:.17g} m2*{heavy}*{size}^2" if mass > 0 else f"{value:.17g} kg m2*{size}^2"

        tensor = np.where(np.abs(tensor) < 1e-12 * np.trace(tensor), 0.0, tensor)
        text = [f"mass = {heavy}", f"centre = {scaled(centre, size)}", f"inertia = {', '.join(each(value) for value in np.diag(tensor))}"]
        products = tensor[[0, 0, 1], [1, 2, 2]]
        return text + ([f"products = {', '.join(each(value) for value in products)}"] if products.any() else [])
    def shape(self, element: Element, own: str, size: str, place: Array, attitude: Array, convex: Array | float, words: str) -> None:
        """Writes a convex part: its corners in its own frame, or the radius of a ball."""
        lines = [f"[shape {name_of(own + '_shape', self.taken)}]", f"# {words}", f"link = {own}", f"scale = {size}"]
        self.inside.update({words.split()[0]} - {"box"})
        if isinstance(convex, float):
            lines += [f"at = {scaled(place, size)}", f"ball = {shown(convex)}"]
        else:
            corners = (place[:, None] + attitude @ convex.T).T
            if np.abs(corners).max() > LARGEST_NUMBER:
                raise RobotError(element, f"{element.title} reaches beyond {LARGEST_NUMBER:g} m; check its units")
            lines += ["vertices = " + "; ".join(", ".join(f"{round(v, 7):.7g}" for v in corner) for corner in corners)]
        self.out.extend([*lines, ""])

    def joint_limit(self, coordinate: str, kind: str, ends: Sequence[float], speed: float = 0.0) -> None:
        """Writes the range and the speed of a joint. `ends`: none, or two; those beyond LARGEST_NUMBER mean no limit."""
        units = UNITS[kind]
        entries = [f"{key} = {self.parameter(f'{coordinate}_{name}', end, units.place)}"
                   for (key, name), end in zip((("from", "min"), ("to", "max")), ends) if abs(end) < LARGEST_NUMBER]  # fmt: skip
        if speed > 0:
            entries += [f"speed = {self.parameter(f'{coordinate}_speed', speed, units.rate)}"]
        if entries:
            self.out.extend([f"[joint-limit {coordinate}]", f"coordinate = {coordinate}", *entries, ""])

    def actuator(self, name: str, on: Sequence[str], effort: float, unit: str) -> None:
        """Writes an actuator that acts where the lines `on` say. An effort of 0 or beyond LARGEST_NUMBER means no limit."""
        limit = [f"limit = {self.parameter(f'{name}_effort', effort, unit)}"] if 0 < effort < LARGEST_NUMBER else []
        self.out.extend([f"[actuator {name}]", *on, *limit, ""])

    def spring(self, name: str, coordinate: str, kind: str, damping: float, stiffness: float = 0.0, rest: float = 0.0) -> None:
        units = UNITS[kind]
        lines = [f"stiffness = {self.parameter(f'{name}_stiffness', stiffness, units.stiffness) if stiffness else 0}"]
        lines += [f"rest = {self.parameter(f'{name}_rest', rest, units.place)}"] if rest else []
        lines += [f"damping = {self.parameter(f'{name}_damping', damping, units.damping)}"] if damping else []
        self.out.extend([f"[spring {name}]", f"coordinate = {coordinate}", *lines, ""])

    def text(self, name: str, source: Path, settings: Sequence[str] = ()) -> str:
        """Returns the whole model, with its notes as comments. `settings`: further lines of [model]."""
        self.note_missing_mass()
        if self.inside:
            kinds = {"convex": f"meshes as convex hulls of at most {CORNERS} corners", "sphere": "spheres as polytopes of 42 corners",
                     "cylinder": "cylinders as prisms of 24 corners", "capsule": "capsules as polytopes of 38 corners",
                     "ellipsoid": f"ellipsoids as polytopes of at most {CORNERS} corners"}  # fmt: skip
            self.notes.append("shapes are polytopes inside: " + ", ".join(kinds[kind] for kind in sorted(self.inside)))
        head = [f"# {quoted(name)}, from {quoted(source.name)}", *[f"# note: {note}" for note in self.notes]]
        head += ["[model]", "dimension = 3", f"name = {name_of(name, set())}", *settings, ""]
        parameters = ["[parameters]", *self.parameters, ""] if self.parameters else []
        return "\n".join([*head, *parameters, *self.out]).rstrip() + "\n"


def convert(path: str | Path, base: str = "", parts: str = "hulls", packages: Mapping[str, Path] | None = None, mimic: str = "follow") -> tuple[str, list[str]]:
    """Returns the model text of the URDF or MJCF file at `path`, and notes: one line for each element that the text leaves out.
    Throws RobotError and OSError."""
    from . import mjcf, urdf  # they use this module

    path = Path(path)
    root = parsed(contents(path, LARGEST_FILE))
    if root.tag == "robot":
        return urdf.convert(path, root, base or "fixed", parts, packages or {}, mimic)
    if root.tag != "mujoco":
        raise RobotError(root, f"is <{quoted(root.tag)}>, not <robot> or <mujoco>; give a URDF or an MJCF file")
    if base or packages:
        raise RobotError(root, "is an MJCF file, whose <freejoint> and <compiler> decide; leave --base and --package out")
    return mjcf.convert(path, root, parts, mimic)


def main(words: Sequence[str], Parser: type[argparse.ArgumentParser], Refused: type[Exception]) -> None:
    parser = Parser(prog="dodyn import", description="Writes a robot in URDF or MJCF as a model file, on standard output.")
    parser.add_argument("file", metavar="FILE", help="URDF, or MJCF (the XML of MuJoCo)")
    parser.add_argument("--base", choices=["fixed", "free"], default="", help="URDF: how its first link is on the ground (default: fixed)")
    parser.add_argument("--parts", choices=["hulls", "none"], default="hulls", help="convex parts from its collision geometry, or none")
    parser.add_argument("--mimic", choices=["follow", "free"], default="follow", help="joints that mimic others follow them (default), or move by themselves")
    parser.add_argument("--package", action="append", default=[], metavar="NAME=FOLDER", help="URDF: where package://NAME/ lies")
    given = parser.parse_args(words)
    packages = {}
    for one in given.package:
        if "=" not in one:
            raise Refused(f"--package {one}: allowed: NAME=FOLDER")
        packages[one.split("=", 1)[0]] = Path(one.split("=", 1)[1])
    try:
        text, notes = convert(given.file, given.base, given.parts, packages, given.mimic)
    except RobotError as error:
        raise Refused(f"{error.file or given.file}{f':{error.line}' if error.line else ''}: {error}") from None
    except OSError as error:
        raise Refused(f"{given.file}: {error.strerror}; give a URDF or an MJCF file") from None
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
