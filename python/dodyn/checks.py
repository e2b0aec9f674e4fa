"""Sentences at the top of a report: question, result, gain, uncertainty and problems."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import summary
from .archive import Archive, Evaluation, Quantity

Json = dict[str, Any]
FAILURES = 0.25  # fraction of failed evaluations above which the search is doubtful
SMALL_GAIN = 0.001  # relative gain of the cost in the last third of the evaluations below which a search has settled
NUMBER = re.compile(r"[-+]?[0-9][0-9.]*(e[-+]?[0-9]+)?")
POOR = 0.8  # R2 of a model below which its figures are rough; the same value as in `dodyn predict`
# Archive.ending -> what it leaves open, in the report's checks
NOT_BY_RULE = "The search has not ended by its own rule"
OPEN_ENDINGS = {
    "limit": "A limit ended the search, so more evaluations may find more",
    "equal_costs": "The search found no difference between designs",
    "undecided": "The model of the search is too uncertain",
    "interrupted": "The same command continues the search",
    "repeated": "The search has not received the results of repeated evaluations",
}
# Archive.ending -> the answer to "is it worth continuing?", where the evaluations do not decide it
CONTINUING = {
    "": "Perhaps. The archive does not say whether a search ended by its own rule",
    "equal_costs": "Perhaps. The search found no difference between designs",
    "undecided": "Perhaps. The search found no further gain, but its model is too uncertain",
    "interrupted": "Yes. The same command continues the search",
    "repeated": "Yes. The search has not received the results of repeated evaluations",
    "failed": "Not before the cause of the failures is mended",
}


def asked(study: Archive) -> str:
    """Returns the question of the study in one sentence."""

    def range_of(v: Quantity) -> str:
        if v.choices:
            return f"{v.name} among {', '.join(v.choices)}"
        return f"{v.name} from {summary.number(v.lower, 4)} to {summary.with_unit(v.upper, v.unit, 4)}"

    what = f"the lowest {study.cost_meaning}" if study.objectives == ["cost"] else f"the lowest {study.objectives[0]}"
    if len(study.objectives) > 1:
        what = f"the best trade-off between {', '.join(study.objectives[:-1])} and {study.objectives[-1]}"
    kept = " and ".join(f"{n} {'≤' if below else '≥'} {summary.with_unit(limit, study.unit(n))}" for n, below, limit in study.constraints)
    where = ", ".join(map(range_of, study.variables[:4])) + (f" and {summary.plural(len(study.variables) - 4, 'other variable')}" if len(study.variables) > 4 else "")
    if not study.variables:
        return f"What is the {study.cost_meaning} of this design?"
    return f"Which design has {what}{f', with {kept}' if kept else ''}? Free: {where}."


def interval(study: Archive, evaluation: Evaluation) -> tuple[float, float, str] | None:
    """Returns the 95 % interval of the cost as (low, high, source); None if the cost is exact. Of a repeated design: of its mean cost. Of the
    recommended design of noisy or paired costs: that of the model, because its own cost is low partly by luck."""
    if stated := summary.stated_interval(study, evaluation):
        return *stated, "the model's"
    if len(study.repeats(evaluation)) > 1 and evaluation.cost_stderr > 0:
        cost, stderr = study.pooled(evaluation)
        return cost - 1.96 * stderr, cost + 1.96 * stderr, "its"
    low, high = (evaluation.metrics.get(name, math.nan) for name in ("failure_rate_low", "failure_rate_high"))
    if math.isfinite(low) and math.isfinite(high):
        return low, high, "Wilson's"
    if evaluation.cost_stderr > 0:
        error = 1.96 * evaluation.cost_stderr
        return evaluation.cost - error, evaluation.cost + error, "its"
    return None


def log_names(study: Archive) -> set[str]:
    """Returns the names of the variables on a logarithmic scale."""
    return {name.strip() for name in study.configuration.get("surrogate.log-scale", "").split(",")} - {""}


def discrete_names(study: Archive) -> set[str]:
    """Returns the names of the variables with discrete values: labels, whole numbers, values of a list."""
    named = {name.strip() for key in ("surrogate.integers", "surrogate.categories") for name in study.configuration.get(key, "").split(",")}
    listed = {v.name for v in study.variables if "," in study.configuration.get(f"design.{v.name}", "")}
    return (named | listed | {v.name for v in study.variables if v.choices}) & {v.name for v in study.variables}


def middle_of(study: Archive, v: Quantity) -> float:
    return math.sqrt(v.lower * v.upper) if v.name in log_names(study) and v.lower > 0 else 0.5 * (v.lower + v.upper)


def gain(study: Archive, model: Json | None) -> str:
    """Returns the gain of the recommended design over the middle of the range, in one sentence; empty if it is unknown. It
    comes from the model, or from an evaluation near the middle."""
    best = study.recommended
    ranged = summary.ranged(study)
    if best is None or not ranged or not math.isfinite(best.cost):
        return ""
    value, whose = math.nan, ""
    near = [e for e in study if study.feasible(e) and e.design != best.design and all(abs(e.design[v.name] - middle_of(study, v)) <= 0.02 * (v.upper - v.lower) for v in ranged)
            and all(e.design[v.name] == best.design[v.name] for v in study.variables if v not in ranged)]  # fmt: skip
    if near and not summary.chosen_with(study):  # uncertain costs: the model compares better than two evaluations
        value, whose = study.pooled(near[0])[0], f"evaluation {near[0].id}" if len(study.repeats(near[0])) == 1 else "mean of its evaluations"
    elif study.constraints or discrete_names(study):
        return ""  # the middle may violate a constraint, or there is none
    elif model and model.get("middle") is not None:
        value, whose = model["middle"]["median"], "the surrogate model"
    elif study.curves is not None and study.iterations:
        value, whose = float(np.interp(middle_of(study, ranged[0]), study.curves["grid"], study.curves["value"][-1])), "the surrogate model"
    if not math.isfinite(value):
        return ""
    cost, by = study.pooled(best)[0], ""
    if study.noisy and whose == "the surrogate model" and model and model.get("here"):  # compares like with like
        cost, by = model["here"]["median"], " by the model"
    less = f", {100 * (value - cost) / abs(value):.3g} % less" if value > cost >= 0 else ""
    return f"In the middle of the range the cost is {summary.number(value, 4)} ({whose}). The recommended design costs {summary.number(cost, 4)}{by}{less}."


def where_optimum(study: Archive, model: Json | None) -> tuple[list[tuple[Quantity, float, float]], str]:
    """Returns rows (variable, low, high) of the optimum's location, and the source; ([], "") if it is unknown."""
    best = study.recommended
    if best is None or len(study.objectives) > 1:
        return [], ""
    if model and model.get("optimum"):
        found = model["optimum"]["variables"]
        return [(v, found[v.name][0], found[v.name][1]) for v in study.variables if v.name in found], "90 % of the optima drawn from the surrogate model"
    if study.curves is not None and study.iterations:
        grid, lower, value = study.curves["grid"], study.curves["lower"][-1], study.curves["value"][-1]
        inside = np.isfinite(lower) & (lower <= best.cost) & (np.abs(value - lower) > 1e-12 * max(1.0, abs(best.cost)))
        x = best.design[study.variables[0].name]
        if inside.any():
            return [(study.variables[0], min(x, grid[inside].min()), max(x, grid[inside].max()))], "where the surrogate's 95 % band reaches below the recommended cost"
    return [], ""


