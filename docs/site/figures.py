"""Draws the figures of the manual: docs/house.svg from the includes and the floors of tests/floors.sh, the others from what is written here.
Each has a light and a dark palette. With --check: lists the files that differ from what is drawn now, and folders whose README.md lists other
includes."""

import math
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STYLE = 'font-family="sans-serif" font-size="14" text-anchor="middle"'
# Classes of the shapes: (property, light, dark).
PALETTE = {
    "page": ("fill", "#ffffff", "#0d1117"),
    "ink": ("fill", "#1b2430", "#e6edf3"),
    "soft": ("fill", "#555555", "#9aa7b5"),
    "box": ("fill", "#e8eef5", "#1c2a3a"),
    "dark": ("fill", "#445566", "#7d95ad"),
    "used": ("fill", "#9db8d2", "#3d5c7d"),
    "line": ("stroke", "#445566", "#9db8d2"),
    "gap": ("stroke", "#ffffff", "#0d1117"),
    "blue": ("stroke", "#1f6fb2", "#6cb6ff"),
    "red": ("stroke", "#c8324a", "#ff8a9b"),
    "bluefill": ("fill", "#1f6fb2", "#6cb6ff"),
    "redfill": ("fill", "#c8324a", "#ff8a9b"),
}


def box(x, y, width, height, text, below="", fill="box"):
    middle = y + height / 2 + (5 if not below else -3)
    out = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" class="{fill} line"/>\n'
    out += f'<text x="{x + width / 2}" y="{middle}" class="ink">{text}</text>\n'
    if below:
        out += f'<text x="{x + width / 2}" y="{middle + 17}" font-size="11" class="soft">{below}</text>\n'
    return out


def label(x, y, text, kind="ink", anchor="middle", size=12, style=""):
    return f'<text x="{x:g}" y="{y:g}" font-size="{size}" class="{kind}" text-anchor="{anchor}"{style}>{text}</text>\n'


def line(points, kind="line", width=1.5, more=""):
    d = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<path d="M{d}" fill="none" class="{kind}" stroke-width="{width}"{more}/>\n'


def arrow(points, kind="line", width=1.5):
    return line(points, kind, width, f' marker-end="url(#{kind})"')


def dot(x, y, r=4, kind="dark"):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" class="{kind}"/>\n'


def polygon(points, kind="box line", more=""):
    d = " L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<path d="M{d} z" class="{kind}"{more}/>\n'


def picture(width, height, body, title):
    def rules(scheme):
        return " ".join(f".{name}{{{row[0]}:{row[scheme]}}}" for name, row in PALETTE.items())

    heads = {"line": "dark", "blue": "bluefill", "red": "redfill"}
    markers = "".join(f'<marker id="{name}" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto" markerUnits="userSpaceOnUse">'
                      f'<path d="M0,0 L8,4 L0,8 z" class="{fill}"/></marker>' for name, fill in heads.items())  # fmt: skip
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {STYLE}>\n'
            f'<title>{title}</title>\n<style>{rules(1)} @media (prefers-color-scheme: dark) {{{rules(2)}}}</style>\n<defs>{markers}</defs>\n'
            f'<rect width="{width}" height="{height}" class="page"/>\n{body}</svg>\n')  # fmt: skip


def floors():
    """Floor of each folder, from tests/floors.sh."""
    text = open(os.path.join(ROOT, "tests", "floors.sh"), encoding="utf-8").read()
    words = re.search(r'split\(((?:"[a-z0-9 ]*" *\\?\s*)+), words\)', text)[1]
    words = " ".join(re.findall(r'"([a-z0-9 ]*)"', words)).split()
    return {name: int(floor) for name, floor in zip(words[0::2], words[1::2])}


def place(folder):
    return folder if folder in ("surrogate", "apps") else os.path.join("src", folder)


def includes(folders):
    """For each folder, the other folders whose headers it includes."""
    found = {folder: set() for folder in folders}
    for folder in folders:
        for directory, _, files in os.walk(os.path.join(ROOT, place(folder))):
            for name in files:
                if name.endswith((".hpp", ".cpp")):
                    text = open(os.path.join(directory, name), encoding="utf-8").read()
                    for target in re.findall(r'^#include "([a-z]+)/', text, re.M):
                        if target in folders and target != folder:
                            found[folder].add(target)
    return found


