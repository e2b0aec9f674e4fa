"""One page of HTML that tells and shows what a study found. It holds everything it needs (pictures, motions, the script
that plays them) and asks for no other file; made again from the same archive it is the same, byte by byte.

    dodyn report knee.h5 [OTHER.h5 ...] [--output knee.html] [--follow]
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
from importlib import resources

import numpy as np

from . import motion as motions
from . import summary
from .archive import Archive, Evaluation
from .svg import STATUS_COLOURS, Chart, limits, ramp, tag

MOTION_BYTES = 1_150_000  # of all motions of a page, for each thousand evaluations begun
NODES = (400, 120, 60, 30, 15)  # a motion is thinned to so many, where more would not fit
RUN_FRAMES = 24
TITLED = 300  # of more evaluations, dots say nothing when pointed at: a click chooses them
SERIES_COLUMNS = 16  # channels with more are left out of the graphs
OUTCOME_COLOURS = {  # of a simulation, by the names of docking studies; others take turns
    "docked": "#2a9d5c", "missed": "#8d99ae", "jammed": "#d1495b", "wrong port": "#e9a03b", "bounced off": "#5e60ce",
    "timed out": "#3d405b", "end": "#3d405b", "unresolved": "#000000", "failed": "#000000",
}  # fmt: skip
OTHER_COLOURS = ["#2a9d5c", "#e9a03b", "#5e60ce", "#d1495b", "#1f6fb2", "#8d99ae", "#b5838d", "#6a994e"]


def coloured(names: list[str]) -> list[tuple[str, str]]:
    """[(name, colour)] of outcomes, in their order."""
    other = iter([c for c in OTHER_COLOURS if c not in {OUTCOME_COLOURS.get(n) for n in names}] * (1 + len(names)))
    return [(name, OUTCOME_COLOURS.get(name) or next(other)) for name in names]


# ---- numbers to text ---------------------------------------------------------------------------------------------


def packed(values):
    """[base64 of 16-bit integers, row by row; columns; offset and scale of each column]: about five digits. The
    integer -32768 is not a number."""
    values = np.asarray(values, dtype=float)
    values = values.reshape(len(values), -1)
    with np.errstate(all="ignore"):
        finite = np.where(np.isfinite(values), values, np.nan)
        low = np.nan_to_num(np.array([np.nanmin(c) if np.isfinite(c).any() else 0.0 for c in finite.T]))
        high = np.nan_to_num(np.array([np.nanmax(c) if np.isfinite(c).any() else 0.0 for c in finite.T]))
    scale = (high - low) / 65534
    whole = np.round((finite - low) / np.where(scale > 0, scale, 1.0)) - 32767
    whole = np.where(np.isfinite(whole), whole, -32768).astype("<i2")
    return [base64.b64encode(whole.tobytes()).decode(), values.shape[1], rounded(low, 8), rounded(scale, 8)]


def rounded(values, digits=6):
    """Numbers as JSON has them: none for what is not finite."""
    if isinstance(values, (float, int, np.floating, np.integer)):
        return float(f"{values:.{digits}g}") if math.isfinite(values) else None
    return [rounded(value, digits) for value in values]


def thin(count, at_most):
    """Which of `count` nodes to keep: the first, the last, and evenly between."""
    if count <= at_most:
        return np.arange(count)
    return np.unique(np.round(np.linspace(0, count - 1, at_most)).astype(int))


# ---- motions -----------------------------------------------------------------------------------------------------


def motion_data(one, nodes):
    keep = thin(len(one.t), nodes)
    data = {"t": packed(one.t[keep, None])}
    if one.points is not None:
        data["points"] = packed(one.points[keep])
        data["forces"] = [packed(values[keep]) for _, values in one.forces]
        if one.stride:
            data["stride"] = [one.stride.order, rounded(one.stride.shift), int(one.stride.mirrored)]
    if one.positions is not None:
        data["positions"], data["attitudes"] = packed(one.positions[keep]), packed(one.attitudes[keep])
        data["shapes"] = [rounded(shape.corners.ravel()) for shape in one.shapes]
    data["series"] = []
    for series in one.series:
        if len(series.names) <= SERIES_COLUMNS:
            stairs = series.stairs(len(one.t))
            data["series"].append(packed(series.values[keep[:-1] if stairs else keep]))
    return data


def scene_data(one):
    """What all motions of a study share: names, which points are joined, which corners are a face."""
    return {
        "dimension": one.dimension,
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


def runs_data(trajectory, frames=RUN_FRAMES):
    """A design's starts: how each ended, and how it went where the archive holds that."""
    data = {"outcome": [int(k) if math.isfinite(k) else -1 for k in trajectory["outcome"].column("outcome")]}
    data["seconds"] = rounded(trajectory["outcome"].column("time"), 4)
    played = motions.runs(trajectory)
    if played:
        data["motions"] = [
            [packed(one.t[keep, None]), packed(one.positions[keep]), packed(one.attitudes[keep])]
            for one in played
            for keep in [thin(len(one.t), frames)]
        ]
        data["shapes"] = [rounded(shape.corners.ravel()) for shape in played[0].shapes]
    return data


