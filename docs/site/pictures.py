#!/usr/bin/env python3
"""Draws the pictures of the gallery, docs/gallery/NAME.svg, one after the other: each is the motion of one evaluation, or a chart of a study that
has none. docs/gallery/runs.csv states the design, the processor time and the complaints of each.

    nice docs/site/pictures.py DODYN [NAME ...]      all configurations and films, or these in this order
    nice docs/site/pictures.py DODYN --missing       those that have no picture yet
    nice docs/site/pictures.py DODYN --figures FOLDER [NAME ...]    the figures of the case studies, docs/NAME.svg, from archives in this folder:
                                                     `dodyn run` makes or continues them, and a complete one takes no time
"""

import argparse
import csv
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import types

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "docs" / "site")]

import dodyn  # noqa: E402
from dodyn import animate, motion, plot  # noqa: E402

OUTPUT = ROOT / "docs" / "gallery"
LIMIT_S = 1800  # of one picture
GUESS_S = 3600  # of one initial guess: on a busy machine its own limit ends a search early
MOST_BYTES, FILM_BYTES = 48_000, 120_000  # of a picture: frames are left out until it is smaller
FRAMES = (96, 64, 36, 24, 16, 12, 8)
# Designs that the studies recommend (docs/gallery.md); other variables are in the middle of their ranges.
DESIGNS = {
    "cart-pole-balance": {"pole_rate": 10.8, "cart_rate": 1.86},
    "docking": {"spacing": 0.027}, "docking-feedback": {"gain-position": 0.987, "gain-velocity": 1.865, "dipole-offset": 0.31, "last-leg": 0.148}, "hip-spring": {"stiffness": 45.2, "rest": -0.049},
    "docking-robust": {"spacing": 0.0295}, "feet": {"period": 1.005}, "knee": {"knee": 0.5514}, "knee-energy": {"knee": 0.65},
    "knee-motor": {"knee": 0.4994}, "knee-spatial": {"knee": 0.549},
    "knee-speeds": {"knee": 0.4875}, "knee-step": {"knee": 0.5957, "step-length": 0.4926}, "knee-torso": {"knee": 0.3}, "knee-underactuated": {"knee": 0.5},
    "pendulum-tick": {"wall": 0.42268}, "satellite-reach": {"arm": 0.06, "thrust_x": 0.0, "thrust_y": 0.1},
    "squat": {"knee": 0.515}, "quadruped": {"spring": 8.239},
}  # fmt: skip
# Films of the case studies: configuration, design, and the outcome of the run.
FILMS = {"docking-docked": ("docking", {"spacing": 0.027}, "docked"), "docking-wrong-port": ("docking", {"spacing": 0.027}, "wrong port")}
FILM_SETTINGS = {"initial-states.count": 16, "simulation.frames": 96}
CHARTS = ("command-beam", "command-python", "command-shell", "command-parallel")  # studies without a motion
VIEWS = {"burr": "orbit"}
# Figures of the case studies: the commands of dodyn, and the words of `dodyn plot`. Configurations stand in configs/.
KNEE_SWEEP = "--strategy sweep --surrogate.points 13 --study.archive"
DOCKING_SWEEP = "--strategy sweep --surrogate.points 9 --study.max-evaluations 9 --study.archive docking-sweep.h5"
FIGURES = {
    "knee": (["run knee.cfg", f"run knee.cfg {KNEE_SWEEP} sweep-knee.h5"], "knee.h5 --background sweep-knee.h5"),
    "knee-fold": (["run knee-motor.cfg", f"run knee-motor.cfg {KNEE_SWEEP} sweep-motor.h5"], "knee-motor.h5 --background sweep-motor.h5"),
    "knee-spatial": (["run knee-spatial.cfg"], "knee-spatial.h5 --what cost,series"),
    "walker-spatial": (["run knee-spatial.cfg"], "knee-spatial.h5 --what strobe"),
    "walker-torso": (["run knee-torso.cfg --strategy sweep --surrogate.points 5"], "knee-torso.h5 --what strobe,series"),
    "walker-feet": (["run feet.cfg"], "feet.h5 --what strobe,series"),
    "walker-underactuated": (["solve knee-underactuated.cfg --design.knee 0.5 --output underactuated.csv"], "underactuated.csv --what strobe,series"),
    "docking": (["run docking.cfg", f"run docking.cfg {DOCKING_SWEEP}"], "docking.h5 --what outcomes,map --overlay docking-sweep.h5"),
}  # fmt: skip


def evaluated(name, design, settings):
    """The result of one design, as `dodyn solve` finds it. Variables that are not given stand in the middle of their ranges."""
    path = ROOT / "configs" / f"{name}.cfg"
    evaluator = re.search(r"^evaluator = (\S+)", path.read_text(encoding="utf-8"), re.M)[1]
    if evaluator in ("gait", "motion"):
        settings = {f"{evaluator}.time-limit-per-guess": GUESS_S, **settings}
    with dodyn.Study(str(path), settings=settings) as study:
        chosen = {v.name: design.get(v.name, v.lower if v.choices else 0.5 * (v.lower + v.upper)) for v in study.variables}
        return study.evaluate(chosen), chosen


