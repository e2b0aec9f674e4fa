"""MJCF robots: one robot in several spellings gives one model, masses and a pendulum agree with closed forms, and the
equations of motion of a machine agree with numbers of MuJoCo to 1e-9. A robot that a model cannot express gives a
one-line error. Usage: mjcf.py DODYN EQUATIONS"""

import contextlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
import time

try:
    import h5py  # noqa: F401  `dodyn import` needs it
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

from studies import DODYN

from dodyn.__main__ import main

EQUATIONS = sys.argv[2]
NUMBER = re.compile(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?")

# A slide and a hinge with `ref` in one body, classes, a frame, all primitives, a ball joint, a follower, a spring, and a free body.
MACHINE = """<mujoco model="machine">
 <compiler angle="radian" eulerseq="zyx"/>
 <default><geom density="700"/><default class="arm"><joint damping="0.2" armature="0.02"/></default></default>
 <worldbody>
  <body name="base" pos="0.1 0.2 0.5" euler="0.3 -0.2 0.4" childclass="arm">
   <joint name="slide" type="slide" axis="1 2 -2" ref="0.1" range="-1 1" limited="true"/>
   <joint name="turn" axis="0 0.6 0.8" pos="0.05 0 0.1" ref="-0.4" stiffness="3" springref="0.2"/>
   <geom type="box" size="0.1 0.05 0.2" pos="0.02 0 0.1" axisangle="1 1 0 0.7"/>
   <frame pos="0 0 0.3" xyaxes="0 1 0 -1 0 0.2">
    <body name="upper" pos="0.1 0 0">
     <joint name="elbow" axis="0 -1 0"/>
     <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0.1 0.2"/>
     <geom type="ellipsoid" size="0.05 0.06 0.07" pos="0.3 0.1 0.2" mass="0.4"/>
     <body name="wrist" pos="0.3 0.1 0.2" quat="0.9 0.1 -0.3 0.2">
      <joint name="ball" class="main" type="ball" pos="0 0.02 0"/>
      <inertial pos="0.01 0.02 0.03" mass="0.5" quat="0.8 0.2 0.3 -0.4" diaginertia="0.004 0.005 0.006"/>
      <body name="finger" zaxis="1 1 1"><joint name="finger" class="main"/><geom type="cylinder" size="0.02 0.1" pos="0 0.1 0"/></body>
     </body>
    </body>
   </frame>
  </body>
  <body name="box" pos="1 0 0.2" quat="0.5 0.5 0.5 0.5"><freejoint/><geom type="cylinder" size="0.1 0.2" pos="0.1 0 0" euler="0.1 0.2 0.3"/></body>
 </worldbody>
 <equality><joint joint1="finger" joint2="elbow" polycoef="0.1 -0.5 0 0 0"/></equality>
</mujoco>
"""
# Of MuJoCo 3.3.8, for q = sin(k + i), v = 2 sin(k + 1 + i) with 3 decimals, i = 0..11: M(q) v and b(q, v), k = 1 and 3. MuJoCo's rates of
# rotations are angular velocities. They were converted to those of the angles yaw, pitch, roll.
MUJOCO = {
    1: ([13.508791904786545, -0.02143342297303901, -0.09708311796113953, -0.012356893357878287, -0.01565565210067195, -0.010487612547329028,
         16.23664435259552, 6.846013692698308, -9.060578073153929, 0.6874318655444066, 1.2448728856599052, -0.08690295510757448],
        [-21.05894107821521, 3.094435151576872, 2.0159525965089613, 0.010252972787290282, 0.03472126737014284, -0.033583415920024264,
         -0.45061621421957687, 3.9854665970321936, 85.4410572689713, 0.015313344747131197, -4.918714882412044, -0.3099379088523311]),
    3: ([-10.386289608436497, 0.16978032086911443, 0.1920417489678898, 0.004393776922838384, 0.00029084846439710884, -0.0031725808712167345,
         -9.83594835628484, -16.6497069596065, -11.029730227685326, -1.6996543335697127, 1.1535910307169592, 0.16312557487102847],
        [-22.074009801562894, -3.3331901037421994, 5.1973593488326015, 0.05654433428784088, -0.1069275633044668, -0.10773361277036236,
         -3.80600156281214, 0.876660928188278, 87.70087576008748, -0.6366980008426304, -7.925747647646727, 0.007076862215914914]),
}  # fmt: skip

ARM = """<mujoco model="arm">
 <compiler angle="radian"/>
 <default><joint damping="0.3"/><default class="link"><geom density="500" group="2"/><joint range="-1 2"/></default></default>
 <worldbody>
  <body name="upper" pos="0 0 1" quat="0.8 0 0.6 0">
   <joint name="shoulder" class="link" axis="0 1 0"/><geom name="rod" class="link" type="capsule" size="0.05 0.2" pos="0 0 0.2"/>
   <body name="fore" pos="0 0 0.4" euler="0.3 -0.5 0.7">
    <joint name="elbow" class="link" axis="1 0 0" armature="0.01"/><geom name="brick" class="link" type="box" size="0.05 0.1 0.2" pos="0.1 0 0"/>
   </body>
  </body>
 </worldbody>
 <actuator><motor name="motor" joint="shoulder" gear="5" ctrlrange="-2 2"/><position name="servo" joint="elbow" kp="9" forcerange="-4 4"/></actuator>
</mujoco>
"""


def imported(name, text=None, *words):
    """Runs `dodyn import NAME`. Returns exit code, standard output, standard error."""
    if text is not None:
        with open(name, "w") as file:
            file.write(text)
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["import", name, *words])
        out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()