def house():
    floor_of = floors()
    rooms = sorted(floor_of, key=lambda room: (-floor_of[room], list(floor_of).index(room)))
    used = includes(floor_of)
    cell, left, top = 34, 150, 110
    body = '<g font-size="12">\n'
    for k, room in enumerate(rooms):
        x, y = left + k * cell, top + k * cell
        last = k + 1 == len(rooms) or floor_of[rooms[k + 1]] != floor_of[room]
        body += f'<text x="{left - 10}" y="{y + 22}" text-anchor="end" class="ink">{room}</text>\n'
        body += f'<text x="20" y="{y + 22}" class="soft">{floor_of[room]}</text>\n'
        body += f'<text transform="translate({x + 21},{top - 8}) rotate(-60)" text-anchor="start" class="ink">{room}</text>\n'
        body += f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" class="dark"/>\n'
        for j, target in enumerate(rooms):
            if target in used[room]:
                body += f'<rect x="{left + j * cell}" y="{y}" width="{cell}" height="{cell}" class="used gap"/>\n'
        if last:
            body += f'<path d="M10,{y + cell} H{left + len(rooms) * cell}" class="line" stroke-width="0.5"/>\n'
    body += '</g>\n'
    side = left + len(rooms) * cell + 60
    return picture(side, top + len(rooms) * cell + 10, body, "Folders (rows) and the folders whose headers they include (columns)")


def stale_readmes():
    """Folders whose README.md does not name the folders that they include."""
    stale = []
    for folder, targets in includes(floors()).items():
        path = os.path.join(place(folder), "README.md")
        wanted = ", ".join(sorted(targets)) or "no other folder"
        full = os.path.join(ROOT, path)
        text = open(full, encoding="utf-8").read() if os.path.exists(full) else ""
        if f"\nIncludes: {wanted}.\n" not in text:
            stale.append(f"{path}: expected the line 'Includes: {wanted}.'")
    return stale


def pipeline():
    steps = [("settings", "files, command line"), ("strategy", "ask: designs to try"), ("farm", "a task to a rank"),
             ("evaluator", "the inner problem"), ("archive", "a row on file, before all else")]  # fmt: skip
    body, x, width = "", 10, 150
    for k, (name, below) in enumerate(steps):
        body += box(x, 20, width, 56, name, below)
        if k + 1 < len(steps):
            body += f'<path d="M{x + width},48 h24" class="line" marker-end="url(#line)"/>\n'
        x += width + 26
    first, last = 10 + width + 26 + width / 2, 10 + 4 * (width + 26) + width / 2
    body += f'<path d="M{last},76 v34 H{first} V78" fill="none" class="line" marker-end="url(#line)"/>\n'
    body += f'<text x="{(first + last) / 2}" y="128" font-size="12" class="soft">tell: the result; then ask again, or stop and state why</text>\n'
    return picture(20 + 5 * (width + 26) - 26, 140, body, "A study: ask, evaluate, archive, tell")


def limb(at, angles, lengths):
    """Ends of links that follow each other: each angle (rad) is from the upward vertical, clockwise."""
    points = [at]
    for angle, length in zip(angles, lengths):
        x, y = points[-1]
        points.append((x + length * math.sin(angle), y - length * math.cos(angle)))
    return points


