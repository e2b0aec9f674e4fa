"""Python runs studies, evaluates designs and searches, with the digits of the program itself. Usage: drive.py DODYN MPIRUN"""

import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from studies import DODYN, FAILING, ROOT

os.environ["DODYN"] = DODYN
try:
    import dodyn
except ImportError:
    sys.exit(77)  # skipped

KNEE = os.path.join(ROOT, "configs", "knee.cfg")
QUICK = {"gait.initial-guesses": 2, "gait.intervals": 20, "study.max-evaluations": 4}


def rows(archive):
    return [(e.id, e.design, e.status, e.cost, e.gradient) for e in archive if not math.isnan(e.cost)]


def runs():
    """Rows arrive one by one and equal those of the archive. A loop may be left, and the same call continues. The number of ranks changes no digit."""
    study = dodyn.Study(KNEE, design={"knee": (0.3, 0.65)}, settings=QUICK, archive="left.h5")
    assert [(v.name, v.lower, v.upper) for v in study.variables] == [("knee", 0.3, 0.65)]
    for evaluation in study.run():
        assert evaluation.id == 0 and not study.stop_reason.startswith("reached")
        break
    left = len(study.archive)
    assert 1 <= left < 4, left
    more = [evaluation.id for evaluation in study.run()]
    assert len(study.archive) == 4 and more == list(range(left, 4)), more
    assert study.recommended.cost == min(e.cost for e in study.archive) and study.stop_reason
    assert [e.id for e in study.run()] == [], "a finished study has no new rows"
    assert "<svg" in study._repr_html_() and "knee" in study._repr_html_()

    whole = dodyn.Study(KNEE, design={"knee": (0.3, 0.65)}, settings=QUICK, archive="ranks.h5")
    mpirun = [sys.argv[2], "--oversubscribe"] if "Open MPI" in subprocess.run([sys.argv[2], "--version"], capture_output=True, text=True).stdout else [sys.argv[2]]
    assert [e.id for e in sorted(whole.run(ranks=2, mpirun=mpirun), key=lambda e: e.id)] == [0, 1, 2, 3]
    assert rows(whole.archive) == rows(study.archive)

    Path("launcher").write_text("#!/bin/sh\nprintf -- '-----\\nmpirun: this host is\\nfull\\n\\nadvice\\n-----\\n'; exit 1\n")
    Path("launcher").chmod(0o755)
    refused = dodyn.Study(KNEE, design={"knee": (0.3, 0.65)}, settings=QUICK, archive="refused.h5")
    try:
        list(refused.run(ranks=2, mpirun=["./launcher"]))
        raise AssertionError("a launcher that fails is an error")
    except dodyn.ProgramError as error:
        assert str(error) == "./launcher: mpirun: this host is full", error


def interrupted():
    """Ctrl-C in a loop over rows ends the run, which the same call continues."""
    script = f"""
import dodyn, sys
study = dodyn.Study({KNEE!r}, settings={ {**QUICK, "study.max-evaluations": 40, "gait.initial-guesses": 16} !r}, archive="ctrl-c.h5")
try:
    for evaluation in study.run():
        print(evaluation.id, flush=True)
except KeyboardInterrupt:
    print("interrupted", study.ending, study.stop_reason)
"""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})  # fmt: skip
    assert process.stdout.readline() == "0\n"
    process.send_signal(2)
    said = process.stdout.read()
    assert process.wait() == 0 and "interrupted interrupted interrupted by a signal" in said, said
    cut = dodyn.open("ctrl-c.h5")
    assert "signal" in cut.stop_reason and cut.ending == "interrupted", (cut.stop_reason, cut.ending)
    shown = subprocess.run([DODYN, "show", "ctrl-c.h5"], capture_output=True, text=True, check=True).stdout
    assert "stopped, the same command continues: " in shown, shown
    assert not os.path.exists("ctrl-c.h5.lock"), "no run is left behind"


