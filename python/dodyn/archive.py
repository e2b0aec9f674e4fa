"""Reads archives: columns, units and provenance as plain Python and numpy. docs/archive.md and src/archive/schema.hpp describe the layout."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import functools
import math
import os
import re
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar, Union

import numpy as np
import numpy.typing as npt

try:
    import h5py
except ImportError as error:
    raise ImportError("dodyn reads archives with h5py, which this Python lacks: apt install python3-h5py, or python3 -m pip install h5py") from error

Array = npt.NDArray[np.float64]
Result = TypeVar("Result")
PathLike = Union[str, "os.PathLike[str]"]

SCHEMA = 7  # the schema that this reader supports
MAX_HELD_BYTES = 16 << 20  # limit for the contents of all files in an archive
# Columns in the order of the checksums of rows, with the type of their data. `id` is extended last: its length is the
# number of complete rows.
COLUMNS = {
    "id": "i", "warm_start_id": "i", "design": "f", "seed": "u", "status": "i", "reason": "S", "cost": "f", "cost_stderr": "f",
    "gradient": "f", "metrics": "f", "wall_time": "f", "rank": "i", "host": "S", "start_time": "S",
}  # fmt: skip
ITERATION_COLUMNS = {
    "n_observed": "i", "best_id": "i", "best_cost": "f", "predicted_cost": "f", "next": "f", "note": "S", "recommended": "f",
    "diagnostics": "f", "candidates": "f",
}  # fmt: skip
STATUSES = ("ok", "infeasible", "not_converged", "failed", "timed_out", "lost")
COST_MEANING = {  # by evaluator
    "gait": "cost of transport of the best gait",
    "docking": "share of the initial states from which docking fails",
}


class ArchiveError(Exception):
    """The file is not a readable archive; the message is one line."""


def text(value: object) -> str:
    """Returns a text of the file as str, whatever type h5py returns."""
    if isinstance(value, str):  # h5py decodes some texts itself, and represents invalid bytes as lone surrogates
        value = value.encode("utf-8", "surrogateescape")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def texts(values: Iterable[object]) -> list[str]:
    return [text(value) for value in values]


@dataclass(frozen=True)
class Event:
    """An event of a study: `kind` is a few words ("started", "rank lost", ...), `text` one line, `time` in UTC, ISO 8601."""

    time: str
    kind: str
    text: str


@dataclass(frozen=True)
class Quantity:
    """A named quantity: a design variable (with its range), a metric, or a coordinate."""

    name: str
    unit: str = ""
    description: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple[str, ...] = ()  # the names of its values 0, 1, ...
    factor: float = 1.0  # of a number in the archive's unit

    @property
    def label(self) -> str:
        """Returns the name with its unit: "knee [m]"."""
        return f"{self.name} [{self.unit}]" if self.unit not in ("", "1") else self.name


@dataclass(frozen=True)
class Channel:
    """One matrix of a trajectory: values [node, coordinate], names and units of the coordinates, a description.
    `segments` are pairs of points that a picture joins by a line (empty unless the channel holds points)."""

    name: str
    values: Array
    names: list[str]
    units: list[str]
    description: str
    segments: tuple[tuple[str, str], ...] = ()
    factors: tuple[float, ...] = ()  # [coordinate] value in `units` / value in the archive's unit; empty: all are 1

    @property
    def archived(self) -> Array:
        """The values in the units of the archive, in which motions are drawn."""
        own: Array = self.values / np.array(self.factors) if self.factors else self.values
        return own

    def __array__(self, dtype: npt.DTypeLike = None) -> npt.NDArray[Any]:
        return np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def column(self, name: str) -> Array:
        """Returns one coordinate [node], in its unit of `units`. Throws ValueError if there is no such name."""
        return self.values[:, self.names.index(name)]


class Trajectory:
    """The motion of an evaluation. `trajectory.q` is the numpy array [node, coordinate] of the channel `q`,
    trajectory["q"] the channel with its names and units. Empty (false) if the evaluation has no motion."""

    def __init__(self, channels: Mapping[str, Channel]) -> None:
        self.channels = dict(channels)

    def __bool__(self) -> bool:
        return bool(self.channels)

    def __contains__(self, name: object) -> bool:
        return name in self.channels

    def __iter__(self) -> Iterator[Channel]:
        return iter(self.channels.values())

    def __getitem__(self, name: str) -> Channel:
        if name not in self.channels:
            raise KeyError(self._missing(name))
        return self.channels[name]

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or name not in self.channels:
            raise AttributeError(self._missing(name))
        return self.channels[name].values

    def _missing(self, name: str) -> str:
        if self.scenarios:
            return f"no channel '{name}'; each scenario has its own: scenario('{self.scenarios[0]}').{name}"
        return f"no channel '{name}'; there are {', '.join(self.channels) or 'none'}"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.channels]

    @property
    def scenarios(self) -> list[str]:
        """Returns the names of the scenarios; empty if the study has none."""
        return list(dict.fromkeys(name.split(":")[0] for name in self.channels if ":" in name))

    def scenario(self, name: str) -> Trajectory:
        """Returns the motion in one scenario, its channels by their own names; empty if the design has none there.
        Throws ArchiveError if there is no such scenario."""
        if name not in self.scenarios:
            raise ArchiveError(f"no scenario '{name}'; there are {', '.join(self.scenarios) or 'none'}")
        own = {
            full[len(name) + 1 :]: replace(channel, name=full[len(name) + 1 :])
            for full, channel in self.channels.items()
            if full.startswith(name + ":")
        }
        empty = all(np.isnan(channel.values).all() for channel in own.values())
        return Trajectory({} if empty else own)

    def by_scenario(self) -> list[tuple[str, Trajectory]]:
        """Returns (name, Trajectory) of each scenario; [("", this one)] if the study has no scenarios."""
        return [(name, self.scenario(name)) for name in self.scenarios] or [("", self)]


@dataclass(frozen=True)
class Evaluation:
    """One row of an archive: a design and its outcome.

    design     value of each design variable, in the units of `study.variables`
    status     "ok", "infeasible", "not_converged", "failed", "timed_out" or "lost"; `reason` is one line
    cost       NaN if the evaluation has none; `cost_stderr` its standard error, 0 for deterministic costs
    gradient   d cost / d variable; empty if the evaluation has none
    metrics    value of each metric, in the units of `study.metrics`
    seconds    wall-clock time of the evaluation, s; `started` is UTC, ISO 8601
    attempts   the earlier rows of the same id, oldest first
    """

    study: Archive
    row: int
    id: int
    warm_start_id: int
    design: dict[str, float]
    status: str
    reason: str
    cost: float
    cost_stderr: float
    gradient: dict[str, float]
    metrics: dict[str, float]
    wall_time: float
    rank: int
    host: str
    start_time: str
    seed: int
    attempts: tuple[Evaluation, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the cost is that of a feasible, converged motion."""
        return self.status == "ok"

    @property
    def cause(self) -> str:
        """Returns the cause of a missing result: "design" (the evaluator reports it, or attempts were lost on two
        hosts), "machine", "study" (its time limit), or "none": the evaluation is ok."""
        if self.status != "lost":
            return {"ok": "none", "timed_out": "study"}.get(self.status, "design")
        hosts = {e.host for e in (*self.attempts, self) if e.status == "lost" and not e.reason.startswith("machine: ")}
        return "design" if len(hosts) > 1 and not self.reason.startswith("machine: ") else "machine"

    @property
    def trajectory(self) -> Trajectory:
        """Returns the motion of the evaluation, which is read from the file."""
        return self.study.trajectory(self.row)