def changed(text, *pairs):
    for old, new in pairs:
        assert text.count(old) >= 1, old
        text = text.replace(old, new)
    return text


def model(text):
    """The model without its comments and shapes."""
    code, out, err = imported("one.xml", text, "--parts", "none")
    assert code == 0, err
    return "\n".join(line for line in out.splitlines() if not line.startswith("#"))


def checked(name, text):
    """Runs `dodyn check` on a model, which must succeed. Returns the standard output."""
    with open(name, "w") as file:
        file.write(text)
    done = subprocess.run([DODYN, "check", name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def equations(text, states):
    """(names of coordinates; M and b at each state) of a model."""
    with open("equations.model", "w") as file:
        file.write(text)
    lines = "".join(" ".join(f"{x:.17g}" for x in [*q, *v]) + "\n" for q, v in states)
    names, *rows = subprocess.run([EQUATIONS, "equations.model"], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    n = len(names.split())
    found = [np.array(row.split(), float) for row in rows]
    return names.split(), [(row[: n * n].reshape(n, n), row[n * n :]) for row in found]


def spellings():
    """One robot in several spellings: the models differ in the last digits of numbers."""
    wanted = model(ARM)
    turn = 2 * math.acos(0.8)
    c, s = math.cos(turn), math.sin(turn)
    box = [(x, y, z) for x in (-0.05, 0.05) for y in (-0.1, 0.1) for z in (-0.2, 0.2)]
    faces = "0 1 3 0 3 2 4 6 7 4 7 5 0 4 5 0 5 1 2 3 7 2 7 6 0 2 6 0 6 4 1 5 7 1 7 3"
    with open("box.obj", "w") as file:
        file.write("".join("v %g %g %g\n" % corner for corner in box) + "".join(
            "f " + " ".join(str(int(k) + 1) for k in faces.split()[at : at + 3]) + "\n" for at in range(0, 36, 3)))  # fmt: skip
    # The top of the box is an L and a rectangle. The fan of triangles from the first corner of the L has one upside down.
    with open("polygons.obj", "w") as file:
        file.write("".join("v %g %g %g\n" % corner for corner in [*box, (0, 0, 0.2), (0.05, 0, 0.2), (0, 0.1, 0.2)]) + "f 6 10 9 11 4 2\nf 9 10 8 11\nf 1 3 7 5\nf 1 5 6 2\nf 3 4 8 7\nf 1 2 4 3\nf 5 7 8 6\n")
    brick = 'type="box" size="0.05 0.1 0.2" pos="0.1 0 0"'
    table = {
        "axisangle": changed(ARM, ('quat="0.8 0 0.6 0"', f'axisangle="0 3 0 {turn:.17g}"')),
        "euler": changed(ARM, ('quat="0.8 0 0.6 0"', f'euler="0 {turn:.17g} 0"')),
        "xyaxes": changed(ARM, ('quat="0.8 0 0.6 0"', f'xyaxes="{c:.17g} 0 {-s:.17g} {0.3 * c:.17g} 2 {-0.3 * s:.17g}"')),
        "zaxis": changed(ARM, ('quat="0.8 0 0.6 0"', f'zaxis="{s:.17g} 0 {c:.17g}"')),
        "unnormalised": changed(ARM, ('quat="0.8 0 0.6 0"', 'quat="-4 0 -3 0"')),
        "fixed axes": changed(ARM, ('angle="radian"', 'angle="radian" eulerseq="ZYX"'), ('euler="0.3 -0.5 0.7"', 'euler="0.7 -0.5 0.3"')),
        "degrees": changed(ARM, (' angle="radian"', ""), ('euler="0.3 -0.5 0.7"', f'euler="{math.degrees(0.3):.17g} {math.degrees(-0.5):.17g} {math.degrees(0.7):.17g}"'),
                           ('range="-1 2"', f'range="{math.degrees(-1):.17g} {math.degrees(2):.17g}"')),
        "no classes": changed(ARM, ("<joint name", '<joint damping="0.3" range="-1 2" name'), ("<geom name", '<geom density="500" name'), (' class="link"', ""),
                              ('<default><joint damping="0.3"/><default><geom density="500" group="2"/><joint range="-1 2"/></default></default>', "")),
        "childclass": changed(ARM, (' class="link" type', " type"), (' class="link" axis', " axis"), ('<body name="upper"', '<body name="upper" childclass="link"')),
        "frame": changed(ARM, ('<body name="fore" pos="0 0 0.4" euler="0.3 -0.5 0.7">', '<frame pos="0 0 0.1" quat="0 0 0 1"><body name="fore" pos="0 0 0.3" euler="0.3 -0.5 0.7">'),
                         ("   </body>\n  </body>", "   </body></frame>\n  </body>"), ('euler="0.3 -0.5 0.7"', f'quat="{quaternion_behind_half_turn()}"')),
        "fromto": changed(ARM, ('size="0.05 0.2" pos="0 0 0.2"', 'size="0.05" fromto="0 0 0.4 0 0 0"')),
        "limited": changed(ARM, ('angle="radian"', 'angle="radian" autolimits="false"'), ('range="-1 2"', 'range="-1 2" limited="true"'),
                           ("ctrlrange", 'ctrllimited="true" ctrlrange'), ("forcerange", 'forcelimited="true" forcerange')),
        "general": changed(ARM, ("<motor", '<general gainprm="0.5"'), ('gear="5"', 'gear="10"')),
        "mesh": changed(ARM, (brick, 'type="mesh" mesh="box" pos="0.1 0 0"'), ("<worldbody>", '<asset><mesh file="box.obj"/></asset><worldbody>')),
        "exact mesh": changed(ARM, (brick, 'type="mesh" mesh="b" pos="0.1 0 0"'),
                              ("<worldbody>", '<asset><mesh name="b" file="box.obj" inertia="exact" scale="1 -1 1"/></asset><worldbody>')),
        "polygons": changed(ARM, (brick, 'type="mesh" mesh="polygons" pos="0.1 0 0"'), ("<worldbody>", '<asset><mesh file="polygons.obj"/></asset><worldbody>')),
        "mesh of corners": changed(ARM, (brick, 'type="mesh" mesh="b" pos="0.1 0 0"'),
                                   ("<worldbody>", f'<asset><mesh name="b" vertex="{" ".join("%g %g %g" % one for one in box)}"/></asset><worldbody>')),
        "convex mesh": changed(ARM, (brick, 'type="mesh" mesh="box" pos="0.1 0 0"'), ("<worldbody>", '<asset><mesh file="box.obj" inertia="convex"/></asset><worldbody>')),
        "mesh of vertices": changed(ARM, (brick, 'type="mesh" mesh="b"'), ("<worldbody>", '<asset><mesh name="b" refpos="-2 0 0" scale="0.05 1 1" '
                                    f'vertex="{" ".join("%g %g %g" % (20 * x, y, z) for x, y, z in box)}" face="{faces}"/></asset><worldbody>')),
    }  # fmt: skip
    mass = 500 * 0.1 * 0.2 * 0.4
    tensor = [mass / 3 * (a * a + b * b) for a, b in ((0.1, 0.2), (0.05, 0.2), (0.05, 0.1))]
    inertial = f'<inertial mass="{mass:.17g}" pos="0.1 0 0"'
    visual = f'<geom name="brick" mass="7" {brick}/>'
    body = f'<geom name="brick" class="link" {brick}/>'
    table["inertial"] = changed(ARM, (body, f'{inertial} diaginertia="{" ".join(map(repr, tensor))}"/>{visual}'))
    table["fullinertia"] = changed(ARM, (body, f'{inertial} fullinertia="{" ".join(map(repr, tensor))} 0 0 0"/>{visual}'))
    table["turned inertia"] = changed(ARM, (body, f'{inertial} quat="1 0 0 1" diaginertia="{tensor[1]!r} {tensor[0]!r} {tensor[2]!r}"/>{visual}'))
    table["from geoms"] = changed(ARM, (body, f'<inertial mass="9" pos="1 1 1" diaginertia="1 1 1"/>{body}'), ("<compiler", '<compiler inertiafromgeom="true"'))
    table["groups"] = changed(ARM, (body, body + '<geom group="3" size="1"/>'), ("<compiler", '<compiler inertiagrouprange="0 2"'))
    with open("defaults.xml", "w") as file:
        file.write("<mujocoinclude>" + re.search("<default>.*</default>", ARM)[0] + "</mujocoinclude>")
    with open("fore.xml", "w") as file:
        file.write("<mujoco>" + re.search('<body name="fore".*?</body>', ARM, re.S)[0] + "</mujoco>")
    table["include"] = re.sub('<body name="fore".*?</body>', '<include file="fore.xml"/>', re.sub("<default>.*</default>", '<include file="defaults.xml"/>', ARM), flags=re.S)
    for name, text in table.items():
        found = model(text)
        assert NUMBER.sub("#", found) == NUMBER.sub("#", wanted), (name, found, wanted)
        values = [np.array([float(x) for x in NUMBER.findall(one)]) for one in (found, wanted)]
        assert len(values[0]) == len(values[1]) and np.abs(values[0] - values[1]).max() < 1e-9, (name, found, wanted)


def quaternion_behind_half_turn():
    """The rotation euler="0.3 -0.5 0.7" after half a turn back about z, as a quaternion."""

    def times(a, b):
        w, v, u, r = a[0], np.array(a[1:]), b[0], np.array(b[1:])
        return [w * u - v @ r, *(w * r + u * v + np.cross(v, r))]

    turns = [[math.cos(angle / 2), *(math.sin(angle / 2) * axis)] for angle, axis in zip((-math.pi, 0.3, -0.5, 0.7), np.eye(3)[[2, 0, 1, 2]])]
    found = turns[0]
    for one in turns[1:]:
        found = times(found, one)
    return " ".join(f"{x:.17g}" for x in found)


def closed_forms():
    """Masses of primitives; a pendulum's inertia, frequency and forces; numbers of joints and actuators."""
    bodies = {
        'type="sphere" size="0.1"': 4 / 3 * math.pi * 1e-3,
        'type="box" size="0.1 0.2 0.3"': 8 * 6e-3,
        'type="cylinder" size="0.1 0.3"': math.pi * 1e-2 * 0.6,
        'type="capsule" size="0.1 0.3"': math.pi * 1e-2 * 0.6 + 4 / 3 * math.pi * 1e-3,
        'type="ellipsoid" size="0.1 0.2 0.3"': 4 / 3 * math.pi * 6e-3,
    }
    text = "".join(f'<body name="b{k}"><freejoint/><geom density="100" {words}/></body>' for k, words in enumerate(bodies))
    found = model(f"<mujoco><worldbody>{text}</worldbody></mujoco>")
    for k, volume in enumerate(bodies.values()):
        mass = float(re.search(rf"^b{k}_mass = (\S+)", found, re.M)[1])
        assert abs(mass - 100 * volume) < 1e-12 * mass, (k, mass)
    density, radius, half, gravity = 800, 0.05, 0.4, 1.62
    pendulum = f"""<mujoco><option gravity="0 0 -{gravity}"/><worldbody><body name="rod" pos="0 0 2"><joint name="swing" axis="0 1 0" pos="0 0 {half}"/>
     <geom type="cylinder" size="{radius} {half}" density="{density}"/></body></worldbody></mujoco>"""
    mass = density * math.pi * radius**2 * 2 * half
    inertia = mass * (radius**2 / 4 + (2 * half) ** 2 / 12 + half**2)
    _, ((M, b), (_, small)) = equations(model(pendulum), [([0.3], [1.7]), ([1e-6], [0.0])])
    assert abs(M[0, 0] / inertia - 1) < 1e-12 and abs(b[0] / (mass * gravity * half * math.sin(0.3)) - 1) < 1e-12, (M, b)
    assert abs(math.sqrt(small[0] / 1e-6 / M[0, 0]) / math.sqrt(gravity * half / (radius**2 / 4 + half**2 * 4 / 3)) - 1) < 1e-9
    total = model(pendulum.replace("<mujoco>", '<mujoco><compiler settotalmass="3"/>'))  # scales mass and inertia
    _, ((heavy, push),) = equations(total, [([0.3], [1.7])])
    assert abs(heavy[0, 0] / M[0, 0] * mass / 3 - 1) < 1e-12 and abs(push[0] / b[0] * mass / 3 - 1) < 1e-12, (heavy, M)
    _, out, err = imported("arm.xml", ARM)
    for said in ("shoulder_min = -1  # rad", "shoulder_max = 2  # rad", "elbow_armature = 0.01", "motor_effort = 10  # N m", "servo_effort = 4  # N m",
                 "[rotor elbow]\nplace = elbow\nmass = elbow_armature\n", "[actuator motor]\ncoordinate = shoulder\nlimit = motor_effort\n"):  # fmt: skip
        assert said in out, (said, out)
    for said in ("note: the gain, bias or filter of an actuator (line 12) is left out",
                 "shapes are polytopes inside: capsules as polytopes of 38 corners"):  # fmt: skip
        assert said in err and said.removeprefix("note: ") in out, err
    assert "2 degrees of freedom" in checked("arm.model", out)
    assert "[shape" in out and imported("arm.xml", changed(ARM, ("<actuator>", '<option collision="all"/><actuator>')))[1] == out
    code, bare, err = imported("arm.xml", changed(ARM, ("<actuator>", '<option collision="predefined"/><actuator>')))  # pairs alone touch
    assert code == 0 and "[shape" not in bare and 'note: contact of geoms under collision="predefined" (line ' in err, err


def mujoco():
    """The equations of motion of the machine are MuJoCo's."""
    with open("machine.xml", "w") as file:
        file.write(MACHINE)
    made = subprocess.run([DODYN, "import", "machine.xml", "--parts", "none"], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    states = [(np.round(np.sin(k + np.arange(12)), 3), np.round(2 * np.sin(k + 1 + np.arange(12)), 3)) for k in MUJOCO]
    names, found = equations(made.stdout, states)
    assert names[:4] == ["slide", "turn", "elbow", "ball_yaw"] and names[6:] == [f"box_{end}" for end in ("x", "y", "z", "yaw", "pitch", "roll")], names
    for (M, b), (_, v), (momentum, forces) in zip(found, states, MUJOCO.values()):
        assert np.abs(M @ v - momentum).max() < 1e-9 * np.abs(momentum).max() and np.abs(b - forces).max() < 1e-9 * np.abs(forces).max(), (M @ v, b)


def actuators_and_loops():
    """Tendons and sites as actuators, compensation of gravity, a closed loop, excluded contacts: `dodyn check` takes the model."""
    text = """<mujoco><compiler angle="radian"/><default><geom mass="1"/></default><worldbody><geom type="plane" size="1 1 1"/><geom name="wall" size="0.1" pos="3 0 0"/>
     <body name="left" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.5"/><site name="tip" pos="0 0 0.5" euler="0 0.5 0"/>
      <body name="bar" pos="0 0 0.5" gravcomp="0.5"><joint name="b" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.7 0 0"/></body></body>
     <body name="right" pos="0.7 0 1" quat="0 0 0 1"><joint name="c" axis="0 -1 0" actuatorfrcrange="-3 3"/><geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.5"/></body>
     <body name="finger" pos="2 0 0"><joint name="d" axis="1 0 0"/><geom size="0.1"/></body>
     </worldbody><equality><connect name="pin" body1="bar" body2="right" anchor="0.7 0 0"/><joint joint1="d" joint2="c" polycoef="0 2 0 0 0"/></equality>
     <contact><exclude body1="left" body2="right"/><exclude body1="world" body2="left"/></contact>
     <tendon><fixed name="both"><joint joint="a" coef="0.5"/><joint joint="d" coef="0.25"/></fixed></tendon>
     <actuator><motor name="pull" tendon="both" gear="4" ctrlrange="-1 1"/><motor name="jet" site="tip" gear="0 0 2 0 0 1" ctrlrange="0 5"/>
      <motor name="knob" joint="c" gear="10" ctrlrange="-1 1"/></actuator></mujoco>"""
    code, out, err = imported("loop.xml", text)
    assert code == 0, err
    for said in ("[actuator pull]\ncoordinate = a\nlimit = pull_effort\n", "[force pull_c]\ncoordinate = c\nforce = 1*u.pull\n", "pull_effort = 2  # N m",
                 "[actuator jet]\nlink = left\nat = 0, 0, 0.5 m*left_size\nforce = 0.958851077208, 0, 1.75516512378\ntorque = 0.479425538604, 0, 0.87758256189\n",
                 "knob_effort = 3  # N m", "force = 0, 0, 4.905 m/s2*bar_mass\n", "[contact]\nleft, right = no\nworld, left = no\n"):  # fmt: skip
        assert said in out, (said, out)
    assert "jet: its force is from 0 to 5 N (line 9): its limit has the larger size" in err and "link world: a part (line 1) is left out: a model has no plane" in err, err
    assert "3 degrees of freedom" in checked("loop.model", out)
    # If all coordinates are zero, links are not rotated: both sums of places lead to the same point, the pin.
    at = {name: np.array(eval(re.sub(r" m\*\w+", "", place))) for name, place in re.findall(r"\[(?:link|point) (\w+)\].*?\nat = (.*?)\n", out, re.S)}
    assert np.abs(at["left"] + at["bar"] + at["pin"] - at["right"] - at["pin_2"]).max() < 1e-12, at
    code, out, err = imported("loop.xml", None, "--mimic", "free")
    assert code == 0 and "d mimics c: here it moves by itself" in err and "[force pull_d]\ncoordinate = d\nforce = 0.5*u.pull\n" in out, out


def without_mass():
    """Bodies without mass, and coordinates with which no inertia moves; the links between two joints of one body are not bodies."""
    text = """<mujoco><worldbody><body name="a"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="hinge"/><geom size="0.1" mass="1"/>
<body name="b" pos="1 0 0"><joint name="k" axis="0 1 0" armature="0.1"/></body><body name="c" pos="1 0 0"><joint name="l" axis="0 1 0"/></body>
<body name="ball" pos="0 0 1"><joint name="s" type="ball"/><inertial pos="0 0 1" mass="1" diaginertia="0 0 0"/></body></body></worldbody></mujoco>"""
    code, out, err = imported("weightless.xml", text)
    assert code == 0 and "note: links without mass: b, c\n" in err, err
    assert "note: no inertia moves with l, s_yaw, s_pitch, s_roll, so motions are singular: " in err, err


def bad_input():
    """Checks that each input is refused in one line with file, line and remedy, and that nothing is written."""
    body = '<body name="upper"'
    table = [  # name, text, words of the line at fault, words of the message
        ("weld", changed(ARM, ("<actuator>", '<equality><weld body1="upper"/></equality><actuator>')), "<weld", "does not support <weld> in <equality>"),
        ("composite", changed(ARM, (body, "<composite/>" + body)), "<composite", "does not support <composite> in <worldbody>"),
        ("deformable", changed(ARM, ("<actuator>", "<deformable/><actuator>")), "<deformable", "does not support the section <deformable>"),
        ("muscle", changed(ARM, ("<motor", '<muscle joint="elbow"/><motor')), "<muscle", "does not support <muscle> in <actuator>"),
        ("plugin", changed(ARM, ("<motor", "<plugin/><motor")), "<plugin", "does not support <plugin> in <actuator>"),
        ("gain", changed(ARM, ("<motor", '<general gaintype="muscle" joint="elbow"/><motor')), "<general", "gaintype muscle"),
        ("no target", changed(ARM, ("<motor", "<motor/><motor")), "<motor/>", "does not support actuators on anything except one joint"),
        ("body", changed(ARM, ('<motor name="motor" joint="shoulder"', '<general body="upper"')), "<general body", 'has body="upper"; a model does not support it'),
        ("curve", changed(ARM, ("<actuator>", '<equality><joint joint1="elbow" joint2="shoulder" polycoef="0 1 2"/></equality><actuator>')), "joint1", "follows by a curve"),
        ("itself", changed(ARM, ("<actuator>", '<equality><joint joint1="elbow" joint2="elbow"/></equality><actuator>')), "joint1", "joint elbow follows itself"),
        ("tendon", changed(ARM, ("<actuator>", '<tendon><fixed name="t" stiffness="2"/></tendon><actuator>')), "<fixed", "does not support stiffness of tendons"),
        ("ball", changed(ARM, ('name="elbow"', 'name="elbow" type="ball"')), 'name="elbow"', "stiffness and armature of ball"),
        ("springdamper", changed(ARM, ('name="elbow"', 'name="elbow" springdamper="1 1"')), 'name="elbow"', 'has springdamper="1 1"; a model does not support it'),
        ("settotalmass", changed(ARM, ('density="500"', 'density="0"'), ('angle="radian"', 'angle="radian" settotalmass="3"')), "<compiler", "no body has a mass"),
        ("global", changed(ARM, ('angle="radian"', 'angle="radian" coordinate="global"')), "<compiler", "coordinates other than local"),
        ("touching", changed(ARM, ("<actuator>", '<option collision="some"/><actuator>')), "some", 'has collision="some"; write all, dynamic or predefined'),
        ("misspelt", changed(ARM, ('armature="0.01"', 'armatur="0.01"')), "armatur=", "did you mean armature?"),
        ("class", changed(ARM, ('name="brick" class="link"', 'name="brick" class="lnik"')), "lnik", "no class 'lnik'; did you mean link?"),
        ("joint", changed(ARM, ('joint="elbow"', 'joint="elbwo"')), "elbwo", "no joint 'elbwo'; did you mean elbow?"),
        ("type", changed(ARM, ('name="elbow"', 'name="elbow" type="hing"')), "hing", "no type 'hing'; did you mean hinge?"),
        ("free", changed(ARM, ('name="elbow"', 'name="elbow" type="free"')), 'name="elbow"', "only a body of <worldbody>"),
        ("same", changed(ARM, ('name="elbow"', 'name="shoulder"')), 'name="shoulder" class="link" axis="1', "joint shoulder is in line"),
        ("axis", changed(ARM, ('axis="1 0 0"', 'axis="0 0 0"')), 'axis="0 0 0"', "give it a direction"),
        ("quat", changed(ARM, ('quat="0.8 0 0.6 0"', 'quat="0.8 0 0.6"')), "quat=", "write 4 numbers"),
        ("two", changed(ARM, ('quat="0.8 0 0.6 0"', 'zaxis="0 0 1" euler="0 0 0"')), "zaxis=", "has euler and zaxis; leave one"),
        ("nan", changed(ARM, ('size="0.05 0.1 0.2"', 'size="0.05 nan 0.2"')), "nan", "write 3 numbers"),
        ("size", changed(ARM, ('size="0.05 0.1 0.2"', 'size="0.05 0.1"')), 'name="brick"', "write 3 numbers above 0"),
        ("eulerseq", changed(ARM, ('angle="radian"', 'angle="radian" eulerseq="xyw"')), "<compiler", "write three of the letters"),
        ("mesh", changed(ARM, ('type="box" size', 'type="mesh" mesh="no" size')), 'name="brick"', "no mesh 'no'"),
        ("no file", changed(ARM, ('type="box" size', 'type="mesh" mesh="no" size'), ("<worldbody>", '<asset><mesh name="no" file="no.stl"/></asset><worldbody>')), 'name="brick"', "No such file or directory; give the body an <inertial>"),
        ("include", changed(ARM, ("<worldbody>", '<include file="none.xml"/><worldbody>')), "<include", "No such file or directory; name an MJCF file"),
        ("again", changed(ARM, ("<worldbody>", '<include file="again.xml"/><worldbody>')), "<include", "include a file once"),
        ("empty", "<mujoco/>", "<mujoco", "has no <body>"),
        ("deep", "<mujoco><worldbody>" + "<body>" * 5000 + "</body>" * 5000 + "</worldbody></mujoco>", "<mujoco", "inside each other"),
    ]  # fmt: skip
    began = time.monotonic()
    for name, text, at, said in table:
        code, out, err = imported(f"{name}.xml", text)
        assert code == 2 and not out and err.count("\n") == 1, (name, code, err)
        line = next(number for number, words in enumerate(text.splitlines(), 1) if at in words)
        assert err.startswith(f"dodyn: {name}.xml:{line}: ") and "; " in err and said in err, (name, line, err)
    assert time.monotonic() - began < 20, "the time of a refusal grows with more than the file"
    with open("part.xml", "w") as file:
        file.write('<mujoco>\n<body name="x"><joint stiffness="a"/></body></mujoco>')
    code, out, err = imported("outer.xml", changed(ARM, (body, '<include file="part.xml"/>' + body)))
    assert code == 2 and err.startswith("dodyn: part.xml:2: <joint> has stiffness="), err
    for words in (["--base", "free"], ["--package", "a=b"]):
        code, out, err = imported("arm.xml", ARM, *words)
        assert code == 2 and not out and "leave --base and --package out" in err, err


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for test in (spellings, closed_forms, mujoco, actuators_and_loops, without_mass, bad_input):
        test()
        print(test.__name__, "ok", flush=True)
