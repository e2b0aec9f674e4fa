"""URDF robots against Newton and Euler: mass matrix and forces of the model that `dodyn import` makes, in random states, to 1e-9 of the
largest entry. The same for other values of its parameters. What a model cannot express is one line. Usage: urdf.py DODYN EQUATIONS"""

import contextlib
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

from newton_euler import compared, frame
from robot_texts import ARM, MACHINE
from studies import DODYN

from dodyn.__main__ import main

EQUATIONS = sys.argv[2]


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
        ("mimic none", arm('effort="40"/>', 'effort="40"/><mimic joint="wirst"/>'), "wirst", "joint elbow mimics 'wirst', which is not a joint; did you mean wrist?"),
        ("mimic itself", arm('effort="40"/>', 'effort="40"/><mimic joint="elbow"/>'), '<mimic joint="elbow"/>', "joint elbow mimics itself"),
        ("mimic planar", arm('type="continuous"', 'type="planar"').replace('<axis xyz="0 0 1"/></joint>', '<axis xyz="0 0 1"/><mimic joint="elbow"/></joint>', 1), 'name="yaw"', "a planar joint mimics nothing"),
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
        ("no axis", arm('<axis xyz="0 -1 0"/>', '<axis xyz="0 0 0"/>'), 'xyz="0 0 0"/><limit', "joint elbow has the axis 0, 0, 0"),
        ("nan", arm('<mass value="3"/>', '<mass value="nan"/>'), "nan", '<mass> has value="nan"; write a number from 0'),
        ("negative", arm('<mass value="3"/>', '<mass value="-3"/>'), '"-3"', "write a number from 0"),
        ("no value", arm('<mass value="3"/>', "<mass/>"), "<mass/>", "<mass> has no value"),
        ("no mass", arm('<mass value="3"/>', ""), 'xyz="0.02 0.01 0.2"', "<inertial> has no <mass>"),
        ("infinite", arm('ixx="0.05"', 'ixx="inf"'), "inf", '<inertia> has ixx="inf"; write a number'),
        ("no entry", arm('ixx="0.05"', ""), 'ixy="0.004"', "<inertia> has no ixx; write a number"),
        ("huge", arm('ixx="0.05"', 'ixx="1e400"'), "1e400", "write a number"),
        ("underscore", arm('ixx="0.05"', 'ixx="0_1"'), "0_1", "write a number"),
        ("vector", arm('xyz="0 0.05 0.4"', 'xyz="0 0.05"'), 'xyz="0 0.05"', "write 3 numbers"),
        ("limit", arm('lower="-0.5"', 'lower="a"'), '"a"', "write a number"),
        ("two masses", arm('<mass value="3"/>', '<mass value="3"/>\n<mass value="4"/>'), 'value="4"', "a second <mass> in this <inertial>"),
        ("flat", arm('size="0.06 0.06 0.3"', 'size="0.06 -0.1 0.3"'), "0.06 -0.1 0.3", "write 3 numbers from 0"),
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
    # A file that is by its name neither STL nor OBJ is omitted and not read.
    code, out, err = imported("device.urdf", arm(mesh, '<geometry><mesh filename="file:///dev/zero"/></geometry>'))
    assert code == 0 and "link upper: a part (line 6) is left out: zero: only STL, OBJ and DAE" in err, err
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
    text = ARM.replace('<axis xyz="0 0 1"/></joint>', '<axis xyz="0 0 1"/><limit lower="-1.5" upper="2"/></joint>', 1)
    text = text.replace('effort="40"', 'effort="40" velocity="2.5"').replace('lower="-1" upper="1"', 'lower="1" upper="1"').replace(
        "</robot>", '<sensor name="t"/>\n<sensor name="u"/>\n</robot>').replace('<mass value="0.5"/>', '<mass value="0.5" unit="kg"/>')  # fmt: skip
    code, out, err = imported("notes.urdf", text)
    assert code == 0, err
    for said in ("wrist has no range: its limits 1 and 1", "yaw is continuous: its limits -1.5 and 2 (line 12) are left out", "<sensor> in <robot> (line 17 and 1 more) is left out", 'unit="..." of <mass> (line 10) is left out', "shapes are polytopes inside: cylinders as prisms of 24 corners"):  # fmt: skip
        assert f"note: {said}" in err and f"# note: {said}" in out, (said, err)
    assert all(line.startswith("note: ") for line in err.splitlines())
    # Parts without volume, as publishers write them where a link has no shape
    with_part = ARM.replace("<cylinder", '<SHAPE/></geometry></collision><collision><geometry><cylinder', 1)
    for shape in ('box size="0 0 0"', 'box size="1 0 2"', 'sphere radius="0"', 'cylinder radius="0.1" length="0"', 'capsule radius="0" length="1"'):
        code, with_flat, err = imported("flat.urdf", with_part.replace("SHAPE", shape))
        assert code == 0 and f'a part (line 6) is left out: <{shape.split()[0]}> has ' in err and "so no volume" in err, (shape, err)
        assert with_flat.count("[shape") == imported("full.urdf", ARM)[1].count("[shape"), shape
    for said in ("elbow_speed = 2.5  # rad/s", "elbow_effort = 40  # N m", "from = elbow_min\nto = elbow_max\nspeed = elbow_speed\n", "limit = elbow_effort\n"):
        assert said in out, (said, out)


