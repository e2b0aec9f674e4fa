"""Sentences about the results of a study."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .archive import Archive, Evaluation, Quantity
from .svg import STATUS_COLOURS, Chart, limits, tag

Json = dict[str, Any]


def number(value: float | None, digits: int = 5) -> str:
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}g}"


def with_unit(value: float | None, unit: str, digits: int = 5) -> str:
    return number(value, digits) + (f" {unit}" if unit not in ("", "1") else "")


def design(study: Archive, evaluation: Evaluation | Sequence[float] | npt.NDArray[np.float64], digits: int = 5) -> str:
    """Returns "knee = 0.35 m, mass = 10 kg" of an evaluation, or of values in the order of the variables."""
    values = [evaluation.design[v.name] for v in study.variables] if isinstance(evaluation, Evaluation) else evaluation
    return ", ".join(f"{v.name} = {value(v, x, digits, v.unit)}" for v, x in zip(study.variables, values))


def value(variable: Quantity, number_: float, digits: int = 5, unit: str = "") -> str:
    """Returns the value of a design variable as text; for a list of names the name."""
    if variable.choices and number_ in range(len(variable.choices)):
        return variable.choices[int(number_)]
    return with_unit(number_, unit, digits)


def reason(study: Archive, evaluation: Evaluation) -> str:
    """Returns the evaluation's reason and the constraints that it violates."""

    def stated(name: str) -> str:
        value = study.objective(evaluation, name)
        return "no value" if math.isnan(value) else number(value)

    violated = [
        f"violates {name} {'≤' if below else '≥'} {limit_text(study, name, limit)} ({stated(name)})"
        for name, below, limit in study.constraints
        if evaluation.ok and not study.keeps(evaluation, name, below, limit)
    ]
    return "; ".join([*([evaluation.reason] if evaluation.reason else []), *violated])


def limit_text(study: Archive, name: str, limit: float) -> str:
    """Returns the limit of a constraint; with its unit where the configuration may have been written in another one."""
    return with_unit(limit, study.unit(name)) if study.units else number(limit)


def plural(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def at_bounds(study: Archive, evaluation: Evaluation) -> list[tuple[Quantity, str]]:
    """Returns [(variable, "lower" or "upper")] for a design at the ends of its ranges. A label has no range."""
    found = []
    for v in ranged(study):
        near = 1e-6 * (v.upper - v.lower)
        value = evaluation.design[v.name]
        if value - v.lower <= near:
            found.append((v, "lower"))
        elif v.upper - value <= near:
            found.append((v, "upper"))
    return found


def ranged(study: Archive) -> list[Quantity]:
    """Returns the variables that have a range, not a list of labels."""
    labels = [name.strip() for name in study.configuration.get("surrogate.categories", "").split(",")]
    return [v for v in study.variables if not v.choices and v.name not in labels]


def counts(study: Archive) -> dict[str, int]:
    """Returns how many evaluations have each status."""
    found: dict[str, int] = {}
    for evaluation in study:
        found[evaluation.status] = found.get(evaluation.status, 0) + 1
    return found


def headline(study: Archive) -> str:
    """Returns the result in one sentence: the design that the program recommends, or the front of several objectives."""
    if study.lowest is None:
        why = " that satisfies the constraints" if study.constraints else ""
        return f"No evaluation{why} is ok: there is no best design yet." if len(study) else "No evaluation yet."
    names = study.objectives
    if len(names) > 1:
        both = "both" if len(names) == 2 else "all of them"
        return f"Front of {' and '.join(names)}: {plural(len(study.front), 'design')} that no other one beats in {both}."
    found = study.recommended
    assert found is not None  # there is one objective, and `lowest` exists
    which = "Recommended" if study.noisy else "Best"
    ids = [e.id for e in study.repeats(found)] if found.cost_stderr > 0 else [found.id]
    where = f"evaluation {ids[0]}" if len(ids) == 1 else f"mean of the evaluations {', '.join(map(str, ids[:-1]))} and {ids[-1]}"
    choice, cheaper = chosen_with(study), cheaper_study(study)
    return (
        f"{which} design: {design(study, found)}, {costs(study, found, *study.pooled(found))} ({where}).{f' {choice[1]}' if choice else ''}"
        f"{f' {cheaper}' if cheaper else ''}"
    )


SURE = 0.95  # probability above which a choice among designs is settled


def chosen_with(study: Archive) -> tuple[float, str] | None:
    """Returns the probability that the recommended design of noisy or paired costs is the best evaluated one, with a sentence about it.
    None if the last iteration states no probability."""
    numbers = study.iterations[-1].diagnostics if study.iterations else {}
    probability = numbers.get("probability_best", -1)
    if not probability >= 0:
        return None
    percent = min(99, int(100 * probability))  # it comes from a finite number of draws
    least = "at least " if probability >= 0.99 else ""
    return probability, f"Of the evaluated designs it is the best within {number(numbers['indifference'], 2)} with a probability of {least}{percent} %."


def stated_interval(study: Archive, evaluation: Evaluation) -> tuple[float, float] | None:
    """Returns the 95 % interval of the cost that the search states for the recommended design of noisy or paired costs, as `dodyn run` prints it."""
    numbers = study.iterations[-1].diagnostics if study.iterations else {}
    cost, deviation = numbers.get("recommended_cost", math.nan), numbers.get("recommended_deviation", math.nan)
    found = study.recommended
    if chosen_with(study) is None or found is None or found.id != evaluation.id or not math.isfinite(cost + deviation):
        return None
    optimism = numbers.get("recommended_optimism", 0.0)
    optimism = 0.0 if math.isnan(optimism) else optimism  # earlier archives do not have it
    half = 1.96 * math.hypot(deviation, optimism)
    low, high = cost + optimism - half, cost + optimism + half
    is_rate = "failure_rate_low" in evaluation.metrics
    return (min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)) if is_rate else (low, high)


