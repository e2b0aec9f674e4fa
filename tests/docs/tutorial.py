"""Does what docs/tutorial.md says, block by block, in an empty directory. Usage: tutorial.py DODYN"""

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
    # What the page promises.
    assert "did you mean" in told and "refused, as it should be" in told
    knee, slow, throw = (package.open(f"{name}.h5") for name in ("knee", "slow", "throw"))
    built = float(re.search(r"^cost +(\S+)", told, re.M)[1])
    assert knee.stop_reason and "warnings\n  none\n" in told
    assert f"{knee.best.design['knee']:.3f} m, and its cost, {knee.best.cost:.4f}" in text, knee.best
    assert f"costs {built:.4f}, {100 * (built / knee.best.cost - 1):.1f} % more" in text, built
    assert f"lower, at {slow.best.design['knee']:.3f} m" in text, slow.best
    best = throw.best
    h, d, g = 1.2, 6.0, 9.81
    v = (g * (h + (h * h + d * d) ** 0.5)) ** 0.5
    assert f"{v:.3f}" in text and f"{0.2 * v * v:.2f}" in text
    assert 0.2 * v * v * (1 - 1e-9) <= best.cost < 0.2 * v * v * 1.02, (best, v)
    assert best.metrics["clearance"] >= 0.2 - 1e-9 and len(throw) > 30  # it went on
    for name in ("knee.html", "compared.html", "throw.html", "throw.png"):
        assert os.path.getsize(name) > 5000
    print(f"{len(blocks)} blocks; best throw {best.cost:.4f} J of {0.2 * v * v:.4f}")