def evaluates():
    """An evaluation is that of `dodyn solve --json`, its gradient that of finite differences of costs, its motion that of the archive."""
    with dodyn.Study(KNEE, settings=QUICK) as study:
        result = study.evaluate({"knee": 0.4})
        said = json.loads(subprocess.run([DODYN, "solve", KNEE, "--design.knee", "0.4", "--json", "--gait.initial-guesses", "2", "--gait.intervals", "20"],
                                         capture_output=True, text=True, check=True).stdout)  # fmt: skip
        assert (result.cost, result.gradient, result.seed) == (said["cost"], said["gradient"], said["seed"])
        assert list(result.trajectory.q[:, 0]) == list(said["trajectory"]["q"]["values"].values())[0]
        step = 1e-4
        costs = [study.evaluate({"knee": 0.4 + sign * step}, seed=result.seed).cost for sign in (-1, 1)]
        slope = (costs[1] - costs[0]) / (2 * step)
        assert abs(slope - result.gradient["knee"]) < 1e-4 * max(1, abs(slope)), (slope, result.gradient)
        assert study.evaluate({"knee": 0.4}, trajectory=False, seed=result.seed).cost == result.cost
        one, two = study.evaluate_all([{"knee": 0.4}, {"knee": 0.5}], processes=2)
        assert (one.design, two.design) == ({"knee": 0.4}, {"knee": 0.5}) and one.id == 4
        again = study.evaluate_all([{"knee": 0.4}, {"knee": 0.5}], processes=2, seed=result.seed)
        assert [r.seed for r in again] == [result.seed] * 2 and again[0].cost == result.cost
    archived = dodyn.open("left.h5").row(0)
    again = dodyn.Study(KNEE, settings=QUICK).evaluate(archived.design, seed=archived.seed)
    assert again.cost == archived.cost and (again.trajectory.q == archived.trajectory.q).all()


def alone():
    """An archive in place of a configuration, in an empty folder: the same costs; a program of somebody else is refused."""
    with open("twice.sh", "w") as file:
        file.write("printf '{\"cost\": %s}' $DODYN_X > $DODYN_RESULT_FILE\n")
    with open("alone.cfg", "w") as file:
        file.write("[study]\nevaluator = command\nmax-evaluations = 3\n[surrogate]\nstrategy = sweep\npoints = 5\n"
                   "[command]\nrun = sh $DODYN_STUDY/twice.sh\n[design]\nx.min = 0\nx.max = 1\n")
    assert len(list(dodyn.Study("alone.cfg").run())) == 3
    os.mkdir("empty")
    os.rename("alone.h5", "empty/alone.h5")
    for path in ("twice.sh", "alone.cfg"):
        os.remove(path)
    try:
        dodyn.Study("empty/alone.h5")
    except dodyn.ProgramError as error:
        assert "--trust" in str(error), error
    else:
        raise AssertionError("a program of somebody else was started")
    with dodyn.Study("empty/alone.h5", settings={"study.max-evaluations": 5}, trust=True) as study:
        assert study.evaluate({"x": 0.25}).cost == 0.25
        assert len(list(study.run())) == 2 and len(study.archive.evaluations) == 5


def fails():
    """Evaluations follow each other in one process; one that fails says so and ends none of the others."""
    with open("failing.cfg", "w") as file:
        file.write(FAILING)
    with dodyn.Study("failing.cfg") as study:
        costs = [study.evaluate({"x": k / 1000}, trajectory=False).cost for k in range(50)]
        assert all(math.isfinite(cost) for cost in costs), costs
        assert study.evaluate({"x": 0.95}).status == "failed" and math.isnan(study.evaluate({"x": 0.95}).cost)
        assert study.evaluate({"x": 0.0}).cost == costs[0]


def follows():
    """A reader that polls meets whole rows only. (It used to open columns before the one that counts rows, and found them too short.)"""
    pause, dodyn.study.POLL = dodyn.study.POLL, 0.0005
    sections = {
        "study": {"evaluator": "testfunction", "max-evaluations": 120, "batch": 1},
        "testfunction": {"name": "branin"},
        "surrogate": {"strategy": "sweep", "points": 11},
        "design": {"x.min": -5, "x.max": 10, "y.min": 0, "y.max": 15},
    }
    for k in range(5):
        assert [e.id for e in dodyn.Study(sections, archive=f"followed-{k}.h5").run()] == list(range(120))
    dodyn.study.POLL = pause


def refused(action, *words, kind=dodyn.ProgramError):
    try:
        action()
    except kind as error:
        assert "\n" not in str(error) and all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)


