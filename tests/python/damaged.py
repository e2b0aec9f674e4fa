"""Damaged, crafted or busy archives are read, or refused in one line. None causes a traceback or a hang, or yields a row that was changed.
Usage: damaged.py DODYN"""

import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

from studies import DODYN, RECORD, ROOT, dodyn, dodyn_here, make, seal

try:
    import h5py
    import numpy as np

    import dodyn as package
    from dodyn import report, summary
except ImportError:
    sys.exit(77)  # skipped

CASES = 120  # of damaged files; a few hundred take minutes
LONGEST = 120.0  # s per file, on a machine with 20 times its capacity of work; HDF5 repeats reads for a long time


def contents(path):
    """Reads all that the package can read of a file."""
    study = package.open(path)
    rows = [e.row for e in study]
    motions = [{c.name: c.values.tobytes() for c in t} for t in study.trajectories(rows)]
    columns = {name: column.tobytes() for name, column in study.columns.items()}
    return columns, motions, repr(study.variables), repr(study.metrics), study.configuration, study.stop_reason, [e.text for e in study.events]


def flips():
    """Bytes changed and ends cut: data that are read are unchanged, except attributes of texts, which have no checksum."""
    whole = open("beam.h5", "rb").read()
    wanted, draw, kinds = contents("beam.h5"), random.Random(11), {"read": 0, "refused": 0}
    live = [i for i in range(len(whole)) if whole[i]]
    for case in range(CASES):
        data = bytearray(whole)
        if case % 6 == 0:
            del data[draw.randrange(len(data)) :]
        else:
            data[draw.choice(live)] ^= 1 << draw.randrange(8)
        with open("case.h5", "wb") as file:
            file.write(data)
        began = time.monotonic()
        try:
            columns, motions, *_ = contents("case.h5")
            assert (columns, motions) == wanted[:2], case
            kinds["read"] += 1
        except package.ArchiveError as error:
            assert str(error).startswith("case.h5: ") and "\n" not in str(error), error
            kinds["refused"] += 1
        assert time.monotonic() - began < LONGEST, case
    print(kinds)
    assert min(kinds.values()) > 10, kinds


def header():
    """One byte of the root's header: `report` and `plot` refuse at once, as `show` does."""
    data = bytearray(open("beam.h5", "rb").read())
    data[data.index(b"OHDR") + 20] ^= 1
    with open("header.h5", "wb") as file:
        file.write(data)
    for command in ("show", "report", "plot"):
        began = time.monotonic()
        assert "header.h5: " in dodyn(command, "header.h5", code=2)
        assert time.monotonic() - began < LONGEST, command


def replaced(file, path, value):
    attributes = dict(file[path].attrs)
    del file[path]
    made = file.create_dataset(path, data=value)
    for name, one in attributes.items():
        with contextlib.suppress(Exception):
            made.attrs[name] = one


