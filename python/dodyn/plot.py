"""Pictures of a study, as PNG, SVG or PDF: panels side by side.

    history    cost of every evaluation and the best so far
    cost       cost over the one free variable with the surrogate's progress; over several, one panel each
    parallel   every design as a line across its variables
    pairs      two variables at a time, coloured by cost
    pareto     the trade-off between the study's objectives
    strobe     the motion as a series of postures (in space from the side, the front and above)
    series     torques, forces, energies over time
    map        where simulations start, and how they end
    outcomes   failure rate over the design by how tries fail
"""

from __future__ import annotations

import argparse
import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import motion as motions
from . import summary
from .archive import Archive, ArchiveError, Array, Evaluation, Quantity, Trajectory, read_csv
from .report import coloured, label, results, written
from .svg import STATUS_COLOURS, limits
from .units import add_option, opened


Given = argparse.Namespace  # the options of the command


VIOLATES = "violates a constraint"  # a hollow mark, or a dashed line


def violates(study: Archive, evaluation: Evaluation) -> bool:
    return evaluation.ok and not study.keeps_constraints(evaluation)


def label_axis(axis: Any, variable: Quantity) -> None:
    """Writes the variable's name and unit at an axis; the ticks of a list of names are the names."""
    axis.set_label_text(variable.label)
    if variable.choices:
        axis.set_ticks(range(len(variable.choices)), variable.choices)


def history(axes: Any, study: Archive, given: Given) -> None:
    best = math.inf
    line: list[float] = []
    for e in study:
        if e.ok and study.keeps_constraints(e):
            best = min(best, e.cost)
        line.append(best)
    axes.step(range(len(line)), line, where="post", color="tab:red", label="lowest up to there")
    for status, colour in STATUS_COLOURS.items():
        for kept in (True, False):
            rows = [(k, e.cost) for k, e in enumerate(study) if e.status == status and math.isfinite(e.cost) and kept == (not violates(study, e))]
            if rows:
                axes.plot(*zip(*rows), "o", ms=4, color=colour, mfc=colour if kept else "none", label=status if kept else VIOLATES)
        lost = [k for k, e in enumerate(study) if e.status == status and not math.isfinite(e.cost)]
        axes.plot(lost, [0.03] * len(lost), "x", color=colour, transform=axes.get_xaxis_transform())
    axes.set(xlabel="evaluation", ylabel=study.cost_meaning, ylim=limits([e.cost for e in study]))
    axes.legend(fontsize=8)


def cost(axes: Any, study: Archive, given: Given) -> None:
    """Draws the cost over the one variable: samples, the surrogate of each iteration, and the slopes of a sweep."""
    from matplotlib import cm

    if len(study.variables) != 1:
        raise ArchiveError(f"{study.path}: cost is for one free variable; here are {len(study.variables)}: pairs, parallel")
    v, best = study.variables[0], study.best
    ok = [e for e in study if e.ok]
    if given.background:
        behind = opened(given.background, given.units)
        if [own.name for own in behind.variables] != [v.name]:
            raise ArchiveError(f"{given.background}: --background needs a sweep of {v.name} alone; it has {', '.join(own.name for own in behind.variables) or 'no free variable'}")
        sweep = sorted((e for e in behind if e.ok), key=lambda e: e.design[v.name])
        x, y = np.array([e.design[v.name] for e in sweep]), np.array([e.cost for e in sweep])
        axes.plot(x, y, ".-", color="0.75", lw=3, ms=7, label="sweep")
        slopes = np.array([e.gradient.get(v.name, np.nan) for e in sweep])
        reach = 0.3 * np.min(np.diff(x)) if len(x) > 1 else 0.0
        axes.plot([x - reach, x + reach], [y - reach * slopes, y + reach * slopes], color="tab:red", lw=1.2)
    curves = study.curves or {}
    count = len(study.iterations) if curves else 0
    for k in range(count):
        shade = cm.viridis(0.9 * (1 - (k + 1) / count))
        label = f"surrogate {k + 1}" if k in (0, count - 1) else None
        axes.plot(curves["grid"], curves["value"][k], color=shade, lw=1, label=label)
    if count:
        axes.fill_between(curves["grid"], curves["lower"][-1], curves["upper"][-1], alpha=0.15, lw=0)
    error = [1.96 * e.cost_stderr for e in ok]
    axes.errorbar([e.design[v.name] for e in ok], [e.cost for e in ok], yerr=error if any(error) else None, fmt="ko", ms=4, lw=0.8)
    for e in ok if len(ok) <= 30 else []:
        axes.annotate(str(e.id), (e.design[v.name], e.cost), textcoords="offset points", xytext=(5, 4), fontsize=8)
    bad = [e.design[v.name] for e in study if not math.isfinite(e.cost)]
    axes.plot(bad, [0.02] * len(bad), "rx", transform=axes.get_xaxis_transform(), label="no cost" if bad else None)
    if best:
        axes.plot(best.design[v.name], best.cost, "*", color="crimson", ms=13,
                  label=f"{'recommended' if study.noisy else 'best'}: {summary.with_unit(best.design[v.name], v.unit, 4)}, {summary.number(best.cost, 4)}")  # fmt: skip
        span = max(e.cost for e in ok) - best.cost or abs(best.cost) or 1.0
        axes.set_ylim(best.cost - 0.35 * span, max(e.cost for e in ok) + 0.6 * span)
    axes.set(ylabel=study.cost_meaning)
    label_axis(axes.xaxis, v)
    axes.legend(fontsize=8, loc="upper center", ncols=2)