def frames():
    """Frames of a chain in the plane, and the axes of space."""
    body = label(245, 24, "in the plane", size=14) + label(620, 24, "in space", size=14)
    ground = 290
    body += line([(20, ground), (480, ground)]) + label(30, ground + 20, "ground", "soft", "start")
    body += arrow([(60, ground), (60, ground - 70)], "line") + arrow([(60, ground), (130, ground)], "line")
    body += label(60, ground - 78, "y: up") + label(136, ground + 5, "x", anchor="start")
    body += arrow([(440, 60), (440, 110)], "red", 2) + label(440, 128, "gravity", "redfill")
    foot = (190, ground)
    angle, bend, length = math.radians(35), math.radians(45), 120
    along = (math.cos(angle), -math.sin(angle))
    joint = (foot[0] + length * along[0], foot[1] + length * along[1])
    onward = (math.cos(angle + bend), -math.sin(angle + bend))
    tip = (joint[0] + length * onward[0], joint[1] + length * onward[1])
    for start, end in ((foot, joint), (joint, tip)):
        body += line([start, end], "line", 9, ' stroke-linecap="round" opacity="0.35"')
    for (x, y), (c, s) in ((foot, along), (joint, onward)):  # the frame of each link: x along it, y to its left
        body += arrow([(x, y), (x + 55 * c, y + 55 * s)], "blue", 2) + arrow([(x, y), (x + 55 * s, y - 55 * c)], "blue", 2)
    body += line([joint, (joint[0] + 75 * along[0], joint[1] + 75 * along[1])], "line", 1, ' stroke-dasharray="4 3"')
    body += dot(*foot) + dot(*joint) + dot(*tip)
    for (x, y), a, b, r in ((foot, 0, angle, 75), (joint, angle, angle + bend, 62)):
        arc = [(x + r * math.cos(a + (b - a) * k / 12), y - r * math.sin(a + (b - a) * k / 12)) for k in range(13)]
        body += arrow(arc, "red")
    body += label(foot[0] + 82, foot[1] - 20, "shank", "redfill", "start") + label(joint[0] + 66, joint[1] - 54, "thigh: from the parent", "redfill", "start")
    body += label(foot[0] - 8, foot[1] + 20, "joint, at = 0, 0", "soft")
    body += label(joint[0] + 12, joint[1] + 18, "end of shank = at of thigh", "soft", "start")
    body += label(tip[0] + 12, tip[1] + 4, "end of thigh", "soft", "start")
    middle = (foot[0] + length / 2 * along[0], foot[1] + length / 2 * along[1])
    body += f'<circle cx="{middle[0]:.1f}" cy="{middle[1]:.1f}" r="5" class="page line"/>\n' + label(middle[0] - 10, middle[1] - 12, "centre", "soft", "end")
    at = (590, 230)
    for (dx, dy), name in (((95, 28), "x: ahead"), ((70, -42), "y: to the left"), ((0, -120), "z: up")):
        body += arrow([at, (at[0] + dx, at[1] + dy)], "blue", 2) + label(at[0] + dx + (8 if dx else 0), at[1] + dy + (4 if dx else -8), name, anchor="start" if dx else "middle")
    body += dot(*at) + arrow([(740, 60), (740, 110)], "red", 2) + label(740, 128, "gravity", "redfill")
    return picture(800, 330, body, "Frames: a joint turns the frame of a link against its parent's; at and centre are numbers in these frames")


def gait():
    """One step of a walker: postures by angles of the links, chosen to look like a step."""
    ground, body = 190, ""
    body += line([(20, ground), (820, ground)])
    # Angles of stance shank, stance thigh, trunk, swing thigh and swing shank, in degrees from the vertical.
    middle, down = (-6, -4, 4, 6, -48), (12, 14, 4, 26, 16)
    steps = ((down, True, "1  start", "both feet on the ground"), (middle, False, "2  swing", "gait.clearance"), (down, False, "3  touch-down", "an impact, in one instant"),
             (down, True, "4  exchange", "the legs swap their names"))  # fmt: skip
    for k, (angles, swapped, name, below) in enumerate(steps):
        x = 105 + 205 * k
        shank, thigh, trunk, swing, lower = map(math.radians, angles)
        foot, knee, hip = limb((0, 0), (shank, thigh), (58, 62))
        other = (hip[0] + 62 * math.sin(swing), hip[1] + 62 * math.cos(swing))
        toe = (other[0] + 58 * math.sin(lower), other[1] + 58 * math.cos(lower))
        if angles is down:
            other, toe = (other[0], other[1] - toe[1] / 2), (toe[0], 0)
        foot, knee, hip, other, toe = [(x - hip[0] + px, ground + py) for px, py in (foot, knee, hip, other, toe)]
        body += line([hip, limb(hip, [trunk], [50])[-1]], "line", 5, ' stroke-linecap="round"')
        for leg, kind in (((hip, other, toe), "blue" if swapped else "red"), ((foot, knee, hip), "red" if swapped else "blue")):
            body += line(leg, kind, 4, ' stroke-linecap="round" stroke-linejoin="round"')
        body += "".join(dot(*at, 3.5, "ink") for at in (knee, hip, other))
        body += label(x, ground + 28, name, size=14) + label(x, ground + 47, below, "soft")
        if k == 1:
            body += arrow([(toe[0] - 16, ground), (toe[0] - 16, toe[1])], "line", 1) + arrow([(toe[0] - 16, toe[1]), (toe[0] - 16, ground)], "line", 1)
        if k == 2:
            body += arrow([(toe[0] + 10, ground), (toe[0] - 2, ground - 40)], "line", 2)
        if k < 3:
            body += arrow([(x + 88, 60), (x + 116, 60)], "line")
    body += label(20, 24, "stance leg", "bluefill", "start") + label(20, 42, "swing leg", "redfill", "start")
    body += f'<path d="M720,{ground + 62} v16 H105 v-14" fill="none" class="line" marker-end="url(#line)"/>\n' + label(412, ground + 96, "periodic: after the exchange the posture and rates are those of the start", "soft")
    return picture(840, 300, body, "A gait: swing, touch-down, exchange of the legs, and the same step again")


