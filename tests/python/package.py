"""The Python package: one version with the program, a wheel that pip builds and imports. tests/style.sh checks its types. Usage: package.py DODYN"""

import importlib.util
import os
import subprocess
import sys
import tempfile

from studies import ROOT, dodyn

try:
    import dodyn as package
except ImportError:
    sys.exit(77)  # skipped

PYTHON = os.path.join(ROOT, "python")


def version():
    assert dodyn("--version").split()[1] == package.__version__


def wheel():
    """pip builds a wheel from the folder; installed elsewhere, it has its data files and reads no file of the sources."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    if importlib.util.find_spec("pip") is None or importlib.util.find_spec("wheel") is None:
        return print("no pip or wheel")
    subprocess.run(["cp", "-r", PYTHON, "sources"], check=True)  # setuptools builds inside the folder
    done = subprocess.run([*pip, "install", "--no-deps", "--no-build-isolation", "--no-index", "--target", "there", "./sources"],
                          capture_output=True, text=True)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    there, here = (sorted(set(os.listdir(folder)) - {"__pycache__"}) for folder in ("there/dodyn", os.path.join(PYTHON, "dodyn")))
    assert there == here, there
    said = subprocess.run([sys.executable, "-c", "import dodyn, dodyn.report; print(dodyn.__file__)"], cwd="there", capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.path.abspath("there")})  # fmt: skip
    assert said.stdout.strip() == os.path.abspath("there/dodyn/__init__.py"), said


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    for test in (version, wheel):
        test()
        print(test.__name__, "ok", flush=True)
