"""A URDF robot against its own text: energies of the model that dodyn makes of it, against those that numpy finds by the URDF's own
frames, in random states. And what cannot be said in a model is one line. Usage: urdf.py DODYN"""

import contextlib
import csv
import io
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

try:
    import h5py  # noqa: F401  what `dodyn import` asks of the interpreter
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

from studies import DODYN

from dodyn.__main__ import main

ARM = """<?xml version="1.0"?>
<robot name="arm">
 <link name="base"/>
 <link name="upper"><inertial><origin xyz="0.02 0.01 0.2" rpy="0.3 0.2 0.1"/><mass value="3"/>
  <inertia ixx="0.05" ixy="0.004" ixz="0.002" iyy="0.06" iyz="-0.003" izz="0.02"/></inertial>
  <collision><origin xyz="0 0 0.2"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision></link>
 <link name="fore"><inertial><origin xyz="0.15 0 0"/><mass value="1.5"/>
  <inertia ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
  <collision><origin xyz="0.15 0 0" rpy="0 1.5707963 0"/><geometry><box size="0.06 0.06 0.3"/></geometry></collision></link>
 <link name="hand"><inertial><origin xyz="0 0 0.05"/><mass value="0.5"/>
  <inertia ixx="0.001" ixy="0.0002" ixz="0" iyy="0.0012" iyz="0" izz="0.0008"/></inertial></link>
 <joint name="yaw" type="continuous"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.1"/><axis xyz="0 0 1"/></joint>
 <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/>
  <origin xyz="0 0.05 0.4" rpy="0 -1.5707963267948966 0"/><axis xyz="0 -1 0"/><limit lower="-0.5" upper="2.5" effort="40"/></joint>
 <joint name="wrist" type="revolute"><parent link="fore"/><child link="hand"/>
  <origin xyz="0.3 0 0" rpy="1.5707963267948966 0 1.5707963267948966"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5"/></joint>
</robot>
"""


def turn(axis, angle):
    """Rodrigues' formula, for complex angles too."""
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def frame(element):
    xyz, rpy = [np.array([float(w) for w in element.get(key, "0 0 0").split()]) if element is not None else np.zeros(3) for key in ("xyz", "rpy")]
    return xyz, turn([0, 0, 1], rpy[2]) @ turn([0, 1, 0], rpy[1]) @ turn([1, 0, 0], rpy[0])


def energies(text, q, rates):
    """Kinetic and potential energy by forward kinematics; velocities by complex steps."""
    robot = xml.fromstring(text)
    joints = {j.find("child").get("link"): j for j in robot.findall("joint")}
    kinetic = potential = 0.0
    for link in robot.findall("link"):
        inertial = link.find("inertial")
        if inertial is None:
            continue
        chain, name = [], link.get("name")
        while name in joints:
            chain.insert(0, joints[name])
            name = joints[name].find("parent").get("link")
        place, attitude = np.zeros(3, complex), np.eye(3, dtype=complex)
        step = 1e-30
        for joint in chain:
            xyz, own = frame(joint.find("origin"))
            axis = np.array([float(w) for w in joint.find("axis").get("xyz").split()])
            name = joint.get("name")
            place, attitude = place + attitude @ xyz, attitude @ own @ turn(axis, q[name] + 1j * step * rates[name])
        xyz, own = frame(inertial.find("origin"))
        mass, i = float(inertial.find("mass").get("value")), inertial.find("inertia")
        tensor = np.array([[float(i.get("i" + "".join(sorted(a + b)))) for b in "xyz"] for a in "xyz"])
        centre, axes = place + attitude @ xyz, attitude @ own
        velocity, spin = centre.imag / step, (axes.imag / step) @ axes.real.T
        omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        world = axes.real @ tensor @ axes.real.T
        kinetic += 0.5 * mass * velocity @ velocity + 0.5 * omega @ world @ omega
        potential += 9.81 * mass * centre.real[2]
    return kinetic, potential


def run(*words):
    return subprocess.run([DODYN, *words], capture_output=True, text=True, timeout=120)


def imported(name, text=None):
    """What `dodyn import NAME` does: exit code, standard output, standard error."""
    if text is not None:
        with open(name, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["import", name])
        out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()


