"""One page of HTML that shows what a study found. It contains everything that it needs (rows, motions, scripts and the libraries that draw) and
asks for no other file. Made again from the same archive it is the same, byte by byte. Without the libraries it is a plain page: tables and
static pictures.

    dodyn report knee.h5 [OTHER.h5 ...] [--output knee.html] [--follow]
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import html
import json
import math
import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Callable, TypeVar

import numpy as np

from . import checks, summary
from . import motion as motions
from .archive import Archive, ArchiveError, Array, Evaluation, Quantity, Trajectory
from .program import ProgramError, find_program
from .svg import STATUS_COLOURS, Chart, limits, ramp, tag

# D3 draws the charts (scales, axes, brushes, contours), three.js the motions. Both are Debian packages that need no
# Node.js.
LIBRARIES = {
    "d3": ("node-d3", ["/usr/share/nodejs/d3/dist/d3.min.js"]),
    "three": ("libjs-three", ["/usr/share/javascript/three/three.min.js", "/usr/share/javascript/three/examples/js/renderers/Projector.js",
                              "/usr/share/javascript/three/examples/js/renderers/SVGRenderer.js"]),  # the last two are the fallback without WebGL
}  # fmt: skip
PAGE_BYTES = 1_450_000  # limit of a page per 1000 evaluations (rounded up), bytes; motions get the part that the rest leaves
FIXED_BYTES = 480_000  # of libraries, scripts, styles and the summary, bytes
NODES = (400, 120, 60, 30, 15, 10)  # a motion is thinned to one of these numbers of nodes if the page would be too large
RUN_FRAMES = 24
MODELLED = 500  # number of evaluations up to which a surrogate model is fitted in a few seconds; the same value as in src/report/predictions.cpp
SERIES_COLUMNS = 16  # channels with more columns are not drawn
COMMONEST = 3  # number of causes of failures in the summary
PLAIN_ROWS = 1000  # number of rows in a table of a plain page
OUTCOME_COLOURS = {  # colours of outcomes by their names in docking studies; other names get colours in turn
    "docked": "#2a9d5c", "missed": "#8d99ae", "jammed": "#d1495b", "wrong port": "#e9a03b", "bounced off": "#5e60ce",
    "timed out": "#3d405b", "end": "#3d405b", "unresolved": "#000000", "failed": "#000000",
}  # fmt: skip
OTHER_COLOURS = ["#2a9d5c", "#e9a03b", "#5e60ce", "#d1495b", "#1f6fb2", "#8d99ae", "#b5838d", "#6a994e"]


Json = dict[str, Any]
Item = TypeVar("Item")


def coloured(names: list[str]) -> list[tuple[str, str]]:
    """Returns [(name, colour)] of outcomes, in their order."""
    other = iter([c for c in OTHER_COLOURS if c not in {OUTCOME_COLOURS.get(n) for n in names}] * (1 + len(names)))
    return [(name, OUTCOME_COLOURS.get(name) or next(other)) for name in names]


# ---- files -------------------------------------------------------------------------------------------------------


def written(path: str, content: str | bytes) -> None:
    """Writes a file completely or not at all. Throws ArchiveError."""
    with replaced(path) as temporary:
        temporary.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


@contextlib.contextmanager
def replaced(path: str) -> Iterator[Path]:
    """Yields the name of a new file, which then replaces `path`; nothing is left of it after an error. A device such as
    /dev/null is written itself. Throws ArchiveError."""
    final = Path(os.path.realpath(path))
    special = final.exists() and not final.is_file()
    temporary = final if special else final.with_name(f"{final.stem}.tmp{final.suffix}")
    try:
        yield temporary
        if not special:
            os.replace(temporary, final)
    except OSError as error:
        raise ArchiveError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        if not special:
            temporary.unlink(missing_ok=True)


# ---- numbers to text ---------------------------------------------------------------------------------------------


def packed(values: Any) -> list[Any]:
    """[base64 of 16-bit integers, row by row; columns; offset and scale of each column]: about five digits. The
    integer -32768 is not a number."""
    values = np.asarray(values, dtype=float)
    values = values.reshape(len(values), -1)
    finite = np.isfinite(values)
    some = finite.any(axis=0)
    low = np.where(some, np.where(finite, values, np.inf).min(axis=0, initial=np.inf), 0.0)
    high = np.where(some, np.where(finite, values, -np.inf).max(axis=0, initial=-np.inf), 0.0)
    scale = (high - low) / 65534
    shares = (np.where(finite, values, low) - low) / np.where(scale > 0, scale, 1.0)
    whole = np.where(finite, np.round(shares) - 32767, -32768).astype("<i2")
    return [base64.b64encode(whole.tobytes()).decode(), values.shape[1], rounded(low, 8), rounded(scale, 8)]


def rounded(values: Any, digits: int = 6) -> Any:
    """Returns numbers for JSON: None for those that are not finite."""
    if isinstance(values, (float, int, np.floating, np.integer)):
        return float(f"{values:.{digits}g}") if math.isfinite(values) else None
    return [rounded(value, digits) for value in values]


def thin(count: int, at_most: int) -> Any:
    """Returns the indices of the nodes to keep: the first, the last, and evenly spaced ones between."""
    if count <= at_most:
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, at_most)).astype(int))


# ---- motions -----------------------------------------------------------------------------------------------------


def motion_data(one: motions.Motion, nodes: int) -> Json:
    keep = thin(len(one.t), nodes)
    data = {"t": packed(one.t[keep, None])}
    if one.points is not None:
        data["points"] = packed(one.points[keep])
        data["forces"] = [packed(values[keep]) for _, values in one.forces]
        if one.stride:
            data["stride"] = [one.stride.order, rounded(one.stride.shift), int(one.stride.mirrored)]
    if one.positions is not None and one.attitudes is not None:
        data["positions"], data["attitudes"] = packed(one.positions[keep]), packed(one.attitudes[keep])
        data["shapes"] = [rounded(shape.corners.ravel()) for shape in one.shapes]
    data["series"] = []
    for series in one.series:
        if len(series.names) <= SERIES_COLUMNS:
            stairs = series.stairs(len(one.t))
            data["series"].append(packed(series.values[keep[:-1] if stairs else keep]))
    return data


def scene_data(one: motions.Motion) -> Json:
    """Returns the data that all motions of a study share: names, segments, faces."""
    return {
        "dimension": one.dimension,
        "length": [one.length.unit, one.length.factor],  # how it is written; places are in m, times in s
        "time": [one.time.unit, one.time.factor],
        "points": one.point_names,
        "segments": [list(pair) for pair in one.segments],
        "forces": [point for point, _ in one.forces],
        "bodies": one.body_names,
        "shapes": [[shape.body, shape.faces] for shape in one.shapes],
        "series": [
            [series.name, series.unit, series.names, int(series.stairs(len(one.t))), series.description]
            for series in one.series
            if len(series.names) <= SERIES_COLUMNS
        ],
    }


def runs_data(trajectory: Trajectory, frames: int = RUN_FRAMES) -> Json:
    """Returns the runs of a design from all initial states: the outcome of each, and the archived motions."""
    channel = trajectory["outcome"]
    data: Json = {"outcome": [int(k) if math.isfinite(k) else -1 for k in channel.column("outcome")]}
    data["after"], data["afterUnit"] = rounded(channel.column("time"), 4), channel.units[channel.names.index("time")] or "s"
    played = motions.runs(trajectory)
    if played:
        data["motions"] = [
            [packed(one.t[keep, None]), packed(one.positions[keep]), packed(one.attitudes[keep])]
            for one in played
            if one.positions is not None and one.attitudes is not None
            for keep in [thin(len(one.t), frames)]
        ]
        data["shapes"] = [rounded(shape.corners.ravel()) for shape in played[0].shapes]
    return data


def run_scene(trajectory: Trajectory) -> Json | None:
    played = motions.runs(trajectory)
    return scene_data(played[0]) if played else None


def size(data: Any) -> int:
    return len(json.dumps(data, separators=(",", ":")))


def budgeted(items: Iterable[tuple[int, Item]], make: Callable[[Item, int], Json], levels: Sequence[int], budget: float) -> dict[int, Json]:
    """Returns {key: make(item, level)} within `budget` bytes. The first item always has the first, finest level. The
    others have the finest level at which all of them fit. If none fits: the last level, and later items are left
    out."""
    items = list(items)
    if not items:
        return {}
    first, rest = items[0], items[1:]
    found = {first[0]: make(first[1], levels[0])}
    if not rest:
        return found
    room = budget - size(found)
    for level in levels:
        if len(rest) * size(make(rest[0][1], level)) <= room:
            break
    for key, item in rest:
        data = make(item, level)
        room -= size(data)
        if room < 0:
            break
        found[key] = data
    return found


def results(study: Archive) -> list[Evaluation]:
    """Returns the evaluations that are the result: the recommended one, or the front of several objectives."""
    return study.front if len(study.objectives) > 1 else [study.recommended] if study.recommended else []


def played(study: Archive, with_motions: bool = True, budget: float = PAGE_BYTES - FIXED_BYTES) -> Json:
    """Returns the data of the motions: {"scene", "motions", "runs", ...}. The best evaluations come first if not all fit.
    Without motions: their common data only. `budget`: bytes of all motions."""
    order = sorted(study, key=lambda e: (not e.ok, e.cost if math.isfinite(e.cost) else math.inf, e.id))
    first = results(study)
    ids = {e.id for e in first}
    order = [*first, *(e for e in order if e.id not in ids)]
    with_motion: list[tuple[int, motions.Motion]] = []
    with_runs: list[tuple[int, Trajectory]] = []
    others: dict[str, list[tuple[int, motions.Motion]]] = {}
    scene, starts, tried = None, None, None
    labels = ("", "")
    outcomes: list[str] = []
    names: list[str] = []
    for at in range(0, len(order) if study.channel_names else 0, 64):  # limits memory: reads the motions in blocks
        block = order[at : at + 64]
        for evaluation, trajectory in zip(block, study.trajectories([e.row for e in block])):
            if motions.outcomes(trajectory):
                with_runs.append((evaluation.id, trajectory))
                if starts is None:
                    places, labels = motions.places(trajectory)
                    outcomes, starts = motions.outcomes(trajectory), rounded(places.tolist(), 5)
                tried = tried or run_scene(trajectory)
            one = motions.motion(trajectory) if trajectory else None
            if one is not None:
                with_motion.append((evaluation.id, one))
                scene = scene or scene_data(one)
            names = names or trajectory.scenarios
            for name in names[1:]:
                one = motions.motion(trajectory.scenario(name)) if trajectory else None
                if one is not None and scene_data(one) == scene:
                    others.setdefault(name, []).append((evaluation.id, one))
        if not with_motions and (scene or starts):
            break
    budget /= 1 + len(others)
    data = {"scene": scene, "starts": starts, "startLabels": list(labels), "runScene": tried, "outcomes": outcomes}
    data["success"] = study.configuration.get("cost.success", "")
    data["scenarios"] = [*names[:1], *others]
    if not with_motions:
        return {**data, "motions": {}, "others": {name: {} for name in others}, "runs": {}}
    data["motions"] = budgeted(with_motion, motion_data, NODES, budget)
    data["others"] = {name: budgeted(items, motion_data, NODES, budget) for name, items in others.items()}
    data["runs"] = budgeted(with_runs, runs_data, (RUN_FRAMES, 12, 6), budget)
    return data


# ---- what the page's script needs ----------------------------------------------------------------------------------


def rows_data(study: Archive) -> Json:
    """Returns every evaluation as one list per column. Repeated texts are indices of a list."""
    reasons: dict[str, int] = {}
    statuses: dict[str, int] = {}
    rows = {
        "id": [e.id for e in study],
        "warm_start_id": [e.warm_start_id for e in study],
        "status": [statuses.setdefault(e.status, len(statuses)) for e in study],
        "reason": [reasons.setdefault(summary.reason(study, e)[:400], len(reasons)) for e in study],
        "cost": [rounded(e.cost, 10) for e in study],
        "stderr": [rounded(e.cost_stderr, 4) for e in study] if any(e.cost_stderr > 0 for e in study) else None,
        "wall_time": [rounded(e.wall_time, 4) for e in study],
        "rank": [e.rank for e in study],
        "feasible": [int(study.feasible(e)) for e in study],
        "design": [[rounded(e.design[v.name], 10) for e in study] for v in study.variables],
        "metrics": [[rounded(e.metrics.get(m.name, math.nan), 8) for e in study] for m in study.metrics],
    }
    return {"rows": rows, "reasons": list(reasons), "statuses": list(statuses)}


def curves_data(study: Archive) -> Json | None:
    """Returns the surrogate of every iteration over the one free variable; None if there is none."""
    if study.curves is None or not study.iterations or not np.isfinite(study.curves["value"]).any():
        return None
    nexts = [float(one.next[0]) if len(one.next) else math.nan for one in study.iterations]
    data = {"grid": rounded(study.curves["grid"].tolist(), 6), "next": rounded(nexts, 8)}
    for name in ("value", "lower", "upper"):
        data[name] = rounded(study.curves[name].tolist(), 6)
    return data


def ask_program(*arguments: object) -> Json | None:
    """Returns the JSON output of a subcommand of the program; None if it refuses, or if there is no program."""
    try:
        done = subprocess.run([find_program(), *map(str, arguments)], capture_output=True, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None
    except (ValueError, OSError, ProgramError):
        return None


def units_words(study: Archive) -> list[str]:
    """Returns the options of a command that select the units of this report; empty: the archive's units."""
    return ["--units", study.units] if study.units else []


