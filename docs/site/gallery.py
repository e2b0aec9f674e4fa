#!/usr/bin/env python3
"""Writes docs/gallery.md: each configuration in configs/ with its question and the command to begin with, from the comment at its head.

    docs/site/gallery.py               writes the page
    docs/site/gallery.py --check       exit code 1 if the page differs, or if a head has no sentence or no command
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "gallery.md"
SECTIONS = {
    "Walkers": ("gait", ["feet", "walker-"]),
    "Motions in phases": ("motion", []),
    "Docking": ("", ["docking"]),
    "Bodies in contact": ("simulation", []),
    "Impacts in minimal coordinates": ("hybrid", []),
    "Deformable bodies": ("elastic", []),
    "Programs of your own": ("command", []),
    "Comparisons with the sources": ("", ["air-table", "coil-fit"]),
}
PICTURES = {"knee": "knee.png", "knee-motor": "knee-fold.png", "docking": "docking.png", "knee-torso": "walker-torso.png", "feet": "walker-feet.png",
            "knee-spatial": "knee-spatial.png", "knee-underactuated": "walker-underactuated.png"}  # fmt: skip


def head(path):
    """Evaluator, first sentence and first command of a configuration."""
    text = path.read_text(encoding="utf-8")
    comment = [line[1:].strip() for line in re.match(r"(?:#.*\n)*", text)[0].splitlines()]
    is_command = [bool(re.match(r"(?:dodyn|jobs/|mpirun|SEEDS)", line)) for line in comment]
    end = next((i for i, line in enumerate(comment) if not line or is_command[i]), len(comment))  # of the first paragraph
    prose = " ".join(comment[:end])
    sentence = re.match(r"(.+?[.?:])(?=\s+[A-Z(\d]|\s*$)", prose)
    command = next((re.sub(r"\s+#.*", "", line) for line in comment if re.match(r"dodyn |jobs/local.sh ", line)), None)
    return re.search(r"^evaluator = (\S+)", text, re.M)[1], sentence and sentence[1].rstrip(":"), command and command.replace("jobs/local.sh", "dodyn run")


def section(name, evaluator):
    for title, (_, names) in SECTIONS.items():
        if any(name.startswith(n) for n in names):
            return title
    return next(title for title, (kind, _) in SECTIONS.items() if kind == evaluator)


def main():
    rows, bad = {title: [] for title in SECTIONS}, []
    for path in sorted((ROOT / "configs").glob("*.cfg")):
        evaluator, sentence, command = head(path)
        if not sentence or not command:
            bad.append(f"configs/{path.name}: its first comment lacks a {'command' if sentence else 'sentence'}")
            continue
        picture = f" ([picture]({PICTURES[path.stem]}))" if path.stem in PICTURES else ""
        rows[section(path.stem, evaluator)].append(f"| [{path.stem}](../configs/{path.name}) | {sentence}{picture} | `{command}` |")
    page = ["# Gallery of configurations", "",
            "Each configuration in `configs/` runs as it is. Find the one next to your question, copy it, and change it. Its first lines say what to look at.",
            "`run` searches designs, `solve` finds one motion, `simulate` runs one simulation. `docs/site/gallery.py` writes this page from those lines."]  # fmt: skip
    for title, lines in rows.items():
        page += ["", f"## {title}", "", "| configuration | question | begin with |", "|---|---|---|", *lines]
    text = "\n".join(page) + "\n"
    if "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != text:
            bad.append("docs/gallery.md is not what docs/site/gallery.py writes")
    else:
        PAGE.write_text(text, encoding="utf-8")
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
