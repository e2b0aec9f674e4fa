#!/usr/bin/python3
"""Disturbs running studies in every way that occurs on a cluster, and checks that each gives the same archive.

    tests/disturb_study.py DODYN [--disturbances 2000] [--ranks 3] [--mpirun mpirun] [--seed 1] [--parallel 1] [--minutes M]

Studies of four kinds (plain, in parts, isolated, a command) run under mpirun --enable-recovery. At random times a worker,
rank 0, the launcher or all processes are killed; all processes get SIGTERM, the programs first (scancel, a service
manager); mpirun gets SIGUSR1 (preemption); a program is killed alone; a rank is stopped for some time; another program
opens the archive for writing, and closes it or is killed; the disk is full for some time; the wall time ends. The same
command is started again until the study has finished. Checks:

  * the finished archive holds the same ids, designs, seeds, statuses and costs, bit for bit, as that of an undisturbed
    study, each once (except rows `lost`), and `dodyn show --verify` finds no error;
  * every row that a reader saw is in the finished archive, unchanged;
  * exit codes are 0 or 3, after a full disk also 1 or 2; no run hangs; no process outlives its run.

Prints a table of the disturbances; exit code 1 if a study differs. Most of the time is spent waiting: with
`--parallel 4` four drivers share the disturbances, each with its own seed and directory. Then the table counts those of
all drivers.
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import h5py

LOST = 5
BASE = """[study]
max-evaluations = 100000
max-attempts = 1000000
heartbeat-timeout = 0.5
grace-period = 1
batch = 6
failure-rate = 1
[surrogate]
strategy = sweep
points = {points}
[design]
x.min = 0
x.max = 1
"""
STUDIES = {
    "plain": (150, "--study.evaluator testfunction --testfunction.noise 0.1 --testfunction.delay 0.05"),
    "parts": (25, "--study.evaluator testfunction --testfunction.noise 0.1 --testfunction.delay 0.05 --testfunction.samples 6"),
    "isolated": (120, "--study.evaluator testfunction --testfunction.noise 0.1 --testfunction.delay 0.05 --study.isolate process"),
    "command": (120, "--study.evaluator command"),
}
RUN = "(sleep 0.05; true); printf '{\"cost\": %s}' \"$DODYN_X\" > $DODYN_RESULT_FILE"
HOLD = """import h5py, os, sys, time
try:
    file = h5py.File(sys.argv[1], "r+")
    file.attrs["seen"] = 1
    file.flush()
    time.sleep(float(sys.argv[2]))
    if sys.argv[3] == "kill":
        os.kill(os.getpid(), 9)
    file.close()
except OSError:
    sys.exit(1)
"""


def rows(archive):
    """Returns [(id, status, design, seed, cost)] in the order of the file; None if the file cannot be read now."""
    try:
        with h5py.File(archive, "r", libver="latest", swmr=True) as file:
            table = file["evaluations"]
            n = len(table["id"])
            return list(zip(*(map(repr, table[name][:n].tolist()) for name in ("id", "status", "design", "seed", "cost"))))
    except (OSError, KeyError, RuntimeError):
        return None


def final(all_rows):
    return {row[0]: row[1:] for row in all_rows if row[1] != str(LOST)}


def processes(mark):
    """Returns {pid: (name, rank)} of all processes with MARK=mark in their environment, except zombies."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                entries = file.read().split(b"\0")
            if f"MARK={mark}".encode() not in entries:
                continue
            with open(f"/proc/{pid}/stat") as file:
                name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            if rest.split()[0] == "Z":
                continue
            rank = next((int(e.split(b"=")[1]) for e in entries if e.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))), None)
            found[int(pid)] = (name, rank)
        except (OSError, ValueError):
            pass
    return found


def send(pid, number):
    try:
        os.kill(pid, number)
        return True
    except ProcessLookupError:
        return False