def model_of(study: Archive) -> Json | None:
    """Returns the output of `dodyn predict --slices`: the surrogate model through the recommended design; None if there is none."""
    usable = sum(1 for e in study if e.ok and math.isfinite(e.cost))
    if not 3 <= usable <= MODELLED or not summary.ranged(study):
        return None
    found = ask_program("predict", study.path, "--slices", *units_words(study))
    if found is None:
        return None
    for one in found["slices"]:
        one.update({name: rounded([math.nan if x is None else x for x in values], 6) for name, values in one.items()})
    for pair in found["pairs"]:
        pair.update(x=rounded(pair["x"]), y=rounded(pair["y"]), median=packed([[math.nan if x is None else x] for x in pair["median"]]))
    return found


def importance_of(study: Archive) -> Json | None:
    """Returns total and first-order Sobol indices of the cost, or why they are unreliable; None for a study with one variable."""
    if len(study.variables) < 2:
        return None
    usable = sum(1 for e in study if e.ok and math.isfinite(e.cost))
    if not 3 <= usable <= MODELLED:
        few = "There are too few evaluations" if usable < 3 else f"A model of {usable} evaluations takes minutes"
        return {"reason": f"{few}. dodyn sensitivity {study.path.name} computes the importance of variables."}
    found = ask_program("sensitivity", study.path, "--json")
    if found is None:
        return {"reason": "No model of these evaluations could be made."}
    doubts = []
    if found["even_samples"] < summary.CROWDED * found["even_samples_of_filling"]:
        doubts.append(f"the evaluations are close together: {found['samples']} of them cover the range as well as {found['even_samples']:.0f} evenly spread ones")
    if found["quality_over_box"] is None or found["quality_over_box"] < checks.POOR:
        quality = found["quality_over_box"]
        doubts.append(f"over the whole range the model predicts evaluations with quality {quality:.2f} of 1" if quality is not None else "the quality of the model is unknown")
    if doubts:
        return {"reason": f"Not shown, because the figures could be wrong: {'; '.join(doubts)}. Evaluate designs that fill the range first."}
    return {
        "variables": [{"name": name, "first": rounded(one["first"], 4), "total": rounded(one["total"], 4)} for name, one in found["variables"].items()],
        "note": f"Sobol' indices of {found['quantity']} by a model of {found['samples']} evaluations. Total: alone and with others.",
    }


