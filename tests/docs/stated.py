"""Figures that the README and how-to pages state are those of the commands they show. Each sentence is made from a run, then sought in the page.
Those of RABBIT's knee are compared by tutorial.py, which runs these studies.
Usage: stated.py DODYN [long]"""

import math
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = os.path.abspath(sys.argv[1])
GRAZING = 6  # of 200 tries of docking
pages = {}
bad = []


def page(name):
    if name not in pages:
        pages[name] = open(os.path.join(ROOT, name), encoding="utf-8").read()
    return pages[name]


def expect(name, sentence):
    """Asserts that the page has this sentence, with any line breaks."""
    if " ".join(sentence.split()) not in " ".join(page(name).split()):
        bad.append(f"{name}: a run gives: {sentence}")


def dodyn(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=2400)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def config(name):
    return os.path.join(ROOT, "configs", name + ".cfg")


def study(path, *words):
    """Evaluations, cost and place of the best design."""
    printed = dodyn("run", path, *words)
    best = re.search(r"^best: (\S+) at (.*?) \(evaluation", printed, re.M)
    place = {name: float(value) for name, value in re.findall(r"([\w-]+) = (-?[\d.e+-]+)", best[2])}
    return int(re.search(r"^(\d+) evaluations? now", printed, re.M)[1]), float(best[1]), place


def value(printed, pattern):
    return float(re.search(pattern, printed, re.M)[1])


def readme():
    for name, text in re.findall(r"^```ini file=(\S+)\n(.*?)^```", page("README.md"), re.S | re.M):
        open(name, "w", encoding="utf-8").write(text)
    evaluations, _, best = study("arm.cfg")
    theory = (0.02 + 1 * 0.25**2) * (math.pi / 0.5) ** 2  # of the rod about its joint, half a period in half a second
    expect("README.md", f"`dodyn run arm.cfg` finds {best['stiffness']:.3f} N m/rad in {evaluations} evaluations")
    expect("README.md", f"I (pi/T)^2 = {theory:.3f} N m/rad")
    _, _, best = study("arm.cfg", "--motion.order", "4", "--study.archive", "order4.h5")
    expect("README.md", f"with `--motion.order 4` the result is {best['stiffness']:.3f} N m/rad")


def changes(name, built, rows, sentence):
    """Rows of a table `| change | figures |`: the study and the gait as built, each with the words of the change."""
    for number, (change, words) in enumerate(rows.items()):
        _, cost, best = study(config(name), *words, "--study.archive", f"{name}{number}.h5")
        own = value(dodyn("solve", config(name), "--design.knee", built, *words), r"^cost +(\S+)")
        expect(f"docs/cases/{'rabbit' if name == 'knee' else name}.md", f"| {change} | {sentence(best['knee'], cost, own)} |")


def rabbit():
    rows = {
        "40 time steps": ["--gait.intervals", "40"],
        "160 time steps": ["--gait.intervals", "160"],
        "a step in 0.5 s (0.9 m/s)": ["--design.period", "0.5"],
        "a step in 0.4 s (1.125 m/s)": ["--design.period", "0.4"],
        "rotors of 0.4 kg m2": ["--design.rotor", "0.4"],
        "no rotors": ["--design.rotor", "0"],
        "half the heat (0.01 W per (N m)^2)": ["--parameters.copper", "0.01"],
        "twice the heat": ["--parameters.copper", "0.04"],
        "2 degrees uphill": ["--design.slope", "2 deg"],
        "2 degrees downhill": ["--design.slope", "-2 deg"],
    }
    changes("knee", "0.4", rows, lambda knee, cost, own: f"{knee:.4f} | {cost:.5f} | {own:.5f} | {100 * (own / cost - 1):.1f} %")


