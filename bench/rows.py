#!/usr/bin/python3
"""Measures the cost of a row: a sweep of a test function in one process, at several numbers of rows.

    bench/rows.py DODYN [10000 100000 1000000]

Prints for each number: rows written per second (wall clock of the whole run), bytes of the archive per row beyond design, metrics and trajectory, peak memory
per row, seconds until the same command has resumed with nothing left to do, seconds and peak memory of `dodyn show --json`, seconds of `dodyn show
--csv` and of `dodyn merge` with an archive of ten rows, and seconds from SIGTERM to the end of a run that is under way and of one that is resuming. In parentheses: by processor time, for a machine that does other work, too.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

STUDY = """[study]
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
DESIGN_METRICS_TRAJECTORY = 8 + 2 * 8 + 44 * 8  # bytes of a row of the test function


def run(words):
    """Returns wall time in s, peak memory in bytes, and processor seconds of a command."""
    began = time.time()
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)}: status {status}")
    return time.time() - began, usage.ru_maxrss * 1024, usage.ru_utime + usage.ru_stime


def end_by_signal(words, after):
    """Returns seconds from SIGTERM, `after` seconds after the start, to the end. None: the process had ended before."""
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(after)
    if child.poll() is not None:
        return None
    child.send_signal(signal.SIGTERM)
    began = time.time()
    child.wait()
    return time.time() - began


def seconds(value):
    return "-" if value is None else f"{value:.1f}"


def main():
    dodyn = os.path.abspath(sys.argv[1])
    numbers = [int(word) for word in sys.argv[2:]] or [10_000, 100_000, 1_000_000]
    base = None
    print("| rows | rows/s written | bytes a row | peak memory of the run, bytes a row | resume, s | show, s | show, bytes a row | CSV, s | merge, s "
          "| SIGTERM in a run, s | SIGTERM in a resume, s |\n|---|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="dodyn-rows-") as directory:
        os.chdir(directory)
        with open("none.cfg", "w") as file:
            file.write(STUDY.format(points=2))
        base = run([dodyn, "run", "none.cfg"])[1]  # memory of a run without work
        with open("ten.cfg", "w") as file:
            file.write(STUDY.format(points=10))
        run([dodyn, "run", "ten.cfg"])
        for rows in numbers:
            with open("rows.cfg", "w") as file:
                file.write(STUDY.format(points=rows))
            words = [dodyn, "run", "rows.cfg"]
            wrote, memory, busy = run(words)
            size = os.path.getsize("rows.h5")
            resumed, _, resumed_busy = run(words)
            shown, show_memory, shown_busy = run([dodyn, "show", "rows.h5", "--json"])
            exported, _, exported_busy = run([dodyn, "show", "rows.h5", "--csv"])
            merged, _, merged_busy = run([dodyn, "merge", "merged.h5", "ten.h5", "rows.h5"])
            os.unlink("merged.h5")
            in_resume = end_by_signal(words, resumed / 2)
            os.unlink("rows.h5")
            in_run = end_by_signal(words, wrote / 2)
            if os.path.exists("rows.h5"):
                os.unlink("rows.h5")
            print(f"| {rows} | {rows / wrote:.0f} ({rows / busy:.0f}) | {size / rows - DESIGN_METRICS_TRAJECTORY:.0f} | {max(0, memory - base) / rows:.0f} | {resumed:.1f} ({resumed_busy:.1f}) "
                  f"| {shown:.1f} ({shown_busy:.1f}) | {max(0, show_memory - base) / rows:.0f} | {exported:.1f} ({exported_busy:.1f}) | {merged:.1f} ({merged_busy:.1f}) | {seconds(in_run)} | {seconds(in_resume)} |", flush=True)


if __name__ == "__main__":
    main()