def outlines(trajectory):
    """Soft cubes from above: of each the outline of its middle layer, as a closed line in the plane."""
    names, points = motion.named_points(trajectory["points"])
    rings, bodies = [], [name.rsplit(".", 1)[0] for name in names]
    for body in dict.fromkeys(bodies):
        own = np.array([i for i, its in enumerate(bodies) if its == body])
        first = points[0, own] - points[0, own].mean(axis=0)
        half = np.abs(first[:, :2]).max()
        edge = (np.abs(first[:, 2]) < 0.01 * half) & (np.abs(first[:, :2]).max(axis=1) > 0.99 * half)
        around = np.arctan2(first[edge, 1], first[edge, 0])
        rings.append(own[edge][np.argsort(around)])
    starts = np.cumsum([0, *(len(ring) for ring in rings)])
    segments = [(int(a + i), int(a + (i + 1) % (b - a))) for a, b in zip(starts, starts[1:]) for i in range(b - a)]
    chosen = np.concatenate(rings)
    return motion.Motion(trajectory.t[:, 0], 2, [names[i] for i in chosen], points[:, chosen, :2], segments)


def moving(trajectory, outcome=None):
    """The motion to draw; of several runs the first one with this outcome. None: there is none, such as of a table."""
    if not trajectory:
        return None
    if "points" in trajectory and "centre" in trajectory and trajectory["points"].names[2].endswith("_z"):
        return outlines(trajectory)
    if trajectory.scenarios:
        trajectory = plot.in_scenarios(trajectory, None)[0][1]
    if "runs" in trajectory:
        runs = motion.runs(trajectory)
        number = 0
        if outcome is not None:
            words = trajectory["outcome"].description  # "outcome: 0 end, 1 failed, 2 docked ...; time of the end (s)"
            code = float(re.search(rf"(\d+) {outcome}\b", words)[1])
            number = int(np.flatnonzero(trajectory["outcome"].values[:, 0] == code)[0])
        return runs[number]
    one = motion.motion(trajectory)
    return one if one and (one.points is not None or one.positions is not None) else None


def chained(text):
    """Joins lines of an SVG that continue each other."""
    pair = re.compile(r'<polyline points="([^"]*?)(\S+)"( [^>]*/>)<polyline points="\2 ([^"]*)"\3')
    while (longer := pair.sub(r'<polyline points="\1\2 \4"\3', text)) != text:
        text = longer
    return text


def film(one, name):
    """The motion as an animated SVG of at most MOST_BYTES or FILM_BYTES, if FRAMES[-1] frames are that small."""
    length = one.t[-1] - one.t[0]
    steps = 2 if one.stride else 1
    seconds = 12.0 if name in FILMS else min(8.0, max(2.0, length * steps))
    view = VIEWS.get(name, "orbit" if one.dimension == 3 and one.points is None else "side")
    for count in FRAMES if name in FILMS else FRAMES[2:]:
        given = types.SimpleNamespace(view=view, rate=count / seconds, speed=length * steps / seconds, steps=steps)
        text, _ = animate.drawn_svg(one, given, name)
        text = chained(re.sub(r"(?<=[ ,\"]\d)(\d*)\.\d(?=[ ,\"])", r"\1", text))  # whole pixels of 700
        if len(text) <= (FILM_BYTES if name in FILMS else MOST_BYTES):
            break
    width = 420 if name in FILMS else 240
    return re.sub(r'viewBox="0 0 700 (\d+)"', lambda m: f'{m[0]} width="{width}" height="{int(m[1]) * width // 700}"', text, count=1)


def run(folder, program, *words):
    """Runs dodyn in a folder. Configurations without a folder are those of configs/."""
    words = [str(ROOT / "configs" / w) if re.fullmatch(r"[\w-]+\.cfg", w) else w for w in words]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # as jobs/local.sh has it
    return subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, env={**os.environ, **as_root})


def plotted(folder, output, *words):
    subprocess.run([sys.executable, "-m", "dodyn", "plot", *words, "--output", str(output)], cwd=folder, check=True,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, capture_output=True)  # fmt: skip


def figure(program, name, folder):
    """Draws a figure of the case studies."""
    commands, words = FIGURES[name]
    for command in commands:
        done = run(folder, program, *command.split())
        if done.returncode:
            raise ValueError(f"{command}: {done.stderr.strip()}")
    output = ROOT / "docs" / f"{name}.svg"
    plotted(folder, output, *words.split())
    print(f"{name}: {output.stat().st_size} bytes", flush=True)


