"""The Python package reads the same contents as `dodyn show`. Usage: reader.py DODYN"""

import csv
import io
import json
import math
import os
import re
import sys
import tempfile
from dataclasses import replace

from studies import ROOT, dodyn, make

try:
    import h5py
    import numpy as np

    import dodyn as package
except ImportError:
    sys.exit(77)  # skipped


def same(a, b):
    return a == b or (math.isnan(float(a)) and (b is None or math.isnan(float(b))))


def rows_agree(path):
    study, told = package.open(path), json.loads(dodyn("show", path, "--json"))
    assert len(study) == len(told["evaluations"]) > 0
    for e, row in zip(study, told["evaluations"]):
        for name in ("id", "warm_start_id", "status", "cause", "reason", "wall_time", "rank", "host", "start_time", "seed"):
            assert getattr(e, name) == row[name], (name, e, row)
        assert same(e.cost, row["cost"]) and e.design == row["design"]
        for name, values in (("gradient", e.gradient), ("metrics", e.metrics)):
            assert all(same(values.get(key, math.nan), value) for key, value in row.get(name, {}).items())
    assert study.configuration == told["provenance"]["configuration"]
    assert study.stop_reason == told["stop_reason"] and study.ending == told["ending"] and study.schema == told["schema"] and study.created == told["created"]
    assert [v.name for v in study.variables] == [v["name"] for v in told["variables"]]
    assert [(m.name, m.unit) for m in study.metrics] == [(m["name"], m["unit"]) for m in told["metrics"]]
    assert [(e.time, e.kind, e.text) for e in study.events] == [(e["time"], e["kind"], e["text"]) for e in told["events"]]
    assert study.machine == told["provenance"]["machine"]
    assert len(study.iterations) == len(told["iterations"])
    for one, row in zip(study.iterations, told["iterations"]):
        assert one.best_id == row["best_id"] and one.note == row["note"]
        assert one.diagnostics == {k: float(v) for k, v in row["diagnostics"].items()}
        assert [{k: None if math.isnan(v) else v for k, v in c.items()} for c in one.candidates] == \
            [{k: None if v is None else float(v) for k, v in c.items()} for c in row["candidates"]]  # "inf" is a text
    # The program and the package recommend the same evaluation.
    assert (study.recommended.id if study.recommended else None) == told["recommended"]
    assert told.get("front", []) == ([e.id for e in study.front] if len(study.objectives) > 1 else [])
    best = study.best
    assert best is study.recommended
    if len(study.objectives) > 1:
        return study
    assert (f"(evaluation {best.id})" if best else "best: none") in dodyn("show", path)
    return study


def causes():
    """The cause of a failure is the design, unless the rank was lost or the time limit was reached. If attempts were
    lost on two hosts, the cause is the design too."""
    study = package.open("failing.h5")
    assert all(e.cause == {"ok": "none", "failed": "design"}[e.status] for e in study)
    one = study.evaluations[0]
    assert replace(one, status="timed_out").cause == "study"
    for host, reason, cause in (("a", "", "machine"), ("b", "", "design"), ("b", "machine: no memory", "machine")):
        earlier = replace(one, status="lost", host="a")
        assert replace(one, status="lost", host=host, reason=reason, attempts=(earlier,)).cause == cause


def trajectories_agree(path):
    study = package.open(path)
    for e in study:
        told = json.loads(dodyn("show", path, "--evaluation", str(e.id), "--json"))
        trajectory = e.trajectory
        assert bool(trajectory) == ("trajectory" in told)
        for name, channel in told.get("trajectory", {}).items():
            assert trajectory[name].names == list(channel["values"])
            for column, values in channel["values"].items():
                wanted = np.array([math.nan if v is None else v for v in values])
                assert np.array_equal(trajectory[name].column(column), wanted, equal_nan=True), (name, column)
            assert np.array_equal(getattr(trajectory, name), trajectory[name].values, equal_nan=True)


def csv_agrees():
    """A trajectory in a CSV file is the one in the archive."""
    study = package.open("knee.h5")
    from dodyn.archive import read_csv

    best = study.best
    with open("gait.csv", "w") as file:
        file.write(dodyn("show", "knee.h5", "--evaluation", str(best.id), "--csv"))
    read = read_csv("gait.csv")
    for name in ("t", "q", "u", "points"):
        assert np.array_equal(read[name].values, best.trajectory[name].values), name
        assert read[name].names == best.trajectory[name].names


