"""Boxes in the plane and in space for the examine_*.py tests: corners, masses, rotations, and distances."""

import itertools

import numpy as np


def box(size, at=(0, 0, 0)):
    """Returns the corners of a box."""
    size, at = np.array(size, float), np.array(at, float)
    return np.array([at + 0.5 * size * s for s in itertools.product((-1, 1), repeat=len(size))])


def inertia(parts, density):
    """Returns the mass, the centre and the Euler tensor about it of several boxes (size, at)."""
    mass = sum(density * np.prod(s) for s, _ in parts)
    centre = sum(density * np.prod(s) * np.array(a, float) for s, a in parts) / mass
    E = np.zeros((len(centre), len(centre)))
    for s, a in parts:
        m, d = density * np.prod(s), np.array(a, float) - centre
        E += m * np.diag(np.array(s, float) ** 2 / 12) + m * np.outer(d, d)
    return mass, centre, E


def rotation(axis, angle):
    c, s = np.cos(angle), np.sin(angle)
    R = np.eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    R[j, j], R[j, k], R[k, j], R[k, k] = c, -s, s, c
    return R


def steadily(R, next, shares):
    """Returns attitudes between R and next at a constant spin, [shares, 3, 3]."""
    W = R.T @ next
    angle = np.arccos(np.clip((np.trace(W) - 1) / 2, -1, 1))
    if angle < 1e-9:
        return np.repeat(R[None], len(shares), 0)
    axis = np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / (2 * np.sin(angle))
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    s = np.asarray(shares)[:, None, None] * angle
    return R @ (np.eye(3) + np.sin(s) * K + (1 - np.cos(s)) * K @ K)


def gaps(A, RA, B, RB):
    """Returns the gaps of two boxes at several times, by separating axes, [times]; negative: the boxes overlap by
    that much. A, B: corners [times, corners, d]; RA, RB: attitudes [times, d, d]."""
    d = A.shape[-1]
    axes = [R[:, :, i] for R in (RA, RB) for i in range(d)]
    if d == 3:
        axes += [np.cross(RA[:, :, i], RB[:, :, j]) for i in range(3) for j in range(3)]
    best = np.full(len(A), -np.inf)
    for a in axes:
        length = np.linalg.norm(a, axis=1)
        a = a / np.maximum(length, 1e-9)[:, None]
        x, y = np.einsum("tcd,td->tc", A, a), np.einsum("tcd,td->tc", B, a)
        gap = np.maximum(x.min(1) - y.max(1), y.min(1) - x.max(1))
        best = np.where(length < 1e-9, best, np.maximum(best, gap))
    return best
