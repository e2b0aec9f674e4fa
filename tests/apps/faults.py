#!/usr/bin/python3
"""Evaluations that crash, and the ways to stop a run, one word each. Usage: faults.py DODYN MPIRUN NAME...

Each study is started again until it has finished, as a job script does. At the end every design has exactly one answer,
and designs that are not at fault have usable ones.
"""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DODYN, MPIRUN = (os.path.abspath(shutil.which(word) or word) for word in sys.argv[1:3])
ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                   PMIX_MCA_gds="hash", DODYN=DODYN)
HYDRA = "HYDRA" in subprocess.run([MPIRUN, "--version"], capture_output=True, text=True).stdout  # MPICH's launcher
RANKS = [MPIRUN, "--quiet", "--oversubscribe", "--bind-to", "none", "--enable-recovery"] if not HYDRA else [MPIRUN]
# MPICH ends all ranks when one dies (docs/measured/mpi.md). jobs/local.sh uses options of Open MPI.
NEED_RECOVERY = ("ranks_die", "hang", "stopped", "master_killed", "slow", "local_script", "killed_at_start")
CONFIG = """[study]
evaluator = testfunction
batch = 9
heartbeat-timeout = 1
grace-period = 1
max-attempts = 2
[surrogate]
strategy = sweep
points = 9
[testfunction]
fail-above = 0.9
[design]
x.min = 0
x.max = 1
"""