def run_scene(trajectory):
    played = motions.runs(trajectory)
    return scene_data(played[0]) if played else None


def size(data):
    return len(json.dumps(data, separators=(",", ":")))


def budgeted(items, make, levels, budget):
    """{key: make(item, level)} at the finest level at which all fit; else as many as fit at the coarsest, the first
    ones before the others. The first is always there, at the finest level."""
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
    """The evaluations that are the result: the recommended one, or the front of several objectives."""
    return study.front if len(study.objectives) > 1 else [study.recommended] if study.recommended else []


def played(study):
    """What the page plays: {"scene", "motions", "runs", ...}; the best evaluations first where not all fit."""
    order = sorted(study, key=lambda e: (not e.ok, e.cost if math.isfinite(e.cost) else math.inf, e.id))
    first = results(study)
    ids = {e.id for e in first}
    order = [*first, *(e for e in order if e.id not in ids)]
    budget = MOTION_BYTES * math.ceil(len(study) / 1000)
    with_motion, with_runs, scene, starts, tried, outcomes, others, names = [], [], None, None, None, [], {}, []
    for at in range(0, len(order), 64):  # of a thousand evaluations not all motions at once, and not all are read
        block = order[at : at + 64]
        for evaluation, trajectory in zip(block, study.trajectories([e.row for e in block])):
            if motions.outcomes(trajectory):
                with_runs.append((evaluation.id, trajectory))
                if starts is None:
                    outcomes, starts = coloured(motions.outcomes(trajectory)), rounded(motions.places(trajectory).tolist(), 5)
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
    budget /= 1 + len(others)
    data = {"scene": scene, "starts": starts, "runScene": tried, "outcomes": outcomes}
    data["motions"] = budgeted(with_motion, motion_data, NODES, budget)
    data["scenarios"] = [*names[:1], *others]
    data["others"] = {name: budgeted(items, motion_data, NODES, budget) for name, items in others.items()}
    data["runs"] = budgeted(with_runs, runs_data, (RUN_FRAMES, 12, 6), budget)
    return data


# ---- charts ------------------------------------------------------------------------------------------------------


def dot_style(evaluation, fill, hollow=False):
    return {"class_": "pick", "data_id": evaluation.id, "fill": "#fff" if hollow else fill, "stroke": fill if hollow else "#fff"}


def said(study, evaluation):
    if len(study) > TITLED:
        return ""
    told = f"evaluation {evaluation.id}: {evaluation.status}, {summary.design(study, evaluation)}"
    if math.isfinite(evaluation.cost):
        told += f", cost {summary.number(evaluation.cost, 6)}"
    for name in study.objectives:
        if name != "cost":
            told += f", {name} {summary.with_unit(study.objective(evaluation, name), study.unit(name), 6)}"
    why = summary.reason(study, evaluation)
    return told + (f" ({why})" if why else "")


def breaks(study, evaluation):
    """It has a cost, but does not count: drawn hollow."""
    return evaluation.ok and not study.keeps_constraints(evaluation)


