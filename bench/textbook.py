#!/usr/bin/env python3
"""Published problems of optimal control, in configs/textbook/: their figures next to the program's.

    bench/textbook.py PROGRAM > docs/measured/textbook.md
    bench/textbook.py PROGRAM --only rayleigh goddard   # prints the rows of these configurations
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
tests. PSOPT has its figures in `doc/SQP_ALL_EXAMPLES.csv` and in its document of examples, PROPT in its manual. "Limit" extrapolates both meshes by order 2.

Sources use schemes and meshes of their own, so their last digits may be those of their mesh. Eleven limits below have a closed form, or an independent program
gives them:

| problem | figure | by |
|---|---|---|
| hanging chain | 5.0684801 | a catenary |
| particle steering | 0.5545709 | a bilinear tangent law |
| brachistochrone | 1.8016031 | a cycloid |
| Goddard's rocket | 1.0128369 | full thrust, a singular arc, no thrust, integrated to 1e-12 |
| moon lander, most mass | 0.3953544 | free fall, then full thrust |
| Bryson's maximum range | 1.7123149 | shooting with the costates |
| Rayleigh's oscillator | 29.3760797 | collocation of the equations with costates |
| force that changes by 4 N/s | 24/13 | full rate for 0.375 s, then a straight line |
| limit that moves with the time | 0.1698205 | two free arcs, and one on the limit from 0.2901 s to 0.7013 s |
| two-link arm, shortest time | 2.9822799 | four arcs of full torques, switched at 0.943 s, 1.491 s and 2.628 s |
| singular control 5 | 0.1192475 | gradients of 100 and 200 constant controls, extrapolated |

The hang glider of COPS gains 7 m from its mesh of 100 steps. The arm of PSOPT loses 0.2 % by its 40 nodes, and PSOPT finds 0.1698180 with the moving limit.

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
    ("hanging chain", "COPS 3, 200 intervals", "5.06891", "hanging-chain", "curve", 200, 1.0, "", 1e-4),
    ("catalyst mixing", "COPS 3, 100 intervals", "-0.0480556", "catalyst-mixing", "reactor", 100, 1.0, "", 5e-4),
    ("hang glider", "COPS 3, 100 intervals", "1255.05", "hang-glider", "glide", 100, -1.0, "m", 7e-3),
    ("cart-pole, squared force", "Kelly; dymos", "58.8839", "cart-pole", "swing", 200, 1.0, "N2 s", 2e-2),
    ("Goddard's rocket", "COPS 3, 400 intervals", "1.01283", "goddard", "ascent", 100, -1.0, "", 3e-5),
    ("moon lander, most mass", "dymos", "0.3953", "burning-lander", "descent", 100, -1.0, "", 3e-4),
    ("Bryson's maximum range", "PSOPT, 50 nodes", "1.712313", "max-range", "path", 50, -1.0, "m", 3e-4),
    ("two-link arm, shortest time", "PSOPT, 40 nodes", "2.988662", "two-link-arm", "turn", 200, 1.0, "s", 3e-3),
    ("Rayleigh's oscillator", "PROPT, 50 points", "29.376080", "rayleigh", "swing", 200, 1.0, "", 3e-4),
    ("interior point", "closed form", "0.9205314", "interior-point", "path", 200, 1.0, "", 1e-5),
    ("force that changes by 4 N/s", "PSOPT, 40 nodes", "1.846315", "control-rate", "push", 200, 1.0, "N2 s", 3e-4),
    ("limit that moves with the time", "PROPT, 50 points", "0.169824", "moving-limit", "path", 200, 1.0, "", 1e-4),
    ("singular control 5", "PSOPT, 100 nodes", "0.1192613", "singular-control", "path", 100, 1.0, "", 2e-3),
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
    arguments.add_argument("--only", nargs="+", metavar="NAME", help="configurations; prints their rows alone")
    options = arguments.parse_args()
    program = options.program.resolve()
    missed = 0
    page = not options.check and not options.only
    if page:
        print(HEAD, end="")
    for problem, source, published, name, phase, intervals, factor, unit, tolerance in ROWS:
        if options.only and name not in options.only:
            continue
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
    for name, intervals, least, most in TRANSPORT:
        if options.only and name not in options.only:
            continue
        costs = [solved(program, name, ["--gait.intervals", str(intervals * factor)]) for factor in (1, 2, 4)]
        ratio = (costs[0] - costs[1]) / (costs[1] - costs[2])
        if options.check:
            missed += not least < ratio < most
            print(f"{name}: {costs[0]:.6f}, {costs[1]:.6f}, {costs[2]:.6f}, ratio {ratio:.1f} of {least:g} to {most:g}")
        else:
            transport = f"| `{name}` | {intervals} | {' | '.join(f'{cost:.6f}' for cost in costs)} | {ratio:.1f} |"
            print(TRANSPORT_HEAD + transport if page else transport)
    if page:
        print(TAIL, end="")
    return 1 if missed else 0


# Costs of transport: configuration, shipped intervals, and the permitted ratios of the differences from K to 2K and from 2K to 4K. Order 2 gives 4.
TRANSPORT = [("five-link-transport", 50, 3.0, 6.0)]

TRANSPORT_HEAD = """
A cost of transport has no published figure. Kelly's form of the biped "does not pass strict convergence tests". This one adds 0.02 of the squared torque,
which makes the torques continuous ([why](work.md#it-converges-with-the-mesh)). Its differences fall with order 2:

| configuration | K | cost on K intervals | 2 K | 4 K | ratio of the differences |
|---|---|---|---|---|---|
"""

TAIL = """
The first row is 12/(1 - 1/K^2) on K steps. Where the control switches inside a step, order 2 holds on average only.
The cart-pole has several extremals. 5 of 8 initial guesses find the one that its sources print (58.853, with a limit of 58.8077), and 3 find a better one. The
figure by dymos exceeds it because of its mesh.
On 40 intervals `motion.order = 6` gives 57.944789 and 58.8077, which are six digits of both limits; order 4 gives 57.9490 and 58.8116.

## How to write such a problem

Problems are written as a mass that forces push. Some sources have no mechanics (`configs/textbook/hanging-chain.cfg`):

* a coordinate of unit mass has the source's right side as its force;
* `[actuator]` with `force = 0, 0` is a control that acts in expressions alone;
* `require` with `==` states a rate, and an actuator gives whatever force it needs;
* `t` stands for the time in conditions and costs (`singular-control`, `moving-limit`), not in forces.

A control that only pushes is `require = u.motor >= 0` (`configs/textbook/moon-lander.cfg`). A state such as the mass of a rocket is a coordinate
(`goddard`, `burning-lander`). Four mistakes kept such problems from converging:

* **The initial rate was free.** The force of such a coordinate then has an alternating part that nothing determines. It grew to 4e11 N, and the plan was
  refused. Give the rate a value in `[initial-state]`. Any value is right: the force of the first interval makes up for it.
* **Two limits were the same.** Without thrust the mass stays, so `u.thrust >= 0` keeps it at its last value. A `[joint-limit]` at this value is a second
  condition on the same nodes: no further progress, residual 9e14. Choose limits beyond the goal.
* **A coordinate had no limit where its force grows fast.** Below the ground the air of Goddard's rocket, `exp(-500 h)`, has any density.
* **An angle had no limit.** Without `u.u <= 2` and its counterpart, 500 iterations do not solve `max-range`.

The straight initial guess of `max-range` is solved on 50 and 100 intervals, and not on 200 in 300 iterations. Solve such a problem on a coarse mesh.

A condition at one instant is a limit that opens on both sides of it: `x - 0.9 m <= 100 m/s*abs(t - 0.75 s)` (`interior-point`). The instant must be a
node. A control that begins at zero is `u.push <= (4 N/s)*t` (`control-rate`).

## Not here

* Kelly's acrobot and walker, whose sources print no figure.
* Problems with tables, such as the min-time climb of dymos in a standard atmosphere: an expression has no table.
* Problems whose phases branch, such as the balanced field of dymos: phases follow each other.
* Time in a goal: `[goal]` refuses `t`. A target that moves is a second link.
* Time in the forces of a model, such as an engine that uses up its fuel at a given rate: `[force]` knows no `t`. Say it by `require`.
* The co-design studies of robust_codesign (a pendulum, 189 min; a cart-pole, 884 min). Their swing-up is a motion like the others. Their cost is not: the
  volume of a region of attraction about it, as ellipses of a time-varying regulator that sums of squares certify. dodyn has a regulator along a plan,
  but its weights are fixed, and neither the levels of its ellipses nor such a certificate exist. They would need:
    * the weights `Q` and `R` of the regulator as design variables;
    * the matrices `S(t)` of its Riccati equation as a result;
    * levels `rho(t)` such that no state inside the ellipse `x' S(t) x <= rho(t)` leaves the next one, and their volume as a cost to maximise.
"""

if __name__ == "__main__":
    sys.exit(main())