@dataclass(frozen=True)
class Iteration:
    """A decision of the search strategy; `evaluations` is the number of rows that it had received."""

    evaluations: int
    best_id: int
    best_cost: float
    next: Array  # [variable] the proposed design
    predicted_cost: float
    recommended: Array  # [variable] the recommended design; NaN if costs have no noise
    diagnostics: dict[str, float]  # those that exist; math.inf is "inf" in show --json
    note: str
    candidates: list[dict[str, float]]  # designs considered, the chosen one first (docs/archive.md)


def parse_configuration(written: str) -> dict[str, str]:
    """The configuration as the archive holds it: 'key = value' lines; a backslash protects itself, line ends, and an
    equals sign in a key."""
    found = {}
    for line in written.split("\n"):
        match = re.match(r"((?:\\.|[^\\=])*) = (.*)", line)
        if match:
            key, value = (re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], word) for word in match.groups())
            found[key] = value
    return found


def choices(written: str) -> tuple[str, ...]:
    """Returns the names in 'steel, aluminium'; empty for a number or a list of numbers."""
    names = [word.strip() for word in written.split(",")]
    return () if len(names) < 2 or re.match(r"[-+.0-9]", names[0]) else tuple(names)


def parse_constraints(written: str) -> list[tuple[str, bool, float]]:
    """Parses 'work <= 3, force >= 0' to [(metric, True for an upper limit, limit)]; '0 <= lean <= 1' and 'speed = 1 +- 0.1' are two limits each."""
    found: list[tuple[str, bool, float]] = []
    for word in filter(None, (part.strip() for part in written.split(","))):
        both = re.fullmatch(r"(\S+)\s*(<=|>=)\s*(.+?)\s*\2\s*(\S+)", word)
        equal = re.fullmatch(r"(.+?)\s*=\s*(\S+)\s*\+-\s*(\S+)", word)
        if both:
            found.append((both[3], both[2] != "<=", float(both[1])))
            found.append((both[3], both[2] == "<=", float(both[4])))
            continue
        if equal and not re.search("[<>]=", word):
            middle, half = float(equal[2]), float(equal[3])
            found += [(equal[1], False, middle - half), (equal[1], True, middle + half)]
            continue
        match = re.fullmatch(r"(.+?)\s*(<=|>=)\s*(\S+)", word)
        if match:
            found.append((match[1], match[2] == "<=", float(match[3])))
    return found


# ---- the file -------------------------------------------------------------------------------------------------------

ATTEMPTS = 20  # attempts to open a file that changes meanwhile
PAUSE = 0.01  # between attempts, s
# While a program writes, a read that meets incomplete metadata is repeated after 1, 2, 4, ... ns. 24 attempts take
# about 20 ms. HDF5's default of 100 would wait forever at a damaged file.
READS_WHILE_WRITTEN = 24
HEAPS_END = 64 << 20  # bytes: all heaps are written when a file is created, before its first row
DENSEST = 1032  # upper bound of the compression ratio of deflate