def convergence_chart(study):
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
            shown = min(evaluation.cost, chart.y[1])
            chart.dot(k, shown, said(study, evaluation), **dot_style(evaluation, colour, breaks(study, evaluation)))
        else:
            chart.cross(k, said(study, evaluation), class_="pick", data_id=evaluation.id, stroke=colour)
    return chart.text()


def curve_chart(study):
    """Cost over the one free variable: the surrogate of every iteration with its band, and what was evaluated."""
    v = study.variables[0]
    costs = [e.cost for e in study if e.ok]
    last = len(study.iterations) - 1 if study.curves is not None else -1
    shown = [e.cost + side * e.cost_stderr for e in study if e.ok for side in (-2, 0, 2)]
    if last >= 0 and costs:  # what of the surrogate is near the costs
        value = study.curves["value"][last]
        span = max(np.ptp(costs), abs(min(costs)) * 1e-3)
        shown += [x for x in value if math.isfinite(x) and min(costs) - 0.5 * span < x < max(costs) + 0.3 * span]
    chart = Chart((v.lower, v.upper), limits(shown, trimmed=False), size=(720, 380), labels=(v.label, "cost"))
    frame = tag("clipPath", tag("rect", x=chart.left, y=chart.top, width=chart.size[0] - chart.left - chart.right,
                                height=chart.size[1] - chart.top - chart.bottom), id=f"frame-{study.page_id}")  # fmt: skip
    chart.parts.append(frame)
    for k in range(last + 1):
        inside = []
        keep, chart.parts = chart.parts, inside
        grid, value, low, high = (study.curves[n] if n == "grid" else study.curves[n][k] for n in ("grid", "value", "lower", "upper"))
        chart.band(grid, low, high, fill="#1f6fb2", opacity=0.16)
        chart.line(grid, value, stroke="#1f6fb2", stroke_width=1.8)
        at = study.iterations[k].next
        if len(at) and math.isfinite(at[0]):
            chart.parts.append(tag("path", d=f"M{chart.px(at[0])} {chart.top}V{chart.size[1] - chart.bottom}",
                                   stroke="#c8324a", stroke_dasharray="4 4"))  # fmt: skip
        chart.parts = keep
        style = {"clip_path": f"url(#frame-{study.page_id})", "class_": "iteration", "data_k": k}
        if k != last:
            style["style"] = "display:none"
        chart.parts.append(tag("g", "".join(inside), **style))
    for evaluation in study:
        x = evaluation.design[v.name]
        if not math.isfinite(evaluation.cost):
            chart.cross(x, said(study, evaluation), class_="pick", data_id=evaluation.id, stroke=STATUS_COLOURS[evaluation.status])
            continue
        if evaluation.cost_stderr > 0:
            error = 1.96 * evaluation.cost_stderr
            chart.line([x, x], [evaluation.cost - error, evaluation.cost + error], stroke="#5b6b7c", stroke_width=1)
        chart.dot(x, evaluation.cost, said(study, evaluation), **dot_style(evaluation, STATUS_COLOURS[evaluation.status], breaks(study, evaluation)))
    told = ""
    if last > 0:
        told = (
            f'<div class="bar"><label>iteration <input type="range" class="iterations" min="0" max="{last}" value="{last}">'
            f'</label><span class="which">{last + 1} of {last + 1}</span></div>'
        )
    return chart.text() + told


def colour_of(study):
    """Colours by rank of the cost: dark is best, so that a few high costs do not hide the others."""
    ok = sorted((e for e in study if e.ok and math.isfinite(e.cost)), key=lambda e: e.cost)
    rank = {e.id: 1 - k / max(1, len(ok) - 1) for k, e in enumerate(ok)}
    return lambda e: ramp(rank[e.id]) if e.id in rank else STATUS_COLOURS[e.status]


