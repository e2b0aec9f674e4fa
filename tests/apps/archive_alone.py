#!/usr/bin/python3
"""In an empty folder, run, rerun, solve, simulate, replay, check and serve take an archive in place of a configuration, and need no other file.

    tests/apps/archive_alone.py DODYN
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

dodyn = os.path.realpath(sys.argv[1])
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash")

MODEL = """[model]
dimension = 2
gravity = 0
[parameters]
mass = 1 kg
[link slider]
parent = ground
joint = prismatic x
coordinates = s
mass = mass
[actuator push]
coordinate = s
"""
MOTION = """[study]
evaluator = motion
max-evaluations = 3
[surrogate]
strategy = sweep
points = 6
[motion]
model = ../models/slider.model
initial-guesses = 1
validity-check = warn
[parameters]
way = 1
[phase only]
intervals = 8
duration = 1
[cost]
squared-control = 0.5
[initial-state]
s = 0
rate(s) = 0
[goal]
s = way
rate(s) = 0
[design]
way.min = 1
way.max = 2
"""
COMMAND = """[study]
evaluator = command
max-evaluations = 3
batch = 1
[surrogate]
strategy = ego
initial-samples = 3
initial-designs = first.csv
[command]
run = touch {witness}; sh "$DODYN_STUDY/tools/cost.sh" < "$DODYN_STUDY/table"
[design]
x.min = 0
x.max = 1
"""


def call(*words, folder, code=0, **more):
    done = subprocess.run([dodyn, *map(str, words)], capture_output=True, text=True, cwd=folder, env=environment, **more)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout + done.stderr


def refusal(*words, folder):
    said = call(*words, folder=folder, code=2)
    assert said.count("\n") == 1 and said.startswith("dodyn: ") and len(said) < 1200, said
    return said


def left():
    return os.listdir(environment["TMPDIR"])


def nothing_left():
    deadline = time.monotonic() + 30
    while left() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left(), left()


def moved(archive, folder):
    """Moves the archive to a new, empty folder."""
    os.makedirs(folder)
    shutil.copy(archive, folder)
    return folder


with tempfile.TemporaryDirectory(prefix="dodyn-alone-") as scratch:
    environment["TMPDIR"] = f"{scratch}/temporary"
    home = f"{scratch}/home/study/configs"
    for folder in (environment["TMPDIR"], home, f"{home}/tools", f"{scratch}/home/study/models"):
        os.makedirs(folder)
    witness = f"{scratch}/started"
    files = {
        f"{home}/../models/slider.model": MODEL,
        f"{home}/motion.cfg": MOTION,
        f"{home}/command.cfg": COMMAND.format(witness=witness),
        f"{home}/tools/cost.sh": 'read c; printf \'{"cost": %s}\' "$c${DODYN_X#0}" > $DODYN_RESULT_FILE\n',
        f"{home}/table": "3\n",
        f"{home}/first.csv": "x\n0.25\n",
    }
    for path, text in files.items():
        with open(path, "w") as file:
            file.write(text)

    # A motion whose model file is in a folder next to the configuration's.
    call("run", "motion.cfg", folder=home)
    call("run", "motion.cfg", "--study.archive", "whole.h5", "--study.max-evaluations", "6", folder=home)
    assert "3 of 3 the same, bit by bit" in call("replay", "motion.h5", folder=home)
    call("run", "command.cfg", folder=home)
    # However the command line names the folder of the configuration, its files have the same names.
    far = f"{scratch}/home/study/models"
    for kind in ("motion", "command"):
        for number, way in enumerate((f"../configs/{kind}.cfg", f"./../configs/{kind}.cfg", f"{home}/{kind}.cfg")):
            archive = f"{far}/{kind}{number}.h5"
            call("run", way, "--study.archive", archive, folder=far)
            assert "the same problem" in call("show", archive, "--diff", way, folder=far), way
            assert "the same problem" in call("show", archive, "--diff", f"../configs/{kind}.h5", folder=far), way
            with h5py.File(archive) as f:
                assert f.attrs["folder"] == home, f.attrs["folder"]
            call("run", f"{kind}.cfg", "--study.archive", archive, folder=home)  # continues it
    os.remove(witness)
    os.rename(f"{scratch}/home", f"{scratch}/hidden")
    hidden = f"{scratch}/hidden/study/configs"
    alone = moved(f"{hidden}/motion.h5", f"{scratch}/alone")
    assert "3 of 3 the same, bit by bit" in call("replay", "motion.h5", folder=alone)
    for number in range(3):
        assert "3 of 3 the same" in call("replay", f"{scratch}/hidden/study/models/motion{number}.h5", folder=alone)
    nothing_left()
    solved = call("solve", "motion.h5", "--design.way", "1.5", folder=alone)
    assert "d cost / d way" in solved or "gradient" in solved, solved
    assert "way.max" in call("check", "motion.h5", folder=alone)
    assert "motion.h5: evaluation 1, cost" in call("simulate", "motion.h5", "--from", "motion.h5", "--evaluation", "1", folder=alone)
    served = call("serve", "motion.h5", folder=alone, input='{"design": {"way": 1.25}}\n')
    assert json.loads(served)["status"] == "ok", served
    nothing_left()
    assert os.listdir(alone) == ["motion.h5"], os.listdir(alone)
    # The study continues there with the same rows as in its original folder.
    call("run", "motion.h5", "--study.max-evaluations", "6", folder=alone)
    with h5py.File(f"{alone}/motion.h5") as one, h5py.File(f"{hidden}/whole.h5") as other:
        assert (one["evaluations/checksum"][:, 2] == other["evaluations/checksum"][:, 2]).all()
        assert len(one["evaluations/id"]) == 6
    nothing_left()

    # However a process ends, it leaves no temporary folder behind.
    for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        process = subprocess.Popen([dodyn, "serve", "motion.h5"], cwd=alone, env=environment, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)
        process.stdin.write(b'{"describe": true}\n')
        process.stdin.flush()
        process.stdout.readline()
        assert len(left()) == 1, left()
        process.send_signal(how)
        process.wait()
        nothing_left()

    # Programs from a foreign archive are not started without --trust.
    alone = moved(f"{hidden}/command.h5", f"{scratch}/strange")
    for words in (["run", "command.h5", "--study.max-evaluations", "5"], ["solve", "command.h5", "--design.x", "0.5"],
                  ["replay", "command.h5"], ["serve", "command.h5"], ["rerun", "command.h5", "--ids", "0"]):
        said = refusal(*words, folder=alone)
        assert "--trust" in said and "tools/cost.sh" in said, said
    assert not os.path.exists(witness)
    nothing_left()
    call("check", "command.h5", folder=alone)
    assert "3 of 3 the same, bit by bit" in call("replay", "command.h5", "--trust", folder=alone)
    assert os.path.exists(witness)
    assert "cost" in call("solve", "command.h5", "--design.x", "0.5", "--trust", folder=alone)
    call("run", "command.h5", "--trust", "--study.max-evaluations", "5", folder=alone)
    with h5py.File(f"{alone}/command.h5") as file:
        assert file["evaluations/design"][0, 0] == 0.25 and len(file["evaluations/id"]) == 5
    nothing_left()
    assert "--trust applies only to archives" in refusal("run", f"{hidden}/command.cfg", "--trust", folder=alone)

    # The files are extracted unchanged, and only into a new folder.
    said = call("show", "command.h5", "--extract", "out", folder=alone)
    for name in ("tools/cost.sh", "table", "first.csv"):
        with open(f"{alone}/out/{name}") as file:
            assert file.read() == files[f"{home}/{name}"], name
        assert f"out/{name}\n" in said, said
    assert "exists already" in refusal("show", "command.h5", "--extract", "out", folder=alone)
    assert "the same files" in call("show", "command.h5", "--diff", "out", folder=alone)
    with open(f"{alone}/out/table", "w") as file:
        file.write("4\n")
    said = call("show", "command.h5", "--diff", "out", folder=alone, code=1)
    assert "+++ out: table\n@@ -1,1 +1,1 @@\n-3\n+4\n" in said and "cost.sh" not in said, said

    # If the original folder exists with a changed file, the archive's file is used, with a note.
    os.rename(f"{scratch}/hidden", f"{scratch}/home")
    with open(f"{home}/../models/slider.model", "w") as file:
        file.write(MODEL.replace("mass = 1 kg", "mass = 2 kg"))
    said = call("replay", "motion.h5", folder=home)
    assert "3 of 3 the same, bit by bit" in said and "note: " in said and "slider.model differs from the version" in said, said
    said = call("show", "motion.h5", "--diff", "motion.cfg", folder=home, code=1)
    assert "-mass = 1 kg\n+mass = 2 kg\n" in said and "-design.mass = 1\n+design.mass = 2\n--- " in said, said
    assert "-mass = 1 kg" in call("show", "motion.h5", "--diff", ".", folder=home, code=1)
    said = call("show", "motion.h5", "--diff", "whole.h5", folder=home, code=1)
    assert said == "--- motion.h5: settings\n+++ whole.h5: settings\n-study.max-evaluations = 3\n+study.max-evaluations = 6\n", said
    assert "motion.model has changed" in refusal("run", "motion.cfg", folder=home)

    # For a file above the size limit, the archive has only name and checksum. A missing file is then reported.
    with open(f"{home}/large", "wb") as file:
        file.write(b"1" * (17 << 20))
    with open(f"{home}/large.cfg", "w") as file:
        file.write('[study]\nevaluator = command\nmax-evaluations = 1\n[surrogate]\nstrategy = sweep\npoints = 1\n[command]\n'
                   'run = head -c 1 "$DODYN_STUDY/large" > n; sh $DODYN_STUDY/tools/cost.sh < n\n[design]\nx.min = 0\nx.max = 1\n')
    call("run", "large.cfg", folder=home)
    assert os.path.getsize(f"{home}/large.h5") < 1 << 20
    alone = moved(f"{home}/large.h5", f"{scratch}/large")
    os.rename(f"{scratch}/home", f"{scratch}/hidden")
    said = call("show", "large.h5", "--extract", "out", folder=alone)
    assert f"note: large, {17 << 20} bytes, checksum " in said and "out/tools/cost.sh" in said, said
    assert "large does not exist here, and the archive does not contain it" in refusal("replay", "large.h5", "--trust", folder=alone)

    # An archive of an older version opens, and the missing files are reported.
    alone = moved(f"{hidden}/motion.h5", f"{scratch}/before")
    shutil.copy(f"{hidden}/command.h5", alone)
    for name in ("motion.h5", "command.h5"):
        with h5py.File(f"{alone}/{name}", "r+") as file:
            del file["files"]
    assert "3 evaluations" in call("show", "motion.h5", "--verify", folder=alone)
    assert "slider.model: cannot be read" in refusal("replay", "motion.h5", folder=alone)
    assert "this archive contains no files" in refusal("replay", "command.h5", "--trust", folder=alone)
    assert "contains no files" in refusal("show", "motion.h5", "--extract", "out", folder=alone)

    # Crafted paths that lead out of the folder.
    for path in ("../evil", "/tmp/evil", "a/../../evil", "a//b", "", ".", "configs", "a\nb"):
        shutil.copy(f"{hidden}/motion.h5", f"{alone}/crafted.h5")
        with h5py.File(f"{alone}/crafted.h5", "r+") as file:
            group = file["files"]
            group.attrs.create("paths", [path], dtype=h5py.string_dtype())
            if path == "configs":  # the folder of the configuration
                group.attrs.create("paths", ["models/slider.model", "models"], dtype=h5py.string_dtype())
                group.attrs.create("names", ["../models/slider.model", "x"], dtype=h5py.string_dtype())
                group.attrs.create("checksums", [group.attrs["checksums"][0]] * 2, dtype=h5py.string_dtype())
                group.attrs.create("sizes", np.array([group.attrs["sizes"][0]] * 2))
                group.copy("0", "1")
        assert "/files: the path '" in refusal("replay", "crafted.h5", folder=alone), path
    nothing_left()
print("alone")
