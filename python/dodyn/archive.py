"""The one reader of archives: columns, units and provenance as plain Python and numpy. The layout is told in
docs/archive.md and src/archive/schema.hpp."""

import functools
import math
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

import h5py
import numpy as np

SCHEMA = 6  # the newest that this reader knows
COUNT_COLUMN = "evaluations/id"  # extended last: its length is the number of complete rows
STATUSES = ("ok", "infeasible", "not_converged", "failed", "timed_out", "lost")
COST_MEANING = {  # by evaluator
    "gait": "cost of transport of the best gait",
    "docking": "share of the starts from which docking fails",
}


class ArchiveError(Exception):
    """The file is no archive that can be read; the message is one line."""


def text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def texts(values):
    return [text(value) for value in values]


@dataclass(frozen=True)
class Event:
    """What befell a study: `kind` is a few words ("started", "rank lost", ...), `text` one line, `time` is UTC."""

    time: str
    kind: str
    text: str


@dataclass(frozen=True)
class Quantity:
    """A named number: a design variable (with its range), a metric, a coordinate."""

    name: str
    unit: str = ""
    description: str = ""
    lower: float = -math.inf
    upper: float = math.inf
    choices: tuple = ()  # the names that its values 0, 1, ... stand for

    @property
    def label(self):
        return f"{self.name} [{self.unit}]" if self.unit not in ("", "1") else self.name


@dataclass(frozen=True)
class Channel:
    """One matrix of a trajectory: values [node, coordinate], the names and units of the coordinates, what they are.
    `segments` are pairs of points that a picture joins by a line (of a channel of points, else empty)."""

    name: str
    values: np.ndarray
    names: list
    units: list
    description: str
    segments: tuple = ()

    def __array__(self, dtype=None):
        return np.asarray(self.values, dtype=dtype)

    def __len__(self):
        return len(self.values)

    def column(self, name):
        return self.values[:, self.names.index(name)]


class Trajectory:
    """The motion behind an evaluation. `trajectory.q` is the numpy array [node, coordinate] of the channel `q`,
    trajectory["q"] the channel with its names and units; empty (false) where the evaluation has no motion."""

    def __init__(self, channels):
        self.channels = channels

    def __bool__(self):
        return bool(self.channels)

    def __contains__(self, name):
        return name in self.channels

    def __iter__(self):
        return iter(self.channels.values())

    def __getitem__(self, name):
        return self.channels[name]

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.channels:
            raise AttributeError(f"no channel '{name}'; there are {', '.join(self.channels) or 'none'}")
        return self.channels[name].values

    def __dir__(self):
        return [*super().__dir__(), *self.channels]

    @property
    def scenarios(self):
        """Names of the scenarios whose motions these are; empty where the study has none."""
        return list(dict.fromkeys(name.split(":")[0] for name in self.channels if ":" in name))

    def scenario(self, name):
        """The motion in one scenario, its channels by their own names; empty where it has none there."""
        if name not in self.scenarios:
            raise ArchiveError(f"no scenario '{name}'; there are {', '.join(self.scenarios) or 'none'}")
        own = {
            full[len(name) + 1 :]: replace(channel, name=full[len(name) + 1 :])
            for full, channel in self.channels.items()
            if full.startswith(name + ":")
        }
        empty = all(np.isnan(channel.values).all() for channel in own.values())
        return Trajectory({} if empty else own)

    def by_scenario(self):
        """(name, Trajectory) of each scenario; of a study without any ("", this one)."""
        return [(name, self.scenario(name)) for name in self.scenarios] or [("", self)]


@dataclass(frozen=True)
class Evaluation:
    """One row: what was asked and what came of it. `cost` is NaN where there is none; `gradient` is empty where there
    is none; `attempts` are the earlier rows of the same id, oldest first."""

    study: "Study"
    row: int
    id: int
    parent: int
    design: dict
    status: str
    reason: str
    cost: float
    cost_stderr: float
    gradient: dict
    metrics: dict
    seconds: float
    rank: int
    host: str
    started: str
    seed: int
    attempts: tuple = ()

    @property
    def ok(self):
        return self.status == "ok"

    @property
    def trajectory(self):
        return self.study.trajectory(self.row)


@dataclass(frozen=True)
class Iteration:
    """What the strategy saw and decided: the row `evaluations` rows had been told."""

    evaluations: int
    best_id: int
    best_cost: float
    next: np.ndarray
    predicted_cost: float
    recommended: np.ndarray
    numbers: dict
    note: str
    candidates: list  # designs considered, the chosen one first: a dict each (docs/archive.md)


