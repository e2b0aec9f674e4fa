"""Small studies to read and draw, made by the program itself, and what runs it."""

import contextlib
import io
import os
import subprocess
import sys
import zlib
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
DODYN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None

STUDIES = {
    "knee": ["configs/published/knee-free.cfg", "--gait.initial-guesses", "3", "--gait.intervals", "20", "--study.max-evaluations", "5"],
    "spatial": ["configs/knee-spatial.cfg", "--gait.initial-guesses", "2", "--gait.tasks", "1", "--gait.intervals", "20",
                "--gait.coarse-intervals", "0", "--design.knee.min", "0.5", "--study.max-evaluations", "3"],
    "squat": ["configs/squat.cfg", "--motion.initial-guesses", "1", "--study.max-evaluations", "2"],
    "docking": ["configs/docking.cfg", "--initial-states.count", "12", "--study.max-evaluations", "4",
                "--surrogate.initial-samples", "3", "--simulation.end", "60"],
    "scene": ["configs/scene-polyhedra.cfg", "--design.friction.min", "0.1", "--design.friction.max", "0.9",
              "--study.max-evaluations", "2", "--simulation.end", "0.6"],
    "tasks": ["configs/knee-speeds.cfg", "--gait.initial-guesses", "2", "--gait.intervals", "20", "--study.max-evaluations", "3",
              "--study.scenarios", "slow, fast, uphill", "--gait.validity-check", "warn"],
    "command": ["configs/command-shell.cfg", "--surrogate.points", "3"],
    "beam": ["configs/command-beam.cfg", "--study.max-evaluations", "12"],
}  # fmt: skip
FAILING = """[study]
evaluator = testfunction
[surrogate]
strategy = sweep
points = 21
[testfunction]
name = forrester
fail-above = 0.9
[design]
x.min = 0
x.max = 1
"""


# A bowl with noise, in which the design of lowest observed cost is not the best; and two bowls as objectives that
# conflict, the first one with constraints.
SCRIPTS = {
    "noisy": ("x", r"""awk 'BEGIN { srand(ENVIRON["DODYN_SEED"] % 100000); rand(); x = ENVIRON["DODYN_X"]
    printf "{\"cost\": %.17g, \"cost_stderr\": 0.23}", 0.2 * (x - 1)^2 + 0.8 * (rand() - 0.5) }' > "$DODYN_RESULT_FILE"
""", "", ""),
    "front": ("xy", r"""awk 'BEGIN { x = ENVIRON["DODYN_X"]; y = ENVIRON["DODYN_Y"]
    printf "{\"cost\": %.17g, \"metrics\": {\"work\": %.17g}}", (x - 1)^2 + y^2, (x + 1)^2 + y^2 }' > "$DODYN_RESULT_FILE"
""", "objectives = cost, work\n", "metrics = work\n"),
}  # fmt: skip
SCRIPTS["limited"] = ("xy", SCRIPTS["front"][1], "constraints = cost <= 2, work <= 3\n", "metrics = work\n")


def write_script(name):
    """NAME.sh and NAME.cfg of a study of SCRIPTS."""
    variables, script, search, command = SCRIPTS[name]
    with open(f"{name}.sh", "w") as file:
        file.write(script)
    with open(f"{name}.cfg", "w") as file:
        file.write(f"[study]\nevaluator = command\nmax-evaluations = 14\n[surrogate]\nstrategy = ego\n{search}[command]\n"
                   f'run = sh "$DODYN_STUDY/{name}.sh"\n{command}[design]\n' + "".join(f"{v}.min = -3\n{v}.max = 3\n" for v in variables))  # fmt: skip


HOSTILE = "<!--<script>\"'&<img src=x onerror=errors.push(1)>"


def seal(rows, names, column):
    """New checksums, in this column, for the rows of a group as they are: the CRC-32 of their bytes."""
    sums = rows["checksum"][:]
    for row in range(len(sums)):
        found = 0
        for name in names:
            found = zlib.crc32(rows[name][row : row + 1].tobytes(), found)
        sums[(row, column) if sums.ndim == 2 else row] = found
    rows["checksum"][:] = sums


RECORD = ("id", "warm_start_id", "design", "seed", "status", "reason", "cost", "cost_stderr", "gradient", "metrics", "wall_time", "rank", "host", "start_time")


def make_hostile(path):
    """Every text of this archive ends with HOSTILE, whose tags would change a page that took them as they are."""
    import h5py

    with h5py.File(path, "r+", libver="latest") as file:
        for name in ("version", "git_commit", "evaluator", "command_line", "host", "created"):
            file.attrs[name] = file.attrs[name] + HOSTILE
        file.attrs["stop_reason"] = b"it ended" + HOSTILE.encode()
        lines = [line + HOSTILE for line in file.attrs["configuration"].splitlines() if not line.startswith(("surrogate.", "cost.", "design."))]
        file.attrs["configuration"] = "\n".join([*lines, f"{HOSTILE} \\= 1 = {HOSTILE}"])
        for name in ("design", "metrics"):
            attributes = file["evaluations"][name].attrs
            for key in {"names", "units", "descriptions"} & set(attributes):
                attributes[key] = [one + HOSTILE for one in attributes[key]]
        for group, names, longest in (("evaluations", ("reason", "host", "start_time"), 300), ("events", ("time", "kind", "text"), 300)):
            for name in names:
                data = file[group][name]
                data[:] = [(one + HOSTILE.encode())[: data.dtype.itemsize] for one in data[:]]
        seal(file["evaluations"], RECORD, 0)
        seal(file["events"], ("time", "kind", "text"), 0)
        motions = file["trajectories"]
        for name in motions.attrs["names"]:
            attributes = motions[name].attrs
            if name == "outcome":
                attributes["description"] = attributes["description"].replace("docked", "docked" + HOSTILE).replace("missed", HOSTILE)
            else:
                attributes["description"] = attributes["description"] + HOSTILE
            if "coordinate_units" in attributes:
                attributes["coordinate_units"] = [one + HOSTILE for one in attributes["coordinate_units"]]
            if name in ("u", "energy", "contact_force"):
                attributes["names"] = [one + HOSTILE for one in attributes["names"]]


def dodyn(*words, code=0):
    """Runs the program; returns what it prints."""
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=300)
    return checked(words, code, done.returncode, done.stdout, done.stderr)


def dodyn_here(*words, code=0):
    """Runs `dodyn report|plot|animate ...` in this process. A start of Python and its imports take longer than most pages and pictures."""
    from dodyn.__main__ import main

    out, error = io.StringIO(), io.StringIO()
    with mock.patch.dict(os.environ, DODYN=DODYN), contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        found = main(words)
    return checked(words, code, found, out.getvalue(), error.getvalue())


def checked(words, code, found, out, error):
    assert found == code, (words, found, out, error)
    if code == 2:
        assert error.count("\n") == 1 and error.startswith("dodyn: "), error
    return out + error


def make(*names):
    """Runs these studies in the working directory: NAME.h5 each."""
    for name in names:
        if name == "failing":
            with open("failing.cfg", "w") as file:
                file.write(FAILING)
            dodyn("run", "failing.cfg", "--study.archive", "failing.h5")
        elif name in SCRIPTS:
            write_script(name)
            dodyn("run", f"{name}.cfg", "--study.archive", f"{name}.h5")
        else:
            config, *words = STUDIES[name]
            dodyn("run", os.path.join(ROOT, config), "--study.archive", f"{name}.h5", *words)
