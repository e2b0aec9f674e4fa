"""Draws docs/house.svg, from the floors that tests/floors.sh holds the includes to, and docs/pipeline.svg, whose words are here.
With --check: says whether the files are as drawn now."""

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


def house():
    text = open(os.path.join(ROOT, "tests", "floors.sh"), encoding="utf-8").read()
    words = re.search(r'split\(((?:"[a-z0-9 ]*" *\\?\s*)+), words\)', text)[1]
    words = " ".join(re.findall(r'"([a-z0-9 ]*)"', words)).split()
    floors = {}
    for name, floor in zip(words[0::2], words[1::2]):
        floors.setdefault(int(floor), []).append(name)
    width, height, top = 760, 40, max(floors)
    body = ""
    for floor, rooms in floors.items():
        y, each = 10 + (top - floor) * (height + 6), (width - 50) / len(rooms)
        body += f'<text x="20" y="{y + 25}" fill="#555">{floor}</text>\n'
        for k, room in enumerate(rooms):
            body += box(round(40 + k * each, 1), y, round(each - 6, 1), height, room)
    return picture(width, 20 + (top + 1) * (height + 6), body, "Folders by floor: an include points down")


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


stale = []
for name, drawn in (("house", house()), ("pipeline", pipeline())):
    path = os.path.join(ROOT, "docs", name + ".svg")
    if "--check" in sys.argv:
        if not os.path.exists(path) or open(path, encoding="utf-8").read() != drawn:
            stale.append(f"docs/{name}.svg is not as docs/site/figures.py draws it")
    else:
        open(path, "w", encoding="utf-8").write(drawn)
print("\n".join(stale))
sys.exit(bool(stale))
