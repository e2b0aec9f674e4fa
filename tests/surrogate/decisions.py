"""Checks the choices of ego from its archive alone: numpy computes the models again from the evaluations and the stored lengths, and the
acquisition of each considered design, and compares them with the archive. Usage: decisions.py DODYN"""

import os
import subprocess
import sys
import tempfile
from math import erf

try:
    import h5py
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

DODYN = os.path.abspath(sys.argv[1])
CONFIG = """[study]
evaluator = testfunction
max-evaluations = 28
[testfunction]
name = branin
[surrogate]
strategy = ego
gradient = false
[design]
x.min = -5
x.max = 10
y.min = 0
y.max = 15
"""
density = lambda z: np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
cumulative = lambda z: 0.5 * (1 + erf(z / np.sqrt(2)))


def correlation(a, b, lengths):
    s = np.sqrt(5 * (((a[:, None] - b[None]) / lengths) ** 2).sum(-1))
    return (1 + s + s * s / 3) * np.exp(-s)


class Model:
    """Ordinary kriging with a Matern 5/2 kernel, of warped values."""

    def __init__(self, x, y, numbers, label, limit):
        self.least, self.width, self.limited = numbers["warp_at" + label], numbers["warp_width" + label], limit is not None
        self.lengths = np.array([numbers[f"length_{v}{label}"] for v in "xy"])
        self.x, self.variance = x, numbers["process_variance" + label]
        r = correlation(x, x, self.lengths) + 1e-10 * np.eye(len(x))
        self.inverse, self.doubt = np.linalg.inv(r), np.linalg.cond(r)
        ones, w = np.ones(len(x)), self.warped(y)
        self.mean = ones @ self.inverse @ w / (ones @ self.inverse @ ones)
        self.weights = self.inverse @ (w - self.mean)

    def warped(self, y):
        t = y - self.least
        if self.width == 0:
            return t
        return self.width * np.arcsinh(t / self.width) if self.limited else np.where(t < 0, t, self.width * np.log1p(np.maximum(t, 0) / self.width))

    def predict(self, u):
        k = correlation(u[None], self.x, self.lengths)[0]
        short = 1 - (self.inverse @ k).sum()  # what the estimated mean adds
        variance = 1 - k @ self.inverse @ k + short**2 / self.inverse.sum()
        return self.mean + k @ self.weights, np.sqrt(self.variance * max(variance, 0))


def improvement(mean, deviation, best):
    z = (best - mean) / deviation
    return deviation * (z * cumulative(z) + density(z))