def cheaper_study(study: Archive) -> str:
    """Returns how the study of surrogate.low-fidelity contributed to the last model of the cost; empty if it has none."""
    path = study.configuration.get("surrogate.low-fidelity", "")
    factors = [i.diagnostics.get("low_fidelity_factor", math.nan) for i in study.iterations]
    factors = [factor for factor in factors if not math.isnan(factor)]  # steps of a descent have no model
    if not path:
        return ""
    what = "the costs" if study.objectives[:1] in ([], ["cost"]) else study.objectives[0]
    if not factors:
        return f"Low fidelity: {path} gave a first design only; there is no model of {what} yet."
    counts = [i.diagnostics.get("low_fidelity_evaluations", math.nan) for i in study.iterations]
    counts = [count for count in counts if count > 0]  # earlier archives do not have it
    of = (f"{counts[-1]:g} evaluations of " if counts else "") + path
    if factors[-1] == 0:
        return f"Low fidelity: left out; without {of} the model predicts {what} at least as well."
    return f"Low fidelity: the model of {what} has that of {of} with the factor {number(factors[-1], 3)}."


def costs(study: Archive, evaluation: Evaluation, cost: float | None = None, stderr: float | None = None) -> str:
    """Returns the cost with its standard error, and the objective if that is another quantity. `cost`, `stderr`: in place of the evaluation's own."""
    cost, stderr = evaluation.cost if cost is None else cost, evaluation.cost_stderr if stderr is None else stderr
    said = f"{study.cost_meaning} {number(cost)}{f' ± {number(stderr, 2)}' if stderr > 0 else ''}"
    for name in study.objectives:
        if name != "cost":
            said += f", {name} {with_unit(study.objective(evaluation, name), study.unit(name))}"
    return said


def ended(study: Archive) -> str:
    """Returns why the study ended, or that it has not finished."""
    if study.stop_reason:
        return study.stop_reason
    return "not finished: the study is running, or it was killed (then the same command continues it)"


def bounds_to_widen(study: Archive, evaluation: Evaluation, model: Json | None) -> list[tuple[Quantity, str, Json]]:
    """Returns [(variable, "lower" or "upper", {"gain", "share"})]: bounds at which a design lies and beyond which the
    cost may fall. `model` (from `dodyn predict --slices`) predicts the gain within a share of the range. Without a
    model every bound of the design is listed, with the gain None."""
    if model is None or "bounds_to_widen" not in model:
        return [(v, side, {"gain": None}) for v, side in at_bounds(study, evaluation)]
    by_name = {v.name: v for v in study.variables}
    return [(by_name[one["variable"]], one["bound"], one) for one in model["bounds_to_widen"]]


