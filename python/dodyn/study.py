"""Runs studies, and evaluates designs of them."""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from .archive import Archive, Channel, Evaluation, PathLike, Quantity, Trajectory
from .model import Model, Motion, write_models
from .program import Closing, ProgramError, Server, Value, configuration_text, design_words, find_program, number, numbers_by_name, text_of

POLL = 0.05  # interval at which the archive of a running study is checked, s
SEARCH_FAILED, INTERRUPTED = 1, 3  # exit codes of dodyn run
GRACE = 30.0  # time that a study may take to end after a request, s


def _first_words(lines: list[str]) -> str:
    """Returns the first paragraph of a launcher's message as one line, without separator lines."""
    paragraph: list[str] = []
    for line in (line.strip() for line in lines):
        if line.strip("-"):
            paragraph.append(line)
        elif paragraph:
            break
    return " ".join(paragraph)


@dataclass(frozen=True)
class Result:
    """An evaluation of a design, in no archive.

    design      value of each free variable, in its unit; names where the variable is a list of names
    status      "ok", "infeasible", "not_converged", "failed", "timed_out" or "lost"; `reason` is one line
    cost        NaN if there is none; `cost_stderr` its standard error, 0 for deterministic costs
    gradient    d cost / d variable by name, exact at the solution; empty if there is none
    metrics     values by name, in the units of Study.metrics
    trajectory  the motion; empty unless it was asked for and exists
    wall_time   wall-clock time of the evaluation, s
    """

    id: int
    seed: int
    design: dict[str, float | str]
    status: str
    reason: str
    cost: float
    cost_stderr: float
    gradient: dict[str, float]
    metrics: dict[str, float]
    wall_time: float
    trajectory: Trajectory

    @property
    def ok(self) -> bool:
        """Whether the cost is that of a feasible, converged motion."""
        return self.status == "ok"


