#!/usr/bin/env python3
"""Every system of the source documents: the published figure, the command, and the figure that the command prints.

    bench/sources.py PROGRAM > docs/measured/sources.md
    bench/sources.py PROGRAM --only wedge,knee                         # rows whose names contain one of these
    bench/sources.py PROGRAM --compare docs/measured/sources.md        # prints rows whose figures differ by more than 0.1 %; exit code 1
    bench/sources.py PROGRAM --compare docs/measured/sources.md --short     # without rows that take more than 5 s

Run it before and after a change that touches an algorithm.
"""
import argparse
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
DIGITS = 5  # significant digits of a figure on the page
TOLERANCE = 1e-3  # relative difference of figures that is reported
ROUND_OFF = 1e-7  # J, m, N s: smaller errors are shown as powers of ten; the systems have 0.01 to 200 J
TIME_LIMIT_S = 3600  # of one row

HEAD = """# The systems of the sources

Each row has a system of the source documents, the published figure, the figure of dodyn, and the command that prints it. `bench/sources.py`
writes this page. The test `docs.sources` repeats the rows that take less than 5 s; with the label `long` it repeats all of them.

Sources: P10 is Pekarek's thesis (2010), PM08 Pekarek and Marsden (2008), PM12 Pekarek and Murphey (2012), J13 Johnson's thesis (2013), A22 Anahory
Simoes and others (2022). [Published figures](published-figures.md) explains what the figures of gaits can and cannot be compared with.
"none" means that the source prints no number for the system: there are pictures or statements, and dodyn's figure is an exact property.

| system | source | published | dodyn | comparable? | `dodyn ...` |
|---|---|---|---|---|---|
"""


def metric(name):
    return rf"^(?:metrics\.)?{name} +([-+.\de]+)"


BEST = r"^best: (\S+) at"
BELOW_1E_5 = r"^cost +([.\d]+e-(?:0[6-9]|[1-9]\d))$"  # cost of a goal that can be met exactly
KNEE = r"^best: \S+ at knee = (\S+)"
COST = metric("cost")
ENERGY = r"unaccounted for ([-+.\de]+ J)"
IMPACT_LOSS = r"by impacts and friction ([-+.\de]+ J)"
STEPS_ERROR = r"errors of steps ([-+.\de]+ J)"
OVERLAP = r"^largest +overlap ([-+.\de]+ m)"
TOUCHES = metric("contact_wall")
END = r"^ended +(.*?),? \d+ steps"