def human():
    rows = {
        "nothing": [],
        "160 time steps instead of 80": ["--gait.intervals", "160"],
        "seed 2": ["--study.seed", "2"],
        "segments keep their mass per length (`design.scaling = 1`)": ["--design.scaling", "1"],
        "steps of 0.6 m in 0.6 s (1.0 m/s)": ["--design.step-length", "0.6", "--design.period", "0.6"],
        "twice the tension": ["--parameters.tension", "0.02"],
        "3 cm of clearance instead of 1.5": ["--gait.clearance", "3 cm"],
    }
    changes("human", "0.49875", rows, lambda knee, cost, own: f"{own:.5f} | {cost:.5f} | {100 * (1 - cost / own):.1f} %")


def docking():
    """Counts of 200 tries, up to GRAZING of them: a try that grazes an edge ends differently if only the rounding of the build differs."""
    text = page("docs/cases/docking.md")

    def failed(name, *words):
        printed = dodyn("solve", config(name), *words)
        outcomes = {outcome: int(count) for outcome, count in re.findall(r"^(\w[\w ]*?) +(\d+) of 200$", printed, re.M)}
        return round(200 * value(printed, r"^cost +(\S+)")), [outcomes.get(outcome, 0) for outcome in ("docked", "wrong port", "jammed", "missed", "end")]

    def near(what, stated, seen):
        if abs(stated - seen) > GRAZING:
            bad.append(f"docs/cases/docking.md: {what}: {stated} of 200 stated, a run gives {seen}")

    spacings, rates = (re.search(rf"^\| {head} \|(.*)\|$", text, re.M)[1].split(" | ") for head in ("spacing, mm", "failure rate"))
    for spacing, rate in zip(spacings, rates):
        count, outcomes = failed("docking", "--design.spacing", f"{float(spacing)} mm")
        near(f"failures at {float(spacing)} mm", 200 * float(rate), count)
        for row in re.findall(rf"^\| {float(spacing)} ((?:\| \d+ ){{5}})\| [.\d]+ \| [.\d]+ to", text, re.M):
            for outcome, stated, seen in zip(("docked", "wrong port", "jammed", "missed", "end"), row.split("|")[1:], outcomes):
                near(f"{outcome} at {float(spacing)} mm", int(stated), seen)
    near("free craft", int(re.search(r"fixed none`\), (\d+) of 200 tries fail at\s27 mm", text)[1]), failed("docking", "--design.spacing", "27 mm", "--simulation.fixed", "none")[0])
    near("docking-robust", int(re.search(r"disturbing forces: (\d+) of 200 fail at 27 mm", text)[1]), failed("docking-robust", "--design.spacing", "27 mm")[0])


def scenarios():
    page_text = page("docs/scenarios.md")
    lines = re.search(r"^    cat >>three.cfg <<'END'\n((?:    .*\n|\n)+?)    END\n    dodyn (solve .*)\n", page_text, re.M)
    with open("three.cfg", "w", encoding="utf-8") as file:
        file.write(open(config("docking"), encoding="utf-8").read() + re.sub(r"^    ", "", lines[1], flags=re.M))
    printed = dodyn(*shlex.split(lines[2]))
    failed = {24 - int(count) for count in re.findall(r"^docked +(\d+) of 24", printed, re.M)}
    expect("docs/scenarios.md", f"Each scenario has {failed.pop()} failures of 24." if len(failed) == 1 else f"the scenarios have {failed} failures of 24")


