#!/usr/bin/python3
"""Tests which failures a run survives under which MPI: the table of docs/measured/mpi.md.

    bench/mpi_survival.py DODYN LAUNCHER [OPTION...]       a dodyn built with that MPI; LAUNCHER: mpirun, mpiexec.mpich, ...

Each line is a study of 60 evaluations of 0.2 s on 4 ranks with one failure after some rows. Columns: whether that run continues to the end; its exit
code; if it does not continue, the time until all its processes are gone; whether the same command then finishes with each evaluation once and with
the costs of a run on one rank.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

import h5py

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests"))
from disturb_study import processes  # noqa: E402

dodyn, launcher, options = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3:]
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash", OMP_NUM_THREADS="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
CONFIG = ("[study]\nevaluator = testfunction\nmax-evaluations = 1000\nbatch = 12\nheartbeat-timeout = 2\ngrace-period = 1\n[surrogate]\nstrategy = sweep\n"
          "points = 60\n[testfunction]\nnoise = 0.1\ndelay = 0.2\n[design]\nx.min = 0\nx.max = 1\n")


def rows(archive):
    try:
        with h5py.File(archive, "r", libver="latest", swmr=True) as file:
            table = file["evaluations"]
            n = len(table["id"])
            return {int(i): int(c) for i, s, c in zip(table["id"][:n], table["status"][:n], table["checksum"][:n, 2]) if s != 5}
    except (OSError, KeyError):
        return {}


def ranks(mark):
    """{rank: pid} of the processes of this program with MARK=mark."""
    return {rank: pid for pid, (name, rank) in processes(mark).items() if rank is not None and name == os.path.basename(dodyn)[:15]}


def strike(what, run, mark):
    there = ranks(mark)
    if what == "a worker killed":
        os.kill(there[2], signal.SIGKILL)
    elif what == "rank 0 killed":
        os.kill(there[0], signal.SIGKILL)
    elif what == "the launcher killed":
        os.kill(run.pid, signal.SIGKILL)
    else:
        os.kill(run.pid, {"SIGUSR1 to the launcher": signal.SIGUSR1, "SIGTERM to the launcher": signal.SIGTERM,
                          "Ctrl-C": signal.SIGINT}[what])


with tempfile.TemporaryDirectory(prefix="dodyn-mpi-") as directory:
    os.chdir(directory)
    environment["MARK"] = directory
    with open("s.cfg", "w") as file:
        file.write(CONFIG)
    subprocess.run([dodyn, "run", "s.cfg", "--study.archive", "alone.h5", "--testfunction.delay", "0"], check=True, capture_output=True)
    expected = rows("alone.h5")
    words = [launcher, *options, "-n", "4", dodyn, "run", "s.cfg"]
    print(f"{' '.join([launcher, *options])}:\n")
    print("| struck | that run | exit code | processes gone after | the same command |\n|---|---|---|---|---|")
    for what in ("nothing", "a worker killed", "rank 0 killed", "the launcher killed", "SIGUSR1 to the launcher", "SIGTERM to the launcher", "Ctrl-C"):
        for name in os.listdir("."):
            if name.startswith("s.h5"):
                os.unlink(name)
        run = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        latest = time.time() + 60
        while len(rows("s.h5")) < 12 and time.time() < latest:
            time.sleep(0.05)
        struck = time.time()
        if what != "nothing":
            strike(what, run, directory)
        while (run.poll() is None or ranks(directory)) and time.time() < struck + 120:
            time.sleep(0.05)
        gone = time.time() - struck
        kept = rows("s.h5")
        went_on = kept == expected
        for pid in ranks(directory).values():
            os.kill(pid, signal.SIGKILL)
        if run.poll() is None:
            run.kill()
            run.wait()
        again = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=180)
        finished = "finished, the same" if rows("s.h5") == expected else f"WRONG: {again.stdout[-200:]} {again.stderr[-200:]}"
        lost = all(expected[i] == c for i, c in kept.items())
        print(f"| {what} | {'goes on to the end' if went_on else f'ends, {len(kept)} rows kept' if lost else 'WRONG ROWS'} | {run.returncode} | "
              f"{'' if went_on else f'{gone:.1f} s'} | {finished} |", flush=True)