class Driver:
    def __init__(self, call):
        self.call = call
        self.dodyn = os.path.abspath(call.dodyn)
        self.name = os.path.basename(self.dodyn)[:15]  # name of the process, which Linux limits to 15 characters
        self.chance = random.Random(call.seed)
        self.counts = collections.Counter()
        self.kinds = collections.Counter()  # disturbances
        self.studies = collections.Counter()
        self.differing = []
        self.recovery = []  # s from a kill of rank 0 or of all to the next start's first row
        self.mark = os.getcwd()
        self.latest = time.time() + 60 * call.minutes
        self.environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                                PMIX_MCA_gds="hash", MARK=self.mark)

    def words(self, kind, archive):
        points, more = STUDIES[kind]
        return [self.dodyn, "run", f"{kind}.cfg", "--study.archive", archive, *more.split()]

    def disturb(self, kind, archive, launcher):
        """Makes one disturbance of a random kind. Returns its name; None if there was nothing to disturb."""
        now = processes(self.mark)
        ranks = {rank: pid for pid, (name, rank) in now.items() if name == self.name and rank is not None}
        programs = [pid for pid, (name, _) in now.items() if name in ("sh", "sleep")]
        children = [pid for pid, (name, rank) in now.items() if name == self.name and pid not in ranks.values()]
        what = self.chance.choice(["worker killed", "worker killed", "rank 0 killed", "launcher killed", "all killed", "SIGTERM to all",
                                   "SIGTERM to all", "SIGUSR1", "program killed", "program killed", "rank stopped",
                                   "held open", "held open and killed", "disk full"])
        workers = [pid for rank, pid in ranks.items() if rank > 0]
        if not ranks:
            return None
        if what == "worker killed":
            return what if workers and send(self.chance.choice(workers), signal.SIGKILL) else None
        if what == "rank 0 killed":
            return what if 0 in ranks and send(ranks[0], signal.SIGKILL) else None
        if what == "launcher killed":
            return what if send(launcher, signal.SIGKILL) else None
        if what == "all killed":
            return what if [send(pid, signal.SIGKILL) for pid in sorted(now, reverse=True)] else None
        if what == "SIGTERM to all":  # a walk over process ids meets the programs first
            return what if [send(pid, signal.SIGTERM) for pid in sorted(now, reverse=True)] else None
        if what == "SIGUSR1":
            return what if send(launcher, signal.SIGUSR1) else None
        if what == "program killed":
            victims = programs + children
            return what if victims and send(self.chance.choice(victims), self.chance.choice([signal.SIGKILL, signal.SIGTERM])) else None
        if what == "rank stopped":
            pid = self.chance.choice(list(ranks.values()))
            if not send(pid, signal.SIGSTOP):
                return None
            time.sleep(self.chance.uniform(0.2, 1.5))
            send(pid, signal.SIGCONT)
            return what
        if what.startswith("held open"):
            how = "kill" if "killed" in what else "close"
            code = subprocess.run([sys.executable, "-c", HOLD, archive, str(self.chance.uniform(0.05, 0.5)), how],
                                  stderr=subprocess.DEVNULL, env=dict(os.environ)).returncode
            return what if code in (0, -9) else None
        if what == "disk full":
            if kind == "command" or not self.call.disk:  # a program that cannot write its result has failed
                return None
            try:
                with open("ballast", "wb", buffering=0) as file:
                    while file.write(b"x" * 65536) == 65536:
                        pass
            except OSError:
                pass
            time.sleep(self.chance.uniform(0.1, 0.5))
            os.unlink("ballast")
            self.disk_was_full = True
            return what

    def run_once(self, kind, archive, seen):
        """Starts the study once and disturbs it until it ends. Its exit code, and the rows seen."""
        if os.path.exists("code"):
            os.unlink("code")
        self.disk_was_full = False
        words = self.words(kind, archive)
        if self.chance.random() < 0.1:
            words += ["--wall-time", "3"]
            self.kinds["wall time"] += 1
        run = subprocess.Popen([self.call.mpirun, "--quiet", "--oversubscribe", "--bind-to", "none", "--enable-recovery", "-n",
                                str(self.call.ranks), *words, "--exit-code-file", "code"], stdout=subprocess.DEVNULL,
                               stderr=open("last.err", "w"), env=self.environment, start_new_session=True)
        self.counts["starts"] += 1
        with_ranks = time.time()
        deadline = time.time() + 180
        while run.poll() is None and time.time() < deadline:
            if any(rank is not None for _, rank in processes(self.mark).values()):
                with_ranks = time.time()
            elif time.time() > with_ranks + 60:  # as the job scripts do
                self.counts["launchers left alone"] += 1
                send(run.pid, signal.SIGKILL)
                break
            time.sleep(self.chance.expovariate(1.5))
            if self.enough():
                continue
            seen = rows(archive) or seen
            if self.struck and len(seen) > self.struck[1]:
                self.recovery.append(time.time() - self.struck[0])
                self.struck = None
            what = self.disturb(kind, archive, run.pid)
            if what:
                self.kinds[what] += 1
                if what in ("rank 0 killed", "all killed") and not self.struck:
                    self.struck = (time.time(), len(seen))
        if run.poll() is None and time.time() >= deadline:
            self.fail(kind, archive, f"a run neither ends nor goes on after three minutes: {processes(self.mark)}")
        limit = time.time() + 60
        while left := processes(self.mark):
            if time.time() > limit:
                self.fail(kind, archive, f"processes outlive their run: {left}")
            time.sleep(0.02)
        code = open("code").read().strip() if os.path.exists("code") else "killed"
        self.counts[f"exit code {code}"] += 1
        if code not in ("0", "3", "killed") and not (code in "12" and self.disk_was_full):
            self.fail(kind, archive, f"the run ended with exit code {code}: {open('last.err').read()[-500:]}")
        return code, seen

    def total(self):
        return sum(self.kinds.values())

    def enough(self):
        return self.total() >= self.call.disturbances or time.time() > self.latest

    def fail(self, kind, archive, what):
        print(f"disturb_study: {kind}: {what}", flush=True)
        subprocess.run(["cp", archive, f"/tmp/disturb_study-{self.call.seed}.h5"])
        for pid in processes(self.mark):
            send(pid, signal.SIGKILL)
        self.report()
        sys.exit(1)

    def report(self):
        if self.call.results:
            with open(self.call.results, "w") as file:
                json.dump([self.kinds, self.counts, self.studies, self.differing, self.recovery], file)
            return
        print("\n| disturbance | count |\n|---|---|")
        for what, count in sorted(self.kinds.items()):
            print(f"| {what} | {count} |")
        times = sorted(self.recovery)
        middle = (f"{times[len(times) // 2]:.1f} s in the median, nine of ten within {times[len(times) * 9 // 10]:.1f} s, "
                  f"{times[-1]:.1f} s at most") if times else "none"
        print(f"\n{self.total()} disturbances, {self.counts['starts']} starts ({dict(self.counts)}), {sum(self.studies.values())} studies "
              f"finished {dict(self.studies)}, {self.counts['evaluations']} evaluations, {self.counts['lost attempts']} lost attempts; "
              f"differing studies: {len(self.differing)} {self.differing or ''}\n"
              f"from a kill of rank 0 or of all to the next row: {middle} ({len(times)} times)", flush=True)

    def main(self):
        expected = {}
        for kind, (points, _) in STUDIES.items():
            with open(f"{kind}.cfg", "w") as file:
                file.write(BASE.format(points=points) + (f"[command]\nrun = {RUN}\n" if kind == "command" else ""))
            words = [word if word != "0.05" else "0" for word in self.words(kind, f"{kind}-alone.h5")]
            subprocess.run(words, check=True, capture_output=True)
            expected[kind] = final(rows(f"{kind}-alone.h5"))
        while not self.enough():
            kind = list(STUDIES)[sum(self.studies.values()) % len(STUDIES)]
            archive, seen, code = f"{kind}.h5", [], None
            self.struck = None
            while code != "0":
                code, seen = self.run_once(kind, archive, seen)
            all_rows = rows(archive)
            if all_rows is None:  # another program was killed after the end of the run; the next start repairs the file
                subprocess.run(self.words(kind, archive), check=True, capture_output=True)
                all_rows = rows(archive)
            verified = subprocess.run([self.dodyn, "show", archive, "--verify"], capture_output=True, text=True)
            ids = [row[0] for row in all_rows if row[1] != str(LOST)]
            if verified.returncode != 0:
                self.fail(kind, archive, verified.stdout + verified.stderr)
            if all_rows[:len(seen)] != seen:
                self.fail(kind, archive, "rows that were seen are not there")
            if len(ids) != len(set(ids)) or final(all_rows) != expected[kind]:
                self.differing.append(kind)
                subprocess.run(["cp", archive, f"/tmp/disturb_study-{self.call.seed}-{len(self.differing)}.h5"])
            self.studies[kind] += 1
            self.counts["evaluations"] += len(ids)
            self.counts["lost attempts"] += len(all_rows) - len(ids)
            print(f"{self.total()} disturbances, {sum(self.studies.values())} studies finished, {len(self.differing)} differ",
                  file=sys.stderr, flush=True)
            for name in os.listdir("."):
                if name.startswith(archive):
                    os.unlink(name)
        self.report()
        return 1 if self.differing else 0