def study_data(study: Archive, with_motions: bool = True, model: Json | None = None, importance: Json | None = None) -> Json:
    """Returns the data that the script of the page needs for a study."""
    discrete = checks.discrete_names(study)
    data: Json = {
        "name": study.path.stem,
        "running": not study.finished,
        "cost": study.cost_meaning,
        "variables": [{"name": v.name, "unit": v.unit, "lower": v.lower, "upper": v.upper, "choices": list(v.choices), "log": v.name in checks.log_names(study), "levels": v.name in discrete} for v in study.variables],
        "metrics": [{"name": m.name, "unit": m.unit, "description": m.description} for m in study.metrics],
        "objectives": study.objectives,
        "constraints": [list(each) for each in study.constraints],
        "best": study.recommended.id if study.recommended else None,
        "front": [e.id for e in study.front] if len(study.objectives) > 1 else [],
        "iterations": curves_data(study),
        "model": model,
        "importance": importance,
        **rows_data(study),
    }
    data.update(played(study, with_motions, PAGE_BYTES * math.ceil(len(study) / 1000) - FIXED_BYTES - len(folded(json.dumps(data)))))
    missing = len(study) - len(data["motions"])
    data["unplayed"] = f"{missing} evaluations have no motion here: they have none, or the page would be too large." if missing and with_motions else ""
    return data


