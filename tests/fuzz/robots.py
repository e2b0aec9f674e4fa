#!/usr/bin/python3
"""Changes robots as URDF or MJCF at random: each is imported, or refused with one line by a RobotError.

    robots.py urdf|mjcf SECONDS PYTHON_FOLDER [FILE...]
"""
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[3])
from dodyn import robots  # noqa: E402

SEEDS = {"urdf": b"""<?xml version="1.0"?>
<robot name="arm">
  <link name="base"><visual><geometry><box size="0.1 0.2 0.3"/></geometry></visual></link>
  <link name="upper">
    <inertial><origin xyz="0 0 0.1" rpy="0 0.1 0"/><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.05" length="0.4"/></geometry></collision>
  </link>
  <link name="hand"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
    <collision><geometry><sphere radius="0.03"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1"/></joint>
  <joint name="wrist" type="fixed"><parent link="upper"/><child link="hand"/><origin xyz="0 0 0.4" rpy="0 0 1"/></joint>
</robot>
""", "mjcf": b"""<mujoco model="arm">
  <compiler eulerseq="zyx"/>
  <option gravity="0 0 -9.81"><flag contact="disable"/></option>
  <default><geom density="500"/><default class="a"><joint damping="0.1" range="-90 90" armature="0.01"/><motor ctrlrange="-1 1"/></default></default>
  <asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3" refquat="1 0 0 1"/></asset>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body name="upper" pos="0 0 1" childclass="a"><joint name="j" axis="0 1 0" ref="10"/><joint name="s" type="slide" pos="0 0 1"/>
      <geom type="capsule" size="0.1" fromto="0 0 0 0 0 1"/><site name="tip" euler="1 2 3"/>
      <frame axisangle="0 0 1 30"><body name="fore" xyaxes="1 0 0 0 1 1" gravcomp="1"><joint name="k" stiffness="2" springref="4"/><geom type="mesh" mesh="m"/></body></frame>
    </body>
    <body name="free"><freejoint/><inertial pos="0 0 1" mass="2" fullinertia="1 1 1 0 0.1 0"/><geom type="ellipsoid" size="1 2 3"/></body>
  </worldbody>
  <equality><joint joint1="k" joint2="j" polycoef="1 2"/><connect body1="fore" body2="free" anchor="1 1 1"/></equality>
  <contact><exclude body1="upper" body2="free"/></contact>
  <tendon><fixed name="t"><joint joint="k" coef="0.5"/><joint joint="j" coef="1"/></fixed></tendon>
  <actuator><motor name="a" joint="j" class="a"/><position tendon="t" kp="3" forcerange="-1 1"/><general site="tip" gear="0 0 1"/></actuator>
</mujoco>
"""}
WORDS = [b"<", b">", b"/", b'"', b"0", b"-1", b"1e400", b"nan", b"inf", b"&amp;", b"&x;", b"<!--", b"]]>", b"\x00", b"\xff", b"link", b"joint",
         b"<link name='a'/>", b"<mimic joint='a'/>", b"<body>", b"<include file='a'/>", b'class="a"', b'quat="1 0 0 0"', b'type="ball"', b'size="0.1"', b"../", b"package://", b" ", b"1 2 3 4", b"\n"]


def changed(text, chance, others):
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice([0, 0, 1, 4, 40, 400]))
        other = chance.choice(others)
        begin = chance.randrange(len(other))
        text = text[:at] + chance.choice([b"", chance.choice(WORDS), other[begin:begin + chance.choice([3, 30, 300])], text[at:end] * 2]) + text[end:]
    return text


def main():
    kind, seconds, files = sys.argv[1], float(sys.argv[2]), sys.argv[4:]
    seeds = [open(name, "rb").read() for name in files] or [SEEDS[kind]]
    chance, until, tried, refused = random.Random(1), time.time() + seconds, 0, 0
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, f"robot.{kind}")
        while time.time() < until:
            text = changed(chance.choice(seeds), chance, seeds)
            with open(path, "wb") as file:
                file.write(text)
            began = time.time()
            try:
                robots.convert(path)
            except robots.RobotError as error:
                refused += 1
                assert "\n" not in str(error), error
            except BaseException:
                with open(f"crash.{kind}", "wb") as file:
                    file.write(text)
                raise
            assert time.time() - began < 10, "takes too long"
            tried += 1
    print(f"{tried} robots, {refused} refused")


main()