def touches():
    """Ways in which convex shapes meet."""
    body, y = "", 50
    for k, (name, below) in enumerate((("corner on face", "corner, side"), ("edge on edge", "edges, in space"), ("face on face", "rest: several points"), ("apart", "[avoid]: a plane between"))):
        x = 20 + 205 * k
        body += label(x + 90, 24, name, size=14) + label(x + 90, 196, below, "soft")
        if k == 0:
            body += polygon([(x, 150), (x + 180, 150), (x + 180, 170), (x, 170)]) + polygon([(x + 90, 150), (x + 137, 103), (x + 90, 56), (x + 43, 103)])
            body += arrow([(x + 90, 150), (x + 90, 112)], "red", 2.5) + dot(x + 90, 150, 4, "redfill")
        if k == 1:  # two bars, each with an edge to the other: along a and along b, seen from above at an angle
            def seen(a, b, z):
                return (x + 90 + 0.7 * (0.85 * a + 0.45 * b), 112 + 0.7 * (0.22 * a - 0.38 * b - z))

            for edge, side, below_it in (((-90, 0), (0, -30), -30), ((-60, 0), (-30, 0), 30)):
                def bar(s, w, z, along=edge[0], lower=below_it < 0):
                    return seen(s, w, z) if lower else seen(w, s, z)

                end = edge[0]
                z = below_it
                near = -30 if z < 0 else 30
                body += polygon([bar(end, 0, 0), bar(-end, 0, 0), bar(-end, near, z), bar(end, near, z)])
                body += polygon([bar(end, near, z), bar(-end, near, z), bar(-end, 0, 2 * z), bar(end, 0, 2 * z)])
                tip = -end if z < 0 else end
                body += polygon([bar(tip, 0, 0), bar(tip, 30, z), bar(tip, 0, 2 * z), bar(tip, -30, z)])
            body += arrow([seen(0, 0, 0), seen(0, 0, 55)], "red", 2.5) + dot(*seen(0, 0, 0), 4, "redfill")
        if k == 2:
            body += polygon([(x, 150), (x + 180, 150), (x + 180, 170), (x, 170)]) + polygon([(x + 40, 80), (x + 140, 80), (x + 140, 150), (x + 40, 150)])
            for px in (x + 40, x + 140):
                body += arrow([(px, 150), (px, 122)], "red", 2.5) + dot(px, 150, 4, "redfill")
        if k == 3:
            body += polygon([(x + 10, 60), (x + 70, 70), (x + 60, 130), (x + 15, 140)]) + polygon([(x + 120, 90), (x + 175, 80), (x + 165, 160), (x + 110, 150)])
            body += line([(x + 105, 45), (x + 78, 172)], "blue", 2, ' stroke-dasharray="6 4"')
            body += arrow([(x + 91, 110), (x + 117, 116)], "blue", 2)
    return picture(840, 210, body, "Contacts of convex shapes: corner on face, edge on edge, face on face; and a plane that keeps shapes apart")


