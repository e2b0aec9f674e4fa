#!/usr/bin/env python3
"""How often eight initial guesses find the best known motion of machines that are hard to guess for.

    bench/guesses.py PROGRAM [PROGRAM ...]     # a table in Markdown, for docs/measured/motions.md; several programs are compared

Each motion is solved from forty seeds. The best cost is the lowest that any of the runs has found.
"""
import argparse
import pathlib
import resource
import subprocess
import tempfile

from orders import PENDULUM

ROOT = pathlib.Path(__file__).resolve().parent.parent
SEEDS = range(1, 41)
SAME_COST = 1e-3  # relative

CART = """[link cart]
parent = ground
joint = prismatic x
coordinates = x
mass = 1
inertia = 0
"""
RODS = """[model]
dimension = 2
gravity = 9.81
[link upper]
parent = ground
joint = revolute
coordinates = a
end = 0, -1
mass = 1
inertia = 1/12
[link lower]
parent = upper
joint = revolute
coordinates = b
end = 0, -1
mass = 1
inertia = 1/12
[spring elbow]
coordinate = b
stiffness = 2
damping = 0.1
[actuator elbow]
coordinate = b
"""


def pendulums(parent: str, mass: float, actuated: str) -> str:
    """Two point masses (kg) at massless rods of 0.5 m, one below the other."""
    return f"""[model]
dimension = 2
gravity = 9.81
{CART if parent == "cart" else ""}[link upper]
parent = {parent}
joint = revolute
coordinates = a
end = 0, -0.5
[link lower]
parent = upper
joint = revolute
coordinates = b
[mass middle]
link = upper
at = 0, -0.5
mass = {mass}
[mass tip]
link = lower
at = 0, -0.5
mass = {mass}
[actuator motor]
coordinate = {actuated}
"""


def swing(duration: str, coordinates: str, cost: str) -> str:
    """A swing-up from hanging at rest; the first angle turns by pi."""
    start = "".join(f"{c} = 0\n" for c in coordinates)
    goal = "".join(f"{c} = {'pi' if c == 'a' else '0'}\nrate({c}) = 0\n" for c in coordinates)
    return f"""[study]
evaluator = motion
[motion]
model = machine.model
initial-guesses = 8
validity-check = warn
order = 4
[phase swing]
intervals = 60
duration = {duration}
[initial-state]
{start}momentum = 0
[goal]
{goal}[cost]
{cost} = 1
"""


MOTIONS = {
    "acrobot of two point masses, 2 s": (pendulums("ground", 1, "b"), swing("2", "ab", "squared-control")),
    "acrobot of two rods, spring, 2 s": (RODS, swing("2", "ab", "squared-control")),
    "cart with two pendulums, 2.5 s": (pendulums("cart", 0.3, "x"), swing("2.5", "xab", "squared-control")),
    "pendulum, motor of a quarter of its weight, shortest time": (PENDULUM + "limit = 2.5\n", swing("0.5 .. 10", "a", "time")),
}
SHIPPED = {"Kelly's cart-pole": "configs/textbook/cart-pole.cfg", "swing-up of the shipped study": "configs/swing-up.cfg"}


def solved(program: str, config: pathlib.Path, seed: int) -> tuple[float, int, int]:
    """Returns the cost (infinite: no motion), and the numbers of guesses that were solved and made."""
    done = subprocess.run([program, "solve", str(config), "--study.seed", str(seed)], capture_output=True, text=True, cwd=config.parent)
    row = dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) > 1)
    cost = float(row["cost"]) if row.get("status") == "ok" else float("inf")
    return cost, int(row.get("metrics.guesses_solved", 0)), int(row.get("metrics.guesses", 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+")
    programs = [str(pathlib.Path(p).resolve()) for p in parser.parse_args().programs]
    print("| motion | best cost | seeds that found it | median cost | guesses solved | processor time, s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        configs = {name: ROOT / path for name, path in SHIPPED.items()}
        for i, (name, (model, study)) in enumerate(MOTIONS.items()):
            place = pathlib.Path(folder) / str(i)
            place.mkdir()
            (place / "machine.model").write_text(model)
            (place / "study.cfg").write_text(study)
            configs[name] = place / "study.cfg"
        for name, config in configs.items():
            rows = []
            for program in programs:
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
                runs = [solved(program, config, seed) for seed in SEEDS]
                rows.append((runs, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before))
            best = min(cost for runs, _ in rows for cost, _, _ in runs)
            for number, (runs, seconds) in enumerate(rows):
                costs = sorted(cost for cost, _, _ in runs)
                found = sum(cost <= best * (1 + SAME_COST) for cost in costs)
                of = f" ({pathlib.Path(programs[number]).name})" if len(programs) > 1 else ""
                print(f"| {name}{of} | {best:.6g} | {found} of {len(runs)} | {costs[len(costs) // 2]:.6g} "
                      f"| {sum(r[1] for r in runs)} of {sum(r[2] for r in runs)} | {seconds:.1f} |", flush=True)


main()
