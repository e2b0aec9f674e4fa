"""Runs the studies in the last table of docs/surrogates.md. Each must end by itself after about the stated number of evaluations, at the stated
cost and place. Without `long`, the most expensive study solves each gait from fewer initial guesses: its optima are the same.
Usage: searches.py DODYN [long]"""

import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Rounding differs between machines and changes the number of evaluations by a few.
SHARE_OF_EVALUATIONS = 0.3
# Of 58 s of processor time, 16 initial guesses take 32 s more than these two; evaluations, cost and place are the same in all digits.
LIGHTER = {"configs/knee-step.cfg": ["--gait.initial-guesses", "2"]}

program = os.path.abspath(sys.argv[1])
page = open(os.path.join(ROOT, "docs", "surrogates.md"), encoding="utf-8").read()
rows = re.findall(r"^\| `(configs/[^`]+)` \| (\d+) \| ([\d.]+) \| (.+) \|$", page, re.M)
assert len(rows) >= 5 and LIGHTER.keys() <= {row[0] for row in rows}, page[-1500:]
bad = []
os.chdir(ROOT)
with tempfile.TemporaryDirectory() as folder:
    for words, evaluations, cost, place in rows:
        lighter = [] if "long" in sys.argv[2:] else LIGHTER.get(words, [])
        done = subprocess.run([program, "run", *words.split(), *lighter, "--study.archive", os.path.join(folder, f"{len(os.listdir(folder))}.h5")],
                              capture_output=True, text=True, timeout=300)  # fmt: skip
        told = done.stdout + done.stderr
        count = int(re.search(r"^(\d+) evaluations? now", told, re.M)[1])
        best, where = re.search(r"^best: (\S+) at (.*?) \(evaluation", told, re.M).groups()
        digits = len(cost.split(".")[1])
        wrong = [] if ": finished: " in told and "study.max-evaluations" not in told else ["did not end by itself"]
        if abs(count - int(evaluations)) > max(1, SHARE_OF_EVALUATIONS * int(evaluations)):
            wrong.append(f"{count} evaluations")
        if abs(float(best) - float(cost)) > 1.5 * 10**-digits:
            wrong.append(f"cost {best}")
        for name, value in re.findall(r"(\S+) = (\S+)", place):
            value = value.rstrip(",")
            now = re.search(rf"{re.escape(name)} = (-?[\d.e-]+)", where)[1]
            if abs(float(now) - float(value)) > max(0.01 * abs(float(value)), 1.5 * 10 ** -len(value.partition(".")[2])):
                wrong.append(f"{name} = {now}")
        print(f"{words}: {count} evaluations, cost {best} at {where}")
        bad += [f"docs/surrogates.md: {words}: {w}" for w in wrong]
print("\n".join(bad))
sys.exit(bool(bad))