class Study(Closing):
    """A study of the program: a configuration, with designs fixed or freed and settings changed.

        study = dodyn.Study("knee.cfg", design={"knee": (0.3, 0.65)})
        for evaluation in study.run():
            print(evaluation.id, evaluation.design, evaluation.cost)
        study.recommended, study.front, study.to_dataframe()
        study.evaluate({"knee": 0.4}).gradient

    configuration   path of a configuration or an archive, a Motion, or sections: {"study": {"evaluator": "gait"}, "gait": {"model": Model(...)}}
    design          by variable: a number fixes it, (lower, upper) frees it, a list of names frees a choice
    settings        by key: {"study.max-evaluations": 20}
    archive         path of the archive; default: study.archive of the configuration
    program         path of dodyn; default: $DODYN, the one installed with this package, `dodyn` of the PATH
    trust           start the program that an archive of the evaluator `command` names
    """

    def __init__(
        self,
        configuration: PathLike | Motion | Mapping[str, Mapping[str, Value | Model]],
        design: Mapping[str, Value] | None = None,
        settings: Mapping[str, Value] | None = None,
        archive: PathLike | None = None,
        program: PathLike | None = None,
        trust: bool = False,
    ) -> None:
        self.program = find_program(program)
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        sections = configuration.sections() if isinstance(configuration, Motion) else configuration
        if isinstance(sections, Mapping):
            self._folder = tempfile.TemporaryDirectory(prefix="dodyn-")
            path = Path(self._folder.name) / "study.cfg"
            path.write_text(configuration_text(write_models(sections, path.parent)), encoding="utf-8")
            self.configuration = str(path)
        else:
            self.configuration = os.fspath(sections)
        self._words = [*(["--trust"] if trust else []), *design_words(design or {})]
        for key, value in (settings or {}).items():
            self._words += [f"--{key}", text_of(value)]
        if archive is not None:
            self._words += ["--study.archive", os.fspath(archive)]
        self._server: Server | None = None
        self._next = 0  # id of the next evaluation
        said = self._serve().ask({"describe": True})
        self.evaluator: str = said["evaluator"]
        self.settings: dict[str, str] = said["configuration"]
        self.path = Path(self.settings["study.archive"])
        self.variables = [
            Quantity(v["name"], v["unit"], "", v["lower"], v["upper"], tuple(v.get("choices", ()))) for v in said["variables"]
        ]
        self.metrics = [Quantity(m["name"], m["unit"], m["description"]) for m in said["metrics"]]
        self._channels: list[dict[str, Any]] = said["channels"]

    def __repr__(self) -> str:
        names = ", ".join(v.name for v in self.variables) or "none"
        return f"<dodyn study {self.configuration}: {self.evaluator}, free: {names}, archive {self.path}>"

    # ---- run ----

    def run(self, ranks: int = 1, mpirun: Sequence[str] = ("mpirun",)) -> Iterator[Evaluation]:
        """Runs the study, or continues the one in its archive, and yields each new row as soon as it is in the archive.
        Ctrl-C, or leaving the loop, ends the run like a signal: the same call continues it. With `ranks` above 1 the
        study runs under `mpirun`. A search that fails, for example because no design has a cost, ends without an exception:
        see `ending`. Throws ProgramError if the program refuses the study, cannot write its archive, or is killed, and if
        another process runs the study; ValueError if `ranks` is below 1."""
        if ranks < 1:
            raise ValueError(f"ranks = {ranks}; expected 1 or more")
        words = [self.program, "run", self.configuration, *self._words]
        if ranks > 1:
            if shutil.which(mpirun[0]) is None:
                raise ProgramError(f"{mpirun[0]}: no such program; install MPI, or use ranks=1")
            words = [*mpirun, "-n", str(ranks), *words]
        shown = len(self.archive.columns["id"]) if self.path.exists() else 0
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True)
            try:
                seen: tuple[int, int] | None = None
                ended = False
                while not ended:
                    ended = process.poll() is not None  # tested before the archive is read for the last time
                    with contextlib.suppress(FileNotFoundError):
                        found = os.stat(self.path)
                        state = (found.st_mtime_ns, found.st_size)
                        if state != seen:
                            seen = state
                            archive = Archive(self.path)
                            for row in range(shown, len(archive.columns["id"])):
                                yield archive.row(row)
                            shown = max(shown, len(archive.columns["id"]))
                            continue
                    if not ended:
                        time.sleep(POLL)
            finally:
                if process.poll() is None:
                    self._interrupt(process, ranks)
            if process.returncode not in (0, INTERRUPTED):
                said.seek(0)
                lines = said.read().splitlines()
                own = [line[len("dodyn: ") :] for line in lines if line.startswith("dodyn: ")]
                if process.returncode < 0:
                    raise ProgramError(f"{words[0]}: ended by {signal.Signals(-process.returncode).name}")
                if own or process.returncode != SEARCH_FAILED or not self.path.exists():
                    raise ProgramError(own[-1] if own else f"{words[0]}: {_first_words(lines) or f'exit code {process.returncode}'}")

    @staticmethod
    def _interrupt(process: subprocess.Popen[bytes], ranks: int) -> None:
        """Asks a run to end: mpirun forwards SIGUSR1 to its processes."""
        process.send_signal(signal.SIGUSR1 if ranks > 1 else signal.SIGINT)
        try:
            process.wait(timeout=GRACE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    @property
    def archive(self) -> Archive:
        """Returns the archive in its present state. Throws ArchiveError if there is none."""
        return Archive(self.path)

    @property
    def recommended(self) -> Evaluation | None:
        """Returns the evaluation that the study recommends; None if none is feasible, or if there are several objectives."""
        return self.archive.recommended

    @property
    def front(self) -> list[Evaluation]:
        """Returns the feasible evaluations that no other one dominates."""
        return self.archive.front

    @property
    def stop_reason(self) -> str:
        """Returns why the study ended; empty while it runs."""
        return self.archive.stop_reason

    @property
    def ending(self) -> str:
        """Returns how the study ended; see Archive. Empty while it runs."""
        return self.archive.ending

    def to_dataframe(self) -> Any:
        """Returns a pandas.DataFrame with one row per evaluation of the archive."""
        return self.archive.to_pandas()

    def _repr_html_(self) -> str:
        return self.archive._repr_html_() if self.path.exists() else f"<p>{self!r}</p>".replace("<dodyn", "dodyn").replace(">></p>", "></p>")

    # ---- evaluate ----

    def evaluate(
        self, design: Mapping[str, float | str], trajectory: bool = True, seed: int | None = None, time_limit: float | None = None
    ) -> Result:
        """Evaluates one design: a value for each free variable. `time_limit` is in s. The evaluations of a Study have the
        ids 0, 1, ..., and random numbers that follow from study.seed and the id, unless `seed` is given.
        Throws ProgramError if the design is refused; a design that fails is a Result with its status."""
        self._next += 1
        return self._evaluate(self._serve(), self._next - 1, design, trajectory, seed, time_limit)

    def evaluate_all(
        self, designs: Iterable[Mapping[str, float | str]], processes: int | None = None, trajectory: bool = False, seed: int | None = None
    ) -> list[Result]:
        """Evaluates several designs at a time, each in one of `processes` processes (default: one per processor).
        Returns the results in the order of the designs. With a `seed`, it is the one of each design. Throws ValueError if
        `processes` is below 1."""
        if processes is not None and processes < 1:
            raise ValueError(f"processes = {processes}; expected 1 or more")
        asked = list(designs)
        first, self._next = self._next, self._next + len(asked)
        count = max(1, min(processes or os.cpu_count() or 1, len(asked)))
        servers = [Server(self.program, self.configuration, self._words) for _ in range(count)]
        idle: SimpleQueue[Server] = SimpleQueue()
        for server in servers:
            idle.put(server)

        def evaluate(k: int) -> Result:
            server = idle.get()
            try:
                return self._evaluate(server, first + k, asked[k], trajectory, seed, None)
            finally:
                idle.put(server)

        try:
            with ThreadPoolExecutor(count) as pool:
                return list(pool.map(evaluate, range(len(asked))))
        finally:
            for server in servers:
                server.close()

    def _evaluate(
        self, server: Server, identity: int, design: Mapping[str, float | str], trajectory: bool, seed: int | None, limit: float | None
    ) -> Result:
        values: dict[str, float | str] = {name: value if isinstance(value, str) else float(value) for name, value in design.items()}
        for name, value in [*((f"design.{name}", value) for name, value in values.items()), ("time_limit", limit or 0.0)]:
            if not isinstance(value, str) and not math.isfinite(value):  # JSON has no such number
                raise ProgramError(f"{name} = {value}; expected a finite number")
        request: dict[str, Any] = {"id": identity, "design": values, "trajectory": trajectory, "time_limit": limit}
        if seed is not None:
            request["seed"] = seed
        said = server.ask(request)
        return Result(
            id=said["id"],
            seed=said["seed"],
            design=values,
            status=said["status"],
            reason=said["reason"],
            cost=number(said["cost"]),
            cost_stderr=number(said["cost_stderr"]),
            gradient=numbers_by_name(said.get("gradient")),
            metrics=numbers_by_name(said.get("metrics")),
            wall_time=said["wall_time"],
            trajectory=Trajectory({c["name"]: self._channel(c, said["trajectory"][c["name"]]) for c in self._channels} if "trajectory" in said else {}),
        )

    @staticmethod
    def _channel(channel: Mapping[str, Any], said: Mapping[str, Any]) -> Channel:
        names = channel["coordinates"]
        values = np.array([[number(value) for value in said["values"][name]] for name in names], dtype=np.float64).T
        pairs = channel["segments"]
        return Channel(channel["name"], values, names, channel["units"], channel["description"], tuple(zip(pairs[::2], pairs[1::2])))

    def _serve(self) -> Server:
        if self._server is None or not self._server.alive:
            if self._server is not None:
                self._server.close()
            self._server = Server(self.program, self.configuration, self._words)
        return self._server

    def close(self) -> None:
        """Ends the process that evaluates; the next evaluation starts a new one."""
        if self._server is not None:
            self._server.close()
            self._server = None