def within(v: Quantity, low: float, high: float) -> str:
    """Returns the interval of a variable in words: "0.55 to 0.56 m", "about 0.65 m", "anywhere in its range"."""
    if high - low > 0.95 * (v.upper - v.lower):
        return "anywhere in its range"
    last = summary.with_unit(high, v.unit, 4)
    return f"about {last}" if summary.number(low, 4) == summary.number(high, 4) else f"{summary.number(low, 4)} to {last}"


def by_cause(rows: Iterable[tuple[Evaluation, str]]) -> dict[tuple[str, str], list[tuple[Evaluation, str]]]:
    """Groups evaluations with their reasons by status and cause: reasons that differ in their numbers alone are one."""
    groups: dict[tuple[str, str], list[tuple[Evaluation, str]]] = {}
    for e, reason in rows:
        groups.setdefault((e.status, NUMBER.sub("#", reason)), []).append((e, reason))
    return groups


def failures(study: Archive) -> list[tuple[str, str, list[int]]]:
    """Returns (status, reason, ids) of evaluations without a usable cost, the commonest cause first. The reason is that of the first id."""
    groups = by_cause((e, e.reason) for e in study if not e.ok)
    return [(status, found[0][1], [e.id for e, _ in found]) for (status, _), found in sorted(groups.items(), key=lambda item: -len(item[1]))]


