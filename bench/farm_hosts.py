#!/usr/bin/python3
"""The simulated farm (farm_simulation.py) against studies over hosts that are network namespaces of this machine (tests/hosts/hosts.sh).

    bench/farm_hosts.py DODYN [HOSTS ...]         as root; by default 2 4 8

Two ranks on each host; evaluations sleep; 100 evaluations per rank in one batch. Prints the efficiency: the evaluation time of the ranks, divided
by the time from the first start to the last end. The simulation uses the latency and the message time of farm_simulation.py, measured on one machine.
"""
import datetime
import os
import subprocess
import sys
import tempfile

import h5py
from farm_simulation import constant, efficiency

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HOSTS = os.path.join(ROOT, "tests", "hosts", "hosts.sh")
RANKS_A_HOST, ROUNDS = 2, 100
LATENCY, MESSAGE = 5.0e-3, 1 / 27600  # s; docs/measured/farm.md
STUDY = """[study]
evaluator = testfunction
max-evaluations = {tasks}
batch = {tasks}
[surrogate]
strategy = ego
initial-samples = {tasks}
[testfunction]
delay = {seconds}
[design]
x.min = 0
x.max = 1
"""


def inside(dodyn, hosts, seconds):
    """Within the namespaces: runs the study in the working directory, and prints its efficiency."""
    ranks = RANKS_A_HOST * hosts
    for name, text in {"agent": f'#!/bin/sh\nexec {HOSTS} on "$@"\n', "study.cfg": STUDY.format(tasks=ranks * ROUNDS, seconds=seconds)}.items():
        with open(name, "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
            file.write(text)
    nodes = ",".join(f"10.78.0.{i + 1}:{RANKS_A_HOST}" for i in range(hosts))
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash", OMP_NUM_THREADS="1")
    subprocess.run([HOSTS, "on", "host1", "exec", "mpirun", "--quiet", "--oversubscribe", "--bind-to", "none", "--host", nodes, "--mca", "plm_rsh_agent",
                    f"{os.getcwd()}/agent", "--mca", "plm_rsh_no_tree_spawn", "1", dodyn, "run", "study.cfg"],
                   check=True, capture_output=True, env=environment)
    with h5py.File("study.h5") as file:
        rows = file["evaluations"]
        begins = [datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() for text in rows["start_time"].asstr()[:]]
        spans = rows["wall_time"][:].tolist()
        assert len(set(rows["host"].asstr()[:])) == hosts
    time = max(begin + span for begin, span in zip(begins, spans)) - min(begins)
    print(sum(spans) / (ranks * time))


def main():
    dodyn = os.path.abspath(sys.argv[1])
    print("| hosts | ranks | an evaluation | measured | simulated |\n|---|---|---|---|---|")
    for hosts in [int(word) for word in sys.argv[2:]] or [2, 4, 8]:
        for seconds in (0.1, 0.5):
            with tempfile.TemporaryDirectory(prefix="dodyn-farm-") as directory:
                done = subprocess.run([HOSTS, "run", str(hosts), sys.executable, os.path.abspath(__file__), dodyn, "inside", str(hosts), str(seconds)],
                                      cwd=directory, capture_output=True, text=True)
            if done.returncode:
                sys.exit(done.stdout + done.stderr)
            ranks = RANKS_A_HOST * hosts
            simulated = efficiency(ranks, ROUNDS, constant(seconds), latency=LATENCY, message=MESSAGE)
            print(f"| {hosts} | {ranks} | {seconds} s | {float(done.stdout):.3f} | {simulated:.3f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[2:3] == ["inside"]:
        inside(sys.argv[1], int(sys.argv[3]), float(sys.argv[4]))
    else:
        main()
