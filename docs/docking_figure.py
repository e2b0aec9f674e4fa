#!/usr/bin/env python3
"""Pictures of docking studies: the failure rate over the spacing with Wilson's intervals, by how tries fail, and maps of
the starts that dock, for three spacings. Of a spacing that several archives hold, the evaluation with most starts counts.

    docs/docking_figure.py docking.h5 docking-zoom.h5 docking-sweep.h5 docs/docking.png
"""
import sys

import h5py
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

KINDS = ["docked", "missed", "jammed", "wrong port", "bounced off", "timed out", "unresolved"]
COLOURS = ["#2a9d5c", "#8d99ae", "#d1495b", "#e9a03b", "#5e60ce", "#3d405b", "#000000"]
HULL = 0.1  # m, length of a craft: distances are between front faces


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def read(path):
    with h5py.File(path, "r", libver="latest", swmr=True) as archive:
        rows = archive["evaluations"]
        count = rows["id"].shape[0]
        names = [text(n) for n in rows["metrics"].attrs["names"]]
        design, status = rows["design"][:count, 0], rows["status"][:count]
        return [
            {
                "spacing": 1e3 * design[k],
                "rate": rows["cost"][k],
                "low": rows["metrics"][k, names.index("wilson_low")],
                "high": rows["metrics"][k, names.index("wilson_high")],
                "counts": rows["metrics"][k, :7],
                "starts": archive["trajectories/start"][k],
                "outcomes": archive["trajectories/outcome"][k],
            }
            for k in range(count)
            if status[k] == 0
        ]


def main():
    found = {}
    for evaluation in (e for path in sys.argv[1:-1] for e in read(path)):
        spacing = round(evaluation["spacing"], 3)
        if spacing not in found or len(found[spacing]["starts"]) < len(evaluation["starts"]):
            found[spacing] = evaluation
    rows = [found[spacing] for spacing in sorted(found)]
    data = {key: [row[key] for row in rows] for key in rows[0]}
    for key in ("spacing", "rate", "low", "high", "counts"):
        data[key] = np.array(data[key])
    figure = plt.figure(figsize=(11, 8), layout="constrained")
    top, bottom = figure.subfigures(2, 1, height_ratios=[1, 1.05])

    curve = top.subplots()
    shares = data["counts"][:, 1:] / data["counts"].sum(axis=1, keepdims=True)
    floor = np.zeros(len(shares))
    for kind in range(1, 7):
        share = shares[:, kind - 1]
        if share.any():
            curve.fill_between(data["spacing"], floor, floor + share, color=COLOURS[kind], alpha=0.45, lw=0, label=KINDS[kind])
        floor = floor + share
    rate = data["rate"]
    # at 0 and 1 rounding puts a limit a hair inside the rate
    bars = np.maximum(0, [rate - data["low"], data["high"] - rate])
    curve.errorbar(data["spacing"], rate, yerr=bars, fmt="ko-", ms=3.5, lw=1, capsize=2, label="failure rate, Wilson 95 %")
    best = int(np.argmin(rate))
    curve.annotate(f"{data['spacing'][best]:.1f} mm: {rate[best]:.3f}", (data["spacing"][best], rate[best]),
                   xytext=(14, -34), textcoords="offset points", arrowprops={"arrowstyle": "->"})
    curve.set(xlabel="spacing of the ports (mm)", ylabel="share of the starts that fail", ylim=(0, 1.35 * max(data["high"])))
    curve.legend(fontsize=8, loc="upper center", ncol=3)

    maps = bottom.subplots(1, 3, sharex=True, sharey=True)
    for axes, k in zip(maps, [0, best, len(rate) - 1]):
        bearing, distance = np.radians(data["starts"][k][:, 0]), data["starts"][k][:, 1]
        x, y = (HULL + distance) * np.cos(bearing), (HULL + distance) * np.sin(bearing)
        kinds = data["outcomes"][k][:, 0].astype(int)
        for kind in range(7):
            if (kinds == kind).any():
                axes.scatter(x[kinds == kind], y[kinds == kind], s=9, color=COLOURS[kind], label=KINDS[kind])
        axes.add_patch(plt.Rectangle((-0.05, -0.05), 0.1, 0.1, fc="0.85", ec="0.3"))
        for side in (1, -1):
            axes.add_patch(plt.Rectangle((0.05, side * data["spacing"][k] / 2e3 - 0.012), 0.015, 0.024, fc="0.6", ec="0.3"))
        axes.set(title=f"{data['spacing'][k]:.1f} mm: {rate[k]:.3f} fail", xlabel="x (m)", aspect="equal")
        axes.legend(fontsize=7, loc="lower left")
    maps[0].set_ylabel("y (m) of the male craft's centre at the start")
    figure.savefig(sys.argv[-1], dpi=110)


if __name__ == "__main__":
    main()
