"""What a study found, told in sentences."""

import math

import numpy as np


def number(value, digits=5):
    if value is None or math.isnan(value):
        return "-"
    return f"{value:.{digits}g}"


def with_unit(value, unit, digits=5):
    return number(value, digits) + (f" {unit}" if unit not in ("", "1") else "")


def design(study, evaluation, digits=5):
    if isinstance(evaluation, (list, tuple, np.ndarray)):
        values = evaluation
    else:
        values = [evaluation.design[v.name] for v in study.variables]
    return ", ".join(f"{v.name} = {value(v, x, digits, v.unit)}" for v, x in zip(study.variables, values))


def value(variable, number_, digits=5, unit=""):
    """Of a design variable: the name that it stands for, if it is one of several."""
    if variable.choices and number_ == int(number_):
        return variable.choices[int(number_)]
    return with_unit(number_, unit, digits)


def reason(study, evaluation):
    """Its own, or which constraints it breaks."""
    broken = [
        f"breaks {name} {'≤' if below else '≥'} {number(limit)} ({number(evaluation.metrics.get(name, math.nan))})"
        for name, below, limit in study.constraints
        if evaluation.ok and not study.keeps(evaluation, name, below, limit)
    ]
    return "; ".join([*([evaluation.reason] if evaluation.reason else []), *broken])


def plural(count, what):
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def at_bounds(study, evaluation):
    """[(variable, "lower" or "upper")] of a design on the edge of its range."""
    found = []
    for v in study.variables:
        near = 1e-6 * (v.upper - v.lower)
        value = evaluation.design[v.name]
        if value - v.lower <= near:
            found.append((v, "lower"))
        elif v.upper - value <= near:
            found.append((v, "upper"))
    return found


def counts(study):
    found = {}
    for evaluation in study:
        found[evaluation.status] = found.get(evaluation.status, 0) + 1
    return found


def headline(study):
    """The result in one sentence."""
    best = study.best
    if best is None:
        why = " that keeps the constraints" if study.constraints else ""
        return f"No evaluation{why} is ok: there is no best design yet." if len(study) else "No evaluation yet."
    noise = f" ± {number(best.cost_stderr, 2)}" if best.cost_stderr > 0 else ""
    meaning = study.cost_meaning
    return f"Best design: {design(study, best)}, {meaning} {number(best.cost)}{noise}."


def ended(study):
    if study.stopped:
        return study.stopped
    return "not finished: it runs, or was killed (the command that started it continues it)"


def told(study):
    """How it went, one sentence each."""
    best, found = study.best, counts(study)
    if not len(study):
        return []
    several = ", ".join(f"{count} {status}" for status, count in found.items())
    lines = [f"{plural(len(study), 'evaluation')}: {several}."]
    if best is None:
        return lines
    bounds = at_bounds(study, best)
    if bounds:
        which = " and ".join(f"{v.name} is at its {side} bound {with_unit(getattr(v, side), v.unit)}" for v, side in bounds)
        lines.append(f"{which[0].upper()}{which[1:]}: the optimum may lie beyond the range.")
    elif study.variables:
        lines.append("It lies inside the range of every variable." if len(study.variables) > 1 else "It lies inside the range.")
    lines += in_scenarios(study, best)
    if study.constraints:
        kept = ", ".join(f"{n} {'≤' if below else '≥'} {number(limit)}" for n, below, limit in study.constraints)
        broken = sum(1 for e in study if e.ok and not study.keeps_constraints(e))
        lines.append(f"It keeps the constraints {kept}; {plural(broken, 'other evaluation')} did not.")
    return lines


def odd(study):
    """What a reader should know before he believes the result, one sentence each."""
    best, found, lines = study.best, counts(study), []
    bad = len(study) - found.get("ok", 0)
    if len(study) and bad > 0.25 * len(study):
        lines.append(f"{bad} of {plural(len(study), 'evaluation')} have no cost that counts.")
    if best is None:
        return lines
    lines += alarming_metrics(study, best)
    if best.gradient and not at_bounds(study, best):
        steep = [
            v for v in study.variables
            if abs(best.gradient[v.name]) * (v.upper - v.lower) > 0.05 * max(abs(best.cost), spread(study))
        ]
        if steep:
            lines.append(
                "The cost still has a slope there ("
                + ", ".join(f"{number(best.gradient[v.name], 3)} per {v.unit or 'unit'} of {v.name}" for v in steep)
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
                f"{its} starts ended at {families} distinct motions; {plural(int(of_best), 'start')} of "
                f"{int(np.nansum(count))} found the best one."
            )
        if of_best == 1 and families > 1:
            lines.append("A motion that one start alone finds may not be the best there is: try more starts.")
    return lines


def in_scenarios(study, evaluation):
    """What the design costs in each scenario, in one sentence; none where the study has no scenarios."""
    told = []
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
        told.append(f"{name} {number(cost, 5)}{times}")
    if not told:
        return []
    across = "the worst" if study.configuration.get("study.across") == "worst" else "the weighted mean"
    return [f"Its cost is {across} of its scenarios', relative to their references: {'; '.join(told)}."]


def alarming_metrics(study, evaluation):
    """Metrics that say of themselves what a negative value means ("negative: it would pull"), and are negative."""
    lines = []
    for m in study.metrics:
        value = evaluation.metrics.get(m.name, math.nan)
        if value < 0 and "negative:" in m.description:
            meaning = m.description.split("negative:")[1].split(";")[0].strip()
            lines.append(f"Its {m.name} is {with_unit(value, m.unit, 4)}: {meaning}.")
    return lines


def spread(study):
    costs = [e.cost for e in study if e.ok and not math.isnan(e.cost)]
    return float(np.ptp(costs)) if costs else 0.0


def not_ruled_out(study):
    """Where else the optimum may be, one sentence each."""
    best, lines = study.best, []
    if best is None:
        return lines
    if study.curves is not None and study.iterations:
        grid, lower = study.curves["grid"], study.curves["lower"][-1]
        value = study.curves["value"][-1]
        banded = np.isfinite(lower) & (np.abs(value - lower) > 1e-12 * max(1.0, abs(best.cost)))
        open_ = banded & (lower < best.cost)
        if open_.any():
            pieces = intervals(grid, open_)
            v = study.variables[0]
            where = ", ".join(f"{number(a, 4)} to {with_unit(b, v.unit, 4)}" for a, b in pieces[:4])
            lines.append(f"The surrogate's band still reaches below the best cost at {v.name} {where}.")
    if best.cost_stderr > 0:
        close = [
            e for e in study
            if e.ok and e.id != best.id and e.cost - best.cost < 2 * math.hypot(e.cost_stderr, best.cost_stderr)
        ]
        if close:
            lines.append(
                f"Within two standard errors of it {'is' if len(close) == 1 else 'are'} "
                f"{plural(len(close), 'other design')}: "
                + "; ".join(design(study, e, 4) for e in sorted(close, key=lambda e: e.cost)[:4])
                + (" and more." if len(close) > 4 else ".")
            )
    return lines


def intervals(grid, inside):
    edges = np.flatnonzero(np.diff(np.concatenate([[False], inside, [False]]).astype(int)))
    return [(float(grid[a]), float(grid[b - 1])) for a, b in zip(edges[::2], edges[1::2])]