def without_mass():
    """Links without mass are named, and so is each coordinate that no inertia moves with: a finger without mass, a wheel that is a point on its axis."""
    weigh = '<inertial><origin xyz="0 0 0.5"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.01"/></inertial>'
    text = f"""<robot name="r"><link name="base"/><link name="arm">{weigh}</link><link name="tip"/><link name="finger"/><link name="wheel"><inertial><mass value="1"/></inertial></link>
<joint name="a" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="1 0 0"/></joint><joint name="b" type="fixed"><parent link="arm"/><child link="tip"/></joint>
<joint name="c" type="prismatic"><parent link="tip"/><child link="finger"/><axis xyz="0 1 1"/></joint>
<joint name="d" type="continuous"><parent link="arm"/><child link="wheel"/><axis xyz="0 1 0"/><origin xyz="0 0 1"/></joint></robot>"""
    code, out, err = imported("weightless.urdf", text)
    assert code == 0 and "note: links without mass: tip, finger\n" in err and "note: no inertia moves with c, d, so motions are singular: " in err, err
    # A rotor, or a follower with mass, gives the coordinate inertia; and a link without mass between others is no mistake.
    geared = '<transmission><actuator><drake:rotor_inertia value="0.1"/></actuator><joint name="JOINT"/></transmission></robot>'
    code, out, err = imported("rotors.urdf", text.replace("<robot", '<robot xmlns:drake="x"').replace("</robot>", geared.replace("JOINT", "c").replace("</robot>", geared.replace("JOINT", "d"))))
    assert code == 0 and "links without mass: tip, finger\n" in err and "no inertia" not in err, err
    between = text.replace('<parent link="arm"/><child link="wheel"/>', '<parent link="finger"/><child link="wheel"/>').replace('<origin xyz="0 0 1"/></joint></robot>', '<mimic joint="c"/></joint></robot>')
    code, out, err = imported("between.urdf", between)
    assert code == 0 and "no inertia" not in err, err
    assert "mass" not in imported("arm.urdf", ARM)[2]


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


WEDGE = """<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="0.01"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="f" count="12">0 0 0 10 0 0 0 20 0 0 0 30</float_array></source>
<source id="n"><float_array id="m" count="3">0 0 99</float_array></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><translate>1 0 0</translate><rotate>0 0 1 90</rotate><node><scale>1 1 0.5</scale>
<instance_geometry url="#g"/></node></node></visual_scene></library_visual_scenes></COLLADA>"""


def newton_and_euler():
    """Any axis, slides, an implicit world, joints that follow others, tensors, rotors: M and b to 1e-9 of the largest entry."""
    os.makedirs("shapes", exist_ok=True)
    open("shapes/wedge.dae", "w").write(WEDGE)
    os.makedirs("robots/deep", exist_ok=True)
    code, out, err = imported("robots/deep/machine.urdf", MACHINE)
    assert code == 0 and "left out" not in err.replace("limits -1e+16", ""), err
    open("machine.model", "w").write(out)
    checked = run("check", "machine.model")
    assert checked.returncode == 0 and "4 degrees of freedom, 7 kg" in checked.stdout, checked.stdout + checked.stderr
    for name, text in (("arm.model", ARM), ("machine.model", MACHINE)):
        worst = compared(EQUATIONS, text, name, states=5)
        assert worst.max() < 1e-9, (name, worst)
    # The wedge: corners in cm, turned by 90 degrees about z, half as high, then twice as high, moved by 1 cm; no normals among them.
    corners = out[out.index("vertices = ") :].split("\n")[0].split("= ")[1]
    found = sorted([float(x) for x in corner.split(",")] for corner in corners.split(";"))
    turned = frame(xml.fromstring('<origin rpy="0.1 0.2 0"/>'))[1] @ frame(xml.fromstring('<origin rpy="0.4 0 -1.1"/>'))[1]
    wanted = sorted((turned @ np.array(x)).tolist() for x in ([0.01, 0, 0], [0.01, 0.1, 0], [-0.19, 0, 0], [0.01, 0, 0.3]))
    assert np.allclose(found, wanted, atol=2e-7), (found, wanted)
    free = run("import", "robots/deep/machine.urdf", "--mimic", "free", "--parts", "none")
    assert free.returncode == 0 and "other mimics third: here it moves by itself" in free.stderr, free.stderr
    open("free.model", "w").write(free.stdout)
    checked = run("check", "free.model")
    assert checked.returncode == 0 and "6 degrees of freedom, 7 kg" in checked.stdout, checked.stdout + checked.stderr


