"""Reports, plots and films of studies of every evaluator. Usage: pictures.py DODYN"""

import base64
import errno
import gzip
import html
import html.parser
import json
import math
import os
import re
import shutil
import sys
import tempfile
import types
from unittest import mock

from studies import HOSTILE, dodyn, dodyn_here, make, make_hostile

try:
    import h5py
    import numpy as np

    import dodyn as package
    from dodyn import checks, motion, plot, report, summary
except ImportError:
    sys.exit(77)  # skipped

LIBRARIES = all(os.path.exists(file) for _, files in report.LIBRARIES.values() for file in files)  # else pages are plain
NAMES = ("knee", "spatial", "docking", "scene", "command", "failing", "tasks", "beam", "noisy", "front")


def data_of(page, number=0):
    found = re.search(rf'<script type="application/gzip" class="data" id="data-{number}">(.*?)</script>', page, re.S)
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def unpacked(packed):
    text, columns, low, scale = packed
    whole = np.frombuffer(base64.b64decode(text), "<i2").reshape(-1, columns).astype(float)
    whole[whole == -32768] = np.nan
    return low + (whole + 32767) * np.array(scale)


class Nesting(html.parser.HTMLParser):
    """Every element that begins ends, in the order of nesting."""

    def __init__(self, page):
        super().__init__()
        self.open = []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, name, attributes):
        if name not in ("meta", "input", "link", "br"):
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open and self.open.pop() == name, (name, self.open, self.getpos())


def reports():
    for name in NAMES:
        dodyn("report", f"{name}.h5")
        page = open(f"{name}.html", encoding="utf-8").read()
        dodyn_here("report", f"{name}.h5", "--output", "again.html")
        assert open("again.html", encoding="utf-8").read() == page, "not the same when made again"
        # It loads nothing: no address except those of XML name spaces, and no loading element.
        outside = re.sub(r'http://www\.w3\.org/2000/svg|<script type="application/gzip".*?</script>|<pre>.*?</pre>', "", page, flags=re.S)
        for asks in ("http:", "https:", "//cdn", "src=", "@import", "url(", "fetch(", "XMLHttpRequest", "import("):
            assert asks not in outside, (name, asks)
        study = package.open(f"{name}.h5")
        assert len(page) < 1.5e6
        Nesting(page)
        assert study.stop_reason.split(":")[0] in page and study.command_line.split()[-1] in page
        if LIBRARIES:
            rows = data_of(page)["rows"]
            assert rows["id"] == [e.id for e in study] and rows["feasible"] == [int(study.feasible(e)) for e in study]
            for quantities, columns in ((study.variables, rows["design"]), (study.metrics, rows["metrics"])):
                for q, column in zip(quantities, columns):
                    true = [{**e.design, **e.metrics}.get(q.name, np.nan) for e in study]
                    assert np.allclose(true, [np.nan if x is None else x for x in column], rtol=1e-7, equal_nan=True), (name, q)
        for e in report.results(study):
            assert name == "front" or summary.number(e.cost) in page and f"{study.variables[0].name} = " in page


def numbers():
    """The page plays the archive's motion, to the rounding of 16 bits."""
    for name in ("knee", "spatial", "scene"):
        study = package.open(f"{name}.h5")
        data = data_of(open(f"{name}.html", encoding="utf-8").read())
        trajectory = study.best.trajectory
        one, sent = motion.motion(trajectory), data["motions"][str(study.best.id)]
        assert len(data["motions"]) == len([e for e in study if e.trajectory])
        compare = [(one.t[:, None], sent["t"])]
        if one.points is not None:
            compare += [(one.points, sent["points"]), (one.forces[0][1], sent["forces"][0])]
        if one.positions is not None:
            compare += [(one.positions, sent["positions"]), (one.attitudes, sent["attitudes"])]
        compare += [(s.values, p) for s, p in zip([s for s in one.series if len(s.names) <= 16], sent["series"])]
        for true, packed in compare:
            true = true.reshape(len(true), -1)
            got = unpacked(packed)
            assert got.shape == true.shape
            tolerance = np.nanmax(np.ptp(true, axis=0)) / 65534 + 1e-7 * np.nanmax(np.abs(true))
            assert np.nanmax(np.abs(got - true), initial=0) <= tolerance, name
    data = data_of(open("docking.html", encoding="utf-8").read())
    study = package.open("docking.h5")
    for e in study:
        kinds = e.trajectory["outcome"].column("outcome").astype(int).tolist()
        assert data["runs"][str(e.id)]["outcome"] == kinds
        assert abs(kinds.count(0) / len(kinds) - e.metrics["docked"]) < 1e-12
        # Every run starts at its initial state, ends at its outcome, and shows the craft of its design.
        played, starts = motion.runs(e.trajectory), e.trajectory["initial_state"]
        hull = 0.1
        for k, one in enumerate(played):
            bearing, distance = starts.column("bearing")[k], starts.column("distance")[k]
            at = (hull + distance) * np.array([np.cos(bearing), np.sin(bearing)])
            assert np.linalg.norm(one.positions[0, 1] - at) < 1e-4, (one.positions[0, 1], at)
            assert one.t[0] == 0 and abs(one.t[-1] - e.trajectory["outcome"].column("time")[k]) < 2e-3
            assert (np.diff(one.t) > 0).all() and len(one.t) <= 24
        tips = np.concatenate([s.corners for s in played[0].shapes if s.body == 1])
        ports = tips[tips[:, 0] > hull / 2 + 1e-6]
        assert abs(ports[ports[:, 1] > 0][:, 1].mean() - ports[ports[:, 1] < 0][:, 1].mean() - e.design["spacing"]) < 1e-6