def chart(program, name, output):
    """Runs a study and draws its history. Returns the complaints of the run."""
    with tempfile.TemporaryDirectory() as folder:
        done = run(folder, program, "run", f"{name}.cfg", "--study.archive", "study.h5")
        plotted(folder, output, "study.h5", "--what", "history", "--title", name)
    return [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("warning:")]


def draw_field(axes, trajectory):
    """An air table: the force at each place, and how far the craft drifts in 5 s with the fans off."""
    field, drift = trajectory["field"].values, trajectory["drift"].values
    shown = axes.scatter(*field[:, :2].T, s=160, c=100 * drift[:, 0], cmap="Blues", vmin=0, edgecolors="0.4")
    axes.quiver(*field[:, :4].T, color="tab:red", angles="xy", width=0.008)
    axes.figure.colorbar(shown, label="drift in 5 s without commands, cm", orientation="horizontal")
    axes.set(xlabel="x, m", ylabel="y, m", aspect="equal", title="force at each state of the grid")
    axes.margins(0.15)


def draw_coils(axes, trajectory):
    """Two coils in line: the force of their poles, of the fit and of the printed table over the distance of their centres."""
    table = trajectory["coefficients"]
    in_line = dict(zip(table.names, table.values[(table.values[:, :2] == 0).all(axis=1)][0]))
    r, length, pole = np.linspace(0.15, 0.55, 81), 0.1, 62.5  # m, m, A m
    poles = 1e-7 * pole**2 * (1 / (r - length) ** 2 + 1 / (r + length) ** 2 - 2 / r**2)
    axes.plot(r, poles, "k", lw=3, alpha=0.4, label="poles")
    for behind, style, label in (("", "C0", "fit"), (" table", "C3--", "printed table")):
        axes.plot(r, in_line["A_x" + behind] / (10 * r) ** 8 - in_line["B_x" + behind] / (10 * r) ** 4, style, label=label)
    axes.set(xlabel="distance of the centres, m", ylabel="force in line, N", yscale="log", title="two electromagnets in line")
    axes.legend()


STILLS = {"air-table": draw_field, "coil-fit": draw_coils}


def still(name, trajectory):
    """The picture of a result that does not move, as text."""
    import io

    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = name
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.2, 3.4), layout="constrained")
    STILLS[name](axes, trajectory)
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return plot.with_dark_scheme(text.getvalue())


def draw(program, name, output):
    """Draws one picture. Returns the design as text and the complaints."""
    if name in CHARTS:
        return "", chart(program, name, output)
    configuration, design, outcome = FILMS.get(name, (name, DESIGNS.get(name, {}), None))
    result, chosen = evaluated(configuration, design, FILM_SETTINGS if name in FILMS else {})
    if name in STILLS:
        output.write_text(still(name, result.trajectory), encoding="utf-8")
    else:
        one = moving(result.trajectory, outcome)
        if one is None:
            raise ValueError(f"{result.status} {result.reason}: no motion")
        output.write_text(film(one, name), encoding="utf-8")
    complaints = [] if result.ok and not result.reason else [result.reason if result.ok else f"{result.status}: {result.reason}"]
    return ", ".join(f"{k} = {v:.4g}" if isinstance(v, float) else f"{k} = {v}" for k, v in chosen.items()), complaints


def late(*_):
    raise TimeoutError(f"not done after {LIMIT_S} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--figures", metavar="FOLDER")
    given = parser.parse_intermixed_args()
    program = os.environ["DODYN"] = os.path.abspath(given.program)
    if given.figures:
        os.makedirs(given.figures, exist_ok=True)
        for name in given.names or FIGURES:
            figure(program, name, given.figures)
        return
    OUTPUT.mkdir(exist_ok=True)
    table = OUTPUT / "runs.csv"
    known = {row["name"]: row for row in csv.DictReader(table.open(encoding="utf-8"))} if table.exists() else {}
    signal.signal(signal.SIGALRM, late)
    for name in given.names or [*FILMS, *sorted(path.stem for path in (ROOT / "configs").glob("*.cfg"))]:
        output = OUTPUT / f"{name}.svg"
        if given.missing and output.exists():
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        signal.alarm(LIMIT_S)
        try:
            design, complaints = draw(program, name, output)
        except (ValueError, KeyError, TypeError, IndexError, OSError, subprocess.SubprocessError, dodyn.ArchiveError, dodyn.ProgramError) as error:
            print(f"{name}: no picture: {error}", flush=True)
            continue
        finally:
            signal.alarm(0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        known[name] = {"name": name, "design": design, "processor_seconds": f"{seconds:.1f}", "complaints": " / ".join(complaints)}
        with table.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(known[name]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(known[n] for n in sorted(known))
        print(f"{name}: {output.stat().st_size} bytes, {seconds:.1f} s {complaints or ''}", flush=True)


if __name__ == "__main__":
    main()