CRAFTED = {
    "no rows": lambda f: f.__delitem__("evaluations"),
    "no costs": lambda f: f.__delitem__("evaluations/cost"),
    "no motions": lambda f: f.__delitem__("trajectories"),
    "no iterations": lambda f: f.__delitem__("iterations"),
    "no surrogate": lambda f: f.__delitem__("surrogate"),
    "no configuration": lambda f: f.attrs.__delitem__("configuration"),
    "endings": lambda f: f.attrs.__setitem__("ending", [b"finished"] * 3),
    "no stop": lambda f: f.attrs.__delitem__("stop_reason"),
    "schemas": lambda f: f.attrs.__setitem__("schema", [5, 6]),
    "schema": lambda f: f.attrs.__setitem__("schema", "six"),
    "configurations": lambda f: f.attrs.__setitem__("configuration", ["a = 1", "b = 2"]),
    "no names": lambda f: f["evaluations/design"].attrs.__delitem__("names"),
    "more names": lambda f: f["evaluations/design"].attrs.__setitem__("names", ["a"] * 9),
    "bounds": lambda f: f["evaluations/design"].attrs.__setitem__("lower", "low"),
    "units": lambda f: f["evaluations/metrics"].attrs.__setitem__("units", 3.0),
    "short costs": lambda f: f["evaluations/cost"].resize(2, axis=0),
    "long": lambda f: f["evaluations/id"].resize(2**40, axis=0),
    "flat design": lambda f: replaced(f, "evaluations/design", np.zeros(12)),
    "costs in words": lambda f: replaced(f, "evaluations/cost", np.array([b"a"] * 12)),
    "status": lambda f: replaced(f, "evaluations/status", np.zeros(12)),
    "a group of costs": lambda f: (f.__delitem__("evaluations/cost"), f.create_group("evaluations/cost")),
    "a dataset of rows": lambda f: (f.__delitem__("evaluations"), f.create_dataset("evaluations", data=[1])),
    "soft link": lambda f: (f.__delitem__("evaluations/cost"), f.__setitem__("evaluations/cost", h5py.SoftLink("/nowhere"))),
    "external link": lambda f: (f.__delitem__("evaluations/cost"), f.__setitem__("evaluations/cost", h5py.ExternalLink("beam.h5", "evaluations/cost"))),
    "external storage": lambda f: (f.__delitem__("evaluations/cost"),
                                   f.create_dataset("evaluations/cost", shape=(12,), dtype="f8", external=[("secret", 0, 96)])),
    "a cost": lambda f: f["evaluations/cost"].__setitem__(3, 0.25),
    "a decision": lambda f: f["iterations/best_cost"].__setitem__(0, 0.25),
    "an event": lambda f: f["events/text"].__setitem__(0, b"nothing"),
    "curves": lambda f: f["trajectories"].attrs.__setitem__("names", ["nowhere"]),
}  # fmt: skip


HELD = {
    "content": lambda f: f["files/0"].__setitem__(0, 1),
    "size": lambda f: f["files"].attrs.__setitem__("sizes", [3.0]),
    "sizes": lambda f: f["files"].attrs.__setitem__("sizes", [3.0, 4.0]),
    "numbers": lambda f: replaced(f, "files/0", np.zeros(12)),
    "link": lambda f: (f.__delitem__("files/0"), f.__setitem__("files/0", h5py.SoftLink("/evaluations/id"))),
    "elsewhere": lambda f: (f.__delitem__("files"), f.__setitem__("files", h5py.ExternalLink("beam.h5", "files"))),
    "large": lambda f: (f.__delitem__("files/0"), f["files"].attrs.__setitem__("sizes", [2.0**40]),
                        f.create_dataset("files/0", shape=(2**40,), dtype="u1", chunks=(2**20,))),
    "no names": lambda f: f["files"].attrs.__delitem__("names"),
}  # fmt: skip


def crafted():
    """Files that HDF5 reads, but that are no archives: one line and exit code 2."""
    with open("secret", "wb") as file:
        file.write(bytes(96))
    for name, change in CRAFTED.items():
        path = f"{name}.h5"
        shutil.copy("beam.h5", path)
        with h5py.File(path, "r+", libver="latest") as file:
            change(file)
        said = dodyn_here("report", path, "-o", "out.html", code=2)
        assert said.startswith(f"dodyn: {path}: ") and "; " in said, (name, said)
    # Files that the program never writes: reading their bad parts is refused.
    with open(os.path.join(ROOT, "configs", "command-beam.sh"), "rb") as file:
        script = file.read()
    assert package.open("beam.h5").files == {"command-beam.sh": script}
    for name, change in HELD.items():
        shutil.copy("beam.h5", "held.h5")
        with h5py.File("held.h5", "r+", libver="latest") as file:
            change(file)
        try:
            package.open("held.h5").files
        except package.ArchiveError as error:
            assert str(error).startswith("held.h5: ") and "\n" not in str(error), (name, error)
        else:
            raise AssertionError(name)
    # A label beyond its names, and a status that is none, are shown as they are.
    shutil.copy("beam.h5", "label.h5")
    with h5py.File("label.h5", "r+", libver="latest") as file:
        file["evaluations/design"][0, :] = 7
        file["evaluations/status"][1] = 100
        seal(file["evaluations"], RECORD, 0)
    study = package.open("label.h5")
    assert study.evaluations[1].status == "unknown" and "material = 7" in summary.design(study, study.evaluations[0])
    assert report.page([study])  # whose rows are compressed


