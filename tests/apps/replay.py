#!/usr/bin/python3
"""The same outcome, bit by bit, on 1, 2 and 8 ranks, and in a replay.

    tests/apps/replay.py DODYN MPIRUN SOURCE

The row of an evaluation has the checksum of its outcome. The test compares the checksums and the numbers. The studies:
a noisy function in parts, a gait that starts from a neighbour's motion, simulations of a docking design in parts, the
same with noisy commands on an uneven table, and a user's program.
"""
import os
import subprocess
import sys
import tempfile

import h5py

dodyn, mpirun, source = os.path.realpath(sys.argv[1]), sys.argv[2], os.path.realpath(sys.argv[3])
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PMIX_MCA_gds="hash", OMP_NUM_THREADS="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none")
STUDIES = {
    "parts": "testfunction.cfg",
    "gait": f"{source}/configs/knee-motor.cfg --study.max-evaluations 3 --gait.initial-guesses 2 --gait.intervals 10",
    "docking": f"{source}/configs/docking.cfg --study.max-evaluations 2 --initial-states.count 4",
    "control": f"{source}/configs/docking-coils.cfg --study.max-evaluations 2 --initial-states.count 6 --simulation.initial-states-per-task 2 --simulation.end 5s --disturbance.force 3mN "
               "--control.craft=male --control.receiver=female --control.docked=length+depth+mount_height,0 --control.sample-rate=20 --control.delay=20ms "
               "--control.position-noise=1mm --control.attitude-noise=0.5deg --control.velocity-noise=1mm/s --design.gain-spin=0.02 "
               "--design.gain-attitude=0.05 --design.dipole-offset=0.1 --design.last-leg=0.03",
    "program": "program.cfg",
}


def run(*words, code=0):
    done = subprocess.run([*map(str, words)], env=environment, capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def outcomes(archive):
    """{id: (checksum, numbers)} of the rows that count."""
    with h5py.File(archive, "r") as file:
        table, paths = file["evaluations"], file["trajectories"]
        names = ("design", "seed", "status", "cost", "cost_stderr", "gradient", "metrics")
        channels = list(paths.attrs["names"])
        return {int(i): (int(table["checksum"][row, 2]),
                         b"".join([table[name][row].tobytes() for name in names] + [paths[name][row].tobytes() for name in channels]))
                for row, i in enumerate(table["id"][:])}


with tempfile.TemporaryDirectory(prefix="dodyn-replay-") as directory:
    os.chdir(directory)
    with open("testfunction.cfg", "w") as file:
        file.write("[study]\nevaluator = testfunction\nmax-evaluations = 12\nbatch = 4\n[testfunction]\nnoise = 0.1\nsamples = 3\n"
                   "[design]\nx.min = 0\nx.max = 1\n")
    with open("program.cfg", "w") as file:
        file.write("[study]\nevaluator = command\nmax-evaluations = 4\nbatch = 4\n[surrogate]\nstrategy = sweep\npoints = 4\n"
                   "[command]\nrun = printf '{\"cost\": %s}' \"$DODYN_X\" > $DODYN_RESULT_FILE\n[design]\nx.min = 0\nx.max = 1\n")
    for name, words in STUDIES.items():
        found = {}
        for ranks in (1, 2, 8):
            launch = [] if ranks == 1 else [mpirun, "-n", ranks]
            run(*launch, dodyn, "run", *words.split(), "--study.archive", f"{name}-{ranks}.h5")
            found[ranks] = outcomes(f"{name}-{ranks}.h5")
        assert found[1] == found[2] == found[8], f"{name}: outcomes depend on the number of ranks: {found}"
        assert len({checksum for checksum, _ in found[1].values()}) == len(found[1]), "different outcomes, one checksum"
        trust = ["--trust"] if name == "program" else []
        said = run(dodyn, "replay", f"{name}-8.h5", *trust)
        assert said.endswith(f"{len(found[1])} of {len(found[1])} the same, bit by bit\n"), said
        last = max(found[1])
        said = run(dodyn, "replay", f"{name}-2.h5", last, *trust)
        assert f"evaluation {last} ({found[1][last][0]:08x}): the same\n" in said, said

    # A replay names each difference: the number, and the property of the machine that has changed. The command reads a
    # file whose name it makes from a pattern. A file that the configuration names has a checksum; the replay refuses a
    # change.
    with open("other.cfg", "w") as file:
        file.write("[study]\nevaluator = command\nmax-evaluations = 1\n[surrogate]\nstrategy = sweep\npoints = 1\n"
                   f"[command]\nrun = cat {directory}/answe? > $DODYN_RESULT_FILE\n[design]\nx.min = 0\nx.max = 1\n")
    with open("answer", "w") as file:
        file.write('{"cost": 1}')
    run(dodyn, "run", "other.cfg")
    with open("answer", "w") as file:
        file.write('{"cost": 2}')
    said = run(dodyn, "replay", "other.h5", "--trust", code=1)
    assert "differs; cost was 1, is 2\n" in said and "as they were" in said and "0 of 1 the same" in said, said
    with h5py.File("other.h5", "r+") as file:
        machine = file.attrs["machine"]
        text = machine.decode() if isinstance(machine, bytes) else str(machine)
        processor = next(line for line in text.splitlines() if line.startswith("processor = "))
        file.attrs["machine"] = text.replace(processor, "processor = Abacus 3")
    said = run(dodyn, "replay", "other.h5", "--trust", code=1)
    assert f"\nprocessor was Abacus 3, is {processor[12:]}\n" in said, said
print("the same")