def methods():
    """A body that falls on a floor, by each of the three contact methods: nodes of the steps, and what happens between them."""
    body = ""
    texts = (("projection", "finds the overlap after the step,", "moves the body out, then bounces it"), ("event-driven", "finds the moment of the touch,", "cuts the step there"),
             ("penalty", "lets bodies overlap, and", "a spring pushes them apart"))  # fmt: skip
    for k, (name, first, second) in enumerate(texts):
        x, floor = 20 + 275 * k, 130
        body += label(x + 115, 24, name, size=14) + line([(x, floor), (x + 240, floor)], "line", 2)
        body += label(x + 115, 188, first, "soft") + label(x + 115, 205, second, "soft")
        if k == 0:
            nodes = [(x + 20, 55), (x + 70, 95), (x + 120, 152), (x + 120, 130), (x + 170, 88), (x + 220, 58)]
            body += line(nodes[:3], "blue", 2) + arrow([nodes[2], (x + 120, 134)], "red", 2.5) + line(nodes[3:], "blue", 2)
        elif k == 1:
            nodes = [(x + 20, 55), (x + 70, 95), (x + 103, 130), (x + 120, 112), (x + 170, 75), (x + 220, 52)]
            body += line(nodes, "blue", 2) + arrow([(x + 103, 168), (x + 103, 137)], "red", 2.5)
        else:
            nodes = [(x + 20, 55), (x + 70, 95), (x + 95, 130), (x + 108, 147), (x + 120, 152), (x + 132, 147), (x + 145, 130), (x + 170, 95), (x + 220, 55)]
            body += line(nodes, "blue", 2) + arrow([(x + 120, 158), (x + 120, 134)], "red", 2.5)
        body += "".join(dot(px, py, 3.5, "ink") for px, py in nodes)
    return picture(840, 215, body, "Height of a falling body at the nodes of a simulation, by the three contact methods")


def archive():
    """The groups of an archive; those with a row per evaluation share their index."""
    body = box(20, 130, 120, 44, "study.h5", "one HDF5 file")
    groups = (("evaluations", "[n]", "design, status, reason, cost, gradient, metrics, checksum", True),
              ("trajectories", "[n, node, ...]", "t, q, controls and other channels of the motion", True),
              ("iterations", "[k]", "what the search knew, and why it chose", False), ("surrogate", "", "curve and band of each iteration, with one variable", False),
              ("files", "", "models, tables and scripts that the configuration names", False), ("events", "[k]", "started, resumed, rank lost, stopped", False),
              ("attributes", "", "configuration, program version, machine, stop reason", False))  # fmt: skip
    body += f'<rect x="196" y="8" width="624" height="86" rx="6" fill="none" class="blue" stroke-dasharray="5 4"/>\n' + label(812, 78, "the same row in both", "bluefill", "end")
    for k, (name, shape, text, _) in enumerate(groups):
        y = 14 + 42 * k
        body += f'<path d="M140,152 H170 V{y + 16} H202" fill="none" class="line"/>\n' + f'<rect x="204" y="{y}" width="130" height="32" rx="4" class="box line"/>\n'
        body += label(269, y + 21, name, size=13) + label(346, y + 21, shape, "bluefill", "start") + label(440, y + 21, text, "soft", "start")
    return picture(840, 320, body, "The groups of an archive: evaluations and trajectories have a row per evaluation; the others describe the search and the study")


def solve(rows, right):
    """Solves a small system of linear equations by elimination."""
    rows = [[*row, value] for row, value in zip(rows, right)]
    n = len(rows)
    for k in range(n):
        for i in range(k + 1, n):
            factor = rows[i][k] / rows[k][k]
            rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k])]
    x = [0.0] * n
    for k in reversed(range(n)):
        x[k] = (rows[k][n] - sum(rows[k][j] * x[j] for j in range(k + 1, n))) / rows[k][k]
    return x


