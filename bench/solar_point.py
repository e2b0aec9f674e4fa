#!/usr/bin/env python3
"""Evaluates designs of an instance of solar, for `command.serve`: one line of JSON per design in, one line out.

    bench/solar_point.py SOLAR INSTANCE [FIDELITY]     SOLAR: the program bin/solar of https://github.com/bbopt/solar

The variables are x1, x2, ... as in `solar -h INSTANCE`. The first output is the cost, the others are the metrics c1, c2, ... An instance without a value
for an output prints 1e20: a hidden constraint, so the design has failed. Some designs of instance 6 never end: they fail at LIMIT. The seed of stochastic
instances is 0, as in published runs.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile

MISSING = 1e20
SEED = 0
LIMIT = {2: 300, 3: 60, 4: 60, 5: 120}  # s of processor time, by instance
LIMIT_OF_OTHERS = 5


def outputs(program, instance, fidelity, x):
    """Returns the numbers that solar prints, None for a missing one; and the last line of its error stream."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write(" ".join(f"{value:.17g}" for value in x) + "\n")
    try:
        words = [program, str(instance), file.name, f"-seed={SEED}"] + ([f"-fid={fidelity}"] if fidelity != 1 else [])
        limit = LIMIT.get(instance, LIMIT_OF_OTHERS)
        done = subprocess.run(words, capture_output=True, text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)))
    finally:
        os.unlink(file.name)
    error = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
    try:
        numbers = [float(word) for word in done.stdout.split()]
    except ValueError:
        numbers = []
    if not numbers:
        return [], f"no answer within {limit} s" if done.returncode < 0 else (done.stdout.strip() or error).splitlines()[-1]
    return [value if abs(value) < MISSING else None for value in numbers], error


def answer(numbers, error):
    if not numbers:
        return {"status": "failed", "reason": error}
    metrics = {f"c{k}": value for k, value in enumerate(numbers[1:], 1)}
    missing = [name for name, value in {"the cost": numbers[0], **metrics}.items() if value is None]
    if missing:
        return {"status": "failed", "reason": "solar has no value of " + ", ".join(missing), "metrics": metrics}
    return {"cost": numbers[0], "metrics": metrics}


def main():
    program, instance = sys.argv[1], int(sys.argv[2])
    fidelity = float(sys.argv[3]) if len(sys.argv) > 3 else 1.0
    for line in sys.stdin:
        task = json.loads(line)
        x = [task["design"][f"x{k}"] for k in range(1, 1 + len(task["design"]))]
        print(json.dumps({"id": task["id"], **answer(*outputs(program, instance, fidelity, x))}), flush=True)


if __name__ == "__main__":
    main()
