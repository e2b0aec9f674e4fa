#!/usr/bin/python3
"""Kills running studies at random times and checks that nothing is lost.

    tests/kill_study.py DODYN [--kills 1000] [--ranks 3] [--mpirun mpirun] [--seed 1]

A study runs under mpirun --enable-recovery. At random times workers, rank 0, or all processes with the launcher are killed (SIGKILL). Many kills
hit a write of the archive, since the evaluations take hardly any time. The same command is started again until the study has finished. Then
another study follows, until the number of kills is reached. Checked:

* every row that a reader saw before a kill is present after it, unchanged;
* a finished study has each evaluation once, plus one row of status `lost` per attempt that a kill ended, with the same designs, seeds and
costs, bit for bit, as an undisturbed study.
"""
import argparse
import atexit
import collections
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import h5py

LOST = "5"
CONFIG = """[study]
evaluator = testfunction
max-evaluations = 100000
max-attempts = 1000000
heartbeat-timeout = 0.5
[surrogate]
strategy = sweep
points = 300
[design]
x.min = 0
x.max = 1
[testfunction]
noise = 0.1
delay = 0.01
"""


def rows(archive):
    """Returns [(id, status, cost, seed)] in the order of the file; None if the file cannot be read now."""
    try:
        with h5py.File(archive, "r", libver="latest", swmr=True) as file:
            table = file["evaluations"]
            n = len(table["id"])
            return list(zip(*(map(repr, table[name][:n].tolist()) for name in ("id", "status", "cost", "seed"))))
    except (OSError, KeyError, RuntimeError):
        return None


def final(all_rows):
    return {row[0]: row[1:] for row in all_rows if row[1] != LOST}


def ranks_of(launcher):
    """Returns {rank: pid} of the processes that mpirun started."""
    found = {}
    try:
        with open(f"/proc/{launcher}/task/{launcher}/children") as file:
            children = file.read().split()
    except OSError:
        return found
    for pid in children:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                for entry in file.read().split(b"\0"):
                    if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
                        found[int(entry.split(b"=")[1])] = int(pid)
        except OSError:
            pass
    return found


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dodyn")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--seed", type=int, default=1)
    call = parser.parse_args()
    dodyn = os.path.abspath(call.dodyn)
    chance = random.Random(call.seed)
    counts = collections.Counter()
    started = time.time()
    running = []  # process ids

    def end():  # also where it is told to stop
        for pid in running:
            kill(pid)
        print(f"{counts['kills']} kills in {time.time() - started:.0f} s ({counts['worker']} workers, {counts['rank 0']} "
              f"of rank 0, {counts['all']} of all ranks and the launcher at once), {counts['starts']} starts, "
              f"{counts['studies']} studies finished with {counts['evaluations']} evaluations; {counts['lost attempts']} "
              f"attempts were lost and repeated; {counts['wrong'] or 'no'} evaluation was lost or done twice", flush=True)

    atexit.register(end)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                       PMIX_MCA_gds="hash")

    with tempfile.TemporaryDirectory(prefix="dodyn-kill-") as directory:
        os.chdir(directory)
        with open("study.cfg", "w") as file:
            file.write(CONFIG)
        subprocess.run([dodyn, "run", "study.cfg", "--study.archive", "alone.h5"], check=True, capture_output=True)
        expected = final(rows("alone.h5"))

        def fail(what):
            counts["wrong"] = "perhaps an"
            print(f"kill_study: {what}; the archive is kept as /tmp/kill_study.h5", file=sys.stderr)
            subprocess.run(["cp", archive, "/tmp/kill_study.h5"])
            sys.exit(1)

        while counts["kills"] < call.kills:
            archive = f"study{counts['studies']}.h5"
            seen = []
            while True:  # start it until it has finished
                if os.path.exists("code"):
                    os.unlink("code")
                run = subprocess.Popen(
                    [call.mpirun, "--quiet", "--oversubscribe", "--bind-to", "none", "--enable-recovery", "-n",
                     str(call.ranks), dodyn, "run", "study.cfg", "--study.archive", archive, "--exit-code-file", "code"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment, start_new_session=True)
                counts["starts"] += 1
                running[:] = [run.pid]
                processes = {}
                deadline = time.time() + 120
                while run.poll() is None and time.time() < deadline:
                    time.sleep(chance.expovariate(3))
                    processes = ranks_of(run.pid) or processes
                    running[1:] = processes.values()
                    if not processes or counts["kills"] >= call.kills:
                        continue
                    seen = rows(archive) or seen
                    who = chance.choice(["worker"] * 4 + ["rank 0", "all"])
                    victims = {"worker": [p for r, p in processes.items() if r > 0], "rank 0": [processes.get(0)]}
                    if who == "all":
                        hit = [kill(pid) for pid in [*processes.values(), run.pid]]
                    else:
                        living = [p for p in victims[who] if p and alive(p)]
                        hit = [kill(chance.choice(living))] if living else []
                    counts[who] += any(hit)
                    counts["kills"] += any(hit)
                if run.poll() is None:
                    fail("a run neither ends nor goes on two minutes after its ranks were killed")
                for pid in processes.values():  # processes without their launcher end by themselves
                    limit = time.time() + 30
                    while alive(pid):
                        if time.time() > limit:
                            fail(f"process {pid} outlives its run")
                        time.sleep(0.01)
                running.clear()
                now = rows(archive) if os.path.exists(archive) else []
                if now is None:
                    now = seen  # the kill hit a write; the next start recovers the file, and the next read checks it
                elif now[: len(seen)] != seen:
                    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(now, seen)))
                    fail(f"of {len(seen)} rows seen before a kill, {same} are there after it ({len(now)} rows in all)")
                code = open("code").read().strip() if os.path.exists("code") else "killed"
                counts[f"code {code}"] += 1
                if code in ("1", "2"):
                    fail(f"the run ended with exit code {code}")
                if code == "0":
                    break
            all_rows = rows(archive)
            if all_rows[: len(seen)] != seen:
                fail("rows seen before a kill are missing in the end")
            ids = [row[0] for row in all_rows if row[1] != LOST]
            if len(ids) != len(set(ids)):
                fail("an evaluation was done twice")
            if final(all_rows) != expected:
                fail("the study that was killed is not the one that was left alone")
            counts["studies"] += 1
            print(f"{counts['kills']} kills, {counts['studies']} studies finished", file=sys.stderr, flush=True)
            counts["evaluations"] += len(ids)
            counts["lost attempts"] += len(all_rows) - len(ids)
            os.unlink(archive)


main()