def hypervolume_gain(front, reference, means, deviations):
    """Returns the expected improvement by quadrature over both objectives, which are independent in the models."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t, w = 6 * nodes, 6 * weights * density(6 * nodes)
    first, second = (m + s * t for m, s in zip(means, deviations))
    area = 0.0
    front = front[np.argsort(front[:, 0])]
    edges = np.concatenate([[-np.inf], front[:, 0], [reference[0]]])
    heights = np.concatenate([[reference[1]], front[:, 1]])
    for low, high, height in zip(edges[:-1], edges[1:], heights):  # strips of the first objective, free below `height`
        width = np.clip(high - np.maximum(first, low), 0, None)
        area += (w * width).sum() * (w * np.clip(height - second, 0, None)).sum()
    return area


def replay(path, limit=None, two=False):
    """Largest differences: of predictions as shares of their deviations, of log acquisitions."""
    with h5py.File(path) as f:
        e, i = f["evaluations"], f["iterations"]
        names, columns = ([n.decode() if isinstance(n, bytes) else n for n in i[d].attrs["names"]] for d in ("diagnostics", "candidates"))
        box = [e["design"].attrs[end] for end in ("lower", "upper")]
        unit = lambda x: (x - box[0]) / (box[1] - box[0])
        u, cost, slope = unit(e["design"][:]), e["cost"][:], e["metrics"][:, 0]
        rows = [(int(n), dict(zip(names, numbers)), [dict(zip(columns, c)) for c in table if not np.isnan(c).all()], nxt)
                for n, numbers, table, nxt in zip(i["n_observed"], i["diagnostics"], i["candidates"], i["next"])]  # fmt: skip
    off, compared, rules = np.zeros(2), 0, set()
    for told, numbers, candidates, nxt in rows:
        if not candidates or np.isnan(numbers["incumbent"]) and not two:
            continue
        assert np.allclose([candidates[0][v] for v in "xy"], nxt, rtol=1e-14)  # the chosen one stands first
        rules.update(c["rule"] for c in candidates)
        tried = [c for c in candidates if c["rule"] == 0]
        if candidates[0]["rule"] == 0:  # of the greatest acquisition, of those not tried before
            assert candidates[0]["score"] >= max(c["score"] for c in tried if c["fresh"]) - 1e-9
        if numbers["longest_length"] > 0:  # looks away from the best, by a model with shorter lengths
            continue
        model = Model(u[:told], cost[:told], numbers, "", None)
        other = None
        if limit is not None:
            other = Model(u[:told], slope[:told], numbers, f"_slope<={limit}", limit)
        if two:
            other = Model(u[:told], slope[:told], numbers, "_objective_2", None)
        if max(model.doubt, other.doubt if other else 0) > 1e8:  # samples so close that rounding shows
            continue
        for c in tried:
            at = unit(np.array([c["x"], c["y"]]))
            mean, deviation = model.predict(at)
            if deviation < 1e-3 * np.sqrt(model.variance):  # so close to a sample that its square is rounding
                continue
            off[0] = max(off[0], abs(mean - c["mean"]) / deviation, abs(deviation - c["deviation"]) / deviation)
            gain = improvement(mean, deviation, numbers["incumbent"])
            if two:
                m, s = other.predict(at)
                points = np.column_stack([model.warped(cost[:told]), other.warped(slope[:told])])
                front = np.array([p for p in points if not ((points <= p).all(1) & (points < p).any(1)).any()])
                reference = points.max(0) + 0.1 * np.ptp(points, axis=0)
                gain = hypervolume_gain(front, reference, [mean, m], [deviation, s])
            if gain < 1e-8:
                continue
            score = np.log(gain)
            if limit is not None:
                m, s = other.predict(at)
                score += np.log(max(cumulative((other.warped(limit) - m) / s), 1e-300))
            if score > -20:
                off[1], compared = max(off[1], abs(score - c["score"])), compared + 1
    assert compared > 20, compared
    return off, rules


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("b.cfg", "w").write(CONFIG)
    for name, words, more in (("plain", [], {}), ("limit", ["--surrogate.constraints", "slope <= 30"], {"limit": 30}),
                              ("two", ["--surrogate.objectives", "cost, slope"], {"two": True})):  # fmt: skip
        done = subprocess.run([DODYN, "run", "b.cfg", "--study.archive", f"{name}.h5", *words], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done
        off, rules = replay(f"{name}.h5", **more)
        print(f"{name}: predictions differ by {off[0]:.1e} deviations, log acquisitions by {off[1]:.1e}; rules {sorted(rules)}")
        assert off[0] < 1e-5 and off[1] < (1e-2 if "two" in more else 1e-5), off  # two: the quadrature's error
    # Where designs fail: the score is the sum of its parts.
    done = subprocess.run([DODYN, "run", "b.cfg", "--testfunction.fail-above", "5", "--study.archive", "fails.h5"], capture_output=True, text=True)
    assert done.returncode == 0, done
    with h5py.File("fails.h5") as f:
        names = list(f["iterations/candidates"].attrs["names"])
        table = f["iterations/candidates"][:].reshape(-1, len(names))
    c = dict(zip(names, table[table[:, names.index("rule")] == 0].T))
    assert np.allclose(c["score"], c["log_gain"] + c["log_probability_to_evaluate"] + c["log_distrust"], atol=1e-5)
    sure = (c["log_probability_to_evaluate"] > np.log(0.9)) & (c["log_distrust"] == 0)
    assert (c["log_distrust"][c["x"] > 6] < 0).mean() > 0.5 and (c["x"][sure] < 5.5).all(), c