def base_names():
    """A robot with joints x and upper_turn_z, on a free base: the base's coordinates have other names."""
    robot = '<robot name="gantry"><link name="upper"><inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>\n<link name="a"><inertial><mass value="1"/></inertial></link>'
    robot += '<link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>'
    for name, parent, child, kind in (("x", "upper", "a", "prismatic"), ("upper_turn_z", "a", "b", "continuous")):
        robot += f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><axis xyz="0 0 1"/></joint>'
    open("gantry.urdf", "w").write(robot + "</robot>")
    free = run("import", "gantry.urdf", "--base", "free")
    assert free.returncode == 0 and "coordinates = x_2, y, z, upper_turn_z_2, upper_turn_y, upper_turn_x\n" in free.stdout, free.stdout
    open("gantry.model", "w").write(free.stdout)
    checked = run("check", "gantry.model")
    assert checked.returncode == 0 and "8 degrees of freedom" in checked.stdout, checked.stderr


def words_of_expressions():
    """A joint that follows one with the name pi: expressions would take it for the number."""
    made = run("import", "robots/deep/machine.urdf", "--parts", "none")
    names = MACHINE.replace('"finger"', '"pi"').replace('"shoulder"', '"t"')
    code, out, err = imported("pi.urdf", names)
    assert code == 0 and "coordinates = pi_2\n" in out and "coordinates = t_2\n" in out and "*pi\n" not in out, (out, err)
    open("pi.model", "w").write(out)
    worst = compared(EQUATIONS, names.replace('"pi"', '"pi_2"').replace('"t"', '"t_2"'), "pi.model")
    assert worst.max() < 1e-9, worst
    # Without this name the model is refused.
    open("pi.model", "w").write(made.stdout.replace("finger", "pi"))
    checked = run("check", "pi.model")
    assert checked.returncode == 2 and "coordinate 'pi' has the name of the number pi" in checked.stderr, checked


def dropped():
    """Ranges and damping of planar and floating joints, and a rotor of a joint that has none, are named."""
    text = ARM.replace('type="continuous"', 'type="planar"').replace('<axis xyz="0 0 1"/></joint>', '<axis xyz="0 0 1"/><limit effort="3" velocity="1"/><dynamics damping="2"/></joint>', 1)
    rotor = '<transmission name="t" xmlns:drake="http://drake.mit.edu"><joint name="yaw"/><actuator name="a"><drake:rotor_inertia value="1"/></actuator></transmission>'
    code, _, err = imported("dropped.urdf", text.replace("</robot>", rotor + "</robot>"))
    for said in ("<limit> of the planar joint yaw (line 12) is left out", "<dynamics> of the planar joint yaw (line 12) is left out", "yaw: its rotor is left out"):
        assert code == 0 and said in err, (said, err)


def shallow():
    """A shallow bowl of 225 points, written as an OBJ mesh of its hull: the chosen corners enclose a volume."""
    try:
        from scipy.spatial import ConvexHull
    except ImportError:
        return
    points = [(x, y, 0.02 * (x * x + y * y)) for x in np.linspace(-0.3, 0.3, 15) for y in np.linspace(-0.3, 0.3, 15)]
    lines = ["v %.9g %.9g %.9g" % point for point in points] + ["f %d %d %d" % tuple(corner + 1) for corner in ConvexHull(points).simplices]
    open("bowl.obj", "w").write("\n".join(lines) + "\n")
    mesh = '<geometry><cylinder radius="0.05" length="0.4"/></geometry>'
    code, out, err = imported("bowl.urdf", ARM.replace(mesh, '<geometry><mesh filename="bowl.obj"/></geometry>'))
    open("bowl.model", "w").write(out)
    checked = run("check", "bowl.model")
    assert code == 0 and checked.returncode == 0 and "contact simulation  no: bowl.model" not in checked.stdout, err + checked.stdout + checked.stderr


def designed():
    """Twice the mass and half the scale of a link: the model is that of the URDF with its numbers changed so."""
    changed = ARM.replace('<mass value="1.5"/>', '<mass value="3"/>').replace('<origin xyz="0.15 0 0"/>', '<origin xyz="0.075 0 0"/>').replace(
        'xyz="0.3 0 0" rpy', 'xyz="0.15 0 0" rpy').replace('ixx="0.004" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"', 'ixx="0.002" ixy="0" ixz="0" iyy="0.015" iyz="0" izz="0.015"')  # fmt: skip
    text = open("arm.model").read()
    assert "\nfore_mass = 1.5  # kg" in text and "\nfore_size = 1  #" in text, text
    open("changed.model", "w").write(text.replace("\nfore_mass = 1.5", "\nfore_mass = 3").replace("\nfore_size = 1 ", "\nfore_size = 0.5 "))
    worst = compared(EQUATIONS, changed, "changed.model")
    assert worst.max() < 1e-9, worst


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    open("arm.urdf", "w").write(ARM)
    made = run("import", "arm.urdf")
    assert made.returncode == 0, made.stderr
    open("arm.model", "w").write(made.stdout)
    checked = run("check", "arm.model")
    assert checked.returncode == 0 and "3 degrees of freedom, 5 kg" in checked.stdout, checked.stdout + checked.stderr
    assert "elbow  on elbow  from -0.5  to 2.5" in checked.stdout, checked.stdout
    newton_and_euler()
    words_of_expressions()
    base_names()
    dropped()
    shallow()
    designed()
    bad_input()
    left_out()
    without_mass()
    capsule()
