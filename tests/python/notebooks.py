"""Runs the notebooks of examples/ from top to bottom: there must be no error or warning. Compares the output of
archive.ipynb with the contents of the file, read with h5py alone, and the optimum of study.ipynb with the closed form.
Usage: notebooks.py DODYN"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import ipykernel  # noqa: F401
    import matplotlib  # noqa: F401
    import nbconvert  # noqa: F401
except ImportError:
    sys.exit(77)  # skipped
from studies import DODYN, ROOT, make


def executed(name, pictures):
    """Runs a notebook in a copy of its folder. Returns its output."""
    os.makedirs("examples", exist_ok=True)
    shutil.copy(os.path.join(ROOT, "examples", name), "examples")
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"), HOME=os.getcwd(), DODYN=DODYN)
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=300",
                           "--output", "done.ipynb", name], env=environment, capture_output=True, text=True, cwd="examples")  # fmt: skip
    assert done.returncode == 0, done.stderr
    with open("examples/done.ipynb", encoding="utf-8") as file:
        cells = json.load(file)["cells"]
    outputs = [o for c in cells for o in c.get("outputs", [])]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"], outputs
    drawn = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(drawn) == pictures and min(map(len, drawn)) > 5000, [len(p) for p in drawn]
    print(name, len(cells), "cells")
    return "".join("".join(o["text"]) for o in outputs if o.get("name") == "stdout")


def archive():
    """The best of an archive."""
    make("knee")
    os.makedirs("examples", exist_ok=True)
    shutil.copy("knee.h5", "examples")
    printed = executed("archive.ipynb", 3)
    with h5py.File("knee.h5", "r") as f:
        cost, status, ids = (f["evaluations"][name][:] for name in ("cost", "status", "id"))
        best = min((c, i) for c, s, i in zip(cost, status, ids) if s == 0)
    line = [x for x in printed.splitlines() if x.startswith("best:")][0].split()
    assert int(line[1]) == best[1] and float(line[-1]) == best[0], (line, best)


def study():
    """The knee of the README, and a spring whose closed form is known."""
    shutil.copytree(os.path.join(ROOT, "configs"), "configs")
    printed = executed("study.ipynb", 3)
    assert "best: knee 0.5514 m, cost 0.18929" in printed, printed
    found = re.search(r"stiffness ([\d.]+) N m, rest ([\d.]+) deg, cost (\S+), (\d+) motions", printed)
    exact = re.search(r"closed form: stiffness ([\d.]+) N m", printed)
    assert abs(float(found[1]) - float(exact[1])) < 5e-3 and abs(float(found[2]) - 20) < 0.02, printed
    assert float(found[3]) < 1e-4 and int(found[4]) < 40, printed


for test in (archive, study):
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        test()
        os.chdir(ROOT)