def start(words, **options):
    return subprocess.Popen(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def finish(run, limit=100):
    try:
        text = run.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        run.kill()
        raise
    return run.returncode, text


def dodyn(*words, **options):
    return finish(start([DODYN, *words], **options))


def evaluations(archive="f.h5"):
    """Returns the last row of each evaluation, {x: row}. Checks the archive with --verify."""
    code, text = dodyn("show", archive, "--json")
    assert code == 0, text
    rows = json.loads(text)["evaluations"]
    code, text = dodyn("show", archive, "--verify")
    assert code == 0, text
    return {row["design"]["x"]: row for row in rows}


def befell(archive="f.h5"):
    """Returns the events of the study, [(kind, text)]. JSON and text list the same ones, each with its time."""
    events = json.loads(dodyn("show", archive, "--json")[1])["events"]
    assert all(event["time"][:2] == "20" and event["time"][-1] == "Z" for event in events), events
    lines = dodyn("show", archive, "--events")[1].splitlines()
    assert len(lines) == len(events) and all(event["time"] in line and event["kind"] in line
                                             for event, line in zip(events, lines)), lines
    return [(event["kind"], event["text"]) for event in events]


def expect(status, reason, archive="f.h5"):
    rows = evaluations(archive)
    assert len(rows) == 9, rows
    for x, row in rows.items():
        if x > 0.9:
            assert row["status"] == status and reason in row["reason"], row
        else:
            assert row["status"] == "ok", row


def isolated():
    """One failed row with the signal's name, whatever the model does to its process."""
    for fault, status, reason in (("crash", "failed", "killed by signal 11 (Segmentation fault)"),
                                  ("kill", "lost", "killed by signal 9 (Killed)"),
                                  ("memory", "failed", "out of memory"),
                                  ("hang", "timed_out", "did not stop at its time limit; its process was killed")):
        code, text = dodyn("run", "f.cfg", "--study.isolate", "process", "--testfunction.fault", fault,
                           "--study.memory-limit", "500", "--study.archive", fault + ".h5",
                           "--study.time-limit", "1" if fault == "hang" else "60")
        assert code == (0 if status == "failed" else 4) and f"without a usable cost: {status} " in text, text
        expect(status, reason, fault + ".h5")


def alone():
    """A design that kills the only process of a study is given up by later starts, after study.max-attempts."""
    for fault, signal_number in (("crash", signal.SIGSEGV), ("kill", signal.SIGKILL)):
        words = ["run", "f.cfg", "--testfunction.fault", fault, "--study.archive", fault + ".h5"]
        for attempt in range(2):  # study.max-attempts
            code, text = dodyn(*words)
            assert code == -signal_number, (code, text)
        code, text = dodyn(*words)
        assert code == 4 and "without a usable cost: lost 1;" in text, text
        expect("lost", "rank 0 was killed while it evaluated this", fault + ".h5")
        assert not os.path.exists(fault + ".h5.running")
    # two SIGTERM during an evaluation are no attempt of its design; a SIGKILL is one
    for signals, lost in ((2 * [signal.SIGTERM], 0), ([signal.SIGKILL], 1)):
        run = start([DODYN, "run", "f.cfg", "--testfunction.delay", "30", "--study.archive", f"{lost}.h5"])
        evaluating(f"{lost}.h5", run)
        for number in signals:
            run.send_signal(number)
            time.sleep(0.2)
        finish(run)
        assert os.path.exists(f"{lost}.h5.running") == (lost > 0)
        code, text = dodyn("run", "f.cfg", "--study.archive", f"{lost}.h5")
        assert code == 0 and "9 evaluations now" in text, text
        attempts = 0 if "earlier attempt" not in (shown := dodyn("show", f"{lost}.h5")[1]) else 1
        assert attempts == lost, shown


def ranks_die():
    """Without isolation a fault ends the rank. The others give the design up after study.max-attempts. If it was rank
    0, the same command continues."""
    for fault in ("crash", "kill"):
        for attempt in range(4):
            if os.path.exists("code"):
                os.unlink("code")
            finish(start([*RANKS, "-n", "5", DODYN, "run", "f.cfg", "--testfunction.fault", fault, "--study.archive",
                          fault + ".h5", "--testfunction.delay", "0.1", "--exit-code-file", "code"]))
            if os.path.exists("code"):
                break
        assert open("code").read() == "4\n", fault
        expect("lost", "", fault + ".h5")


def hang():
    """A design that ignores its time limit is given up with its rank; the other ranks finish the study."""
    code, text = finish(start([*RANKS, "-n", "3", DODYN, "run", "f.cfg", "--testfunction.fault", "hang",
                               "--study.time-limit", "0.5", "--exit-code-file", "code"]))
    assert open("code").read() == "4\n", text
    expect("timed_out", "did not stop at its time limit; given up")
    assert any(kind == "rank given up" and said.startswith("evaluation 1 does not stop") for kind, said in befell()), befell()
    # a run of one rank ends, and states that the same command continues
    code, text = dodyn("run", "f.cfg", "--testfunction.fault", "hang", "--study.time-limit", "0.5", "--study.archive", "1.h5")
    assert code == 3 and "no evaluator is left" in text, text
    code, text = dodyn("run", "f.cfg", "--study.archive", "1.h5")
    assert code == 4, text  # that one design is timed out


COMMAND = """[study]
evaluator = command
batch = 4
heartbeat-timeout = 2
grace-period = 20
[surrogate]
strategy = sweep
points = 5
[command]
run = {run}
[design]
x.min = 0
x.max = 1
"""
# A simulator that a shell starts, with a helper that leaves its group and session; it ends when there is a file `go`. MARK is in
# their environment.
SIMULATOR = """import os, subprocess, sys, time
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.02)
with open(os.environ["DODYN_RESULT_FILE"], "w") as file:
    file.write('{"cost": %s}' % os.environ["DODYN_X"])
"""


def marked(mark):
    """Returns the processes with MARK=mark in their environment, {pid: command line}, whatever their parents."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"MARK={mark}".encode() in file.read().split(b"\0"):
                    with open(f"/proc/{pid}/cmdline", "rb") as file:
                        if line := file.read().replace(b"\0", b" ").decode():
                            found[int(pid)] = line
        except OSError:
            pass
    return found


def name_of(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


def kill(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def go(now):
    """With `now`: the simulators end. Otherwise the next ones wait."""
    if now:
        open("go", "w").close()
    elif os.path.exists("go"):
        os.unlink("go")


def simulators():
    """Writes a study of simulators. Returns their mark, and a function that waits until a number of them run."""
    with open("simulator.py", "w") as file:
        file.write(SIMULATOR)
    with open("c.cfg", "w") as file:
        file.write(COMMAND.format(run=f"{sys.executable} {os.getcwd()}/simulator.py {os.getcwd()}/go; true"))
    mark = os.getcwd()
    ENVIRONMENT["MARK"] = mark

    def running(count, limit=60):
        end = time.time() + limit
        while sum("simulator.py" in line and "sh -c" not in line for line in marked(mark).values()) < count:
            assert time.time() < end, marked(mark)
            time.sleep(0.02)
        time.sleep(0.3)  # their helpers too
    return mark, running


def none_left(mark, limit=60):
    end = time.time() + limit
    while left := {pid: line for pid, line in marked(mark).items() if MPIRUN not in line}:
        assert time.time() < end, left
        time.sleep(0.05)


def cancelled():
    """A signal to all processes of a job, from a batch system, a service manager or a person, costs only the running
    evaluations: no row states that a design failed, and the next run has all answers."""
    mark, running = simulators()
    go(True)
    code, text = dodyn("run", "c.cfg", "--study.archive", "whole.h5")
    assert code == 0, text
    expected = {x: row["cost"] for x, row in evaluations("whole.h5").items()}
    for isolate in ("none", "process"):
        for ranks in (1, 3):
            archive = f"{isolate}{ranks}.h5"
            words = [DODYN, "run", "c.cfg", "--study.isolate", isolate, "--study.archive", archive]
            go(False)
            run = start([*RANKS, "-n", str(ranks), *words] if ranks > 1 else words)
            running(min(ranks, 2))  # the sweep starts with both ends of the range
            # programs first, in the order of descending process ids
            victims = [pid for pid, line in marked(mark).items() if MPIRUN not in line]
            kill(sorted(victims, reverse=True), signal.SIGTERM)
            go(True)  # ends programs that were started again before the run itself received the signal
            code, text = finish(run)
            assert "interrupted by a signal (SIGTERM)" in text, text
            none_left(mark)
            before = evaluations(archive)
            assert len(before) < 5 and all(row["status"] == "ok" for row in before.values()), before
            code, text = dodyn(*words[1:])
            assert code == 0 and "earlier attempt" not in dodyn("show", archive)[1], text
            assert {x: row["cost"] for x, row in evaluations(archive).items()} == expected
            assert [kind for kind, _ in befell(archive)] == ["started", "interrupted", "resumed", "stopped"], befell(archive)
            assert f"{ranks} rank" in befell(archive)[0][1] and "SIGTERM" in befell(archive)[1][1], befell(archive)
    # A single program that is killed from outside: the attempt is repeated.
    go(False)
    run = start([DODYN, "run", "c.cfg", "--study.archive", "one.h5"])
    running(1)
    kill([pid for pid, line in marked(mark).items() if "simulator.py" in line], signal.SIGKILL)
    go(True)
    code, text = finish(run)
    assert code == 0 and "1 earlier attempt" in dodyn("show", "one.h5")[1], text
    assert [kind for kind, _ in befell("one.h5")] == ["started", "attempt lost", "stopped"], befell("one.h5")
    assert "killed by signal 9" in befell("one.h5")[1][1], befell("one.h5")
    assert {x: row["cost"] for x, row in evaluations("one.h5").items()} == expected
    none_left(mark)


def tree():
    """However a run ends, its programs end with it, and so do their descendants, whatever their group and session."""
    mark, running = simulators()
    for ranks in (1, 3):
        words = [DODYN, "run", "c.cfg", "--study.archive", f"{ranks}.h5"]
        words = [*RANKS, "-n", str(ranks), *words] if ranks > 1 else words
        for how in ("once", "twice", "kill"):
            run = start(words, start_new_session=True)
            running(min(ranks, 2))
            if how == "kill":
                kill([pid for pid, line in marked(mark).items() if line.startswith(DODYN) and name_of(pid) == "dodyn"],
                     signal.SIGKILL)
            elif how == "once" and ranks > 1:  # mpirun kills its ranks
                os.killpg(run.pid, signal.SIGINT)
            else:
                for _ in range(2):
                    run.send_signal(signal.SIGINT)
                    time.sleep(0.2)
            since = time.time()
            none_left(mark)
            print(f"{ranks} ranks, {how}: all gone after {time.time() - since:.1f} s")
            finish(run)
    # A time limit ends them too, even if they ignore SIGTERM.
    code, text = dodyn("run", "c.cfg", "--study.time-limit", "1", "--study.grace-period", "1", "--surrogate.points", "2")
    assert code == 1 and "timed_out 0, 1" in text, text  # no evaluation has a usable cost
    none_left(mark)


def rows_there(archive, count, limit=300):
    end = time.time() + limit
    while time.time() < end:
        run = subprocess.run([DODYN, "show", archive, "--json"], capture_output=True, text=True, timeout=60)
        if run.returncode == 0 and len(json.loads(run.stdout)["evaluations"]) >= count:
            return
        time.sleep(0.05)
    raise AssertionError(f"{archive} has no {count} rows")


def evaluating(archive, run, limit=60):
    """Waits until rank 0 evaluates. For runs of one rank: with several, rank 0 may have nothing to do."""
    end = time.time() + limit
    while not os.path.exists(archive + ".running"):
        if run.poll() is not None or time.time() > end:
            run.kill()
            raise AssertionError(run.communicate())
        time.sleep(0.02)


def resumptions(archive):
    text = subprocess.run([DODYN, "show", archive, "--json"], capture_output=True, text=True, timeout=60).stdout
    return sum(event["kind"] == "resumed" for event in json.loads(text)["events"]) if text else 0


def interrupted():
    """The first Ctrl-C waits for running evaluations, at most study.grace-period. The second one does not wait."""
    with open("f.cfg", "w") as file:  # no design fails: a failed one would be repeated
        file.write(CONFIG.replace("fail-above = 0.9", "fail-above = 2"))
    slow = [DODYN, "run", "f.cfg", "--study.grace-period", "60", "--testfunction.delay"]
    run = start([*slow, "1.5"])
    rows_there("f.h5", 1)
    run.send_signal(signal.SIGINT)
    code, text = finish(run)
    assert code == 3 and "interrupted by a signal (SIGINT)" in text, text
    told = len(evaluations())
    assert 2 <= told < 9

    # Two signals at the same time, like those of timeout (GNU coreutils), are one request: the run ends with its summary.
    run = start([*slow, "1.5", "--study.archive", "g.h5"])
    rows_there("g.h5", 1)
    run.send_signal(signal.SIGTERM)
    run.send_signal(signal.SIGINT)
    code, text = finish(run)
    assert code == 3 and "interrupted by a signal (SIG" in text, text

    run = start([*slow, "600"])
    evaluating("f.h5", run)
    asked = time.time()
    run.send_signal(signal.SIGINT)
    heard = any("up to 60 s to finish (study.grace-period); Ctrl-C again stops at once" in line for line in run.stdout)
    assert heard and time.time() - asked < 30, "no answer to the first signal while an evaluation runs"
    assert run.poll() is None
    time.sleep(0.1)  # signals within 50 ms are one request
    run.send_signal(signal.SIGINT)
    code, text = finish(run, 50)  # although study.grace-period is 60 s
    assert code == 3 and "stopped at once: the same command continues" in text, text
    assert len(evaluations()) == told
    code, text = dodyn("run", "f.cfg")
    assert code == 0 and f"{9 - told} evaluation{'s' * (told != 8)} now, {told} from the archive" in text, text


def ranks_of(mark):
    """The ranks' process ids."""
    found = {}
    for pid, line in marked(mark).items():
        if line.startswith(DODYN) and name_of(pid) == "dodyn":
            with open(f"/proc/{pid}/environ", "rb") as file:
                found[int(re.search(rb"(?:OMPI_COMM_WORLD|PMI)_RANK=(\d+)", file.read())[1])] = pid
    return found


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])


