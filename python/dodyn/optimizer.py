"""Minimizes a Python function with the search strategies of dodyn: ask for points, tell their costs."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsFloat

from .archive import PathLike, parse_constraints
from .program import Closing, ProgramError, Server, Value, configuration_text, find_program, text_of

EXAMPLE = 'as in {"x": (0, 1), "material": ["steel", "brass"]}'
MAX_EVALUATIONS = 1000000  # default budget: in practice the search ends by its own rule


@dataclass(frozen=True)
class Point:
    """A point to try: the value of each variable. `seed` is for a function that draws random numbers."""

    id: int
    seed: int
    design: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        return self.design[name]


@dataclass(frozen=True)
class Told:
    """A point and its result; `cost` is NaN if the evaluation failed."""

    point: Point
    cost: float
    stderr: float
    metrics: dict[str, float]
    reason: str


def design_of(variables: Mapping[str, tuple[float, float] | Sequence[str]]) -> dict[str, Value]:
    """Returns the entries of [design] for these variables. Throws ValueError."""
    if not isinstance(variables, Mapping) or not variables:
        raise ValueError(f"variables = {variables!r}; expected at least one variable, {EXAMPLE}")
    design: dict[str, Value] = {}
    for name, domain in variables.items():
        where = f"variables[{name!r}]"
        if not isinstance(name, str) or not re.fullmatch("[A-Za-z0-9_-]+", name):
            raise ValueError(f"{where}: not a name; allowed: letters, digits, - and _")
        numbers = isinstance(domain, (tuple, list)) and all(isinstance(one, SupportsFloat) and not isinstance(one, bool) for one in domain)
        if isinstance(domain, tuple) and len(domain) == 2 and numbers:
            design[name + ".min"], design[name + ".max"] = float(domain[0]), float(domain[1])
        elif isinstance(domain, list) and len(domain) == 2 and numbers:
            ends = ", ".join(map(str, domain))
            raise ValueError(f"{where} = {domain!r}; write ({ends}) for a range, or {[str(end) for end in domain]} for two values")
        elif isinstance(domain, list) and len(domain) > 1:
            design[name] = domain
        else:
            raise ValueError(f"{where} = {domain!r}; expected (lower, upper) or a list of names, {EXAMPLE}")
    return design


def texts_of(argument: str, texts: Sequence[str]) -> list[str]:
    """Returns the texts of an argument. Throws ValueError for one text, which Python takes for a list of letters."""
    if isinstance(texts, str):
        raise ValueError(f"{argument} = {texts!r}; expected a list: [{texts!r}]")
    return list(texts)


class Optimizer(Closing):
    """Minimizes a function with few, expensive evaluations.

        optimizer = dodyn.Optimizer({"x": (0, 1), "material": ["steel", "brass"]}, constraints=["g <= 0"])
        while not optimizer.stopped:
            point = optimizer.ask()
            optimizer.tell(point, cost(point["x"]), metrics={"g": ...})
        optimizer.recommended.point.design

    variables     by name: (lower, upper), or a list of names
    constraints   "METRIC <= LIMIT", "METRIC >= LIMIT", "LOW <= METRIC <= HIGH"; tell() then needs these metrics
    objectives    names of the minimized quantities: "cost", or metrics
    metrics       names of further metrics
    integers, log_scale     names of variables that are whole numbers, or searched in their logarithm
    gradient      whether tell() gives gradients
    noise         whether costs are noisy though they have no standard errors
    seed          the same seed and the same costs give the same points
    budget        number of points at most; default: the search ends by its own rule
    strategy      as surrogate.strategy; `settings` are further keys
    """

    def __init__(
        self,
        variables: Mapping[str, tuple[float, float] | Sequence[str]],
        constraints: Sequence[str] = (),
        objectives: Sequence[str] = ("cost",),
        metrics: Sequence[str] = (),
        integers: Sequence[str] = (),
        log_scale: Sequence[str] = (),
        gradient: bool = False,
        noise: bool = False,
        seed: int = 1,
        budget: int | None = None,
        strategy: str = "auto",
        settings: Mapping[str, Value] | None = None,
        program: PathLike | None = None,
    ) -> None:
        constraints, objectives = texts_of("constraints", constraints), texts_of("objectives", objectives)
        metrics, integers, log_scale = texts_of("metrics", metrics), texts_of("integers", integers), texts_of("log_scale", log_scale)
        limited = [name for name, *_ in parse_constraints(", ".join(constraints))]
        named = [name for name in dict.fromkeys([*limited, *objectives, *metrics]) if name != "cost"]
        for name in named:  # a list of names separates them by commas
            if not isinstance(name, str) or not re.fullmatch(r"[^\s,]+", name):
                raise ValueError(f"metric {name!r}: not a name; allowed: a text without blanks and commas")
        self._needed = [name for name in dict.fromkeys([*limited, *objectives]) if name != "cost"]  # metrics of every result
        design = design_of(variables)
        surrogate: dict[str, Value] = {"strategy": strategy}
        for key, values in (("constraints", constraints), ("integers", integers), ("log-scale", log_scale)):
            if values:
                surrogate[key] = ", ".join(values)
        if objectives != ["cost"]:
            surrogate["objectives"] = ", ".join(objectives)
        if gradient:
            surrogate["gradient"] = True
        if noise:
            surrogate["noise"] = True
        command: dict[str, Value] = {"run": "false"}  # never executed: the caller evaluates
        if named:
            command["metrics"] = ", ".join(named)
        sections: dict[str, dict[str, Value]] = {
            "study": {"evaluator": "command", "seed": seed, "max-evaluations": MAX_EVALUATIONS if budget is None else budget},
            "command": command,
            "surrogate": surrogate,
            "design": design,
        }
        with tempfile.TemporaryDirectory(prefix="dodyn-") as folder:
            path = Path(folder) / "optimizer.cfg"
            path.write_text(configuration_text(sections), encoding="utf-8")
            words = [word for key, value in (settings or {}).items() for word in (f"--{key}", text_of(value))]
            self._server = Server(find_program(program), str(path), words)
            try:
                self._server.ask({"ask": 0})  # the server has read the file, and its search takes the variables
            except ProgramError as error:
                raise ProgramError(re.sub(re.escape(str(path)) + r":\d+: ", "", str(error))) from None
        self._takes_gradients = gradient
        self._asked: dict[int, Point] = {}
        self.told: list[Told] = []
        self._stopped: str | None = None

    def ask(self) -> Point:
        """Returns the next point. Throws RuntimeError if the search has stopped."""
        points = self.ask_batch(1)
        if not points:
            raise RuntimeError(f"the search has stopped: {self._stopped or 'tell the costs of the points that were asked'}")
        return points[0]

    def ask_batch(self, count: int) -> list[Point]:
        """Returns up to `count` points to evaluate at the same time; none if the search has stopped."""
        answer = self._server.ask({"ask": count})
        self._stopped = answer["stopped"]
        points = [Point(one["id"], one["seed"], one["design"]) for one in answer["designs"]]
        self._asked.update((point.id, point) for point in points)
        return points

    def tell(
        self,
        point: Point,
        cost: float | None = None,
        stderr: float = 0.0,
        gradient: Mapping[str, float] | None = None,
        metrics: Mapping[str, float] | None = None,
        failed: str = "",
    ) -> None:
        """Receives the outcome of a point. `stderr` is the standard error of a noisy cost, `failed` the reason of a point
        without a cost. A cost that is not finite is a failure too. Throws ProgramError if the point is not pending, and
        ValueError if a metric of the constraints or objectives, or a number of `stderr` or `gradient`, is missing, or if the
        search takes no gradients."""
        own = math.nan if cost is None or failed else float(cost)
        ok = math.isfinite(own)
        reason = failed or ("" if ok else "there is no cost" if cost is None else "the cost is not finite")
        missing = [name for name in self._needed if name not in (metrics or {})]
        if ok and missing:
            raise ValueError(f"the result of point {point.id} needs metrics={{{missing[0]!r}: ...}}, which constraints or objectives name")
        if gradient is not None and not self._takes_gradients:
            raise ValueError("gradient: the search takes none; make it with Optimizer(..., gradient=True)")
        for name, value in {"stderr": stderr, **(gradient or {})}.items():
            if ok and not math.isfinite(value):
                raise ValueError(f"{name} = {value}; expected a finite number")
        result: dict[str, Any] = {"id": point.id, "status": "ok" if ok else "failed", "reason": reason}
        if ok:
            result.update(cost=own, cost_stderr=float(stderr))
        if ok and gradient is not None:
            result["gradient"] = {name: float(value) for name, value in gradient.items()}
        values = {name: float(value) for name, value in (metrics or {}).items()}
        if values:
            result["metrics"] = {name: value if math.isfinite(value) else None for name, value in values.items()}
        self._server.ask({"tell": result})
        self.told.append(Told(point, own, float(stderr), values, reason))
        self._stopped = None

    @property
    def stopped(self) -> str:
        """Returns why the search asks for no more points; empty: it continues."""
        if self._stopped is None:
            self._stopped = self._server.ask({"recommend": True})["stopped"]
        return self._stopped or ""

    @property
    def recommended(self) -> Told | None:
        """The recommended point: the feasible one of minimum cost; of noisy costs the one that the model recommends.
        None if no point is feasible, or if there are several objectives."""
        identity = self._server.ask({"recommend": True})["id"]
        return next((one for one in self.told if one.point.id == identity), None)

    @property
    def front(self) -> list[Told]:
        """Returns the feasible points that no other one dominates."""
        by_id = {one.point.id: one for one in self.told}
        return [by_id[identity] for identity in self._server.ask({"recommend": True})["front"]]

    def minimize(self, function: Callable[[dict[str, Any]], float | tuple[float, Mapping[str, float]]]) -> Told | None:
        """Evaluates function(design) until the search stops. The function returns the cost, or the cost and the metrics by
        name. An exception of the function is a failed point. Returns `recommended`; None: no point satisfies the constraints.
        Raises RuntimeError if every point failed."""
        while not self.stopped:
            point = self.ask()
            try:
                result = function(point.design)
            except Exception as error:
                self.tell(point, failed=f"{type(error).__name__}: {error}")
                continue
            cost, metrics = result if isinstance(result, tuple) else (result, None)
            self.tell(point, cost, metrics=metrics)
        if self.told and all(one.reason for one in self.told):
            raise RuntimeError(f"minimize: every point failed: {self.stopped}")
        return self.recommended

    def close(self) -> None:
        """Ends the process of the search."""
        self._server.close()