def frames_agree():
    """to_pandas() and to_xarray() hold the same numbers."""
    study = package.open("failing.h5")
    try:
        import pandas
    except ImportError:
        print("no pandas")
    else:
        frame = study.to_pandas()
        rows = list(csv.DictReader(io.StringIO(dodyn("show", "failing.h5", "--csv"))))
        assert len(frame) == len(rows)
        for (identity, row), told in zip(frame.iterrows(), rows):
            assert identity == int(told["id"]) and row["status"] == told["status"]
            assert same(row["cost"], float(told["cost"])) and row["x"] == float(told["design.x"])
        assert isinstance(frame["start_time"].iloc[0], pandas.Timestamp)
    try:
        import xarray  # noqa: F401
    except ImportError:
        print("no xarray")
    else:
        data = study.to_xarray()
        assert np.array_equal(data["cost"], [e.cost for e in study], equal_nan=True)
        best = study.best
        picked = data.sel(evaluation=best.id)
        assert float(picked["design"].sel(variable="x")) == best.design["x"]
        assert np.array_equal(picked["q"], best.trajectory.q) and list(data["q_coordinate"]) == best.trajectory["q"].names
        assert (data["status"] == "failed").sum() == 2


def refusals():
    for path, content in (("none.h5", None), ("text.h5", b"no archive"), ("cut.h5", open("knee.h5", "rb").read()[:3000])):
        if content:
            open(path, "wb").write(content)
        try:
            package.open(path)
        except package.ArchiveError as error:
            assert str(error).startswith(path) and "\n" not in str(error), error
        else:
            raise AssertionError(f"{path} was read")
    import h5py

    with h5py.File("other.h5", "w") as file:
        file["x"] = 1
    try:
        package.open("other.h5")
    except package.ArchiveError as error:
        assert "not a dodyn archive" in str(error)
    assert package.open("knee.h5").trajectory(0)
    try:
        package.open("knee.h5").best.trajectory.torque
    except AttributeError as error:
        assert "there are t, q, p, u" in str(error)


def appended_while_read():
    """An append after a file was opened and before its rows are read: HDF5 finds addresses beyond the end that it
    knows, and the file is read again."""
    with open("grown.cfg", "w", encoding="utf-8") as file:
        file.write("[study]\nevaluator = testfunction\nmax-evaluations = 4\n[surrogate]\nstrategy = sweep\n[design]\nx.min = 0\nx.max = 1\n")
    dodyn("run", "grown.cfg")
    before = open("grown.h5", "rb").read()
    dodyn("run", "grown.h5", "--study.max-evaluations", "400")
    after = open("grown.h5", "rb").read()
    rows = len(package.open("grown.h5"))
    assert len(after) > len(before) and rows > 4
    from dodyn import archive

    how_to_open, opened = archive.open_to_read, []

    def open_then_append(path):
        if opened:
            return how_to_open(path)
        opened.append(h5py.File(path, "r"))
        with open(path, "r+b") as file:
            file.write(after)
        return opened[0]

    motion = package.open("grown.h5").trajectory(3)["value"].values
    for read, expected in (
        (lambda: len(package.open("grown.h5")), rows),
        (lambda: early.trajectory(3)["value"].values.tolist(), motion.tolist()),
    ):
        opened.clear()
        with open("grown.h5", "wb") as file:
            file.write(before)
        early = package.open("grown.h5")
        archive.open_to_read = open_then_append
        try:
            found = read()
        finally:
            archive.open_to_read = how_to_open
        assert found == expected and opened, (found, expected)


def configuration():
    from dodyn.archive import parse_configuration, parse_constraints

    written = "a = b\ncommand.run = echo \\\\ \\n = 1\nodd\\=key = x\n"
    assert parse_configuration(written) == {"a": "b", "command.run": "echo \\ \n = 1", "odd=key": "x"}
    assert parse_constraints("0.2 <= lean <= 0.5, speed = 1 +- 0.25") == [
        ("lean", False, 0.2), ("lean", True, 0.5), ("speed", False, 0.75), ("speed", True, 1.25)]
    assert parse_constraints("work <= 3, force >= -1e2") == [("work", True, 3.0), ("force", False, -100.0)]


