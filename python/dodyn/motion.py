"""What a trajectory shows, read from the archive's channels alone:

    points                coordinates NAME_x, NAME_y[, NAME_z]; attribute `segments` says which are joined by a line
    poses, or q           poses: "BODY x", "BODY y", "BODY angle", or "BODY x", "y", "z", "q0", "qx", "qy", "qz"
    shapes                corners of the bodies' convex parts [corner, body part x y[ z]], body coordinates
    contact_force         "tangential, normal" or "forward, left, normal" on the first point, or NAME_x, ... on point NAME
    runs                  many short motions of one evaluation, one after the other, as many frames each: t and poses

Lengths in m, times in s, angles in rad, whatever units the reader chose: a Scale says in which ones they are written. Series over time are in
the reader's units. In space z is up, in the plane y.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .archive import Array, Channel, Trajectory

AXES = {2: ("x", "y"), 3: ("x", "y", "z")}
QUATERNION = ("q0", "qx", "qy", "qz")


@dataclass(frozen=True)
class Scale:
    """The unit in which lengths or times of a motion are written, and its factor."""

    unit: str
    factor: float = 1.0

    def label(self, name: str) -> str:
        """Returns the name with the unit: "x [m]"."""
        return f"{name} [{self.unit}]" if self.unit not in ("", "1") else name


METRE, SECOND = Scale("m"), Scale("s")


def scale(channel: Channel, usual: Scale, column: int = 0) -> Scale:
    """Returns how numbers in a column of a channel are written: as `usual`, if the reader chose no unit."""
    return Scale(channel.units[column], channel.factors[column]) if channel.factors else usual


@dataclass
class Shape:
    """A convex part: corners in body coordinates, faces as rings of corners (one ring in the plane)."""

    body: int
    corners: Array  # [corner, axis], m
    faces: list[list[int]]


@dataclass
class Series:
    """A channel over time; `stairs`: values are constant over intervals, not given at nodes."""

    name: str
    unit: str
    names: list[str]
    values: Array  # [node or interval, coordinate]
    description: str = ""

    def stairs(self, nodes: int) -> bool:
        return len(self.values) == nodes - 1


@dataclass
class Stride:
    """The relation of consecutive steps: point i at the start of the next step is point `order[i]` at the end of this
    step. Each step is the previous one moved by `shift`, and reflected in y if `mirrored`."""

    order: list[int]
    shift: Array  # [axis], m
    mirrored: bool


@dataclass
class Motion:
    """A motion to draw. `points` and `positions` are None if it has none."""

    t: Array  # [node], s
    dimension: int  # 2 or 3
    point_names: list[str] = field(default_factory=list)
    points: Array | None = None  # [node, point, axis], m
    segments: list[tuple[int, int]] = field(default_factory=list)  # pairs of points
    forces: list[tuple[int, Array]] = field(default_factory=list)  # (point, [node, axis]), N
    body_names: list[str] = field(default_factory=list)
    positions: Array | None = None  # [node, body, axis], m
    attitudes: Array | None = None  # [node, body] angles, rad; in space [node, body, 4] unit quaternions
    shapes: list[Shape] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    stride: Stride | None = None
    length: Scale = METRE
    time: Scale = SECOND

    def corners(self, node: int) -> list[Array]:
        """Returns the corners of every shape at a node in world coordinates: [corner, axis], m."""
        return [self._placed(shape, node) for shape in self.shapes]

    def _placed(self, shape: Shape, node: int) -> Array:
        assert self.positions is not None and self.attitudes is not None
        at = self.positions[node, shape.body]
        if self.dimension == 2:
            c, s = np.cos(self.attitudes[node, shape.body]), np.sin(self.attitudes[node, shape.body])
            turn = np.array([[c, -s], [s, c]])
        else:
            turn = rotation(self.attitudes[node, shape.body])
        placed: Array = at + shape.corners @ turn.T
        return placed


def rotation(quaternion: Array) -> Array:
    """Returns the rotation matrix [3, 3] of a quaternion [4], the real part first."""
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def faces(corners: npt.ArrayLike) -> list[list[int]]:
    """The faces of the convex hull of few points, each a ring of corners seen counter-clockwise from outside; in the
    plane its one outline."""
    corners = np.asarray(corners, dtype=np.float64)
    count, dimension = corners.shape
    middle = corners.mean(axis=0)
    if dimension == 2:
        around = corners - middle
        return [[int(i) for i in np.argsort(np.arctan2(around[:, 1], around[:, 0]), kind="stable")]]
    size = np.abs(corners - middle).max()
    found: dict[tuple[int, ...], list[int]] = {}
    for i, j, k in itertools.combinations(range(count), 3):
        normal = np.cross(corners[j] - corners[i], corners[k] - corners[i])
        length = np.linalg.norm(normal)
        if length < 1e-9 * size**2:
            continue
        normal = normal / length
        height = (corners - corners[i]) @ normal
        if height.max() > 1e-7 * size:
            normal, height = -normal, -height
        if height.max() > 1e-7 * size:
            continue
        on = np.flatnonzero(height > -1e-7 * size)
        if tuple(on) in found:
            continue
        first = corners[on[0]] - corners[on].mean(axis=0)
        first = first / np.linalg.norm(first)
        second = np.cross(normal, first)
        around = corners[on] - corners[on].mean(axis=0)
        found[tuple(on)] = [int(on[a]) for a in np.argsort(np.arctan2(around @ second, around @ first), kind="stable")]
    return [found[key] for key in sorted(found)]


def named_points(channel: Channel) -> tuple[list[str], Array]:
    """Returns the points of a channel NAME_x, NAME_y[, NAME_z]: their names and [node, point, axis]."""
    dimension = 3 if any(name.endswith("_z") for name in channel.names) else 2
    names = [name[:-2] for name in channel.names if name.endswith("_x")]
    columns = [[channel.names.index(f"{name}_{axis}") for axis in AXES[dimension]] for name in names]
    return names, channel.archived[:, columns]


def joined(names: list[str], pairs: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Returns the pairs of points to join. If the file does not specify them (CSV, older archives), the points of the legs
    form one chain from foot to foot. Other segments join its middle, the hip. Nodes of meshes (BODY.NUMBER) are not
    joined."""
    if pairs:
        number = {name: i for i, name in enumerate(names)}
        return [(number[a], number[b]) for a, b in pairs if a in number and b in number]
    if any("." in name for name in names):
        return []
    legs = [i for i, name in enumerate(names) if not re.search(r"(hip|trunk|torso)_end$", name)]
    found = list(zip(legs, legs[1:]))
    if legs:
        found += [(legs[len(legs) // 2], i) for i in range(len(names)) if i not in legs and not names[i].endswith("hip_end")]
    return found


def poses(channel: Channel) -> tuple[list[str], Array, Array] | None:
    """Returns the bodies of a channel of poses: names, positions [node, body, axis], attitudes; None if it has no poses."""
    parts = [name.rsplit(" ", 1) for name in channel.names]
    if not parts or any(len(part) != 2 for part in parts):
        return None
    names = list(dict.fromkeys(part[0] for part in parts))
    column = {name: i for i, name in enumerate(channel.names)}
    space = f"{names[0]} q0" in column
    wanted = (*AXES[3], *QUATERNION) if space else (*AXES[2], "angle")
    if any(f"{name} {axis}" not in column for name in names for axis in wanted):
        return None
    values = channel.archived[:, [[column[f"{name} {axis}"] for axis in wanted] for name in names]]
    return (names, values[:, :, :3], values[:, :, 3:]) if space else (names, values[:, :, :2], values[:, :, 2])


def shapes(channel: Channel, dimension: int) -> list[Shape]:
    """Returns the convex parts of a channel [corner, body part x y[ z]]."""
    found = []
    rows = channel.archived[~np.isnan(channel.values).any(axis=1)]
    keys = rows[:, :2].astype(int)
    for body, part in sorted({(int(row[0]), int(row[1])) for row in keys}):
        corners = rows[(keys == (body, part)).all(axis=1), 2 : 2 + dimension]
        found.append(Shape(body, corners, faces(corners)))
    return found


def one_to_one(distance: Array) -> npt.NDArray[np.int_]:
    """Assigns to every row its nearest column that no earlier row has (points may coincide, such as a hip and the end of a thigh)."""
    order: list[int] = []
    for row in distance.copy():
        row[order] = np.inf
        order.append(int(row.argmin()))
    return np.array(order)


def rests_at_ends(points: Array, t: Array) -> bool:
    """Returns whether all points are at rest at the first and at the last node. Speeds are exact to second order in the time step."""
    if len(t) < 4 or not (np.diff(t) > 0).all():
        return False
    speed = np.linalg.norm(np.gradient(points, t, axis=0, edge_order=2), axis=2)
    return bool(max(speed[0].max(), speed[-1].max()) < 0.1 * speed.max())


def stride(points: Array, t: Array) -> Stride | None:
    """Returns the relation of the last posture to the first one, if it is the first one moved, with the same or exchanged names; otherwise
    None. A machine that moves from rest to rest ends in the same posture, too: it does not stride."""
    first, last = points[0], points[-1]
    size = np.ptp(first.reshape(-1, first.shape[-1]), axis=0).max()
    for mirrored in (False, True) if first.shape[1] == 3 else (False,):
        start = first * np.array([1, -1, 1]) if mirrored else first
        for j in range(len(last)):
            shift = last[j] - start[0]
            distance = np.linalg.norm(last[None] - (start + shift)[:, None], axis=2)
            order = one_to_one(distance)
            if distance[np.arange(len(order)), order].max() < 1e-3 * size:
                is_exchange = (order != np.arange(len(order))).any()
                if np.linalg.norm(shift) > 1e-2 * size and (is_exchange or not rests_at_ends(points, t)):
                    return Stride(order.tolist(), shift, mirrored)
    return None


def forces(channel: Channel, names: list[str], dimension: int) -> list[tuple[int, Array]]:
    """Returns (point, [node, axis]) for every force of the channel."""
    if all(name.rsplit("_", 1)[0] in names and name[-2:] in ("_x", "_y", "_z") for name in channel.names):
        at, values = named_points(channel)
        return [(names.index(name), values[:, i]) for i, name in enumerate(at)]
    if len(channel.names) == dimension:  # along the ground and up, on the stance foot
        return [(0, channel.archived)]
    return []


def motion(trajectory: Trajectory) -> Motion | None:
    """Returns the motion in a trajectory, without the empty rows at its end; None if it contains nothing to draw or no
    time. With several scenarios: the motion of the first one."""
    if trajectory.scenarios:
        trajectory = trajectory.scenario(trajectory.scenarios[0])
    if "t" not in trajectory:
        return None
    t = trajectory["t"].archived[:, 0]
    nodes = int(np.flatnonzero(~np.isnan(t))[-1]) + 1 if (~np.isnan(t)).any() else 0
    if nodes < 2:
        return None
    found = Motion(t[:nodes], 2, time=scale(trajectory["t"], SECOND))
    if "points" in trajectory:
        channel = trajectory["points"]
        found.length = scale(channel, METRE)
        found.point_names, values = named_points(channel)
        found.points = values[:nodes]
        found.dimension = values.shape[2]
        found.segments = joined(found.point_names, channel.segments)
        if found.point_names[:1] == ["root"] and not channel.segments:  # a file of another program: points at a constant distance form a link
            lengths = {pair: np.linalg.norm(found.points[:, pair[0]] - found.points[:, pair[1]], axis=1) for pair in found.segments}
            found.segments = [pair for pair, length in lengths.items() if np.nanmin(length) > 0 and np.ptp(length) < 1e-6 * np.nanmax(length)]
        if "contact_force" in trajectory:
            found.forces = [
                (point, value[:nodes])
                for point, value in forces(trajectory["contact_force"], found.point_names, found.dimension)
            ]
        if not np.isnan(found.points).any():
            found.stride = stride(found.points, found.t)
    where = "poses" if "poses" in trajectory else "q"
    bodies = poses(trajectory[where]) if where in trajectory else None
    if bodies:
        found.body_names, positions, attitudes = bodies
        found.positions, found.attitudes = positions[:nodes], attitudes[:nodes]
        found.dimension = positions.shape[2]
        found.length = scale(trajectory[where], METRE)
        if "shapes" in trajectory:
            found.shapes = shapes(trajectory["shapes"], found.dimension)
        if found.shapes and "points" in trajectory and not trajectory["points"].segments and not found.forces:
            found.point_names, found.points, found.segments = [], None, []  # bodies are drawn by their shapes; free bodies are not joined by lines
    drawn = {"t", "points", "shapes", "runs", "gain"} | ({where} if bodies else set())
    for channel in trajectory:
        full = len(channel.values)
        if channel.name in drawn or full not in (len(t), len(t) - 1) or full < 2:
            continue
        values = channel.values[: nodes if full == len(t) else nodes - 1]
        unit, names = channel.units[0] if channel.units else "", channel.names
        if len(set(channel.units)) > 1:  # different units, such as forces and torques: one graph for each
            unit, names = "", [f"{one} [{its}]" if its not in ("", "1") else one for one, its in zip(names, channel.units)]
        found.series.append(Series(channel.name, unit, names, values, channel.description))
    first = ["u", "contact_force", "energy", "q"]  # the channels of most interest come first
    found.series.sort(key=lambda s: first.index(s.name) if s.name in first else len(first))
    return found


def outcomes(trajectory: Trajectory) -> list[str]:
    """Returns the names of the outcomes from the description of the channel `outcome`: "outcome: 0 docked, 1 missed,
    ...; time of the end (s); ...". Empty if there is only one run."""
    if "outcome" not in trajectory or "initial_state" not in trajectory or len(trajectory["outcome"].values) < 2:
        return []
    listed = trajectory["outcome"].description.split(": ", 1)[-1].split(";")[0]
    return [name for _, name in re.findall(r"(\d+) ([^,]+)", listed)]


def places(trajectory: Trajectory) -> tuple[Array, tuple[str, str]]:
    """Returns where to draw each initial state, [initial state, 2] in the reader's units, and the labels of both axes.
    If the archive holds the runs: the centre of the last body, in space from above. If the initial states begin with
    bearing and distance: that place. Otherwise: the first two variables of the initial states."""
    played, start = runs(trajectory), trajectory["initial_state"]
    if played:
        length = played[0].length
        centres = np.array([one.positions[0, -1, :2] for one in played if one.positions is not None])
        return length.factor * centres, (length.label("x"), length.label("y"))
    if start.names[:2] == ["bearing", "distance"]:
        # archives of the former evaluator `docking` have degrees and say so
        bearing, length = start.archived[:, 0] * (np.pi / 180 if "deg" in start.description else 1.0), scale(start, METRE, 1)
        around: Array = start.values[:, 1:2] * np.stack([np.cos(bearing), np.sin(bearing)], axis=1)
        return around, (length.label("x"), length.label("y"))
    names = [*(Scale(unit).label(name) for name, unit in zip(start.names, start.units)), ""]
    values = start.values[:, :2]
    return np.hstack([values, np.zeros((len(values), 2 - values.shape[1]))]), (names[0], names[1])


def runs(trajectory: Trajectory) -> list[Motion]:
    """Returns the short motions of one evaluation, one Motion each; empty if there are none."""
    if "runs" not in trajectory or "initial_state" not in trajectory:
        return []
    channel, count = trajectory["runs"], len(trajectory["initial_state"].values)
    frames, values = len(channel.values) // count, channel.archived
    found = []
    for k in range(count):
        block = values[k * frames : (k + 1) * frames]
        block = block[~np.isnan(block[:, 0])]
        one = Motion(block[:, 0], 2, length=scale(channel, METRE, 1), time=scale(channel, SECOND))
        moving = Channel(channel.name, block[:, 1:], channel.names[1:], channel.units[1:], channel.description)
        bodies = poses(moving)
        if bodies is None:
            return []
        one.body_names, one.positions, one.attitudes = bodies
        one.dimension = one.positions.shape[2]
        if "shapes" in trajectory:
            one.shapes = shapes(trajectory["shapes"], one.dimension)
        found.append(one)
    return found