def share(call):
    """The disturbances shared by several drivers; one report of all."""
    with tempfile.TemporaryDirectory(prefix="dodyn-disturb-") as directory:
        words = [sys.executable, os.path.abspath(__file__), call.dodyn, "--ranks", str(call.ranks), "--mpirun", call.mpirun,
                 "--minutes", str(call.minutes), "--disturbances", str(-(-call.disturbances // call.parallel))]
        files = [os.path.join(directory, f"{i}.json") for i in range(call.parallel)]
        drivers = [subprocess.Popen([*words, "--seed", str(call.seed + i), "--results", file]) for i, file in enumerate(files)]
        code = max(driver.wait() != 0 for driver in drivers)
        call.results = ""
        whole = Driver(call)
        for file in filter(os.path.exists, files):
            with open(file) as results:
                for all_of_them, of_one in zip((whole.kinds, whole.counts, whole.studies, whole.differing, whole.recovery), json.load(results)):
                    all_of_them.update(of_one) if isinstance(of_one, dict) else all_of_them.extend(of_one)
        whole.report()
        return code


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dodyn")
    parser.add_argument("--disturbances", type=int, default=2000)
    parser.add_argument("--ranks", type=int, default=3)
    parser.add_argument("--mpirun", default="mpirun")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="no more disturbances after that")
    parser.add_argument("--disk", default="", help=argparse.SUPPRESS)
    parser.add_argument("--results", default="", help=argparse.SUPPRESS)
    call = parser.parse_args()
    call.dodyn = os.path.abspath(call.dodyn)
    if call.parallel > 1:
        sys.exit(share(call))
    with tempfile.TemporaryDirectory(prefix="dodyn-disturb-") as directory:
        # If mounts are permitted, the test gets a separate disk, which it may fill.
        if not call.disk and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0:
            line = 'mount -t tmpfs -o size=60m none "$1" && cd "$1" && shift && exec "$@"'
            words = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--disk", "own"]
            words[2] = call.dodyn
            sys.exit(subprocess.run(["unshare", "-m", "sh", "-c", line, "sh", directory, *words]).returncode)
        if not call.disk:
            os.chdir(directory)
        sys.exit(Driver(call).main())


if __name__ == "__main__":
    main()
