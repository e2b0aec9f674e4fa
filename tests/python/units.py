"""Units of the reader's choice: the package, pages, pictures and commands convert consistently and name their units. Usage: units.py DODYN"""

import base64
import csv
import gzip
import html
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import urllib.request

from studies import DODYN, ROOT, dodyn, dodyn_here, make

try:
    import numpy as np

    import dodyn as package
    from dodyn import motion, report, summary
except ImportError:
    sys.exit(77)  # skipped

os.environ["DODYN"] = DODYN
UNITS = "mm,deg,N mm,ms"
KNOWN = {"m": ("mm", 1e3), "rad": ("deg", 180 / math.pi), "N m": ("N mm", 1e3), "J": ("N mm", 1e3), "s": ("ms", 1e3)}


def data_of(page):
    found = re.search(r'<script type="application/gzip" class="data" id="data-0">(.*?)</script>', page, re.S)
    return json.loads(gzip.decompress(base64.b64decode(found[1])))


def expected(unit):
    return KNOWN.get(unit, (unit, 1.0))


def close(a, b):
    return np.allclose(a, b, rtol=1e-12, atol=0, equal_nan=True)


def factors():
    """Every unit of the program, alone and in products. The package has no table of its own: it asks the program."""
    from dodyn.units import conversions

    names = re.findall(r"\w+", dodyn("help", "units").split("\n\n")[1])
    assert {"mm", "km", "deg", "h", "MPa", "GB"} <= set(names), names
    for line in dodyn("help", "units").split("\n\n")[1].splitlines():
        first, *others = re.findall(r"\w+", line)
        for other in others:
            there, back = conversions(other, [first])(first), conversions(first, [other])(other)
            assert there[0] == other and back[0] == first and math.isclose(there[1] * back[1], 1, rel_tol=1e-12), (first, other)
            assert math.isclose(conversions(f"A/{other}", [f"A/{first}"])(f"A/{first}")[1], back[1], rel_tol=1e-12)
    assert math.isclose(conversions("deg", ["rad"])("rad")[1], 180 / math.pi, rel_tol=1e-15)
    assert conversions("mm,kg", ["m", "1", "what"]).unused == ("kg",) and conversions("mm", ["what"])("what") == ("what", 1.0)


