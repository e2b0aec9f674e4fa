"""Draws a motion as a film: .gif, .mp4 (if ffmpeg is installed), or .svg that plays in a browser."""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import plot, summary
from .archive import ArchiveError, Array, read_csv
from .archive import open as open_study
from .motion import Motion
from .report import replaced, written

BACKGROUND = 1e9  # depth of the background, m: behind everything that moves
MOST_FRAMES = 10_000  # eight minutes of film at the default rate
TALLEST = 0.75  # height over width of an SVG film; a taller scene gets margins at its sides
VIEWS = {"side": (0, 0), "front": (90, 0), "top": (0, 90), "orbit": (-35, 20)}  # angles of the camera, degrees


def camera(dimension: int, view: str) -> Array:
    """Returns the directions of a view in the world: rows right, up, away."""
    if dimension == 2:
        return np.array([[1, 0], [0, 1], [0, 0]], dtype=float)
    yaw, pitch = np.radians(VIEWS[view])
    c, s, C, S = np.cos(yaw), np.sin(yaw), np.cos(pitch), np.sin(pitch)
    return np.array([[c, s, 0], [-s * S, c * S, C], [-s * C, c * C, -S]])


def frames(one: Motion, rate: float, speed: float, repeat: int = 1) -> list[tuple[int, float]]:
    """Returns (step, time) of every frame, at equal intervals; `repeat` steps of a gait. Throws ArchiveError if they are too many."""
    length = one.t[-1] - one.t[0]
    wanted = length / speed * rate
    if not repeat * wanted <= MOST_FRAMES:
        raise ArchiveError(f"command line: the film would have {repeat * wanted:.3g} frames; allowed are {MOST_FRAMES}: change --speed, --rate or --steps")
    count = max(2, round(wanted))
    return [(step, one.t[0] + length * k / count) for step in range(repeat) for k in range(count)]


def between(rows: npt.NDArray[Any], t: npt.NDArray[Any], time: float) -> Array:
    """Returns `rows` [node or interval, ...] at a time, by linear interpolation between the nodes t [node]."""
    k = int(np.clip(np.searchsorted(t, time, side="right") - 1, 0, len(t) - 2))
    w = (time - t[k]) / (t[k + 1] - t[k]) if t[k + 1] > t[k] else 0.0
    last = len(rows) - 1
    row: Array = (1 - w) * rows[min(k, last)] + w * rows[min(k + 1, last)]
    return row


Drawn = tuple[float, Array, str]  # depth, points [n, 2], colour


class Drawing:
    """The contents of a frame in metres: lines [(points [n, 2], colour)], polygons [(corners [n, 2], colour)] and arrows."""

    def __init__(self, one: Motion, view: str) -> None:
        self.one, self.view = one, camera(one.dimension, view)
        self.strength = max([1e-12, *(np.nanmax(np.linalg.norm(f, axis=1)) for _, f in one.forces)])
        self.still: set[int] = set()  # indices of bodies that never move; they are grey
        boxes = [p.reshape(-1, one.dimension) for p in (one.points,) if p is not None]
        if one.positions is not None:
            moves = np.ptp(one.positions, axis=0).max(axis=1) > 1e-9
            self.still = {b for b in range(len(moves)) if moves.any() and not moves[b]}
            reach = [max([0.0, *(np.linalg.norm(s.corners, axis=1).max() for s in one.shapes if s.body == b)]) for b in range(len(moves))]
            sizes = [reach[b] for b in range(len(moves)) if moves[b] and reach[b] > 0] or [min((r for r in reach if r > 0), default=np.inf)]
            for b in range(len(moves)):
                if moves[b] or reach[b] <= 4 * max(sizes):  # a large floor is drawn, but does not set the scale
                    boxes += [one.positions[:, b] - reach[b], one.positions[:, b] + reach[b]]
        seen = np.concatenate(boxes)
        self.size = float(np.ptp(seen, axis=0).max()) or 1.0
        flat = seen @ self.view[:2].T
        margin = 0.08 * (np.ptp(flat, axis=0).max() or 1.0)
        self.low, self.high = flat.min(axis=0) - margin, flat.max(axis=0) + margin

    def window(self, steps: int) -> tuple[Array, Array]:
        low, high = self.low.copy(), self.high.copy()
        if self.one.stride and steps > 1:
            travelled = (steps - 1) * self.view[:2] @ (self.one.stride.shift * ([1, 0, 1] if self.one.stride.mirrored else 1))
            low, high = np.minimum(low, low + travelled), np.maximum(high, high + travelled)
        return low, high

    def at(self, step: int, time: float) -> tuple[list[Drawn], list[Drawn], list[tuple[Array, Array]]]:
        one = self.one
        lines: list[Drawn] = []
        polygons: list[Drawn] = []
        arrows: list[tuple[Array, Array]] = []
        if one.positions is not None:
            placed = self._corners(time)
            for shape, corners in zip(one.shapes, placed):
                for ring in shape.faces:
                    world = corners[ring]
                    flat = world @ self.view[:2].T
                    if one.dimension == 3 and np.cross(np.roll(flat, -1, 0) - flat, np.roll(flat, -2, 0) - np.roll(flat, -1, 0)).sum() <= 0:
                        continue  # the face is turned away from the camera
                    colour = "0.75" if shape.body in self.still else f"C{shape.body % 10}"
                    # Bodies that never move are drawn first, because the mean depth of a large floor does not order it
                    # correctly.
                    behind = BACKGROUND if shape.body in self.still else 0.0
                    polygons.append((behind + float((world @ self.view[2]).mean()), flat, colour))
            if not one.shapes:
                for b, at in enumerate(between(one.positions, one.t, time)):
                    lines.append((0.0, np.array([at, at]) @ self.view[:2].T, f"C{b % 10}"))
        if one.points is not None:
            points, order = plot.stepped(one, between(one.points, one.t, time), step)
            flat, depth = points @ self.view[:2].T, points @ self.view[2]
            for a, b in one.segments:
                colour = plot.colour_of_segment(one, order[a], order[b]) if one.stride else "tab:blue"
                lines.append((float(depth[a] + depth[b]) / 2, flat[[a, b]], colour))
            for a in set(range(len(flat))) - {end for segment in one.segments for end in segment}:  # a point without a line is drawn as a dot
                lines.append((float(depth[a]), flat[[a, a]], "tab:blue"))
            for point, force in one.forces:
                value = between(force, one.t, time)
                if one.stride and one.stride.mirrored and step % 2:
                    value = value * np.array([1, -1, 1])
                if np.isfinite(value).all():
                    tip = points[point] + value / self.strength * 0.35 * self.size
                    arrows.append((flat[point], tip @ self.view[:2].T))
        return sorted(lines, key=lambda x: -x[0]), sorted(polygons, key=lambda x: -x[0]), arrows

    def _corners(self, time: float) -> list[Array]:
        one = self.one
        assert one.positions is not None and one.attitudes is not None
        positions, attitudes = between(one.positions, one.t, time), between(one.attitudes, one.t, time)
        moment = type(one)(one.t[:1], one.dimension, positions=positions[None], attitudes=attitudes[None], shapes=one.shapes)
        return moment.corners(0)


