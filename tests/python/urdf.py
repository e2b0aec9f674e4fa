"""A URDF robot against its own text: energies of the model that dodyn makes of it, against those that numpy finds by the URDF's own
frames, in random states. And what cannot be said in a model is one line. Usage: urdf.py DODYN"""

import csv
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

try:
    import h5py  # noqa: F401  what `dodyn import` asks of the interpreter
    import numpy as np
except ImportError:
    sys.exit(77)  # skipped

DODYN = os.path.abspath(sys.argv[1])
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
                                   f"[start]\n{start}")  # fmt: skip
        done = run("simulate", "arm.cfg", "--output", "arm.csv")
        assert done.returncode == 0, done.stdout + done.stderr
        rows = list(csv.DictReader(open("arm.csv")))
        columns = {name.split(" ")[0]: name for name in rows[0]}
        kinetic, potential = energies(ARM, q, rates)
        found = [float(rows[0][columns[name]]) for name in ("energy.kinetic", "energy.potential")]
        assert np.allclose(found, (kinetic, potential), rtol=1e-9), (found, kinetic, potential)

    oblique = ARM.replace('<axis xyz="0 -1 0"/>', '<axis xyz="0 0.6 0.8"/>')
    loop = ARM.replace('<parent link="base"/>', '<parent link="hand"/>')
    for name, text, said in [("oblique", oblique, "joint elbow: its axis is"), ("loop", loop, "3 links do not hang on base, as fore"),
                             ("words", "<robot", "is not XML"), ("other", "<sdf/>", "not <robot>")]:  # fmt: skip
        open(name + ".urdf", "w").write(text)
        refused = run("import", name + ".urdf")
        assert refused.returncode == 2 and said in refused.stderr and refused.stderr.count("\n") == 1 and not refused.stdout, (name, refused)
    assert run("import", "nowhere.urdf").returncode == 2
