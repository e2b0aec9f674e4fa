#!/usr/bin/env python3
"""Published problems of optimal control, in configs/textbook/: their figures next to the program's.

    bench/textbook.py PROGRAM > docs/measured/textbook.md
    bench/textbook.py PROGRAM --check          # solves the shipped meshes only; exit code 1 if a figure misses its tolerance

A row is solved on its shipped mesh and on half the step. "limit" extrapolates both, since the transcription is of order 2.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "configs" / "textbook"
TIME_LIMIT_S = 600  # of one solution

HEAD = """# A textbook that others wrote

On this page you compare dodyn with the figures that other authors print for problems of optimal control. Each row has its configuration in
`configs/textbook/`. `bench/textbook.py` writes this page; the test `docs.textbook` solves the shipped meshes again.

COPS 3 is the collection of Dolan, More and Munson, with the figures of COPSBenchmark.jl, which accepts 1e-4 on them. The figures of dymos are those of its
tests. "Limit" extrapolates both meshes by order 2.

Sources use schemes and meshes of their own, so their last digits may be those of their mesh. Three limits below have a closed form: the hanging chain is a
catenary with 5.0684801, the particle a bilinear tangent law with 0.5545709, the brachistochrone a cycloid with 1.8016031. The hang glider of COPS gains 7 m
from its mesh of 100 steps.

| problem | source | published | dodyn, as shipped | on half the step | limit | configuration |
|---|---|---|---|---|---|---|
"""

# Problem, source, published figure as printed, configuration, phase (none for gaits), shipped intervals, sign or factor
# from cost to figure, unit, and the permitted relative error of the shipped figure. The biped's cost is divided by
# weight and step, 40 kg x 9.81 m/s2 x 0.5 m.
ROWS = [
    ("rest to rest, squared force", "closed form", "12.000", "rest-to-rest", "push", 200, 1.0, "", 1e-4),
    ("rest to rest, shortest time", "closed form", "2.0000", "double-integrator", "push", 100, 1.0, "s", 1e-6),
    ("mass on a spring, shortest time", "closed form", "1.823477", "oscillator", "swing", 200, 1.0, "s", 1e-4),
    ("moon lander, least fuel", "closed form", "8.246211", "moon-lander", "descent", 200, 1.0, "N s", 1e-5),
    ("Bryson and Denham, x below 1/9", "closed form", "4.000", "bryson-denham", "there and back", 120, 1.0, "", 5e-4),
    ("hypersensitive, 10 s", "closed form", "1.673094", "hypersensitive", "decay", 400, 1.0, "", 1e-6),
    ("flying robot, shortest time", "dymos", "20.0", "flying-robot", "flight", 100, 1.0, "s", 1e-6),
    ("brachistochrone", "dymos", "1.8016", "brachistochrone", "fall", 100, 1.0, "s", 2e-4),
    ("particle steering", "COPS 3, 200 intervals", "0.554577", "particle-steering", "thrust", 200, 1.0, "s", 1e-4),
    ("robot arm", "COPS 3, 200 intervals", "9.14138", "robot-arm", "turn", 200, 1.0, "s", 1e-4),
    ("hanging chain", "COPS 3, 800 intervals", "5.06891", "hanging-chain", "curve", 200, 1.0, "", 1e-4),
    ("catalyst mixing", "COPS 3, 100 intervals", "-0.0480556", "catalyst-mixing", "reactor", 100, 1.0, "", 5e-4),
    ("hang glider", "COPS 3, 100 intervals", "1255.05", "hang-glider", "glide", 100, -1.0, "m", 7e-3),
    ("cart-pole, squared force", "Kelly; dymos", "58.8839", "cart-pole", "swing", 200, 1.0, "N2 s", 2e-2),
    ("five-link biped, squared torques", "Kelly, who prints none; Hermite-Simpson", "469.641", "five-link-biped", "", 100, 196.2, "N2 m2 s", 5e-4),
]  # fmt: skip


def solved(program, name, words):
    """Returns the cost and whether the evaluation is usable, or else the end of its output."""
    with tempfile.TemporaryDirectory(prefix="dodyn-textbook-") as folder:
        done = subprocess.run([str(program), "solve", str(CONFIGS / f"{name}.cfg"), *words], cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S)
    cost, status = (re.search(rf"^{key} +(\S+)", done.stdout, re.M) for key in ("cost", "status"))
    if done.returncode or not cost or not status or status[1] != "ok":
        raise SystemExit(f"{name}: exit code {done.returncode}, {(done.stderr or done.stdout).strip()[-300:]}")
    return float(cost[1])


def digits(value, published):
    """Formats a value with two more digits after the point than the source prints."""
    after = len(published.split(".")[1]) if "." in published else 0
    return f"{value:.{min(after + 2, 8)}f}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("--check", action="store_true")
    options = arguments.parse_args()
    program = options.program.resolve()
    missed = 0
    if not options.check:
        print(HEAD, end="")
    for problem, source, published, name, phase, intervals, factor, unit, tolerance in ROWS:
        text = (CONFIGS / f"{name}.cfg").read_text(encoding="utf-8")
        if f"intervals = {intervals}\n" not in text:
            raise SystemExit(f"{name}: its configuration does not have {intervals} intervals")
        shipped = factor * solved(program, name, [])
        off = abs(shipped / float(published) - 1)
        if options.check:
            missed += off > tolerance
            print(f"{problem}: {shipped:.9g}, published {published}, off by {off:.1e} of {tolerance:g}{'' if off <= tolerance else ': MISSED'}")
            continue
        finer = factor * solved(program, name, [f"--phase.{phase}.intervals" if phase else "--gait.intervals", str(2 * intervals)])
        cells = [digits(value, published) for value in (shipped, finer, finer + (finer - shipped) / 3)]
        print(f"| {problem} | {source} | {published} {unit} | {' | '.join(cells)} | `{name}` |".replace("  ", " "), flush=True)
    if not options.check:
        print(TAIL, end="")
    return 1 if missed else 0


TAIL = """
The first row is 12/(1 - 1/K^2) on K steps. Where the control switches inside a step, order 2 holds on average only.
The cart-pole has several extremals. 5 of 8 initial guesses find the one that its sources print (58.853, with a limit of 58.8077), and 3 find a better one. The
figure by dymos exceeds it because of its mesh.
On 40 intervals `motion.order = 6` gives 57.944789 and 58.8077, which are six digits of both limits; order 4 gives 57.9490 and 58.8116.

Problems are written as a mass that forces push. Some sources have no mechanics (`configs/textbook/hanging-chain.cfg`):

* a coordinate of unit mass has the source's right side as its force;
* `[actuator]` with `force = 0, 0` is a control that acts in expressions alone;
* `require` with `==` states a rate.

A control that only pushes is `require = u.motor >= 0` (`configs/textbook/moon-lander.cfg`).

Not here:

* Goddard's rocket, whose mass is a state (no initial guess converged);
* Kelly's acrobot and walker, whose sources print no figure;
* problems with the time in their cost or constraints, which nobody has set up yet.
"""

if __name__ == "__main__":
    sys.exit(main())
