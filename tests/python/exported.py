"""The reader that docs/surrogates.md prints, on exported models: what it predicts is what dodyn predicts. Usage: exported.py DODYN"""

import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

DODYN = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
page = open(os.path.join(ROOT, "docs", "surrogates.md"), encoding="utf-8").read()
reader = {}
exec(re.search(r"^```python\n(import h5py.*?)^```", page, re.S | re.M)[1], reader)


def run(*words):
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    random, worst = np.random.default_rng(3), 0.0
    for function, gradient in (("branin", "true"), ("branin", "false"), ("rosenbrock", "false")):
        open("f.cfg", "w").write(f"[study]\nevaluator = testfunction\nmax-evaluations = 20\n[surrogate]\nstrategy = ego\ngradient = {gradient}\n"
                                 f"[testfunction]\nname = {function}\n[design]\nx.min = -2\nx.max = 2\ny.min = -1\ny.max = 3\n")  # fmt: skip
        archive = f"{function}-{gradient}.h5"
        run("run", "f.cfg", "--study.archive", archive)
        run("predict", archive, "--quantity", "cost,slope", "--export", "model.h5")
        for _ in range(20):
            x, y = random.uniform(-2, 2), random.uniform(-1, 3)
            told = json.loads(run("predict", archive, f"--design.x={x!r}", f"--design.y={y!r}", "--quantity", "slope", "--json"))
            for name in ("cost", "slope"):
                middle = told["quantities"][name]["middle"]
                mine = reader["predict"]("model.h5", np.array([x, y]), name)
                # weights of both signs cancel: round-off is that of the largest of them
                m = {key: data[()] for key, data in h5py.File("model.h5")[name].items()}
                terms = m["spread"][0] * (np.abs(m["values"]).max() + np.abs(m["gradients"]).max() / np.sqrt(m["inverse_square"].min()))
                worst = max(worst, abs(mine - middle) / max(terms, abs(middle)))
        again = subprocess.run([DODYN, "predict", archive, "--export", "model.h5"], capture_output=True, text=True)
        assert again.returncode == 2 and "is there already" in again.stderr, again
        os.remove("model.h5")
    print(f"largest difference {worst:.1e} of the largest term")
    assert worst < 1e-12
