"""bench/robots.py on two robots of these tests: it agrees with the program, and a model with a wrong number misses. Usage: public_robots.py DODYN"""

import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import h5py  # noqa: F401  what `dodyn import` asks of the interpreter
    import scipy  # noqa: F401
except ImportError:
    sys.exit(77)  # skipped

from robot_texts import ARM, MACHINE

DODYN = os.path.abspath(sys.argv[1])
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "bench" / "robots.py"

# A program whose models have a wrong number.
WRONG = """#!/bin/sh
if [ "$1" = import ]; then "{dodyn}" "$@" | sed -e 's/^{old}/{new}/'; else exec "{dodyn}" "$@"; fi
"""


def run(program, folder, *words):
    return subprocess.run([sys.executable, SCRIPT, program, folder, *words], capture_output=True, text=True, timeout=900)


with tempfile.TemporaryDirectory() as place:
    folder = pathlib.Path(place) / "some+robots"
    folder.mkdir()
    (folder / "arm.urdf").write_text(ARM)
    (folder / "again.urdf").write_text(ARM.replace('name="elbow"', 'name="bend"'))
    (folder / "machine.urdf").write_text(MACHINE)
    (folder / "broken.urdf").write_text(ARM.replace('<mass value="3"/>', '<mass value="nan"/>'))
    (folder / "door.urdf").write_text('<robot name="door"><link name="a"/><link name="b"/><joint name="j" type="continuous"><parent link="a"/><child link="b"/></joint></robot>')
    done = run(DODYN, folder, "--check")
    lines = {line.split(":")[0]: line for line in done.stdout.splitlines()}
    assert done.returncode == 1 and sorted(lines) == ["again", "broken", "machine"], (done.stdout, done.stderr)
    assert lines["again"].startswith("again: ok: mass ") and lines["machine"].startswith("machine: ok: mass "), done.stdout
    assert lines["broken"] == 'broken: MISSED: broken.urdf:4: <mass> has value="nan"; write a number from 0', done.stdout
    free = pathlib.Path(place) / "free"
    free.mkdir()
    (free / "arm.urdf").write_text(ARM.replace('<link name="base"/>', '<link name="base"><inertial><mass value="2"/><inertia ixx="1" iyy="2" izz="2"/></inertial></link>'))
    done = run(DODYN, free, "--check", "--base", "free")
    assert done.returncode == 0 and done.stdout.startswith("arm: ok: mass "), (done.stdout, done.stderr)
    results = pathlib.Path(place) / "results"
    done = run(DODYN, folder, "--motions", "none", "--results", results)
    assert done.returncode == 0 and "| some/robots | 3 | 2 | 2 |" in done.stdout and "| robots: again.urdf | 3 | 3 |" in done.stdout, (done.stdout, done.stderr)
    assert "1 more files repeat" in done.stdout and len(results.read_text().splitlines()) == 5, done.stdout
    assert run("/bin/false", folder, "--motions", "none", "--results", results).stdout == done.stdout, "finished robots are not run again"
    for name in ("again", "arm", "broken"):
        (folder / f"{name}.urdf").unlink()
    for old, new, missed in (("fore_mass = 1.5 ", "fore_mass = 1.5015 ", "mass"), ("shoulder_damping = 0.2", "shoulder_damping = 0.21", "fall")):
        wrong = pathlib.Path(place) / "wrong"
        wrong.write_text(WRONG.format(dodyn=DODYN, old=old, new=new))
        wrong.chmod(0o755)
        done = run(wrong, folder, "--check")
        assert done.returncode == 1 and "machine: MISSED: mass " in done.stdout, (done.stdout, done.stderr)
        found = dict(one.split() for one in done.stdout.split(": ", 2)[2].split(", "))
        assert float(found[missed]) > 1e-6 and (missed == "mass" or float(found["mass"]) < 1e-9), done.stdout