def line_of(text, what):
    """The first line with these words."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if what in line)


def chain(length):
    """Links l0, l1, ..., each on the one before."""
    links = "".join(f'<link name="l{k}"><inertial><mass value="1"/></inertial></link>\n' for k in range(length))
    joints = "".join(f'<joint name="j{k}" type="continuous"><parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 0 1"/></joint>\n' for k in range(1, length))
    return f'<robot name="chain">\n{links}{joints}</robot>\n'


def diamonds(count):
    """Links each of which is the child of two joints: 2^count ways from the first to the last."""
    text = "".join(f'<link name="l{k}"/>' for k in range(count))
    for k in range(1, count):
        text += "".join(f'<joint name="j{k}{side}" type="fixed"><parent link="l{k - 1}"/><child link="l{k}"/></joint>\n' for side in "ab")
    return f'<robot name="diamonds">{text}</robot>'


def bad_input():
    """Each is refused in one line, which names the file, the line and what to do; nothing is written."""

    def arm(old, new):
        assert ARM.count(old) >= 1, old
        return ARM.replace(old, new, 1)

    os.mkfifo("pipe.stl")
    os.mkfifo("pipe.urdf")
    os.symlink("/dev/zero", "zero.stl")
    mesh = '<geometry><cylinder radius="0.05" length="0.4"/></geometry>'
    table = [  # name, text, words of the line at fault, words of the message
        ("oblique", arm('<axis xyz="0 -1 0"/>', '<axis xyz="0 0.6 0.8"/>'), 'name="elbow"', "joint elbow: its axis is"),
        ("loop", arm('<parent link="base"/>', '<parent link="hand"/>'), 'name="yaw"', "links fore, hand, upper hang on each other in a loop"),
        ("self", arm('<parent link="upper"/>', '<parent link="fore"/>'), 'name="elbow"', "links fore hang on each other in a loop"),
        ("words", "<robot", "<robot", "is not XML"),
        ("empty", "", "", "is not XML"),
        ("other", "<sdf/>", "<sdf", "not <robot>"),
        ("encoding", arm('version="1.0"', 'version="1.0" encoding="foo"'), "encoding", "write it in UTF-8"),
        ("bytes", ARM.encode().replace(b'"upper"', b'"upp\xff\xfe"', 1), 'name="upp', "is not XML"),
        ("entity", arm("<robot", '<!DOCTYPE robot [<!ENTITY a "aaaa">]>\n<robot'), "ENTITY", "declares the entity a"),
        ("deep", "<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>", "<robot", "inside each other"),
        ("macro", '<robot xmlns:xacro="x">\n<xacro:include filename="a"/></robot>', "<robot", "xacro"),
        ("no links", '<robot name="a"/>', "<robot", "has no <link>"),
        ("two roots", arm('<link name="base"/>', '<link name="base"/>\n<link name="other"/>'), 'name="other"', "2 links have no parent"),
        ("same links", arm('<link name="hand">', '<link name="fore"> '), '"fore"> ', "link fore is in line"),
        ("same joints", arm('<joint name="wrist"', '<joint name="elbow"'), 'type="revolute"><parent link="fore"', "joint elbow is in line"),
        ("nameless", arm('<link name="base"/>', "<link/>"), "<link/>", "a <link> has no name"),
        ("misspelt", arm('<child link="hand"/>', '<child link="hnad"/>'), "hnad", "did you mean hand?"),
        ("no child", arm('<child link="hand"/>', ""), 'name="wrist"', "joint wrist has no <child>"),
        ("two parents", diamonds(60), "j1b", "link l1 is the child of two joints, j1a and j1b"),
        ("type", arm('type="continuous"', 'type="revolut"'), 'name="yaw"', "did you mean revolute?"),
        ("planar", arm('type="continuous"', 'type="planar"'), 'name="yaw"', "planar joints are not read"),
        ("no axis", arm('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 0"/>'), 'xyz="0 0 0"/><limit', "joint elbow has the axis 0, 0, 0"),
        ("nan", arm('<mass value="3"/>', '<mass value="nan"/>'), "nan", '<mass> has value="nan"; write a number from 0'),
        ("negative", arm('<mass value="3"/>', '<mass value="-3"/>'), '"-3"', "write a number from 0"),
        ("no value", arm('<mass value="3"/>', "<mass/>"), "<mass/>", "<mass> has no value"),
        ("no mass", arm('<mass value="3"/>', ""), 'xyz="0.02 0.01 0.2"', "<inertial> has no <mass>"),
        ("massless", arm('<mass value="3"/>', '<mass value="0"/>'), 'ixx="0.05"', "link upper has inertia without mass"),
        ("light", arm('<mass value="3"/>', '<mass value="1e-300"/>'), 'name="upper"', "do not fit together"),
        ("infinite", arm('ixx="0.05"', 'ixx="inf"'), "inf", '<inertia> has ixx="inf"; write a number'),
        ("no entry", arm('ixx="0.05"', ""), 'ixy="0.004"', "<inertia> has no ixx; write a number"),
        ("huge", arm('ixx="0.05"', 'ixx="1e400"'), "1e400", "write a number"),
        ("underscore", arm('ixx="0.05"', 'ixx="0_1"'), "0_1", "write a number"),
        ("vector", arm('xyz="0 0.05 0.4"', 'xyz="0 0.05"'), 'xyz="0 0.05"', "write 3 numbers"),
        ("limit", arm('lower="-0.5"', 'lower="a"'), '"a"', "write a number"),
        ("two masses", arm('<mass value="3"/>', '<mass value="3"/>\n<mass value="4"/>'), 'value="4"', "a second <mass> in this <inertial>"),
        ("flat", arm('size="0.06 0.06 0.3"', 'size="0.06 0 0.3"'), "0.06 0 0.3", "write 3 numbers above 0"),
        ("no radius", arm('<cylinder radius="0.05"', "<cylinder"), "<cylinder", "<cylinder> has no radius"),
        ("no shape", arm(mesh, "<geometry/>"), "<geometry/>", "<geometry> has no box"),
        ("symlink", arm(mesh, '<geometry><mesh filename="zero.stl"/></geometry>'), "zero.stl", "mesh zero.stl: not a regular file"),
        ("fifo", arm(mesh, '<geometry><mesh filename="pipe.stl"/></geometry>'), "pipe.stl", "mesh pipe.stl: not a regular file"),
        ("nameless mesh", arm(mesh, "<geometry><mesh/></geometry>"), "<mesh/>", "name a file"),
    ]  # fmt: skip
    began = time.monotonic()
    for name, text, at, said in table:
        code, out, err = imported(f"{name}.urdf", text)
        assert code == 2 and not out and err.count("\n") == 1, (name, code, err)
        assert err.startswith(f"dodyn: {name}.urdf:") and "; " in err, (name, err)
        assert said in err, (name, err)
        written = text if isinstance(text, str) else text.decode(errors="replace")
        assert err.startswith(f"dodyn: {name}.urdf:{line_of(written, at) if at else 1}: "), (name, err)
    # A device that is no STL and no OBJ by its name is left out, and not read.
    code, out, err = imported("device.urdf", arm(mesh, '<geometry><mesh filename="file:///dev/zero"/></geometry>'))
    assert code == 0 and "link upper: a part (line 6) is left out: zero: only STL and OBJ" in err, err
    for name, said in (("nowhere.urdf", "No such file"), (".", "s a directory"), ("pipe.urdf", "not a regular file"), ("/dev/zero", "not a regular file")):
        code, out, err = imported(name)
        assert code == 2 and not out and err.count("\n") == 1 and said in err, (name, err)
    assert time.monotonic() - began < 60, "the time of a refusal grows with more than the file"
    refused = run("import", "nan.urdf")
    assert refused.returncode == 2 and refused.stderr == 'dodyn: nan.urdf:4: <mass> has value="nan"; write a number from 0\n', refused
    # Deep chains are read, and a line end in a name stays within its line.
    code, out, err = imported("chain.urdf", chain(1200))
    assert code == 0 and out.count("[link ") == 1200, err
    code, out, err = imported("lines.urdf", ARM.replace('robot name="arm"', 'robot name="arm&#10;gravity = 0"').replace('"wrist"', '"wrist&#10;mass = 9"'))
    lines = [line for line in out.splitlines() if not line.startswith("#")]
    assert code == 0 and "gravity = 0" not in lines and "mass = 9" not in lines and "coordinates = wrist_mass___9" in lines, out


def left_out():
    """What the model does not have of the URDF is named: on standard error and in the text."""
    text = ARM.replace('effort="40"', 'effort="40" velocity="2.5"').replace('lower="-1" upper="1"', 'lower="1" upper="1"').replace(
        "</robot>", '<transmission name="t"/>\n<transmission name="u"/>\n</robot>').replace('<mass value="0.5"/>', '<mass value="0.5" unit="kg"/>')  # fmt: skip
    code, out, err = imported("notes.urdf", text)
    assert code == 0, err
    for said in ("elbow: its velocity limit 2.5 rad/s is left out", "wrist has no range: its limits 1 and 1", "<transmission> in <robot> (line 17 and 1 more) is left out",
                 'unit="..." of <mass> (line 10) is left out', "shapes are polytopes inside: cylinders as prisms of 24 corners"):  # fmt: skip
        assert f"note: {said}" in err and f"# note: {said}" in out, (said, err)
    assert all(line.startswith("note: ") for line in err.splitlines())
    elbow = out[out.index("[actuator elbow]") :]
    assert elbow.startswith("[actuator elbow]\n# left out: the velocity limit 2.5 rad/s\ncoordinate = elbow\nlimit = 40\n"), elbow[:200]


def capsule():
    """A capsule's part lies in the capsule, reaches its ends, and has nearly its volume; `dodyn check` takes the text."""
    from scipy.spatial import ConvexHull

    radius, length = 0.05, 0.4
    code, out, err = imported("capsule.urdf", ARM.replace('<cylinder radius="0.05" length="0.4"/>', f'<capsule radius="{radius}" length="{length}"/>'))
    assert code == 0 and "capsule" in err, err
    vertices = out[out.index("[shape upper_shape]") :].split("vertices = ")[1].split("\n")[0]
    corners = np.array([[float(x) for x in corner.split(",")] for corner in vertices.split(";")])
    along = np.clip(corners[:, 2], 0.2 - length / 2, 0.2 + length / 2)
    distance = np.linalg.norm(corners - np.c_[0 * along, 0 * along, along], axis=1)
    assert distance.max() < radius + 1e-6 and distance.min() > radius - 1e-6, distance
    assert abs(np.ptp(corners[:, 2]) - (length + 2 * radius)) < 1e-6
    volume = np.pi * radius**2 * (length + 4 / 3 * radius)
    assert 0.9 * volume < ConvexHull(corners).volume < volume
    open("capsule.model", "w").write(out)
    checked = run("check", "capsule.model")
    assert checked.returncode == 0, checked.stderr


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("arm.urdf", "w").write(ARM)
    made = run("import", "arm.urdf")
    assert made.returncode == 0, made.stderr
    assert "elbow counts against" in made.stderr
    open("arm.model", "w").write(made.stdout)
    checked = run("check", "arm.model")
    assert checked.returncode == 0 and "3 degrees of freedom, 5 kg" in checked.stdout, checked.stdout + checked.stderr
    assert "elbow  on elbow  from -2.5  to 0.5" in checked.stdout, checked.stdout
    random = np.random.default_rng(1)
    for _ in range(5):
        q = dict(zip(("yaw", "elbow", "wrist"), random.uniform(-0.9, 0.9, 3)))
        rates = dict(zip(q, random.uniform(-2, 2, 3)))
        sign = {"yaw": 1, "elbow": -1, "wrist": 1}
        start = "".join(f"{n} = {sign[n] * q[n]}\nrate({n}) = {sign[n] * rates[n]}\n" for n in q)
        open("arm.cfg", "w").write("[study]\nevaluator = simulation\n[simulation]\nmodel = arm.model\nend = 0.01 s\nstep = 0.1 ms\n"
                                   f"[initial-state]\n{start}")  # fmt: skip
        done = run("simulate", "arm.cfg", "--output", "arm.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        rows = list(csv.DictReader(open("arm.csv")))
        columns = {name.split(" ")[0]: name for name in rows[0]}
        kinetic, potential = energies(ARM, q, rates)
        found = [float(rows[0][columns[name]]) for name in ("energy.kinetic", "energy.potential")]
        assert np.allclose(found, (kinetic, potential), rtol=1e-9), (found, kinetic, potential)

    bad_input()
    left_out()
    capsule()
