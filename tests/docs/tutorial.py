"""Runs docs/tutorial.md block by block in an empty directory. The README and docs/cases/rabbit.md state figures of the same studies of
RABBIT's knee. Usage: tutorial.py DODYN"""

import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "python"))
try:
    import dodyn as package
except ImportError:
    sys.exit(77)  # skipped

program = os.path.abspath(sys.argv[1])
environment = dict(os.environ, PATH=os.path.dirname(program) + ":" + os.environ["PATH"], CONFIGS=os.path.join(ROOT, "configs"),
                   PYTHONPATH=os.path.join(ROOT, "python"))  # fmt: skip
text = open(os.path.join(ROOT, "docs", "tutorial.md"), encoding="utf-8").read()
blocks = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```", text, re.S | re.M)
assert len(blocks) > 8


def states(name, sentence):
    """Asserts that a page has this sentence, with any line breaks."""
    page = open(os.path.join(ROOT, name), encoding="utf-8").read()
    assert sentence in " ".join(page.split()), f"{name}: a run gives: {sentence}"


def run(words, **how):
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, **how)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout + done.stderr


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    told = ""
    for language, what, code in blocks:
        if what and what.startswith("file="):
            open(what[5:], "w").write(code)
        elif language == "sh":
            told += run(["bash", "-e", "-c", code])
        elif what == "run":
            told += run(["/usr/bin/python3", "-c", code])
    # Checks the output that the page states.
    assert "did you mean" in told and "refused, as it should be" in told
    knee, slow, throw, spring, long, wide = (package.open(f"{name}.h5") for name in ("knee", "slow", "throw", "motion", "long", "wide"))
    built = float(re.search(r"^cost +(\S+)", told, re.M)[1])
    assert knee.stop_reason and "warnings\n  none\n" in told
    assert f"{knee.best.design['knee']:.3f} m, and its cost, {knee.best.cost:.4f}" in text, knee.best
    assert f"costs {built:.4f}, {100 * (built / knee.best.cost - 1):.1f} % more" in text, built
    assert f"lower, at {slow.best.design['knee']:.3f} m" in text, slow.best
    at, more = knee.best.design["knee"], f"{100 * (built / knee.best.cost - 1):.1f} %"
    count = {4: "Four", 5: "Five", 6: "Six", 7: "Seven"}[len(knee)]
    states("README.md", f"takes least energy with the knee at {at:.3f} m: as built it takes {more} more. {count} evaluations find this")
    rabbit = os.path.join("docs", "cases", "rabbit.md")
    states(rabbit, f"The knee belongs **{at:.3f} m** above the foot, at a cost of {knee.best.cost:.4f}. As built, at 0.40 m, the cost is {built:.4f}, {more} more")
    states(rabbit, f"| nothing | {at:.4f} | {knee.best.cost:.5f} | {built:.5f} | {more} |")
    states(rabbit, f"the foot rises {100 * knee.best.metrics['max_foot_height']:.1f} cm")
    states(rabbit, f"| a step in 0.6 s (0.75 m/s) | {slow.best.design['knee']:.4f} | {slow.best.cost:.5f} |")
    noted = re.search(r"note: stiffness is at its lower bound 1 N m/rad: .*", text)
    assert noted and noted[0] + "\n" in told, told
    inertia = 0.02 + 1 * 0.25**2  # of the arm about its joint
    words = " ".join(text.split())
    for study, time, halves, sentences in (
        (spring, 0.5, 1, ("The best spring has {0:.3f} N m/rad. Theory gives I (pi/T)^2 = {1:.3f} N m/rad",)),
        (long, 1.0, 3, ("The best spring has {0:.3f} N m/rad, which is stiffer", "I (3 pi/T)^2 = {1:.3f} N m/rad")),
        (wide, 1.0, 1, ("theory gives {1:.3f} N m/rad. So widen", "This finds {0:.3f} N m/rad")),
    ):
        theory = inertia * (halves * math.pi / time) ** 2
        found = study.best.design["stiffness"]
        assert abs(found / theory - 1) < 0.0015 * halves**2, (found, theory)  # the error of 40 time steps
        assert all(sentence.format(found, theory) in words for sentence in sentences), (found, theory)
    gain = package.open("low.h5").best.cost - wide.best.cost
    states(os.path.join("docs", "surrogates.md"), f"and the wider range gains {gain:.4f}.")
    best = throw.best
    h, d, g = 1.2, 6.0, 9.81
    v = (g * (h + (h * h + d * d) ** 0.5)) ** 0.5
    assert f"{v:.3f}" in text and f"{0.2 * v * v:.2f}" in text
    assert 0.2 * v * v * (1 - 1e-9) <= best.cost < 0.2 * v * v * 1.02, (best, v)
    assert best.metrics["clearance"] >= 0.2 - 1e-9 and len(throw) > 30  # the same command continued the study
    for name in ("knee.html", "compared.html", "motion.html", "long.html", "throw.html", "throw.png"):
        assert os.path.getsize(name) > 5000
    print(f"{len(blocks)} blocks; best throw {best.cost:.4f} J of {0.2 * v * v:.4f}")