def parallel_chart(study):
    """A line per evaluation across an axis per variable and one for the cost."""
    axes = [*study.variables]
    ok = [e for e in study if math.isfinite(e.cost)]
    low, high = limits([e.cost for e in ok], margin=0.0)
    width, height, top, foot = 720, 360, 34, 320
    step = (width - 140) / len(axes)
    colour = colour_of(study)
    parts = []
    order = sorted(study, key=lambda e: -(e.cost if math.isfinite(e.cost) else math.inf))
    for evaluation in order:
        shares = [(evaluation.design[v.name] - v.lower) / ((v.upper - v.lower) or 1) for v in axes]
        known = math.isfinite(evaluation.cost)
        if known:
            shares.append(min(1.0, (evaluation.cost - low) / ((high - low) or 1)))
        d = "M" + "L".join(f"{70 + k * step:.1f} {foot - s * (foot - top):.1f}" for k, s in enumerate(shares))
        style = {"stroke": colour(evaluation), "stroke_width": 1.6, "opacity": 0.8}
        if not known:
            style["stroke_dasharray"] = "3 3"
        elif breaks(study, evaluation):
            style["stroke_dasharray"] = "9 3"
        told = said(study, evaluation)
        parts.append(tag("path", tag("title", html.escape(told)) if told else None, d=d, fill="none", class_="pick",
                         data_id=evaluation.id, **style))  # fmt: skip
    written = [*((v.label, summary.value(v, v.lower, 4), summary.value(v, v.upper, 4)) for v in axes), ("cost", summary.number(low, 4), summary.number(high, 4))]
    for k, (name, *ends) in enumerate(written):
        at = round(70 + k * step, 1)
        parts.append(tag("path", d=f"M{at} {top}V{foot}", stroke="#5b6b7c"))
        parts.append(tag("text", html.escape(name), x=at, y=16, text_anchor="middle", font_weight="600"))
        parts.append(tag("text", html.escape(ends[1]), x=at, y=top - 5, text_anchor="middle"))
        parts.append(tag("text", html.escape(ends[0]), x=at, y=foot + 16, text_anchor="middle"))
    return tag("svg", "".join(parts), viewBox=f"0 0 {width} {height}", role="img")


def pairs_chart(study, at_most=4):
    """The designs, two variables at a time, coloured by cost."""
    axes, colour = study.variables[:at_most], colour_of(study)
    found = []
    for j in range(1, len(axes)):
        for i in range(j):
            chart = Chart((axes[i].lower, axes[i].upper), (axes[j].lower, axes[j].upper), size=(340, 280),
                          labels=(axes[i].label, axes[j].label))  # fmt: skip
            for e in sorted(study, key=lambda e: -(e.cost if math.isfinite(e.cost) else math.inf)):
                chart.dot(e.design[axes[i].name], e.design[axes[j].name], said(study, e), **dot_style(e, colour(e), breaks(study, e)))
            found.append(chart.text())
    return f'<div class="two" style="grid-template-columns:repeat(auto-fit,minmax(300px,1fr))">{"".join(found)}</div>'


def label(study: Archive, name: str) -> str:
    """An objective or metric with its unit."""
    return next((m.label for m in study.metrics if m.name == name), name)


def pareto_chart(study):
    names = study.objectives[:2]
    rows = [(e, [study.objective(e, name) for name in names]) for e in study if e.ok]
    rows = [(e, v) for e, v in rows if all(map(math.isfinite, v))]
    xs, ys = zip(*((v[0], v[1]) for _, v in rows)) if rows else ((0, 1), (0, 1))
    chart = Chart(limits(xs), limits(ys), labels=(label(study, names[0]), label(study, names[1])))
    on = {e.id for e in study.front}
    for e, v in rows:
        chart.dot(v[0], v[1], said(study, e), **dot_style(e, "#c8324a" if e.id in on else "#1f6fb2", breaks(study, e)))
    return chart.text()


def front_part(study):
    """The front as a table: a design a row."""
    head = ["id", *(label(study, name) for name in study.objectives), *(v.label for v in study.variables)]
    rows = []
    for e in study.front:
        cells = cell(e.id) + "".join(cell(study.objective(e, name)) for name in study.objectives)
        cells += "".join(cell(summary.value(v, e.design[v.name]) if v.choices else e.design[v.name]) for v in study.variables)
        rows.append(f'<tr class="pick" data-id="{e.id}">{cells}</tr>')
    return '<div class="scroll">' + table(head, rows) + "</div>"


