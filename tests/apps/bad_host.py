#!/usr/bin/python3
"""A host whose machine cannot start the program is taken out of service and named; other hosts do its evaluations.

    tests/apps/bad_host.py DODYN MPIRUN

Each rank has a host name of its own (a UTS namespace). Exit code 77 skips, where there are no namespaces.
"""
import os
import subprocess
import sys
import tempfile

import h5py

dodyn, mpirun = os.path.realpath(sys.argv[1]), sys.argv[2]
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash", OMP_NUM_THREADS="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
ROWS = 24
RANK = """#!/bin/bash
exec unshare --uts bash -c 'hostname "node$0"; exec "$@"' "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" "$@"
"""


def study(bad):
    return f"""[study]
evaluator = command
max-evaluations = {ROWS}
batch = 6
max-attempts = 20
[surrogate]
strategy = sweep
points = {ROWS}
[command]
run = if [ $(hostname) = {bad} ]; then exec /nowhere/program; fi; sleep 0.6; printf '{{"cost": %s}}' $DODYN_X > $DODYN_RESULT_FILE
[design]
x.min = 0
x.max = 1
"""


if subprocess.run(["unshare", "--uts", "hostname", "node"], capture_output=True).returncode:
    print("skipped: no namespaces")
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix="dodyn-bad-host-") as directory:
    os.chdir(directory)
    with open("rank.sh", "w") as file:
        file.write(RANK)
    os.chmod("rank.sh", 0o755)
    for bad in ("node2", "node0"):  # host names of a worker and of rank 0
        with open(f"{bad}.cfg", "w") as file:
            file.write(study(bad))
        done = subprocess.run([mpirun, "-n", "3", f"{directory}/rank.sh", dodyn, "run", f"{bad}.cfg"], env=environment, capture_output=True,
                              text=True, timeout=200)
        said = done.stdout + done.stderr
        assert f"host {bad} is out of service: its machine ended 3 evaluations in a row" in said, said
        assert done.returncode == 0, (done.returncode, said)
        with h5py.File(f"{bad}.h5") as file:
            rows = file["evaluations"]
            ok = rows["status"][:] == 0
            hosts = rows["host"].asstr()[:]
            assert sorted(rows["id"][:][ok]) == list(range(ROWS)), "an evaluation was lost"
            assert set(hosts[~ok]) == {bad} and bad not in hosts[ok], hosts
            assert 3 <= (~ok).sum() <= 5, (~ok).sum()  # running evaluations continue
        shown = subprocess.run([dodyn, "show", f"{bad}.h5"], env=environment, capture_output=True, text=True).stdout
        assert f"because of the machine: {(~ok).sum()} (lost {(~ok).sum()}; on {bad} {(~ok).sum()})" in shown, shown
        events = subprocess.run([dodyn, "show", f"{bad}.h5", "--events"], env=environment, capture_output=True, text=True).stdout
        assert "host retired" in events, events
print("out of service")