def worth_continuing(study: Archive, model: Json | None = None) -> str:
    """Answers whether more evaluations are worth their time, and states why."""
    if not study.finished:
        return f"Yes. The study has not ended: {summary.ended(study)}."
    best = study.recommended
    if study.ending in CONTINUING:
        return f"{CONTINUING[study.ending]}: {study.stop_reason}."
    bounds = summary.bounds_to_widen(study, best, model) if best is not None and len(study.objectives) == 1 else []
    wider = f" The end of the range of {' and '.join(v.name for v, *_ in bounds)} limits the result: a wider range may hold a lower cost." if bounds else ""
    by_limit = study.ending == "limit"
    if not by_limit and best is not None and summary.steep_variables(study, best):
        return f"Perhaps. The search ended by its own rule: {study.stop_reason}. The cost still has a slope at the best design, so a finer search may gain."
    if not by_limit:
        return f"{'Not in this range' if bounds else 'No'}. The search ended by its own rule: {study.stop_reason}.{wider}"
    limit = f"A limit ended the search: {study.stop_reason}."
    usable = [e for e in study if study.feasible(e) and math.isfinite(e.cost)]
    late = len(usable) // 3
    if len(study.objectives) > 1 or late == 0 or any(e.cost_stderr > 0 for e in usable):
        return f"Perhaps. {limit} More evaluations may find more.{wider}"
    before, after = min(e.cost for e in usable[:-late]), min(e.cost for e in usable)
    lowered = f"{100 * (before - after) / abs(before):.3g} %" if before else summary.number(before - after, 3)
    usable_ones = "evaluation" if len(usable) == len(study) else "usable evaluation"
    course = f"Its last {summary.plural(late, usable_ones)} lowered the cost by {lowered}."
    return f"{'Yes' if before - after > SMALL_GAIN * abs(before) else 'Probably not'}. {limit} {course}{wider}"


def checks(study: Archive, model: Json | None) -> list[tuple[str, str]]:
    """Returns [(state, sentence)] about the reliability of the result, state is ok, open or bad. Warnings come first."""
    found: list[tuple[str, str]] = []
    best, count = study.recommended or study.lowest, len(study)
    if not count:
        return [("open", "The archive has no evaluation.")]

    def judge(good: bool, yes: str, no: str, state: str = "bad") -> None:
        found.append(("ok", yes) if good else (state, no))

    without = sum(1 for e in study if not e.ok)
    have = "has" if count == 1 else "have"
    judge(without <= FAILURES * count, f"{count - without} of {summary.plural(count, 'evaluation')} {have} a cost.", f"{without} of {summary.plural(count, 'evaluation')} {have} no usable cost.")
    broken = sum(1 for e in study if e.status in ("lost", "timed_out"))
    judge(broken == 0, "No evaluation was lost or timed out.", f"{summary.plural(broken, 'evaluation')} {'was' if broken == 1 else 'were'} lost or timed out: the fault may be the machine's.", "open")
    if study.ending != "interrupted":  # which is neither
        judge(study.finished, f"The study ended: {study.stop_reason}.", f"The study has not ended: {summary.ended(study)}.", "open")
    if study.finished:
        judge(study.ending == "finished", "The search ended by its own rule.", f"{OPEN_ENDINGS.get(study.ending, NOT_BY_RULE)} ({study.stop_reason}).", "open")
    if best is None:
        found.append(("bad", "No evaluation is feasible: there is no result."))
    elif len(study.objectives) == 1:
        bounds = summary.to_widen(study, best, model)
        if summary.ranged(study):
            judge(not bounds, "The recommended design lies inside its range, or at a bound beyond which the cost does not fall.", bounds, "open")
        alarming = summary.alarming_metrics(study, best)
        described = any("negative:" in m.description for m in study.metrics)
        if described:
            judge(not alarming, "No metric of it is suspicious by its own description.", " ".join(alarming))
        choice = summary.chosen_with(study)
        if choice:
            judge(choice[0] >= summary.SURE, choice[1], choice[1], "open")
        elif best.cost_stderr > 0:
            judge(summary.costs_differ(study), "The costs of the designs differ by more than their noise.", "The noise of the costs can be their whole difference: no design is significantly better than another.", "open")
    if model and model.get("quality") is not None and best is not None and best.cost_stderr > 0:
        found.append(("ok", f"Costs have noise: the surrogate model predicts single evaluations with quality {model['quality']:.2f}, and its band is for the mean of many."))
    elif model and model.get("quality") is not None:
        judge(model["quality"] >= POOR, f"The surrogate model predicts each evaluation from the others (quality {model['quality']:.2f} of 1).",
              f"The surrogate model predicts evaluations from the others with quality {model['quality']:.2f} only (1 is exact): its figures are rough.", "open")  # fmt: skip
    if model and model.get("doubtful_gradients"):
        found.append(("bad", f"Gradients and costs disagree: {model['doubtful_gradients']}."))
    order = {"bad": 0, "open": 1, "ok": 2}
    said = {text for _, text in found}
    found += [("bad", line) for line in summary.warnings(study) if line not in said and "no usable cost" not in line and line not in " ".join(said)]
    crowd = summary.not_ruled_out(study)
    found += [("open", line) for line in crowd]
    if best is not None and not crowd:
        filled = "The evaluations fill the range."
        compared = not summary.chosen_with(study) and summary.uncertainty_is_known(study, best)
        found.append(("ok", f"No other design is within the uncertainty. {filled}" if compared else filled))
    return sorted(found, key=lambda each: order[each[0]])
