"""Mistakes of a newcomer: the typed command and the message of the program. Usage: newcomer.py DODYN ROOT

Lines of MISTAKES end with exit code 2, one line on the error stream, and no written file. Studies of FAILING end with exit code 1. Their summary
has the most frequent reason and the command that repeats the failed evaluations.
"""
import os
import shutil
import subprocess
import sys
import tempfile

DODYN, ROOT = (os.path.abspath(word) for word in sys.argv[1:3])
KNEE = f"{ROOT}/configs/knee.cfg"
FILES = {
    "f.cfg": "[study]\nevaluator = testfunction\n[surrogate]\nstrategy = sweep\npoints = 3\n[testfunction]\nname = forrester\n"
             "[design]\nx.min = 0\nx.max = 1\n",
    "two.cfg": "[study]\nevaluator = command\n[command]\nrun = true\nmetrics = m\n[design]\nx.min = 0\nx.max = 1\ny.min = 0\ny.max = 1\n",
    "outside.cfg": "evaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.6\n",
    "old.cfg": "[study]\nevaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.6\n[scenario slow]\nsquared-torque = 2\n",
    "json.cfg": '{"study": {"evaluator": "gait"}}\n',
    "wrong-section.cfg": "[study]\nevaluator = gait\n[gait]\nstep-length = 0.5\n",
    "dots.cfg": "[study]\nevaluator = gait\n[design]\nknee = 0.3 .. 0.6\n",
    "empty.cfg": "[study]\nevaluator = gait\n[design]\nknee.min = 0.6\nknee.max = 0.3\n",
    "half.cfg": "[study]\nevaluator = gait\n[design]\nknee.min = 0.6\n",
    "fixed.cfg": "[study]\nevaluator = gait\n",
    "robot.model": "[model]\ndimension = 2\n",
    "nomodel.cfg": "[study]\nevaluator = motion\n[motion]\nmodel = arm.model\n",
    "rod.model": "[model]\ndimension = 2\n[link arm]\nparent = ground\njoint = revolute\nend = 1, 0\nmass = 1\n",
    "gaol.cfg": "[study]\nevaluator = motion\n[motion]\nmodel = cart.model\n[phase p]\nduration = 1\nintervals = 4\n[initial-state]\nx = 0\n[gaol]\nx = 1\n"
                "[cost]\nsquared-control = 1\n[design]\nrope.min = 1\nrope.max = 2\n",
    "clash.model": "[model]\ndimension = 2\n[parameters]\nrope = 2\n[link rope]\nparent = ground\njoint = revolute\nmass = 40\ninertia = 1\n",
    "cart.model": "[model]\ndimension = 2\n[parameters]\nrope = 2\n[link cart]\nparent = ground\njoint = prismatic x\nmass = 40\ninertia = 1\n"
                  "[actuator drive]\ncoordinate = x\n",
    "cart.cfg": "[study]\nevaluator = motion\n[motion]\nmodel = cart.model\n[phase p]\nduration = 1\nintervals = 4\n[initial-state]\ncart = 0\n[goal]\n"
                "[cost]\nsquared-control = 1\n[design]\nrope.min = 1\nrope.max = 2\n",
    "short.model": "[model]\ndimension = 2\n[parameters]\nreach = 1 m\n[link arm]\nparent = grund\njoint = revolute\nend = reach, 0\nmass = 1\n",
    "short-rope.model": "[model]\ndimension = 2\n[parameters]\nrope = 1 m\n[link arm]\nparent = ground\njoint = revolute\nend = rope, 0\nmass = 1\n",
    "both.cfg": "[study]\nevaluator = hybrid\n[initial-states]\ncount = 3\n",
    "ranges.cfg": "[study]\nevaluator = simulation\n[simulation]\nmodel = cart.model\n[initial-states]\nplace.min = 0\nplace.max = 1\n[cost]\ncost = x\n"
                  "[design]\nrope.min = 1\nrope.max = 2\n",
    "idle.cfg": "[study]\nevaluator = motion\nmax-evaluations = 3\n[motion]\nmodel = cart.model\n[phase p]\nduration = 1\nintervals = 4\n[initial-state]\nx = 0\n"
                "rate(x) = 0\n[goal]\nx = 1\nrate(x) = 0\n[cost]\nsquared-control = 1\n[design]\nrope.min = 1\nrope.max = 2\n",
    "effort.cfg": "[study]\nevaluator = motion\n[motion]\nmodel = cart.model\n[phase p]\nduration = 1\nintervals = 4\n[initial-state]\nx = 0\n[goal]\n"
                  "[cost]\neffort = 1\n",
    "rod.cfg": "[study]\nevaluator = motion\n[motion]\nmodel = rod.model\n[phase p]\nduration = 1\nintervals = 4\n[design]\na.min = 1\na.max = 2\n",
}
# User programs that fail: the shell command, and texts of the summary.
SWEEP = "[surrogate]\nstrategy = sweep\npoints = 3\n[design]\nx.min = 0\nx.max = 1\n"
FAILING = {
    "notfound": ("./cost.sh", ["failed: evaluation 0 failed: ./cost.sh: not found (exit code 127)"]),
    "denied": ("/etc", ["failed: evaluation 0 failed: ", "(exit code 126)"]),
    "nofile": ("true", ["without a usable cost: failed 0, 1, 2; to repeat them: dodyn rerun nofile.cfg --failed",
                        "most frequent reason (3): exit code 0, and no result.json: the program writes JSON to $DODYN_RESULT_FILE (docs/own-program.md)"]),
    "misspelt": ("""echo '{"costs": 1}' >"$DODYN_RESULT_FILE\"""", ["most frequent reason (3): exit code 0, result.json: unknown key 'costs' (did you mean 'cost'?)"]),
    "exits": ("echo 'no licence' >&2; exit 3", ["most frequent reason (3): exit code 3, and no result.json; stderr: no licence"]),
    "infeasible": ("""echo '{"status": "infeasible", "reason": "too short by '$DODYN_X'"}' >"$DODYN_RESULT_FILE\"""",
                   ["most frequent reason (3): too short by ", "next: dodyn show infeasible.h5 --failed\n"]),
    "numbers": ('echo "no licence at $DODYN_X" >&2; exit 3', ["most frequent reason (3): exit code 3, and no result.json; stderr: no licence at "]),
}
# Words after `dodyn`, and text that the message must have.
MISTAKES = [
    ("f.cfg", "'f.cfg' is a configuration; did you mean: dodyn run f.cfg"),
    ("done.h5", "'done.h5' is an archive; did you mean: dodyn show done.h5"),
    ("rnu f.cfg", "unknown command 'rnu' (did you mean 'run'?)"),
    ("resume f.h5", "unknown command 'resume' (did you mean 'run ARCHIVE'?)"),
    ("run", "usage: dodyn run CONFIG|ARCHIVE [--exit-code-file FILE] [--units UNIT,...] [--trust] [--key value ...]; for example: dodyn run configs/knee.cfg"),
    ("run ff.cfg", "ff.cfg: no such file (did you mean 'f.cfg'?)"),
    ("run k9.cfg", "k9.cfg: no such file\n"),
    ("show f.cfg", "f.cfg is a configuration, not an archive; dodyn run f.cfg makes f.h5"),
    ("show done.cfg", "done.cfg is a configuration, not an archive; did you mean: dodyn show done.h5"),
    ("show don.h5", "don.h5: no such file (did you mean 'done.h5'?)"),
    ("run f.cfg -n 4", "-n is an option of mpirun: mpirun -n 4 dodyn run f.cfg"),
    ("run f.cfg 4", "'4' is not understood; allowed: --section.key value"),
    ("run KNEE --starts 4", "unknown key 'starts'; it is now called 'gait.initial-guesses'"),
    ("run KNEE --gait.initial-guess 4", "unknown key 'gait.initial-guess' (did you mean 'gait.initial-guesses'?)"),
    ("run KNEE --gait.contact cone", "(did you mean 'friction-cone'?)"),
    ('check KNEE --design.knee "0.4 kg"', "design.knee = 0.4 kg has the unit kg; expected a length (m, cm, mm)"),
    ('check KNEE --study.time-limit "5 m"', "study.time-limit = 5 m has the unit m; expected a time (s, ms, min, h)"),
    ("run wrong-section.cfg", "wrong-section.cfg:4: unknown key 'gait.step-length'; step-length is a design variable: write it in "
                              "[design] (design.step-length)"),
    ("run dots.cfg", "dots.cfg:4: design.knee = 0.3 .. 0.6 is a range; write design.knee.min = 0.3 and design.knee.max = 0.6"),
    ("run empty.cfg", "the range of design.knee is empty: min 0.6 >= max 0.3"),
    ("run half.cfg", "design.knee.min is given without design.knee.max"),
    ("run nomodel.cfg", "nomodel.cfg:4: motion.model = arm.model: cannot be read: No such file"),
    ("run rod.cfg", "rod.cfg:10: unknown key 'design.a.max'; there are no variables here: the model has no [parameters]"),
    ("run cart.cfg", "cart.cfg:9: cart = 0: cart is a link with the coordinate x: write x = 0; allowed for a link: pose X Y, place, turn ANGLE"),
    ("check clash.model", "clash.model:5: coordinate 'rope' has the name of a parameter, and expressions may have both; rename the parameter, or name the "
                          "link's coordinate: coordinates = rope_angle"),
    ("check short.model", "short.model:6: parent = grund is not a known link; allowed: ground\n"),
    ('check rod.model --design.a "3 kg"', "rod.model: has no parameter 'a' in [parameters]"),
    ('check short-rope.model --design.rope "3 kg"', "command line: design.rope = 3 kg has the unit kg; expected a length (m, cm, mm)"),
    ("check both.cfg", "both.cfg:4: initial-states.count belongs to evaluator simulation, elastic; this study's is hybrid (both.cfg:2)"),
    ("check KNEE --cost.loss 1", "cost.loss = 1: no [actuator] of the model has a loss; add loss to one, or remove this entry"),
    ("check effort.cfg", "effort.cfg:12: effort = 1: the integral of '1' does not depend on the motion; it is now called 'squared-control'"),
    ("run idle.cfg", "idle.cfg:18: design.rope.min = 1: nothing uses this parameter, so all evaluations would be the same; use it in an expression, or free "
                     "another one"),
    ("check short-rope.model --design.rope 1 --design.rope 2", "command line: design.rope is given twice; remove one of them"),
    ("check idle.cfg", "nothing uses this parameter, so all evaluations would be the same"),
    ("run gaol.cfg", "unknown key 'gaol.x': there is no section 'gaol' (did you mean 'goal'?)"),
    ("run two.cfg --design.x.integer yes", "unknown key 'design.x.integer'; keys of x: design.x, design.x.min, design.x.max, design.x.unit; [surrogate] states "
                                           "the kind of a variable: surrogate.integers = x, surrogate.categories, surrogate.log-scale"),
    ("run two.cfg --design.x.mim 0", "unknown key 'design.x.mim' (did you mean 'design.x.min'?)"),
    ("run KNEE --design.knee inch", "design.knee = inch is not a number; allowed: a number in m"),
    ("run two.cfg --design.x.unit mm --design.x.max '2 in'", "design.x.max = 2 in: 'in' is not a unit; dodyn help units lists them; allowed: a number in mm"),
    ("run fixed.cfg", "no design variable is free"),
    ("run outside.cfg", "outside.cfg:1: 'evaluator' stands before any [section]; write [study] above it"),
    ("run json.cfg", "is not understood; allowed: [section], key = value, # comment"),
    ("run f.cfg --study.archive nowhere/a.h5", "study.archive = nowhere/a.h5: the folder nowhere does not exist"),
    ("run f.cfg --study.archive done.h5 --study.seed 2", "done.h5 belongs to another study: study.seed: 1 / 2 (archive / now)"),
    ("run f.cfg --exit-code-file", "--exit-code-file has no value; allowed: a file to write the exit code to"),
    ("run f.cfg --exit-code-file --study.seed 2", "--exit-code-file has no value"),
    ("run f.cfg --study.memory-limit 100", "command line: study.memory-limit = 100: has no effect without study.isolate = process"),
    ("run f.cfg --strategy ego --surrogate.indifference 0.1", "command line: surrogate.indifference = 0.1: has no effect: it is for noisy or paired costs"),
    ("check f.cfg --strategy ego --surrogate.indifference 0.1", "command line: surrogate.indifference = 0.1: has no effect: it is for noisy or paired costs"),
    ("rerun f.cfg", "give one of --failed and --ids"),
    ("solve f.cfg", "design.x is free, from 0 to 1; give its value: --design.x 0.5"),
    ("solve KNEE", 'design.knee is free, from 0.25 to 0.7 m; give its value: --design.knee "0.475 m"'),
    ("simulate KNEE", 'design.knee is free, from 0.25 to 0.7 m; give its value: --design.knee "0.475 m"'),
    ("show done.h5 --csvv", "'--csvv' is not understood (did you mean '--csv'?)"),
    ("show done.h5 --csv=yes", "--csv takes no value"),
    ("show done.h5 --sort cost --sort x", "--sort is given twice"),
    ("show done.h5 more", "'more' is not understood; usage: dodyn show ARCHIVE"),
    ("predict done.h5 --design.x 3", "--design.x = 3 is outside the study's range; allowed: a number from 0 to 1"),
    ("predict done.h5 --design.y 3", "'--design.y' is not understood (did you mean '--design.x'?)"),
    ("sensitivity done.h5 --samples many", "--samples is not allowed; allowed: a number from 64 to 1048576"),
    ("run KNEE --gait.model biped", "gait.model = biped: cannot be read: No such file or directory (did you mean 'motor-biped'?); allowed: the path of a model "
                                    "file, or a name that dodyn help models lists"),
    ("run KNEE --gait.absolute-work 1", "the key 'gait.absolute-work' was removed; write it in [cost], with squared-torque = 1 if that was not set"),
    ("run KNEE --gait.leg-mass-model uniform-density", "'gait.leg-mass-model' was removed; leave it out for fixed-masses; configs/published/uniform-biped.model replaces "),
    ("run KNEE --design.shank-fraction.min 0.3", "the key 'design.shank-fraction.min' was removed; write the masses into a copy of the model, such as shank_mass = "),
    ("run old.cfg", "old.cfg:7: the key 'squared-torque' was removed; write it in [cost]"),
    ("run f.cfg --strategy egoo", "surrogate.strategy = egoo is unknown; allowed: auto, "),
    ("run f.cfg --surrogate.log-scale x", "surrogate.log-scale = x: a logarithmic scale needs a range above 0; that of x begins at 0"),
    ("run f.cfg --surrogate.integers x --surrogate.categories x", "surrogate.categories = x: x has a type already, by surrogate.integers"),
    ("run two.cfg --surrogate.conditional 'x if y > 0.5, y if x > 0.5'", "'y if x > 0.5' closes a circle: whether x exists depends on y"),
    ("run two.cfg --surrogate.constraints 'm <= 3, m >= 5'", "surrogate.constraints = m <= 3, m >= 5: no value satisfies both m >= 5 and m <= 3"),
    ("run two.cfg --surrogate.initial-designs done.h5", "done.h5: is an HDF5 file; expected a CSV file"),
    ("run two.cfg --surrogate.initial-designs .", ".: cannot be read"),
    ("run two.cfg --surogate.batch 3", "unknown key 'surogate.batch' (did you mean 'surrogate.batch'?)"),
    ("run f.cfg --surrogate.conditional 'x if x > 0'", "'x > 0' uses x itself; a condition is on other variables"),
    ("solve DOCKING", 'design.spacing is free, from 0.0255 to 0.0755 m; give its value: --design.spacing "0.0505 m"'),
    ("show done.h5 --units furlong", "--units furlong: 'furlong' is not a unit; expected units such as deg, mm"),
    ("show done.h5 --units mm,cm", "--units mm,cm: mm and cm measure the same; choose one"),
    ("show done.h5 --verify --units mm", "these options cannot be combined"),
    *((f"show done.h5 {words}", "these options cannot be combined; usage: dodyn show ARCHIVE") for words in (
        "--verify --sort cost", "--verify --failed", "--events --columns x", "--evaluation 0 --columns x", "--evaluation 0 --sort cost", "--json --columns x")),
    ("show done.h5 --csv --columns costs", "--columns costs: no such column (did you mean 'cost'?)"),
    *((f"predict done.h5 {words}", "these options cannot be combined; usage: dodyn predict ARCHIVE") for words in (
        "--optimum --json", "--optimum --quantity cost", "--slices --quantity cost", "--optimum --slices", "--export m.h5 --json", "--export m.h5 --optimum",
        "--export m.h5 --slices")),
    ("predict done.h5 --export m.h5 --units mm", "--units is not for --export"),
    ("predict done.h5 --export none/m.h5", "dodyn: none/m.h5: cannot write: No such file or directory"),
    ("run f.cfg --units furlong", "--units furlong: 'furlong' is not a unit; expected units such as deg, mm"),
    ("report done.h5 --units furlong", "--units furlong: 'furlong' is not a unit; expected units such as deg, mm"),
    ("plot motion.csv --units mm", "--units is for archives"),
    ("animate done.h5 --units mm", "unrecognized arguments: --units mm"),
    ("help units mm,cm m", "--units mm,cm: mm and cm measure the same; choose one"),
    ("show done.h5 --columns costs", "--columns costs: no such column (did you mean 'cost'?)"),
    ("replay done.h5 99", "done.h5: holds no evaluation 99"),
    ("report f.cfg", "f.cfg is a configuration, not an archive; dodyn run f.cfg makes f.h5"),
    ("report robot.model", "robot.model is a model file, not an archive"),
    ("report nowhere.h5", "nowhere.h5: no such file"),
    ("plot done.h5 --what costs", "--what costs: no such picture, did you mean cost?"),
    ("animate done.h5 --format mp4", "unrecognized arguments: --format mp4; dodyn animate --help lists what it takes"),
    ("import f.cfg", "f.cfg:1: is not XML"),
    ("help key gait.leg-length", "the key 'gait.leg-length' was removed; set design.leg"),
    ("help key gait.clearence", "no key 'gait.clearence' (did you mean 'gait.clearance'?)"),
    ("help keyz", "no help on 'keyz' (did you mean 'keys'?)"),
    ("help gait", "'gait' is a section; did you mean: dodyn help keys gait"),
    ("help keys gat", "no section 'gat' (did you mean 'gait'?)"),
    ("new moton", "unknown kind 'moton' (did you mean 'motion'?)"),
    ("check KNEE --metrics.a 'cost +'", "metrics.a = cost +: 'cost +' is incomplete; it ends where a number, a name or ) is expected"),
    ("check ranges.cfg", "ranges.cfg:6: place.min = 0: a range is one entry; write place = FROM .. TO, such as place = 0 .. 1"),
    ("merge all.h5", "usage: dodyn merge OUT IN [IN ...]; for example: dodyn merge all.h5 knee-1.h5 knee-2.h5"),
]