def stopped():
    """A rank that is stopped by SIGSTOP does not prevent the end of the run."""
    mark, running = simulators()
    run = start([*RANKS, "-n", "3", DODYN, "run", "c.cfg", "--exit-code-file", "code"])
    running(2)
    busy = {parent(pid) for pid, line in marked(mark).items() if line.startswith(DODYN)}  # parents of guardians
    rank, pid = next((rank, pid) for rank, pid in ranks_of(mark).items() if rank > 0 and pid in busy)
    os.kill(pid, signal.SIGSTOP)
    go(True)
    code, text = finish(run)
    assert open("code").read() == "0\n" and "is stopped; killed, since the run ends" in text, text
    assert any(kind == "rank lost" and said.startswith(f"rank {rank} ") for kind, said in befell("c.h5")), befell("c.h5")
    assert len(evaluations("c.h5")) == 5
    none_left(mark)


def master_killed():
    """Ranks on the host of rank 0 notice its death, whatever study.heartbeat-timeout is. The same command continues."""
    ENVIRONMENT["MARK"] = mark = os.getcwd()
    run = start([*RANKS, "-n", "3", DODYN, "run", "f.cfg", "--study.heartbeat-timeout", "600", "--testfunction.delay", "0.5",
                 "--surrogate.points", "90", "--study.max-evaluations", "90", "--study.batch", "90", "--exit-code-file", "code"])
    rows_there("f.h5", 3)
    os.kill(ranks_of(mark)[0], signal.SIGKILL)
    code, text = finish(run)  # finish() allows 100 s
    assert "rank 0 is gone; leaving" in text and not os.path.exists("code"), text
    none_left(mark)
    told = len(evaluations())
    code, text = dodyn("run", "f.cfg", "--surrogate.points", "90", "--study.max-evaluations", "90", "--study.batch", "90")
    assert f"{told} from the archive" in text and len(evaluations()) == 90, text