def superblock(path: PathLike) -> tuple[int, bool]:
    """Returns (flags, True if the file is shorter than its superblock states). Flags show who has it open for writing.
    HDF5 file format specification 3.0, II.A."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # opening a FIFO would wait for a writer
    except FileNotFoundError:
        raise ArchiveError(f"{path}: no such file") from None
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):  # os.fdopen refuses a directory with the descriptor's number
        os.close(descriptor)
        raise ArchiveError(f"{path}: {'a directory' if stat.S_ISDIR(found.st_mode) else 'not a regular file'}")
    with os.fdopen(descriptor, "rb") as file:
        block = file.read(48)
    if block[:8] != b"\x89HDF\r\n\x1a\n":
        if str(path).endswith((".cfg", ".model")):
            what = "a configuration" if str(path).endswith(".cfg") else "a model file"
            raise ArchiveError(f"{path} is {what}, not an archive" + (f"; dodyn run {path} makes {os.path.splitext(os.path.basename(path))[0]}.h5" if str(path).endswith(".cfg") else ""))
        raise ArchiveError(f"{path}: not an HDF5 file" if block else f"{path}: an empty file; remove it, or restore a copy")
    if len(block) == 48 and block[8] != 3:
        raise ArchiveError(f"{path}: an HDF5 file, but not a dodyn archive")
    return (block[11], found.st_size < struct.unpack_from("<Q", block, 28)[0]) if len(block) == 48 else (0, True)


def is_written(path: PathLike) -> bool:
    """Returns True if a process holds the lock of the archive's writer. A killed process leaves the file of its lock, without the lock."""
    try:
        descriptor = os.open(f"{os.path.realpath(path)}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)  # struct flock of Linux
        return bool(struct.unpack("hhqqi", fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))[0] != fcntl.F_UNLCK)
    except OSError:  # a file system without locks
        return True
    finally:
        os.close(descriptor)


def check_heaps(path: PathLike) -> None:
    """Throws ArchiveError if a heap of texts is damaged: heaps have no checksums, and HDF5 does not check their sizes. A
    heap is a header of 16 bytes with its size, then objects: index (2 bytes), reference count (2), reserved (4), size
    (8), and the bytes, padded to 8. Index 0 is the free space at the end, including its own header (HDF5 file format
    specification 3.0, III.E)."""
    with Path(path).open("rb") as file:
        data = file.read(HEAPS_END)
    at = data.find(b"GCOL\1\0\0\0")
    while at >= 0:
        size = struct.unpack_from("<Q", data, at + 8)[0] if len(data) >= at + 16 else 0
        end, place = at + size, at + 16
        sound = 16 <= size <= len(data) - at
        while sound and end - place >= 16:
            index, length = struct.unpack_from("<H6xQ", data, place)
            if index == 0:
                sound = length == end - place
                break
            place += 16 + (length + 7) // 8 * 8
            sound = place <= end
        if not sound:
            raise ArchiveError(f"{path}: damaged: the texts in it cannot be read; dodyn repair {path} recovers the sound rows")
        at = data.find(b"GCOL\1\0\0\0", at + 8)


def access(reads: int, clear_marks: bool = False) -> Any:
    """Returns the properties with which HDF5 opens a file. Those that h5py cannot set are set by its HDF5 library."""
    properties = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    properties.set_libver_bounds(h5py.h5f.LIBVER_LATEST, h5py.h5f.LIBVER_LATEST)
    with contextlib.suppress(AttributeError):  # h5py before 3.5
        properties.set_file_locking(False, True)  # a reader does not wait for locks
    with contextlib.suppress(OSError, AttributeError), h5py._objects.phil:
        library, yes = ctypes.PyDLL(h5py.h5p.__file__), ctypes.c_bool(True)
        library.H5Pset_metadata_read_attempts(ctypes.c_int64(properties.id), ctypes.c_uint(reads))
        if clear_marks:  # like h5clear; nothing is written
            library.H5Pset(ctypes.c_int64(properties.id), b"clear_status_flags", ctypes.byref(yes))
    return properties


def open_to_read(path: PathLike) -> Any:
    """Opens the HDF5 file, even while the study writes to it or this process has it open. Throws ArchiveError."""
    name, read = os.fsencode(path), h5py.h5f.ACC_RDONLY
    swmr = read | h5py.h5f.ACC_SWMR_READ
    cause: OSError | None = None
    for attempt in range(ATTEMPTS):
        flags, cut = superblock(path)
        written = is_written(path)
        before = stamp(path)
        ways: list[Callable[[], Any]] = [
            lambda: h5py.File(h5py.h5f.open(name, swmr, access(READS_WHILE_WRITTEN if written else 1))),
            lambda: h5py.File(path, "r"),  # if this process has it open, but not in SWMR mode
        ]
        if flags & 5 == 1 and attempt == ATTEMPTS - 1:  # another program has it open for writing, or was killed while it had
            ways.append(lambda: h5py.File(h5py.h5f.open(name, read, access(1, clear_marks=True))))
        for way in ways:
            try:
                return way()
            except OSError as error:
                cause = cause or error
            if stamp(path) != before:
                break  # an append caused the failure; another open in this way would not see later appends
        if stamp(path) == before and not written and flags & 5 != 1:
            break
        time.sleep(PAUSE)
    if cut and not written:
        raise ArchiveError(f"{path}: truncated: the file is shorter than it was when it was closed; dodyn repair {path} recovers the sound rows")
    raise damaged(path, cause or OSError("unreadable"))


def damaged(path: PathLike, cause: Exception) -> ArchiveError:
    words = " ".join(str(cause.args[-1] if cause.args else cause).split())
    return ArchiveError(f"{path}: damaged: {words[:200]}; dodyn repair {path} recovers the sound rows")


def stamp(path: PathLike) -> tuple[int, int, int]:
    """Returns values that change when a program writes to the file. Throws ArchiveError if it is not there."""
    try:
        found = os.stat(path)
    except OSError as error:
        raise ArchiveError(f"{path}: {'no such file' if error.errno == errno.ENOENT else error.strerror}") from None
    return found.st_ino, found.st_size, found.st_mtime_ns