# ---- static pictures of a plain page ----------------------------------------------------------------------------------


def dot_style(fill: str, hollow: bool = False) -> dict[str, Any]:
    return {"fill": "#fff" if hollow else fill, "stroke": fill if hollow else "#fff"}


def said(study: Archive, evaluation: Evaluation) -> str:
    return f"evaluation {evaluation.id}: {evaluation.status}, {summary.design(study, evaluation)}, cost {summary.number(evaluation.cost, 6)}"


def violates(study: Archive, evaluation: Evaluation) -> bool:
    """Whether an evaluation has a cost but violates a constraint; it is drawn hollow."""
    return evaluation.ok and not study.keeps_constraints(evaluation)


def history_chart(study: Archive) -> str:
    costs = [e.cost for e in study]
    chart = Chart((-0.5, max(len(study) - 0.5, 1)), limits(costs), labels=("evaluation", "cost"), whole=True)
    best, xs, ys = math.inf, [], []
    for k, evaluation in enumerate(study):
        if evaluation.ok and study.keeps_constraints(evaluation):
            best = min(best, evaluation.cost)
        xs += [k, k + 1]
        ys += [best, best]
    chart.line(xs, ys, stroke="#c8324a", stroke_width=2)
    for k, evaluation in enumerate(study):
        colour = STATUS_COLOURS[evaluation.status]
        if math.isfinite(evaluation.cost):
            chart.dot(k, min(evaluation.cost, chart.y[1]), said(study, evaluation), **dot_style(colour, violates(study, evaluation)))
        else:
            chart.cross(k, said(study, evaluation), stroke=colour)
    return chart.text()


def colour_of(study: Archive) -> Callable[[Evaluation], str]:
    """Returns a function for colours by rank of the cost: dark is best. Ranks prevent a few high costs from hiding differences."""
    ok = sorted((e for e in study if e.ok and math.isfinite(e.cost)), key=lambda e: e.cost)
    rank = {e.id: 1 - k / max(1, len(ok) - 1) for k, e in enumerate(ok)}
    return lambda e: ramp(rank[e.id]) if e.id in rank else STATUS_COLOURS[e.status]


