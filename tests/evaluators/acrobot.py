"""An acrobot: its model file, and its equations of motion written by hand."""

import numpy as np

MODEL = """[model]
dimension = 2
gravity = 9.81
[link upper]
parent = ground
joint = revolute
coordinates = shoulder
end = 0, -1
mass = 1
inertia = 1/12
[link lower]
parent = upper
joint = revolute
coordinates = elbow
end = 0, -1
mass = 1
inertia = 1/12
[spring elbow]
coordinate = elbow
stiffness = 2
damping = 0.1
[actuator motor]
coordinate = elbow
"""


def mass(b):
    c = np.cos(b)
    return np.array([[1 / 3 + 1 + 1 / 3 + c, 1 / 3 + c / 2], [1 / 3 + c / 2, 1 / 3]])


def acceleration(q, v, u):
    """Two rods of 1 m and 1 kg, angles from hanging down, the second relative to the first."""
    (a, b), (x, y) = q, v
    s = np.sin(b)
    coriolis = np.array([s * (x * y + y * y / 2), -s * x * x / 2])
    weight = -9.81 * np.array([1.5 * np.sin(a) + 0.5 * np.sin(a + b), 0.5 * np.sin(a + b)])
    return np.linalg.solve(mass(b), coriolis + weight + np.array([0, u - 2 * b - 0.1 * y]))