def refusals():
    open("failing.cfg", "w").write(FAILING)
    refused(lambda: dodyn.Study("none.cfg"), "none.cfg")
    refused(lambda: dodyn.Study("failing.cfg", settings={"surrogate.point": 3}), "surrogate.point", "did you mean")
    refused(lambda: list(dodyn.Study("failing.cfg", settings={"surrogate.constraints": "g <= 0"}).run()), "surrogate.constraints")
    refused(lambda: dodyn.Study("failing.cfg", program="/none/dodyn"), "/none/dodyn")
    study = dodyn.Study("failing.cfg")
    refused(lambda: study.evaluate({"z": 1}), "'z'", "did you mean 'x'")
    refused(lambda: study.evaluate({}), "x is missing")
    refused(lambda: study.evaluate({"x": math.nan}), "design.x = nan; expected a finite number")
    refused(lambda: study.evaluate({"x": -math.inf}), "design.x = -inf; expected a finite number")
    refused(lambda: study.evaluate({"x": 0.5}, time_limit=math.inf), "time_limit = inf; expected a finite number")
    refused(lambda: study.evaluate({"x": 0.5}).trajectory["nil"], "no channel 'nil'; there are ", kind=KeyError)
    whole = dodyn.Study("failing.cfg", settings={"surrogate.strategy": "ego", "surrogate.integers": "x", "design.x.max": 3})
    refused(lambda: whole.evaluate({"x": 1.5}), "design.x = 1.5 is not one of the variable's values; the nearest is 2")
    refused(lambda: dodyn.Optimizer({"x": (1, 0)}), "design.x")
    for variables in ({}, None, [("x", 0, 1)]):
        refused(lambda given=variables: dodyn.Optimizer(given), "variables = ", "at least one variable", kind=ValueError)
    for domain in (0.3, "steel", (0,), (0, 1, 2), ("a", "b"), [], ["a"], None, (0, None), (False, True)):
        refused(lambda given=domain: dodyn.Optimizer({"x": given}), "variables['x'] = ", "(lower, upper)", kind=ValueError)
    refused(lambda: dodyn.Optimizer({"x": [0, 1]}), "(0, 1) for a range", "['0', '1'] for two values", kind=ValueError)
    assert dodyn.Optimizer({"x": ["0", "1"]}).ask()["x"] in (0, 1)
    for name in (1, "x y", ""):
        refused(lambda given=name: dodyn.Optimizer({given: (0, 1)}), "not a name", kind=ValueError)
    for argument in ("constraints", "objectives", "metrics", "integers", "log_scale"):
        refused(lambda given=argument: dodyn.Optimizer({"x": (0, 1)}, **{given: "x"}), f"{argument} = 'x'; expected a list: ['x']", kind=ValueError)
    for arguments in ({"metrics": ["a b"]}, {"metrics": ["a, b"]}, {"objectives": ["cost", "a b"]}, {"constraints": ["a b <= 1"]}):
        refused(lambda given=arguments: dodyn.Optimizer({"x": (0, 1)}, **given), "not a name; allowed: a text without blanks and commas", kind=ValueError)
    for arguments in ({"integers": ["y"]}, {"objectives": ["m"]}, {"budget": 0}, {"log_scale": ["x"]}):
        try:  # at once, and without the name of a file that the user does not have
            dodyn.Optimizer({"x": (0, 1)}, **arguments)
            raise AssertionError(arguments)
        except dodyn.ProgramError as error:
            assert str(error).startswith(("surrogate.", "study.")), error
    optimizer = dodyn.Optimizer({"x": (0, 1)})
    point = optimizer.ask()
    refused(lambda: optimizer.tell(point, 1.0, metrics={"g": 1}), "tell.metrics", "'g'")
    refused(lambda: optimizer.tell(point, 1.0, stderr=-1), "cost_stderr")
    refused(lambda: optimizer.tell(point, 1.0, gradient={"x": 2}), "gradient=True", kind=ValueError)
    for status in ("lost", "timed_out"):  # which dodyn alone observes
        refused(lambda status=status: optimizer._server.ask({"tell": {"id": point.id, "status": status}}), "tell.status", "not_converged")
    refused(lambda: optimizer.tell(point, 1.0, stderr=math.nan), "stderr = nan", kind=ValueError)
    optimizer.tell(point, 1.0)
    refused(lambda: optimizer.tell(point, 1.0), "tell.id = 0")
    refused(lambda: study.evaluate({"x": 0.5}, time_limit=-1), "time_limit = -1")
    refused(lambda: list(study.run(ranks=0)), "ranks = 0", kind=ValueError)
    refused(lambda: study.evaluate_all([{"x": 0.5}], processes=-1), "processes = -1", kind=ValueError)
    limited = dodyn.Optimizer({"x": (0, 1)}, constraints=["g <= 0"])
    refused(lambda: limited.tell(limited.ask(), 1.0), "metrics={'g': ...}", kind=ValueError)
    refused(lambda: limited._server.ask({"tell": {"id": 0, "cost": 1.0}}), "tell.metrics: g is missing, which constraints or objectives name")
    limited._server.ask({"tell": {"id": 0, "cost": 1.0, "metrics": {"g": None}}})
    named = dodyn.Optimizer({"m": ["a", "b"]})
    refused(lambda: named._server.ask({"design": {"m": 7}}), "design.m = 7; expected one of: a, b")

    # A run of another process, and a killed run, must not appear to have ended.
    held = dodyn.Study("failing.cfg", archive="held.h5")
    list(held.run())
    holding = "import fcntl, sys; lock = open('held.h5.lock', 'w'); fcntl.lockf(lock, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        refused(lambda: list(held.run()), "in use by another process")
        holder.stdin.close()
    Path("killed").write_text(f"#!/bin/sh\ncase $1 in run) kill -9 $$;; *) exec {DODYN} \"$@\";; esac\n")
    Path("killed").chmod(0o755)
    refused(lambda: list(dodyn.Study("failing.cfg", archive="killed.h5", program="./killed").run()), "SIGKILL")