# ---- the page ----------------------------------------------------------------------------------------------------


def table(head, rows, **attributes):
    numeric = ['class="n"' in part for row in rows[:1] for part in row.split("</td>")] + [False] * len(head)
    cells = (tag("th", html.escape(h), **({"class_": "n"} if n else {})) for h, n in zip(head, numeric))
    top = tag("thead", tag("tr", "".join(cells)))
    return tag("table", top + tag("tbody", "".join(rows)), **attributes)


def cell(value, unit="", digits=6):
    if isinstance(value, float):
        return f'<td class="n">{html.escape(summary.with_unit(value, unit, digits))}</td>'
    return f'<td class="wide">{html.escape(str(value))}</td>' if len(str(value)) > 24 else f"<td>{html.escape(str(value))}</td>"


def status_part(study):
    reasons = {}  # those that differ in their numbers are one, told by the first
    for e in study:
        why = summary.reason(study, e)
        reasons.setdefault((e.status, re.sub(r"[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?", "#", why)), []).append(why)
    rows = [
        "<tr>" + cell(len(found)) + f'<td><span class="key" style="background:{STATUS_COLOURS[status]}"></span>{html.escape(status)}</td>'
        + cell((found[0] or "-") + (", for one" if len(set(found)) > 1 else "")) + "</tr>"
        for (status, kind), found in sorted(reasons.items(), key=lambda item: (item[0][0] != "ok", -len(item[1]), item[0]))
    ]  # fmt: skip
    again = sum(len(e.attempts) for e in study)
    note = f'<p class="hint">{summary.plural(again, "earlier attempt")} stay in the archive.</p>' if again else ""
    shown = rows[:40]
    left = f'<p class="hint">and {len(rows) - 40} more reasons</p>' if len(rows) > 40 else ""
    return '<div class="scroll">' + table(["evaluations", "status", "reason"], shown) + "</div>" + left + note


def shown_metrics(study):
    """The metrics in tables, as in those of `dodyn show`: what objectives and constraints name."""
    known = {m.name for m in study.metrics}
    return [name for name in dict.fromkeys([*study.objectives, *(name for name, *_ in study.constraints)]) if name in known]


def evaluations_part(study):
    noisy = any(e.cost_stderr > 0 for e in study)
    others = shown_metrics(study)
    head = ["id", *(v.label for v in study.variables), "cost", *(["standard error"] if noisy else [])]
    head += [*(label(study, name) for name in others), "status", "seconds", "reason"]
    rows = []
    for e in study:
        designs = (summary.value(v, e.design[v.name]) if v.choices else e.design[v.name] for v in study.variables)
        cells = cell(e.id) + "".join(map(cell, designs)) + cell(e.cost, digits=8)
        cells += cell(e.cost_stderr, digits=3) if noisy else ""
        cells += "".join(cell(e.metrics.get(name, math.nan)) for name in others) + cell(e.status) + cell(e.seconds, digits=3)
        cells += cell(summary.reason(study, e)[:200])
        rows.append(f'<tr class="pick" data-id="{e.id}">{cells}</tr>')
    return '<div class="scroll">' + table(head, rows, class_="evaluations") + "</div>"


def provenance_part(study):
    facts = {
        "archive": study.path.name, "evaluator": study.evaluator, "created": study.created, "host": study.host,
        "ranks": study.ranks, "program": f"dodyn {study.version} ({study.git_commit})",
        "command": study.command_line, "schema": study.schema,
    }  # fmt: skip
    if study.sources:
        facts["merged from"] = ", ".join(study.sources)
    rows = [f"<tr><td>{k}</td>{cell(str(v))}</tr>" for k, v in facts.items()]
    settings = "".join(f"{html.escape(k)} = {html.escape(v[:400])}\n" for k, v in study.configuration.items())
    return table(["what", "value"], rows) + f"<details><summary>every setting</summary><pre>{settings}</pre></details>"


