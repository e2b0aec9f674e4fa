"""Figures that the README and how-to pages state are those of the commands they show. Each sentence is made from a run, then sought in the page.
Those of RABBIT's knee are compared by tutorial.py, which runs these studies.
Usage: stated.py DODYN [long]"""

import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = os.path.abspath(sys.argv[1])
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


def human():
    _, cost, best = study(config("human"), "--study.archive", "human.h5")
    person = value(dodyn("solve", config("human"), "--design.knee", "0.49875"), r"^cost +(\S+)")
    assert abs(best["knee"] - 0.65) < 1e-9, best
    expect("docs/cases/human.md", f"| nothing | {person:.5f} | {cost:.5f} | {100 * (1 - cost / person):.1f} % |")


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
    for figures in (walkers, human) if "long" in sys.argv[2:] else (readme, impacts):
        figures()
print("\n".join(bad))
sys.exit(bool(bad))