def search():
    """Kriging (Matern 5/2) through four costs of a function of one variable, and the expected improvement over the best one."""

    def cost(x):
        return 0.5 + 0.35 * math.cos(6.5 * x + 0.4) + 0.5 * (x - 0.45) ** 2

    def correlation(a, b):
        s = math.sqrt(5) * abs(a - b) / 0.28
        return (1 + s + s * s / 3) * math.exp(-s)

    samples = (0.04, 0.3, 0.62, 0.96)
    costs = [cost(x) for x in samples]
    mean, deviation = sum(costs) / len(costs), 0.32
    matrix = [[correlation(a, b) + (1e-9 if a == b else 0) for b in samples] for a in samples]
    weights = solve(matrix, [c - mean for c in costs])
    grid, middle, spread, gain = [k / 200 for k in range(201)], [], [], []
    for x in grid:
        row = [correlation(x, s) for s in samples]
        m = mean + sum(a * b for a, b in zip(row, weights))
        s = deviation * math.sqrt(max(1e-12, 1 - sum(a * b for a, b in zip(row, solve(matrix, row)))))
        z = (min(costs) - m) / s
        middle.append(m)
        spread.append(s)
        gain.append(s * (z * 0.5 * (1 + math.erf(z / math.sqrt(2))) + math.exp(-z * z / 2) / math.sqrt(2 * math.pi)))

    def at(x, y):
        return (60 + 560 * x, 190 - 130 * y)

    body = polygon([at(x, m + 1.96 * s) for x, m, s in zip(grid, middle, spread)] + [at(x, m - 1.96 * s) for x, m, s in reversed(list(zip(grid, middle, spread)))], "used")
    body += line([at(x, cost(x)) for x in grid], "line", 1.5, ' stroke-dasharray="5 4"') + line([at(x, m) for x, m in zip(grid, middle)], "blue", 2)
    body += "".join(dot(*at(x, c), 5, "ink") for x, c in zip(samples, costs))
    base, best = 330, max(range(len(grid)), key=gain.__getitem__)
    bars = [(60 + 560 * x, base - 60 * g / gain[best]) for x, g in zip(grid, gain)]
    body += polygon([(60, base), *bars, (620, base)], "redfill", ' opacity="0.45"')
    body += line([(40, base), (640, base)]) + label(640, base + 20, "design", "soft", "end")
    x = 60 + 560 * grid[best]
    body += line([(x, base), (x, at(0, middle[best])[1])], "red", 1.5, ' stroke-dasharray="3 3"') + dot(x, at(0, middle[best])[1], 5, "redfill")
    for k, (text, kind) in enumerate((("evaluations", "ink"), ("true cost, unknown (dashed)", "soft"), ("mean of the model", "bluefill"), ("95 % band", "soft"),
                                      ("expected improvement,", "redfill"), ("and the next design", "redfill"))):  # fmt: skip
        body += label(650, (40, 62, 84, 106, 285, 303)[k], text, kind, "start")
    return picture(840, 360, body, "A search: the model of the costs with its band, the expected improvement, and the next design")


def envelope():
    """The optimal cost of a design is that of its best kind of motion; the gradient belongs to this kind, also at the kink."""

    def kind(k, x):
        return (0.55 + 1.6 * (x - 0.22) ** 2, 0.38 + 2.4 * (x - 0.8) ** 2)[k]

    def at(x, y):
        return (60 + 560 * x, 250 - 170 * y)

    grid = [k / 100 for k in range(101)]
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if kind(0, middle) < kind(1, middle) else (low, middle)
    body = line([(40, 270), (640, 270)]) + label(640, 290, "design", "soft", "end") + line([(60, 285), (60, 30)]) + label(60, 22, "cost", "soft")
    for k, (name, colour) in enumerate((("one kind of motion", "blue"), ("another kind", "red"))):
        shown = [x for x in grid if kind(k, x) < 1.25]
        body += line([at(x, kind(k, x)) for x in shown], colour, 1.5, ' stroke-dasharray="5 4"')
        body += line([at(x, kind(k, x)) for x in grid if (x <= low if k == 0 else x >= low)], colour, 4)
        body += label(650, 60 + 24 * k, name, colour + "fill", "start")
        x = (0.36, 0.68)[k]
        slope = (kind(k, x + 1e-6) - kind(k, x - 1e-6)) / 2e-6
        body += line([at(x - 0.09, kind(k, x) - 0.09 * slope), at(x + 0.09, kind(k, x) + 0.09 * slope)], "line", 2) + dot(*at(x, kind(k, x)), 5, "ink")
    kink = at(low, kind(0, low))
    body += dot(*kink, 4, "dark") + arrow([(kink[0], kink[1] - 95), (kink[0], kink[1] - 8)]) + label(kink[0], kink[1] - 103, "a kink: both kinds cost the same", "soft")
    for k, text in enumerate(("thick: the optimal cost", "dots: two evaluations with", "their gradients as tangents")):
        body += label(650, 140 + 22 * k, text, "ink" if k == 0 else "soft", "start")
    return picture(840, 300, body, "The optimal cost over the designs is the lower one of two curves; each evaluation has the tangent of its own curve")