def package_converts():
    plain, shown = package.open("knee.h5"), package.open("knee.h5", units=UNITS)
    assert plain.units == "" and plain.unused_units == () and shown.unused_units == ()
    for own, other in zip([*plain.variables, *plain.metrics], [*shown.variables, *shown.metrics]):
        unit, factor = expected(own.unit)
        assert other.unit == unit and math.isclose(other.factor, factor) and close([own.lower * factor, own.upper * factor], [other.lower, other.upper]), (own, other)
    knee = shown.variables[0]
    assert knee.label == "knee [mm]" and {"N mm", "deg", "mm"} <= {m.unit for m in shown.metrics}
    for e, f in zip(plain, shown):
        assert math.isclose(f.design["knee"], 1e3 * e.design["knee"]) and f.cost == e.cost and f.wall_time == e.wall_time
        assert not e.gradient or math.isclose(f.gradient["knee"], e.gradient["knee"] / 1e3)
        for m in plain.metrics:
            if e.metrics:
                assert close(f.metrics[m.name], expected(m.unit)[1] * e.metrics[m.name]), m
    assert shown.best.id == plain.best.id
    limits = dict((name, limit) for name, _, limit in plain.constraints)
    assert {name: limit for name, _, limit in shown.constraints} == {"max_torque": 1e3 * limits["max_torque"], "min_knee_flexion": limits["min_knee_flexion"] * 180 / math.pi}
    assert [shown.feasible(e) for e in shown] == [plain.feasible(e) for e in plain]
    assert close(shown.curves["grid"], 1e3 * plain.curves["grid"]) and close(shown.curves["value"], plain.curves["value"])
    for a, b in zip(plain.iterations, shown.iterations):
        assert close(b.next, 1e3 * a.next) and [x["knee"] * 1e3 for x in a.candidates] == [x["knee"] for x in b.candidates]
        assert all(a.candidates[k].get("score") == b.candidates[k].get("score") or math.isnan(a.candidates[k]["score"]) for k in range(len(a.candidates)))
    for own, other in zip(plain.best.trajectory, shown.best.trajectory):
        assert other.units == [expected(unit)[0] for unit in own.units], own.name
        assert close(other.values, own.values * [expected(unit)[1] for unit in own.units]), own.name
        assert np.allclose(other.archived, own.values, rtol=1e-14, atol=0, equal_nan=True)
    # The motion to draw is the same, and names the chosen units.
    a, b = motion.motion(plain.best.trajectory), motion.motion(shown.best.trajectory)
    assert np.allclose(a.points, b.points) and np.allclose(a.t, b.t) and b.length == motion.Scale("mm", 1e3) and b.time.label("t") == "t [ms]"
    assert [s.unit for s in b.series if s.name == "u"] == ["N mm"]
    # The other forms.
    assert "knee [mm]" in shown._repr_html_() and f"knee = {summary.number(shown.best.design['knee'])} mm" in shown._repr_html_()
    assert close(shown.table["knee"], np.array(plain.table["knee"]) * 1e3) and close(shown.table["gradient.knee"], np.array(plain.table["gradient.knee"]) / 1e3)
    try:
        frame = shown.to_pandas()
        assert frame.attrs["units"]["knee"] == "mm" and close(frame["knee"], np.array(plain.table["knee"]) * 1e3)
    except ImportError:
        print("no pandas")
    try:
        data = shown.to_xarray()
        channel = shown.best.trajectory["q"]
        assert data["design"].attrs["units"] == "mm" and data["q"].attrs["units"] == channel.units
        assert close(data["q"].sel(evaluation=shown.best.id).values, channel.values)
    except ImportError:
        print("no xarray")
    # As dodyn show has it.
    rows = list(csv.DictReader(io.StringIO(dodyn("show", "knee.h5", "--csv", "--units", UNITS))))
    for row, e in zip(rows, shown):
        assert math.isclose(float(row["design.knee [mm]"]), e.design["knee"], rel_tol=1e-9), row
        assert not e.metrics or math.isclose(float(row["metrics.max_torque [N mm]"]), e.metrics["max_torque"], rel_tol=1e-9), row


def refused():
    """A word that is not a unit is refused with the program's message. A unit that fits no quantity gives a note.
    Without the program archives are read in their own units only."""
    for units, why in (("furlong", "'furlong' is not a unit; expected units such as deg, mm"), ("mm,cm", "mm and cm measure the same; choose one")):
        try:
            package.open("failing.h5", units=units)
            raise AssertionError(units)
        except package.ProgramError as error:
            assert str(error) == f"units {units}: {why}", error
        for command in ("report", "plot", "watch"):
            assert dodyn_here(command, "failing.h5", "--units", units, code=2) == f"dodyn: command line: --units {units}: {why}\n"
    assert package.open("failing.h5", units="mm").unused_units == ("mm",)
    assert "note: --units mm: nothing in failing.h5 has this dimension\n" in dodyn_here("report", "failing.h5", "--units", "mm")
    assert "note" not in dodyn_here("report", "knee.h5", "--units", "mm", "--output", "short.html")
    assert "--units is for archives" in dodyn_here("plot", "motion.csv", "--units", "mm", code=2)
    assert "unrecognized arguments: --units mm" in dodyn_here("animate", "knee.h5", "--units", "mm", code=2)
    alone = {**os.environ, "DODYN": "/nowhere/dodyn", "PYTHONPATH": os.path.join(ROOT, "python")}
    for words, fine in (("'knee.h5'", True), ("'knee.h5', units='mm'", False)):
        done = subprocess.run([sys.executable, "-c", f"import dodyn; dodyn.open({words})"], env=alone, capture_output=True, text=True)
        assert (done.returncode == 0) == fine and ("no such program" in done.stderr) != fine, done