def slow():
    """An evaluation on a slow rank starts again on another rank. The costs are the same as with one rank."""
    more = ["--testfunction.noise", "0.1", "--surrogate.points", "120", "--study.max-evaluations", "120",
            "--study.speculate-after", "3"]
    assert dodyn("run", "f.cfg", *more, "--study.archive", "alone.h5")[0] == 0
    ENVIRONMENT["MARK"] = mark = os.getcwd()
    run = start([*RANKS, "-n", "4", DODYN, "run", "f.cfg", "--study.heartbeat-timeout", "600", "--testfunction.delay", "0.1", *more])
    rows_there("f.h5", 3)
    held = ranks_of(mark)[2]
    os.kill(held, signal.SIGSTOP)
    rows_there("f.h5", 120)  # although the stopped rank does not count as lost
    os.kill(held, signal.SIGCONT)
    code, text = finish(run)
    assert code == 0, text
    assert any(kind == "begun again" and "on rank 2;" in said for kind, said in befell()), befell()
    here, alone = evaluations(), evaluations("alone.h5")
    assert {x: row["cost"] for x, row in here.items()} == {x: row["cost"] for x, row in alone.items()} and len(here) == 120
    with open("c.cfg", "w") as file:
        file.write("[study]\nevaluator = command\nspeculate-after = 3\n[command]\nrun = true\n[design]\nx.min = 0\nx.max = 1\n")
    code, text = dodyn("run", "c.cfg")
    assert code == 2 and "study.speculate-after = 3" in text, text


