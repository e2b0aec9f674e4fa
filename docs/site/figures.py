"""Draws docs/house.svg from the includes and the floors of tests/floors.sh, and docs/pipeline.svg, whose words are here.
With --check: lists the files that differ from what is drawn now, and folders whose README.md lists other includes."""

import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STYLE = 'font-family="sans-serif" font-size="14" text-anchor="middle"'


def box(x, y, width, height, text, below="", fill="#e8eef5"):
    middle = y + height / 2 + (5 if not below else -3)
    out = f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4" fill="{fill}" stroke="#456"/>\n'
    out += f'<text x="{x + width / 2}" y="{middle}">{text}</text>\n'
    if below:
        out += f'<text x="{x + width / 2}" y="{middle + 17}" font-size="11" fill="#555">{below}</text>\n'
    return out


def picture(width, height, body, title):
    arrow = '<marker id="a" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#456"/></marker>'
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {STYLE}>\n'
            f'<title>{title}</title>\n<defs>{arrow}</defs>\n<rect width="{width}" height="{height}" fill="white"/>\n{body}</svg>\n')  # fmt: skip


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
        body += f'<text x="{left - 10}" y="{y + 22}" text-anchor="end">{room}</text>\n'
        body += f'<text x="20" y="{y + 22}" fill="#555">{floor_of[room]}</text>\n'
        body += f'<text transform="translate({x + 21},{top - 8}) rotate(-60)" text-anchor="start">{room}</text>\n'
        body += f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="#456"/>\n'
        for j, target in enumerate(rooms):
            if target in used[room]:
                body += f'<rect x="{left + j * cell}" y="{y}" width="{cell}" height="{cell}" fill="#9db8d2" stroke="#fff"/>\n'
        if last:
            body += f'<path d="M10,{y + cell} H{left + len(rooms) * cell}" stroke="#456" stroke-width="0.5"/>\n'
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
             ("evaluator", "the inner problem"), ("archive", "a row, on file first")]  # fmt: skip
    body, x, width = "", 10, 150
    for k, (name, below) in enumerate(steps):
        body += box(x, 20, width, 56, name, below)
        if k + 1 < len(steps):
            body += f'<path d="M{x + width},48 h24" stroke="#456" marker-end="url(#a)"/>\n'
        x += width + 26
    first, last = 10 + width + 26 + width / 2, 10 + 4 * (width + 26) + width / 2
    body += f'<path d="M{last},76 v34 H{first} V78" fill="none" stroke="#456" marker-end="url(#a)"/>\n'
    body += f'<text x="{(first + last) / 2}" y="128" font-size="12" fill="#555">tell: what came of it; ask again, or stop and say why</text>\n'
    return picture(20 + 5 * (width + 26) - 26, 140, body, "A study: ask, evaluate, archive, tell")


stale = stale_readmes() if "--check" in sys.argv else []
for name, drawn in (("house", house()), ("pipeline", pipeline())):
    path = os.path.join(ROOT, "docs", name + ".svg")
    if "--check" in sys.argv:
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != drawn:
            stale.append(f"docs/{name}.svg is not as docs/site/figures.py draws it")
    else:
        open(path, "w", encoding="utf-8").write(drawn)
print("\n".join(stale))
sys.exit(bool(stale))