def own_units_left(page, study):
    """Numbers of a page that still have a unit which the reader replaced. Reasons are texts of the evaluator."""
    for e in study:
        page = page.replace(html.escape(e.reason), "").replace(html.escape(e.reason[:200]), "") if e.reason else page
    text = re.sub(r"<(script|style|pre)\b.*?</\1>", "", page, flags=re.S)
    text = text[: text.index("<h2>Provenance</h2>")] + text[text.index("</table>", text.index("<h2>Provenance</h2>")) :]
    text = re.sub(r'<td class="n">[^<]*</td><td>[^<]*</td></tr>', "", text)  # the time of an evaluation
    return re.findall(r"(?<![\w.])[-\d.]+(?:e-?\d+)? (?:m|rad|N m|J)\b(?!/)|\[(?:m|rad|N m|J)\]", re.sub(r"<[^>]*>", " ", text))


def pages():
    for name in ("knee", "docking"):
        dodyn_here("report", f"{name}.h5", "--units", UNITS, "--output", "units.html")
        page = open("units.html", encoding="utf-8").read()
        shown, plain = package.open(f"{name}.h5", units=UNITS), package.open(f"{name}.h5")
        v = shown.variables[0]
        assert summary.headline(shown) in page.replace("&#x27;", "'") and f"{v.name} from {summary.number(v.lower, 4)} to {summary.number(v.upper, 4)} mm" in page
        assert not own_units_left(page, plain), own_units_left(page, plain)
        if "data-0" not in page:
            continue  # no libraries
        data = data_of(page)
        assert [q["unit"] for q in data["variables"] + data["metrics"]] == [q.unit for q in shown.variables + shown.metrics]
        assert close(data["rows"]["design"][0], [float(f"{e.design[v.name]:.10g}") for e in shown]) and data["variables"][0]["upper"] == v.upper
        assert data["model"]["slices"][0]["x"][-1] == report.rounded(v.upper) and data["constraints"] == [list(c) for c in shown.constraints]
        if data["iterations"]:
            assert data["iterations"]["grid"] == report.rounded(shown.curves["grid"].tolist(), 6)
        scene = data["scene"] or data["runScene"]
        assert scene["length"] == ["mm", 1e3] and scene["time"] == ["ms", 1e3]
        if data["starts"]:
            assert data["startLabels"] == ["x [mm]", "y [mm]"] and np.allclose(data["starts"], 1e3 * motion.places(plain.best.trajectory)[0], rtol=1e-4)
            assert next(iter(data["runs"].values()))["afterUnit"] in ("s", "ms")  # as the archive has it: its channel may have no unit
    dodyn_here("report", "knee.h5", "other.h5", "--units", UNITS, "--output", "both.html")
    both = open("both.html", encoding="utf-8").read()
    assert "<td>400 mm</td>" in both, "a length that the other study fixes"
    kept, report.LIBRARIES = report.LIBRARIES, {name: (package_, ["/nowhere"]) for name, (package_, _) in report.LIBRARIES.items()}
    try:  # the plain page: tables and pictures
        shown = package.open("knee.h5", units=UNITS)
        page = report.page([shown])
    finally:
        report.LIBRARIES = kept
    assert "knee [mm]" in page and "max_torque [N mm]" in page and ">x [mm]<" in page and not own_units_left(page, shown), own_units_left(page, shown)
    reasons = [summary.reason(shown, e) for e in shown]
    assert any("violates min_knee_flexion ≥ -200.54 deg (" in reason for reason in reasons), reasons
    failing = report.summary_part(package.open("failing.h5", units="N mm"), None)
    assert re.search(r"dodyn show failing.h5 --evaluation \d+ --units 'N mm'<", html.unescape(failing)), "commands on the page show the same numbers"