def parallel(axes: Any, study: Archive, given: Given) -> None:
    from matplotlib import cm

    ok = sorted((e for e in study if math.isfinite(e.cost)), key=lambda e: -e.cost)
    low, high = limits([e.cost for e in ok], margin=0)
    for k, e in enumerate(ok):
        shares = [(e.design[v.name] - v.lower) / ((v.upper - v.lower) or 1) for v in study.variables]
        shares.append(min(1, (e.cost - low) / ((high - low) or 1)))
        axes.plot(shares, "--" if violates(study, e) else "-", color=cm.viridis(1 - k / max(1, len(ok) - 1)), lw=1)
    names = [f"{v.label}\n{summary.value(v, v.lower, 3)} … {summary.value(v, v.upper, 3)}" for v in study.variables]
    axes.set_xticks(range(len(names) + 1), [*names, f"cost\n{summary.number(low, 3)} … {summary.number(high, 3)}"])
    if len(names) > 3:
        axes.tick_params(axis="x", labelrotation=60, labelsize=8)
    axes.set_yticks([])
    axes.grid(axis="x")


def pairs(axes: Any, study: Archive, given: Given, i: int = 0, j: int = 1) -> None:
    from matplotlib import cm, colors

    if len(study.variables) < 2:
        raise ArchiveError(f"{study.path}: pairs is for two free variables or more")
    a, b = study.variables[i], study.variables[j]
    ok = sorted((e for e in study if math.isfinite(e.cost)), key=lambda e: -e.cost)
    costs = [e.cost for e in ok]
    scale = cm.ScalarMappable(colors.Normalize(min(costs, default=0.0), limits(costs)[1]), "viridis")
    shades = scale.to_rgba(costs)
    fills = [(0, 0, 0, 0) if violates(study, e) else shade for e, shade in zip(ok, shades)]
    axes.scatter([e.design[a.name] for e in ok], [e.design[b.name] for e in ok], facecolors=fills or None, edgecolors=shades)
    axes.figure.colorbar(scale, ax=axes, label=study.cost_meaning)
    for e in results(study):
        axes.plot(e.design[a.name], e.design[b.name], "r*", ms=12 if len(study.objectives) == 1 else 7)
    label_axis(axes.xaxis, a)
    label_axis(axes.yaxis, b)


def trade_off(axes: Any, study: Archive, given: Given) -> None:
    names = study.objectives[:2]
    if len(names) < 2:
        raise ArchiveError(f"{study.path}: pareto is for studies with surrogate.objectives")

    def drawn(evaluations: list[Evaluation], *style: object, **more: object) -> None:
        axes.plot(*([study.objective(e, name) for e in evaluations] for name in names), *style, **more)

    drawn([e for e in study if e.ok], "o", color="0.6", ms=4)
    drawn(study.front, "o-", color="tab:red", label="no other is better in both" if len(study.objectives) == 2 else "the front")
    axes.set(xlabel=label(study, names[0]), ylabel=label(study, names[1]))
    axes.legend(fontsize=8)


