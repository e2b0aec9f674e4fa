"""Parallel programs, started by one process that schedules. Usage: parallel.py DODYN MPIRUN ROOT

Each process of a program records the time in which it ran. The test checks the following. Costs equal those of one program at a time. Programs
run at the same time, with at most as many processes as processors. Wrong numbers are refused in one line. If the run is ended, all processes
end.
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DODYN, MPIRUN = (os.path.abspath(shutil.which(word) or word) for word in sys.argv[1:3])
ROOT = os.path.abspath(sys.argv[3])
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "PBS_", "OMPI_", "PMIX_"))}
ENVIRONMENT |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "PMIX_MCA_gds": "hash",
                "PATH": os.path.dirname(MPIRUN) + ":" + os.environ["PATH"]}
CONFIG = """[study]
evaluator = command
batch = 8
grace-period = 2
[surrogate]
strategy = sweep
points = 8
[command]
ranks = 2
hosts = localhost:4
keep = all
run = $DODYN_LAUNCH sh "$DODYN_STUDY/process.sh" && printf '{"cost": %s}' "$DODYN_X" > $DODYN_RESULT_FILE
[design]
x.min = 0
x.max = 1
"""
PROCESS = """began=$(date +%s.%N)
touch "../../began.$DODYN_ID.$OMPI_COMM_WORLD_RANK"
while [ "$(ls ../../began.* | wc -l)" -lt "${TOGETHER:-1}" ]; do sleep 0.05; done
sleep ${SECONDS_OF_SLEEP:-0.1}
echo "$began $(date +%s.%N) $DODYN_ID $DODYN_RANKS $OMPI_COMM_WORLD_SIZE $DODYN_HOSTS" >>../../log
"""


def start(*words, **more):
    return subprocess.Popen([DODYN, *words], env=ENVIRONMENT | more, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def dodyn(*words, **more):
    run = start(*words, **more)
    text = run.communicate(timeout=200)[0]
    return run.returncode, text


def costs(archive):
    code, text = dodyn("show", archive, "--json")
    assert code == 0, text
    return {row["id"]: (row["status"], row["cost"]) for row in json.loads(text)["evaluations"]}


def most_at_once(intervals):
    """Returns the largest number of intervals that contain the same point."""
    ends = sorted([(begin, 1) for begin, _ in intervals] + [(end, -1) for _, end in intervals])
    running = most = 0
    for _, change in ends:
        running += change
        most = max(most, running)
    return most


def alone_and_together():
    code, text = dodyn("run", "p.cfg", "--study.archive", "one.h5")
    assert code == 0, text
    os.rename("log", "log.one")
    for mark in glob.glob("began.*"):
        os.unlink(mark)
    # Each process waits until three have begun; these must belong to two programs.
    code, text = dodyn("run", "p.cfg", "--study.archive", "all.h5", "--study.workers", "all", TOGETHER="3")
    assert code == 0, text
    assert costs("all.h5") == costs("one.h5") and len(costs("all.h5")) == 8
    rows = [line.split() for line in open("log")]
    assert len(rows) == 16 and all(row[3:] == ["2", "2", "localhost:2"] for row in rows), rows
    processes = [(float(row[0]), float(row[1])) for row in rows]
    assert most_at_once(processes) in (3, 4), processes
    whole = {}
    for begin, end, identity in ((float(r[0]), float(r[1]), r[2]) for r in rows):
        known = whole.setdefault(identity, [begin, end])
        whole[identity] = [min(begin, known[0]), max(end, known[1])]
    assert most_at_once(list(whole.values())) == 2, whole
    print(f"8 programs of 2 processes, 4 processors: at most {most_at_once(processes)} at once")


def checked():
    """Without named hosts, the limits depend on the machine: `check` prints a note and `run` refuses. With named hosts, both refuse."""
    with open("open.cfg", "w") as file:
        file.write(CONFIG.replace("hosts = localhost:4\n", ""))
    for words, complaint in ((["--command.ranks", "100000"], "processors, too few are available"),
                             (["--command.launcher", "srun"], "this is not a Slurm job"),
                             (["--command.ranks", "1", "--study.workers", "100000"], "at most can run at once")):
        code, text = dodyn("check", "open.cfg", *words)
        assert code == 0 and "note: here a run would be refused: " in text and complaint in text, (words, code, text)
        assert "command.ranks" in text.split("may allow it\n")[1], text
        code, text = dodyn("run", "open.cfg", "--study.archive", "no.h5", *words)
        assert code == 2 and text.count("\n") == 1 and complaint in text, (words, code, text)
    code, text = dodyn("check", "p.cfg", "--command.ranks", "5")
    assert code == 2 and "of 4 (localhost:4) processors, too few are available" in text, (code, text)


def refused():
    many = ["run", "p.cfg", "--study.archive", "no.h5"]
    for words, complaint in ((["--study.workers", "3"], "of 4 (localhost:4) processors, 2 evaluations of 2 at most can run at once"),
                             (["--command.ranks", "5"], "of 4 (localhost:4) processors, too few are available"),
                             (["--command.hosts", "a:x"], "'x' in 'a:x' is not a number of processors"),
                             (["--command.launcher", "srun"], "this is not a Slurm job")):
        code, text = dodyn(*many, *words)
        assert code == 2 and text.count("\n") == 1 and complaint in text, (words, code, text)
    checked()
    run = subprocess.run([MPIRUN, "--oversubscribe", "-n", "2", DODYN, *many], env=ENVIRONMENT, capture_output=True, text=True)
    assert run.returncode != 0 and "start dodyn run without mpirun" in run.stderr, run.stderr
    with open("t.cfg", "w") as file:
        file.write("[study]\nevaluator = testfunction\nworkers = 2\n[design]\nx.min = 0\nx.max = 1\n")
    code, text = dodyn("run", "t.cfg")
    assert code == 2 and "does one evaluation at a time in a process; for more: mpirun" in text, text
    assert not os.path.exists("no.h5") and not os.path.exists("t.h5")


def left(mark):
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if f"MARK={mark}".encode() in file.read().split(b"\0"):
                    found.append(int(pid))
        except OSError:
            pass
    return found


def ended():
    for how in (signal.SIGTERM, signal.SIGKILL):
        mark = f"{os.getcwd()}-{how}"
        run = start("run", "p.cfg", "--study.archive", f"{how}.h5", "--study.workers", "2", SECONDS_OF_SLEEP="600", MARK=mark)
        limit = time.time() + 60
        while len(left(mark)) < 2 * 4:  # guardians, shells, mpiexecs, processes
            assert time.time() < limit, left(mark)
            time.sleep(0.1)
        time.sleep(1)
        run.send_signal(how)
        since = time.time()
        run.communicate(timeout=60)
        while left(mark):
            assert time.time() < since + 60, left(mark)
            time.sleep(0.05)
        print(f"{how.name}: all gone after {time.time() - since:.1f} s")
        code, text = dodyn("run", "p.cfg", "--study.archive", f"{how}.h5", "--study.workers", "2", SECONDS_OF_SLEEP="0")
        assert code == 0 and all(status == "ok" for status, _ in costs(f"{how}.h5").values()), text


def scenarios():
    """Two scenarios of one design that run at the same time have separate directories."""
    with open("s.cfg", "w") as file:
        file.write("""[study]