def coils():
    def errors(line, *words):
        """Errors f_x, f_y, torque near, then far, from this line of the report."""
        found = re.search(rf"^{line} +f_x (\S+), f_y (\S+), torque (\S+) near; (\S+), (\S+), (\S+) far", dodyn("solve", config("coil-fit"), *words), re.M)
        return [float(text) for text in found.groups()]

    rows = {"0.15 to 0.55 m, r^4": [], "0.15 to 0.55 m, none": ["--coil-fit.weight", "0"],
            "0.12 to 0.55 m, r^4": ["--coil-fit.min-distance", "0.12 m"], "0.2 to 0.55 m, r^4": ["--coil-fit.min-distance", "0.2 m"]}  # fmt: skip
    for row, words in rows.items():
        percent = [f"{100 * error:.3g}" for error in errors("error of the fit", *words)]
        expect("docs/cases/coils.md", f"| {row} | {' | '.join(f'{near}, {far} %' for near, far in zip(percent[:3], percent[3:]))} |")
    table = errors("of the table")
    expect("docs/cases/coils.md", f"f_x {table[0]} near and {table[3]} far, f_y {table[1]} and {table[4]}.")
    printed = open(os.path.join(ROOT, "configs", "coil-table.csv"), encoding="utf-8").read()
    for entry, tenth, force, at in (("-8.9385", "-0.89385", "f_x", 0), ("1.2083", "0.12083", "f_y", 1)):
        with open("tenth.csv", "w", encoding="utf-8") as file:
            file.write(printed.replace(f",{entry},", f",{tenth},"))
        with_tenth = errors("of the table", "--coil-fit.table", os.path.abspath("tenth.csv"))
        expect("docs/cases/coils.md", f"with {tenth} the error of {force} falls to {with_tenth[at]} and {with_tenth[at + 3]}")
    drifts = [value(dodyn("simulate", config("air-table"), "--air-table.time", time), r"off, (\S+) m with") for time in ("10 s", "60 s", "10 min", "1 h")]
    expect("docs/cases/coils.md", f"| drift with the recorded commands, mm | {' | '.join(f'{1000 * drift:.0f}' for drift in drifts)} |")


def control():
    def share(*words):
        return value(dodyn("solve", config("cart-pole-balance"), "--design.pole_rate", "13", "--design.cart_rate", "2.5", *words), r"^cost +(\S+)")

    expect("docs/control.md", f"At 13 and 2.5 1/s the share is {share():g}, with a strong motor (`--design.force 1000`) {share('--design.force', '1000'):g}, "
                              f"and without delay (`--feedback.delay 0`) {share('--feedback.delay', '0'):g}.")  # fmt: skip


def slip_walker():
    """Period and largest multiplier of its gaits, and the bar by the projected motion."""
    gaits = {"sticks (`mu = 1e6`)": ["--design.mu", "1e6"], "`mu = 0.1`: slips 0.133 m a step, sticks, slips back": [],
             "`mu = 0, kappa = 5`": ["--design.mu", "0", "--design.kappa", "5"], "`mu = 0, kappa = 1, printed = 1`": ["--design.mu", "0", "--design.kappa", "1", "--design.printed", "1"]}  # fmt: skip
    for gait, words in gaits.items():
        printed = dodyn("solve", config("slip-walker"), *words)
        period, multiplier = value(printed, r"^period +(\S+) s"), value(printed, r"^floquet_multiplier +(\S+)")
        expect("docs/cases/hybrid.md", f"| {gait} | {period:.8f} | {multiplier:.7f}")
    evaluations, cost, best = study(config("walker-period"), "--study.archive", "period.h5")
    expect("docs/cases/hybrid.md", f"The best one is {best['period']:.6f} s with {cost:.7f} (N m)2 s/m ({evaluations} evaluations with gradients, 40 intervals).")
    exact, projected, finer = (dodyn("simulate", config("bar-drop"), *words) for words in (
        [], ["--hybrid.method", "projected"], ["--hybrid.method", "projected", "--hybrid.order", "6", "--hybrid.step", "2 ms"]))  # fmt: skip
    times = [[float(time) for time in re.findall(r"^ +([\d.]+) s  impact", printed, re.M)] for printed in (exact, projected, finer)]
    before, after = (float(energy) for energy in re.search(r"^energy +(\S+) J -> (\S+) J", projected, re.M).groups())
    expect("docs/hybrid.md", f"the energy of `bar-drop` is off by {100 * (after / before - 1):.0f} %, and its third impact comes {times[1][2] - times[0][2]:.2f} s late.")
    if max(abs(a - b) for a, b in zip(times[0], times[2])) > 3e-6:
        bad.append(f"docs/hybrid.md: impacts of the projected motion: {times}")


