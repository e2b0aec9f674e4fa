"""dodyn import: an MJCF robot (the XML of MuJoCo) as a model file. `dodyn import --help` lists the options.

The file is read in two passes. The first one resolves includes, classes, frames and units: its result is a list of bodies. The second one
writes a link for each body. A body with several joints is a chain of links without mass, one for each joint. robots.py has the frames of a
model and writes its text. Coordinates are MuJoCo's: the place of a free body is that in the world, and `ref` is the position of a joint as
the file draws it. Forces of contacts, friction and controls are not those of MuJoCo.
"""

from __future__ import annotations

import difflib
import functools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .robots import (CORNERS, DEEPEST, LARGEST_FILE, POSITIVE, UNITS, Array, Element, Indices, Leader, LeftOut, RobotError, Writer, along, box, contents, directions,
                     hull, moved, name_of, numbers, parsed, places, quoted, read_mesh, real, rounded, scaled, shown, vector, whole_hull)  # fmt: skip

POSE = "pos quat euler axisangle xyaxes zaxis "
SOLVER = "group user solref solimp margin gap "
ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity")
# Per element: attributes that are read; attributes without effect on the equations of motion; attributes named in a
# note. All others are refused.
READ = {
    "mujoco": ("", "model", ""),
    "compiler": ("angle eulerseq autolimits meshdir assetdir strippath inertiafromgeom inertiagrouprange settotalmass",
                 "coordinate texturedir discardvisual convexhull fitaabb fusestatic usethread saveinertial", ""),
    "option": ("gravity collision", "timestep apirate impratio tolerance ls_tolerance noslip_tolerance ccd_tolerance mpr_tolerance o_margin o_solref o_solimp o_friction "
               "integrator cone jacobian solver iterations ls_iterations noslip_iterations ccd_iterations mpr_iterations sdf_iterations sdf_initpoints "
               "actuatorgroupdisable", "density viscosity wind magnetic"),
    "flag": ("gravity", "warmstart eulerdamp multiccd nativeccd island energy fwdinv invdiscrete sensor midphase filterparent refsafe clampctrl autoreset sleep override",
             "contact limit frictionloss constraint actuation"),
    "body": (POSE + "name childclass gravcomp", "user sleep", "mocap"),
    "worldbody": ("", "name", ""),
    "frame": (POSE + "childclass", "name", ""),
    "joint": (POSE + "name class type axis ref stiffness springref damping armature range limited actuatorfrcrange actuatorfrclimited",
              SOLVER + "solreflimit solimplimit solreffriction solimpfriction actuatorgravcomp", "frictionloss"),
    "freejoint": ("name", "group", ""),
    "inertial": (POSE + "mass diaginertia fullinertia", "", ""),
    "geom": (POSE + "name class type size fromto mass density mesh contype conaffinity shellinertia group",
             SOLVER + "rgba material condim priority solmix hfield fluidcoef", "friction fluidshape"),
    "site": (POSE + "name class", SOLVER + "type size fromto rgba material", ""),
    "mesh": ("name class file vertex face scale refpos refquat inertia", "maxhullvert normal texcoord smoothnormal material content_type", ""),
    "actuator": ("name class joint jointinparent tendon site refsite gear gaintype gainprm biastype biasprm dyntype kp kv dampratio timeconst "
                 "ctrlrange ctrllimited forcerange forcelimited", "group user actrange actlimited actdim actearly dynprm lengthrange inheritrange", ""),
    "tendon": ("name class stiffness damping armature springlength", SOLVER + "width rgba material sidesite solreflimit solimplimit solreffriction solimpfriction",
               "range limited frictionloss actuatorfrcrange actuatorfrclimited"),
    "connect": ("class name body1 body2 anchor site1 site2 active", SOLVER, ""),
    "joint equality": ("class name joint1 joint2 polycoef active", SOLVER, ""),
    "joint tendon": ("joint coef", "", ""),
    "exclude": ("body1 body2", "name", ""),
}  # fmt: skip
# Elements without an effect on the equations of motion. Classes may have those of them that are in the second list.
SILENT = "visual statistic keyframe sensor custom size extension camera light texture material hfield skin user key"
SILENT_DEFAULTS = "camera light texture material pair equality adhesion muscle cylinder damper plugin"
KINDS = {"hinge": "revolute", "slide": "prismatic", "ball": "spherical", "free": "floating"}
NAMES = {"floating": ("x", "y", "z", "yaw", "pitch", "roll"), "spherical": ("yaw", "pitch", "roll")}


@dataclass
class Joint:
    """A joint of a body, with its place and axis in the frame of the body."""

    element: Element
    name: str
    kind: str
    place: Array
    axis: Array
    ref: float
    coordinates: list[str]


@dataclass
class Body:
    """A body. Its pose as the file draws it: `at`, `turn` in its parent, `drawn_at`, `drawn_turn` in the world.
    A point x of the body is at `origin` + `attitude` x in its link, whose name is `own` and whose scale is `size`."""

    element: Element
    above: Body | None
    at: Array
    turn: Array
    drawn_at: Array
    drawn_turn: Array
    joints: list[Joint] = field(default_factory=list)
    geoms: list[tuple[Element, Array, Array]] = field(default_factory=list)
    own: str = "ground"
    size: str = ""
    origin: Array = field(default_factory=lambda: np.zeros(3))
    attitude: Array = field(default_factory=lambda: np.eye(3))

    def within(self, point: Array) -> Array:
        """Returns the coordinates in the link of a point of the body."""
        return self.origin + self.attitude @ point


# ---- elements ---------------------------------------------------------------------------------------------------------


def refused(element: Element, what: str) -> RobotError:
    return RobotError(element, f"{element.title}: a model does not support {what}; take it out")


def lookup(element: Element, kind: str, name: str, known: Iterable[str]) -> str:
    """Returns a name that the file refers to. Throws if it is not among those that are known."""
    if name not in (names := list(known)):
        near = difflib.get_close_matches(name, names, 1)
        raise RobotError(element, f"{element.title}: no {kind} '{quoted(name)}'; " + (f"did you mean {quoted(near[0])}?" if near else f"name a {kind} of this file"))
    return name


