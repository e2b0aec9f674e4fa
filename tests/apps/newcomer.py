"""Mistakes of a newcomer: what is typed, and what the program says. Usage: newcomer.py DODYN ROOT

Every line ends with exit code 2, says one line on the error stream, and writes nothing.
"""
import os
import subprocess
import sys
import tempfile

DODYN, ROOT = (os.path.abspath(word) for word in sys.argv[1:3])
KNEE = f"{ROOT}/configs/knee.cfg"
FILES = {
    "f.cfg": "[study]\nevaluator = testfunction\n[surrogate]\nstrategy = sweep\npoints = 3\n[testfunction]\nname = forrester\n"
             "[design]\nx.min = 0\nx.max = 1\n",
    "outside.cfg": "evaluator = gait\n[design]\nknee.min = 0.3\nknee.max = 0.6\n",
    "json.cfg": '{"study": {"evaluator": "gait"}}\n',
    "wrong-section.cfg": "[study]\nevaluator = gait\n[gait]\nstep-length = 0.5\n",
    "dots.cfg": "[study]\nevaluator = gait\n[design]\nknee = 0.3 .. 0.6\n",
    "empty.cfg": "[study]\nevaluator = gait\n[design]\nknee.min = 0.6\nknee.max = 0.3\n",
    "half.cfg": "[study]\nevaluator = gait\n[design]\nknee.min = 0.6\n",
    "fixed.cfg": "[study]\nevaluator = gait\n",
}
# What is typed behind dodyn, and what the line must hold.
MISTAKES = [
    ("f.cfg", "'f.cfg' is a configuration; did you mean: dodyn run f.cfg"),
    ("done.h5", "'done.h5' is an archive; did you mean: dodyn show done.h5"),
    ("rnu f.cfg", "unknown command 'rnu' (did you mean 'run'?)"),
    ("run", "usage: dodyn run CONFIG|ARCHIVE [--exit-code-file FILE] [--trust] [--key value ...]; for example: dodyn run configs/knee.cfg"),
    ("run ff.cfg", "ff.cfg: no such file (did you mean 'f.cfg'?)"),
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
    ("run fixed.cfg", "no design variable is free"),
    ("run outside.cfg", "outside.cfg:1: 'evaluator' stands before any [section]; write [study] above it"),
    ("run json.cfg", "is not understood; allowed: [section], key = value, # comment"),
    ("run f.cfg --study.archive nowhere/a.h5", "study.archive = nowhere/a.h5: the folder nowhere does not exist"),
    ("run f.cfg --study.archive done.h5 --study.seed 2", "done.h5 belongs to another study: study.seed: 1 / 2 (archive / now)"),
    ("run f.cfg --exit-code-file", "--exit-code-file has no value; allowed: a file to write the exit code to"),
    ("run f.cfg --exit-code-file --study.seed 2", "--exit-code-file has no value"),
    ("rerun f.cfg", "give one of --failed and --ids"),
    ("solve f.cfg", "design.x is free, from 0 to 1; give its value: --design.x 0.5"),
    ("solve KNEE", 'design.knee is free, from 0.25 to 0.7 m; give its value: --design.knee "0.475 m"'),
    ("simulate KNEE", "the evaluator gait is no simulation"),
    ("show done.h5 --csvv", "'--csvv' is not understood (did you mean '--csv'?)"),
    ("show done.h5 --csv=yes", "--csv takes no value"),
    ("show done.h5 --sort cost --sort x", "--sort is given twice"),
    ("show done.h5 more", "'more' is not understood; usage: dodyn show ARCHIVE"),
    ("predict done.h5 --design.x 3", "--design.x = 3 is outside the study's range; allowed: a number from 0 to 1"),
    ("predict done.h5 --design.y 3", "'--design.y' is not understood (did you mean '--design.x'?)"),
    ("sensitivity done.h5 --samples many", "--samples is not allowed; allowed: a number from 64 to 1048576"),
    ("merge all.h5", "usage: dodyn merge OUT IN [IN ...]; for example: dodyn merge all.h5 knee-1.h5 knee-2.h5"),
]


def run(line):
    return subprocess.run(f"{DODYN} {line.replace('KNEE', KNEE)}", shell=True, capture_output=True, text=True, timeout=120)


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
    os.chdir("/")
print(f"{len(MISTAKES) - wrong} of {len(MISTAKES)} mistakes are met with the right line")
sys.exit(wrong > 0)
