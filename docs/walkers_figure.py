#!/usr/bin/env python3
"""Draws one gait from the CSV file that `dodyn solve CONFIG --output FILE.csv` writes: two steps, and the torques.

    docs/walkers_figure.py gait.csv docs/walker-spatial.png [--title TEXT]

In space from the side and from above. Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import csv
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    names = [re.sub(r" \[.*\]$", "", name) for name in rows[0]]
    columns = list(zip(*rows[1:]))
    return {name: np.array([float(x) for x in column if x]) for name, column in zip(names, columns)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gait")
    parser.add_argument("picture")
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    data = read(arguments.gait)

    names = [n[len("points."):-2] for n in data if n.startswith("points.") and n.endswith("_x")]
    space = "points." + names[0] + "_z" in data
    point = {n: np.stack([data[f"points.{n}_{a}"] for a in ("xyz" if space else "xy")]) for n in names}
    # Links start where another one ends: legs at the ends in order, a trunk at the hip, a massless hip nowhere.
    legs = [n for n in names if not re.search(r"^(hip|trunk|torso)_end$", n)]
    middle = len(legs) // 2
    lines = [(legs[i], legs[i + 1], i >= middle) for i in range(len(legs) - 1)]
    lines += [(legs[middle], n, None) for n in names if re.search(r"^(trunk|torso)_end$", n)]
    foot = legs[-1]
    step = point[foot][0, -1]
    nodes = len(data["t"])
    every = max(1, (nodes - 1) // 10)

    views = [(0, -1, "x, m", "height, m")] + ([(0, 1, "x, m", "y (left), m")] if space else [])
    figure, axes = plt.subplots(1, len(views) + 1, figsize=(5.2 * (len(views) + 1), 4),
                                gridspec_kw={"width_ratios": [1.4] * len(views) + [1]})
    for axis, (a, b, xlabel, ylabel) in zip(axes, views):
        width = point[foot][1, -1] if space else 0.0
        for number in (0, 1):
            for k in range(0, nodes, every):
                for one, other, swing in lines:
                    p = np.stack([point[one][:, k], point[other][:, k]], axis=1)
                    if number == 1 and space:  # the second step is the first one in the mirror, one step width over
                        p = p * np.array([[1], [-1], [1]]) + np.array([[0], [width], [0]])
                    p = p + np.array([[number * step]] + [[0]] * (len(p) - 1))
                    colour = "0.4" if swing is None else "tab:orange" if swing ^ (number == 1) else "tab:blue"
                    axis.plot(p[a], p[b], color=colour, lw=1.5, alpha=0.75)
            track = point[foot].copy()
            if number == 1 and space:
                track[1] = width - track[1]
            axis.plot(track[a] + number * step, track[b], color="black", lw=0.7, ls=":")
        if b == -1:
            axis.axhline(0, color="0.4", lw=0.8)
        axis.set_aspect("equal")
        axis.set_xlabel(xlabel)
        axis.set_ylabel(ylabel)
    figure.suptitle(arguments.title or "two steps, one colour per leg", fontsize=9)
    for name in (n for n in data if n.startswith("u.")):
        u = data[name]
        axes[-1].stairs(u, data["t"][: len(u) + 1], label=name[2:].replace("_", " "), baseline=None)
    axes[-1].set_xlabel("t, s")
    axes[-1].set_ylabel("torque, N m")
    axes[-1].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(arguments.picture, dpi=90)


if __name__ == "__main__":
    main()