def slice_chart(study: Archive, v: Quantity) -> str:
    """Draws the cost over one variable; for a single variable with the surrogate's last curve and interval."""
    costs, colour = [e.cost for e in study if e.ok], colour_of(study)
    chart = Chart((v.lower, v.upper), limits(costs), size=(480, 300), labels=(v.label, "cost"))
    if study.curves is not None and study.iterations:
        grid, value, low, high = (study.curves[n] if n == "grid" else np.clip(study.curves[n][-1], *chart.y) for n in ("grid", "value", "lower", "upper"))
        chart.band(grid, low, high, fill="#1f6fb2", opacity=0.16)
        chart.line(grid, value, stroke="#1f6fb2", stroke_width=1.8)
    for e in study:
        if math.isfinite(e.cost):
            chart.dot(e.design[v.name], min(e.cost, chart.y[1]), said(study, e), **dot_style(colour(e), violates(study, e)))
        else:
            chart.cross(e.design[v.name], said(study, e), stroke=STATUS_COLOURS[e.status])
    return chart.text()


def label(study: Archive, name: str) -> str:
    """Returns the name of an objective or metric with its unit."""
    return next((m.label for m in study.metrics if m.name == name), name)


def pareto_chart(study: Archive) -> str:
    names = study.objectives[:2]
    rows = [(e, [study.objective(e, name) for name in names]) for e in study if e.ok]
    rows = [(e, v) for e, v in rows if all(map(math.isfinite, v))]
    xs, ys = zip(*((v[0], v[1]) for _, v in rows)) if rows else ((0, 1), (0, 1))
    chart = Chart(limits(xs), limits(ys), labels=(label(study, names[0]), label(study, names[1])))
    on = {e.id for e in study.front}
    for e, v in rows:
        chart.dot(v[0], v[1], said(study, e), **dot_style("#c8324a" if e.id in on else "#1f6fb2", violates(study, e)))
    return chart.text()


def strobe_chart(one: motions.Motion, postures: int = 9) -> str:
    """Draws a motion as postures on top of each other, from the side."""
    up = 1 if one.dimension == 2 else 2
    nodes = thin(len(one.t), postures)
    points = one.points[nodes][:, :, [0, up]] if one.points is not None else None
    drawn = [points.reshape(-1, 2)] if points is not None else []
    rings = [(node, corners[ring][:, [0, up]]) for node in nodes for shape, corners in zip(one.shapes, one.corners(node)) for ring in shape.faces] if one.positions is not None else []
    drawn += [ring for _, ring in rings]
    written = one.length.factor
    places = written * np.concatenate(drawn) if drawn else np.zeros((0, 2))
    places = places[np.isfinite(places).all(axis=1)]
    if not len(places):
        return ""
    low, high = places.min(axis=0), places.max(axis=0)
    middle, half = (low + high) / 2, max(high - low) / 2 * 1.1 or 1.0
    wide = max(half, (high - low)[0] / 2 * 1.1)
    chart = Chart((middle[0] - wide, middle[0] + wide), (middle[1] - half, middle[1] + half), size=(520, 500), labels=(one.length.label("x"), one.length.label("yz"[up - 1])))
    for k, posture in enumerate(points if points is not None else []):
        for a, b in one.segments:
            chart.line(*written * posture[[a, b]].T, stroke="#1f6fb2", stroke_width=2, opacity=round(0.25 + 0.75 * (k + 1) / len(nodes), 2))
    for node, ring in rings:
        chart.line(*written * np.concatenate([ring, ring[:1]]).T, stroke="#5b6b7c", stroke_width=1, opacity=1 if node == nodes[-1] else 0.3)
    return chart.text()


# ---- the page ----------------------------------------------------------------------------------------------------


def table(head: Iterable[str], rows: Iterable[str], **attributes: object) -> str:
    cells = "".join(tag("th", html.escape(h), scope="col") for h in head)
    return tag("table", tag("thead", tag("tr", cells)) + tag("tbody", "".join(rows)), **attributes)


def cell(value: object, unit: str = "", digits: int = 6) -> str:
    if isinstance(value, float):
        return f'<td class="n">{html.escape(summary.with_unit(value, unit, digits))}</td>'
    return f'<td class="wide">{html.escape(str(value))}</td>' if len(str(value)) > 24 else f"<td>{html.escape(str(value))}</td>"


def scrolled(content: str, label_: str) -> str:
    return tag("div", content, class_="scroll", tabindex="0", role="region", aria_label=label_)


def shown_metrics(study: Archive) -> list[str]:
    """Returns the metrics to show in tables, the same as in `dodyn show`: those in objectives and constraints."""
    known = {m.name for m in study.metrics}
    return [name for name in dict.fromkeys([*study.objectives, *(name for name, *_ in study.constraints)]) if name in known]


def design_cells(study: Archive, evaluation: Evaluation) -> str:
    return "".join(cell(summary.value(v, evaluation.design[v.name]) if v.choices else evaluation.design[v.name]) for v in study.variables)


def front_part(study: Archive) -> str:
    """Returns the front as a table, one design per row."""
    head = ["id", *(label(study, name) for name in study.objectives), *(v.label for v in study.variables)]
    rows = [tag("tr", cell(e.id) + "".join(cell(study.objective(e, name)) for name in study.objectives) + design_cells(study, e)) for e in study.front]
    return scrolled(table(head, rows), "Pareto front")


