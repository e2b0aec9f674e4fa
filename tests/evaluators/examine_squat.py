#!/usr/bin/python3
"""Examines the rise of configs/squat.cfg by its archive alone: numpy, with kinematics of its own and the robot's numbers written down here.

    examine_squat.py DODYN ROOT KNEE [--KEY VALUE ...]

No equation of motion is used, only what holds for the robot as a whole: both feet stay where they stand; the forces of the ground and the
weight give the common centre of mass its acceleration; from rest to rest their impulses and their moment about a foot add up to zero; neither
foot slips nor pulls; the hip rises as far as it should."""

import os
import sys

import numpy as np

from one_design import evaluated

DODYN, ROOT, KNEE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), float(sys.argv[3])
LEG, TUBE, DRIVE, DRIVE_AT, TRUNK, TRUNK_COM, G, MU = 0.8, 8.0, 3.6, 0.13, 20.0, 0.2, 9.81, 0.8
THIGH = LEG - KNEE
SHANK_MASS, THIGH_MASS = TUBE * KNEE, TUBE * THIGH + DRIVE
SHANK_COM = 0.32 * KNEE  # below the knee
THIGH_COM = (TUBE * THIGH**2 / 2 + DRIVE * DRIVE_AT) / THIGH_MASS  # below the hip
MASSES = np.array([SHANK_MASS, THIGH_MASS, TRUNK, THIGH_MASS, SHANK_MASS])


def up(angle):
    return np.array([-np.sin(angle), np.cos(angle)]).T


def places(q):
    """Of [nodes, 7] coordinates: hips, swing feet, and centres of mass of the five links, [nodes, 2] each."""
    shank, thigh, trunk, swing_thigh, swing_shank = np.cumsum(q[:, 2:], axis=1).T
    knee = q[:, :2] + KNEE * up(shank)
    hip = knee + THIGH * up(thigh)
    swing_knee = hip - THIGH * up(swing_thigh)
    return hip, swing_knee - KNEE * up(swing_shank), [
        knee - SHANK_COM * up(shank), hip - THIGH_COM * up(thigh), hip + TRUNK_COM * up(trunk),
        hip - THIGH_COM * up(swing_thigh), swing_knee - SHANK_COM * up(swing_shank)]  # fmt: skip


with evaluated(DODYN, ROOT, "squat", "knee", KNEE, *sys.argv[4:]) as f:
    t, q, root, held = (f[f"trajectories/{name}"][0] for name in ("t", "q", "held_force", "hold_force"))
t = t.ravel()
h = t[1] - t[0]
root = root[:, :2]  # on the foot at the origin; `held` on the other one
hip, foot, centres = places(q)
assert np.abs(foot - [-0.2, 0.0]).max() < 1e-7, "the held foot moves"
assert abs(hip[0, 1] - 0.72) < 1e-7 and abs(hip[-1, 1] - 0.78) < 1e-7, "the hip is not where it should be"

common = sum(m * c for m, c in zip(MASSES, centres)) / MASSES.sum()
force = root + held + [0.0, -MASSES.sum() * G]
acceleration = (common[2:] - 2.0 * common[1:-1] + common[:-2]) / h**2
miss = np.abs(force[1:-1] - MASSES.sum() * acceleration).max() / np.abs(force).max()
weights = np.full(len(t), h)
weights[[0, -1]] = h / 2
impulse = np.abs(weights @ force).max() / (MASSES.sum() * G * t[-1])
moment = foot[:, 0] * held[:, 1] - foot[:, 1] * held[:, 0] - common[:, 0] * MASSES.sum() * G
swing = abs(weights @ moment) / (0.2 * MASSES.sum() * G * t[-1])
print(f"acceleration of the centre of mass: {miss:.2g} of the largest force; impulse {impulse:.2g} and moment {swing:.2g} of the weight's")
assert miss < 1e-3, "the ground's forces do not give the centre of mass its acceleration"
assert impulse < 1e-9, "from rest to rest the impulses of the ground and the weight differ"
assert swing < 1e-3, "from rest to rest the moments of the ground and the weight differ"
for on_foot in (root, held):
    assert (np.abs(on_foot[:, 0]) <= MU * on_foot[:, 1] + 1e-6).all(), "a foot slips"