def read_from(path: PathLike, read: Callable[[Any], Result]) -> Result:
    """Returns read(the open file). Repeats it if it failed because a program wrote to the file meanwhile. Throws ArchiveError."""
    for _ in range(ATTEMPTS - 1):
        before = stamp(path)
        try:
            with reading(path) as file:
                return read(file)
        except ArchiveError:
            if stamp(path) == before:
                raise
        time.sleep(PAUSE)
    with reading(path) as file:
        return read(file)


@contextlib.contextmanager
def reading(path: PathLike) -> Iterator[Any]:
    """Opens the file; exceptions of h5py inside the block become ArchiveError, because the file is the cause."""
    file = open_to_read(path)
    try:
        yield file
    except (KeyError, OSError, ValueError, TypeError, IndexError, RuntimeError, OverflowError, MemoryError) as error:
        raise damaged(path, error) from None
    finally:
        with contextlib.suppress(RuntimeError, OSError):
            file.close()


def dataset(group: Any, name: str, shape: tuple[int, ...] | None = None, kinds: str | None = None) -> Any:
    """Returns a dataset of the group. Refuses links to other files, virtual datasets, and sizes that the file cannot
    hold. `shape`: its extents after the first one. `kinds`: allowed kinds of numpy types. Throws ValueError."""
    if not isinstance(group, h5py.Group) or not isinstance(group.get(name, getlink=True), h5py.HardLink):
        raise ValueError(f"{name} is not in this file")
    found = group[name]
    if not isinstance(found, h5py.Dataset) or found.external or found.is_virtual:
        raise ValueError(f"{name} is not a dataset of this file")
    if shape is not None and found.shape[1:] != shape:
        raise ValueError(f"{name} has the shape {found.shape}")
    if kinds and found.dtype.kind not in kinds:
        raise ValueError(f"{name} holds {found.dtype}")
    if len(found.shape) > 0 and found.size * found.dtype.itemsize > DENSEST * os.path.getsize(found.file.filename):
        raise ValueError(f"{name} is larger than the file can hold")
    return found


def rows_of(*lists: Sequence[Any]) -> Iterable[tuple[Any, ...]]:
    """Returns the lists side by side. Throws ValueError if their lengths differ."""
    if len({len(one) for one in lists}) > 1:
        raise ValueError(f"lists of {', '.join(str(len(one)) for one in lists)} names, units or bounds")
    return zip(*lists)


def one_text(attributes: Any, name: str) -> str:
    """Returns an attribute that is one text. Throws KeyError, ValueError."""
    found = attributes[name]
    if not isinstance(found, (str, bytes)):
        raise ValueError(f"attribute {name} is not one text")
    return text(found)


def files_of(file: Any) -> dict[str, bytes]:
    """Returns the files that the archive contains, by name. Throws ValueError if they are invalid."""
    if "files" not in file:
        return {}
    if not isinstance(file.get("files", getlink=True), h5py.HardLink) or not isinstance(file["files"], h5py.Group):
        raise ValueError("files is not in this file")
    group, found, room = file["files"], {}, MAX_HELD_BYTES
    names, sums, sizes = texts(group.attrs["names"]), texts(group.attrs["checksums"]), group.attrs["sizes"]
    for at, (name, wanted, size) in enumerate(rows_of(names, sums, sizes)):
        if str(at) not in group:
            continue  # a file of the machine, or too large
        content = dataset(group, str(at), (), "u")
        if content.shape != (int(size),) or content.dtype.itemsize != 1 or content.shape[0] > room:
            raise ValueError(f"files/{at} has the shape {content.shape}")
        room -= content.shape[0]
        found[name] = content[()].tobytes()
        if checksum(found[name]) != wanted:
            raise ValueError(f"files/{at} does not fit its checksum")
    return found


def checksum(content: bytes) -> str:
    """Returns the 64-bit FNV-1a hash as 16 hexadecimal digits, like the program."""
    value = 0xCBF29CE484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def check_rows(what: str, columns: Sequence[npt.NDArray[Any]], sums: npt.NDArray[np.uint32]) -> None:
    """Throws ValueError if a row does not match its checksum, the CRC-32 of its bytes in these columns, one after the other."""
    for row, wanted in enumerate(sums.tolist()):
        found = 0
        for column in columns:
            found = zlib.crc32(column[row : row + 1].tobytes(), found)
        if found != wanted:
            raise ValueError(f"the {what} of row {row} does not fit its checksum")


def open(path: PathLike, units: str = "") -> Archive:  # noqa: A001: dodyn.open("knee.h5") is what one types
    """Reads the archive at `path`. A study that still runs is read up to its last complete row. `units`, such as
    "mm,deg", replace those of the same dimension; they need the program dodyn. Throws ArchiveError, and ProgramError
    if a unit is unknown."""
    return Archive(path, units)


# ---- the archive ------------------------------------------------------------------------------------------------------


