"""Paired costs of a study with repeated designs, from its archive alone (h5py): each cost is the share of its own outcomes, the initial states
are equal for equal seeds and differ otherwise, the seed counts the evaluations of a design, and no design has more initial states than the
recommended one. Usage: paired.py DODYN ROOT; skipped (77) where h5py is missing."""

import collections
import json
import os
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError:
    sys.exit(77)

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
DOCKED = 0  # in the channel `outcome`

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "docking.h5")
    words = ["--initial-states.count", "30", "--surrogate.replicate", "true", "--study.max-evaluations", "24", "--study.archive", path]
    subprocess.run([DODYN, "run", os.path.join(ROOT, "configs", "docking.cfg"), *words], cwd=folder, check=True, capture_output=True)
    shown = json.loads(subprocess.run([DODYN, "show", path, "--json"], check=True, capture_output=True, text=True).stdout)
    with h5py.File(path) as file:
        design, cost, seed = (file["evaluations/" + name][:] for name in ("design", "cost", "seed"))
        states, outcomes = file["trajectories/initial_state"][:], file["trajectories/outcome"][:, :, 0]
        assert list(file["trajectories/outcome"].attrs["names"])[2] in (b"cost", "cost")
        assert np.array_equal(file["trajectories/outcome"][:, :, 2], outcomes != DOCKED)
    assert np.allclose(cost, (outcomes != DOCKED).mean(axis=1), atol=1e-15), cost
    for one in range(len(cost)):
        for other in range(one):
            assert np.array_equal(states[one], states[other]) == (seed[one] == seed[other]), (one, other)
    sets = collections.Counter()
    for x, number in zip(design[:, 0], seed):
        assert number == sets[x], (x, number)
        sets[x] += 1
    print(f"{len(cost)} evaluations of {len(sets)} designs, {max(sets.values())} sets of initial states at most")
    assert 1 < max(sets.values()) and len(sets) > 3
    recommended = design[shown["recommended"], 0]
    assert sets[recommended] == max(sets.values()), (recommended, sets)
    assert 0 <= shown["probability_best"] <= 1 and shown["indifference"] > 0
    # Nothing on the page takes the errors of two designs for independent, and no design is called another one than itself.
    sys.path.insert(0, os.path.join(ROOT, "python"))
    from dodyn import Archive, checks, summary

    study = Archive(path)
    lines = [line for _, line in checks.checks(study, None)]
    print(summary.headline(study), *lines, sep="\n")
    # Noise does not keep the search from its end: differences of costs on the same initial states decide.
    assert study.stop_reason.startswith("with a probability of"), study.stop_reason
    assert not any("noise" in line or "standard errors" in line or "band" in line for line in lines), lines
    assert sum("is the best within" in line for line in lines) == 1, lines
    # The model of `predict` has the figures of the search.
    predicted = subprocess.run([DODYN, "predict", path, "--design.spacing", f"{recommended:.17g}", "--json"], check=True, capture_output=True, text=True).stdout
    cost = json.loads(predicted)["quantities"]["cost"]
    last = shown["iterations"][-1]["diagnostics"]
    assert abs(cost["middle"] - last["recommended_cost"]) < 0.05 * last["recommended_deviation"], (cost, last)
    sliced = json.loads(subprocess.run([DODYN, "predict", path, "--slices", "--json"], check=True, capture_output=True, text=True).stdout)
    print(checks.gain(study, sliced))
    assert "(the surrogate model)" in checks.gain(study, sliced) and "by the model" in checks.gain(study, sliced), checks.gain(study, sliced)
    # The cost of the recommended design is that of all its initial states.
    tries = (outcomes != DOCKED)[design[:, 0] == recommended]
    assert f"docked {tries.mean():.5g} ± " in summary.headline(study), (summary.headline(study), tries.mean())
    # No model: on the same initial states no other design is significantly better, and the model's cost is one that designs have.
    failed = (outcomes != DOCKED).astype(float)
    for other in sorted(sets):
        pairs = [(i, j) for i in np.flatnonzero(design[:, 0] == recommended) for j in np.flatnonzero(design[:, 0] == other) if seed[i] == seed[j]]
        if other == recommended or not pairs:
            continue
        differences = np.concatenate([failed[j] - failed[i] for i, j in pairs])
        error = differences.std() / np.sqrt(differences.size)
        assert differences.mean() > -shown["indifference"] - 2.5 * error, (other, differences.mean(), error)
    rates = [failed[design[:, 0] == x].mean() for x in sets]
    print(f"model at the recommended design {last['recommended_cost']:.4g}, rates of the designs {min(rates):.4g} to {max(rates):.4g}")
    assert min(rates) <= last["recommended_cost"] <= max(rates), (last, rates)