def strobe(axes: Any, trajectory: Trajectory, given: Given, view: tuple[int, int] | None = None) -> None:
    """Draws postures on top of each other; two steps of a gait, each leg in its colour."""
    one = moving(trajectory, given)
    if one.points is None and one.positions is None:
        raise ArchiveError("no points or bodies to draw: --what series draws numbers over time")
    right, up = view or ((0, 1) if one.dimension == 2 else (0, 2))
    nodes = motion_nodes(one, 11)
    steps = 2 if one.stride else 1
    mesh = len(one.segments) > 60  # deformable bodies are drawn with thin lines, and pale before the end
    for step in range(steps):
        for node in nodes:
            if one.points is not None:
                points, order = stepped(one, one.points[node], step)
                if not one.segments:  # data of a CSV file, which has positions but no lines
                    axes.plot(points[:, right], points[:, up], ".", color="0.35", ms=2, alpha=0.8 if node == nodes[-1] else 0.2)
                for a, b in one.segments:
                    colour = colour_of_segment(one, order[a], order[b])
                    alpha = 0.25 if mesh and node != nodes[-1] else 0.8
                    axes.plot(points[[a, b], right], points[[a, b], up], color=colour, lw=0.7 if mesh else 1.4, alpha=alpha)
            draw_bodies(axes, one, node, (right, up), alpha=0.12 + 0.5 * (node == nodes[-1]))
    if one.points is not None and (one.dimension == 2 or up == 2):
        axes.axhline(0, color="0.4", lw=0.8)
    axes.set_aspect("equal")
    letters = "xyz"
    axes.set(xlabel=one.length.label(letters[right]), ylabel=one.length.label(letters[up]))
    write_lengths(axes, one.length)


def write_lengths(axes: Any, length: motions.Scale) -> None:
    """Writes the ticks of both axes, which are in m, in the reader's unit."""
    if length.factor != 1.0:
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{length.factor * value:.6g}")


def motion_nodes(one: motions.Motion, about: int) -> npt.NDArray[np.int_]:
    nodes: npt.NDArray[np.int_] = np.unique(np.round(np.linspace(0, len(one.t) - 1, about)).astype(int))
    return nodes


def stepped(one: motions.Motion, points: Array, step: int) -> tuple[Array, npt.NDArray[np.int_]]:
    """Returns the points of a step of a gait, and the name of each point in the first step."""
    order = np.arange(len(points))
    for _ in range(step):
        assert one.stride is not None  # otherwise there is only one step
        points = points * np.array([1, -1, 1]) if one.stride.mirrored else points
        points = points + one.stride.shift
        order = np.array(one.stride.order)[order]
    return points, order


def colour_of_segment(one: motions.Motion, a: int, b: int) -> str:
    """Returns grey for segments that the exchange of the legs does not change, such as a trunk; otherwise a colour for each leg."""
    if one.stride is None:
        return "0.35"
    swapped = one.stride.order[a], one.stride.order[b]
    return "0.35" if set(swapped) == {a, b} else "tab:blue" if a + b < sum(swapped) else "tab:orange"


def draw_bodies(axes: Any, one: motions.Motion, node: int, view: tuple[int, int], alpha: float = 0.6) -> None:
    from matplotlib.patches import Polygon

    if one.positions is None:
        return
    drawn = one.corners(node)
    for shape, corners in zip(one.shapes, drawn):
        for ring in shape.faces:
            axes.add_patch(Polygon(corners[ring][:, list(view)], fc=f"C{shape.body % 10}", ec="0.2", lw=0.6, alpha=alpha))
    if not one.shapes:
        axes.plot(*one.positions[node][:, list(view)].T, "o", alpha=alpha)
    if not axes.get_xlim()[1] > 1 or one.shapes:
        axes.autoscale_view()


def series(axes: Any, trajectory: Trajectory, given: Given) -> None:
    one = moving(trajectory, given)
    wanted = given.channel or (one.series[0].name if one.series else None)
    chosen = [s for s in one.series if s.name == wanted]
    if not chosen:
        raise ArchiveError(f"no channel '{wanted}' over time; there are {', '.join(s.name for s in one.series) or 'none'}")
    times = one.time.factor * one.t
    for name, values in zip(chosen[0].names, chosen[0].values.T):
        if chosen[0].stairs(len(one.t)):
            axes.stairs(values, times, label=name.replace("_", " "), baseline=None)
        else:
            axes.plot(times, values, label=name.replace("_", " "))
    axes.set(xlabel=one.time.label("t"), ylabel=motions.Scale(chosen[0].unit).label(chosen[0].name))
    axes.legend(fontsize=7)