def to_widen(study: Archive, evaluation: Evaluation, model: Json | None) -> str:
    """Returns a sentence about the bounds to widen about a design; empty if there are none."""
    sentences = []
    for v, side, known in bounds_to_widen(study, evaluation, model):
        beyond = "the optimum may lie beyond the range"
        if known["gain"] is not None:
            beyond = f"widen it, another {100 * known['share']:.0f} % of the range lowers the cost by about {number(known['gain'], 2)}"
        sentences.append(f"{v.name} is at its {side} bound {with_unit(getattr(v, side), v.unit)}: {beyond}")
    text = "; ".join(sentences)
    return f"{text}." if text else ""


def summary(study: Archive, model: Json | None = None) -> list[str]:
    """Returns sentences about the course and the result of the study."""
    best, found = study.best, counts(study)
    if not len(study):
        return []
    several = ", ".join(f"{count} {status}" for status, count in found.items())
    lines = [f"{plural(len(study), 'evaluation')}: {several}."]
    if best is None or study.lowest is None:
        return lines
    if study.lowest.id != best.id:
        lines.append(
            f"The lowest cost, noise included, has {design(study, study.lowest)}: {costs(study, study.lowest)} "
            f"(evaluation {study.lowest.id}). Part of that is luck."
        )
    bounds = to_widen(study, best, model)
    if bounds:
        lines.append(bounds)
    elif ranged(study) and not at_bounds(study, best):
        lines.append("The best design lies inside the range of every variable." if len(ranged(study)) > 1 else "The best design lies inside its range.")
    lines += in_scenarios(study, best)
    if study.constraints:
        kept = ", ".join(f"{n} {'≤' if below else '≥'} {limit_text(study, n, limit)}" for n, below, limit in study.constraints)
        broken = sum(1 for e in study if e.ok and not study.keeps_constraints(e))
        lines.append(f"The best design satisfies the constraints {kept}; {plural(broken, 'other evaluation')} did not.")
    return lines


def warnings(study: Archive) -> list[str]:
    """Returns warnings to read before you trust the result, one sentence each."""
    best, found = study.best, counts(study)
    lines: list[str] = []
    bad = len(study) - found.get("ok", 0)
    if len(study) and bad > 0.25 * len(study):
        lines.append(f"{bad} of {plural(len(study), 'evaluation')} {'has' if len(study) == 1 else 'have'} no usable cost.")
    if best is None:
        return lines
    lines += alarming_metrics(study, best)
    steep = steep_variables(study, best)
    if steep:
        lines.append(
            "The cost still has a slope there ("
            + ", ".join(f"{number(best.gradient[v.name], 3)} per {v.unit if v.unit not in ('', '1') else 'unit'} of {v.name}" for v in steep)
            + "): a kink, or a search that ended early."
        )
    for name, trajectory in best.trajectory.by_scenario():
        if "optima" not in trajectory or "count" not in trajectory["optima"].names:
            continue
        its = f"In scenario {name} its" if name else "Its"
        count = trajectory["optima"].column("count")
        families, of_best = int((~np.isnan(count)).sum()), count[0]
        if families > 1:
            lines.append(
                f"{its} initial guesses ended at {families} distinct motions; {int(of_best)} of "
                f"{int(np.nansum(count))} found the best one."
            )
        if of_best == 1 and families > 1:
            lines.append("A motion that one initial guess alone finds may not be the best: try more of them.")
    return lines


def steep_variables(study: Archive, evaluation: Evaluation) -> list[Quantity]:
    """Returns the variables along which the cost has a slope at an evaluation inside its range; none if it has no gradient."""
    if not evaluation.gradient or at_bounds(study, evaluation):
        return []
    most = 0.05 * max(abs(evaluation.cost), spread(study))
    return [v for v in study.variables if abs(evaluation.gradient[v.name]) * (v.upper - v.lower) > most]


def in_scenarios(study: Archive, evaluation: Evaluation) -> list[str]:
    """Returns one sentence with the cost in each scenario; nothing if the study has no scenarios."""
    parts: list[str] = []
    for m in study.metrics:
        name, dot, what = m.name.partition(":")
        if not dot or what != "cost":
            continue
        cost = evaluation.metrics.get(m.name, math.nan)
        reference = study.configuration.get(f"scenario.{name}.reference")
        try:
            times = f", {number(cost / float(reference), 4)} times its reference" if reference else ""
        except ValueError:  # an expression
            times = ""
        parts.append(f"{name} {number(cost, 5)}{times}")
    if not parts:
        return []
    across = "the worst" if study.configuration.get("study.scenario-aggregate") == "worst" else "the weighted mean"
    return [f"Its cost is {across} of its scenarios', relative to their references: {'; '.join(parts)}."]