def impacts():
    evaluations, cost, best = study(config("walker-recovery"), "--study.archive", "recovery.h5")
    _, _, tick = study(config("pendulum-tick"), "--study.archive", "tick.h5")
    expect("docs/cases/hybrid.md", f"`walker-recovery` finds a = {best['a']:.4f} rad, where a disturbance is halved in {cost:.6f} s ({evaluations} evaluations). "
           f"`pendulum-tick` puts the walls at {tick['wall']:.5f} m")  # fmt: skip
    clumped, apart = (value(dodyn("simulate", config("scene-hexagons"), *words), r"^cost +(\S+)") for words in ((), ("--design.charge", "0")))
    expect("docs/cases/hybrid.md", f"radius of gyration {clumped:.3f} m (packed: 0.5477) and {apart:.3f} m after 20 s")


def walkers():
    costs, knees = [], []
    for fold in (60, 75, 90, 130):
        _, cost, best = study(config("knee-motor"), "--design.fold", f"{fold} deg", "--study.archive", f"fold{fold}.h5")
        costs.append(f"{cost:.5f}")
        knees.append(f"{best['knee']:.4f}")
    for name, row in (("best knee, m", knees), ("cost", costs)):
        row[1] = f"**{row[1]}**"
        expect("docs/cases/motor-knee.md", f"| {name} | {' | '.join(row)} |")
    printed = dodyn("simulate", config("knee-motor"), "--from", "fold75.h5", "--design.fold", "75 deg")
    for line in re.findall(r"^(?:touch-down|deviation|feedback) .*(?:\n +.*)*", printed, re.M):
        expect("docs/simulation.md", line)
    evaluations, cost, best = study(config("knee-speeds"), "--study.archive", "speeds.h5")
    expect("docs/cases/motor-knee.md", f"The answer is **{best['knee']:.4f} m, {100 * (cost - 1):.1f} % above the bests** in the mean, after {evaluations} evaluations")
    evaluations, cost, best = study(config("feet"), "--study.archive", "feet.h5")
    expect("docs/cases/walkers.md", f"The best pace is **{best['period']:.3f} s a step**, inside the range, after {evaluations} evaluations.")
    evaluations, cost, best = study(config("knee-spatial"), "--study.archive", "spatial.h5")
    expect("docs/cases/motor-knee.md", f"The best knee is {best['knee']:.3f} m above the foot, 5 cm higher than in the plane with the same fold. The cost is {cost:.5f},")
    expect("docs/cases/motor-knee.md", f"The study takes {('four', 'five', 'six')[evaluations - 4]} evaluations")
    study(config("knee-torso"), "--strategy", "sweep", "--surrogate.points", "5", "--study.archive", "torso.h5")
    rows = sorted([float(cell) for cell in row.split(",")[1:]] for row in dodyn("show", "torso.h5", "--csv", "--columns", "knee,cost").splitlines()[1:])
    expect("docs/cases/walkers.md", f"| squared torque | {' | '.join(f'{cost:.5f}' for _, cost in rows)} |")
    printed = dodyn("solve", config("knee-underactuated"), "--design.knee", "0.5")
    weight = (10 + 2 * 3 + 2 * 2) * 9.81  # N: hip, thighs, shanks
    work = value(printed, r"absolute work (\S+) J")
    expect("docs/cases/walkers.md", f"80, 160, 320 time steps | {work / (weight * 0.56):.4f},")
    _, cost, best = study(config("knee-step"), "--study.archive", "step.h5")
    text = open(config("knee-step"), encoding="utf-8").read().replace("\n# ", " ")
    if f"knee {best['knee']:.3f} m, steps of {best['step-length']:.3f} m, at a cost of {cost:.4f}" not in text:
        bad.append(f"configs/knee-step.cfg: a run gives {best}, {cost}")


with tempfile.TemporaryDirectory(prefix="dodyn-stated-") as directory:
    os.chdir(directory)
    for figures in (walkers, human, rabbit, docking) if "long" in sys.argv[2:] else (readme, impacts, slip_walker, scenarios, coils, control):
        figures()
print("\n".join(bad))
sys.exit(bool(bad))