def pictures():
    """Axes of pictures. SVG has ticks as texts only if matplotlib is set so. Therefore the axes are examined."""
    import argparse

    from dodyn import plot

    try:
        import matplotlib.pyplot as plt
    except ImportError:
        return print("no matplotlib")
    shown, plain = package.open("knee.h5", units=UNITS), package.open("knee.h5")
    given = argparse.Namespace(channel="u", background=None, overlay=[], units=UNITS)
    _, axes = plt.subplots(1, 3)
    plot.strobe(axes[0], shown.best.trajectory, given)
    assert axes[0].get_xlabel() == "x [mm]" and axes[0].xaxis.get_major_formatter()(0.25) == "250"
    plot.series(axes[1], shown.best.trajectory, given)
    assert axes[1].get_xlabel() == "t [ms]" and axes[1].get_ylabel() == "u [N mm]"
    assert math.isclose(axes[1].dataLim.x1, 1e3 * plain.best.trajectory.t[-1, 0])
    plot.cost(axes[2], shown, given)
    assert axes[2].get_xlabel() == "knee [mm]"
    dodyn_here("plot", "docking.h5", "--units", UNITS, "--what", "map,outcomes", "--output", "units.svg")


def watched():
    process = subprocess.Popen([DODYN, "watch", "knee.h5", "--units", UNITS, "--port", "0"], stdout=subprocess.PIPE, text=True)
    stop = threading.Timer(60, process.kill)
    stop.start()
    try:
        address = re.search(r"http://\S+", process.stdout.readline())[0]
        data = json.loads(urllib.request.urlopen(address + "data").read())
        assert data["study"]["variables"][0]["unit"] == "mm" and " mm, " in data["summary"] and " mm, " in dict(data["progress"]["facts"])["best so far"]
    finally:
        stop.cancel()
        process.kill()
        process.wait()


def commands():
    """run prints its result in these units, alone and again; solve does, and notes whose lines keep their own."""
    said = dodyn("run", "knee.h5", "--units", UNITS)
    best = package.open("knee.h5", units=UNITS).best
    assert f"at knee = {best.design['knee']:.8g} mm (evaluation {best.id})" in said and "\nwarning: " in said, said
    assert "note: --units mm: nothing in failing.h5 has this dimension\n" in dodyn("run", "failing.h5", "--units", "mm")
    solve = subprocess.run([DODYN, "solve", os.path.join(ROOT, "configs/published/knee-free.cfg"), "--design.knee", "0.4", "--gait.intervals", "10", "--gait.initial-guesses", "1",
                            "--units", "mm", "--output", "motion.csv"], capture_output=True, text=True, timeout=300)  # fmt: skip
    assert "400 mm" in solve.stdout and "note: --units: the lines of the evaluator gait keep their own units\n" in solve.stderr, solve
    json_ = subprocess.run([DODYN, "show", "knee.h5", "--evaluation", str(best.id), "--json", "--units", UNITS], capture_output=True, text=True)
    channels = json.loads(json_.stdout)["trajectory"]
    assert channels["energy"]["unit"] == "N mm" and channels["q"]["units"] == package.open("knee.h5", units=UNITS).best.trajectory["q"].units


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make("failing", "docking")
    words = ["--gait.initial-guesses", "3", "--gait.intervals", "20", "--study.max-evaluations", "5",
             "--surrogate.strategy", "ego", "--surrogate.constraints", "max_torque <= 5.8, min_knee_flexion >= -3.5"]  # fmt: skip
    dodyn("run", os.path.join(ROOT, "configs/published/knee-free.cfg"), "--study.archive", "knee.h5", *words)
    words[-2:] = ["--design.knee", "40 cm", "--design.step-length.min", "0.4", "--design.step-length.max", "0.5"]
    dodyn("run", os.path.join(ROOT, "configs/published/knee-free.cfg"), "--study.archive", "other.h5", *words)
    for test in (factors, package_converts, commands, refused, pages, pictures, watched):
        test()
        print(test.__name__, "ok", flush=True)