def start_map(axes: Any, evaluation: Evaluation, given: Given) -> None:
    trajectory = evaluation.trajectory
    names = motions.outcomes(trajectory)
    if not names:
        raise ArchiveError(f"evaluation {evaluation.id} has no initial states: map is for simulations from several")
    kinds = trajectory["outcome"].column("outcome")
    played, (at, labels) = motions.runs(trajectory), motions.places(trajectory)
    if played and played[0].dimension == 2 and len(played[0].body_names) > 1:
        for corners, shape in zip(played[0].corners(0), played[0].shapes):
            if shape.body == 0:
                axes.fill(*played[0].length.factor * corners[shape.faces[0]].T, fc="0.85", ec="0.3")
    for kind, (name, colour) in enumerate(coloured(names)):
        inside = kinds == kind
        if inside.any():
            axes.scatter(*at[inside].T, s=10, color=colour, label=f"{name} {inside.sum()}")
    axes.set_aspect("equal")
    axes.set(xlabel=labels[0], ylabel=labels[1], title=f"{summary.design(evaluation.study, evaluation, 4)}: cost {summary.number(evaluation.cost, 3)}")
    axes.title.set_fontsize(9)
    axes.legend(fontsize=7, loc="lower left")


def outcomes(axes: Any, study: Archive, given: Given) -> None:
    """Draws the fractions of the outcomes over the one variable. A design in several archives: the most runs count."""
    found: dict[float, tuple[Evaluation, list[float], float]] = {}
    names: list[str] = []
    for one in [study, *(opened(path, given.units) for path in given.overlay)]:
        own: list[str] = next((n for n in (motions.outcomes(e.trajectory) for e in one if e.ok) if n), [])
        if len(one.variables) != 1 or not own:
            raise ArchiveError(f"{one.path}: outcomes is for simulations from several initial states, one variable free")
        names = names or own
        if (one.variables[0].name, own) != (study.variables[0].name, names):
            raise ArchiveError(f"{one.path}: --overlay is for archives of the same study; its variable is {one.variables[0].name}, its outcomes are {', '.join(own)}")
        for e in one:
            counted = [e.metrics.get(re.sub(r"\W", "_", name), 0) for name in names]
            key = round(e.design[one.variables[0].name], 7)
            width = e.metrics.get("failure_rate_high", math.nan) - e.metrics.get("failure_rate_low", math.nan)
            if e.ok and (key not in found or width < found[key][2]):  # a narrower interval means more initial states
                found[key] = (e, counted, width)
    if not found:
        raise ArchiveError(f"{study.path}: no evaluation is ok")
    wanted = study.configuration.get("cost.success", "docked")
    x = np.array(sorted(found))
    rows = [found[key] for key in sorted(found)]
    shares = np.array([counts for _, counts, _ in rows], float)
    shares /= shares.sum(axis=1, keepdims=True)
    floor = np.zeros(len(x))
    for kind, (name, colour) in enumerate(coloured(names)):
        if name != wanted and shares[:, kind].any():
            axes.fill_between(x, floor, floor + shares[:, kind], color=colour, alpha=0.45, lw=0, label=name)
            floor = floor + shares[:, kind]
    rate = np.array([e.cost for e, _, _ in rows])
    low, high = (np.array([e.metrics[m] for e, _, _ in rows]) for m in ("failure_rate_low", "failure_rate_high"))
    bars = np.maximum(0, [rate - low, high - rate])  # at the rates 0 and 1 a limit can be inside the rate by rounding
    axes.errorbar(x, rate, yerr=bars, fmt="ko-", ms=3.5, lw=1, capsize=2, label="failure rate, Wilson 95 %")
    axes.set(ylabel=study.cost_meaning, ylim=(0, min(1.0, 1.35 * max(high))))
    label_axis(axes.xaxis, study.variables[0])
    axes.legend(fontsize=8, loc="upper center", ncols=3)


def moving(trajectory: Trajectory, given: Given) -> motions.Motion:
    if getattr(given, "initial_state", None) is not None:
        played = motions.runs(trajectory)
        if not played:
            raise ArchiveError("this archive does not hold the runs of its initial states")
        if not 1 <= given.initial_state <= len(played):
            raise ArchiveError(f"--initial-state {given.initial_state}: there are {len(played)}, the first one is 1")
        chosen_run: motions.Motion = played[given.initial_state - 1]
        return chosen_run
    one = motions.motion(trajectory) if trajectory else None
    if one is None:
        if "runs" in trajectory:
            raise ArchiveError("an evaluation of many runs: say which by --initial-state NUMBER")
        raise ArchiveError("no motion: this evaluation has none to draw")
    return one