def status_part(study: Archive) -> str:
    reasons = checks.by_cause((e, summary.reason(study, e)) for e in study)
    rows = [
        "<tr>" + cell(len(found)) + cell(status) + cell((found[0][1] or "-") + (", for one" if len({why for _, why in found}) > 1 else "")) + "</tr>"
        for (status, kind), found in sorted(reasons.items(), key=lambda item: (item[0][0] != "ok", -len(item[1]), item[0]))
    ]
    left = f'<p class="hint">and {len(rows) - 40} more reasons</p>' if len(rows) > 40 else ""
    return scrolled(table(["evaluations", "status", "reason"], rows[:40]), "How evaluations ended") + left


def evaluations_part(study: Archive) -> str:
    noisy = any(e.cost_stderr > 0 for e in study)
    others = shown_metrics(study)
    others += [m.name for m in study.metrics if m.name not in others]
    head = ["id", *(v.label for v in study.variables), "cost", *(["standard error"] if noisy else [])]
    head += [*(label(study, name) for name in others), "status", "wall_time [s]", "reason"]
    rows = []
    for e in list(study)[:PLAIN_ROWS]:
        cells = cell(e.id) + design_cells(study, e) + cell(e.cost, digits=8)
        cells += cell(e.cost_stderr, digits=3) if noisy else ""
        cells += "".join(cell(e.metrics.get(name, math.nan)) for name in others) + cell(e.status) + cell(e.wall_time, digits=3)
        rows.append(tag("tr", cells + cell(summary.reason(study, e)[:200])))
    left = f'<p class="hint">The first {PLAIN_ROWS} of {len(study)} rows; dodyn show --csv prints all.</p>' if len(study) > PLAIN_ROWS else ""
    return scrolled(table(head, rows, class_="evaluations"), "Evaluations") + left


def provenance_part(study: Archive) -> str:
    facts = {
        "archive": study.path.name, "evaluator": study.evaluator, "created": study.created, "host": study.host,
        "ranks": study.ranks, "program": f"dodyn {study.version} ({study.git_commit})",
        "command": study.command_line, "schema": study.schema,
    }  # fmt: skip
    if study.units:
        facts["units"] = f"{study.units}, by choice; the command, settings and reasons keep those in which they were written"
    if study.sources:
        facts["merged from"] = ", ".join(study.sources)
    again = sum(len(e.attempts) for e in study)
    if again:
        facts["earlier attempts"] = f"{again}, in the archive"
    rows = [f'<tr><th scope="row">{k}</th>{cell(str(v))}</tr>' for k, v in facts.items()]
    settings = "".join(f"{html.escape(k)} = {html.escape(v[:400])}\n" for k, v in study.configuration.items())
    return tag("div", tag("table", "".join(rows)), class_="scroll", tabindex="0", role="region", aria_label="Provenance") + f"<details><summary>every setting</summary><pre>{settings}</pre></details>"


def section(title: str, content: str, hint: str = "", **attributes: object) -> str:
    hint = f'<p class="hint">{hint}</p>' if hint else ""
    return tag("section", f"<h2>{title}</h2>{content}{hint}", **attributes)


def listed(lines: Sequence[str], class_: str = "") -> str:
    return f'<ul class="plain {class_}">' + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def summary_part(study: Archive, model: Json | None) -> str:
    """Returns the summary: question, recommended design with its interval and gain, uncertainty, problems."""
    best = study.recommended
    answer = [f'<p class="asked">{html.escape(checks.asked(study))}</p>', f'<p class="lead">{html.escape(summary.headline(study))}</p>']
    within = checks.interval(study, best) if best else None
    if within:
        what = {"its": "95 % interval of its cost", "the model's": "95 % interval of its cost, by the surrogate model"}
        answer.append(f"<p>{what.get(within[2], 'Wilson interval (95 %) of its share of failures')}: {summary.number(within[0], 3)} to {summary.number(within[1], 3)}.</p>")
    optima, by = checks.where_optimum(study, model)
    if optima:
        lines = [f"{v.name} {checks.within(v, low, high)}" for v, low, high in optima]
        answer.append(f"<p>Where the optimum may lie: {html.escape('; '.join(lines))} ({html.escape(by)}).</p>")
    gained = checks.gain(study, model)
    if gained:
        answer.append(f"<p>{html.escape(gained)}</p>")
    if len(study.objectives) > 1 and study.front:
        for name in study.objectives:
            least = min(study.front, key=lambda e: study.objective(e, name))
            answer.append(f"<p>Lowest {html.escape(name)}: {html.escape(summary.with_unit(study.objective(least, name), study.unit(name)))} at {html.escape(summary.design(study, least, 4))} (evaluation {least.id}).</p>")
    verdicts = checks.checks(study, model)
    passed = sum(1 for state, _ in verdicts if state == "ok")

    def items(*states: str) -> str:
        return '<ul class="checks">' + "".join(f'<li class="{state}">{html.escape(line)}</li>' for state, line in verdicts if state in states) + "</ul>"

    doubtful = items("bad", "open") if passed < len(verdicts) else "<p>No check found anything wrong.</p>"
    sure = [line for line in summary.summary(study, model) if line and all(line != said for _, said in verdicts)]
    parts = [
        section("Answer", "".join(answer), class_="result"),
        section("How sure is it?", listed(sure)),
        section("Is it worth continuing?", f"<p>{html.escape(checks.worth_continuing(study, model))}</p>"),
        section(f"Health: {passed} of {summary.plural(len(verdicts), 'check')} passed", doubtful + (f"<details><summary>checks that passed</summary>{items('ok')}</details>" if passed else "")),
    ]
    causes = checks.failures(study)
    if causes:
        parts.append(section("Why did evaluations fail?", failures_part(study, causes)))
    return "".join(parts)