def section(title, content, hint="", **attributes):
    hint = f'<p class="hint">{hint}</p>' if hint else ""
    return tag("section", f"<h2>{title}</h2>{content}{hint}", **attributes)


def listed(lines, class_):
    return f'<ul class="plain {class_}">' + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


PLAYER = """<div class="bar"><label>evaluation <select class="choice"></select></label><label class="scenarios">scenario
<select class="scenario"></select></label><span class="record hint"></span></div>
<canvas class="stage" height="420"></canvas>
<div class="bar"><button class="play">Play</button><input type="range" class="at" min="0" max="1000" value="0" aria-label="time">
<span class="time"></span><label>speed <select class="speed"></select></label><label class="views">view <select class="view">
<option value="side">side</option><option value="front">front</option><option value="top">top</option>
<option value="orbit">orbit</option></select></label></div>
<div class="graph-part"><div class="bar"><label>below <select class="series"></select></label><span class="legend"></span></div>
<canvas class="graph" height="190"></canvas></div>"""


def study_part(study, number):
    """The article of one study, and the data its script needs."""
    study.page_id = number
    data = played(study)
    data["variables"] = [[v.name, v.unit] for v in study.variables]
    data["evaluations"] = [
        [e.id, summary.design(study, e), rounded(e.cost, 8), e.status, summary.number(e.cost_stderr, 2) if e.cost_stderr else ""]
        for e in study
    ]
    shown = results(study)
    data["best"] = shown[0].id if shown else None
    data["marks"] = {e.id: "front" if len(study.objectives) > 1 else "recommended" if study.noisy else "best" for e in shown}

    parts = [
        f"<h1>{html.escape(study.path.stem)}</h1>",
        f'<p class="lead">{html.escape(summary.headline(study))}</p>',
        "".join(f"<p>{html.escape(line)}</p>" for line in summary.summary(study)),
        f'<p class="stop">Why it stopped: {html.escape(summary.ended(study))}.</p>',
        listed(summary.warnings(study), "odd"),
        listed(summary.not_ruled_out(study), "open"),
    ]
    if data["motions"]:
        missing = len(study) - len(data["motions"])
        hint = f"{missing} evaluations have no motion here: they have none, or the page would grow too large." if missing else ""
        parts.append(section("The motion", PLAYER, hint, class_="player"))
    if data["runs"]:
        dots = '<div class="bar"><label>evaluation <select class="choice"></select></label><span class="record hint"></span></div>'
        hint = "Each dot is a start: the place of the last body's centre. Click one to play its run." if data["runScene"] else \
            "Each dot is a start; this archive does not hold the runs themselves."  # fmt: skip
        stage = ""
        if data["runScene"]:
            stage = PLAYER[PLAYER.index('<canvas class="stage"') : PLAYER.index('<div class="graph-part">')]
        parts.append(section("Where it starts, and how it ends", f'{dots}<div class="two"><div><svg class="map"></svg><div class="legend"></div></div><div>{stage}</div></div>', hint, class_="map-part"))  # fmt: skip
    if len(study):
        hollow = " Hollow: it breaks a constraint." if study.constraints else ""
        if len(study.variables) == 1:
            parts.append(section("Cost over the design", curve_chart(study), "Line and band: the surrogate. Dashed: where it wants to look next. Click a dot to choose its evaluation." + hollow))  # fmt: skip
        elif study.variables:
            parts.append(section("Designs", parallel_chart(study), "One line per evaluation, the darker the better; dotted: no cost" + ("; dashed: it breaks a constraint" if study.constraints else "") + ". Click to choose."))  # fmt: skip
            parts.append(section("Two variables at a time", pairs_chart(study), "Darker: better." + hollow))
        if len(study.objectives) > 1:
            axes = " of the first two objectives" if len(study.objectives) > 2 else ""
            parts.append(section(f"Trade-off{axes}", pareto_chart(study) + front_part(study), "Red, and in the table: the front. Click to choose." + hollow))
        parts.append(
            f'<div class="two">{section("Convergence", convergence_chart(study), "Red: the least cost so far. Crosses: no cost." + hollow)}'
            f'{section("How evaluations ended", status_part(study))}</div>'
        )
        parts.append(section("Evaluations", evaluations_part(study), "Click a row to choose it, a head to sort."))
    parts.append(section("Where this comes from", provenance_part(study)))
    body = tag("article", "".join(parts), id=f"study-{number}")
    # No "<" at all: "<!--<script>" in a text would swallow the end of the script, and with it the page.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return body + f'<script type="application/json" id="data-{number}">{text}</script>'


