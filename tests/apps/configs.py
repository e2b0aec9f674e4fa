"""Reads every shipped configuration, from the root of the repository and from its own folder, and makes one evaluation
of each with tiny limits.
   configs.py DODYN ROOT [NAME ...]
"""
import configparser
import glob
import os
import subprocess
import sys
import tempfile

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
# command-parallel.cfg calls mpiexec, which otherwise refuses root, as in a container that builds and tests.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
# Settings that make an evaluation small. The test does not check its cost.
TINY = {
    "gait": {"intervals": "10", "initial-guesses": "1", "tasks": "1", "shifts": "0", "coarse-intervals": "0",
             "refine-tolerance": "0", "max-iterations": "30"},
    "motion": {"initial-guesses": "1", "tasks": "1", "max-iterations": "30", "refinements": "0", "contact-corners": "lowest",
               "validity-check": "warn", "accuracy": "0"},
    "simulation": {"end": "0.05", "nodes": "3"},
    "elastic": {"duration": "0.01"},
    "command": {},
}


def dodyn(*words, cwd):
    done = subprocess.run([DODYN, *words], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def free(checked):
    return any(line.split()[0].startswith("design.") and line.split()[0].endswith(".min")
               for line in checked.splitlines() if line.strip())


def one(path, scratch):
    text = configparser.ConfigParser(strict=False, interpolation=None, comment_prefixes="#", inline_comment_prefixes="#")
    text.optionxform = str
    text.read(path)
    evaluator = text["study"]["evaluator"]
    tiny = [word for key, value in TINY.get(evaluator, {}).items() for word in (f"--{evaluator}.{key}", value)]
    tiny += ["--study.time-limit", "20"]
    for cwd in (ROOT, os.path.dirname(path), scratch):
        code, checked, error = dodyn("check", os.path.relpath(path, cwd), *tiny, cwd=cwd)
        assert code == 0, (path, cwd, error)
    if free(checked):
        archive = os.path.join(scratch, os.path.basename(path) + ".h5")
        code, out, error = dodyn("run", path, *tiny, "--study.max-evaluations", "1", "--study.archive", archive, cwd=scratch)
        # such a small evaluation may end without a usable cost: exit code 1
        assert code == (1 if "has a usable cost" in out else 0), (path, code, out, error)
        code, rows, error = dodyn("show", archive, "--csv", cwd=scratch)
        assert code == 0 and len(rows.splitlines()) == 2, (path, rows, error)
        status = dict(zip(*[line.split(",") for line in rows.splitlines()]))["status"]
        assert status in ("ok", "infeasible", "not_converged", "timed_out"), (path, rows)
    else:
        code, out, error = dodyn("solve", path, *tiny, cwd=scratch)
        assert code in (0, 1) and out, (path, code, error)


paths = sorted(glob.glob(os.path.join(ROOT, "configs", "*.cfg")) + glob.glob(os.path.join(ROOT, "configs", "published", "*.cfg")))
assert len(paths) > 10, paths
for config in paths:
    if sys.argv[3:] and os.path.basename(config) not in sys.argv[3:]:
        continue
    with tempfile.TemporaryDirectory(prefix="dodyn-configs-") as directory:
        one(config, directory)
    print(os.path.basename(config), "runs", flush=True)