# System, source, command after `dodyn` with {c} for the folder of configurations, {text with the figure: its pattern},
# published figure, limits of the comparison, and whether the row takes more than 5 s. {} stands for the figure. {size}
# stands for the power of ten of a figure that is round-off.
ROWS = [
    ("knee placement, search", "P10, 5.3", "run {c}/published/knee-free.cfg --surrogate.gradient false",
     {"{} evaluations": r"^(\d+) evaluations now", "cost {}": BEST, "knee {}": KNEE}, "9 evaluations; cost 4.44e-4",
     "the number of evaluations; costs are of another problem, since the printed one has infimum 0", True),
    ("planar biped as printed, knee 0.5 m", "P10, 4.2.2", "solve {c}/published/knee-published.cfg --design.knee 0.5", {"cost {size}": COST}, "1.59e-3",
     "no: the printed problem has infimum 0", True),
    ("underactuated planar biped, knee 0.5 m", "PM08, 5.2", "solve {c}/knee-underactuated.cfg --design.knee 0.5",
     {"cost {}": COST, "work {} J": metric("absolute_work")}, "0.034", "no: the paper's cost, limits and knee are unknown; without heat, 0.041 to 0.065 ([work](work.md))", True),
    ("wedge", "P10, 3.5.1", "simulate {c}/wedge.cfg --design.tilt 0.32", {"first impact {} s": r"([\d.]+) s  impact of right"}, "0.158 s",
     "in size: the tilt at the start is not printed", False),
    ("wedge, Stoermer-Verlet, 10 ms", "P10, 3.5.1",
     'simulate {c}/wedge.cfg --design.tilt 0.32 --hybrid.method stoermer-verlet --hybrid.order 2 --hybrid.step "10 ms" --hybrid.nodes 31',
     {"first impact {} s": r"([\d.]+) s  impact of right", "it loses {} J": r"impact of right, loses ([\d.]+)"},
     "error 3.75e-5 s; of the loss 1.41e-3 %", "against the row above: time 1.6e-5 s, smaller; loss 0.068 %, larger", False),
    ("bar, dropped", "P10, 2; PM08, 4", "simulate {c}/bar-drop.cfg", {"first impact {} s": r"([\d.]+) s  impact of tip", "energy error {size}": STEPS_ERROR},
     "none", "energy is conserved to round-off", False),
    ("bar, projected Hamilton's principle", "PM12, III",
     'simulate {c}/bar-drop.cfg --hybrid.method projected --hybrid.order 6 --hybrid.step "2 ms"',
     {"k_c {} 1/m2": r"above k_c = (\d+)", "first impact {} s": r"([\d.]+) s  impact of tip"}, "k > 36/L^2", "yes: the bar is 1 m long", False),
    ("bar on a wire", "PM12, IV", "simulate {c}/wire-bar.cfg", {"{} events": r"^events +(\d+)", "energy error {size}": STEPS_ERROR}, "none",
     "energy is conserved to round-off", False),
    ("particle over y + 2 sin x", "PM12, I", "simulate {c}/particle-drop.cfg", {"{} events": r"^events +(\d+)", "energy error {size}": STEPS_ERROR},
     "picture", "energy is conserved to round-off", False),
    ("pendulum and wall", "PM12, V", "simulate {c}/pendulum-wall.cfg", {"first impact {} s": r"([\d.]+) s  impact of wall", "energy error {size}": STEPS_ERROR},
     "none", "energy is conserved to round-off", False),
    ("two links", "PM08, 4", "simulate {c}/two-link.cfg", {"{} events": r"^events +(\d+)", "energy error {size}": STEPS_ERROR}, "none",
     "energy balance to round-off", False),
    ("slider-crank", "P10, 3", "simulate {c}/slider-crank.cfg", {"{} events": r"^events +(\d+)", "energy error {size}": STEPS_ERROR}, "none",
     "energy balance to round-off", False),
    ("slip walker, passive gait", "A22, III, IV", "solve {c}/slip-walker.cfg",
     {"period {} s": metric("period"), "multiplier {}": metric("floquet_multiplier"), "stride {} m": metric("stride")}, "none", "", False),
    ("slip walker, tracking", "A22, V", "solve {c}/slip-walker-track.cfg", {"cost {}": COST}, "picture", "", False),
    ("soft cubes, 16", "J13, 3.3.4", "simulate {c}/scene-fe-cubes.cfg",
     {"first contact {} s": r"^contact +from ([\d.]+)", "last {} s": r"^contact +from [\d.]+ to ([\d.]+)", "energy error {}": r"changed by at most ([\d.]+ J)"},
     "84 ms; about 45 ms of contact", "the first contact; the last one is that of all pairs", False),
    ("soft latch", "J13, 3.3.4", "simulate {c}/scene-fe-latch.cfg", {"{}": r"^outcome +(\w+)"}, "holds, at 1e5 Pa", "in words: one pin in the plane; its shape and its 5 kg/m3 are not the source's", False),
    ("charged hexagons", "J13, 3.3.4", "simulate {c}/scene-hexagons.cfg", {"radius of gyration {} m": COST}, "picture: a grid",
     "packed they have 0.5477 m", True),
    ("the same without charges", "J13, 3.3.4", "simulate {c}/scene-hexagons.cfg --design.charge 0", {"radius of gyration {} m": COST},
     "picture: they disperse", "in words", True),
    ("cradle, decomposition", "J13, 3.3.5", "simulate {c}/scene-cradle.cfg --simulation.contact-method projection",
     {"largest impulse {} N s": r"in a step ([\d.]+) N s", "energy error {size}": ENERGY}, "the last cube at 0.105 m/s", "yes: mass 6.109 kg times 0.105 m/s", False),
    ("cradle, exact impacts", "J13, 3.4.3", "simulate {c}/scene-cradle.cfg --simulation.contact-method event-driven",
     {"largest impulse {} N s": r"in a step ([\d.]+) N s", "energy error {size}": ENERGY}, "the last cube at 0.105 m/s", "yes: mass 6.109 kg times 0.105 m/s", False),
    ("cradle, two strikers", "J13, 3.4.3",
     "simulate {c}/scene-cradle.cfg --simulation.contact-method event-driven --initial-states.gap 0.01 '--initial-state.cube_5_x=(5 + 2*gap)*side' '--initial-state.rate(cube_5_x)=-speed'",
     {"largest impulse {} N s": r"in a step ([\d.]+) N s", "energy error {size}": ENERGY}, "both end cubes leave", "yes: each impulse reverses 0.105 m/s, 2 x 6.109 kg x 0.105 m/s", False),
    ("metronome", "J13, 3.3.5", "simulate {c}/scene-metronome.cfg", {"largest impulse {} N s": r"in a step ([\d.]+) N s", "energy error {}": ENERGY}, "picture",
     "the energy of 0.063 J is conserved to 1e-5 of it", False),
    ("falling polyhedra", "J13, 3.3.5", "simulate {c}/scene-polyhedra.cfg", {"ends: {}": END, "overlap {size}": OVERLAP, "energy error {size}": ENERGY}, "picture",
     "they rest", False),
    ("cube, dropped", "J13, 3.5.6", "simulate {c}/scene-bounce.cfg", {"impacts and friction take {}": IMPACT_LOSS, "energy error {size}": ENERGY}, "picture",
     "peaks at e^2 of the height before", False),
    ("box, sliding", "J13, 3.5.6", "simulate {c}/scene-sliding.cfg", {"impacts and friction take {}": IMPACT_LOSS, "energy error {size}": ENERGY}, "picture",
     "", False),
    ("plastic blocks, one at rest", "J13, 3.5.6", "simulate {c}/scene-blocks.cfg", {"kinetic energy after {}": r"^energy +kinetic .*? J -> ([-+.\de]+ J)"},
     "half the speed", "yes: half of the energy of 0.763675 J is left", False),
    ("plastic blocks, head on", "J13, 3.5.6", "simulate {c}/scene-blocks.cfg --initial-states.second=-0.5",
     {"kinetic energy after {size}": r"^energy +kinetic .*? J -> ([-+.\de]+ J)"}, "rest", "yes", False),
    ("charged prisms", "J13, 3.5.6", "simulate {c}/scene-prisms.cfg", {"radius of gyration {} m": COST}, "picture: they clump",
     "packed they have 0.3207 m; charge 5e-3, ten times the printed one", False),
    ("charged prisms, printed charge", "J13, 3.5.6", "simulate {c}/scene-prisms.cfg --design.charge 5e-4", {"radius of gyration {} m": COST},
     "they clump, K = 5e-4", "no: gap and drift at the start are not printed; with dodyn's they disperse", False),
    ("charged prisms, printed charge, slow", "J13, 3.5.6", 'simulate {c}/scene-prisms.cfg --design.charge 5e-4 --initial-states.speed 0.001 --simulation.end "60 s"',
     {"radius of gyration {} m": COST}, "they clump, K = 5e-4", "yes, in words: with a drift of 1 mm/s they are packed (0.3207 m) after 60 s", False),
    ("docking, one initial state", "J13, 3.7.2", 'simulate {c}/docking.cfg --design.spacing "30 mm" --initial-state 12', {"ends: {}": r"^ended +(\w+)"}, "curve",
     "of another pair of craft: [docking](../cases/docking.md)", False),
    ("docking, first ports", "J13, 3.7.2", "solve {c}/docking-first.cfg --design.friction 0.6",
     {"docked {}": r"^docked +(\d+ of \d+)", "jammed {}": r"^jammed +(\d+ of \d+)"}, "picture; they often jam",
     "in words: with a fit of 1 mm 1 of 100 jams; ports and initial states are not printed", True),
    ("satellites", "J13, 4.3", "solve {c}/satellites.cfg --motion.time-limit-per-guess 3600", {"effort {}": COST}, "23.71 to 16.50", "no: shapes and poses are not printed; the first number is that of the initial guess", True),
    ("knot burr", "J13, 4.3", "solve {c}/burr.cfg --motion.time-limit-per-guess 3600", {"effort {}": COST}, "84.9 to 0.0630", "no: the shapes of the pieces are not printed", True),
    ("articulated manipulator", "J13, 4.3, A", "solve {c}/manipulator.cfg --motion.time-limit-per-guess 3600", {"effort {}": COST}, "9.412 to 1.335e-2", "no: links, masses and obstacle are not printed; most of dodyn's holds its chain up", True),
    ("cube and wall, penalty", "J13, 4.4.2", "solve {c}/cube-wall.cfg --motion.contact penalty --phase.only.intervals 30 --contact.wall.node 9", {"effort {}": COST}, "touches at 0.27 s",
     "no: cube, places and attitude are not printed", False),
    *((f"cube and wall, contact at node {node}", "J13, table 4.1", f"solve {{c}}/cube-wall.cfg --phase.only.intervals 30 --contact.wall.node {node}",
       {"effort {}": COST, "at {} s": TOUCHES}, published, "that the node hardly matters: cube, places and attitude are not printed", False)
      for node, published in ((4, "1.0244e-6 at 0.2180 s"), (9, "1.0194e-6 at 0.2172 s"), (14, "1.0005e-6 at 0.2165 s (printed as 0.2156 s)"))),
    ("two cubes", "J13, 4.4.3.1", "solve {c}/two-cubes.cfg --motion.time-limit-per-guess 3600", {"effort {}": COST}, "2.857e-5", "no: cubes, places and restitution are not printed", True),
    ("die", "J13, 4.4.3.1", "solve {c}/dice.cfg --motion.time-limit-per-guess 3600", {"effort below 1e-05": BELOW_1E_5}, "contacts at nodes 20, 22 and 40", "no: throw, sizes and bounds are not printed; one contact with the wall instead of two", True),
    ("coils, table B.1", "J13, B.0.6", "solve {c}/coil-fit.cfg",
     {"fit {}": r"^error of the fit (.*)", "table {}": r"^of the table +(.*)"}, "below 10 %", "no: the printed coefficients are 0.95 to 3.9 off", False),
    ("air table", "J13, B.0.5", 'simulate {c}/air-table.cfg --air-table.time "10 s"', {"drift with cancelling: {} of that without": r": ([\d.]+) of it"},
     "cancelling fails", "yes: it drifts more with it", False),
]
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")


