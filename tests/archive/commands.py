"""The archive's commands, as a user and a spreadsheet call and read them. Usage: commands.py DODYN [DAMAGED_FILES]"""

import collections
import csv
import glob
import io
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import h5py
except ImportError:
    sys.exit(77)  # skipped

DODYN = os.path.abspath(sys.argv[1])
CONFIG = """[study]
evaluator = testfunction
[surrogate]
points = 21
[testfunction]
name = forrester
fail-above = 0.9
[design]
x.min = 0
x.max = 1
"""


def dodyn(*words, code=0):
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (words, done)
    if code == 2:
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("dodyn: "), done.stderr
    return done.stdout + done.stderr


def exports():
    rows = list(csv.DictReader(io.StringIO(dodyn("show", "f.h5", "--csv"))))
    with h5py.File("f.h5") as f:
        assert len(rows) == len(f["/evaluations/id"]) == 21
        order = {i: row for row, i in enumerate(f["/evaluations/id"][:])}
        for row in rows:
            i = order[int(row["id"])]
            assert float(row["design.x"]) == f["/evaluations/design"][i, 0]
            cost = float(row["cost"])
            assert cost == f["/evaluations/cost"][i] or math.isnan(cost)
            assert row["reason"] == f["/evaluations/reason"].asstr()[i]
    everything = json.loads(dodyn("show", "f.h5", "--json"))
    assert [e["id"] for e in everything["evaluations"]] == list(range(21))
    for e, row in zip(everything["evaluations"], rows):
        assert e["design"]["x"] == float(row["design.x"]) and e["status"] == row["status"]
        assert e["cost"] == float(row["cost"]) if e["cost"] is not None else math.isnan(float(row["cost"]))
    assert everything["provenance"]["configuration"]["testfunction.name"] == "forrester"

    assert dodyn("show", "f.h5", "--columns", "id,cost").split("\n")[2].split() == ["id", "cost"]
    costs = [float(r["cost"]) for r in csv.DictReader(io.StringIO(dodyn("show", "f.h5", "--csv", "--sort", "cost")))]
    finite = [c for c in costs if not math.isnan(c)]
    assert finite == sorted(finite) and costs[: len(finite)] == finite
    failed = json.loads(dodyn("show", "f.h5", "--json", "--failed"))["evaluations"]
    assert [e["design"]["x"] > 0.9 for e in failed] == [True] * 2 and {(e["status"], e["cause"]) for e in failed} == {("failed", "design")}
    best = min((e for e in everything["evaluations"] if e["status"] == "ok"), key=lambda e: e["cost"])
    one = json.loads(dodyn("show", "f.h5", "--evaluation", str(best["id"]), "--json"))
    assert one["cost"] == best["cost"] and len(one["trajectory"]["q"]["values"]["x"]) == 11
    text = dodyn("show", "f.h5", "--evaluation", str(best["id"]))
    assert "metrics.slope" in text and "q.x" in text and "least" in text
    assert dodyn("show", "f.h5", "--evaluation", str(best["id"]), "--csv").startswith("t,q.x,q.y,value\n")
    assert dodyn("show", "--evaluation", str(best["id"]), "f.h5") == text  # options may stand in any order
    with open("/dev/full", "w") as full:
        done = subprocess.run([DODYN, "show", "f.h5"], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and "could not be written" in done.stderr, done
    for words in (["--evaluation", "77"], ["--evaluation", "x"], ["--sort", "cots"], ["--csv", "--json"], ["--what"]):
        dodyn("show", "f.h5", *words, code=2)


def damage():
    dodyn("show", "f.h5", "--verify")
    shutil.copy("f.h5", "d.h5")
    data = bytearray(open("d.h5", "rb").read())
    at = data.find(b"is above testfunction.fail-above")
    data[at] ^= 4
    open("d.h5", "wb").write(data)
    assert "damaged rows" in dodyn("show", "d.h5", "--verify", code=1)
    assert "dodyn repair" in dodyn("show", "d.h5", code=2)
    assert "d.h5.damaged" in dodyn("repair", "d.h5")
    dodyn("show", "d.h5", "--verify")
    assert len(json.loads(dodyn("show", "d.h5", "--json"))["evaluations"]) == 20
    assert "nothing to repair" in dodyn("repair", "f.h5")
    go_on = dodyn("run", "f.cfg", "--strategy", "sweep", "--study.archive", "d.h5")
    assert "1 evaluation now, 20 from the archive" in go_on, go_on
    dodyn("repair", "none.h5", code=2)


def merge():
    dodyn("run", "f.cfg", "--strategy", "sweep", "--study.seed", "2", "--study.archive", "g.h5")
    text = dodyn("merge", "m.h5", "f.h5", "g.h5")
    assert "42 evaluations of 2 archives" in text and "warning" not in text, text
    dodyn("run", "f.cfg", "--strategy", "sweep", "--testfunction.noise", "0.5", "--study.archive", "other-problem.h5")
    text = dodyn("merge", "mixed.h5", "f.h5", "other-problem.h5")
    assert "warning: the archives differ in testfunction.noise; their costs are comparable only if these settings do not change them\n" in text, text
    refusal = dodyn("solve", "mixed.h5", "--design.x", "0.5", code=2)
    assert "mixed.h5: its sources differ in testfunction.noise (f.h5: 0, other-problem.h5: 0.5); give --testfunction.noise\n" in refusal, refusal
    dodyn("solve", "mixed.h5", "--design.x", "0.5", "--testfunction.noise", "0")
    assert dodyn("check", "m.h5").endswith("next: dodyn show m.h5\n")
    shutil.copy("f.cfg", "copy.cfg")
    dodyn("run", "copy.cfg", "--strategy", "sweep", "--study.archive", "copy.h5", "--study.seed", "3")
    dodyn("merge", "copies.h5", "f.h5", "copy.h5")
    assert json.loads(dodyn("solve", "copies.h5", "--design.x", "0.5", "--json"))["cost"] == json.loads(dodyn("solve", "f.cfg", "--design.x", "0.5", "--json"))["cost"]
    merged = json.loads(dodyn("show", "m.h5", "--json"))
    assert [e["id"] for e in merged["evaluations"]] == list(range(42))
    assert [e["source"] for e in merged["evaluations"]] == [0] * 21 + [1] * 21
    assert [s["provenance"]["configuration"]["study.seed"] for s in merged["sources"]] == ["1", "2"]
    assert "study.seed" not in merged["provenance"]["configuration"]
    assert "source 1: g.h5" in dodyn("show", "m.h5")
    with h5py.File("m.h5") as f:
        assert list(f["/evaluations/source"][:]) == [0] * 21 + [1] * 21
        assert f["/sources/1"].attrs["path"] == "g.h5"
    dodyn("merge", "m.h5", "f.h5", code=2)
    dodyn("merge", "n.h5", code=2)
    # Noisy costs: a model of all rows recommends the design, not the luck of one of them.
    for seed in "12":
        dodyn("run", "f.cfg", "--testfunction.noise", "3", "--testfunction.samples", "4", "--study.seed", seed, "--study.max-evaluations", "20", "--study.archive", f"noise{seed}.h5")
    assert "40 evaluations of 2 archives" in dodyn("merge", "noise.h5", "noise1.h5", "noise2.h5")
    found = json.loads(dodyn("show", "noise.h5", "--json"))
    rows = [e for e in found["evaluations"] if e["status"] == "ok"]
    best, lowest = next(e for e in rows if e["id"] == found["recommended"]), min(rows, key=lambda e: e["cost"])
    costs = {e["id"]: json.loads(dodyn("predict", "noise.h5", "--json", "--design.x", repr(e["design"]["x"])))["quantities"]["cost"]["middle"] for e in (best, lowest)}
    assert best["id"] != lowest["id"] and costs[best["id"]] < costs[lowest["id"]], (best, lowest, costs)
    dodyn("show", "noise.h5", "--verify")


def rerun():
    """Failed and timed-out evaluations are repeated. The study then continues as if it had received the new results, and every replay agrees."""
    words = ["f.cfg", "--study.archive", "r.h5"]
    for bad in ([], ["--failed", "--ids", "3"], ["--ids", "3,x"], ["--ids"]):
        dodyn("rerun", *words, *bad, code=2)
    dodyn("rerun", *words, "--failed", code=2)
    assert not os.path.exists("r.h5")
    dodyn("run", *words)
    before = json.loads(dodyn("show", "r.h5", "--json"))["evaluations"]
    failed = [e["id"] for e in before if e["status"] == "failed"]
    assert failed
    assert f"{len(failed)} evaluation{'s' * (len(failed) > 1)} now" in dodyn("rerun", *words, "--failed")
    with h5py.File("r.h5") as f:
        assert list(f["/evaluations/id"][-len(failed):]) == failed
    after = json.loads(dodyn("show", "r.h5", "--json"))["evaluations"]
    assert [e["id"] for e in after] == [e["id"] for e in before]
    dodyn("rerun", *words, "--ids", "77", code=2)
    assert "2 evaluations now" in dodyn("rerun", *words, "--ids", f"0,{failed[0]}")
    for _ in range(3):
        assert " now, " in dodyn("run", *words)
    dodyn("show", "r.h5", "--verify")
    assert "earlier attempt: failed" in dodyn("show", "r.h5", "--evaluation", str(failed[0]))

    words = ["f.cfg", "--strategy", "sweep", "--testfunction.fail-above", "5", "--study.archive", "q.h5"]
    dodyn("run", *words)
    before = open("q.h5", "rb").read(), dodyn("show", "q.h5", "--json")
    assert "nothing to repeat" in dodyn("rerun", *words, "--failed")
    assert dodyn("show", "q.h5", "--json") == before[1], "a rerun of nothing left a trace"
    assert json.loads(before[1])["stop_reason"]

    # An evaluation that the machine ended has no answer: the run itself repeats it.
    with open("gone.cfg", "w") as config:
        config.write("[study]\nevaluator = command\n[command]\nrun = ./gone.sh\n[design]\nx.min = 0\nx.max = 1\n")
    dodyn("run", "gone.cfg", code=1)
    found = dodyn("rerun", "gone.cfg", "--failed")
    assert "the machine ended 1 evaluation" in found and found.endswith("next: dodyn run gone.cfg\n") and "was lost" not in found, found


def removed():
    """A key that a later version removed is refused by any command, unless its value corresponds to the present behaviour."""
    for value, code in (("matern52", 0), ("exponential", 2)):
        shutil.copy("f.h5", "before.h5")
        with h5py.File("before.h5", "r+") as f:
            f.attrs["configuration"] = f.attrs["configuration"] + f"surrogate.kernel = {value}\n"
        found = dodyn("solve", "before.h5", "--design.x", "0.5", code=code)
        assert code == 0 or found == "dodyn: before.h5: the key 'surrogate.kernel' was removed; leave it out: kriging has one kernel, matern52\n", found


def foreign():
    """Files with impossible contents, or with links to other files, are refused in one line. No other file is written."""
    def many_reasons(f):
        size = f.attrs.get_id("stop_reason").dtype
        del f.attrs["stop_reason"]
        f.attrs.create("stop_reason", [b"x" * size.itemsize] * 64, dtype=size)

    def many_points(f):
        f["/surrogate"].attrs["grid_points"] = 2**31 - 1

    def outside(f):
        rows = len(f["/evaluations/cost"])
        del f["/evaluations/cost"]
        f.create_dataset("/evaluations/cost", (rows,), "f8", external=[("victim", 0, h5py.h5f.UNLIMITED)])

    def linked(f):
        del f["/evaluations/cost"]
        f["/evaluations/cost"] = h5py.ExternalLink("g.h5", "/evaluations/cost")

    for change, word in ((many_reasons, "'stop_reason'"), (many_points, "'grid_points'"), (outside, "/evaluations/cost"),
                         (linked, "/evaluations/cost")):
        shutil.copy("f.h5", "x.h5")
        open("victim", "wb").write(b"v" * 4096)
        with h5py.File("x.h5", "r+") as f:
            change(f)
        for words in (["show", "x.h5"], ["show", "x.h5", "--json"], ["predict", "x.h5"], ["replay", "x.h5"],
                      ["merge", "y.h5", "x.h5", "g.h5"],
                      ["run", "f.cfg", "--strategy", "sweep", "--study.archive", "x.h5", "--study.max-evaluations", "30"]):
            assert word in dodyn(*words, code=2), words
        assert open("victim", "rb").read() == b"v" * 4096


def fuzz(cases, seed=1):
    """For any damage to a file, the commands end by themselves, with one of their exit codes and at most one line of error."""
    chance = random.Random(seed)
    whole = open("f.h5", "rb").read()
    codes = collections.Counter()
    for case in range(cases):
        data = bytearray(whole)
        for _ in range(chance.choice([0, 1, 2, 8, 64, 512])):
            data[chance.randrange(chance.choice([1000, 20000, len(data)]))] = chance.randrange(256)
        if chance.random() < 0.25:
            del data[chance.randrange(len(data)):]
        for path in glob.glob("z.h5*"):
            os.unlink(path)
        open("z.h5", "wb").write(data)
        done = {}
        for words in (["show", "z.h5"], ["show", "z.h5", "--verify"], ["show", "z.h5", "--json"], ["repair", "z.h5"]):
            run = subprocess.run([DODYN, *words], capture_output=True, text=True, errors="replace", timeout=60)
            name = " ".join(words[::2])
            assert run.returncode in (0, 1, 2), (case, seed, words, run)
            if run.returncode:
                assert run.stderr.startswith("dodyn: ") == (run.returncode == 2), (case, seed, words, run)
                assert run.stderr.count("\n") <= 1, (case, seed, words, run)
            codes[words[0] + " " * (len(words) > 2) + "".join(words[2:]), run.returncode] += 1
            done[" ".join(words)] = run.returncode
        if done["repair z.h5"] == 0:
            dodyn("show", "z.h5", "--verify")
        else:
            assert open("z.h5", "rb").read() == data, (case, seed, "a file that cannot be repaired was changed")
        assert sorted(glob.glob("z.h5*")) in (["z.h5"], ["z.h5", "z.h5.damaged"]), (case, seed, glob.glob("z.h5*"))
    print("\n".join(f"  {name}: {count} times exit code {code}" for (name, code), count in sorted(codes.items())))


def follow():
    """A reader that follows a run neither stops the writer nor misses a row."""
    slow = ["run", "f.cfg", "--strategy", "sweep", "--testfunction.delay", "0.2", "--study.archive"]

    def start(archive):
        run = subprocess.Popen([DODYN, *slow, archive], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(archive):
            assert run.poll() is None
            time.sleep(0.01)
        return run

    run = start("w.h5")
    refused = dodyn(*slow, "w.h5", code=5)
    assert f"in use by another process (pid {run.pid} on " in refused, refused
    text = dodyn("show", "w.h5", "--follow")
    assert run.wait(60) == 0
    assert text.count("x = ") >= 21 and "finished: swept" in text, text

    run = start("k.h5")
    time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert os.path.exists("k.h5.lock")  # stale
    dodyn(*slow, "k.h5")
    assert not os.path.exists("k.h5.lock")


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    open("f.cfg", "w").write(CONFIG)
    dodyn("run", "f.cfg", "--strategy", "sweep")
    for test in (exports, damage, merge, removed, rerun, foreign, follow):
        test()
        print(test.__name__, "ok", flush=True)
    fuzz(int(sys.argv[2]) if len(sys.argv) > 2 else 20)
