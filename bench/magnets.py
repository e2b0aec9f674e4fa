"""Error of pairs of charges as a model of magnets at contact range (docs/cases/docking.md). Compares cylinders of docking-craft.model, evenly
magnetised along their axes so that each end is a disc of uniform charge, with the two charges of the model at the centres of the ends.

    python3 bench/magnets.py
"""

import numpy as np
from scipy import integrate, special

WIDTH, THICK, RECESS, MOUNT = 5e-3, 5e-3, 3.2e-3, 2e-3  # m


def disc(rings, spokes):
    """Returns points of a disc of the magnets' width and their shares of its charge: Gauss points in the squared radius, equal angles."""
    x, w = np.polynomial.legendre.leggauss(rings)
    radius = 0.5 * WIDTH * np.sqrt(0.5 * (x + 1))
    angle = 2 * np.pi * (np.arange(spokes) + 0.5) / spokes
    points = np.array([[0.0, r * np.cos(a), r * np.sin(a)] for r in radius for a in angle])
    return points, np.repeat(0.5 * w / spokes, spokes)


POINT = (np.zeros((1, 3)), np.ones(1))


def pull(end, apart, aside, tilt):
    """Returns the force per K on the rear magnet from the front one, which begins at x = `apart`, y = `aside` and is turned by `tilt` about z."""
    points, shares = end
    turn = np.array([[np.cos(tilt), -np.sin(tilt), 0], [np.sin(tilt), np.cos(tilt), 0], [0, 0, 1]])
    total = np.zeros(3)
    for i, sign in enumerate((1, -1)):
        one = points + [-i * THICK, 0, 0]
        for j, other_sign in enumerate((-1, 1)):
            other = (points + [j * THICK, 0, 0]) @ turn.T + [apart, aside, 0]
            between = one[:, None, :] - other[None, :, :]
            cubes = np.sum(between**2, axis=2) ** 1.5
            total += sign * other_sign * np.einsum("i,j,ijk->k", shares, shares, between / cubes[..., None])
    return -total  # reaction on the other magnet


def touching(diameter, thickness):
    """Returns the factor of models/docking-first.model: the pull of two equal cylinders that touch, over mu0 magnetisation^2 pi diameter^2/4. Each pair of
    coaxial discs z apart contributes the integral of J1(x)^2/x exp(-2 x z/diameter); at z = 0 it is 1/2."""

    def discs(z):
        return integrate.quad(lambda x: special.j1(x) ** 2 / x * np.exp(-2 * x * z / diameter), 0, 200, limit=1000)[0]

    return 0.5 - 2 * discs(thickness) + discs(2 * thickness)


def main():
    coarse, fine = disc(6, 24), disc(9, 37)
    seated = 2 * RECESS + MOUNT
    print("| nearest poles apart, mm | pull of discs, of charges | 3 mm aside: pull | and across | turned by 15 degrees: pull |")
    print("|---|---|---|---|---|")
    for apart in (seated, 10e-3, 12e-3, 15e-3, 20e-3, 30e-3, 50e-3):
        cells = []
        for aside, tilt, axis in ((0, 0, 0), (3e-3, 0, 0), (3e-3, 0, 1), (0, np.radians(15), 0)):
            found = pull(fine, apart, aside, tilt)[axis]
            assert abs(pull(coarse, apart, aside, tilt)[axis] / found - 1) < 1e-4
            cells.append(f"{found / pull(POINT, apart, aside, tilt)[axis]:.3f}")
        print(f"| {1e3 * apart:.1f}{' (seated)' if apart == seated else ''} | " + " | ".join(cells) + " |")
    far = pull(fine, 1.0, 0, 0)[0] / pull(POINT, 1.0, 0, 0)[0]
    assert abs(far - 1) < 1e-3, far
    factor = touching(9.5e-3, 2.5e-3)
    print(f"\nMagnets of the first ports: factor {factor:.6f}, K = {2.224 * 9.5e-3**2 / 16 / factor:.3e} N m2")


if __name__ == "__main__":
    main()