def discrete():
    """Nodes and intervals of a motion: the discrete Lagrangian of an interval, the momenta at a node, and an impact at the end of a phase."""
    nodes = [(60 + 105 * k, y) for k, y in enumerate((190, 128, 92, 86, 108, 160))] + [(690, 118), (795, 96)]
    body = line([(40, 235), (820, 235)]) + label(820, 255, "time", "soft", "end") + label(60, 30, "configuration q", "soft", "start")
    body += line(nodes[:6], "blue", 2) + line(nodes[5:], "blue", 2)
    for k, (x, y) in enumerate(nodes):
        body += line([(x, y), (x, 235)], "line", 0.7, ' stroke-dasharray="3 4"') + label(x, 255, f"t{k}" if k < 6 else "", "soft")
    (x1, y1), (x2, y2), (x3, y3) = nodes[1:4]
    body += label((x1 + x2) / 2 - 12, (y1 + y2) / 2 - 16, "L_d(q1, q2), u1", "bluefill", "end") + label((x2 + x3) / 2 + 6, (y2 + y3) / 2 - 16, "L_d(q2, q3), u2", "bluefill", "start")
    body += arrow([(x2 - 62, y2 + 42), (x2 - 6, y2 + 8)], "red", 2) + arrow([(x2 + 6, y2 + 8), (x2 + 66, y2 + 22)], "red", 2)
    body += label(x2 - 66, y2 + 60, "p+ arrives", "redfill", "end") + label(x2 + 72, y2 + 30, "= p- leaves", "redfill", "start")
    x, y = nodes[5]
    body += arrow([(x, y + 62), (x, y + 9)], "red", 2.5) + label(x - 10, y + 52, "impact: the momentum jumps", "redfill", "end")
    body += label(322, 222, "phase", "soft") + label(742, 222, "next phase", "soft")
    body += "".join(dot(px, py, 4.5, "ink") for px, py in nodes)
    return picture(840, 270, body, "Discrete mechanics: nodes, the discrete Lagrangian and controls of each interval, equal momenta at a node, and a jump at an impact")


def resume():
    """Rows of an archive before and after a kill."""
    body, side, left = "", 64, 190

    def row(y, name, below, cells):
        out = label(20, y + 24, name, anchor="start", size=13) + label(20, y + 42, below, "soft", "start")
        for k, (text, fill, dashed) in enumerate(cells):
            more = ' stroke-dasharray="5 4"' if dashed else ""
            out += f'<rect x="{left + k * (side + 14)}" y="{y}" width="{side}" height="48" rx="4" class="{fill} line"{more}/>\n'
            out += label(left + k * (side + 14) + side / 2, y + 29, text)
        return out

    stored, running = ("box", False), ("page", True)
    body += row(20, "first run", "killed", [(f"row {k}", *stored) for k in range(4)] + [("id 4", *running), ("id 5", *running)])
    x = left + 6 * (side + 14)
    body += line([(x, 12), (x + 14, 44), (x - 4, 44), (x + 10, 78)], "red", 3) + label(x + 26, 50, "kill", "redfill", "start")
    body += row(130, "same command", "on any number of ranks", [(f"row {k}", *stored) for k in range(4)] + [(f"row {k}", "used", False) for k in range(4, 8)])
    middle = left + 2 * (side + 14) - 7
    body += arrow([(middle, 74), (middle, 124)]) + label(middle + 10, 104, "the search learns the rows again, in their order", "soft", "start")
    body += label(left + 4 * (side + 14), 200, "same ids, designs and seeds as without the kill", "soft", "start")
    return picture(840, 215, body, "A study continues: the archived rows are replayed, the evaluations that were running are repeated, and the result is the same")