OF_STUDY: dict[str, Callable[..., None]] = {"history": history, "cost": cost, "parallel": parallel, "pairs": pairs, "pareto": trade_off, "outcomes": outcomes}
OF_MOTION: dict[str, Callable[..., None]] = {"strobe": strobe, "series": series}
OF_EVALUATION = {"map": start_map}
KINDS = [*OF_STUDY, *OF_MOTION, *OF_EVALUATION]
USED_BY = {  # the kinds that an option changes
    "evaluation": ("strobe", "series", "map"), "scenario": ("strobe", "series"), "initial_state": ("strobe", "series"), "channel": ("series",),
    "background": ("cost",), "overlay": ("outcomes",),
}  # fmt: skip


def default_kinds(study: Archive) -> list[str]:
    found = ["cost" if len(study.variables) == 1 else "parallel"] if study.variables else ["history"]
    if len(study.objectives) > 1:
        found = ["pareto"]
    shown = results(study)
    trajectory = shown[0].trajectory if shown else Trajectory({})
    if "points" in trajectory or any("points" in own for _, own in trajectory.by_scenario()):
        found.append("strobe")
    elif trajectory and motions.outcomes(trajectory):
        found.append("map")
    else:
        found.append("history")
    return list(dict.fromkeys(found))


def titled(axes: Any, draw: Callable[[Any], None], title: str) -> None:
    draw(axes)
    axes.set_title(textwrap.fill(title, 60), fontsize=9)


