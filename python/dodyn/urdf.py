"""dodyn import: a URDF robot as a model file. `dodyn import --help` lists the options.

A URDF link has a frame of its own, turned against its parent's. robots.py has the frames of a model and writes its text. Coordinates are
the URDF's. Of a mesh the convex hull is taken, with at most 40 corners. Each element that is left out or changed is a note.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .robots import (ALIGNED, FAR, POSITIVE, UNITS, Array, Element, Leader, LeftOut, RobotError, Writer, along, box, hull, name_of, numbers,
                     places, quoted, read_mesh, real, rounded, shown, vector)  # fmt: skip

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


def in_package(name: str, rest: str, folder: Path, packages: Mapping[str, Path]) -> Path:
    """Returns a file of a package: in the folder of --package, or in a folder of that name next to the URDF or above it."""
    if name in packages:
        return packages[name] / rest
    above = [folder, *folder.resolve().parents]
    tried = [one / name / rest for one in above] + [one / rest for one in above if one.name == name]
    return next((one for one in tried if one.exists()), tried[0])


def expect_volume(shape: Element, key: str, smallest: float) -> None:
    if smallest < POSITIVE:
        raise LeftOut(f'<{shape.tag}> has {key}="{quoted(shape.get(key))}", so no volume')


def part(geometry: Element, folder: Path, packages: Mapping[str, Path]) -> tuple[Array | float, str]:
    """Returns (corners of a <geometry> in its own frame, or the radius of a ball; its dimensions in words)."""
    found = [child for child in geometry.children if child.tag in SHAPES]
    if len(found) != 1:
        several = "no box, cylinder, sphere, capsule or mesh" if not found else f"{len(found)} shapes"
        raise RobotError(geometry, f"<geometry> has {several}; give it one")
    shape = found[0]
    if shape.tag == "box":
        size = numbers(shape, "size", lowest=0.0)
        expect_volume(shape, "size", float(size.min()))
        return box(size), f"box {vector(size)}"
    if shape.tag == "mesh":
        name = shape.get("filename", "")
        at = re.match(r"(?:package|model)://([^/]+)/(.*)", name)
        path = in_package(at[1], at[2], folder, packages) if at else folder / re.sub(r"^file://", "", name)
        if not name or "\0" in name:
            raise RobotError(shape, f'<mesh> has filename="{quoted(name)}"; name a file')
        scale = numbers(shape, "scale", default=1.0)
        try:
            return hull(read_mesh(path)[0] * scale), f"convex hull of {quoted(Path(name).name)}"
        except RobotError as error:
            raise RobotError(shape, f"mesh {quoted(path, 200)}: {error}") from None
    radius = real(shape, "radius", lowest=0.0)
    expect_volume(shape, "radius", radius)
    if shape.tag == "sphere":
        return radius, f"sphere of radius {shown(radius)}"
    half = real(shape, "length", lowest=0.0) / 2
    expect_volume(shape, "length", half)
    words = f"{shape.tag} of radius {shown(radius)}, length {shown(2 * half)}"
    return rounded(radius, half, shape.tag == "capsule"), words  # the length in the URDF is that of the cylinder between the caps


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


def by_name(robot: Element, tag: str) -> dict[str, Element]:
    """Returns the links or joints by name. Throws if a name is repeated."""
    found: dict[str, Element] = {}
    for element in robot.findall(tag):
        name = element.get("name")
        if not name:
            raise RobotError(element, f"a <{tag}> has no name; give it one")
        if name in found:
            raise RobotError(element, f"{element.title} is in line {found[name].line} already; rename one of them")
        found[name] = element
    return found


def tree(robot: Element) -> tuple[dict[str, Element], str, dict[str, list[Element]]]:
    """Returns (links by name, the root's name, joints below each link): each link except the root has one parent joint."""
    links, joints = by_name(robot, "link"), by_name(robot, "joint").values()
    if not links:
        raise RobotError(robot, "the robot has no <link>; give it one")
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
                raise RobotError(joint.need(end), f"{joint.title}: no link '{quoted(name)}'; {hint}")
            ends.append(name)
        parent, child = ends
        if child in above:
            raise RobotError(joint, f"link {quoted(child)} is the child of two joints, {quoted(above[child].get('name'))} and "
                            f"{quoted(joint.get('name'))}; a tree has one, close loops in the model")  # fmt: skip
        above[child] = joint
        below.setdefault(parent, []).append(joint)
    roots = [name for name in links if name not in above]
    if len(roots) > 1:
        raise RobotError(links[roots[1]], f"{len(roots)} links have no parent, as {quoted(roots[0])} and {quoted(roots[1])}; join them to one tree")
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
        raise RobotError(min((above[one] for one in loop), key=lambda one: one.line), f"links {named} hang on each other in a loop; a tree has none, close loops in the model")
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
    return [places(what, lines) for what, lines in sorted(found.items(), key=lambda item: min(item[1]))]


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
                raise RobotError(mimic, f"{joint.title} mimics '{quoted(other)}', which is not a joint; {hint}")
            if other in seen:
                raise RobotError(mimic, f"{joint.title} mimics itself; name a joint that moves by itself")
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


class UrdfWriter(Writer):
    """Writes the links and joints of a robot."""

    def __init__(self, robot: Element, folder: Path, parts: str, mimic: str, packages: Mapping[str, Path]) -> None:
        super().__init__()
        self.folder, self.parts, self.packages = folder, parts, packages
        self.notes = not_read(robot)
        self.rotors = rotors(robot)
        self.leaders = leaders(robot) if mimic == "follow" else {}
        self.kinds = {name: "prismatic" if joint.get("type") == "prismatic" else "revolute" for name, joint in by_name(robot, "joint").items()}
        self.coordinates = {name: name_of(name, self.taken) for name, joint in by_name(robot, "joint").items()
                            if joint.get("type") in ("revolute", "continuous", "prismatic")}  # fmt: skip
        if mimic == "free":
            for name, joint in by_name(robot, "joint").items():
                if (found := joint.find("mimic")) is not None:
                    self.notes.append(f"{quoted(name)} mimics {quoted(found.get('joint'))}: here it moves by itself")

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
            raise RobotError(element, f"{joint.title} has the axis 0, 0, 0; give it a direction")
        axis = turn @ axis / length
        if kind == "planar":  # the URDF's axis is the normal of the plane
            first, second = beside(axis)
            own = name_of(name, set())
            return (f"prismatic {along(first)} + prismatic {along(second)} + revolute {along(axis)}",
                    ", ".join(name_of(f"{own}_{one}", self.taken) for one in ("first", "second", "turn")))  # fmt: skip
        return f"{'prismatic' if kind == 'prismatic' else 'revolute'} {along(axis)}", self.coordinates[joint.get("name")]

    def robot_link(self, link: Element, joint: Element | None, base: str, parent: str, size_above: str, at: Array, turn: Array, own: str, carries: bool) -> str:
        """Writes a link and its parts. `turn`: its attitude if all coordinates are zero. Returns the parameter that scales it."""
        text = [f"parent = {parent}"]
        kind = ("floating" if base == "free" else "fixed") if joint is None else joint.get("type")
        if joint is not None and kind not in JOINTS:
            near = difflib.get_close_matches(kind or "", JOINTS, 1)
            raise RobotError(joint, f"{joint.title} has type '{quoted(kind or '')}'; " + (f"did you mean {near[0]}?" if near else f"write one of {', '.join(JOINTS)}"))
        leader = self.leaders.get(joint.get("name")) if joint is not None else None
        if kind == "fixed":
            text += ["joint = fixed"]
        elif joint is None:  # the names that the model would give, unless a joint has one of them
            names = [*"xyz", *(f"{own}_turn_{axis}" for axis in "zyx")]
            text += ["joint = spatial ZYX", f"coordinates = {', '.join(name_of(name, self.taken) for name in names)}"]
        else:
            moves, coordinates = self.moves(joint, kind, turn)
            text += [f"joint = {moves}"]
            if leader is None:
                text += [f"coordinates = {coordinates}"]
            elif "," in coordinates:
                raise RobotError(joint, f"{joint.title}: a {kind} joint mimics nothing; take its <mimic> out")
            else:
                followed = self.coordinates.get(leader.joint, "")
                text += [f"follows = {leader.expression(self.kinds[joint.get('name')], self.kinds[leader.joint], followed)}"]
        collisions = link.findall("collision") if self.parts == "hulls" else []
        place = (at, size_above) if joint is not None or np.any(at) else None
        size = self.link(link, own, text, place, inertial(link, turn), carries or bool(collisions))
        if joint is not None and kind in ("floating", "planar"):
            self.notes += [places(f"<{one.tag}> of the {kind} joint {quoted(joint.get('name'))}", [one.line]) for tag in ("limit", "dynamics") for one in joint.findall(tag)]
        if joint is not None and kind in ("revolute", "continuous", "prismatic"):
            self.limits(joint, kind, self.coordinates[joint.get("name")], leader)
        for collision in collisions:
            centre, attitude = origin(collision)
            try:
                convex, words = part(collision.need("geometry"), self.folder, self.packages)
            except LeftOut as error:
                self.notes.append(f"link {own}: a part (line {collision.line}) is left out: {error}")
                continue
            self.shape(collision, own, size, turn @ centre, turn @ attitude, convex, words)
        return size

    def limits(self, joint: Element, joint_type: str, coordinate: str, leader: Leader | None) -> None:
        """Writes range, speed, actuator, damping and rotor of a moving joint."""
        limit, dynamics = joint.find("limit"), joint.find("dynamics")
        name, kind = quoted(joint.get("name")), self.kinds[joint.get("name")]
        units = UNITS[kind]
        ends = [real(limit, end, 0.0, highest=FAR) for end in ("lower", "upper")] if limit is not None else [0.0, 0.0]
        damping, friction = (real(dynamics, key, 0.0, lowest=0.0) if dynamics is not None else 0.0 for key in ("damping", "friction"))
        if friction > 0:
            self.notes.append(f"{name}: dry friction in a joint is left out")
        if leader is not None:
            followed = self.coordinates.get(leader.joint)
            self.notes.append(f"{name} follows {quoted(leader.joint)}: limits and effort are those of {quoted(leader.joint)} alone")
            if damping > 0 and followed:  # with the same power
                self.spring(f"{coordinate}_damping", followed, self.kinds[leader.joint], damping * leader.factor**2)
            if joint.get("name") in self.rotors:
                self.notes.append(f"{name}: its rotor is left out")
            return
        has_range = joint_type != "continuous" and ends[0] < ends[1]
        if joint_type != "continuous" and not has_range:
            self.notes.append(f"{name} has no range: its limits {shown(ends[0])} and {shown(ends[1])} (line {limit.line}) are left out"
                              if limit is not None else f"{name} has no range: {joint.title} has no <limit>")  # fmt: skip
        if limit is not None and joint_type == "continuous" and any(ends):
            self.notes.append(f"{name} is continuous: its limits {shown(ends[0])} and {shown(ends[1])} (line {limit.line}) are left out")
        speed = real(limit, "velocity", 0.0) if limit is not None else 0.0
        if speed <= 0 and limit is not None and "velocity" in limit.attributes:
            self.notes.append(f"{name}: the velocity {shown(speed)} (line {limit.line}) is taken as no limit")
        self.joint_limit(coordinate, kind, ends if has_range else [], speed)
        effort = real(limit, "effort", 0.0) if limit is not None else 0.0
        if limit is not None and effort <= 0:
            self.notes.append(f"{name}: the effort {shown(effort)} (line {limit.line}) is taken as no limit")
        self.actuator(coordinate, [f"coordinate = {coordinate}"], effort, units.force)
        if damping > 0:
            self.spring(coordinate, coordinate, kind, damping)
        if joint.get("name") in self.rotors:
            inertia, ratio = self.rotors[joint.get("name")]
            heavy = self.parameter(f"{coordinate}_rotor", inertia, units.rotor)
            gear = self.parameter(f"{coordinate}_gear", ratio, "1, the ratio of its gear")
            self.out.extend([f"[rotor {coordinate}]", f"place = {gear}*{coordinate}", f"mass = {heavy}", ""])


def convert(path: Path, robot: Element, base: str, parts: str, packages: Mapping[str, Path], mimic: str) -> tuple[str, list[str]]:
    """Returns the model text of the URDF at `path` with this root element, and its notes. Throws RobotError."""
    if any(tag.startswith("xacro:") for tag in [child.tag for child in robot.children]):
        raise RobotError(robot, "is a xacro file; import what `xacro FILE` makes of it")
    links, root, below = tree(robot)
    writer = UrdfWriter(robot, path.parent, parts, mimic, packages)
    waiting: list[tuple[Element, Element | None, str, str, Array, Array]] = [(links[root], None, "ground", "", np.zeros(3), np.eye(3))]
    while waiting:
        link, joint, parent, size_above, at, turn = waiting.pop()
        own = name_of(link.get("name"), writer.taken)
        hung = below.get(link.get("name"), [])
        size = writer.robot_link(link, joint, base, parent, size_above, at, turn, own, bool(hung))
        for joint in reversed(hung):
            place, attitude = origin(joint)
            waiting.append((links[joint.need("child").get("link")], joint, own, size, turn @ place, turn @ attitude))
    writer.notes += [f"{quoted(name)}: its rotor is left out; no revolute, continuous or prismatic joint has this name" for name in writer.rotors if name not in writer.coordinates]
    return writer.text(robot.get("name") or path.stem, path), writer.notes