def film(one: Motion, given: argparse.Namespace, title: str, output: str) -> int:
    """Writes a .gif or .mp4 and returns its number of frames."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib import animation

    steps = given.steps if one.stride else 1
    drawing = Drawing(one, given.view)
    low, high = drawing.window(steps)
    width = 7.0
    figure = plt.figure(figsize=(width, min(8.0, max(2.5, width * (high[1] - low[1]) / (high[0] - low[0]) + 0.6))))
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.88))
    shown = frames(one, given.rate, given.speed, steps)

    def draw(frame: tuple[int, float]) -> list[Any]:
        step, time = frame
        axes.clear()
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[])
        axes.set_aspect("equal", adjustable="box", anchor="C")
        lines, polygons, arrows = drawing.at(step, time)
        if one.points is not None and one.forces and given.view != "top":
            axes.axhline(0, color="0.5", lw=1)
        for _, flat, colour in polygons:
            axes.fill(*flat.T, fc=colour, ec="0.15", lw=0.7, alpha=0.85)
        for _, flat, colour in lines:
            axes.plot(*flat.T, "-o", color=colour, lw=4, ms=4, mfc="0.1", mec="0.1", solid_capstyle="round")
        for foot, tip in arrows:
            axes.annotate("", tip, foot, arrowprops={"arrowstyle": "-|>", "color": "tab:red", "lw": 1.6})
        axes.set_title(f"{title}    t = {time - one.t[0] + step * (one.t[-1] - one.t[0]):.2f} s", fontsize=9)
        return []

    moving = animation.FuncAnimation(figure, draw, frames=shown, blit=False, init_func=lambda: [])
    if output.lower().endswith(".gif"):
        writer = animation.PillowWriter(fps=given.rate)
    else:
        writer = animation.FFMpegWriter(fps=given.rate, bitrate=1800)
    moving.save(output, writer=writer, dpi=100)
    plt.close(figure)
    return len(shown)


def drawn_svg(one: Motion, given: argparse.Namespace, title: str) -> tuple[str, int]:
    """Returns an SVG and its number of frames. CSS shows its groups one after the other (no script, no library). It has a
    light and a dark scheme, and does not move for readers who prefer reduced motion."""
    import html

    from matplotlib.colors import to_hex

    steps = given.steps if one.stride else 1
    drawing = Drawing(one, given.view)
    low, high = drawing.window(steps)
    side = ((high[1] - low[1]) / TALLEST - (high[0] - low[0])) / 2
    if side > 0:
        low[0], high[0] = low[0] - side, high[0] + side
    scale = 700 / (high[0] - low[0])
    height = scale * (high[1] - low[1])
    shown = frames(one, given.rate, given.speed, steps)
    seconds = len(shown) / given.rate

    def place(points: Sequence[Array] | Array) -> str:
        return " ".join(f"{scale * (x - low[0]):.1f},{scale * (high[1] - y):.1f}" for x, y in points)

    groups = []
    for k, (step, time) in enumerate(shown):
        lines, polygons, arrows = drawing.at(step, time)
        inside = "".join(f'<polygon points="{place(flat)}" fill="{to_hex(colour)}" fill-opacity=".85"/>' for _, flat, colour in polygons)
        inside += "".join(f'<polyline points="{place(flat)}" stroke="{to_hex(colour)}" stroke-width="6" stroke-linecap="round"/>' for _, flat, colour in lines)
        inside += "".join(f'<polyline points="{place(pair)}" stroke="#c8324a" stroke-width="2"/>' for pair in arrows)
        groups.append(f'<g style="animation-delay:{k / given.rate - seconds:.6f}s">{inside}</g>')
    share = 100 / len(shown)
    style = (
        f"g{{visibility:hidden;animation:turn {seconds:.6f}s step-end infinite}}g,path{{fill:none;stroke:#26323e}}rect{{fill:#fff}}"
        f"@keyframes turn{{0%{{visibility:visible}}{share:.6f}%{{visibility:hidden}}}}"
        "@media(prefers-color-scheme:dark){g,path{stroke:#c9d4de}rect{fill:#0d1117}}"
        "@media(prefers-reduced-motion:reduce){g{animation:none}g:first-of-type{visibility:visible}}"
    )
    level = f"{scale * high[1]:.1f}"
    ground = f'<path d="M0,{level}H700"/>' if one.points is not None and one.forces and given.view != "top" else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 {height:.0f}"><title>{html.escape(title)}</title>'
        f'<style>{style}</style><rect width="700" height="{height:.0f}"/>{ground}{"".join(groups)}</svg>\n'
    ), len(shown)


def main(command_line: Sequence[str], parser_type: type[argparse.ArgumentParser], refused: type[Exception]) -> None:
    parser = parser_type(prog="dodyn animate", description="One motion as a film.")
    parser.add_argument("archive", metavar="ARCHIVE", help="or a CSV file of dodyn solve or simulate")
    parser.add_argument("--evaluation", metavar="ID", help="default: the best")
    parser.add_argument("--scenario", metavar="NAME", help="default: the study's first")
    parser.add_argument("--initial-state", type=int, metavar="NUMBER", help="of a design with several: the run from this one, the first being 1")
    parser.add_argument("--view", choices=list(VIEWS), default="side", help="in space (default side)")
    parser.add_argument("--speed", type=float, default=None, metavar="FACTOR", help="1: as it is (default: it takes 2 to 12 s)")
    parser.add_argument("--rate", type=float, default=20.0, metavar="FRAMES", help="per second (default 20)")
    parser.add_argument("--steps", type=int, default=4, metavar="NUMBER", help="of a gait (default 4)")
    parser.add_argument("-o", "--output", metavar="FILE", help=".gif, .mp4 (needs ffmpeg) or .svg; default: the archive's name, .gif")
    given = parser.parse_args(command_line)
    for name in ("speed", "rate", "steps"):
        value = getattr(given, name)
        if value is not None and not 0 < value < math.inf:
            raise refused(f"command line: --{name} {value}: expected a positive number")
    output = given.output or f"{Path(given.archive).stem or 'motion'}.gif"
    kind = Path(output).suffix.lower()
    if kind not in (".gif", ".mp4", ".svg"):
        raise refused(f"{output}: allowed are .gif, .mp4 and .svg")
    if kind == ".mp4" and not shutil.which("ffmpeg"):
        raise refused(f"{output}: ffmpeg is not installed; .gif and .svg need nothing")
    if given.archive.endswith(".csv"):
        title, trajectory = Path(given.archive).stem, read_csv(given.archive)
    else:
        study = open_study(given.archive)
        found = plot.chosen(study, given.evaluation, refused)
        if not found:
            raise refused(f"{given.archive}: no evaluation is ok; say which to draw: --evaluation ID")
        if len(found) > 1:
            raise refused("command line: --evaluation: a film shows one")
        title, trajectory = summary.design(study, found[0], 4), found[0].trajectory
    if given.scenario or trajectory.scenarios:
        name, trajectory = plot.in_scenarios(trajectory, given.scenario)[0]
        title = f"{name}, {title}"
    one = plot.moving(trajectory, given)
    if one.points is None and one.positions is None:
        raise ArchiveError(f"{given.archive}: holds neither points nor bodies to draw")
    if given.speed is None:
        length = one.t[-1] - one.t[0]
        given.speed = 0.5 if one.stride and length < 2 else length / 8 if length > 12 else min(1.0, length / 2)
    if kind == ".svg":
        text, count = drawn_svg(one, given, title)
        written(output, text)
    else:
        with replaced(output) as temporary:
            count = film(one, given, title, str(temporary))
    print(f"{output}: {count} frames")
