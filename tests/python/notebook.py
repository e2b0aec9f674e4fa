"""examples/archive.ipynb runs from top to bottom on a study made here; what it prints is what the file holds, read with h5py alone,
and its pictures are there. Usage: notebook.py DODYN"""

import json
import os
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
from studies import ROOT, make

with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make("knee")
    shutil.copy(os.path.join(ROOT, "examples", "archive.ipynb"), directory)
    environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "python"), HOME=directory)
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--ExecutePreprocessor.timeout=300",
                           "--output", "done.ipynb", "archive.ipynb"], env=environment, capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stderr
    cells = json.load(open("done.ipynb", encoding="utf-8"))["cells"]
    outputs = [o for c in cells for o in c.get("outputs", [])]
    assert not [o for o in outputs if o["output_type"] == "error"]
    printed = "".join("".join(o["text"]) for o in outputs if o.get("name") == "stdout")
    assert not [o for o in outputs if o.get("name") == "stderr"], outputs
    with h5py.File("knee.h5", "r") as f:
        cost, status, ids = (f["evaluations"][name][:] for name in ("cost", "status", "id"))
        best = min((c, i) for c, s, i in zip(cost, status, ids) if s == 0)
    line = [x for x in printed.splitlines() if x.startswith("best:")][0].split()
    assert int(line[1]) == best[1] and float(line[-1]) == best[0], (line, best)
    pictures = [o["data"]["image/png"] for o in outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 3 and min(map(len, pictures)) > 5000, [len(p) for p in pictures]
    print(len(cells), "cells,", len(pictures), "pictures")