def searches():
    """The points are those of `dodyn run`, bit for bit, if the costs are; noise, failures, limits, names and two objectives."""
    sections = {
        "study": {"evaluator": "testfunction", "max-evaluations": 24, "batch": 3, "seed": 5},
        "testfunction": {"name": "branin", "noise": 0.5, "fail-above": 8},
        "surrogate": {"strategy": "ego"},
        "design": {"x.min": -5, "x.max": 10, "y.min": 0, "y.max": 15},
    }
    study = dodyn.Study(sections, archive="branin.h5")
    list(study.run())
    archive = study.archive
    with dodyn.Optimizer({"x": (-5, 10), "y": (0, 15)}, strategy="ego", seed=5, budget=24) as optimizer:
        while not optimizer.stopped:
            for point in optimizer.ask_batch(3):
                e = archive.evaluation(point.id)
                assert (point.design, point.seed) == (e.design, e.seed), (point, e)
                optimizer.tell(point, e.cost, stderr=e.cost_stderr, failed=e.reason if not e.ok else "")
        assert len(optimizer.told) == len(archive) == 24
        assert optimizer.recommended.point.id == archive.recommended.id

    def cost(design):
        if design["x"] > 0.9:
            raise ValueError("too long")
        return (design["x"] - 0.3) ** 2 + (0.5 if design["material"] == "lead" else 0)

    with dodyn.Optimizer({"x": (0, 1), "material": ["steel", "lead"]}, budget=40) as optimizer:
        best = optimizer.minimize(cost)
        assert abs(best.point["x"] - 0.3) < 0.02 and best.point["material"] == "steel", best
        assert any("too long" in one.reason for one in optimizer.told) or len(optimizer.told) < 40
    with dodyn.Optimizer({"n": (1, 9), "x": (0, 1)}, integers=["n"], budget=30) as optimizer:
        best = optimizer.minimize(lambda at: len(range(at["n"])) + (at["x"] - 0.5) ** 2)  # range() takes whole numbers alone
        assert best is not None and best.point["n"] == 1 and not [one.reason for one in optimizer.told if one.reason], optimizer.told
    refused(optimizer.ask, "was closed")
    with dodyn.Optimizer({"x": (0, 1), "y": (0, 1)}) as optimizer:
        try:  # the function takes one argument, the design
            raise AssertionError(optimizer.minimize(lambda x, y: x + y))
        except RuntimeError as error:
            assert "every point failed" in str(error) and "argument: 'y'" in str(error), error
    with dodyn.Optimizer({"x": (0, 1), "y": (-1, 1)}, constraints=["g <= 0"], budget=60) as optimizer:
        while not optimizer.stopped:
            x, y = (point := optimizer.ask())["x"], point["y"]
            optimizer.tell(point, (x - 0.7) ** 2 + (y - 0.2) ** 2, metrics={"g": x + y - 0.5})
        best = optimizer.recommended
        assert abs(best.cost - 0.08) < 1e-3 and best.metrics["g"] <= 0, best
    with dodyn.Optimizer({"x": (0, 1), "y": (-1, 1)}, constraints=["g <= 0"], budget=60) as optimizer:
        by_metrics = optimizer.minimize(lambda at: ((at["x"] - 0.7) ** 2 + (at["y"] - 0.2) ** 2, {"g": at["x"] + at["y"] - 0.5}))
        assert by_metrics.point == best.point, (by_metrics, best)
    with dodyn.Optimizer({"x": (-2, 2)}, objectives=["cost", "work"], budget=20) as optimizer:
        while not optimizer.stopped:
            x = (point := optimizer.ask())["x"]
            optimizer.tell(point, (x - 1) ** 2, metrics={"work": (x + 1) ** 2})
        assert optimizer.recommended is None and len(optimizer.front) > 3
        assert all(-1.1 < one.point["x"] < 1.1 for one in optimizer.front)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    for test in (runs, interrupted, follows, evaluates, alone, fails, refusals, searches):
        test()
        print(test.__name__, "ok", flush=True)
