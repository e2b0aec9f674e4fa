#!/usr/bin/python3
"""Replays shipped studies from their archives alone, in an empty folder: every row must be the same, bit by bit. The folder of the
original run is deleted first.

    tests/apps/replay_shipped.py DODYN SOURCE [NAME ...]

Takes every configuration that `dodyn run` accepts, or the named ones: three evaluations each. Exit code 77 skips. Named studies use fewer
initial states: docking then takes 5 s of processor time instead of 50 s.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

dodyn, source, names = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3:]
configurations = sorted(f for f in os.listdir(f"{source}/configs") if f.endswith(".cfg"))
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash")
LIGHTER = {"docking": ["--initial-states.count", "20"]} if names else {}
wrong, replayed = [], 0


def call(*words, folder):
    done = subprocess.run([dodyn, *words], capture_output=True, text=True, cwd=folder, env=environment)
    return done.returncode, done.stdout + done.stderr


with tempfile.TemporaryDirectory(prefix="dodyn-shipped-") as scratch:
    made, elsewhere, there = f"{scratch}/made", f"{scratch}/elsewhere", f"{scratch}/source"
    for folder in ("configs", "models"):
        shutil.copytree(f"{source}/{folder}", f"{there}/{folder}")
    os.mkdir(made)
    os.mkdir(elsewhere)
    for configuration in configurations:
        name = configuration[:-len(".cfg")]
        if names and name not in names:
            continue
        path = f"{there}/configs/{configuration}"
        code, said = call("check", path, folder=made)
        assert code == 0, (configuration, said)
        if "no free design variable" in said:
            continue
        code, said = call("run", path, "--study.archive", f"{name}.h5", "--study.max-evaluations", "3", *LIGHTER.get(name, []), folder=made)
        if not os.path.exists(f"{made}/{name}.h5"):
            wrong.append(f"{name}: did not run: {said}")
            continue
        shutil.move(f"{made}/{name}.h5", elsewhere)
        os.rename(there, f"{scratch}/gone")
        trust = ["--trust"] if name.startswith("command-") else []
        code, said = call("replay", f"{name}.h5", *trust, folder=elsewhere)
        os.rename(f"{scratch}/gone", there)
        counts = re.search(r"(\d+) of (\d+) the same, bit by bit", said)
        replayed += 1
        print(name, counts[0] if counts else said.strip(), flush=True)
        if code != 0 or not counts or counts[1] != counts[2] or counts[2] == "0":
            wrong.append(f"{name}: {said}")
        left = [f for f in os.listdir(elsewhere) if f != f"{name}.h5" and not f.endswith(".h5")]
        if left:
            wrong.append(f"{name}: replay left {left}")
            shutil.rmtree(f"{elsewhere}/{left[0]}")
assert replayed == len(names) or not names
assert not wrong, f"{len(wrong)} of {replayed} studies:\n" + "\n".join(wrong)
print(f"{replayed} studies replayed")
