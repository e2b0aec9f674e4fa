"""Models and motions as dataclasses: every shipped file, read and printed, reads again as the same; for the program both are equal."""

import dataclasses
import glob
import os
import re
import subprocess
import sys
import tempfile

from studies import DODYN, ROOT

os.environ["DODYN"] = DODYN

try:
    import numpy as np

    import dodyn
    from dodyn.model import PARTS, Actuator, Link, Model, Motion, Parameter, Phase, Point, TextError
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

MODELS = sorted(glob.glob(os.path.join(ROOT, "models", "*.model")))
CONFIGURATIONS = sorted(glob.glob(os.path.join(ROOT, "configs", "*.cfg")) + glob.glob(os.path.join(ROOT, "configs", "published", "*.cfg")))


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def checked(path):
    """Returns the program's output for a file, without its name and line numbers."""
    said = subprocess.run([DODYN, "check", path], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    return re.sub(r" +line \d+|(?<=FILE):\d+", "", said.stdout.replace(path, "FILE"))


def models_are_themselves():
    """A model that was read and printed is the same to the program, number by number."""
    assert len(MODELS) > 30
    for path in MODELS:
        model = Model.read(text(path))
        assert Model.read(str(model)) == model, path
        with open(os.path.basename(path), "w", encoding="utf-8") as file:
            file.write(str(model))
        assert checked(os.path.basename(path)) == checked(path), path


def motions_are_themselves():
    """The same for each motion; settings that are not part of the motion are passed through."""
    found = 0
    for path in CONFIGURATIONS:
        if not re.search(r"^evaluator = motion", text(path), re.MULTILINE):
            continue
        found += 1
        motion = Motion.read(text(path))
        assert Motion.read(str(motion)) == motion, path
        name = os.path.join(os.path.dirname(path), os.path.basename(path))
        with open("again.cfg", "w", encoding="utf-8") as file:
            file.write(str(motion))

        def described(where):
            said = subprocess.run([DODYN, "check", where], capture_output=True, text=True, cwd=os.path.dirname(name))
            assert said.returncode == 0, said.stderr
            keys = (line.split() for line in said.stdout.splitlines())
            return sorted(" ".join(words) for words in keys if words and not any(".cfg" in word or ".h5" in word for word in words))

        assert described(os.path.abspath("again.cfg")) == described(name), path
    assert found > 15, found


def keys_are_the_programs():
    """The package has the program's sections. Each kind of part has the keys that the program allows, in the same order."""
    with open("wrong.model", "w", encoding="utf-8") as file:
        file.write("[model]\ndimension = 2\n[nonsense it]\na = 1\n")
    said = subprocess.run([DODYN, "check", "wrong.model"], capture_output=True, text=True).stderr
    sections = set(re.findall(r"\[([a-z-]+)", said.split("allowed:")[1]))
    missing = sections ^ {"model", "parameters", *PARTS}
    assert not missing, f"only one of python/dodyn/model.py and src/systems/sections.cpp has {', '.join(missing)}"
    for kind, part in PARTS.items():
        with open("wrong.model", "w", encoding="utf-8") as file:
            file.write(f"[model]\ndimension = 2\n[link l]\nparent = ground\njoint = point\n[{kind} it]\nnonsense = 1\n")
        said = subprocess.run([DODYN, "check", "wrong.model"], capture_output=True, text=True).stderr
        allowed = re.search(r"unknown key 'nonsense' in \[\S+\]; allowed: (.*)", said)
        if part.free:
            assert allowed is None or kind == "contact", said
            continue
        own = [one.name for one in dataclasses.fields(part) if one.name != "name"]
        if allowed is None:  # [surface] and [knee] complain of something else first
            assert "unknown key 'nonsense'" in said, said
        else:
            assert [key.rstrip("_").replace("_", "-") for key in own] == allowed[1].split(", "), said


def built_here():
    """A pendulum that is built here swings up in a study; its gradient is that of differences."""
    rod = Model(
        "rod", gravity="9.81 m/s2", parameters={"length": Parameter(0.5, "m"), "mass": 2},
        parts=[Link("rod", joint="revolute", end=("length", 0), mass="mass", inertia="mass*length^2/12"),
               Point("tip", link="rod", at=("length", 0)), Actuator("motor", coordinate="rod", limit="60 N m")],
    )  # fmt: skip
    assert Model.read(str(rod)).find(Link, "rod").end == "length, 0"
    rod.find(Actuator, "motor").limit = "50 N m"
    swing = Motion(
        rod, phases=[Phase("swing", intervals=20, duration=1)], initial_state={"rod": "-90 deg", "rate(rod)": 0},
        goal={"rod": "90 deg", "rate(rod)": 0}, cost={"squared-control": 1}, settings={"motion": {"initial-guesses": 2}},
    )  # fmt: skip
    with dodyn.Study(swing, design={"length": (0.3, 0.8)}, archive="rod.h5") as study:
        assert [(v.name, v.unit, v.lower, v.upper) for v in study.variables] == [("length", "m", 0.3, 0.8)]
        h = 1e-4
        low, middle, high = (study.evaluate({"length": 0.5 + x}, seed=1) for x in (-h, 0, h))
        assert middle.ok, middle.reason
        assert np.isclose(middle.gradient["length"], (high.cost - low.cost) / (2 * h), rtol=1e-5)


def mistakes():
    """An error names the line that is not understood."""
    for wrong, message in {
        "[link a]\nmas = 1\n": "line 1: unknown key 'mas' in [link]; allowed: parent, joint, count",
        "[lnk a]\nmass = 1\n": "line 1: unknown section [lnk]; allowed: model, parameters, link",
        "mass = 1\n": "line 1: 'mass = 1' is neither a section nor an entry",
        "[link a]\nmass = 1\nmass = 2\n": "line 3: mass is given twice",
    }.items():
        try:
            Model.read(wrong)
            raise AssertionError(wrong)
        except TextError as error:
            assert str(error).startswith(message), error
    try:
        Motion.read("[study]\nevaluator = gait\n")
        raise AssertionError("a gait is no motion")
    except TextError as error:
        assert str(error) == "the configuration is for the evaluator gait, not motion", error


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    for test in (models_are_themselves, motions_are_themselves, keys_are_the_programs, built_here, mistakes):
        test()
        print(test.__name__, "ok", flush=True)