def strides():
    """The last posture of a periodic gait is its first one with exchanged legs, one step ahead; the feet show where."""
    for name, mirrored in (("knee", False), ("spatial", True)):
        study = package.open(f"{name}.h5")
        one = motion.motion(study.best.trajectory)
        assert one.stride and one.stride.mirrored == mirrored
        legs = [i for i, point in enumerate(one.point_names) if point != "hip_end"]
        assert [one.stride.order[i] for i in legs] == legs[::-1], one.stride.order
        step = one.points[-1, -1] - one.points[0, 0] * ([1, -1, 1] if mirrored else 1)
        assert np.allclose(one.stride.shift, step, atol=1e-9)
        length = float(study.configuration["design.step-length"])
        assert abs(one.stride.shift[0] - length) < 1e-6
        # Every link is a line of constant length.
        channel = study.best.trajectory["points"]
        assert len(channel.segments) == len(one.segments) == len(legs) - 1
        for a, b in one.segments:
            lengths = np.linalg.norm(one.points[:, a] - one.points[:, b], axis=1)
            assert lengths.min() > 0.05 and np.ptp(lengths) < 1e-9, (a, b, lengths)
        q_units = study.best.trajectory["q"].units
        assert q_units[:2] == ["m", "m"] and q_units[-1] == "rad"
    q = package.open("scene.h5").best.trajectory
    assert motion.motion(q).stride is None
    # A crane that carries a load from rest to rest ends in its first posture, and does not stride; a hopper in flight does.
    for nodes in (8, 40):
        t = np.linspace(0, 2, nodes)
        for way, strides_ in ((3 * t**2 - t**3, False), (2 * t, True)):
            points = np.stack([np.stack([way, 0 * t], 1), np.stack([way + 0.1 * np.sin(np.pi * t / 2) ** 2, -2 + 0 * t], 1)], 1)
            found = motion.stride(points, t)
            assert (found is not None) == strides_, (nodes, found)
            assert found is None or found.order == [0, 1]