def before_empty_columns():
    """Columns before an empty one (a search without diagnostics) are in the checksum, for both readers."""
    for path in ("iterations/n_observed", "iterations/best_cost", "iterations/next"):
        shutil.copy("failing.h5", "empty.h5")
        with h5py.File("empty.h5", "r+", libver="latest") as file:
            assert file["iterations/diagnostics"].shape[1] == 0
            file[path][0] = 0.75 if path.endswith("next") else 3
        said = dodyn("show", "empty.h5", code=2)
        assert said.startswith("dodyn: empty.h5: damaged: "), (path, said)
        try:
            package.open("empty.h5")
        except package.ArchiveError as error:
            assert "does not fit its checksum" in str(error), (path, error)
        else:
            raise AssertionError(path)


def folders():
    """A folder is no archive: one line."""
    for path in (".", "/"):
        try:
            package.open(path)
            raise AssertionError(path)
        except package.ArchiveError as error:
            assert str(error) == f"{path}: a directory", error
        for command in ("report", "plot", "animate"):
            assert "a directory" in dodyn_here(command, path, code=2), (command, path)


def open_here():
    """A file that this process or another one has open is read."""
    shutil.copy("beam.h5", "open.h5")
    wanted = contents("open.h5")
    for mode in ("r", "r+", "a"):
        with h5py.File("open.h5", mode) as file:
            held = file["evaluations/cost"]
            assert contents("open.h5") == wanted, mode
            assert len(held[:]) == len(file["evaluations/id"]), "what was open stays open"
    with h5py.File("open.h5", "r", libver="latest", swmr=True) as file:
        assert contents("open.h5") == wanted
        assert len(file["evaluations/id"]) > 0
    other = subprocess.Popen([sys.executable, "-c", "import h5py; f = h5py.File('open.h5', 'r+'); print(1, flush=True); input()"],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # fmt: skip
    other.stdout.readline()
    assert contents("open.h5") == wanted
    other.kill()
    other.wait()
    assert contents("open.h5") == wanted, "its mark stays in the file"


def strangers():
    """Files in the working directory are not executed, whatever PYTHONPATH is."""
    os.mkdir("strangers")
    shutil.copy("beam.h5", "strangers")
    for name in ("h5py", "numpy", "dodyn", "json", "argparse", "matplotlib", "sitecustomize", "usercustomize", "site", "encodings"):
        with open(f"strangers/{name}.py", "w") as file:
            file.write(f"open('ran-{name}', 'w')\n")
    for path in (None, "", ".", "./", ":/nowhere", "/nowhere:", "/nowhere::/else"):
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | ({} if path is None else {"PYTHONPATH": path})
        # The program removes the folder before it reads the command. Therefore `import`, the quickest command, represents all.
        drawn = (["report", "beam.h5"], ["plot", "beam.h5", "--what", "history"]) if path in (None, "/nowhere::/else") else ()
        for words in (["import", "none.urdf"], *drawn):
            done = subprocess.run([DODYN, *words], cwd="strangers", env=environment, capture_output=True, text=True, timeout=200)
            assert not [name for name in os.listdir("strangers") if name.startswith("ran-")], (path, words, os.listdir("strangers"))
            assert done.returncode == (2 if words[0] == "import" else 0), (path, words, done)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make("beam", "failing")
    for test in (flips, header, crafted, before_empty_columns, folders, open_here, strangers):
        test()
        print(test.__name__, "ok", flush=True)