def parse_configuration(written):
    """The configuration as the archive holds it: 'key = value' lines; a backslash protects itself, line ends, and an
    equals sign in a key."""
    found = {}
    for line in written.split("\n"):
        match = re.match(r"((?:\\.|[^\\=])*) = (.*)", line)
        if match:
            key, value = (re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], word) for word in match.groups())
            found[key] = value
    return found


def choices(written):
    """'steel, aluminium' as names; none where it is a number, or a list of numbers."""
    names = [word.strip() for word in written.split(",")]
    return () if len(names) < 2 or re.match(r"[-+.0-9]", names[0]) else tuple(names)


def parse_constraints(written):
    """'work <= 3, force >= 0' as [(metric, True where it is an upper limit, limit)]; '0 <= lean <= 1' and 'speed = 1 +- 0.1' are two each."""
    found = []
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


def open(path):  # noqa: A001: dodyn.open("knee.h5") is what one types
    """The study in the archive at `path`, as it is now: a study that still runs is read up to its last complete row.
    Throws ArchiveError."""
    return Study(path)


class Study:
    """Everything in an archive but the trajectories, which are read when asked for.

    variables, metrics      lists of Quantity: name, unit, range, description
    evaluations             list of Evaluation by id (of an evaluation done again the last row)
    best                    the ok evaluation of least cost that keeps the constraints, or None
    iterations              list of Iteration: what the strategy saw and decided
    curves                  of one free variable: {"grid", "value", "lower", "upper"}, [iteration, grid point]
    configuration           dict: every setting of the study as text
    stopped                 why the study ended; empty while it runs
    events                  list of Event: time, kind, text; what befell the study (starts, lost ranks, interruptions)
    machine                 dict: compiler, MPI, modules, job and nodes where the archive was made
    """

    def __init__(self, path):
        self.path = Path(path)
        with self.file() as file:
            self._read(file)

    def file(self):
        """The open HDF5 file, also during the few milliseconds in which the study writes to it."""
        for attempt in range(20):
            try:
                return h5py.File(self.path, "r", libver="latest", swmr=True)
            except FileNotFoundError:
                raise ArchiveError(f"{self.path}: no such file") from None
            except OSError as error:
                if not h5py.is_hdf5(self.path) or attempt == 19:
                    raise ArchiveError(f"{self.path}: not an HDF5 file that can be read ({error})") from None
                time.sleep(0.01)

    def _read(self, file):
        if text(file.attrs.get("program", "")) != "dodyn":
            raise ArchiveError(f"{self.path}: an HDF5 file, but not a dodyn archive")
        self.schema = int(file.attrs["schema"])
        if self.schema > SCHEMA:
            raise ArchiveError(
                f"{self.path}: written by a newer dodyn: schema {self.schema}, this one reads up to {SCHEMA}"
            )
        for name in ("version", "git_commit", "evaluator", "command_line", "host", "created", "stopped"):
            setattr(self, name, text(file.attrs[name]))
        self.ranks = int(file.attrs["ranks"])
        self.configuration = parse_configuration(text(file.attrs["configuration"]))
        self.machine = parse_configuration(text(file.attrs["machine"])) if "machine" in file.attrs else {}
        self.events = []
        if "events" in file:
            count = file["events/time"].shape[0]
            columns = [texts(file[f"events/{name}"][:count]) for name in ("time", "kind", "text")]
            self.events = [Event(*each) for each in zip(*columns)]
        self.constraints = parse_constraints(self.configuration.get("surrogate.constraints", ""))

        rows = file["evaluations"]
        design, metrics = rows["design"].attrs, rows["metrics"].attrs
        self.variables = [
            Quantity(name, unit, "", float(low), float(high), choices(self.configuration.get(f"design.{name}", "")))
            for name, unit, low, high in zip(
                texts(design["names"]), texts(design["units"]), design["lower"], design["upper"]
            )
        ]
        self.metrics = [
            Quantity(*each) for each in zip(*(texts(metrics[key]) for key in ("names", "units", "descriptions")))
        ]
        count = file[COUNT_COLUMN].shape[0]
        other = ("checksum", "source", "variable", "metric", "part")
        self.columns = {name: rows[name][:count] for name in rows if name not in other}  # by row, as they came
        enum = h5py.check_enum_dtype(rows["status"].dtype) or dict(zip(STATUSES, range(len(STATUSES))))
        self._status = {int(value): name for name, value in enum.items()}
        self.sources = (
            [text(file[f"sources/{k}"].attrs["path"]) for k in range(len(file["sources"]))] if "sources" in file else []
        )
        last = {}
        for row in range(count):
            last.setdefault(int(self.columns["id"][row]), []).append(row)
        self.evaluations = []
        for identity in sorted(last):
            *earlier, row = [self._evaluation(row) for row in last[identity]]
            self.evaluations.append(Evaluation(**{**row.__dict__, "attempts": tuple(earlier)}))
        self._read_iterations(file)
        self.channel_names = texts(file["trajectories"].attrs["names"])

    def _read_iterations(self, file):
        group = file["iterations"]
        count = group["evaluations"].shape[0]
        columns = {name: group[name][:count] for name in group if name not in ("checksum", "variable", "number", "candidate", "candidate_column")}
        names = texts(group["numbers"].attrs["names"]) if "numbers" in group else []
        considered = texts(group["candidates"].attrs["names"]) if "candidates" in group else []
        nothing = np.full(len(self.variables), np.nan)
        self.iterations = [
            Iteration(
                int(columns["evaluations"][k]),
                int(columns["best_id"][k]),
                float(columns["best_cost"][k]),
                columns["next"][k],
                float(columns["predicted_cost"][k]),
                columns["recommended"][k] if "recommended" in columns else nothing,
                {n: float(v) for n, v in zip(names, columns["numbers"][k]) if not np.isnan(v)} if names else {},
                text(columns["note"][k]) if "note" in columns else "",
                [dict(zip(considered, map(float, row))) for row in columns["candidates"][k] if not np.isnan(row).all()] if considered else [],
            )
            for k in range(count)
        ]
        surrogate = file["surrogate"]
        self.curves = None
        if "grid" in surrogate:
            self.curves = {name: surrogate[name][:count] for name in ("value", "lower", "upper")}
            self.curves["grid"] = surrogate["grid"][:]

    def _evaluation(self, row):
        column = self.columns

        def named(quantities, values):
            return {} if np.isnan(values).all() else {q.name: float(v) for q, v in zip(quantities, values)}

        return Evaluation(
            study=self,
            row=row,
            id=int(column["id"][row]),
            parent=int(column["parent"][row]),
            design={v.name: float(x) for v, x in zip(self.variables, column["design"][row])},
            status=self._status.get(int(column["status"][row]), "unknown"),
            reason=text(column["reason"][row]),
            cost=float(column["cost"][row]),
            cost_stderr=float(column["cost_stderr"][row]),
            gradient=named(self.variables, column["gradient"][row]),
            metrics=named(self.metrics, column["metrics"][row]),
            seconds=float(column["seconds"][row]),
            rank=int(column["rank"][row]),
            host=text(column["host"][row]),
            started=text(column["started"][row]),
            seed=int(column["seed"][row]),
        )

    # ---- what is in it ------------------------------------------------------------------------------------------

    def __len__(self):
        return len(self.evaluations)

    def __iter__(self):
        return iter(self.evaluations)

    def __repr__(self):
        best = self.best
        return (
            f"<dodyn study {self.path}: {self.evaluator}, {len(self)} evaluations, "
            f"best {f'{best.cost:.6g} (evaluation {best.id})' if best else 'none'}>"
        )

    def evaluation(self, identity):
        """The evaluation of this id. Throws KeyError."""
        for evaluation in self.evaluations:
            if evaluation.id == identity:
                return evaluation
        raise KeyError(f"no evaluation {identity}")

    def keeps_constraints(self, evaluation):
        return all(self.keeps(evaluation, *each) for each in self.constraints)

    @staticmethod
    def keeps(evaluation, name, below, limit):
        value = evaluation.metrics.get(name, math.nan)
        return value <= limit if below else value >= limit

    @property
    def best(self):
        fit = [e for e in self.evaluations if e.ok and not math.isnan(e.cost) and self.keeps_constraints(e)]
        return min(fit, key=lambda e: e.cost, default=None)

    @property
    def cost_meaning(self):
        wanted = self.configuration.get("cost.failure-of")
        return f"share of the starts that do not end as {wanted}" if wanted else COST_MEANING.get(self.evaluator, "cost")

    @property
    def finished(self):
        return bool(self.stopped)

    def trajectory(self, row):
        """The motion of a row; empty where it has none."""
        return self.trajectories([row])[0]

    def trajectories(self, rows):
        """The motions of several rows, the file opened once."""
        with self.file() as file:
            group = file["trajectories"]
            declared = [(name, group[name], *self._declaration(group[name])) for name in self.channel_names]
            found = []
            for row in rows:
                channels = {
                    name: Channel(name, data[row], names, units, description, segments)
                    for name, data, names, units, description, segments in declared
                }
                empty = all(np.isnan(channel.values).all() for channel in channels.values())
                found.append(Trajectory({} if empty else channels))
            return found

    @staticmethod
    def _declaration(dataset):
        attributes = dataset.attrs
        names = texts(attributes["names"])
        units = attributes.get("coordinate_units", [attributes["units"]] * len(names))
        pairs = texts(attributes.get("segments", []))
        return names, texts(units), text(attributes["description"]), tuple(zip(pairs[::2], pairs[1::2]))

    # ---- for others ---------------------------------------------------------------------------------------------

    @functools.cached_property
    def table(self):
        """Columns by name, one entry per evaluation: what to_pandas() makes a frame of."""
        columns = {"id": [e.id for e in self.evaluations]}
        for v in self.variables:
            columns[v.name] = [e.design[v.name] for e in self.evaluations]
        for name in ("cost", "cost_stderr", "status", "reason"):
            columns[name] = [getattr(e, name) for e in self.evaluations]
        for v in self.variables:
            columns["gradient." + v.name] = [e.gradient.get(v.name, math.nan) for e in self.evaluations]
        for m in self.metrics:
            columns["metrics." + m.name] = [e.metrics.get(m.name, math.nan) for e in self.evaluations]
        for name in ("parent", "seed", "seconds", "rank", "host", "started"):
            columns[name] = [getattr(e, name) for e in self.evaluations]
        return columns

    def to_pandas(self):
        """One row per evaluation, indexed by id; units in frame.attrs["units"]."""
        import pandas

        frame = pandas.DataFrame(self.table).set_index("id")
        frame["status"] = frame["status"].astype(pandas.CategoricalDtype(list(STATUSES)))
        for v in self.variables:
            if v.choices:
                frame[v.name] = pandas.Categorical.from_codes(frame[v.name].astype(int), list(v.choices))
        frame["started"] = pandas.to_datetime(frame["started"], errors="coerce", utc=True)
        frame.attrs["units"] = {
            **{v.name: v.unit for v in self.variables},
            **{"metrics." + m.name: m.unit for m in self.metrics},
            "seconds": "s",
        }
        return frame

    def to_xarray(self):
        """Evaluations, their trajectories and the surrogate's curves as one labelled Dataset."""
        import xarray

        ids = [e.id for e in self.evaluations]
        data = {}
        for name in ("cost", "cost_stderr", "status", "reason", "seconds", "rank", "host", "started", "parent"):
            data[name] = ("evaluation", [getattr(e, name) for e in self.evaluations])
        rows = [e.row for e in self.evaluations]
        data["design"] = (("evaluation", "variable"), self.columns["design"][rows])
        data["gradient"] = (("evaluation", "variable"), self.columns["gradient"][rows])
        data["metrics"] = (("evaluation", "metric"), self.columns["metrics"][rows])
        coordinates = {
            "evaluation": ids,
            "variable": [v.name for v in self.variables],
            "metric": [m.name for m in self.metrics],
        }
        units = {"design": [v.unit for v in self.variables], "metrics": [m.unit for m in self.metrics]}
        with self.file() as file:
            for name in self.channel_names:
                dataset = file["trajectories"][name]
                names, its_units, description, _ = self._declaration(dataset)
                values = dataset[: len(self.columns["id"])][rows] if rows else dataset[:0]
                data[name] = (("evaluation", f"{name}_node", f"{name}_coordinate"), values)
                coordinates[f"{name}_coordinate"] = names
                units[name] = its_units
                data[name] += ({"description": description},)
        if self.curves is not None and len(self.iterations):
            coordinates["grid"] = self.curves["grid"]
            for name in ("value", "lower", "upper"):
                data["surrogate_" + name] = (("iteration", "grid"), self.curves[name])
        result = xarray.Dataset(data, coordinates)
        for name, its_units in units.items():
            result[name].attrs["units"] = its_units[0] if len(set(its_units)) == 1 else its_units
        result.attrs.update(
            evaluator=self.evaluator, version=self.version, created=self.created, stopped=self.stopped
        )
        return result


def read_csv(path):
    """The trajectory in a CSV file that `dodyn solve` or `dodyn simulate` wrote (--output)."""
    import csv

    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}") from None
    heads = [re.fullmatch(r"([^.\[]+?)(?:\.(.*?))?(?: \[(.*)\])?", head) for head in rows[0]] if rows else []
    if not rows or not all(heads):
        raise ArchiveError(f"{path}: no trajectory of dodyn solve or simulate")
    columns = {}
    for head, cells in zip(heads, zip(*rows[1:])):
        values = [float(cell) for cell in cells if cell]
        columns.setdefault(head[1], []).append((head[2] or head[1].split(":")[-1], head[3] or "", values))
    return Trajectory(
        {
            name: Channel(name, np.array([c[2] for c in its]).T, [c[0] for c in its], [c[1] for c in its], "")
            for name, its in columns.items()
        }
    )