def parts():
    """A trunk has neither leg's colour, and a leg keeps its own over the steps; free craft are joined by nothing."""
    names = ["foot", "stance_shank_end", "stance_thigh_end", "trunk_end", "swing_thigh_end", "swing_shank_end"]
    links = [(0, 1), (1, 2), (2, 3), (2, 4), (4, 5)]
    walker = motion.Motion(np.linspace(0, 1, 3), 2, names, np.zeros((3, 6, 2)), links)
    walker.stride = motion.Stride([5, 4, 2, 3, 1, 0], np.array([0.5, 0.0]), False)
    assert [plot.colour_of_segment(walker, a, b) for a, b in links] == ["tab:blue", "tab:blue", "0.35", "tab:orange", "tab:orange"]
    _, order = plot.stepped(walker, walker.points[0], 1)
    assert [plot.colour_of_segment(walker, order[a], order[b]) for a, b in links] == ["tab:orange", "tab:orange", "0.35", "tab:blue", "tab:blue"]

    def channel(name, names_, values):
        return package.Channel(name, np.asarray(values, float), names_, ["m"] * len(names_), "")

    t = np.linspace(0, 1, 4)[:, None]
    poses = [f"{body} {axis}" for body in ("target", "chaser") for axis in ("x", "y", "angle")]
    square = [[b, 0, x, y] for b in (0, 1) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    craft = package.Trajectory({
        "t": channel("t", ["t"], t), "poses": channel("poses", poses, np.hstack([t] * 6)), "shapes": channel("shapes", ["body", "part", "x", "y"], square),
        "points": channel("points", ["root_x", "root_y", "target_end_x", "target_end_y", "chaser_end_x", "chaser_end_y"], np.hstack([t] * 6)),
    })  # fmt: skip
    one = motion.motion(craft)
    assert one.segments == [] and one.points is None and len(one.shapes) == 2


def bodies():
    """Bodies that fell on a floor lie on it: no corner is below, and of each body that rests one touches."""
    one = motion.motion(package.open("scene.h5").best.trajectory)
    assert len(one.shapes) == len(one.body_names) == 8
    last = one.corners(len(one.t) - 1)
    heights = [corners[:, 2].min() for shape, corners in zip(one.shapes, last) if one.body_names[shape.body] != "floor"]
    assert min(heights) > -1e-4, heights


def hulls():
    """Faces of convex bodies: Euler's formula, outward order, flatness, and the closed surface's zero vector area."""
    cube = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    octahedron = np.concatenate([np.eye(3), -np.eye(3)]) * 0.2
    angles = np.arange(6) * np.pi / 3
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    prism = np.concatenate([np.c_[ring, np.full(6, h)] for h in (-1, 1)])
    turn = motion.rotation(np.array([0.3, 0.5, -0.4, 0.7]))
    assert np.allclose(turn @ turn.T, np.eye(3)) and abs(np.linalg.det(turn) - 1) < 1e-12
    for corners, count in ((cube, 6), (octahedron, 8), (prism, 8)):
        corners = corners @ turn.T + [0.1, -3, 2]
        found = motion.faces(corners)
        assert len(found) == count
        edges = sum(map(len, found)) // 2
        assert len(corners) - edges + len(found) == 2
        area = np.zeros(3)
        for ring in found:
            at = corners[ring]
            normal = sum(np.cross(at[k] - at[0], at[(k + 1) % len(at)] - at[0]) for k in range(1, len(at)))
            assert (normal @ (at.mean(axis=0) - corners.mean(axis=0))) > 0
            area += normal
        assert np.allclose(area, 0, atol=1e-9)
    square = motion.faces(np.array([[0, 0], [1, 1], [1, 0], [0, 1]], float))
    assert len(square) == 1 and sorted(square[0]) == [0, 1, 2, 3]


def large():
    """A thousand motions fit in a page of 1.5 megabytes, the best ones first."""

    def evaluation(k):
        t = np.linspace(0, 1, 81)
        points = np.random.default_rng(k).normal(size=(81, 5, 2))
        one = motion.Motion(t, 2, list("abcde"), points, [(0, 1)])
        one.series = [motion.Series("u", "N", list("abcd"), points[:80, :4, 0])]
        return k, one

    made = report.budgeted([evaluation(k) for k in range(1000)], report.motion_data, report.NODES, report.PAGE_BYTES - report.FIXED_BYTES)
    assert report.size(list(made.values())) < report.PAGE_BYTES - report.FIXED_BYTES
    assert len(unpacked(made[0]["t"])) == 81, "the best one is whole"
    assert len(made) == 1000 and len(unpacked(made[999]["t"])) >= 10


def scenarios():
    """Each scenario has its motion and its cost; the study's is the mean of what they cost, relative to references."""
    study = package.open("tasks.h5")
    best, names = study.best, ["slow", "fast", "uphill"]
    assert best.trajectory.scenarios == names
    relative = []
    for name in names:
        own = best.trajectory.scenario(name)
        step = own.points[-1, -2] - own.points[0, 0]
        assert abs(step - float(study.configuration[f"scenario.{name}.step-length"])) < 1e-6 and len(motion.motion(own).t) == 21
        cost = best.metrics[f"{name}:cost"]
        # squared torque per weight and distance; 17.6 kg
        assert abs(cost - best.metrics[f"{name}:squared_torque"] / (17.6 * 9.81 * step)) < 1e-9
        relative.append(cost / float(study.configuration[f"scenario.{name}.reference"]))
    assert abs(best.cost - sum(relative) / 3) < 1e-12
    data = data_of(open("tasks.html", encoding="utf-8").read())
    assert data["scenarios"] == names and set(data["others"]) == {"fast", "uphill"}
    assert all(str(best.id) in data["others"][name] for name in data["others"])
    assert any("uphill" in line and "times its reference" in line for line in summary.summary(study))
    dodyn_here("plot", "tasks.h5", "--what", "cost,strobe", "--output", "tasks.png")
    dodyn_here("plot", "tasks.h5", "--scenario", "fast", "--what", "series", "--output", "fast.png")
    dodyn_here("animate", "tasks.h5", "--scenario", "uphill", "--rate", "5", "--steps", "1", "--output", "up.gif")
    dodyn_here("plot", "tasks.h5", "--scenario", "fsat", code=2)


def plain(study):
    """The page as it is where no library is installed."""
    kept, report.LIBRARIES = report.LIBRARIES, {name: (package_, ["/nowhere"]) for name, (package_, _) in report.LIBRARIES.items()}
    try:
        return report.page([study])
    finally:
        report.LIBRARIES = kept


def plain_pages():
    """Without the libraries: no script, every row, and pictures that stand still."""
    for name in ("knee", "spatial", "scene", "front", "failing", "tasks"):
        study = package.open(f"{name}.h5")
        page = plain(study)
        Nesting(page)
        assert "<script" not in page and "plain page" in page and "not installed" in page
        body = page[page.index('<table class="evaluations">') :]
        assert body[: body.index("</table>")].count("<tr>") == len(study) + 1
        assert page.count("<svg") >= 2 + (name in ("knee", "spatial", "scene", "tasks"))
        if name in ("knee", "spatial"):  # postures are lines from joint to joint; none starts at the origin, which has no joint
            one = motion.motion(study.best.trajectory)
            picture = page[page.index("<h2>Motion</h2>") :]
            assert picture[: picture.index("</svg>")].count('stroke-width="2"') == 9 * len(one.segments)


def constraints():
    """What violates a constraint is drawn hollow; a variable that stands for names shows them."""
    page = plain(package.open("beam.h5"))
    with h5py.File("beam.h5") as file:
        metrics = file["evaluations/metrics"]
        sag, cost, design = metrics[:, list(metrics.attrs["names"]).index("sag")], file["evaluations/cost"][:], file["evaluations/design"]
        material = design[:, list(design.attrs["names"]).index("material")].astype(int)
    broken = int((sag > 4).sum())
    assert 0 < broken < len(sag)
    charts = 1 + 5  # the history, and each variable
    assert page.count('fill="#fff" stroke="#') == broken * charts, (page.count('fill="#fff" stroke="#'), broken)
    assert len(re.findall(r"<td[^>]*>violates sag ≤ 4 \(", page)) == broken + 1  # and one line for all
    best = int(np.where(sag <= 4, cost, np.inf).argmin())
    names = ["steel", "aluminium", "titanium"]
    assert f"material = {names[material[best]]}, " in summary.headline(package.open("beam.h5"))
    for k, name in enumerate(names):
        assert page.count(f"<td>{name}</td>") == (material == k).sum()


def answers():
    """The top of the page: the question, the answer, its interval and gain, and the checks with their verdicts."""
    study = package.open("beam.h5")
    assert checks.asked(study).startswith("Which design has the lowest cost, with sag ≤ 4? Free: height from 0.005 to 0.2, material among steel, aluminium, titanium")
    verdicts = checks.checks(study, None)
    assert [state for state, _ in verdicts] == sorted((state for state, _ in verdicts), key=["bad", "open", "ok"].index)
    assert ("open", "A limit ended the search, so more evaluations may find more (reached study.max-evaluations = 12).") in verdicts, verdicts
    front = package.open("front.h5")  # several objectives: what is said of the range is what the evaluations are
    said = [line for _, line in checks.checks(front, None)]
    assert all(line in said for line in summary.crowding(front)) and ("The evaluations fill the range." in said) == (not summary.crowding(front)), said
    knee = package.open("knee.h5")
    middle = 0.5 * (knee.variables[0].lower + knee.variables[0].upper)
    value = np.interp(middle, knee.curves["grid"], knee.curves["value"][-1])
    near = [e.cost for e in knee if abs(e.design["knee"] - middle) <= 0.02 * (knee.variables[0].upper - knee.variables[0].lower)]
    assert f"the cost is {summary.number(near[0] if near else value, 4)} " in checks.gain(knee, None), (checks.gain(knee, None), value, near)
    noisy = package.open("noisy.h5")
    low, high, whose = checks.interval(noisy, noisy.recommended)
    of = noisy.iterations[-1].diagnostics
    middle, half = of["recommended_cost"] + of["recommended_optimism"], 1.96 * math.hypot(of["recommended_deviation"], of["recommended_optimism"])
    assert whose == "the model's" and abs(low - (middle - half)) < 1e-12 and abs(high - (middle + half)) < 1e-12, (low, high, whose, of)
    other = next(e for e in noisy if e.design != noisy.recommended.design and len(noisy.repeats(e)) == 1)
    low, high, _ = checks.interval(noisy, other)
    assert abs((high - low) / 2 - 1.96 * other.cost_stderr) < 1e-12
    failing = package.open("failing.h5")
    failed = sum(1 for e in failing if not e.ok)
    assert f"{len(failing) - failed} of {len(failing)} evaluations have a cost." in [line for _, line in checks.checks(failing, None)]
    # Why evaluations failed: each cause with its count, an example, and the command that repeats it. Whether it is worth continuing.
    groups = checks.failures(failing)
    assert sum(len(ids) for _, _, ids in groups) == failed > 0, groups
    row_of = {e.id: e for e in failing}
    for status, why, ids in groups:
        assert all(row_of[k].status == status for k in ids) and row_of[ids[0]].reason == why, (status, why, ids)
    page = open("failing.html", encoding="utf-8").read()
    assert "Why did evaluations fail?" in page and html.escape(groups[0][1]) in page and f"dodyn show failing.h5 --evaluation {groups[0][2][0]}" in page
    assert "Why did evaluations fail?" not in open("knee.html", encoding="utf-8").read() or checks.failures(knee)

    # A coarse grid ends on a slope; a cost below zero is not a percentage of one above it.
    assert "per unit of x" in " ".join(summary.warnings(failing)) and checks.worth_continuing(failing).startswith("Perhaps. The search ended by its own rule: swept")
    assert failing.recommended.cost < 0 and "%" not in checks.gain(failing, None) and checks.gain(failing, None)

    length = types.SimpleNamespace(name="x", unit="m", lower=0.0, upper=1.0, choices=[])
    assert [checks.within(length, *ends) for ends in ((0.65, 0.65), (0.55, 0.561), (0.01, 1))] == ["about 0.65 m", "0.55 to 0.561 m", "anywhere in its range"]

    class Costs(list):
        finished, stop_reason, feasible, objectives, recommended = True, "", staticmethod(lambda e: True), ["cost"], None
        variables, configuration = [length], {}

    def continuing(costs, reason, noise=0.0, finished=True, at=None, ending="finished"):
        study = Costs(types.SimpleNamespace(id=k, ok=math.isfinite(c), cost=c, cost_stderr=noise) for k, c in enumerate(costs))
        study.finished, study.stop_reason, study.ending = finished, reason, "limit" if reason == limit else ending
        study.recommended = None if at is None else types.SimpleNamespace(design={"x": at}, gradient={}, cost=min(costs))
        return checks.worth_continuing(study)

    limit = "reached study.max-evaluations = 9"
    assert continuing([5, 4, 3, 3, 3, 3, 3, 2.4, 3], limit).startswith("Yes. A limit ended the search: reached study.max-evaluations = 9. Its last 3 evaluations lowered the cost by 20 %.")
    assert continuing([5, 4, 3, 3, 3, 3, 3, 3, 3], limit).startswith("Probably not.")
    assert "Its last 1 usable evaluation lowered the cost by 25 %." in continuing([5, math.nan, 4, math.nan, 3, math.nan], limit)
    assert "Its last 2 evaluations lowered the cost by 100 %." in continuing([5, 4, 4, 4, 0, 0], limit)
    assert continuing([5, 0, 0, 0, -2, -2], limit).startswith("Yes. ") and "lowered the cost by 2." in continuing([5, 0, 0, 0, -2, -2], limit)
    assert continuing([5, 0, 0, 0, 0, 0], limit).startswith("Probably not.")
    assert continuing([5, 4, 3, 3, 3, 3, 3, 2.4, 3], limit, noise=1.0).startswith("Perhaps.")
    assert continuing([5, 4], limit).startswith("Perhaps.")
    assert continuing([5, 4, 3], "optimum inside the bounds").startswith("No. The search ended by its own rule")
    assert continuing([5, 4, 3], "optimum at the upper bound", at=1.0).startswith("Not in this range.") and continuing([5, 4, 3], "optimum inside the bounds", at=0.5).startswith("No.")
    same = continuing([5, 5, 5], "the cost is the same wherever it was evaluated", ending="equal_costs")
    assert same.startswith("Perhaps. The search found no difference between designs"), same
    open_end = continuing([5, 4, 3], "most of the design range is undecided: the surrogate expects no further gain", ending="undecided")
    assert open_end.startswith("Perhaps. The search found no further gain, but its model is too uncertain"), open_end
    failing.ending = "interrupted"  # neither ended nor without an ending
    assert not [line for _, line in checks.checks(failing, None) if "study ended" in line or "not ended" in line]
    failing.ending = "finished"
    # No other end is a rule of the search.
    for ending, answer in (("repeated", "Yes. The search has not received the results of repeated evaluations: "), ("failed", "Not before the cause of the failures is mended: "), ("interrupted", "Yes. "), ("", "Perhaps. ")):
        assert continuing([5, 4, 3], "why", ending=ending).startswith(answer), ending

    # The range of 30 costs of one mean is four standard errors.
    def noisy(mean, seed=1, count=30):
        random = np.random.default_rng(seed)
        rows = Costs(types.SimpleNamespace(ok=True, design={"x": x}, cost=mean(x) + random.normal(0, 0.1), cost_stderr=0.1) for x in np.linspace(0, 1, count))
        rows.pooled = lambda e: (e.cost, e.cost_stderr)
        return rows

    for mean, different in ((lambda x: 1.0, False), (lambda x: x, True)):
        assert np.ptp([e.cost for e in noisy(mean)]) > 4 * 0.1
        assert summary.costs_differ(noisy(mean)) == different
    for count in (2, 5, 30):  # by sampling: the test has a level of 1 %, so 1 % of sets with equal means differ
        share = np.mean([summary.costs_differ(noisy(lambda x: 1.0, seed, count)) for seed in range(4000)])
        assert abs(share - 0.01) < 4 * math.sqrt(0.01 * 0.99 / 4000), (count, share)
    assert not any("within the uncertainty" in line for _, line in checks.checks(failing, None))  # exact costs, without a model: nothing compares them
    assert continuing([5, 4, 3], "", finished=False).startswith("Yes. The study has not ended")
    assert checks.worth_continuing(knee) in re.sub(r"<[^>]+>", "", open("knee.html", encoding="utf-8").read()).replace("&#x27;", "'")
    docking = package.open("docking.h5")
    low, high, whose = checks.interval(docking, docking.recommended)
    said = dodyn("show", "docking.h5")
    stated = [float(end) for end in re.search(r"\(95 %: (\S+) to (\S+)\)", said).groups()]
    assert whose == "the model's" and np.allclose([low, high], stated, rtol=1e-4), (low, high, stated)  # its own cost is low partly by luck
    assert "95 % interval of its cost, by the surrogate model" in open("docking.html", encoding="utf-8").read()
    low, high, whose = checks.interval(docking, next(e for e in docking if e.id != docking.recommended.id and e.ok))
    assert whose == "Wilson's", whose


def recommended():
    """The page and the sentences speak of the design that the program recommends, of a front where there are several objectives."""
    study, page = package.open("noisy.h5"), open("noisy.html", encoding="utf-8").read()
    headline, told = summary.headline(study), " ".join(summary.summary(study))
    assert headline.startswith(f"Recommended design: x = {study.recommended.design['x']:.5g}, ") and f"(evaluation {study.recommended.id})" in headline
    assert f"The lowest cost, noise included, has x = {study.lowest.design['x']:.5g}" in told, told
    assert "Best design" not in page and headline in page
    assert not LIBRARIES or data_of(page)["best"] == study.recommended.id
    study, page = package.open("front.h5"), open("front.html", encoding="utf-8").read()
    assert summary.headline(study) == f"Front of cost and work: {len(study.front)} designs that no other one beats in both."
    assert "Best design" not in page and "ecommended" not in page.split("<script")[0]
    assert not LIBRARIES or data_of(page)["front"] == [e.id for e in study.front]
    page = plain(study)
    for e in study.front:
        assert page.count(f'<td class="n">{summary.number(e.metrics["work"], 6)}</td>') >= 2
    dodyn_here("plot", "noisy.h5", "--what", "cost", "--output", "noisy.svg")
    dodyn_here("plot", "front.h5", "--output", "front.svg")
    dodyn_here("plot", "front.h5", "--what", "pairs,parallel,history", "--output", "front.png")
    dodyn_here("report", "noisy.h5", "front.h5", "--output", "several.html")
    page = open("several.html", encoding="utf-8").read()
    assert f"front of {len(study.front)}" in page and "<td>recommended</td>" in page


def hostile():
    """Texts of an archive stay texts: the page has the same elements as before, and nothing of them in its script's data."""

    def elements(page):
        found = []

        class Elements(html.parser.HTMLParser):
            def handle_starttag(self, name, attributes):
                found.append((name, sorted(key for key, _ in attributes)))

        Elements().feed(page)
        return found

    for name in ("knee", "docking"):
        shutil.copy(f"{name}.h5", f"hostile-{name}.h5")
        make_hostile(f"hostile-{name}.h5")
        dodyn_here("report", f"hostile-{name}.h5")
        page = open(f"hostile-{name}.html", encoding="utf-8").read()
        Nesting(page)
        assert HOSTILE not in page and "<img" not in page and "<!--" not in page
        kinds = {tag for tag, _ in elements(page)} - {"details", "summary"}
        assert kinds <= {tag for tag, _ in elements(open(f"{name}.html", encoding="utf-8").read())}, kinds
        assert HOSTILE in json.dumps(data_of(page), ensure_ascii=False).replace('\\"', '"')
        dodyn_here("plot", f"hostile-{name}.h5", "--output", "hostile.svg")
        assert "<img" not in open("hostile.svg", encoding="utf-8").read()


def labels():
    """A label is at no bound."""
    study = package.open("beam.h5")
    steel = min(study, key=lambda e: e.design["material"])
    assert steel.design["material"] == 0 and "material" not in [v.name for v, _ in summary.at_bounds(study, steel)]


def whole_numbers():
    """A page of a study whose only variable is a whole number; of one that the time limit ended; and of one without evaluations."""
    with open("whole.cfg", "w") as file:
        file.write('[study]\nevaluator = command\n[command]\nrun = echo "{\\"cost\\": $(( ($DODYN_N - 6) * ($DODYN_N - 6) ))}" > "$DODYN_RESULT_FILE"\n'
                   "[design]\nn.min = 0\nn.max = 8\n[surrogate]\nintegers = n\n")  # fmt: skip
    dodyn("run", "whole.cfg")
    dodyn_here("report", "whole.h5")
    with open("whole.html") as file:
        page = file.read()
    assert "not one of the variable's values; the nearest is 3" in dodyn("predict", "whole.h5", "--design.n", "3.4", code=2)
    assert "n = 6" in page and package.open("whole.h5").ending == "finished"
    dodyn("run", "whole.cfg", "--study.archive", "none.h5", "--study.wall-time", "1", code=3)
    none = package.open("none.h5")
    assert none.ending == "interrupted" and "no time to evaluate" in none.stop_reason, none.stop_reason
    if not len(none):  # an evaluation may have begun before the clock was read
        assert checks.checks(none, None) == [("open", "The archive has no evaluation.")]
    os.remove("none.h5")


def sentences():
    study = package.open("failing.h5")
    assert summary.headline(study).startswith("Best design: x = ")
    assert any("2 failed" in line for line in summary.summary(study))
    knee = package.open("knee.h5")
    lines = summary.warnings(knee)
    flexion = knee.best.metrics["min_knee_flexion"]
    assert (flexion < 0) == any("overextends" in line for line in lines)
    # A minimum at a bound is called one.
    at = package.open("command.h5")
    corner = min(at, key=lambda e: e.design["x"])
    assert [(v.name, side) for v, side in summary.at_bounds(at, corner)][0] == ("x", "lower")


def compared():
    os.makedirs("other", exist_ok=True)
    shutil.copy("knee.h5", "other/knee.h5")
    dodyn_here("report", "knee.h5", "other/knee.h5", "-o", "same.html")
    assert "other/knee</a>" in open("same.html", encoding="utf-8").read(), "two files of one name have different names"
    dodyn_here("report", "knee.h5", "spatial.h5", "-o", "two.html")
    page = open("two.html", encoding="utf-8").read()
    assert page.count('id="study-') == 2 and page.count("<h1>") == 3 and "gait.model" in page
    assert data_of(page, 0)["best"] is not None and data_of(page, 1)["best"] is not None


def plots():
    for name, what in (("knee", "cost,strobe,series,history"), ("spatial", "strobe"), ("docking", "outcomes,map"),
                       ("scene", "strobe,series"), ("command", "parallel,pairs,history"), ("failing", None)):  # fmt: skip
        chosen = ["--what", what] if what else []
        dodyn_here("plot", f"{name}.h5", *chosen, "--output", f"{name}.png")
        assert open(f"{name}.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n"
    # A list of names has its names at an axis; a cost that violates a constraint has another mark than the best.
    dodyn_here("plot", "beam.h5", "--what", "pairs,history,parallel", "--output", "beam.svg")
    words = re.findall(r"<!-- (.*?) -->", open("beam.svg").read())
    assert {"steel", "aluminium", "titanium", "violates a constraint", "steel … titanium"} <= set(words), words
    dodyn("plot", "knee.h5", "--output", "one.svg")
    dodyn_here("plot", "knee.h5", "--output", "two.svg")
    assert open("one.svg").read() == open("two.svg").read()
    both = open("one.svg").read()
    assert re.search(r"@media \(prefers-color-scheme: dark\) \{#(\w+) ", both)[1] in re.findall(r'<g id="(\w+)">', both)  # the dark scheme
    dodyn("animate", "knee.h5", "--rate", "5", "--steps", "1", "--output", "knee.gif")
    assert open("knee.gif", "rb").read(6) == b"GIF89a"
    dodyn_here("animate", "docking.h5", "--initial-state", "2", "--rate", "5", "--output", "run.SVG")
    dodyn_here("animate", "spatial.h5", "--view", "orbit", "--rate", "5", "--output", "spatial.svg")
    film = open("spatial.svg").read()
    assert film.count("<g style") > 4 and "script" not in film


def refusals():
    for line in (
        ["report", "none.h5"],
        ["report", "knee.h5", "--what"],
        ["report", "knee.h5", "--follow", "--every", "-1"],
        ["report", "knee.h5", "--follow", "--every", "nan"],
        ["report", "knee.h5", "-o", "knee.h5"],
        ["report", "knee.h5", "-o", "no/such/folder.html"],
        ["plot", "knee.h5", "--what", "gost"],
        ["plot", "knee.h5", "--evaluation", "99"],
        ["plot", "command.h5", "--what", "strobe"],
        ["plot", "command.h5", "--what", "cost"],
        ["animate", "knee.h5", "--output", "film.txt"],
        ["animate", "knee.h5", "--initial-state", "3"],
        ["animate", "knee.h5", "--speed", "-1"],
        ["animate", "knee.h5", "--rate", "inf"],
        ["animate", "knee.h5", "--speed", "1e-300"],
        ["animate", "knee.h5", "-o", "no/such/folder.gif"],
        ["plot", "knee.h5", "-o", "no/such/folder.png"],
        ["plot", "knee.h5", "--what", "cost", "--background", "beam.h5"],
        ["plot", "knee.h5", "--what", "strobe", "--background", "knee.h5"],  # no panel would use it
        ["plot", "knee.h5", "--channel", "u"],
        ["plot", "beam.h5", "--what", "pairs", "--evaluation", "1"],
        ["plot", "docking.h5", "--what", "outcomes", "--overlay", "knee.h5"],
        ["plot", "failing.h5", "--what", "strobe"],  # its trajectories have neither points nor bodies
    ):
        dodyn_here(*line, code=2)
    assert dodyn_here("plot", "knee.h5", "-o", "no/such/folder.png", code=2) == "dodyn: no/such/folder.png: cannot be written: No such file or directory\n"
    dodyn("plot", "knee.h5", "--evaluation", "99", code=2)
    package.open("knee.h5")  # still there
    refused = dodyn_here("plot", "tasks.h5", "--scenario", "fst", code=2)
    assert "no scenario 'fst'; there are slow, fast, uphill" in refused, refused
    try:
        package.open("tasks.h5").best.trajectory["q"]
        raise AssertionError("a channel of no scenario")
    except KeyError as error:
        assert error.args[0] == "no channel 'q'; each scenario has its own: scenario('slow').q", error
    # A disk without room: the earlier picture and film stay, and nothing else is left.
    dodyn_here("plot", "knee.h5", "-o", os.devnull)
    assert not os.path.isfile(os.devnull)
    before = {name: open(name, "rb").read() for name in ("one.svg", "knee.png", "knee.gif", "run.SVG")}
    files = set(os.listdir("."))
    with mock.patch("os.replace", side_effect=OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))):
        for line in (["plot", "knee.h5", "-o", "one.svg"], ["plot", "knee.h5", "-o", "knee.png"], ["animate", "knee.h5", "-o", "knee.gif"],
                     ["animate", "docking.h5", "--initial-state", "2", "--rate", "5", "-o", "run.SVG"]):  # fmt: skip
            assert "No space left" in dodyn_here(*line, code=2)
    assert {name: open(name, "rb").read() for name in before} == before and set(os.listdir(".")) == files
    assert "--view" in dodyn("animate", "--help")


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make(*NAMES)
    for test in (reports, numbers, strides, parts, bodies, hulls, large, scenarios, plain_pages, constraints, answers, recommended, hostile, labels, whole_numbers, sentences, compared, plots, refusals):
        test()
        print(test.__name__, "ok", flush=True)