def failures_part(study: Archive, causes: Sequence[tuple[str, str, list[int]]]) -> str:
    """Returns the most frequent causes of failures with their counts, and the command that shows an example."""
    without = sum(len(ids) for _, _, ids in causes)
    lines = [f"<p>{without} of {summary.plural(len(study), 'evaluation')} have no usable cost.</p>"]
    for status, why, ids in causes[:COMMONEST]:
        lines.append(f"<p><b>{len(ids)} {html.escape(status)}</b>: {html.escape(why[:300]) or 'no reason is stated'}<br><code>dodyn show {html.escape(shlex.join([study.path.name, '--evaluation', str(ids[0]), *units_words(study)]))}</code></p>")
    if len(causes) > COMMONEST:
        lines.append(f'<p class="hint">and {summary.plural(len(causes) - COMMONEST, "further cause")}</p>')
    return "".join(lines)


def plain_views(study: Archive) -> str:
    """Returns static pictures and tables, for pages without the libraries."""
    parts = []
    best = results(study)
    trajectory = best[0].trajectory if best else None
    one = motions.motion(trajectory) if trajectory else None
    drawn = strobe_chart(one) if one is not None else ""
    if drawn:
        parts.append(section("Motion", drawn, "Postures of the recommended design, from the side."))
    if len(study):
        parts.append(section("History", history_chart(study), "Line: the lowest value up to there. Crosses: no cost."))
        for v in study.variables[:12]:
            parts.append(section(f"Cost over {html.escape(v.name)}", slice_chart(study, v), "Darker: better."))
        if len(study.objectives) > 1:
            parts.append(section("Pareto front", pareto_chart(study) + front_part(study), class_="wide"))
        parts.append(section("How evaluations ended", status_part(study)))
        parts.append(section("Evaluations", evaluations_part(study), class_="wide"))
    return "".join(parts)