def copied():
    """study.snapshot is for programs that do not support SWMR."""
    import h5py
    run = start([DODYN, "run", "f.cfg", "--testfunction.delay", "0.02", "--surrogate.points", "300", "--study.max-evaluations",
                 "1000", "--study.snapshot", "copy.h5"])
    rows_there("f.h5", 3)
    rows_there("copy.h5", 1)  # the first copy may have no rows; the next one comes after 50 durations of a copy
    refused = {"f.h5": 0, "copy.h5": 0}
    looks = 0
    while run.poll() is None:
        looks += 1
        for name in refused:
            try:
                with h5py.File(name, "r") as file:
                    assert len(file["evaluations/id"]) > 0
            except OSError:
                refused[name] += 1
    code, text = finish(run)
    assert code == 0 and refused["copy.h5"] == 0, (text, refused)
    assert len(evaluations("copy.h5")) == 300
    print(f"copied: of {looks} plain opens the archive refused {refused['f.h5']}, the copy none")


def wall_time():
    """The run ends by itself before its wall time. The same command continues."""
    code, text = dodyn("run", "f.cfg", "--testfunction.delay", "0.5", "--wall-time", "0:00:02", "--study.grace-period", "1")
    assert code == 3 and "reached study.wall-time" in text, text
    assert 1 <= len(evaluations()) < 9
    code, text = dodyn("run", "f.cfg")
    assert code == 0, text