def recommended():
    """Noisy costs: the recommended evaluation is not the one of lowest cost. Two objectives: none is recommended, and
    the front is the result."""
    noisy = package.open("noisy.h5")
    assert noisy.noisy and noisy.recommended.id != noisy.lowest.id and noisy.recommended.cost > noisy.lowest.cost
    said = dodyn("show", "noisy.h5")
    assert f"recommended: x = {noisy.recommended.design['x']:.8g} (evaluation {noisy.recommended.id})" in said, said
    assert f"lowest cost seen, noise included: {noisy.lowest.cost:.12g}" in said, said
    # without a design, `dodyn predict` predicts at the recommended design
    nearest = json.loads(dodyn("predict", "noisy.h5", "--json"))
    assert nearest["design"]["x"] == noisy.recommended.design["x"] and nearest["nearest"] == noisy.recommended.id
    # a sweep has no model: its last iteration has the design that a model of all evaluations prefers
    dodyn("run", "noisy.cfg", "--strategy", "sweep", "--surrogate.points", "40", "--study.max-evaluations", "40", "--study.archive", "swept.h5")
    swept = package.open("swept.h5")
    assert swept.recommended.id == json.loads(dodyn("show", "swept.h5", "--json"))["recommended"] != swept.lowest.id
    assert abs(swept.recommended.design["x"] - 1) < abs(swept.lowest.design["x"] - 1)  # the costs are 0.2 (x - 1)^2 and noise
    front = package.open("front.h5")
    assert front.recommended is None and front.best is None and len(front.front) > 3 and front.objectives == ["cost", "work"]
    values = [(e.cost, e.metrics["work"]) for e in front.front]
    assert values == sorted(values) and [w for _, w in values] == sorted((w for _, w in values), reverse=True)
    for e in front:
        beaten = any(c <= e.cost and w <= e.metrics["work"] and (c, w) != (e.cost, e.metrics["work"]) for c, w in values)
        assert beaten != (e in front.front)
    assert "front of" in repr(front) and "best" in repr(noisy)


def cost_limit():
    """A constraint on the cost counts like one on a metric."""
    from dodyn import summary

    study = package.open("limited.h5")
    satisfies = [e for e in study if e.cost <= 2 and e.metrics["work"] <= 3]
    assert study.recommended and study.recommended in satisfies and study.lowest is min(satisfies, key=lambda e: e.cost)
    assert study.recommended.id == json.loads(dodyn("show", "limited.h5", "--json"))["recommended"]
    expensive = [e for e in study if e.cost > 2]
    assert expensive
    for e in expensive:
        assert not study.feasible(e) and f"violates cost ≤ 2 ({summary.number(e.cost)})" in summary.reason(study, e)


def slides():
    """A walker with sliding knees: their controls are forces, and pictures label them so."""
    text = open(os.path.join(ROOT, "models", "planar-biped.model"), encoding="utf-8").read()
    for old, new in (("joint = revolute\ncoordinates = stance_knee", "joint = prismatic y\ncoordinates = stance_knee"),
                     ("joint = revolute\ncoordinates = swing_knee", "joint = prismatic y\ncoordinates = swing_knee"),
                     ("from = 0\nto = 130 deg", "from = -0.2\nto = 0"), ("from = -130 deg\nto = 0", "from = 0\nto = 0.2")):  # fmt: skip
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    text = re.sub(r"\[knee \w+\]\n((?!\[).*\n?)*", "", text)
    with open("slide.model", "w") as file:
        file.write(text)
    with open("slide.cfg", "w") as file:
        file.write("[study]\nevaluator = gait\nmax-evaluations = 1\n[gait]\nmodel = slide.model\ninitial-guesses = 1\nintervals = 20\n"
                   "[design]\nstep-length = 0.3\nperiod = 0.8\nleg.min = 0.9\nleg.max = 1.1\n")  # fmt: skip
    dodyn("run", "slide.cfg", "--study.archive", "slide.h5")
    trajectory = package.open("slide.h5").trajectory(0)
    assert trajectory["u"].units == ["N m", "N", "N m", "N"] and trajectory["q"].units == ["m", "m", "rad", "m", "rad", "m"]
    from dodyn import motion

    shown = {series.name: series for series in motion.motion(trajectory).series}["u"]
    assert shown.unit == "" and shown.names == ["stance_contact [N m]", "stance_knee [N]", "hip [N m]", "swing_knee [N]"]
    assert package.open("knee.h5").best.trajectory["u"].units == ["N m"] * 4


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make("knee", "failing", "command", "scene", "docking", "noisy", "front", "limited")
    for name in ("knee", "failing", "command", "scene", "docking", "noisy", "front"):
        rows_agree(f"{name}.h5")
    for name in ("knee", "failing", "docking"):
        trajectories_agree(f"{name}.h5")
    assert {e.status for e in package.open("failing.h5")} == {"ok", "failed"}
    for test in (causes, recommended, cost_limit, slides, csv_agrees, frames_agree, refusals, appended_while_read, configuration):
        test()
        print(test.__name__, "ok", flush=True)
