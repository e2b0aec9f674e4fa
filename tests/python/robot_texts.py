"""URDF robots of these tests: an arm with three hinges, and a machine with skew axes, slides, an implicit world, followers and a rotor."""

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

MACHINE = """<robot name="machine" xmlns:drake="http://drake.mit.edu">
 <link name="upper"><inertial><origin xyz="0.02 0.01 0.2" rpy="0.3 0.2 0.1"/><mass value="3"/>
  <inertia ixx="0.05" ixy="0.004" ixz="0.002" iyy="0.06" iyz="-0.003" izz="0.02"/></inertial>
  <collision><geometry><mesh filename="package://shapes/wedge.dae" scale="1 1 2"/></geometry></collision></link>
 <link name="fore"><inertial><origin xyz="0.15 0 0" rpy="1 0.5 -0.3"/><mass value="1.5"/>
  <inertia ixx="0.014" ixy="0.001" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial></link>
 <link name="left"><inertial><origin xyz="0 0.01 0.05"/><mass value="0.2"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.0012" iyz="0" izz="0.0008"/></inertial></link>
 <link name="right"><inertial><origin xyz="0 0.01 0.05"/><mass value="0.2"/>
  <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.0012" iyz="0" izz="0.0008"/></inertial></link>
 <link name="cart"><inertial><mass value="2"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
 <joint name="rail" type="prismatic"><parent link="world"/><child link="cart"/><origin xyz="0 0 0.1" rpy="0.1 0.2 0"/>
  <axis xyz="1 2 -2"/><limit lower="-1" upper="1" effort="100" velocity="2"/></joint>
 <joint name="shoulder" type="revolute"><parent link="cart"/><child link="upper"/><origin xyz="0 0 0.1" rpy="0.4 0 -1.1"/>
  <axis xyz="0.6 0 0.8"/><limit lower="-2" upper="2" effort="40" velocity="3"/><dynamics damping="0.2"/></joint>
 <joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><origin xyz="0 0.05 0.4" rpy="0 -1.57 0"/><axis xyz="0 -1 0"/></joint>
 <joint name="finger" type="revolute"><parent link="fore"/><child link="left"/><origin xyz="0.3 0.02 0"/><axis xyz="1 0 0"/>
  <limit lower="-1e16" upper="1" effort="5" velocity="0"/></joint>
 <joint name="other" type="prismatic"><parent link="fore"/><child link="right"/><origin xyz="0.3 -0.02 0"/><axis xyz="0 -1 1"/>
  <limit lower="0" upper="1" effort="5" velocity="1"/><mimic joint="third" multiplier="-0.5" offset="0.1"/></joint>
 <joint name="third" type="revolute"><parent link="right"/><child link="tip"/><axis xyz="0 0 1"/><limit lower="0" upper="1" effort="5" velocity="1"/>
  <mimic joint="finger" multiplier="2" offset="-0.2"/></joint>
 <link name="tip"><inertial><origin xyz="0.1 0 0"/><mass value="0.1"/><inertia ixx="0.0001" iyy="0.0002" izz="0.0002"/></inertial></link>
 <transmission name="t"><joint name="elbow"/><actuator name="a"><drake:rotor_inertia value="1e-4"/><drake:gear_ratio value="50"/></actuator></transmission>
</robot>
"""