def where(element: Element) -> str:
    return f"line {element.line}" + (f" of {quoted(Path(element.file).name)}" if element.file else "")


def at_most(element: Element, key: str, default: Sequence[float]) -> Array:
    """Returns the numbers of an attribute. Those that it leaves out are the last ones of `default`."""
    values = np.array(default, float)
    if key in element.attributes:
        count = min(max(1, len(element.get(key).split())), len(values))
        values[:count] = numbers(element, key, count)
    return values


def expand(element: Element, folder: Path, seen: set[Path], depth: int = 0) -> None:
    """Replaces each <include> by the elements of its file."""
    if depth > DEEPEST:
        raise RobotError(element, f"more than {DEEPEST} elements inside each other; nest fewer")
    children: list[Element] = []
    for child in element.children:
        if child.tag != "include":
            expand(child, folder, seen, depth + 1)
            children.append(child)
            continue
        path = folder / child.get("file")
        if path in seen:
            raise RobotError(child, f"<include> of {quoted(path, 200)}, which is read already; include a file once")
        seen.add(path)
        try:
            data = contents(path, LARGEST_FILE)
        except (OSError, RobotError) as error:
            raise RobotError(child, f"<include> of {quoted(path, 200)}: {error.strerror if isinstance(error, OSError) else error}; name an MJCF file") from None
        root = parsed(data, str(path))
        if root.tag not in ("mujoco", "mujocoinclude"):
            raise RobotError(root, f"is <{quoted(root.tag)}>, not <mujoco> or <mujocoinclude>; include an MJCF file")
        expand(root, folder, seen, depth + 1)
        children += root.children
    element.children = children