def alarming_metrics(study: Archive, evaluation: Evaluation) -> list[str]:
    """Returns a sentence for each negative metric whose description explains a negative value ("negative: it would pull")."""
    lines = []
    for m in study.metrics:
        value = evaluation.metrics.get(m.name, math.nan)
        if value < 0 and "negative:" in m.description:
            meaning = m.description.split("negative:")[1].split(";")[0].strip()
            lines.append(f"Its {m.name} is {with_unit(value, m.unit, 4)}: {meaning}.")
    return lines


def spread(study: Archive) -> float:
    """Returns the range of the finite costs."""
    costs = [e.cost for e in study if e.ok and not math.isnan(e.cost)]
    return float(np.ptp(costs)) if costs else 0.0


def costs_differ(study: Archive) -> bool:
    """Returns whether costs with standard errors differ by more than these: a chi-squared test of equal costs, at 99 %."""
    designs = {tuple(e.design.values()): e for e in study if e.ok and e.cost_stderr > 0}
    costs, errors = np.array([study.pooled(e) for e in designs.values()]).T
    weights = errors**-2.0
    freedom = len(costs) - 1
    if freedom == 0:
        return False
    scatter = weights @ (costs - weights @ costs / weights.sum()) ** 2
    part = 2 / (9 * freedom)
    return bool(scatter > freedom * (1 - part + 2.326 * math.sqrt(part)) ** 3)  # quantile by Wilson and Hilferty


FEW = 2  # evaluations a variable, up to which no statement on how they fill the range is made
CROWDED = 0.75  # relative to a space-filling design; the same value as in `dodyn sensitivity` (src/report/predictions.cpp)


