#!/usr/bin/env python3
"""Gaits and motions of the shipped studies, driven through the contact simulation: when and where feet touch down.

    bench/replay.py build/release/apps/dodyn [CONFIG ...]

Solves a few designs of each study and replays the best, as shipped, by contact, and without feedback. Prints a table.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

SHIPPED = ["knee-motor", "knee-free", "knee-fixed-masses", "knee-published", "knee-torso",
           "knee-underactuated", "hip-spring", "knee-spatial", "hopper"]
NUMBER = r"([-+0-9.einf]+)"


def told(text):
    """Returns time error (ms), place error (mm), landing energy (J; replayed, planned) and largest correction; or the reason of a failure."""
    time = re.search(rf"touch-down .*: {NUMBER} ms", text)
    place = re.search(rf"{NUMBER} mm apart", text)
    if not time or not place:
        failed = re.search(r"failed +at [^:]*: (.*)", text)
        return "| " + (failed.group(1) if failed else text.strip().splitlines()[-1]) + " | | | |"
    loss = re.search(rf"takes {NUMBER} J(?:, planned {NUMBER} J)?", text)
    feedback = re.search(rf"adds at most {NUMBER} to the controls, which reach {NUMBER}", text)
    share = f"{100 * float(feedback.group(1)) / float(feedback.group(2)):.2g} %" if feedback else "-"
    both = loss.group(1) + (" / " + loss.group(2) if loss.group(2) else "")
    return f"| {float(time.group(1)):+.3f} | {float(place.group(1)):.3f} | {both} | {share} |"


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    root = pathlib.Path(__file__).resolve().parent.parent
    names = sys.argv[2:] or SHIPPED
    print("| study | stance | feedback | time error, ms | place error, mm | landing takes / planned, J | correction |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            config = str(next((root / "configs").rglob(name + ".cfg")))
            archive = str(pathlib.Path(work) / (name + ".h5"))
            subprocess.run([program, "run", config, "--study.archive", archive, "--study.max-evaluations", "3"],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=work)
            for stance, feedback in (("joint", "regulator"), ("contact", "regulator"), ("joint", "none")):
                done = subprocess.run([program, "simulate", config, "--from", archive, "--rollout.stance", stance,
                                       "--rollout.feedback", feedback], capture_output=True, text=True, cwd=work)
                print(f"| {name} | {stance} | {feedback} {told(done.stdout + done.stderr)}", flush=True)


main()