def folded(text: str) -> str:
    """Returns the gzipped text in base64, which cannot end or start a script."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def json_script(data: Json, number: int) -> str:
    return f'<script type="application/gzip" class="data" id="data-{number}">{folded(json.dumps(data, separators=(",", ":"), allow_nan=False))}</script>'


def study_part(study: Archive, number: int, scripted: bool, live: bool = False) -> str:
    """Returns the article of one study; with `scripted` also the data for its script."""
    model = None if live else model_of(study)
    data = study_data(study, not live, model, None if live else importance_of(study)) if scripted else None
    parts = [
        f"<h1>{html.escape(study.path.stem)}</h1>",
        f'<div class="summary" id="summary-{number}">{summary_part(study, model)}</div>',
        '<section class="live" id="live"></section>' if live else "",
        f'<div class="selection" role="group" aria-label="Selection"></div><div class="views">{"" if scripted else plain_views(study)}</div>',
        section("Provenance", provenance_part(study)),
    ]
    return tag("article", "".join(parts), id=f"study-{number}") + (json_script(data, number) if data else "")


def titles(studies: Sequence[Archive]) -> list[str]:
    """Returns a name of each study: that of its file, with the folder where several files have one name."""
    stems = [s.path.stem for s in studies]
    return [stem if stems.count(stem) == 1 else str(s.path.with_suffix("")) for s, stem in zip(studies, stems)]


def comparison(studies: Sequence[Archive]) -> str:
    """Returns the article that compares several studies: their results, and the settings that differ."""
    names = {v.name: v for s in studies for v in s.variables}
    others = dict.fromkeys(name for s in studies for name in s.objectives if name != "cost")
    head = ["study", "result", "cost", *others, *names, "evaluations", "stop reason"]
    rows = []
    for k, (s, title) in enumerate(zip(studies, titles(studies))):
        best = s.best
        result = f"front of {len(s.front)}" if len(s.objectives) > 1 else "none" if not best else "recommended" if s.noisy else "best"
        cells = f'<td><a href="#study-{k}">{html.escape(title)}</a></td>' + cell(result) + cell(best.cost if best else math.nan)
        cells += "".join(cell(best.metrics.get(name, math.nan) if best else math.nan, s.unit(name)) for name in others)
        variables = {v.name: v for v in s.variables}
        for name in names:
            cells += cell(summary.value(variables[name], best.design[name], 6, variables[name].unit)) if best and name in best.design else cell(fixed_value(s, names[name]))
        rows.append("<tr>" + cells + cell(len(s)) + cell(summary.ended(s)) + "</tr>")
    costs = [e.cost for s in studies for e in s if e.ok]
    chart = Chart((0, max(map(len, studies))), limits(costs), size=(900, 300), labels=("evaluations", "lowest cost up to there"), whole=True)
    colours = OTHER_COLOURS
    for k, s in enumerate(studies):
        ys, least = [], math.inf
        for e in s:
            if e.ok and s.keeps_constraints(e):
                least = min(least, e.cost)
            ys.append(least)
        xs = [x for j in range(len(ys)) for x in (j, j + 1)]
        chart.line(xs, [y for y in ys for _ in (0, 1)], stroke=colours[k % len(colours)], stroke_width=2)
    key = "".join(f'<span><span class="key" style="background:{colours[k % len(colours)]}"></span>{html.escape(title)}</span>' for k, title in enumerate(titles(studies)))
    content = scrolled(table(head, rows), "Results") + chart.text() + f'<div class="legend">{key}</div>'
    return tag("article", "<h1>Side by side</h1>" + section("Results", content) + different_settings(studies))


def fixed_value(study: Archive, free_elsewhere: Quantity) -> str:
    """Returns the value of a variable that this study fixes, in the unit of another study that frees it. Text that is
    not a number is returned as written."""
    written = study.configuration.get("design." + free_elsewhere.name, "-")
    try:
        return summary.with_unit(float(written) * free_elsewhere.factor, free_elsewhere.unit, 6)
    except ValueError:
        return written


def different_settings(studies: Sequence[Archive]) -> str:
    keys = dict.fromkeys(k for s in studies for k in s.configuration if k != "study.archive")
    rows = []
    for key in keys:
        values = [s.configuration.get(key, "-") for s in studies]
        if len(set(values)) > 1:
            rows.append(f"<tr><td>{html.escape(key)}</td>" + "".join(cell(v) for v in values) + "</tr>")
    if not rows:
        return ""
    return section("Different settings", scrolled(table(["setting", *titles(studies)], rows), "Different settings"))


def library_scripts(names: Sequence[str]) -> tuple[str, str] | None:
    """Returns the libraries in gzipped base64, and their licences; None if the first one is not installed."""
    scripts, licences = [], []
    for name in names:
        package, files = LIBRARIES[name]
        if not all(Path(file).is_file() for file in files):
            return None
        text = "\n".join(Path(file).read_text(encoding="utf-8") for file in files)
        scripts.append(f'<script type="application/gzip" class="library" id="library-{name}">{folded(text)}</script>')
        licence = Path(f"/usr/share/doc/{package}/copyright")
        licences.append(f"{package}\n\n{licence.read_text(encoding='utf-8')}" if licence.is_file() else package)
    about = tag("details", "<summary>Libraries in this page and their licences</summary>" + tag("pre", html.escape("\n\n".join(licences))))
    return "".join(scripts), tag("article", section("Libraries", about))


def page(studies: Sequence[Archive], refresh: int | None = None, live: bool = False) -> str:
    """Returns the whole page. `refresh`: seconds after which a browser reads it again (while a study runs). `live`: it
    asks the server of `dodyn watch` for rows and motions."""
    here = resources.files(__package__)
    libraries = library_scripts(["d3", "three"])
    title = ", ".join(titles(studies))
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{html.escape(title)} · dodyn</title>'
    head += '<link rel="icon" href="data:,">'
    if live and not libraries:
        refresh = 5  # without a script the browser reloads the page
    again = f' data-refresh="{refresh}"' if refresh and libraries else ""  # the script reloads the page itself, which keeps the address and the selection
    if refresh and not libraries:
        head += f'<meta http-equiv="refresh" content="{refresh}">'
    style = (here / "page.css").read_text(encoding="utf-8")
    body = comparison(studies) if len(studies) > 1 else ""
    body += "".join(study_part(study, number, libraries is not None, live) for number, study in enumerate(studies))
    if libraries:
        names = ["page.js", "charts.js", "scene.js", *(["live.js"] if live else [])]
        script = "\n".join((here / name).read_text(encoding="utf-8") for name in names)
        body += libraries[1]
        after = f'<div id="said" class="unseen" aria-live="polite"></div>{libraries[0]}<script>(() => {{\n\'use strict\';\n{script}\nopenPage();\n}})();</script>'
    else:
        after = ""
        packages = " ".join(package for package, _ in LIBRARIES.values())
        body += tag("article", f'<p class="hint">A plain page: the packages {packages} were not installed when it was written.</p>')
    return f'<!DOCTYPE html>\n<html lang="en"{again}><head>{head}<style>{style}</style></head><body><main>{body}</main>{after}</body></html>\n'