def dipole():
    """Paths of a craft along the field lines of a dipole: in the receiver's centre, and behind the dock with a last leg. Lengths in m, as in rigid/dipole_curve.cpp."""
    dock, start, step = 0.3, 0.62, 1e-3

    def path(place, leg, bearing):
        """Follows -b_v from a start at this bearing (rad) until the path ends. The dipole is at `place` on the axis."""
        x, y, points = start * math.cos(bearing), start * math.sin(bearing), []
        while math.hypot(x - place, y) > 2 * step and len(points) < 2000 and not (leg and x < dock + step):
            points.append((x, y))
            share = min(1, max(0, 2 * (leg - (x - dock)) / leg)) if leg else 0
            share = share**3 * (10 - share * (15 - 6 * share))
            along = 3 * (x - place) / ((x - place) ** 2 + y * y)
            bx, by = (1 - share) * (along * (x - place) - 1), (1 - share) * along * y
            if share:
                bx, by = bx + 2 * share, by + 8 * share * y / leg
            size = math.hypot(bx, by)
            x, y = x - step * bx / size, y - step * by / size
        return [*points, (x, y)]

    body = ""
    for left, place, leg, title in ((20, 0.0, 0.0, "dipole in the receiver's centre"), (440, 0.24, 0.15, "dipole behind the dock, with a last leg")):

        def at(x, y, left=left):
            return (left + 40 + 520 * x, 130 - 520 * y)

        body += label(left + 190, 22, title, size=13)
        body += polygon([at(-0.06, -0.1), at(0.26, -0.1), at(0.26, 0.1), at(-0.06, 0.1)])
        body += line([at(-0.06, 0), at(0.68, 0)], "line", 1, ' stroke-dasharray="4 3"')
        for bearing in (-14, -7, 7, 14):
            points = path(place, leg, math.radians(bearing))
            body += line([at(*point) for point in points[::12] + points[-1:]], "blue", 2)
            body += arrow([at(*points[0]), at(*points[60])], "blue", 2)
        body += dot(*at(place, 0), 6, "redfill") + label(at(place, 0)[0], at(place, 0)[1] + 24, "dipole", "redfill", "end" if leg else "middle")
        body += dot(*at(dock, 0), 5, "ink") + label(at(dock, 0)[0] + 8, at(dock, 0)[1] + (34 if leg else 62), "dock", anchor="start")
        if leg:
            body += line([at(dock, -0.16), at(dock + leg, -0.16)], "red", 2) + label(at(dock + leg / 2, 0)[0], at(0, -0.16)[1] + 18, "last leg", "redfill")
        body += label(at(-0.05, 0)[0], at(0, 0.1)[1] - 8, "receiver", "soft", "start")
    return picture(840, 260, body, "Paths into a dock: with the dipole in the receiver's centre they pass the dock; with the dipole behind the dock and a last leg they end in it")


stale = stale_readmes() if "--check" in sys.argv else []
FIGURES = (("house", house), ("pipeline", pipeline), ("frames", frames), ("gait-phases", gait), ("contacts", touches), ("contact-methods", methods), ("archive-tree", archive), ("search", search), ("envelope", envelope), ("discrete", discrete), ("resume", resume), ("dipole", dipole))  # fmt: skip
for name, draw in FIGURES:
    drawn = draw()
    path = os.path.join(ROOT, "docs", name + ".svg")
    if "--check" in sys.argv:
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != drawn:
            stale.append(f"docs/{name}.svg is not as docs/site/figures.py draws it")
    else:
        open(path, "w", encoding="utf-8").write(drawn)
print("\n".join(stale))
sys.exit(bool(stale))
