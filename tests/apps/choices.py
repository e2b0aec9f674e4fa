"""Lists of names and numbers, whole numbers, conditional variables and conditions on designs, by the command line:
the best beam of configs/command-beam.cfg against all combinations, and strategies that refuse them.

    choices.py DODYN ROOT
"""
import csv
import os
import re
import subprocess
import sys
import tempfile

DODYN, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
CONFIG = os.path.join(ROOT, "configs/command-beam.cfg")
MATERIALS = [(210e9, 7850), (70e9, 2700), (114e9, 4430)]  # in the order of the list
WIDTHS = [0.02, 0.03, 0.045]


def least_mass():
    best = (1e9, None)
    for material, (young, density) in enumerate(MATERIALS):
        second = 500 / (3 * young * 4e-3)  # required second moment of area, m4
        for width in WIDTHS:
            for ribs in range(5):
                for step in range(1001 if ribs else 1):
                    rib = 0.01 + 0.09 * step / 1000
                    rest = second - ribs * 0.003 * rib ** 3 / 12
                    height = max((12 * max(rest, 0) / width) ** (1 / 3), 0.005)
                    if height + rib <= 0.2:
                        best = min(best, (density * (width * height + ribs * 0.003 * rib), (material, width, height, ribs, rib)))
    return best


def run(*words, cwd):
    return subprocess.run([DODYN, *words], cwd=cwd, capture_output=True, text=True, timeout=300)


with tempfile.TemporaryDirectory() as scratch:
    done = run("run", CONFIG, cwd=scratch)
    assert done.returncode == 0, done
    # Text output has names; a CSV file has their numbers, in the order of the list.
    names = ("steel", "aluminium", "titanium")
    table = run("show", "command-beam.h5", cwd=scratch).stdout
    for text in (done.stdout, table):
        assert re.search(r"best: .* material = (steel|aluminium|titanium),", text) and not re.search(r"material = \d", text), text
    assert not re.search(r"material = \d", done.stderr), done.stderr
    rows = list(csv.DictReader(run("show", "command-beam.h5", "--csv", cwd=scratch).stdout.splitlines()))
    assert len(rows) > 20, len(rows)
    column = {name: next(key for key in rows[0] if key.split(" ")[0] in (name, "design." + name, "metrics." + name)) for name in
              ("material", "width", "height", "ribs", "rib-height", "cost", "sag")}
    masses = []
    for row in rows:
        value = {name: float(row[key]) for name, key in column.items()}
        assert value["material"] in (0, 1, 2) and value["width"] in WIDTHS and value["ribs"] == int(value["ribs"]), row
        assert value["ribs"] > 0 or value["rib-height"] == 0.01, row
        assert value["height"] + value["rib-height"] <= 0.2, row
        assert re.search(rf"^{row['id']} .*\b{names[int(value['material'])]}\b", table, re.M), row
        density = MATERIALS[int(value["material"])][1]  # the program received the name that the number stands for
        mass = density * (value["width"] * value["height"] + value["ribs"] * 0.003 * value["rib-height"])
        assert abs(mass - value["cost"]) < 1e-9 * mass, row
        if value["sag"] <= 4:
            masses.append(mass)
    mass, design = least_mass()
    print("least mass", mass, design, "found", min(masses), "in", len(rows))
    assert mass * 0.999 < min(masses) < mass * 1.03, (mass, min(masses))

    # A name of the list fixes the variable, and the program receives the name.
    one = ["--design.width", "0.02", "--design.height", "0.1", "--design.ribs", "0", "--design.rib-height", "0.01"]
    for material, (_, density) in zip(names, MATERIALS):
        done = run("solve", CONFIG, "--design.material", material, *one, cwd=scratch)
        assert done.returncode == 0 and re.search(rf"^cost +{density * 0.002:.10g}$", done.stdout, re.M), done
        assert re.search(rf"^design.material +{material}$", done.stdout, re.M), done
        assert material in run("predict", "command-beam.h5", "--design.material", material, cwd=scratch).stdout.splitlines()[0]

    # Costs without noise: no design is evaluated again, whatever the key.
    for name, noted in (("knee.cfg", True), ("docking-ports.cfg", False)):
        done = run("check", os.path.join(ROOT, "configs", name), "--strategy", "ego", "--surrogate.replicate", "true", cwd=scratch)
        line = next(line for line in done.stdout.splitlines() if "replicate" in line)
        assert done.returncode == 0 and ("not used: costs of gait have no noise" in line) == noted, done

    # solve refuses values that the search cannot choose, as predict does.
    for command, file in (("solve", CONFIG), ("predict", "command-beam.h5")):
        for words, complaint in [(["--design.ribs", "2.5"], "design.ribs = 2.5 is not one of the variable's values; the nearest is 3"),
                                 (["--design.ribs", "0.2"], "design.ribs = 0.2 is not one of the variable's values; the nearest is 0"),
                                 (["--design.width", "0.025"], "design.width = 0.025 is not one of ")]:
            fixed = [word for key, value in zip(one[::2], one[1::2]) if key != words[0] for word in (key, value)]
            done = run(command, file, "--design.material", "steel", *words, *fixed, cwd=scratch)
            assert done.returncode == 2 and complaint in done.stderr and done.stderr.count("\n") == 1, (command, words, done)
    for words in (["--design.ribs", "4"], ["--design.width", "0.03"], ["--design.ribs", "7"]):  # 7 is beyond the range of the search
        fixed = [word for key, value in zip(one[::2], one[1::2]) if key != words[0] for word in (key, value)]
        done = run("solve", CONFIG, "--design.material", "steel", *words, *fixed, cwd=scratch)
        assert done.returncode == 0, (words, done)

    for words, complaint in [
            (["--design.material", "stel"], "did you mean 'steel'"),
            (["--strategy", "bobyqa", "--surrogate.max-failures", "3"], "bobyqa"),
            (["--design.material", "steel, steel"], "twice"),
            (["--design.width", "1, x"], "x"),
            (["--surrogate.design-constraints", "height + depth <= 1"], "depth"),
            (["--surrogate.conditional", "ribs"], "NAME if CONDITION"),
            (["--surrogate.constraints", "1 <= sag <= 0"], "sag"),
            (["--surrogate.log-scale", "width"], "width")]:
        done = run("run", CONFIG, "--study.archive", "other.h5", *words, cwd=scratch)
        assert done.returncode == 2 and complaint in done.stderr and done.stderr.count("\n") == 1, (words, done)
        assert not os.path.exists(os.path.join(scratch, "other.h5")), words