def turned(axis: Array, angle: float) -> Array:
    """Returns the rotation matrix about a unit vector."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.asarray(np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k)


def unit(element: Element, key: str, values: Array) -> Array:
    length = float(np.linalg.norm(values))
    if length < POSITIVE:
        raise RobotError(element, f'{element.title} has {key}="{quoted(element.get(key))}"; give it a direction')
    return np.asarray(values / length)


def quaternion(values: Array) -> Array:
    """Returns the rotation matrix of a unit quaternion w, x, y, z."""
    w, v = values[0], values[1:]
    k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.asarray(np.eye(3) + 2 * w * k + 2 * k @ k)


def upright(direction: Array) -> Array:
    """Returns the smallest rotation that turns z to a unit vector."""
    across = np.array([-direction[1], direction[0], 0])
    length = float(np.linalg.norm(across))
    return turned(across / length if length > POSITIVE else np.array([1.0, 0, 0]), math.atan2(length, direction[2]))


def actuated(element: Element) -> dict[str, str]:
    """Returns the attributes of an actuator as those of a <general>."""
    own = dict(element.attributes)
    if element.tag == "motor":
        own |= {"gainprm": "1", "biastype": "none", "dyntype": "none"}
    elif element.tag != "general":
        own |= {"biastype": "affine", "gainprm": own.get("kp", "1")}
    return own


# ---- bodies -----------------------------------------------------------------------------------------------------------


def volume_of(geom: Element, size: Array) -> tuple[float, Array]:
    """Returns the volume of a primitive, and its moments of inertia per density about its centre."""
    kind, (a, b, c) = geom.get("type", "sphere"), size
    if kind == "sphere":
        volume = 4 / 3 * math.pi * a**3
        return volume, volume * np.full(3, 0.4 * a * a)
    if kind == "ellipsoid":
        volume = 4 / 3 * math.pi * a * b * c
        return volume, volume / 5 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    if kind == "box":
        volume = 8 * a * b * c
        return volume, volume / 3 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    tube, caps = 2 * math.pi * a * a * b, 4 / 3 * math.pi * a**3 if kind == "capsule" else 0.0
    across = tube * (a * a / 4 + b * b / 3) + caps * (0.4 * a * a + b * b + 0.75 * a * b)
    return tube + caps, np.array([across, across, tube * a * a / 2 + caps * 0.4 * a * a])


def volume_of_mesh(corners: Array, faces: Indices, rule: str) -> tuple[float, Array, Array]:
    """Returns (volume, centre, tensor per density about it). `faces`: as of read_mesh(). `rule`: exact; legacy, where the volume over each polygon
    counts as positive, as in MuJoCo; shell, where it is the area of the polygon."""
    triangles, polygons = corners[faces[:, :3]], faces[:, 3]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]) / 2
    upwards = np.stack([np.bincount(polygons, one) for one in normals.T], axis=1)[polygons]
    areas = np.einsum("ij,ij->i", normals, upwards) / np.maximum(np.linalg.norm(upwards, axis=1), 1e-300)  # negative: upside down
    centre = areas @ triangles.mean(axis=1) / areas.sum()

    def parts() -> tuple[Array, Array]:
        """Returns the volumes over the faces as seen from `centre`, and their corners."""
        own = triangles - centre
        volumes = np.einsum("ij,ij->i", own[:, 0], np.cross(own[:, 1], own[:, 2])) / 6
        if rule == "legacy":
            volumes = volumes * np.sign(np.bincount(polygons, volumes))[polygons]
        return areas if rule == "shell" else volumes, own

    if rule != "shell":
        volumes, own = parts()
        centre = centre + volumes @ own.sum(axis=1) / 4 / volumes.sum()
    volumes, own = parts()
    total = own.sum(axis=1)
    moments = (np.einsum("i,ijk,ijl->kl", volumes, own, own) + np.einsum("i,ik,il->kl", volumes, total, total)) / (12 if rule == "shell" else 20)
    volume = float(volumes.sum())
    return abs(volume), centre, math.copysign(1.0, volume) * (np.trace(moments) * np.eye(3) - moments)


class MjcfReader:
    """Reads the file into bodies: the first pass."""

    def __init__(self, path: Path, root: Element) -> None:
        self.folder = path.parent
        expand(root, self.folder, {path})
        self.root = root
        self.found: dict[tuple[str, str], list[int]] = {}  # elements and attributes that are left out, their files, and their lines
        self.defaults: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self.compiler = Element("compiler", {}, root.line)
        self.check(root, "mujoco")
        for section in root.children:
            if section.tag not in "compiler option asset default worldbody actuator tendon equality contact".split() + SILENT.split():
                raise refused(section, f"the section <{quoted(section.tag)}>")
            if section.tag == "compiler":
                self.check(section, "compiler")
                self.compiler.attributes |= section.attributes
                self.compiler.line, self.compiler.file = section.line, section.file
        if self.compiler.get("coordinate", "local") != "local":
            raise refused(self.compiler, "coordinates other than local ones")
        self.angle = {"radian": 1.0, "degree": math.pi / 180}[lookup(self.compiler, "angle", self.compiler.get("angle", "degree"), ("radian", "degree"))]
        self.sequence = self.compiler.get("eulerseq", "xyz")
        if len(self.sequence) != 3 or set(self.sequence) - set("xyzXYZ"):
            raise RobotError(self.compiler, f'eulerseq="{quoted(self.sequence)}"; write three of the letters x, y, z, X, Y, Z')
        for section in root.findall("default"):
            self.read_class(section, section.get("class", "main"), self.defaults["main"])
        self.meshes: dict[str, Element] = {}
        for asset in [one for section in root.findall("asset") for one in section.children]:
            if asset.tag == "mesh":
                mesh = self.whole(asset, "mesh")
                self.meshes[mesh.get("name") or Path(mesh.get("file")).stem] = mesh
            elif asset.tag not in SILENT.split():
                raise refused(asset, f"<{quoted(asset.tag)}> in <asset>")
        self.read_meshes: dict[str, tuple[Array, Indices]] = {}
        self.taken: set[str] = set()  # names of coordinates and parameters
        self.links = {"ground"}
        self.joints: dict[str, Joint] = {}
        self.sites: dict[str, tuple[Body, Array, Array]] = {}
        none, same = np.zeros(3), np.eye(3)
        self.bodies = [Body(Element("worldbody", {"name": "world"}, root.line), None, none, same, none, same)]
        for section in root.findall("worldbody"):
            self.check(section, "worldbody")
            self.read_contents(section, self.bodies[0], "")
        self.named = {body.element.get("name"): body for body in self.bodies}
        if len(self.bodies) == 1:
            raise RobotError(root, "<mujoco> has no <body>; give it one")

    def note(self, what: str, element: Element) -> None:
        self.found.setdefault((what, element.file), []).append(element.line)

    def check(self, element: Element, kind: str) -> None:
        """Throws if an element has an attribute that is not in READ."""
        read, silent, noted = (words.split() for words in READ[kind])
        for name in element.attributes:
            if name in noted and element.get(name) != "0":
                self.note(f'{quoted(name)}="..." of <{element.tag}>', element)
            elif name not in [*read, *silent, *noted]:
                near = difflib.get_close_matches(name, [*read, *silent], 1, 0.8)
                hint = f"did you mean {near[0]}?" if near else "a model does not support it, take it out"
                raise RobotError(element, f'{element.title} has {quoted(name)}="{quoted(element.get(name))}"; {hint}')

    def read_class(self, element: Element, name: str, above: dict[str, dict[str, str]]) -> None:
        """Reads a <default> and those that are nested in it."""
        if not name:
            raise RobotError(element, "a nested <default> has no class; give it one")
        own = self.defaults[name] = {kind: dict(attributes) for kind, attributes in above.items()}
        for child in element.children:
            kind = "actuator" if child.tag in ACTUATORS else child.tag
            if kind not in [*READ, "default", *SILENT_DEFAULTS.split()] or kind == "mujoco":
                raise refused(child, f"<{quoted(child.tag)}> in a class")
            if kind in READ:
                self.check(child, kind)
                own.setdefault(kind, {}).update(actuated(child) if kind == "actuator" else child.attributes)
        for child in element.findall("default"):
            self.read_class(child, child.get("class"), own)

    def whole(self, element: Element, kind: str, childclass: str = "") -> Element:
        """Returns an element with the attributes of its class."""
        self.check(element, kind)
        name = lookup(element, "class", element.get("class") or childclass or "main", self.defaults)
        own = actuated(element) if kind == "actuator" else element.attributes
        return replace(element, attributes={**self.defaults[name].get(kind, {}), **own})

    def flag(self, element: Element, key: str, default: str = "true") -> bool:
        value = element.get(key, default)
        if value not in ("true", "false"):
            raise RobotError(element, f'{element.title} has {key}="{quoted(value)}"; write true or false')
        return value == "true"

    def limits(self, element: Element, key: str, flag: str, scale: float = 1.0) -> tuple[float, float]:
        """Returns the ends of a range, or infinite ones if it does not limit."""
        is_auto = element.get(flag, "auto") == "auto"
        is_limited = key in element.attributes and self.flag(self.compiler, "autolimits") if is_auto else self.flag(element, flag)
        if is_auto and not is_limited and key in element.attributes:
            self.note(f"{key} without {flag} in <{element.tag}>", element)
        low, high = numbers(element, key, 2, default=0) * scale
        return (low, high) if is_limited else (-math.inf, math.inf)

    def attitude(self, element: Element) -> Array:
        """Returns the rotation matrix of an element."""
        given = [key for key in POSE.split()[2:] if key in element.attributes] or [key for key in ["quat"] if key in element.attributes]
        if len(given) > 1:
            raise RobotError(element, f"{element.title} has {' and '.join(given)}; leave one")
        key = given[0] if given else ""
        if key == "quat":
            return quaternion(unit(element, key, numbers(element, key, 4)))
        if key == "euler":
            attitude = np.eye(3)
            for letter, angle in zip(self.sequence, numbers(element, key) * self.angle):
                one = turned(np.eye(3)["xyz".index(letter.lower())], angle)
                attitude = attitude @ one if letter.islower() else one @ attitude  # capitals: fixed axes
            return attitude
        if key == "axisangle":
            x, y, z, angle = numbers(element, key, 4)
            return turned(unit(element, key, np.array([x, y, z])), angle * self.angle)
        if key == "xyaxes":
            x, y = numbers(element, key, 6).reshape(2, 3)
            x = unit(element, key, x)
            y = unit(element, key, y - x @ y * x)
            return np.array([x, y, np.cross(x, y)]).T
        return upright(unit(element, key, numbers(element, key))) if key else np.eye(3)

    def pose(self, element: Element, at: Array, turn: Array) -> tuple[Array, Array]:
        """Returns (place, rotation) of an element of the frame that has this place and rotation."""
        return at + turn @ numbers(element, "pos", default=0), turn @ self.attitude(element)

    def read_contents(self, element: Element, body: Body, childclass: str, at: Array | None = None, turn: Array | None = None) -> None:
        """Reads the nested elements of a body, or of a <frame> of it at this place."""
        at, turn = np.zeros(3) if at is None else at, np.eye(3) if turn is None else turn
        for child in element.children:
            if child.tag == "frame":
                self.check(child, "frame")
                self.read_contents(child, body, child.get("childclass") or childclass, *self.pose(child, at, turn))
            elif child.tag == "body":
                self.check(child, "body")
                place, own = self.pose(child, at, turn)
                nested = Body(child, body, place, own, body.drawn_at + body.drawn_turn @ place, body.drawn_turn @ own)
                self.bodies.append(nested)
                nested.own = name_of(child.get("name") or "body", self.links)
                self.read_contents(child, nested, child.get("childclass") or childclass)
            elif child.tag in ("joint", "freejoint"):
                self.read_joint(child, body, childclass, at, turn)
            elif child.tag == "geom":
                geom = self.whole(child, "geom", childclass)
                if "fromto" in geom.attributes:
                    ends = numbers(geom, "fromto", 6).reshape(2, 3)
                    length = float(np.linalg.norm(ends[0] - ends[1]))
                    radius = at_most(geom, "size", [0, 0, 0])[0]
                    middle = [length / 2] if geom.get("type") in ("capsule", "cylinder") else [radius, length / 2]
                    geom.attributes["size"] = " ".join(f"{x:.17g}" for x in [radius, *middle])
                    body.geoms.append((geom, at + turn @ ends.mean(axis=0), turn @ upright(unit(geom, "fromto", ends[0] - ends[1]))))
                else:
                    body.geoms.append((geom, *self.pose(geom, at, turn)))
            elif child.tag == "site":
                site = self.whole(child, "site", childclass)
                self.sites[site.get("name")] = (body, *self.pose(site, at, turn))
            elif child.tag not in ["inertial", *SILENT.split()]:
                raise refused(child, f"<{quoted(child.tag)}> in <{element.tag}>")

    def read_joint(self, element: Element, body: Body, childclass: str, at: Array, turn: Array) -> None:
        if body.above is None:
            raise RobotError(element, f"{element.title} of <worldbody>; put it in a <body>")
        if element.tag == "freejoint":
            self.check(element, "freejoint")
            joint, kind = element, "floating"
        else:
            joint = self.whole(element, "joint", childclass)
            kind = KINDS[lookup(joint, "type", joint.get("type", "hinge"), KINDS)]
        if kind == "floating" and (body.above.above is not None or body.joints):
            raise RobotError(element, f"{element.title} is free; only a body of <worldbody> without another joint can be free")
        name = element.get("name") or f"{body.own}:{len(body.joints)}"  # without a name nothing refers to it
        if element.get("name") in self.joints:
            raise RobotError(element, f"{element.title} is in line {self.joints[name].element.line} already; rename one of them")
        own = name_of(element.get("name") or body.own, set())
        coordinates = [name_of(one, self.taken) for one in ([f"{own}_{end}" for end in NAMES[kind]] if kind in NAMES else [own])]
        axis = np.array([0.0, 0, 1])
        if kind in UNITS and "axis" in joint.attributes:
            axis = unit(joint, "axis", numbers(joint, "axis"))
        scale = self.angle if kind == "revolute" else 1.0
        place = at + turn @ numbers(joint, "pos", default=0) if kind in ("revolute", "spherical") else np.zeros(3)  # a slide may be anywhere
        found = Joint(joint, name, kind, place, turn @ axis, real(joint, "ref", 0.0) * scale, coordinates)
        body.joints.append(found)
        self.joints[name] = found

    # Masses and shapes

    def mesh(self, geom: Element) -> tuple[Array, Indices, Element]:
        """Returns (corners, triangles, <mesh>) of a mesh. Throws LeftOut."""
        name = lookup(geom, "mesh", geom.get("mesh"), self.meshes)
        mesh = self.meshes[name]
        if name not in self.read_meshes:
            if "vertex" in mesh.attributes:
                corners = numbers(mesh, "vertex", max(3, len(mesh.get("vertex").split()) // 3 * 3)).reshape(-1, 3)
                faces = numbers(mesh, "face", max(3, len(mesh.get("face").split()) // 3 * 3), default=0).astype(np.int64).reshape(-1, 3)
                if faces.min() < 0 or faces.max() >= len(corners):
                    raise RobotError(mesh, f"{mesh.title}: a face has a corner that is not a vertex; write numbers from 0 to {len(corners) - 1}")
                faces = np.c_[faces, np.arange(len(faces))] if "face" in mesh.attributes else np.zeros((0, 4), np.int64)
            else:
                folder = self.compiler.get("meshdir") or self.compiler.get("assetdir")
                file = Path(mesh.get("file")).name if self.flag(self.compiler, "strippath", "false") else mesh.get("file")
                if not file or "\0" in file:
                    raise RobotError(mesh, f'{mesh.title} has file="{quoted(file)}"; name a file')
                try:
                    corners, faces = read_mesh(self.folder / folder / file)
                except RobotError as error:
                    raise RobotError(mesh, f"mesh {quoted(file, 200)}: {error}") from None
            ref = unit(mesh, "refquat", at_most(mesh, "refquat", [1, 0, 0, 0]))
            corners = (corners - numbers(mesh, "refpos", default=0)) @ quaternion(ref) * numbers(mesh, "scale", default=1)
            self.read_meshes[name] = corners, faces
        return (*self.read_meshes[name], mesh)

    def size(self, geom: Element) -> Array:
        """Returns the sizes of a primitive. Throws if one that it needs is not positive."""
        kind, size = geom.get("type", "sphere"), at_most(geom, "size", [0, 0, 0])
        count = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}.get(kind)
        if count is None or "mesh" in geom.attributes:
            raise refused(geom, f"the mass of a {kind} that fits a mesh" if count else f"the type {quoted(kind)}")
        if (size[:count] < POSITIVE).any():
            raise RobotError(geom, f'{geom.title} has size="{quoted(geom.get("size"))}"; write {count} numbers above 0')
        return size

    def weight(self, geom: Element) -> tuple[float, Array, Array]:
        """Returns (mass, centre, tensor about it) of a geom in its own frame."""
        mass = real(geom, "mass", lowest=0.0) if "mass" in geom.attributes else None
        density = real(geom, "density", 1000.0, lowest=0.0)
        if mass == 0 or (mass is None and density == 0) or geom.get("type") in ("plane", "hfield"):
            return 0.0, np.zeros(3), np.zeros((3, 3))
        if self.flag(geom, "shellinertia", "false"):
            raise refused(geom, "the mass of a shell")
        if geom.get("type") != "mesh":
            volume, moments = volume_of(geom, self.size(geom))
            centre, tensor = np.zeros(3), np.diag(moments)
        else:
            try:
                corners, faces, mesh = self.mesh(geom)
                rule = mesh.get("inertia", "legacy")
                if rule not in ("legacy", "exact", "shell", "convex"):
                    raise LeftOut(f'it has inertia="{quoted(rule)}"')
                if rule == "convex" or not len(faces):
                    rule, faces = "legacy", whole_hull(corners)[1]
            except LeftOut as error:
                raise RobotError(geom, f"{geom.title}: its mass needs the volume of mesh {quoted(geom.get('mesh'))}: {error}; give the body an <inertial>") from None
            with np.errstate(all="ignore"):
                volume, centre, tensor = volume_of_mesh(corners, faces, rule)
            if not 0 < volume < math.inf:
                raise RobotError(geom, f"{geom.title}: mesh {quoted(geom.get('mesh'))} has no volume; give the body an <inertial>")
        mass = density * volume if mass is None else mass
        return mass, centre, mass / volume * tensor

    @functools.cached_property
    def mass_factor(self) -> float:
        """The factor that gives the bodies together the mass `settotalmass`."""
        wanted = real(self.compiler, "settotalmass", -1.0)
        total = sum(self.own_mass(body)[0] for body in self.bodies if body.above is not None) if wanted > 0 else 0.0
        if wanted > 0 and not total > 0:
            raise RobotError(self.compiler, f'settotalmass="{shown(wanted)}", but no body has a mass; give one')
        return wanted / total if wanted > 0 else 1.0

    def body_mass(self, body: Body) -> tuple[float, Array, Array]:
        """Returns (mass, centre, tensor about it) of a body in its own frame."""
        mass, centre, tensor = self.own_mass(body)
        return self.mass_factor * mass, centre, self.mass_factor * tensor

    def own_mass(self, body: Body) -> tuple[float, Array, Array]:
        """Returns the same without `settotalmass`."""
        inertial, rule = body.element.find("inertial"), self.compiler.get("inertiafromgeom", "auto")
        if body.above is not None and inertial is not None and rule != "true":
            self.check(inertial, "inertial")
            mass = real(inertial, "mass", lowest=0.0)
            at, turn = self.pose(inertial, np.zeros(3), np.eye(3))
            if "fullinertia" in inertial.attributes:
                xx, yy, zz, xy, xz, yz = numbers(inertial, "fullinertia", 6)
                tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
            else:
                tensor = np.diag(numbers(inertial, "diaginertia", default=0.0, lowest=0.0))
            return mass, at, turn @ tensor @ turn.T
        first, last = at_most(self.compiler, "inertiagrouprange", [0, 5])
        total, parts = 0.0, []
        for geom, at, turn in body.geoms if body.above is not None and rule != "false" else []:
            if first <= real(geom, "group", 0.0) <= last:
                mass, centre, tensor = self.weight(geom)
                parts.append((mass, at + turn @ centre, turn @ tensor @ turn.T))
                total += mass
        if total == 0:
            return 0.0, np.zeros(3), np.zeros((3, 3))
        centre = sum((mass * at for mass, at, _ in parts), np.zeros(3)) / total
        return total, centre, sum((moved(tensor, mass, at - centre) for mass, at, tensor in parts), np.zeros((3, 3)))

    def convex(self, geom: Element) -> tuple[Array | float, str]:
        """Returns (corners of a geom in its own frame, or the radius of a ball; its dimensions in words). Throws LeftOut."""
        kind = geom.get("type", "sphere")
        if "mesh" in geom.attributes:
            return hull(self.mesh(geom)[0]), f"convex hull of {quoted(geom.get('mesh'))}"
        if kind in ("plane", "hfield", "sdf"):
            raise LeftOut(f"a model has no {kind}")
        size = self.size(geom)
        if kind == "sphere":
            return float(size[0]), f"sphere of radius {shown(size[0])}"
        if kind == "box":
            return box(2 * size), f"box {vector(2 * size)}"
        if kind == "ellipsoid":
            return hull(directions(4 * CORNERS) * size), f"ellipsoid of radii {vector(size)}"
        return rounded(size[0], size[1], kind == "capsule"), f"{kind} of radius {shown(size[0])}, length {shown(2 * size[1])}"


# ---- the text ---------------------------------------------------------------------------------------------------------


class MjcfWriter(Writer):
    """Writes bodies, joints and actuators: the second pass."""

    def __init__(self, robot: MjcfReader, parts: str, mimic: str) -> None:
        super().__init__()
        self.robot, self.parts = robot, parts
        self.taken = robot.taken
        self.leaders = self.follow(mimic)
        self.efforts: set[str] = set()  # names of actuators
        self.world = ""  # the link of walls and floors
        self.gravity = np.array([0, 0, -9.81])
        for option in robot.root.findall("option"):
            robot.check(option, "option")
            self.gravity = numbers(option, "gravity") if "gravity" in option.attributes else self.gravity
            touching = option.get("collision", "all")  # an attribute of MuJoCo 2
            if touching not in ("all", "dynamic", "predefined"):
                raise RobotError(option, f'<option> has collision="{quoted(touching)}"; write all, dynamic or predefined')
            if touching == "predefined" and self.parts == "hulls":  # only pairs touch, and a model has none
                self.parts = "none"
                robot.note('contact of geoms under collision="predefined"', option)
            for flag in option.findall("flag"):
                robot.check(flag, "flag")
                self.gravity = np.zeros(3) if flag.get("gravity") == "disable" else self.gravity

    def follow(self, mimic: str) -> dict[str, Leader]:
        """Returns for each joint of an <equality> the independent joint at the end of its chain."""
        joints, robot = self.robot.joints, self.robot
        given: dict[str, tuple[Element, Leader]] = {}
        for equality in robot.root.findall("equality"):
            for element in equality.children:
                if element.tag not in ("joint", "connect"):
                    raise refused(element, f"<{quoted(element.tag)}> in <equality>")
                robot.check(element, "connect" if element.tag == "connect" else "joint equality")
                if not robot.flag(element, "active"):
                    robot.note(f"<{element.tag}> of <equality> that is not active", element)
                elif element.tag == "joint":
                    name = lookup(element, "joint", element.get("joint1"), joints)
                    other = lookup(element, "joint", element.get("joint2"), joints) if "joint2" in element.attributes else ""
                    factors = at_most(element, "polycoef", [0, 1, 0, 0, 0])
                    if any(joints[one].kind not in UNITS for one in (name, other or name)) or factors[2:].any():
                        raise refused(element, "a joint that follows by a curve, or is a ball or free joint")
                    if name in given:
                        raise RobotError(element, f"joint {quoted(name)} follows another one in line {given[name][0].line} already; leave one")
                    if mimic == "free":
                        self.notes.append(f"{quoted(name)} mimics {quoted(other)}: here it moves by itself")
                        continue
                    factor = factors[1] if other else 0.0
                    given[name] = element, Leader(other, factor, joints[name].ref + factors[0] - (factor * joints[other].ref if other else 0.0))
        found = {}
        for name, (element, leader) in given.items():
            seen = [name]
            while leader.joint in given:
                if leader.joint in seen:
                    raise RobotError(element, f"joint {quoted(name)} follows itself; leave one of its joints free")
                seen.append(leader.joint)
                above = given[leader.joint][1]
                leader = Leader(above.joint, leader.factor * above.factor, leader.offset + leader.factor * above.offset)
            found[name] = leader
        return found

    def position(self, joint: Joint) -> str:
        """Returns the position of a joint as an expression of an independent coordinate."""
        leader = self.leaders.get(joint.name)
        if leader is None:
            return joint.coordinates[0]
        first = self.robot.joints.get(leader.joint, joint)
        return leader.expression(joint.kind, first.kind, first.coordinates[0] if leader.joint else "")

    def independent(self, joint: Joint) -> tuple[Joint | None, float]:
        """Returns the independent joint that moves this one, and its factor."""
        leader = self.leaders.get(joint.name)
        return (joint, 1.0) if leader is None else (self.robot.joints.get(leader.joint), leader.factor)

    def body(self, body: Body, has_bodies: bool) -> None:
        """Writes the links of a body, its shapes, and the forces in its joints."""
        robot, above = self.robot, body.above or body
        shapes = self.shapes(body)
        if body.above is None:
            if shapes:  # walls and floors
                self.world = name_of("world", robot.links)
                size = self.link(body.element, self.world, ["parent = ground", "joint = fixed"], None, robot.body_mass(body), True)
                for shape in shapes:
                    self.shape(shape[0], self.world, size, *shape[1:])
            return
        parent, size, origin, turn = above.own, above.size, above.within(body.at), above.attitude @ body.turn
        mass = robot.body_mass(body)
        joints: list[Joint | None] = [*body.joints] or [None]
        for k, joint in enumerate(joints):
            is_last = k + 1 == len(joints)
            own, lines, at = body.own, [f"parent = {parent}"], origin
            if joint is None:
                lines, origin = [*lines, "joint = fixed"], np.zeros(3)
            else:
                own = own if is_last else name_of(f"{own}_{joint.name}", robot.links)
                if not is_last:
                    self.joints_alone.add(own)
                axis, at = turn @ joint.axis, origin + turn @ joint.place
                if joint.kind == "prismatic":
                    at = at - joint.ref * axis
                elif joint.kind == "revolute":
                    turn = turn @ turned(joint.axis, -joint.ref)
                elif joint.kind == "floating":
                    if body.at.any() or not np.allclose(body.turn, np.eye(3)):
                        self.notes.append(f"{own} is free: the file draws it at {vector(body.at)}; where its coordinates are 0, it is at 0, 0, 0, not turned")
                    turn = np.eye(3)
                moves = {"floating": "spatial ZYX", "spherical": "spherical ZYX"}.get(joint.kind, f"{joint.kind} {along(axis)}")
                origin = -turn @ joint.place
                lines += [f"joint = {moves}", f"follows = {self.position(joint)}" if joint.name in self.leaders else f"coordinates = {', '.join(joint.coordinates)}"]
            body.origin, body.attitude = origin, turn
            whole = (mass[0], body.within(mass[1]), turn @ mass[2] @ turn.T) if is_last else (0.0, np.zeros(3), np.zeros((3, 3)))
            has_size = has_bodies or bool(shapes) if is_last else any(one.place.any() for one in body.joints)
            size = self.link(body.element, own, lines, (at, size) if joint is None or joint.kind != "floating" else None, whole, has_size)
            parent = own
            if joint is not None:
                self.joint(joint)
        body.size = size
        compensation = real(body.element, "gravcomp", 0.0)
        if compensation and self.gravity.any() and body.own in self.masses:
            force = ", ".join(f"{shown(-compensation * g)} m/s2*{self.masses[body.own]}" if g else "0" for g in self.gravity)
            self.out.extend([f"[force {body.own}_gravcomp]", f"link = {body.own}", f"at = {scaled(body.within(mass[1]), size)}", f"force = {force}", ""])
        for geom, at, attitude, convex, words in shapes:
            self.shape(geom, body.own, size, body.within(at), body.attitude @ attitude, convex, words)

    def shapes(self, body: Body) -> list[tuple[Element, Array, Array, Array | float, str]]:
        """Returns of each convex part of a body its geom, place, rotation, corners or radius, and words."""
        found = []
        for geom, at, turn in body.geoms:
            if self.parts == "hulls" and self.collides(geom):
                try:
                    found.append((geom, at, turn, *self.robot.convex(geom)))
                except LeftOut as error:
                    self.notes.append(f"link {body.own if body.above else 'world'}: a part ({where(geom)}) is left out: {error}")
        return found

    def collides(self, geom: Element) -> bool:
        masks = {int(real(geom, key, 1.0)) for key in ("contype", "conaffinity")}
        if masks not in ({0}, {1}):
            self.robot.note("the choice of parts that touch by contype and conaffinity", geom)
        return masks != {0}

    def joint(self, joint: Joint) -> None:
        """Writes the range, spring, damping and rotor of a joint."""
        element, robot = joint.element, self.robot
        scale = robot.angle if joint.kind == "revolute" else 1.0
        stiffness, damping, armature = (real(element, key, 0.0, lowest=0.0) for key in ("stiffness", "damping", "armature"))
        low, high = robot.limits(element, "range", "limited", scale) if element.tag == "joint" else (-math.inf, math.inf)
        if joint.kind not in UNITS:
            if stiffness or armature:
                raise refused(element, "stiffness and armature of ball and free joints")
            for key, has in (("damping", damping), ("range", high < math.inf)):
                if has:
                    robot.note(f"{key} of a {element.get('type')} joint", element)
            return
        first, factor = self.independent(joint)
        name, rest = joint.coordinates[0], real(element, "springref", 0.0) * scale
        if joint.name in self.leaders:
            if first is None:
                return
            self.notes.append(f"{quoted(joint.name)} follows {quoted(first.name)}: limits are those of {quoted(first.name)} alone")
            rest, stiffness, damping = (rest - self.leaders[joint.name].offset) / (factor or 1.0), stiffness * factor**2, damping * factor**2
        elif low < high < math.inf:
            self.joint_limit(name, joint.kind, [low, high])
        if first is not None and (stiffness or damping):
            self.spring(name, first.coordinates[0], first.kind, damping, stiffness, rest if stiffness else 0.0)
        if armature:
            heavy = self.parameter(f"{name}_armature", armature, UNITS[joint.kind].rotor)
            self.out.extend([f"[rotor {name}]", f"place = {self.position(joint)}", f"mass = {heavy}", ""])

    def tendons(self) -> dict[str, dict[str, float]]:
        """Returns the joints of each fixed tendon, with their factors."""
        found: dict[str, dict[str, float]] = {}
        for section in self.robot.root.findall("tendon"):
            for element in section.children:
                if element.tag not in ("fixed", "spatial"):
                    raise refused(element, f"<{quoted(element.tag)}> in <tendon>")
                tendon = self.robot.whole(element, "tendon")
                for key in ("stiffness", "damping", "armature"):
                    if at_most(tendon, key, [0]).any():
                        raise refused(tendon, f"{key} of tendons")
                if element.tag == "spatial":
                    self.robot.note("<spatial> of <tendon>, which has no stiffness,", element)
                    continue
                factors = found[element.get("name")] = {}
                for joint in element.children:
                    self.robot.check(joint, "joint tendon")
                    factors[lookup(joint, "joint", joint.get("joint"), self.robot.joints)] = real(joint, "coef")
        return found

    def actuators(self) -> None:
        robot, tendons = self.robot, self.tendons()
        for section in robot.root.findall("actuator"):
            for element in section.children:
                if element.tag not in ACTUATORS:
                    raise refused(element, f"<{quoted(element.tag)}> in <actuator>")
                self.actuate(robot.whole(element, "actuator"), tendons)

    def actuate(self, element: Element, tendons: dict[str, dict[str, float]]) -> None:
        """Writes an actuator. Its control is the force, with the limits that the ranges of control and force give."""
        robot = self.robot
        on = [key for key in ("joint", "jointinparent", "tendon", "site") if key in element.attributes]
        if len(on) != 1 or "refsite" in element.attributes:
            raise refused(element, "actuators on anything except one joint, one fixed tendon or one site")
        rules = {"gaintype": "fixed", "biastype": "none", "dyntype": "none"}
        kinds = {key: element.get(key, rule) for key, rule in rules.items()}
        if kinds["gaintype"] not in ("fixed", "affine") or kinds["dyntype"] not in ("none", "integrator", "filter", "filterexact"):
            raise refused(element, f"gaintype {quoted(kinds['gaintype'])} with dyntype {quoted(kinds['dyntype'])}")
        if kinds != rules:
            robot.note("the gain, bias or filter of an actuator", element)
        low, high = robot.limits(element, "forcerange", "forcelimited")
        if kinds["gaintype"] == "fixed" and kinds["biastype"] == "none" and kinds["dyntype"] != "integrator":
            gain = at_most(element, "gainprm", [1, *[0] * 9])[0]
            ends = sorted(gain * end if gain else 0.0 for end in robot.limits(element, "ctrlrange", "ctrllimited"))
            low, high = max(low, ends[0]), min(high, ends[1])
        gear = at_most(element, "gear", [1, 0, 0, 0, 0, 0])
        target = element.get(on[0])
        name = name_of(element.get("name") or target, self.efforts)
        if on[0] == "site":
            body, at, turn = robot.sites[lookup(element, "site", target, robot.sites)]
            if body.above is None:
                raise refused(element, "actuators on the world")
            forces = [body.attitude @ turn @ gear[:3], body.attitude @ turn @ gear[3:]]
            lines = [f"link = {body.own}", f"at = {scaled(body.within(at), body.size)}"]
            lines += [f"{key} = {vector(values)}" for key, values in zip(("force", "torque"), forces) if values.any()]
            self.effort(element, name, lines, low, high, "N" if gear[:3].any() else "N m")
            return
        factors: dict[str, float] = {}
        parts = tendons[lookup(element, "fixed tendon", target, tendons)] if on[0] == "tendon" else {lookup(element, "joint", target, robot.joints): 1.0}
        for one, factor in parts.items():
            if robot.joints[one].kind not in UNITS:
                raise refused(element, "actuators on ball and free joints")
            first, ratio = self.independent(robot.joints[one])
            if first is not None:
                factors[first.name] = factors.get(first.name, 0.0) + gear[0] * factor * ratio
        factors = {one: factor for one, factor in factors.items() if factor}
        if not factors:
            raise refused(element, "an actuator that moves no independent joint")
        first, *others = (robot.joints[one] for one in factors)
        factor = factors[first.name]
        low, high = min(factor * low, factor * high), max(factor * low, factor * high)
        if not others:
            lowest, highest = robot.limits(first.element, "actuatorfrcrange", "actuatorfrclimited")
            low, high = max(low, lowest), min(high, highest)
        self.effort(element, name, [f"coordinate = {first.coordinates[0]}"], low, high, UNITS[first.kind].force)
        for other in others:
            if other.kind != first.kind:
                raise refused(element, "actuators on tendons along hinges and slides")
            self.out.extend([f"[force {name}_{other.coordinates[0]}]", f"coordinate = {other.coordinates[0]}",
                             f"force = {factors[other.name] / factor:.17g}*u.{name}", ""])  # fmt: skip

    def effort(self, element: Element, name: str, on: Sequence[str], low: float, high: float, force: str) -> None:
        if low != -high:
            self.notes.append(f"actuator {name}: its force is from {shown(low)} to {shown(high)} {force} ({where(element)}): its limit has the larger size")
        self.actuator(name, on, max(abs(low), abs(high)), force)

    def loops(self) -> None:
        """Writes the <connect> as constraints: two points that are at one place."""
        robot = self.robot
        for element in [one for section in robot.root.findall("equality") for one in section.findall("connect")]:
            if not robot.flag(element, "active"):
                continue
            ends = []
            if "site1" in element.attributes:
                for key in ("site1", "site2"):
                    body, at, _ = robot.sites[lookup(element, "site", element.get(key), robot.sites)]
                    ends.append((body, at))
            else:
                first, second = (robot.named[lookup(element, "body", element.get(key, "world"), robot.named)] for key in ("body1", "body2"))
                anchor = numbers(element, "anchor")
                drawn = first.drawn_at + first.drawn_turn @ anchor
                ends = [(first, anchor), (second, second.drawn_turn.T @ (drawn - second.drawn_at))]
            names = [name_of(element.get("name") or f"{ends[0][0].own}_{ends[1][0].own}", self.taken) for _ in ends]
            for name, (body, at) in zip(names, ends):
                self.out.extend([f"[point {name}]", f"link = {body.own}", f"at = {scaled(body.within(at), body.size)}", ""])
            for letter in "xyz":
                self.out.extend([f"[constraint {names[0]}_{letter}]", f"zero = {names[0]}.{letter} - {names[1]}.{letter}", ""])

    def contacts(self) -> None:
        """Writes which links do not touch."""
        robot, lines = self.robot, []
        for element in [one for section in robot.root.findall("contact") for one in section.children]:
            if element.tag == "pair":
                robot.note("<pair> of <contact>", element)
                continue
            if element.tag != "exclude":
                raise refused(element, f"<{quoted(element.tag)}> in <contact>")
            robot.check(element, "exclude")
            bodies = [robot.named[lookup(element, "body", element.get(key), robot.named)] for key in ("body1", "body2")]
            lines += [", ".join(body.own if body.above else self.world for body in bodies) + " = no"]
        lines = [line for line in lines if not line.startswith(", ") and ",  =" not in line]  # the world may have no shape
        if lines and self.parts == "hulls":
            self.out.extend(["[contact]", *dict.fromkeys(lines), ""])


def convert(path: Path, root: Element, parts: str, mimic: str) -> tuple[str, list[str]]:
    """Returns the model text of the MJCF at `path` with this root element, and its notes. Throws RobotError."""
    robot = MjcfReader(path, root)
    writer = MjcfWriter(robot, parts, mimic)
    carrying = {id(body.above) for body in robot.bodies}
    for body in robot.bodies:
        writer.body(body, id(body) in carrying)
    writer.loops()
    writer.actuators()
    writer.contacts()
    writer.notes += [places(what + (f" in {quoted(Path(file).name)}" if file else ""), lines) for (what, file), lines in robot.found.items()]
    gravity = writer.gravity
    settings = [] if np.array_equal(gravity, [0, 0, -9.81]) else [f"gravity = {vector(gravity)}"]
    return writer.text(root.get("model") or path.stem, path, settings), writer.notes
