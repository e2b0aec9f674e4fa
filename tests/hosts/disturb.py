#!/usr/bin/python3
"""Disturbs studies that run over several hosts (hosts.sh), and checks that each gives the same result.

    tests/hosts/disturb.py DODYN [--disturbances 13] [--hosts 4] [--kinds KIND,...] [--seed 1] [--parallel 1] [--minutes M]

Each study runs as a job of jobs/pbs.sh, two ranks on each host, with an mpirun that starts its daemons by `hosts.sh on`. It is disturbed once
(--often: up to four times), and started again, as a batch system does it, until it has finished. What counts, each 0 in the end:

  rows lost        rows that a reader saw before and that are not there, unchanged, at the end
  rows different   ids whose design, seed, status or cost is not that of an undisturbed run, bit for bit, or that are there twice
  ranks that left  where a link was down for no longer than 1.3 times the time after which rank 0 takes a rank for lost
  stuck            jobs that do not end by themselves
  left             processes of dodyn and files beside the archive when the job has ended

Exit code 1 where one is not 0; 77 where namespaces are not permitted.
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

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS = os.path.join(HERE, "hosts.sh")
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from disturb_study import LOST, final, rows, send  # noqa: E402

HEARTBEAT_TIMEOUT = 2  # s
STUDY = f"""[study]
evaluator = testfunction
max-evaluations = 100000
max-attempts = 1000000
heartbeat-timeout = {HEARTBEAT_TIMEOUT}
grace-period = 1
batch = 16
failure-rate = 1
[surrogate]
strategy = sweep
points = 150
[testfunction]
noise = 0.1
[design]
x.min = 0
x.max = 1
"""
DELAY = 0.3  # s an evaluation takes
LAST_END = 150  # s after the last disturbance by which a job must have ended
LAST_PROCESS = 30  # s after the end of a job by which its processes must be gone
PATIENCE = {"ALONE": "10", "LAUNCH": "30", "IN_USE_WAIT": "2"}  # s; of jobs/pbs.sh


def on(host, *words, **how):
    return subprocess.Popen([HOSTS, "on", host, *words], **how)


def cable(host, state):
    subprocess.run([HOSTS, "cable", host, state], check=True)


def pids(host):
    return [int(pid) for pid in subprocess.run([HOSTS, "pids", host], capture_output=True, text=True).stdout.split()]


def read(pid, name):
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


class Driver:
    def __init__(self, call):
        self.call = call
        self.chance = random.Random(call.seed)
        self.hosts = [f"host{i + 1}" for i in range(call.hosts)]
        self.kinds = collections.Counter()
        self.counts = collections.Counter({"rows lost": 0, "rows different": 0, "ranks that left": 0, "stuck": 0, "processes left": 0, "files left": 0})
        self.seconds = collections.defaultdict(list)  # from a disturbance to the end of the study, by kind
        self.latest = time.time() + 60 * call.minutes
        self.programs = os.path.abspath("programs")  # a qsub that notes that another job is wanted
        self.notes = []

    # ---- what runs ----------------------------------------------------------------------------------------------------

    def processes(self, name, hosts=None):
        """{pid: (host, rank)} of the processes of this name."""
        found = {}
        for host in hosts or self.hosts:
            for pid in pids(host):
                if read(pid, "comm").strip().decode() == name and b") Z" not in read(pid, "stat"):
                    entries = read(pid, "environ").split(b"\0")
                    rank = next((int(e.split(b"=")[1]) for e in entries if e.startswith(b"OMPI_COMM_WORLD_RANK=")), None)
                    found[pid] = (host, rank)
        return found

    def start(self, host):
        """The job, on this host and those that can be reached."""
        others = [other for other in self.hosts if other != host and other not in self.away]
        with open("nodes", "w") as file:
            file.writelines(f"10.78.0.{name[4:]} slots=2\n" for name in [host, *others])
        options = f"--oversubscribe --bind-to none --mca plm_rsh_agent {self.programs}/agent --mca plm_rsh_no_tree_spawn 1"
        environment = dict(os.environ, **PATIENCE, PATH=f"{self.programs}:{os.environ['PATH']}", MPIRUN_OPTIONS=options, WALL_TIME="00:10:00",
                           PBS_O_WORKDIR=os.getcwd(), PBS_NODEFILE="nodes", CONFIG="study.cfg", KEYS=f"--testfunction.delay {DELAY}",
                           DODYN=self.call.dodyn, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        for name in ("resubmitted",):
            if os.path.exists(name):
                os.unlink(name)
        self.job_host = host
        self.job = on(host, "exec", "bash", os.path.join(ROOT, "jobs", "pbs.sh"), stdout=open("job.out", "a"), stderr=subprocess.STDOUT,
                      env=environment, start_new_session=True)
        self.counts["starts"] += 1

    # ---- disturbances -------------------------------------------------------------------------------------------------

    def one_of(self, found):
        return self.chance.choice(sorted(found)) if found else None

    def another_host(self):
        return self.chance.choice([host for host in self.hosts if host != self.job_host and host not in self.away] or [None])

    def kill_one(self, name, wanted=lambda host, rank: True):
        pid = self.one_of([pid for pid, (host, rank) in self.processes(name).items() if wanted(host, rank)])
        return bool(pid and send(pid, signal.SIGKILL))

    def rank_killed(self):
        return self.kill_one("dodyn", lambda host, rank: rank and host != self.job_host)

    def near_rank_killed(self):
        return self.kill_one("dodyn", lambda host, rank: rank and host == self.job_host)

    def rank_0_killed(self):
        return self.kill_one("dodyn", lambda host, rank: rank == 0)

    def daemon_killed(self):
        return self.kill_one("orted")

    def launcher_killed(self):
        return self.kill_one("mpirun")

    def link_down(self, least, most):
        host = self.another_host()
        if host:
            cable(host, "down")
            time.sleep(self.chance.uniform(least, most) * HEARTBEAT_TIMEOUT)
            cable(host, "up")
        return bool(host)

    def link_down_shortly(self):
        return self.link_down(0.2, 0.8)

    def link_down_as_long_as_believed(self):
        return self.link_down(0.9, 1.3)

    def link_down_long(self):
        return self.link_down(2, 4)

    def host_cut_off(self):
        host = self.another_host()
        if host:
            cable(host, "down")
            self.away.append(host)
        return bool(host)

    def host_lost(self):
        host = self.another_host()
        if host:
            cable(host, "down")
            self.end_all(host)
            self.away.append(host)
        return bool(host)

    def first_host_lost(self):
        """With the job script: the batch system starts the job elsewhere."""
        if not self.another_host():
            return False
        cable(self.job_host, "down")
        self.end_all(self.job_host)
        self.away.append(self.job_host)
        return True

    def first_host_cut_off(self):
        """The batch system takes it for lost, and starts the job elsewhere; rank 0 continues, with the file system in reach."""
        host = self.another_host()
        if not host:
            return False
        cable(self.job_host, "down")
        self.away.append(self.job_host)
        time.sleep(1)
        self.cut_off.append(self.job)
        self.start(host)
        return True

    def host_slow(self):
        """It runs an eighth of the time, for some seconds."""
        host = self.chance.choice([host for host in self.hosts if host not in self.away])
        until = time.time() + self.chance.uniform(1, 3) * HEARTBEAT_TIMEOUT
        while time.time() < until:
            stopped = [pid for pid, (_, rank) in self.processes("dodyn", [host]).items() if send(pid, signal.SIGSTOP)]
            time.sleep(0.7)
            for pid in stopped:
                send(pid, signal.SIGCONT)
            time.sleep(0.1)
        return True

    def disk_full(self):
        try:
            with open("ballast", "wb", buffering=0) as file:
                while file.write(b"x" * 65536) == 65536:
                    pass
        except OSError:
            pass
        time.sleep(self.chance.uniform(0.2, 1))
        os.unlink("ballast")
        return True

    def terminated(self):
        """SIGTERM to all, as a batch system ends a job."""
        return bool([send(pid, signal.SIGTERM) for host in self.hosts for pid in pids(host)])

    def end_all(self, host):
        for _ in range(3):  # a process that is being started escapes the first
            for pid in pids(host):
                send(pid, signal.SIGKILL)

    # ---- one study ----------------------------------------------------------------------------------------------------

    def count(self, what, number, note=""):
        if number:
            self.counts[what] += number
            self.notes.append(f"{what}: {number} after {self.now}, {note}")
            print(f"disturb: {self.notes[-1]}", file=sys.stderr, flush=True)
            self.keep()

    def keep(self):
        folder = f"/var/tmp/dodyn-hosts-{self.call.seed}-{len(self.notes)}"
        subprocess.run(["cp", "-r", ".", folder])

    def study(self, kinds):
        """Runs one study to its end, with these disturbances."""
        self.now, self.away, self.cut_off, seen = ", ".join(kinds), [], [], []
        self.start("host1")
        wait_until(lambda: rows("study.h5"), 60)
        code, waiting, struck = None, list(kinds), time.time()
        while code != 0:
            pause = self.chance.uniform(1, 3)
            until = time.time() + LAST_END
            while self.job.poll() is None and time.time() < until:
                time.sleep(0.2)
                pause -= 0.2
                seen = rows("study.h5") or seen
                if waiting and pause <= 0:
                    kind = waiting[0]
                    if getattr(self, kind)():
                        self.kinds[waiting.pop(0)] += 1
                        struck = time.time()
                        until = struck + LAST_END
                    pause = self.chance.uniform(1, 3)
            if self.job.poll() is None:
                self.count("stuck", 1, f"rows: {len(seen)}; {self.listing()}")
                for host in self.hosts:
                    self.end_all(host)
            code = self.job.wait()
            for job in self.cut_off:
                if job.poll() is None and code == 0:
                    job.kill()  # as its node's own daemon does it
            self.counts[f"exit code {code}"] += 1
            if code != 0:
                time.sleep(0.5)
                if time.time() > struck + 4 * LAST_END:
                    self.count("stuck", 1, f"no start finishes the study, the last exit code is {code}")
                    break
                if self.processes("dodyn", [host for host in self.hosts if host not in self.away]):
                    time.sleep(1)
                self.start(self.chance.choice([host for host in self.hosts if host not in self.away]))
        self.seconds[kinds[-1]].append(time.time() - struck)
        for host in self.away:
            cable(host, "up")
        wait_until(lambda: not self.processes("dodyn"), LAST_PROCESS)
        self.count("processes left", len(self.processes("dodyn")), self.listing())
        daemons = self.processes("orted") | self.processes("mpirun")
        self.counts["launch daemons that the batch system must end"] += len(daemons)
        for host in self.hosts:
            self.end_all(host)
        if set(kinds) <= {"link_down_shortly", "link_down_as_long_as_believed"}:  # nobody may give up for that
            with open("job.out", errors="replace") as file:
                self.count("ranks that left", file.read().count("; leaving"))
        self.judge(seen)

    def judge(self, seen):
        there = rows("study.h5") or []
        self.count("rows lost", sum(row not in there for row in seen), f"{len(seen)} seen, {len(there)} there")
        ids = [row[0] for row in there if row[1] != str(LOST)]
        answers = final(there)
        different = [i for i in set(answers) | set(self.expected) if answers.get(i) != self.expected.get(i)]
        self.count("rows different", len(different) + len(ids) - len(set(ids)), f"ids {different[:5]}")
        verified = subprocess.run([self.call.dodyn, "show", "study.h5", "--verify"], capture_output=True, text=True)
        self.count("rows different", int(verified.returncode != 0), verified.stdout + verified.stderr)
        files = set(os.listdir(".")) - {"study.cfg", "study.h5", "nodes", "job.out", "programs", "resubmitted"}
        self.count("files left", len(files), str(sorted(files)))
        self.counts["rows"] += len(ids)
        self.counts["attempts lost and repeated"] += len(there) - len(ids)
        self.counts["studies"] += 1
        for name in files | {"study.h5", "job.out"}:
            os.unlink(name)

    def listing(self):
        lines = [f"{host} {pid} {read(pid, 'comm').strip().decode()} {read(pid, 'stat').rsplit(b')', 1)[-1][:3].decode()}"
                 for host in self.hosts for pid in pids(host)]
        return "; ".join(lines)

    def main(self):
        os.makedirs(self.programs)
        for name, line in {"qsub": "touch resubmitted", "agent": f'exec {HOSTS} on "$@"'}.items():
            with open(os.path.join(self.programs, name), "w", opener=lambda path, flags: os.open(path, flags, 0o755)) as file:
                file.write(f"#!/bin/sh\n{line}\n")
        with open("study.cfg", "w") as file:
            file.write(STUDY)
        subprocess.run([self.call.dodyn, "run", "study.cfg"], check=True, capture_output=True)
        self.expected = final(rows("study.h5"))
        os.unlink("study.h5")
        turn = 0
        while sum(self.kinds.values()) < self.call.disturbances and time.time() < self.latest:
            number = self.chance.randint(1, 4) if self.call.often else 1
            if self.call.often:
                self.study([self.chance.choice(self.call.kinds) for _ in range(number)])
            else:
                self.study([self.call.kinds[(self.call.first + turn * self.call.step) % len(self.call.kinds)]])
            turn += 1
            print(f"disturb: {sum(self.kinds.values())} disturbances, {self.counts['studies']} studies; {self.now}: "
                  f"{self.seconds[self.now.split(', ')[-1]][-1]:.0f} s", file=sys.stderr, flush=True)
        with open(self.call.results, "w") as file:
            json.dump([self.kinds, self.counts, self.seconds, self.notes], file)


def wait_until(what, seconds):
    until = time.time() + seconds
    while not what() and time.time() < until:
        time.sleep(0.2)


KINDS = ["rank_killed", "rank_0_killed", "link_down_as_long_as_believed", "daemon_killed", "terminated", "host_lost", "first_host_cut_off",
         "host_slow", "disk_full", "near_rank_killed", "launcher_killed", "link_down_shortly", "link_down_long", "host_cut_off",
         "first_host_lost"]


def table(results):
    kinds, counts, seconds, notes = collections.Counter(), collections.Counter(), collections.defaultdict(list), []
    for name in results:
        with open(name) as file:
            of_one = json.load(file)
        kinds.update(of_one[0])
        counts.update(of_one[1])
        for kind, values in of_one[2].items():
            seconds[kind] += values
        notes += of_one[3]
    print("| disturbance | count | to the end of the study, median s |\n|---|---|---|")
    for kind, count in sorted(kinds.items()):
        times = sorted(seconds[kind])
        print(f"| {kind.replace('_', ' ')} | {count} | {f'{times[len(times) // 2]:.0f}' if times else '-'} |")
    wrong = {name: counts.pop(name, 0) for name in ("rows lost", "rows different", "ranks that left", "stuck", "processes left", "files left")}
    print(f"\n{sum(kinds.values())} disturbances; " + ", ".join(f"{name}: {number}" for name, number in wrong.items()))
    print(", ".join(f"{name}: {number}" for name, number in sorted(counts.items())))
    for note in notes:
        print(note)
    return int(any(wrong.values()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dodyn")
    parser.add_argument("--disturbances", type=int, default=len(KINDS))
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--often", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e6, help="no more studies after that")
    for inner in ("--first", "--step"):
        parser.add_argument(inner, type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--results", default="", help=argparse.SUPPRESS)
    call = parser.parse_args()
    call.dodyn = os.path.abspath(call.dodyn)
    call.kinds = call.kinds.split(",")
    if call.results:
        return Driver(call).main()
    if unknown := set(call.kinds) - set(KINDS):
        parser.error(f"no disturbance {sorted(unknown)[0]}; there are {', '.join(KINDS)}")
    with tempfile.TemporaryDirectory(prefix="dodyn-hosts-") as directory:
        results = [os.path.join(directory, f"{i}.json") for i in range(call.parallel)]
        drivers = []
        for i, result in enumerate(results):  # each with hosts and a small disk of its own
            share = (call.disturbances + call.parallel - 1 - i) // call.parallel
            words = [sys.executable, os.path.abspath(__file__), call.dodyn, "--disturbances", share, "--hosts", call.hosts, "--kinds",
                     ",".join(call.kinds), "--seed", call.seed + i, "--minutes", call.minutes, "--first", i, "--step", call.parallel,
                     "--results", result, *(["--often"] if call.often else [])]
            disk = 'mkdir /run/disk && mount -t tmpfs -o size=30m none /run/disk && cd /run/disk && exec "$@"'
            drivers.append(subprocess.Popen([HOSTS, "run", str(call.hosts), "sh", "-c", disk, "sh", *map(str, words)]))
        codes = [driver.wait() for driver in drivers]
        if 77 in codes:
            return 77
        wrong = table([result for result in results if os.path.exists(result)])
        return int(any(codes) or wrong)


if __name__ == "__main__":
    sys.exit(main())
