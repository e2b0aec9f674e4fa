"""SIGTERM while a large archive is read or written. Usage: terminated.py DODYN ROWS

Each command on an archive of ROWS rows gets the signal at several moments. Checked: it ends within a second of processor time, which does not
depend on other programs. The archive is unchanged. Only the temporary output file of a merge may remain, and the next merge replaces it. The
run continues.
"""
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time

import h5py

DODYN, ROWS = os.path.abspath(sys.argv[1]), int(sys.argv[2])
CONFIG = """[study]
evaluator = testfunction
max-evaluations = 100000000
batch = 4096
[surrogate]
strategy = sweep
points = {points}
[design]
x.min = 0
x.max = 1
"""
INTERRUPTED, IN_USE = 3, 5
LONGEST = 1.0  # s of processor time from the signal to the end
MOMENTS = (0.1, 0.35, 0.6, 0.85)  # as shares of a command's processor time


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:  # of the process and of children that it waited for
        fields = file.read().rsplit(")", 1)[1].split()
    return sum(int(field) for field in fields[11:15]) / os.sysconf("SC_CLK_TCK")


def start(words):
    return subprocess.Popen([DODYN, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def whole(words):
    """Returns the processor seconds of the undisturbed command."""
    run = start(words)
    _, status, usage = os.wait4(run.pid, 0)
    assert status == 0, (words, status)
    return usage.ru_utime + usage.ru_stime


def ended(words, after):
    """Sends SIGTERM after this many processor seconds. Returns those from signal to end, and the exit status; None if it had ended before."""
    run = start(words)
    while True:
        time.sleep(0.005)
        pid, status, _ = os.wait4(run.pid, os.WNOHANG)
        if pid:
            return None
        if (used := processor_seconds(run.pid)) >= after:
            break
    os.kill(run.pid, signal.SIGTERM)  # Popen.send_signal would reap a process that has just ended
    limit = time.time() + 60
    while not (answer := os.wait4(run.pid, os.WNOHANG))[0]:
        assert time.time() < limit, (words, "does not end")
        time.sleep(0.005)
    return answer[2].ru_utime + answer[2].ru_stime - used, answer[1]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def main():
    writing = 0.0
    for name, points in (("rows", ROWS), ("ten", 10)):
        with open(f"{name}.cfg", "w") as file:
            file.write(CONFIG.format(points=points))
        writing = max(writing, whole(["run", f"{name}.cfg"]))
    files = set(os.listdir("."))
    for words in (["run", "rows.cfg"], ["show", "rows.h5"], ["show", "rows.h5", "--json"], ["show", "rows.h5", "--csv"],
                  ["show", "rows.h5", "--verify"], ["repair", "rows.h5"],
                  ["merge", "all.h5", "ten.h5", "rows.h5"], ["report", "rows.h5", "--output", "page.html"]):
        seconds = whole(words)
        for output in set(os.listdir(".")) - files:
            os.unlink(output)
        before = digest("rows.h5")
        longest, signals = 0.0, 0
        for moment in MOMENTS:
            end = ended(words, moment * seconds)
            if not end:  # it ended before the signal; its output would obstruct the next command
                for output in set(os.listdir(".")) - files:
                    os.unlink(output)
                continue
            signals += 1
            longest = max(longest, end[0])
            assert os.WIFSIGNALED(end[1]) or os.WEXITSTATUS(end[1]) in (0, INTERRUPTED), (words, end)
            left = set(os.listdir(".")) - files - {"all.h5.tmp", "all.h5.lock", "rows.h5.lock"}
            assert left <= {"all.h5", "page.html"}, (words, left)
            if "all.h5" in left:  # a file with its final name is complete
                whole(["show", "all.h5", "--verify"])
            for output in left:
                os.unlink(output)
            if words[0] != "run":
                assert digest("rows.h5") == before, words
        print(f"{' '.join(words)}: {seconds:.1f} s, {signals} signals, longest {longest:.2f} s", flush=True)
        assert longest < LONGEST, (words, longest)
        assert signals >= 2, words
        whole(words)  # leftovers of the signal do not obstruct the command
        for output in set(os.listdir(".")) - files:
            os.unlink(output)
    # While rows are written: no written row is lost, and the run continues.
    os.unlink("rows.h5")
    cut = ended(["run", "rows.cfg"], 0.4 * writing)
    assert cut and cut[0] < LONGEST and os.WEXITSTATUS(cut[1]) == INTERRUPTED, cut
    whole(["run", "rows.cfg"])
    shown = subprocess.run([DODYN, "show", "rows.h5", "--csv"], capture_output=True, text=True, check=True).stdout
    assert len(shown.splitlines()) == ROWS + 1, len(shown.splitlines())
    # While another program has the archive open for writing; a start waits 10 s for it.
    with h5py.File("rows.h5", "r+"):
        run = start(["run", "rows.cfg"])
        time.sleep(3)
        assert run.poll() is None, run.returncode
        run.send_signal(signal.SIGTERM)
        began = time.time()
        # on a busy machine the signal handler may not be installed yet
        assert run.wait(timeout=60) in (INTERRUPTED, -signal.SIGTERM), run.returncode
        assert time.time() - began < 5, time.time() - began
        # Every command that reads or writes it ends with the exit code of an archive in use.
        words = (["show"], ["predict", "--design.x", "0.3"], ["sensitivity"], ["replay"], ["repair"], ["run"])
        commands = [subprocess.Popen([DODYN, one[0], "rows.h5", *one[1:]], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for one in words]
        for command in commands:
            said = command.communicate(timeout=120)[1]
            assert command.returncode == IN_USE and said.endswith("; try again when that has ended\n"), (command.args, command.returncode, said)


with tempfile.TemporaryDirectory(prefix="dodyn-terminated-") as directory:
    os.chdir(directory)
    main()
    os.chdir("/")