def gait_time_limit():
    """A gait optimisation respects its time limit: it ends as timed_out, long before all initial guesses are tried."""
    code, text = dodyn("run", os.path.join(ROOT, "configs", "knee.cfg"), "--study.time-limit", "0.02", "--study.archive",
                       "knee.h5", "--study.max-evaluations", "3", "--study.failure-rate-after", "100")
    code, text = dodyn("show", "knee.h5", "--json")
    rows = json.loads(text)["evaluations"]
    assert [row["status"] for row in rows] == ["timed_out"] * len(rows) and len(rows) >= 2, rows
    assert all(row["metrics"]["guesses"] < 16 for row in rows), rows


def local_script():
    """jobs/local.sh passes on the exit code of the study, Ctrl-C, and the end of rank 0."""
    script = [os.path.join(ROOT, "jobs", "local.sh"), "f.cfg"]
    code, text = finish(start([*script, "--study.archive", "a.h5"]))
    assert code == 0 and "9 evaluations now" in text, text
    code, text = finish(start([*script, "--study.archive", "f.cfg"]))
    assert code == 2 and text.count("dodyn: ") == 1, text

    slow = [*script, "--study.grace-period", "20", "--testfunction.delay"]
    run = start([*slow, "1.5"])
    rows_there("f.h5", 1)
    run.send_signal(signal.SIGINT)
    code, text = finish(run)
    assert code == 3 and "interrupted by a signal (SIGUSR1)" in text, text
    told = len(evaluations())

    before, end = resumptions("f.h5"), time.time() + 60
    run = start([*slow, "600"])
    while resumptions("f.h5") == before:
        assert run.poll() is None and time.time() < end
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    time.sleep(0.5)
    run.send_signal(signal.SIGINT)
    code, text = finish(run)
    assert code == 3, (code, text)
    assert len(evaluations()) == told

    run = start([*script, "--testfunction.delay", "1.5"])
    rows_there("f.h5", told + 1)
    pids = subprocess.run(["pgrep", "-f", f"^{DODYN} run f.cfg"], capture_output=True, text=True).stdout.split()
    for pid in map(int, pids):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"OMPI_COMM_WORLD_RANK=0\0" in file.read() and os.readlink(f"/proc/{pid}/cwd") == os.getcwd():
                    os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    struck = time.time()
    rows_there("f.h5", len(evaluations()) + 1)
    print(f"local_script: {time.time() - struck:.1f} s from the kill of rank 0 to the next evaluation's row")
    code, text = finish(run)
    assert code == 0 and "(rank 0 or mpirun was killed); the study continues" in text, (code, text)
    assert len(evaluations()) == 9

    # An mpirun that does not end although it has no ranks is killed, and the study continues with another one.
    with open("mpirun", "w") as file:
        file.write(f"#!/bin/sh\n[ -e hung ] && exec {MPIRUN} \"$@\"\ntouch hung\nexec sleep 600\n")
    os.chmod("mpirun", 0o755)
    run = subprocess.Popen([*script, "--study.archive", "left.h5"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                           env=dict(ENVIRONMENT, PATH=f"{os.getcwd()}:{ENVIRONMENT['PATH']}", LAUNCH="3"))
    code, text = finish(run)
    assert code == 0 and os.path.exists("hung") and len(evaluations("left.h5")) == 9, (code, text)


def failures():
    """Too many failures end the study, with a message."""
    code, text = dodyn("run", "f.cfg", "--testfunction.fail-above", "0.3", "--study.failure-rate", "0.5",
                       "--study.failure-rate-after", "5", "--study.batch", "1")
    assert code == 1 and "evaluations failed; study.failure-rate" in text, text


def no_room():
    """A full disk, or a directory without write permission: one line of message, and no archived row is lost."""
    if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode:
        return print("no_room: skipped, mounts are not permitted here")
    os.mkdir("disk")
    many = "--surrogate.points 2000 --study.max-evaluations 2000 --study.batch 50"
    mounted = "mount -t tmpfs -o size=1800k none disk && cd disk && cp ../f.cfg . && "
    check = f"; code=$?; {DODYN} show f.h5 --json >../rows.json; cp f.h5 ..; exit $code"
    code, text = finish(start(["unshare", "-m", "sh", "-c", mounted + f"{DODYN} run f.cfg {many}" + check]))
    assert code == 1 and "no room for" in text and "No space left on device" in text, (code, text)
    told = len(json.load(open("rows.json"))["evaluations"])
    assert told > 0
    code, text = dodyn("run", "f.cfg", *many.split())
    assert code == 0 and f"{told} from the archive" in text, text
    code, text = finish(start(["unshare", "-m", "sh", "-c", "mount -t tmpfs none disk && cp f.cfg disk && mount -o "
                               f"remount,ro disk && cd disk && {DODYN} run f.cfg"]))
    assert code == 2 and text.count("\n") == 1 and "Read-only file system" in text, (code, text)


def killed_at_start():
    """A rank that dies before or during MPI_Init: the others do not wait forever (100 s if it was on another host)."""
    for rank in (0, 1):
        for after in ("0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.8"):  # s: before, in and after MPI_Init
            words = (f'[ $OMPI_COMM_WORLD_RANK = {rank} ] && if [ {after} = 0 ]; then kill -9 $$; else (sleep {after}; kill -9 $$) & fi; '
                     f'exec {DODYN} run f.cfg --exit-code-file code')
            since = time.time()
            code, text = finish(start([*RANKS, "-n", "3", "sh", "-c", words]), 300)
            print(f"rank {rank} killed after {after} s: ended after {time.time() - since:.0f} s")
            assert time.time() - since < 50, (code, text)
            for file in ("code", "f.h5"):
                assert after != "0" or not os.path.exists(file), text
                if os.path.exists(file):
                    os.unlink(file)
    code, text = finish(start([*RANKS, "-n", "3", DODYN, "run", "f.cfg", "--exit-code-file", "code"]))
    assert open("code").read() == "0\n", text
    assert len(evaluations()) == 9


if HYDRA and all(name in NEED_RECOVERY for name in sys.argv[3:]):
    sys.exit(77)  # skipped
for name in sys.argv[3:]:
    with tempfile.TemporaryDirectory(prefix="dodyn-faults-") as directory:
        os.chdir(directory)
        with open("f.cfg", "w") as file:
            file.write(CONFIG)
        begin = time.time()
        globals()[name]()
        print(f"{name}: ok, {time.time() - begin:.1f} s", flush=True)
        os.chdir("/")
