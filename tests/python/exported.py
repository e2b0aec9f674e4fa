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
        # Slices and pairs are what is predicted there, one design at a time.
        slices = json.loads(run("predict", archive, "--slices"))

        def predicted(design):
            return json.loads(run("predict", archive, *(f"--design.{name}={value!r}" for name, value in design.items()), "--json"))["quantities"]["cost"]

        def same(one, other):
            return abs(one - other) <= 1e-7 * max(1.0, abs(other))  # weights of both signs cancel

        for name, one in zip(("x", "y"), slices["slices"]):
            for k in (0, 13, 40):
                there = predicted({**slices["design"], name: one["x"][k]})
                assert same(one["median"][k], there["middle"]) and same(one["lower"][k], there["lower"]) and same(one["upper"][k], there["upper"]), (one, there)
        (pair,) = slices["pairs"]
        assert (pair["i"], pair["j"], len(pair["median"])) == (0, 1, 24 * 24)
        for i, j in ((0, 0), (17, 5), (23, 23)):
            assert same(pair["median"][i + 24 * j], predicted({"x": pair["x"][i], "y": pair["y"][j]})["middle"]), (archive, i, j, pair["median"][i + 24 * j], predicted({"x": pair["x"][i], "y": pair["y"][j]}))
        assert same(slices["here"]["median"], predicted(slices["design"])["middle"])
        assert same(slices["middle"]["median"], predicted({"x": 0.0, "y": 1.0})["middle"])
        ranges = {"x": (-2, 2), "y": (-1, 3)}
        assert all(ranges[name][0] <= low <= high <= ranges[name][1] for name, (low, high) in slices["optimum"]["variables"].items()), slices["optimum"]
        again = subprocess.run([DODYN, "predict", archive, "--export", "model.h5"], capture_output=True, text=True)
        assert again.returncode == 2 and "exists already" in again.stderr, again
        os.remove("model.h5")
    # A model has no evaluations of other archives. A note states that.
    run("run", "f.cfg", "--study.archive", "later.h5", "--surrogate.prior-evaluations", archive, "--study.max-evaluations", "6")
    for command in ("predict", "sensitivity"):
        told = subprocess.run([DODYN, command, "later.h5"], capture_output=True, text=True)
        assert told.returncode == 0 and f"later.h5 count here, not those of surrogate.prior-evaluations = {os.path.abspath(archive)}" in told.stderr, told
    print(f"largest difference {worst:.1e} of the largest term")
    assert worst < 1e-12