def filling(count: int, dimensions: int, shift: float = 0.5) -> npt.NDArray[np.float64]:
    """Returns points [count, dimensions] that fill the unit cube: multiples of the powers of the root of x^(d + 1) = x + 1, modulo 1."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    points: npt.NDArray[np.float64] = (shift + np.arange(1, count + 1)[:, None] * root ** -np.arange(1.0, dimensions + 1)) % 1
    return points


def even_samples(points: npt.NDArray[np.float64]) -> float:
    """Returns the number of points with equal parts of the unit cube that would be equivalent to these. The part of a
    point is the region to which it is the nearest; it is doubled for each bound on which the point lies, where half of
    the region is missing."""
    parts = np.zeros(len(points))
    for block in np.array_split(filling(4096, points.shape[1]), 1 + 4096 * len(points) // 500_000):  # 4 MB of distances at a time
        squares = ((points - block[:, None]) ** 2).sum(axis=2)
        nearest = squares <= squares.min(axis=1, keepdims=True)
        parts += (nearest / nearest.sum(axis=1, keepdims=True)).sum(axis=0)
    parts *= 2.0 ** ((points < 1e-6) | (points > 1 - 1e-6)).sum(axis=1)
    return float(parts.sum() ** 2 / (parts**2).sum())


def crowding(study: Archive) -> list[str]:
    """Returns the warning of `dodyn sensitivity` if the evaluations are close together; empty if they fill the ranges."""
    logarithmic = [name.strip() for name in study.configuration.get("surrogate.log-scale", "").split(",")]
    columns = []
    for v in ranged(study):
        scale: Callable[[float], float] = float
        if v.name in logarithmic and v.lower > 0:
            scale = math.log
        low, high = scale(v.lower), scale(v.upper)
        values = [e.design[v.name] for e in study if e.ok and math.isfinite(e.cost)]
        columns.append([(scale(min(max(x, v.lower), v.upper)) - low) / ((high - low) or 1) for x in values])
    points = np.array(columns).T
    if not len(points) or not np.isfinite(points).all():
        return []
    if len(points) <= FEW * points.shape[1]:
        return [f"Only {plural(len(points), 'evaluation')} {'has' if len(points) == 1 else 'have'} a cost: too few to know the range of {plural(points.shape[1], 'variable')}."]
    worth, best = even_samples(points), even_samples(filling(len(points), points.shape[1], 0.25))
    if worth >= CROWDED * best:
        return []
    return [
        f"The evaluations are close together, as in most searches: {len(points)} of them cover the range as well as {worth:.0f} evenly spread ones. "
        "Far from the best design the surrogate and the sensitivities may be wrong."
    ]


def banded(study: Archive, best: Evaluation) -> npt.NDArray[np.bool_]:
    """Returns where on its grid the last surrogate has a band that is wider than rounding, [grid]; empty without a surrogate."""
    if study.curves is None or not study.iterations:
        return np.zeros(0, dtype=bool)
    lower, value = study.curves["lower"][-1], study.curves["value"][-1]
    return np.asarray(np.isfinite(lower) & (np.abs(value - lower) > 1e-12 * max(1.0, abs(best.cost))), dtype=bool)


def uncertainty_is_known(study: Archive, best: Evaluation) -> bool:
    """Returns whether the archive holds an uncertainty of costs: a standard error, or the band of a surrogate."""
    return best.cost_stderr > 0 or bool(banded(study, best).any())


def not_ruled_out(study: Archive) -> list[str]:
    """Returns other places where the optimum can be, one sentence each."""
    best = study.best
    lines: list[str] = []
    if best is None:
        return crowding(study)
    if chosen_with(study):  # both sentences compare single costs, and take their errors for independent
        return crowding(study)
    if study.curves is not None and study.iterations:
        grid, lower = study.curves["grid"], study.curves["lower"][-1]
        open_ = banded(study, best) & (lower < best.cost)
        if open_.any():
            pieces = intervals(grid, open_)
            v = study.variables[0]
            where = ", ".join(f"{number(a, 4)} to {with_unit(b, v.unit, 4)}" for a, b in pieces[:4])
            lines.append(f"The surrogate's band still reaches below the best cost at {v.name} {where}.")
    if best.cost_stderr > 0:
        cost, stderr = study.pooled(best)
        others: dict[tuple[float, ...], Evaluation] = {}
        for e in study:
            if e.ok and e.design != best.design:
                others.setdefault(tuple(e.design.values()), e)
        close: list[tuple[float, Evaluation]] = []
        for e in others.values():
            its_cost, its_stderr = study.pooled(e)
            if its_cost - cost < 2 * math.hypot(its_stderr, stderr):
                close.append((its_cost, e))
        if close:
            lines.append(
                f"Within two standard errors of the best design {'is' if len(close) == 1 else 'are'} "
                f"{plural(len(close), 'other design')}: "
                + "; ".join(design(study, e, 4) for _, e in sorted(close, key=lambda each: each[0])[:4])
                + (" and more." if len(close) > 4 else ".")
            )
    return lines + crowding(study)


def intervals(grid: npt.NDArray[np.float64], inside: npt.NDArray[np.bool_]) -> list[tuple[float, float]]:
    """Returns (first, last) grid point of each run of true entries of `inside` [grid point]."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    return [(float(grid[a]), float(grid[b - 1])) for a, b in zip(edges[::2], edges[1::2])]


def page_part(study: Archive) -> str:
    """Returns HTML for a notebook: the result, the history of costs, and a table of the recommended designs."""
    shown = study.front if len(study.objectives) > 1 else [study.recommended] if study.recommended else []
    names = [name for name in study.objectives if name != "cost"]
    heads = ["id", *(v.label for v in study.variables), "cost", *names]
    rows = [[str(e.id), *(value(v, e.design[v.name]) for v in study.variables), number(e.cost), *(number(e.metrics.get(n)) for n in names)] for e in shown]
    table = "".join(tag("tr", "".join(tag(kind, html.escape(cell)) for cell in row)) for kind, row in [("th", heads), *(("td", row) for row in rows)])
    chart = Chart((0, max(1, len(study) - 1)), limits([e.cost for e in study]), size=(460, 220), labels=("evaluation", "cost"), whole=True)
    for k, e in enumerate(study):
        colour = STATUS_COLOURS.get(e.status, "#000")
        if math.isfinite(e.cost):
            chart.dot(k, e.cost, design(study, e), radius=3, fill=colour)
        else:
            chart.cross(k, f"{e.status}: {e.reason}", stroke=colour)
    return tag("p", html.escape(headline(study))) + tag("div", chart.text(), style="max-width:460px") + tag("table", table)