class Archive:
    """A study in an archive. Everything is read at once except the trajectories, which are read on request.

    variables, metrics      lists of Quantity: name, unit, range, description
    evaluations             list of Evaluation by id; an evaluation that was repeated appears once, with its last row
    recommended, best       the evaluation that the program recommends (`dodyn show`), or None; see below
    lowest                  the feasible evaluation with the minimum observed cost, noise included, or None
    objectives              names of the minimized quantities: "cost", or metrics
    front                   the feasible evaluations that no other one beats in all objectives
    iterations              list of Iteration: the decisions of the strategy
    curves                  one free variable: the surrogate {"grid" [point], "value", "lower", "upper" [iteration, point]}; else None
    configuration           dict: every setting of the study as text
    stop_reason             why the study ended; empty while it runs
    ending                  how it ended: finished (by the search's own rule), undecided, equal_costs, limit, repeated, interrupted, failed;
                            empty while it runs, of merged archives, and of archives that do not say it
    events                  list of Event: time, kind, text (starts, lost ranks, interruptions)
    machine                 dict: compiler, MPI, modules, job and nodes where the archive was made
    files                   dict: the files that the configuration names (models, tables, scripts), by name, as bytes; read on request
    units                   the units that the reader chose, as "mm,deg"; `unused_units`: those that fit no quantity

    With `units`, designs, bounds, gradients, metrics, constraints, iterations, curves and motions are in these units, and each Quantity and Channel
    names its own. A gradient is per new unit. Costs, times of evaluations, and the texts of the archive (configuration, reasons, notes) stay.
    """

    version: str
    git_commit: str
    evaluator: str
    command_line: str
    host: str
    created: str
    stop_reason: str
    ending: str

    def __init__(self, path: PathLike, units: str = "") -> None:
        self.path = Path(path)
        self.units = units
        superblock(self.path)
        check_heaps(self.path)
        read_from(self.path, self._read)

    def _read(self, file: Any) -> None:
        if text(file.attrs.get("program", "")) != "dodyn":
            raise ArchiveError(f"{self.path}: an HDF5 file, but not a dodyn archive")
        self.schema = int(file.attrs["schema"])
        if self.schema != SCHEMA:
            other = "a newer" if self.schema > SCHEMA else "an older"
            raise ArchiveError(f"{self.path}: written by {other} dodyn: schema {self.schema}; this reader reads {SCHEMA}")
        for name in ("version", "git_commit", "evaluator", "command_line", "host", "created", "stop_reason"):
            setattr(self, name, one_text(file.attrs, name))
        self.ending = one_text(file.attrs, "ending") if "ending" in file.attrs else ""
        self.ranks = int(file.attrs["ranks"])
        self.configuration = parse_configuration(one_text(file.attrs, "configuration"))
        self.machine = parse_configuration(one_text(file.attrs, "machine"))
        count = len(dataset(file["events"], "time", ()))
        columns = [dataset(file["events"], name, (), "S")[:count] for name in ("time", "kind", "text")]
        check_rows("event", columns, dataset(file["events"], "checksum", (), "u")[:count])
        self.events = [Event(*each) for each in zip(*map(texts, columns))]
        self.constraints = parse_constraints(self.configuration.get("surrogate.constraints", ""))

        rows = file["evaluations"]
        count = len(dataset(rows, "id", (), "i"))  # must be read before any other column is opened: those are at least as long
        design, metrics = rows["design"].attrs, rows["metrics"].attrs
        self._choose_units(file, [*texts(design["units"]), *texts(metrics["units"])])
        self.variables = []
        for name, own, low, high in rows_of(texts(design["names"]), texts(design["units"]), design["lower"], design["upper"]):
            unit, factor = self._conversions(own)
            names = choices(self.configuration.get(f"design.{name}", ""))
            self.variables.append(Quantity(name, unit, "", factor * float(low), factor * float(high), names, factor))
        self.metrics = []
        for name, own, description in rows_of(*(texts(metrics[key]) for key in ("names", "units", "descriptions"))):
            unit, factor = self._conversions(own)
            self.metrics.append(Quantity(name, unit, description, factor=factor))
        factors = {m.name: m.factor for m in self.metrics}
        self.constraints = [(name, below, factors.get(name, 1.0) * limit) for name, below, limit in self.constraints]
        shapes = {"design": (len(self.variables),), "gradient": (len(self.variables),), "metrics": (len(self.metrics),)}
        self.columns: dict[str, npt.NDArray[Any]] = {  # by row, in the order of the file
            name: dataset(rows, name, shapes.get(name, ()), kinds)[:count] for name, kinds in COLUMNS.items()
        }
        if any(len(column) != count for column in self.columns.values()):
            raise ValueError("columns of evaluations have different lengths")
        self._sums: npt.NDArray[np.uint32] = dataset(rows, "checksum", (3,), "u")[:count]  # of the fields, the trajectory, the outcome
        check_rows("evaluation", list(self.columns.values()), self._sums[:, 0])
        if self.units:
            self.columns["design"] = self.columns["design"] * self._factors(self.variables)
            self.columns["gradient"] = self.columns["gradient"] / self._factors(self.variables)
            self.columns["metrics"] = self.columns["metrics"] * self._factors(self.metrics)
        enum = h5py.check_enum_dtype(rows["status"].dtype) or dict(zip(STATUSES, range(len(STATUSES))))
        self._status = {int(value): name for name, value in enum.items() if name in STATUSES}
        self.sources = (
            [text(file[f"sources/{k}"].attrs["path"]) for k in range(len(file["sources"]))] if "sources" in file else []
        )
        last: dict[int, list[int]] = {}
        for row in range(count):
            last.setdefault(int(self.columns["id"][row]), []).append(row)
        self.evaluations: list[Evaluation] = []
        for identity in sorted(last):
            *earlier, final = last[identity]
            self.evaluations.append(self._evaluation(final, tuple(map(self._evaluation, earlier))))
        self._read_iterations(file)
        self.channel_names = texts(file["trajectories"].attrs["names"])

    def _choose_units(self, file: Any, own: list[str]) -> None:
        """Asks the program how the units of variables, metrics (`own`) and channels convert. Throws ProgramError."""
        from .units import conversions  # only where units are chosen does reading need the program

        if self.units:
            group = file["trajectories"]
            own += [unit for name in texts(group.attrs["names"]) for unit in self._channel(group, name)[2]]
        self._conversions = conversions(self.units, own)
        self.unused_units = self._conversions.unused

    @staticmethod
    def _factors(quantities: list[Quantity]) -> Array:
        return np.array([q.factor for q in quantities])

    def _read_iterations(self, file: Any) -> None:
        group = file["iterations"]
        count = len(dataset(group, "n_observed", (), "i"))
        names, considered = (texts(group[name].attrs["names"]) for name in ("diagnostics", "candidates"))
        shapes = {"next": (len(self.variables),), "recommended": (len(self.variables),), "diagnostics": (len(names),)}
        columns = {
            name: dataset(group, name, shapes.get(name), kinds)[:count] for name, kinds in ITERATION_COLUMNS.items()
        }
        if any(len(column) != count for column in columns.values()):
            raise ValueError("columns of iterations have different lengths")
        if columns["candidates"].shape[2:] != (len(considered),):
            raise ValueError(f"candidates has the shape {columns['candidates'].shape}")
        factors, by_name = self._factors(self.variables), {v.name: v.factor for v in self.variables}
        of_candidate = np.array([by_name.get(name, 1.0) for name in considered])
        self.iterations = [
            Iteration(
                int(columns["n_observed"][k]),
                int(columns["best_id"][k]),
                float(columns["best_cost"][k]),
                columns["next"][k] * factors,
                float(columns["predicted_cost"][k]),
                columns["recommended"][k] * factors,
                {n: float(v) for n, v in zip(names, columns["diagnostics"][k]) if not np.isnan(v)},
                text(columns["note"][k]),
                [dict(zip(considered, map(float, row * of_candidate))) for row in columns["candidates"][k] if not np.isnan(row).all()],
            )
            for k in range(count)
        ]
        surrogate = file["surrogate"]
        self.curves: dict[str, Array] | None = None
        if "grid" in surrogate:
            grid = dataset(surrogate, "grid", (), "f")[:]
            self.curves = {name: dataset(surrogate, name, grid.shape, "f")[:count] for name in ("value", "lower", "upper")}
            if any(len(curve) != count for curve in self.curves.values()):
                raise ValueError("curves of iterations have different lengths")
            self.curves["grid"] = grid
        curves = [self.curves[name] for name in ("value", "lower", "upper")] if self.curves else []
        check_rows("iteration", [*columns.values(), *curves], dataset(group, "checksum", (), "u")[:count])
        if self.curves is not None:
            self.curves["grid"] = self.curves["grid"] * factors[0]

    def _evaluation(self, row: int, attempts: tuple[Evaluation, ...] = ()) -> Evaluation:
        column = self.columns

        def named(quantities: list[Quantity], values: Array) -> dict[str, float]:
            numbers = values.tolist()
            return {} if all(map(math.isnan, numbers)) else {q.name: v for q, v in zip(quantities, numbers)}

        return Evaluation(
            study=self,
            row=row,
            id=int(column["id"][row]),
            warm_start_id=int(column["warm_start_id"][row]),
            design={v.name: x for v, x in zip(self.variables, column["design"][row].tolist())},
            status=self._status.get(int(column["status"][row]), "unknown"),
            reason=text(column["reason"][row]),
            cost=float(column["cost"][row]),
            cost_stderr=float(column["cost_stderr"][row]),
            gradient=named(self.variables, column["gradient"][row]),
            metrics=named(self.metrics, column["metrics"][row]),
            wall_time=float(column["wall_time"][row]),
            rank=int(column["rank"][row]),
            host=text(column["host"][row]),
            start_time=text(column["start_time"][row]),
            seed=int(column["seed"][row]),
            attempts=attempts,
        )

    @property
    def files(self) -> dict[str, bytes]:
        """Returns the files that the configuration names, by name. Throws ArchiveError."""
        return read_from(self.path, files_of)

    def row(self, row: int) -> Evaluation:
        """Returns the evaluation of a row (index in the file). Throws IndexError."""
        if not 0 <= row < len(self.columns["id"]):
            raise IndexError(f"row {row}: there are {len(self.columns['id'])}")
        return self._evaluation(row)

    # ---- what is in it ------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    def __repr__(self) -> str:
        best = self.best
        found = f"best {f'{best.cost:.6g} (evaluation {best.id})' if best else 'none'}"
        if len(self.objectives) > 1:
            found = f"front of {len(self.front)}"
        return f"<dodyn study {self.path}: {self.evaluator}, {len(self)} evaluations, {found}>"

    def _repr_html_(self) -> str:
        from .summary import page_part

        return page_part(self)

    def evaluation(self, identity: int) -> Evaluation:
        """Returns the evaluation with this id. Throws KeyError."""
        for evaluation in self.evaluations:
            if evaluation.id == identity:
                return evaluation
        raise KeyError(f"no evaluation {identity}")

    def keeps_constraints(self, evaluation: Evaluation) -> bool:
        """Returns whether the metrics satisfy all constraints."""
        return all(self.keeps(evaluation, *each) for each in self.constraints)

    def keeps(self, evaluation: Evaluation, name: str, below: bool, limit: float) -> bool:
        """Returns whether the cost or a metric satisfies an upper (`below`) or lower limit."""
        value = self.objective(evaluation, name)
        return value <= limit if below else value >= limit

    @functools.cached_property
    def objectives(self) -> list[str]:
        """Returns the names of the minimized quantities: "cost", or metrics."""
        known = {"cost", *(m.name for m in self.metrics)}
        words = (word.strip() for word in self.configuration.get("surrogate.objectives", "").split(","))
        return [word for word in words if word in known] or ["cost"]

    def unit(self, name: str) -> str:
        """Returns the unit of a metric; empty for the cost."""
        return next((m.unit for m in self.metrics if m.name == name), "")

    def objective(self, evaluation: Evaluation, name: str) -> float:
        """Returns the cost, or a metric by its name; NaN if the evaluation has none."""
        return evaluation.cost if name == "cost" else evaluation.metrics.get(name, math.nan)

    def feasible(self, evaluation: Evaluation) -> bool:
        """Returns whether an evaluation is ok, has all objectives and satisfies the constraints."""
        values = [self.objective(evaluation, name) for name in self.objectives]
        return evaluation.ok and all(map(math.isfinite, values)) and self.keeps_constraints(evaluation)

    @property
    def noisy(self) -> bool:
        """Whether costs have standard errors."""
        return self.configuration.get("surrogate.noise") == "true" or any(e.ok and e.cost_stderr > 0 for e in self)

    @functools.cached_property
    def lowest(self) -> Evaluation | None:
        """Returns the feasible evaluation with the minimum of the (first) objective. If costs are noisy, this minimum is partly luck."""
        fit = [e for e in self.evaluations if self.feasible(e)]
        return min(fit, key=lambda e: self.objective(e, self.objectives[0])) if fit else None

    @functools.cached_property
    def recommended(self) -> Evaluation | None:
        """Returns the evaluation that the program recommends (`dodyn show`): `lowest`; if costs are noisy, the one whose
        design the search recommended last. None if no evaluation is feasible, or if there are several objectives: then
        `front` is the result."""
        if len(self.objectives) > 1 or not self.noisy:
            return self.lowest if len(self.objectives) == 1 else None
        for iteration in reversed(self.iterations):
            wanted = iteration.recommended.tolist()
            rows = [e for e in self.evaluations if list(e.design.values()) == wanted and self.feasible(e)]
            if rows:  # of a repeated design: the evaluation with the smallest standard error
                return min(rows, key=lambda e: e.cost_stderr)
        return self.lowest

    @functools.cached_property
    def _by_design(self) -> dict[tuple[float, ...], dict[int, Evaluation]]:
        """Returns the feasible evaluations by their designs, in the order of `variables`, and seeds: equal seeds give equal costs."""
        found: dict[tuple[float, ...], dict[int, Evaluation]] = {}
        for e in self.evaluations:
            if self.feasible(e):
                found.setdefault(tuple(e.design.values()), {})[e.seed] = e
        return found

    def repeats(self, evaluation: Evaluation) -> list[Evaluation]:
        """Returns the feasible evaluations of an evaluation's design, one of each seed; the evaluation alone if none is feasible."""
        return list(self._by_design.get(tuple(evaluation.design.values()), {}).values()) or [evaluation]

    def pooled(self, evaluation: Evaluation) -> tuple[float, float]:
        """Returns the mean cost of `repeats` and its standard error; of costs without noise the evaluation's own."""
        if not evaluation.cost_stderr > 0:
            return evaluation.cost, 0.0
        rows = self.repeats(evaluation)
        return sum(e.cost for e in rows) / len(rows), math.sqrt(sum(e.cost_stderr**2 for e in rows)) / len(rows)

    @property
    def best(self) -> Evaluation | None:
        """Returns `recommended`."""
        return self.recommended

    @functools.cached_property
    def front(self) -> list[Evaluation]:
        """Returns the feasible evaluations that no other one dominates, sorted by the first objective."""
        rows = [(e, [self.objective(e, name) for name in self.objectives]) for e in self.evaluations if self.feasible(e)]

        def beaten(e: Evaluation, v: list[float]) -> bool:
            return any(all(a <= b for a, b in zip(w, v)) and (w != v or other.id < e.id) for other, w in rows if other is not e)

        return [e for e, v in sorted(rows, key=lambda row: row[1][0]) if not beaten(e, v)]

    @property
    def cost_meaning(self) -> str:
        """Returns the meaning of the cost in a few words."""
        wanted = self.configuration.get("cost.success")
        if wanted == "end":  # of [simulation]: no outcome of its own
            return "share of initial states whose run ends before its time"
        return f"share of initial states that do not end as {wanted}" if wanted else COST_MEANING.get(self.evaluator, "cost")

    @property
    def finished(self) -> bool:
        """Whether the study has ended, for any reason."""
        return bool(self.stop_reason)

    def trajectory(self, row: int) -> Trajectory:
        """Returns the motion of a row; empty if it has none. Throws IndexError, ArchiveError."""
        return self.trajectories([row])[0]

    def trajectories(self, rows: Sequence[int]) -> list[Trajectory]:
        """Returns the motions of several rows, and opens the file once. Throws IndexError, ArchiveError."""
        if not all(0 <= row < len(self.columns["id"]) for row in rows):
            raise IndexError(f"rows {rows}: there are {len(self.columns['id'])}")
        return read_from(self.path, lambda file: self._trajectories(file, rows))

    def _trajectories(self, file: Any, rows: Sequence[int]) -> list[Trajectory]:
        declared = [(name, *self._channel(file["trajectories"], name)) for name in self.channel_names]
        found = []
        for row in rows:
            channels = {
                name: Channel(name, data[row], names, units, description, segments)
                for name, data, names, units, description, segments in declared
            }  # still in the archive's units, as its checksum is
            empty = all(np.isnan(channel.values).all() for channel in channels.values())
            if not empty:
                values = [channel.values[None] for channel in channels.values()]
                check_rows("trajectory", values, self._sums[row : row + 1, 1])
            found.append(Trajectory({} if empty else {name: self._converted(channel) for name, channel in channels.items()}))
        return found

    def _converted(self, channel: Channel) -> Channel:
        if not self.units:
            return channel
        units, factors = zip(*map(self._conversions, channel.units)) if channel.units else ((), ())
        return replace(channel, values=channel.values * np.array(factors), units=list(units), factors=factors)

    @staticmethod
    def _channel(group: Any, name: str) -> tuple[Any, list[str], list[str], str, tuple[tuple[str, str], ...]]:
        """Returns a channel's dataset, names and units of its coordinates, description, segments. Throws ValueError."""
        found = dataset(group, name, kinds="f")
        attributes = found.attrs
        names = texts(attributes["names"])
        units = texts(attributes["coordinate_units"])
        if len(found.shape) != 3 or found.shape[2] != len(names) or len(units) != len(names):
            raise ValueError(f"{name} has the shape {found.shape} and {len(names)} names")
        pairs = texts(attributes.get("segments", []))
        return found, names, units, text(attributes["description"]), tuple(zip(pairs[::2], pairs[1::2]))

    # ---- for others ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def table(self) -> dict[str, list[Any]]:
        """Returns columns by name, one entry per evaluation, as in to_pandas()."""
        columns: dict[str, list[Any]] = {"id": [e.id for e in self.evaluations]}
        for v in self.variables:
            columns[v.name] = [e.design[v.name] for e in self.evaluations]
        for name in ("cost", "cost_stderr", "status", "cause", "reason"):
            columns[name] = [getattr(e, name) for e in self.evaluations]
        for v in self.variables:
            columns["gradient." + v.name] = [e.gradient.get(v.name, math.nan) for e in self.evaluations]
        for m in self.metrics:
            columns["metrics." + m.name] = [e.metrics.get(m.name, math.nan) for e in self.evaluations]
        for name in ("warm_start_id", "seed", "wall_time", "rank", "host", "start_time"):
            columns[name] = [getattr(e, name) for e in self.evaluations]
        return columns

    def to_pandas(self) -> Any:
        """Returns a pandas.DataFrame: one row per evaluation, indexed by id; units in frame.attrs["units"]."""
        import pandas

        frame = pandas.DataFrame(self.table).set_index("id")
        frame["status"] = frame["status"].astype(pandas.CategoricalDtype(list(STATUSES)))
        for v in self.variables:
            if v.choices:
                frame[v.name] = pandas.Categorical.from_codes(frame[v.name].astype(int), list(v.choices))
        frame["start_time"] = pandas.to_datetime(frame["start_time"], errors="coerce", utc=True)
        frame.attrs["units"] = {
            **{v.name: v.unit for v in self.variables},
            **{"metrics." + m.name: m.unit for m in self.metrics},
            "wall_time": "s",
        }
        return frame

    def to_xarray(self) -> Any:
        """Returns an xarray.Dataset of evaluations, trajectories and the surrogate's curves."""
        import xarray

        ids = [e.id for e in self.evaluations]
        data: dict[str, Any] = {}
        for name in ("cost", "cost_stderr", "status", "reason", "wall_time", "rank", "host", "start_time", "warm_start_id"):
            data[name] = ("evaluation", [getattr(e, name) for e in self.evaluations])
        rows = [e.row for e in self.evaluations]
        data["design"] = (("evaluation", "variable"), self.columns["design"][rows])
        data["gradient"] = (("evaluation", "variable"), self.columns["gradient"][rows])
        data["metrics"] = (("evaluation", "metric"), self.columns["metrics"][rows])
        coordinates: dict[str, Any] = {
            "evaluation": ids,
            "variable": [v.name for v in self.variables],
            "metric": [m.name for m in self.metrics],
        }
        units = {"design": [v.unit for v in self.variables], "metrics": [m.unit for m in self.metrics]}

        def read_channels(file: Any) -> None:
            for name in self.channel_names:
                channel, names, its_units, description, _ = self._channel(file["trajectories"], name)
                values = channel[: len(self.columns["id"])][rows] if rows else channel[:0]
                shown = self._converted(Channel(name, values, names, its_units, description))
                data[name] = (("evaluation", f"{name}_node", f"{name}_coordinate"), shown.values, {"description": description})
                coordinates[f"{name}_coordinate"] = names
                units[name] = shown.units

        read_from(self.path, read_channels)
        if self.curves is not None and len(self.iterations):
            coordinates["grid"] = self.curves["grid"]
            for name in ("value", "lower", "upper"):
                data["surrogate_" + name] = (("iteration", "grid"), self.curves[name])
        result = xarray.Dataset(data, coordinates)
        for name, its_units in units.items():
            result[name].attrs["units"] = its_units[0] if len(set(its_units)) == 1 else its_units
        result.attrs.update(
            evaluator=self.evaluator, version=self.version, created=self.created, stop_reason=self.stop_reason, ending=self.ending
        )
        return result


def read_csv(path: PathLike) -> Trajectory:
    """Reads the trajectory in a CSV file of `dodyn solve` or `dodyn simulate` (--output). Throws ArchiveError."""
    import csv

    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}") from None
    heads = [re.fullmatch(r"([^.\[]+?)(?:\.(.*?))?(?: \[(.*)\])?", head) for head in rows[0]] if rows else []
    if not rows or not all(heads):
        raise ArchiveError(f"{path}: no trajectory of dodyn solve or simulate")
    columns: dict[str, list[tuple[str, str, list[float]]]] = {}
    for head, cells in zip(heads, zip(*rows[1:])):
        assert head is not None  # guaranteed by all() above
        values = [float(cell) for cell in cells if cell]
        columns.setdefault(head[1], []).append((head[2] or head[1].split(":")[-1], head[3] or "", values))
    return Trajectory(
        {
            name: Channel(name, np.array([c[2] for c in its]).T, [c[0] for c in its], [c[1] for c in its], "")
            for name, its in columns.items()
        }
    )