def run(line):
    line = line.replace("KNEE", KNEE).replace("DOCKING", f"{ROOT}/configs/docking.cfg")
    return subprocess.run(f"{DODYN} {line}", shell=True, capture_output=True, text=True, timeout=120)


with tempfile.TemporaryDirectory(prefix="dodyn-newcomer-") as directory:
    os.chdir(directory)
    for name, text in FILES.items():
        with open(name, "w") as file:
            file.write(text)
    with open("done.cfg", "w") as file:
        file.write(FILES["f.cfg"])
    assert run("run done.cfg").returncode == 0
    before = {name: os.stat(name).st_mtime_ns for name in os.listdir(".")}
    wrong = 0
    for typed, expected in MISTAKES:
        done = run(typed)
        if (done.returncode != 2 or expected not in done.stderr or done.stderr.count("\n") != 1 or done.stdout
                or not done.stderr.startswith("dodyn: ")):
            wrong += 1
            print(f"dodyn {typed}\n  code {done.returncode}: {done.stdout}{done.stderr}  expected: {expected}")
    after = {name: os.stat(name).st_mtime_ns for name in os.listdir(".")}
    assert after == before, set(after.items()) ^ set(before.items())
    # Under mpirun, dodyn prints one line for a mistake; mpirun may add lines.
    if shutil.which("mpirun"):
        environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run(["mpirun", "-n", "2", DODYN, "run", "f.cfg", "--surrogate.point", "4"], env=environment, capture_output=True, text=True, timeout=120)
        if (done.stdout + done.stderr).count("unknown key 'surrogate.point' (did you mean 'surrogate.points'?)") != 1 and "slots available" not in done.stderr:
            wrong += 1
            print(done)
    # `dodyn run ARCHIVE` is not a mistake: it continues the study.
    done = run("run done.h5")
    assert done.returncode == 0 and "already finished" in done.stdout, done
    for name, (program, expected) in FAILING.items():
        with open(f"{name}.cfg", "w") as file:
            file.write(f"[study]\nevaluator = command\n[command]\nrun = {program}\n{SWEEP}")
        done = run(f"run {name}.cfg")
        missing = [text for text in expected if text not in done.stdout]
        if done.returncode != 1 or missing:
            wrong += 1
            print(f"dodyn run {name}.cfg\n  code {done.returncode}: {done.stdout}{done.stderr}  expected: {missing}")
    listed = run("show infeasible.h5 --failed --columns id,status,reason").stdout
    assert listed.count("infeasible  too short by ") == 3, listed
    # The command that repeats failed evaluations works, also if keys of the command line changed the study.
    done = run("run nofile.cfg --study.archive 'other name.h5' --design.x.max 2")
    hint = "to repeat them: dodyn rerun 'other name.h5' --failed --trust\n"
    again = run("rerun 'other name.h5' --failed --trust")
    if hint not in done.stdout or again.returncode != 0 or "repeated 3 evaluations" not in again.stdout or hint not in again.stdout:
        wrong += 1
        print(done, again)
    # A setting without effect has a note, and the command continues.
    note = "note: command line: design.rope = 1.5 is not used: nothing uses this parameter\n"
    done = run("solve idle.cfg --design.rope 1.5")
    if done.returncode != 0 or done.stderr != note:
        wrong += 1
        print(done)
    note = "note: command line: surrogate.points = 3 is not used: this command evaluates one design; dodyn run searches\n"
    done = run("solve f.cfg --design.x 0.3 --strategy sweep --surrogate.points 3 --study.seed 4")
    if done.returncode != 0 or note not in done.stderr or "study.seed" in done.stderr:
        wrong += 1
        print(done)
    note = "note: design.x = 30 is outside of its range, 0 to 1\n"
    done = run("solve f.cfg --design.x 30")
    if done.returncode != 0 or done.stderr != note:
        wrong += 1
        print(done)
    with open("idle2.cfg", "w") as file:
        file.write(FILES["idle.cfg"].replace("cart.model", "cart2.model"))
    with open("cart2.model", "w") as file:
        file.write(FILES["cart.model"].replace("rope = 2", "rope = 2\nload = 3 kg").replace("mass = 40", "mass = load"))
    done = run("run idle2.cfg --design.load.min 1 --design.load.max 2")
    if done.returncode != 0 or "note: idle2.cfg:18: design.rope.min = 1 is not used: nothing uses this parameter\n" not in done.stderr:
        wrong += 1
        print(done)
    # With several objectives no design is the best one.
    with open("front.cfg", "w") as file:
        file.write("[study]\nevaluator = command\nmax-evaluations = 4\n[command]\nmetrics = m\n"
                   "run = echo '{\"cost\": 1, \"metrics\": {\"m\": 2}}' >\"$DODYN_RESULT_FILE\"\n"
                   "[surrogate]\nobjectives = cost, m\n[design]\nx.min = 0\nx.max = 1\n")
    done = run("run front.cfg")
    if done.returncode != 0 or "running" not in done.stderr or "best" in done.stderr:
        wrong += 1
        print(done)
    os.chdir("/")
print(f"{len(MISTAKES) + len(FAILING) + 5 - wrong} of {len(MISTAKES) + len(FAILING) + 5} mistakes are met with the right line")
sys.exit(wrong > 0)