evaluator = command
workers = 2
[surrogate]
strategy = sweep
points = 4
[command]
run = sleep 0.3; test -f design.json && printf '{"cost": %s}' "$DODYN_X" > $DODYN_RESULT_FILE
[scenario light]
weight = 1
[scenario heavy]
weight = 3
[design]
x.min = 0
x.max = 1
""")
    code, text = dodyn("run", "s.cfg", "--study.archive", "scenarios.h5")
    assert code == 0, text
    assert sorted(cost for _, cost in costs("scenarios.h5").values()) == [0, 1 / 3, 2 / 3, 1], costs("scenarios.h5")


def told():
    """Options for Open MPI that a user sets reach a program that calls mpiexec itself."""
    with open("own.cfg", "w") as file:
        file.write("[study]\nevaluator = command\n[surrogate]\nstrategy = sweep\npoints = 1\n[command]\n"
                   f"run = {MPIRUN} -n 16 true && printf '{{\"cost\": 1}}' > $DODYN_RESULT_FILE\n[design]\nx.min = 0\nx.max = 1\n")
    if os.cpu_count() < 16:
        assert dodyn("run", "own.cfg", "--study.archive", "own0.h5")[0] == 1
    environment = dict(ENVIRONMENT, OMPI_MCA_rmaps_base_oversubscribe="1")
    run = subprocess.run([DODYN, "run", "own.cfg"], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def shipped():
    """The mean of (t - x)^2 over [0, 1] is 1/12 + (x - 1/2)^2; midpoints of 1000 intervals miss 1/12 by 1e-6/12."""
    code, text = dodyn("run", f"{ROOT}/configs/command-parallel.cfg", "--study.archive", "s.h5", "--study.workers", "all",
                       "--command.hosts", "localhost:4")
    assert code == 0, text
    rows = json.loads(dodyn("show", "s.h5", "--json")[1])["evaluations"]
    assert len(rows) == 5
    for row in rows:
        assert abs(row["cost"] - (1 / 12 + (row["design"]["x"] - 0.5) ** 2)) < 2e-7, row


with tempfile.TemporaryDirectory(prefix="dodyn-parallel-") as directory:
    os.chdir(directory)
    with open("p.cfg", "w") as file:
        file.write(CONFIG)
    with open("process.sh", "w") as file:
        file.write(PROCESS)
    for test in (alone_and_together, refused, told, ended, scenarios, shipped):
        test()
        print(test.__name__, "ok", flush=True)
    os.chdir("/")
