#!/usr/bin/env python3
"""Draws what a knee study found, from its archive: cost over knee position with the spline's progress, and the gait, in
space from the side.

    docs/knee_figure.py knee.h5 docs/knee.png [--sweep knee-sweep.h5]

Of a sweep also the slopes that its gradients say: a curve that follows them is one family of gaits.

Needs h5py and matplotlib (Debian: python3-h5py python3-matplotlib).
"""
import argparse

import h5py
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read(path):
    with h5py.File(path, "r", libver="latest", swmr=True) as file:
        rows = file["evaluations/id"].shape[0]
        column = {name: file["evaluations/" + name][:rows] for name in ("id", "design", "cost", "status", "gradient")}
        order = np.argsort(column["id"])
        column = {name: values[order] for name, values in column.items()}
        column["points"] = file["trajectories/points"][:rows][order]
        column["names"] = [str(name) for name in file["trajectories/points"].attrs["names"]]
        column["grid"] = file["surrogate/grid"][:]
        column["splines"] = file["surrogate/value"][:]
        return column


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive")
    parser.add_argument("picture")
    parser.add_argument("--sweep", help="archive of the same study by --strategy sweep: draws its costs behind")
    arguments = parser.parse_args()
    study = read(arguments.archive)
    ok = study["status"] == 0
    knee, cost = study["design"][:, 0], study["cost"]
    best = np.flatnonzero(ok)[np.argmin(cost[ok])]

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), gridspec_kw={"width_ratios": [1, 1.15]})

    if arguments.sweep:
        sweep = read(arguments.sweep)
        solved = np.flatnonzero(sweep["status"] == 0)
        solved = solved[np.argsort(sweep["design"][solved, 0])]
        x, y, slope = sweep["design"][solved, 0], sweep["cost"][solved], sweep["gradient"][solved, 0]
        reach = 0.3 * np.min(np.diff(x))
        left.plot(x, y, ".-", color="0.75", lw=3, ms=7, label="sweep")
        left.plot([x - reach, x + reach], [y - reach * slope, y + reach * slope], color="tab:red", lw=1.2)
    count = len(study["splines"])
    for i, spline in enumerate(study["splines"]):
        shade = plt.cm.viridis(0.9 * (1 - (i + 1) / count))
        left.plot(study["grid"], spline, color=shade, lw=1, label=f"spline {i + 1}")
    left.plot(knee[ok], cost[ok], "o", color="black", ms=4)
    for i in np.flatnonzero(ok):
        left.annotate(str(study["id"][i]), (knee[i], cost[i]), textcoords="offset points", xytext=(5, 4), fontsize=8)
    left.plot(knee[best], cost[best], "*", color="crimson", ms=13, label=f"best: {knee[best]:.4f} m, {cost[best]:.5f}")
    span = cost[ok].max() - cost[best]
    left.set_ylim(cost[best] - 0.35 * span, cost[ok].max() + 0.6 * span)
    left.set_xlabel("knee above the foot, m")
    left.set_ylabel("cost of transport")
    left.legend(fontsize=8, loc="upper center", ncols=2)

    # foot and link ends along the legs; a massless hip between the thighs would be the same point twice
    legs = [n[:-2] for n in study["names"] if n.endswith("_x") and n != "hip_end_x"]
    height = "_z" if legs[0] + "_z" in study["names"] else "_y"
    points = study["points"][best]
    nodes = points.shape[0]
    X, Y = (points[:, [study["names"].index(n + axis) for n in legs]] for axis in ("_x", height))
    step = X[-1, -1]
    # one step as it is, and the next with the legs exchanged (stance drawn dark, swing light)
    for shift in (0, 1):
        for k in range(0, nodes, 8):
            x, y = X[k] + shift * step, Y[k]
            right.plot(x[:3], y[:3], color="tab:blue" if shift == 0 else "tab:orange", lw=1.6)
            right.plot(x[2:], y[2:], color="tab:orange" if shift == 0 else "tab:blue", lw=1.0, alpha=0.7)
            right.plot(x[2], y[2], "o", color="black", ms=2.5)
    right.axhline(0, color="0.4", lw=0.8)
    right.set_aspect("equal")
    right.set_xlabel("m")
    right.set_title(f"the gait at knee = {knee[best]:.4f} m, two steps, one colour per leg", fontsize=9)

    figure.tight_layout()
    figure.savefig(arguments.picture, dpi=100, bbox_inches="tight")


if __name__ == "__main__":
    main()
