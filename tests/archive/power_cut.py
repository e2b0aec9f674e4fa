"""Archives after a power cut, simulated from a trace of the writes to them. Usage: power_cut.py DODYN LIBRARY [CUTS]

A study runs under write_trace.cpp. The power fails at a random write. All synced data are on the disk. For later writes there are two models.
In order: the disk has all writes up to some point, possibly inside a write (a file system that preserves the order). Any pages: each page has
its contents at some moment since the sync (the kernel chooses). The study then continues.

Checked in both models: no row is wrong (designs, seeds, costs bit by bit). In order: every synced row is present, and `dodyn run` continues
without repair. Any pages: unreadable data are reported as damaged, and `dodyn repair` recovers only right rows. Prints the frequency of each
result.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile

DODYN, LIBRARY = map(os.path.abspath, sys.argv[1:3])
CUTS = int(sys.argv[3]) if len(sys.argv) > 3 else 60
PAGE = 4096
CONFIG = """[study]
evaluator = testfunction
batch = 4
max-evaluations = 1000
[surrogate]
strategy = sweep
points = 60
[testfunction]
noise = 0.1
delay = 0.01
[design]
x.min = 0
x.max = 1
"""


def dodyn(*words, **environment):
    done = subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=100, env=dict(os.environ, **environment))
    assert done.returncode in (0, 1, 2), (words, done)
    return done


def rows(path):
    """Returns {id: the compared fields}, or None if the file is refused."""
    done = dodyn("show", path, "--json")
    if done.returncode:
        assert done.stderr.count("\n") == 1, done
        return None
    return {row["id"]: (row["design"]["x"], row["seed"], row["status"], row["cost"]) for row in json.loads(done.stdout)["evaluations"]}


def trace(path):
    data, at, records = open(path, "rb").read(), 0, []
    while at < len(data):
        inode, offset, size = (int.from_bytes(data[at + 1 + 8 * i:at + 9 + 8 * i], "little") for i in range(3))
        records.append((chr(data[at]), inode, offset, data[at + 25:at + 25 + size]))
        at += 25 + size
    return records


def apply(content, record):
    kind, _, offset, data = record
    if kind == "t":
        content[offset:] = b"\0" * max(0, offset - len(content))
    elif kind == "w":
        if len(content) < offset:
            content.extend(b"\0" * (offset - len(content)))
        content[offset:offset + len(data)] = data


def pages_of(record):
    """Splits a write into writes inside single pages."""
    kind, inode, offset, data = record
    at = 0
    while at < len(data):
        size = min(len(data) - at, PAGE - (offset + at) % PAGE)
        yield kind, inode, offset + at, data[at:at + size]
        at += size


def main():
    chance = random.Random(1)
    with open("f.cfg", "w") as file:
        file.write(CONFIG)
    assert dodyn("run", "f.cfg", "--study.archive", "f.h5", LD_PRELOAD=LIBRARY, WRITE_TRACE="trace").returncode == 0
    expected = rows("f.h5")
    records = trace("trace")
    archive = os.stat("f.h5").st_ino
    records = [record for record in records if record[1] == archive]
    born = next(i for i, record in enumerate(records) if record[0] == "r")
    whole = bytearray()
    for record in records:
        apply(whole, record)
    with open("f.h5", "rb") as file:
        assert file.read() == bytes(whole), "the trace does not tell what is in the file"
    print(f"{len(records)} records, {sum(r[0] == 's' for r in records)} syncs, {len(expected)} rows")

    seen = collections.Counter()
    for cut in range(CUTS):
        k = chance.randrange(born + 1, len(records) + 1)
        synced = max((i for i in range(k) if records[i][0] == "s"), default=0)
        disk = bytearray()
        for record in records[:synced]:
            apply(disk, record)
        with open("synced.h5", "wb") as file:
            file.write(disk)
        kept = rows("synced.h5")
        assert kept is not None and all(expected[i] == row for i, row in kept.items())
        in_order = cut % 2 == 0
        after = records[synced:k]
        if in_order:
            for record in after:
                apply(disk, record)
            if after and after[-1][0] == "w":  # the cut is inside the next write
                pieces = list(pages_of(records[k])) if k < len(records) and records[k][0] == "w" else []
                for piece in pieces[:chance.randrange(len(pieces) + 1)]:
                    apply(disk, piece)
        else:  # the journal has the lengths; a rewritten page may have any of its versions
            versions = {}
            for record in after:
                if record[0] == "t":
                    apply(disk, record)
            image = bytearray(disk)
            for record in after:
                for piece in pages_of(record):
                    apply(image, piece)
                    page = piece[2] // PAGE
                    versions.setdefault(page, []).append(bytes(image[page * PAGE:(page + 1) * PAGE]))
            for page, each in versions.items():
                if (choice := chance.randrange(len(each) + 1)) < len(each):
                    apply(disk, ("w", 0, page * PAGE, each[choice]))
        with open("cut.h5", "wb") as file:
            file.write(disk)
        left = rows("cut.h5")
        if left is None:
            assert not in_order, "refused though the writes are in order"
            seen["any pages: refused"] += 1
            if dodyn("repair", "cut.h5").returncode == 2 or (left := rows("cut.h5")) is None:
                seen["any pages: repair gives it up"] += 1
                left = {}
        assert all(expected[i] == row for i, row in left.items()), "a wrong row"
        story = "in order" if in_order else "any pages"
        seen[f"{story}: cuts"] += 1
        seen[f"{story}: rows since the sync that are there"] += len(left.keys() - kept.keys())
        seen[f"{story}: synced rows lost"] += len(kept.keys() - left.keys())
        if in_order:
            assert left.keys() >= kept.keys(), "a row that was synced is not there"
        if in_order and cut % 10 == 0:
            assert dodyn("run", "f.cfg", "--study.archive", "cut.h5").returncode == 0
            assert rows("cut.h5") == expected
            seen["in order: went on to the same end"] += 1
        for name in os.listdir("."):
            if name.startswith("cut.h5"):
                os.unlink(name)
    for what, count in sorted(seen.items()):
        print(f"{what}: {count}")


with tempfile.TemporaryDirectory(prefix="dodyn-power-") as directory:
    os.chdir(directory)
    main()
    os.chdir("/")