def picture(
    study: Archive | None, trajectories: Sequence[tuple[str, Evaluation | None, Trajectory]], kinds: Sequence[str], given: Given
) -> Any:
    """Returns the figure of these panels. `study` may be None if there is only a trajectory. `trajectories` are (title,
    evaluation or None, trajectory)."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    panels: list[tuple[float, Callable[[Any], None]]] = []  # width, drawing function
    for kind in kinds:
        if kind in OF_STUDY:
            if study is None:
                raise ArchiveError(f"{kind} needs an archive")
            if kind == "pairs":
                count = min(len(study.variables), 4)
                panels += [(1.1, partial(pairs, study=study, given=given, i=i, j=j)) for j in range(1, max(2, count)) for i in range(j)]
            else:
                panels.append((1.1, partial(OF_STUDY[kind], study=study, given=given)))
            continue
        for title, evaluation, trajectory in trajectories:
            if kind == "map":
                if evaluation is None:
                    raise ArchiveError("map needs an archive")
                panels.append((0.9, partial(start_map, evaluation=evaluation, given=given)))
                continue
            views: list[tuple[int, int] | None] = [None]
            if kind == "strobe" and moving(trajectory, given).dimension == 3:
                views = [(0, 2), (1, 2), (0, 1)]
            for view in views:
                of_view = {"view": view} if kind == "strobe" else {}
                draw_motion = partial(OF_MOTION[kind], trajectory=trajectory, given=given, **of_view)
                width = (0.5 if view == (1, 2) else 1.3) if kind == "strobe" else 1.0
                panels.append((width, partial(titled, draw=draw_motion, title=title)))
    ratios = [p[0] for p in panels]
    figure, all_axes = plt.subplots(1, len(panels), figsize=(4.7 * sum(ratios), 4.2), gridspec_kw={"width_ratios": ratios}, squeeze=False, layout="constrained")
    for (_, draw), axes in zip(panels, all_axes[0]):
        draw(axes)
    if given.title:
        figure.suptitle(given.title, fontsize=10)
    return figure


# Colours of an SVG where the reader's scheme is dark: black and white change places, hues stay. Programs without CSS filters show the light ones.
DARK = "<style>@media (prefers-color-scheme: dark) {#figure_1 {filter: invert(0.93) hue-rotate(180deg)}}</style>"


def with_dark_scheme(text: str) -> str:
    """Returns this SVG of matplotlib with colours for both schemes."""
    end = text.index(">", text.index("<svg ")) + 1
    return text[:end] + "\n " + DARK + text[end:]


def main(command_line: Sequence[str], parser_type: type[argparse.ArgumentParser], refused: type[Exception]) -> None:
    parser = parser_type(prog="dodyn plot", description="Pictures of a study: panels side by side, as PNG, SVG or PDF.")
    parser.add_argument("archive", metavar="ARCHIVE", help="or a CSV file of dodyn solve or simulate (strobe, series)")
    parser.add_argument("--what", metavar="KIND[,KIND...]", help=", ".join(KINDS) + "; default: what suits the study")
    parser.add_argument("--evaluation", metavar="ID[,ID...]", help="of strobe, series and map (default: the best)")
    parser.add_argument("--scenario", metavar="NAME", help="of strobe and series (default: all)")
    parser.add_argument("--initial-state", type=int, metavar="NUMBER", help="of a design with several: the run from this one, the first being 1")
    parser.add_argument("--channel", metavar="NAME", help="of series (default: torques, else forces, energies)")
    parser.add_argument("--background", metavar="SWEEP.h5", help="of cost: a sweep of the same study, with its slopes")
    parser.add_argument("--overlay", nargs="*", default=[], metavar="ARCHIVE", help="of outcomes: further archives of the same study")
    parser.add_argument("--title", default="")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: the archive's name, .png")
    add_option(parser)
    given = parser.parse_args(command_line)
    output = given.output or f"{Path(given.archive).stem}.png"
    study: Archive | None = None
    trajectories: list[tuple[str, Evaluation | None, Trajectory]]
    if given.archive.endswith(".csv"):
        if given.units:
            raise refused("command line: --units is for archives; a CSV file has the units that dodyn solve --units gave it")
        trajectories = [(name or Path(given.archive).stem, None, own) for name, own in in_scenarios(read_csv(given.archive), given.scenario)]
        default = ["strobe", "series"]
    else:
        study = opened(given.archive, given.units)
        default = default_kinds(study)
        trajectories = [
            (", ".join(filter(None, (name, summary.design(study, e, 4)))), e, own)
            for e in chosen(study, given.evaluation, refused)
            for name, own in in_scenarios(e.trajectory, given.scenario)
        ]
    kinds = [word.strip() for word in given.what.split(",")] if given.what else default
    for kind in kinds:
        if kind not in KINDS:
            import difflib

            near = difflib.get_close_matches(kind, KINDS, 1)
            raise refused(f"command line: --what {kind}: no such picture{f', did you mean {near[0]}?' if near else ''}; allowed: {', '.join(KINDS)}")
    for option, users in USED_BY.items():
        if getattr(given, option) not in (None, []) and not set(users) & set(kinds):
            raise refused(f"command line: --{option.replace('_', '-')} is for {', '.join(users)}; this picture has {', '.join(kinds)}; --what {users[0]} chooses another")
    if not trajectories and any(k in OF_MOTION or k in OF_EVALUATION for k in kinds):
        raise refused(f"{given.archive}: no evaluation is ok; say which to draw: --evaluation ID")
    import matplotlib

    matplotlib.rcParams["svg.hashsalt"] = "dodyn"  # makes the output reproducible byte by byte
    figure = picture(study, trajectories, kinds, given)
    import matplotlib.pyplot as plt  # after picture() has chosen that it draws without a display

    kind = Path(output).suffix[1:].lower() or "png"
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    drawn = io.BytesIO()
    try:
        figure.savefig(drawn, dpi=100, format=kind, metadata=dated)
    except ValueError as error:
        raise refused(f"{output}: {error}") from None
    finally:
        plt.close(figure)
    content = drawn.getvalue()
    written(output, with_dark_scheme(content.decode("utf-8")) if kind == "svg" else content)
    print(f"{output}: {', '.join(kinds)}")


def in_scenarios(trajectory: Trajectory, name: str | None) -> list[tuple[str, Trajectory]]:
    """Returns (scenario, trajectory) to draw: of the given scenario, otherwise of all."""
    return [(name, trajectory.scenario(name))] if name else trajectory.by_scenario()


def chosen(study: Archive, ids: str | None, refused: type[Exception]) -> list[Evaluation]:
    if ids is None:
        return results(study)[:1]
    found = []
    for word in ids.split(","):
        if not re.fullmatch(r"\d+", word):
            raise refused(f"command line: --evaluation {word}: allowed are whole numbers from 0")
        try:
            found.append(study.evaluation(int(word)))
        except KeyError as error:
            raise refused(f"{study.path}: {error.args[0]}") from None
    return found