def rounded(text):
    return NUMBER.sub(lambda m: f"{float(m.group()):.{DIGITS}g}" if re.search("[.e]", m.group()) else m.group(), text)


def figures(output, patterns):
    """Returns the figures of the output as text. None if one is missing."""
    found = []
    for what, pattern in patterns.items():
        match = re.search(pattern, output, re.M)
        if not match:
            return None
        if "{size}" in what:
            number = abs(float(NUMBER.search(match[1])[0]))
            found.append(what.format(size="at round-off" if number < ROUND_OFF else f"below {10.0 ** math.ceil(math.log10(number)):.0e}"))
        else:
            found.append(what.format(rounded(match[1])))
    return "; ".join(found)


def agree(one, other):
    """Returns whether the words are equal and the numbers differ by at most the tolerance."""
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (one, other)]
    return (NUMBER.sub("#", one) == NUMBER.sub("#", other) and len(numbers[0]) == len(numbers[1])
            and all(abs(a - b) <= TOLERANCE * max(abs(a), abs(b)) for a, b in zip(*numbers)))  # fmt: skip


def run(program, command, patterns):
    with tempfile.TemporaryDirectory(prefix="dodyn-sources-") as folder:
        words = [str(program)] + shlex.split(command.format(c=ROOT / "configs"))
        try:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return None, f"no answer within {TIME_LIMIT_S} s"
    return figures(done.stdout, patterns), f"exit code {done.returncode}, " + (done.stderr.strip() or done.stdout.strip())[-160:].replace("\n", " ")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("program", type=pathlib.Path)
    arguments.add_argument("--only", help="names of rows that contain one of these, separated by commas")
    arguments.add_argument("--compare", type=pathlib.Path)
    arguments.add_argument("--short", action="store_true")
    options = arguments.parse_args()
    program = options.program.resolve()
    earlier = {}
    if options.compare:
        for line in options.compare.read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            if len(cells) == 6:
                earlier[cells[0]] = cells
    else:
        print(HEAD, end="", flush=True)
    wrong = 0
    for name, source, command, patterns, published, comparable, is_long in ROWS:
        if (options.short and is_long) or (options.only and not any(part in name for part in options.only.split(","))):
            continue
        value, reason = run(program, command, patterns)
        cells = [name, source, published, value or f"none: {reason}", comparable or "-", f"`{command.format(c='configs')}`"]
        wrong += value is None
        row = "| " + " | ".join(cells) + " |"
        if options.compare is None:
            print(row, flush=True)
        elif name not in earlier or [c for i, c in enumerate(cells) if i != 3] != [c for i, c in enumerate(earlier[name]) if i != 3]:
            wrong += 1
            print(f"{options.compare} has another row for: {row}")
        elif not agree(cells[3], earlier[name][3]):
            wrong += 1
            print(f"{name}: {cells[3]}; {options.compare} has: {earlier[name][3]}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
