"""Small studies to read and draw, made by the program itself, and what runs it."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
DODYN = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else None

STUDIES = {
    "knee": ["configs/knee-free.cfg", "--gait.starts", "3", "--gait.intervals", "20", "--study.max-evaluations", "5"],
    "spatial": ["configs/knee-spatial.cfg", "--gait.starts", "2", "--gait.parts", "1", "--gait.intervals", "20",
                "--gait.coarse-intervals", "0", "--design.knee.min", "0.5", "--study.max-evaluations", "3"],
    "docking": ["configs/docking.cfg", "--starts.count", "12", "--study.max-evaluations", "4",
                "--surrogate.initial-samples", "3", "--simulation.end", "60"],
    "scene": ["configs/scene-polyhedra.cfg", "--design.friction.min", "0.1", "--design.friction.max", "0.9",
              "--study.max-evaluations", "2", "--simulation.end", "0.6"],
    "tasks": ["configs/knee-speeds.cfg", "--gait.starts", "2", "--gait.intervals", "20", "--study.max-evaluations", "3",
              "--study.scenarios", "slow, fast, uphill", "--gait.examination", "report"],
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


def dodyn(*words, code=0):
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (words, done)
    if code == 2:
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("dodyn: "), done.stderr
    return done.stdout + done.stderr


def make(*names):
    """Runs these studies in the working directory: NAME.h5 each."""
    for name in names:
        if name == "failing":
            with open("failing.cfg", "w") as file:
                file.write(FAILING)
            dodyn("run", "failing.cfg", "--study.archive", "failing.h5")
        else:
            config, *words = STUDIES[name]
            dodyn("run", os.path.join(ROOT, config), "--study.archive", f"{name}.h5", *words)