def comparison(studies):
    """Several studies side by side."""
    names = dict.fromkeys(v.name for s in studies for v in s.variables)
    others = dict.fromkeys(name for s in studies for name in s.objectives if name != "cost")
    head = ["study", "result", "cost", *others, *names, "evaluations", "stopped"]
    rows = []
    for k, s in enumerate(studies):
        best = s.best
        result = f"front of {len(s.front)}" if len(s.objectives) > 1 else "none" if not best else "recommended" if s.noisy else "best"
        cells = f'<td><a href="#study-{k}">{html.escape(s.path.stem)}</a></td>' + cell(result) + cell(best.cost if best else math.nan)
        cells += "".join(cell(best.metrics.get(name, math.nan) if best else math.nan, s.unit(name)) for name in others)
        units = {v.name: v.unit for v in s.variables}
        for name in names:
            cells += cell(best.design[name], units[name]) if best and name in best.design else cell(s.configuration.get("design." + name, "-"))
        rows.append("<tr>" + cells + cell(len(s)) + cell(summary.ended(s)) + "</tr>")
    costs = [e.cost for s in studies for e in s if e.ok]
    chart = Chart((0, max(map(len, studies))), limits(costs), size=(900, 300), labels=("evaluations", "least cost so far"), whole=True)
    colours = ["#1f6fb2", "#c8324a", "#2a9d5c", "#e9a03b", "#5e60ce"]
    for k, s in enumerate(studies):
        ys, best = [], math.inf
        for e in s:
            if e.ok and s.keeps_constraints(e):
                best = min(best, e.cost)
            ys.append(best)
        xs = [x for j in range(len(ys)) for x in (j, j + 1)]
        chart.line(xs, [y for y in ys for _ in (0, 1)], stroke=colours[k % len(colours)], stroke_width=2)
    key = "".join(f'<span class="key" style="background:{colours[k % len(colours)]}"></span>{html.escape(s.path.stem)}' for k, s in enumerate(studies))
    settings = different_settings(studies)
    return tag("article", "<h1>Side by side</h1>" + section("Results", table(head, rows) + chart.text() + key) + settings)


def different_settings(studies):
    keys = dict.fromkeys(k for s in studies for k in s.configuration if k != "study.archive")
    rows = []
    for key in keys:
        values = [s.configuration.get(key, "-") for s in studies]
        if len(set(values)) > 1:
            rows.append(f"<tr><td>{html.escape(key)}</td>" + "".join(cell(v) for v in values) + "</tr>")
    if not rows:
        return ""
    return section("What is set differently", table(["setting", *(s.path.stem for s in studies)], rows))


def page(studies: list[Archive], refresh: int | None = None) -> str:
    """The whole page. `refresh`: seconds after which a browser reads it again (while a study runs)."""
    here = resources.files(__package__)
    style, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    title = ", ".join(s.path.stem for s in studies)
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)} · dodyn</title>'
    head += '<link rel="icon" href="data:,">'
    if refresh:
        head += f'<meta http-equiv="refresh" content="{refresh}">'
    body = comparison(studies) if len(studies) > 1 else ""
    body += "".join(study_part(study, number) for number, study in enumerate(studies))
    return (
        f"<!DOCTYPE html>\n<html lang=\"en\"><head>{head}<style>{style}</style></head><body>{body}"
        f"<script>{script}</script></body></html>\n"
    )
