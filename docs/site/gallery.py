#!/usr/bin/env python3
"""Writes docs/gallery.md: each configuration in configs/ with its question and the command to begin with, from the comment at its head, with its
finding, and with the picture and the time that docs/site/pictures.py made.

    docs/site/gallery.py               writes the page
    docs/site/gallery.py --check       exit code 1 if the page differs, or if a configuration has no sentence, command or finding
    docs/site/gallery.py --site PAGES  in this copy of the pages, writes the gallery as cards, and begins README.md, the site's front door, with some of them
"""
import csv
import html
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
PICTURES = {"knee": "knee.svg", "knee-motor": "knee-fold.svg", "docking": "docking.svg", "knee-torso": "walker-torso.svg", "feet": "walker-feet.svg",
            "knee-spatial": "knee-spatial.svg", "knee-underactuated": "walker-underactuated.svg"}  # fmt: skip

# The cards of the site's front door, in their order.
FRONT = ("knee", "docking", "manipulator", "codesign", "burr", "squat", "docking-space", "scene-assembly", "latch", "quadruped", "woodpecker", "command-beam")
LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")

# What each finds, in a sentence; the figures are those of the pages of cases/ and measured/, and of the heads.
FINDS = {
    "air-table": "In a steady field the commands hold the craft; if the field changes within 10 s, cancelling makes the drift 1.6 times as large.",
    "bar-drop": "Five impacts, the first at 0.41693 s; the energy stays.",
    "bar-wall": "Contact for 0.643 s, near the 0.6325 s of the wave; 0.977 of the speed is left.",
    "burr": "Effort 0.035427; the pieces overlap by 0.7 um at most.",
    "cart-pole-balance": "Roots near 11 and 1.9 1/s: 14 % of the runs fail. Slower loops leave the rail; faster ones need more force ([more](control.md#an-example-how-fast-should-the-loop-be)).",
    "codesign": "0.0324, 15 % of the cost of the original leg ([more](measured/codesign.md)).",
    "coil-fit": "The fit misses the force along the axis by 7 % near and 3 % far. The printed table misses it by a factor of more than two ([more](cases/coils.md)).",
    "command-beam": "The least width and height; ribs stiffen a beam with the least mass.",
    "command-parallel": "The program's minimum, on disjoint processors.",
    "command-python": "The minimum in spite of the noise.",
    "command-shell": "x = 1, y = -2.",
    "cone-hole": "Effort 2.5187, without touching.",
    "crossed-bars": "Effort 6.0597e-3; the edges meet at 0.21566 s. With `--motion.planes affine`: 2.067e-3.",
    "cube-wall": "Effort 1.1094e-6; the corner touches at 0.25468 s.",
    "dice": "Cost below 1e-5: upright and at rest within 3 mm/s, 7.5 ms after it lands.",
    "docking": "26 to 30 mm: about 20 % of the tries fail ([more](cases/docking.md)).",
    "docking-coils": "Without a disturbance the current only scales time; the widest spacing is best ([more](cases/coils.md)).",
    "docking-first": "In a tight fit with friction 0.6, 6 of 100 craft jam; with friction 0.2 none does ([more](cases/docking.md#the-first-ports)).",
    "docking-feedback": "Better gains save 60 % of the effort; the dipole's place decides whether the craft docks ([more](measured/control.md)).",
    "docking-ports": "Ports 4 mm deep and 60 mm apart: 12 % of fresh tries fail, against 30 % with the port of `docking`, at 19 % of its size ([more](cases/docking.md#what-port-to-cut)).",
    "docking-robust": "Of 26 spacings, 27.5 mm fails least: in 22.5 % of the tries.",
    "docking-space": "Steep cups 9 mm deep: 10 % of the tries fail, against 36 % with a port made for the plane ([more](cases/docking.md#in-space)).",
    "feet": "1.005 s a step; the ankle's push takes the loss from the landing ([more](cases/walkers.md#a-walker-with-feet)).",
    "hip-spring": "45.2 N m/rad, slack at -0.049 rad, save a quarter ([more](cases/walkers.md#springs-at-the-hips)).",
    "hopper": "A best stiffness inside the range; the hop lands 0.24 ms early in the contact simulation ([more](motions.md#accuracy)).",
    "human": "No optimum inside the range: 0.6 % less for each centimetre up ([more](cases/human.md)).",
    "knee": "0.551 m; as built, at 0.40 m, the cost is 5.3 % higher ([more](cases/rabbit.md)).",
    "knee-energy": "The upper bound: each centimetre up is a gain, as the motor then sits near the hip.",
    "knee-motor": "0.499 m; the fold decides ([more](cases/motor-knee.md)).",
    "knee-spatial": "0.550 m, 5 cm higher than in the plane ([more](cases/motor-knee.md#walking-in-space)).",
    "knee-speeds": "0.4875 m, 3.3 % above the bests of the five tasks ([more](cases/motor-knee.md#one-knee-for-several-tasks)).",
    "knee-step": "0.596 m, with steps of 0.493 m.",
    "knee-torso": "The lower bound: the place changes the cost by 9 % only.",
    "knee-underactuated": "0.068 by work, twice the published 0.034, whose limits are unknown ([more](measured/work.md)).",
    "latch": "A wider bulge needs a softer latch: 97 % stay at 11 mm and 6.5e6 N/m2 ([more](measured/elastic.md)).",
    "manipulator": "Effort 3.2539, most of it to hold the chain up.",
    "particle-drop": "Two impacts; the energy stays.",
    "pendulum-tick": "Walls at 0.42268 m.",
    "pendulum-wall": "A tick every 0.454083 s.",
    "piano-mover": "Effort 0.43549, from each of 4 initial guesses.",
    "quadrotor": "Effort 44.397, without touching.",
    "quadruped": "8.2 N m/rad at each knee: the squared torques are 82 % less than without ([more](cases/motions.md#feet-that-stand-and-leave)).",
    "satellite-reach": "Arm 0.06 m, thrusters at (0, 0.1) m: half the cost, at the bounds of the craft.",
    "satellites": "Effort 0.1332, 2.3 times that of craft that pass through each other ([more](cases/motions.md)).",
    "scene-assembly": "Stronger charges assemble the prisms sooner: 0.37 s at 0.2 N m2, 1.1 s at 0.027, 18 s at 0.002 ([more](measured/contact.md#self-assembly)).",
    "scene-bar": "The time until the bar lies still.",
    "scene-blocks": "Half of the kinetic energy is left.",
    "scene-bounce": "0.5 m x 0.8^10 = 0.0536871 m after five bounces, whatever the step.",
    "scene-cradle": "The far cube leaves with the striker's speed.",
    "scene-fe-cubes": "First contact at 0.084 s, as in the source.",
    "scene-fe-latch": "The pin is held at the source's 1e5 N/m2, with 5 kg/m3; only the ratio of both counts ([more](measured/elastic.md)).",
    "scene-hexagons": "Radius of gyration 0.547 m with charges (packed: 0.5477), 1.300 m without.",
    "scene-metronome": "The energy of 0.063 J stays to 1e-5 of it.",
    "scene-polyhedra": "All lie still, without overlap.",
    "scene-prisms": "Radius of gyration 0.3207 m, a packed flower; with the source's charge they disperse.",
    "scene-sliding": "It stops, and stays.",
    "scene-stack": "Nothing moves, with 5 boxes or with 100.",
    "slider-crank": "11 events; the crank follows the ideal one up to the play.",
    "slip-walker": "Period 0.47511 s, largest multiplier 0.8034 ([more](cases/hybrid.md)).",
    "slip-walker-track": "6.27780628, as an independent program has it on the same mesh.",
    "squat": "0.515 m above the foot; as built, at 0.40 m, it takes 2.6 % more.",
    "swing-up": "3.95 N m are enough.",
    "two-cubes": "Effort 2.860e-4, with two contacts.",
    "two-link": "The elbow strikes its stop three times; the energy stays.",
    "walker-period": "0.685452 s a step.",
    "walker-recovery": "0.2401 rad: a disturbance is halved in 1.340792 s.",
    "spatial-biped": "Absolute work of 3.07 J, 0.0696 over weight and step; the thesis prints 0.0904 ([more](cases/walkers.md#the-sources-spatial-biped)).",
    "wedge": "Rest on both feet at 0.25437 s.",
    "wire-bar": "Four impacts; the wire holds.",
    "woodpecker": "A peck every 0.1708 s, 40.7 mm lower each time.",
}


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
    return next((title for title, (kind, _) in SECTIONS.items() if kind == evaluator), None)


def as_html(text, folder):
    """A sentence of this page as HTML: code, and links from a page of the site in the folder that leads to docs/ by this path."""
    text = LINK.sub(lambda m: f'<a href="{folder}{m[2].replace(".md", ".html")}">{m[1]}</a>', html.escape(text, quote=False))
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", text)


def card(name, sentence, command, folder, more=""):
    """A picture with its question and its answer. The picture leads to the page with more, otherwise to the configuration."""
    answer = re.sub(r" \(\[more\]\([^)]*\)\)", "", FINDS[name])
    page = re.search(r"\[more\]\(([^)]*)\)", FINDS[name])
    target = f"{folder}{page[1].replace('.md', '.html')}" if page else f"{folder}../configs/{name}.cfg"
    return (f'<figure><a href="{target}"><img src="{folder}gallery/{name}.svg" alt="{name}" loading="lazy"></a>'
            f"<figcaption><strong>{as_html(sentence, folder)}</strong> {as_html(answer, folder)}{more}</figcaption></figure>")  # fmt: skip


def write_site(pages, head, cards):
    """Writes the gallery as cards, and the site's front door: the first words of the README, cards, then the rest of the README."""
    lines = [*head]
    for title, entries in cards.items():
        lines += [f"## {title}", "", '<div class="cards">']
        for name, sentence, command, time in entries:
            more = f'<br><a href="../configs/{name}.cfg">{name}.cfg</a>{f", one evaluation: {time}" if time else ""}<br><code>{html.escape(command, quote=False)}</code>'
            lines.append(card(name, sentence, command, "", more))
        lines += ["</div>", ""]
    (pages / "docs" / "gallery.md").write_text("\n".join(lines), encoding="utf-8")

    entries = {name: (sentence, command) for title in cards.values() for name, sentence, command, _ in title}
    readme = (pages / "README.md").read_text(encoding="utf-8")
    begin, end = readme.index("![Left:"), readme.index("## Try it")
    front = ['<div class="cards">', *(card(name, *entries[name], "docs/") for name in FRONT), "</div>", "",
             f"The [gallery](docs/gallery.md) plays all {len(entries)} studies. Begin with the [installation](docs/installation.md), [your first study](docs/tutorial.md), or",
             "[which evaluator, cost, search and method](docs/choose.md) your question needs.", "", ""]  # fmt: skip
    (pages / "README.md").write_text(readme[:begin] + "\n".join(front) + readme[end:], encoding="utf-8")


def main():
    rows, cards, bad = {title: [] for title in SECTIONS}, {title: [] for title in SECTIONS}, []
    table = PAGE.parent / "gallery" / "runs.csv"
    seconds = {row["name"]: f"{float(row['processor_seconds']):.2g} s" for row in csv.DictReader(table.open(encoding="utf-8"))} if table.exists() else {}
    for path in sorted((ROOT / "configs").glob("*.cfg")):
        evaluator, sentence, command = head(path)
        if not sentence or not command:
            bad.append(f"configs/{path.name}: its first comment lacks a {'command' if sentence else 'sentence'}")
            continue
        if path.stem not in FINDS:
            bad.append(f"configs/{path.name}: no sentence about its result; add one to FINDS in docs/site/gallery.py")
            continue
        title = section(path.stem, evaluator)
        if not title:
            bad.append(f"configs/{path.name}: no heading for evaluator {evaluator}; add one to SECTIONS in docs/site/gallery.py")
            continue
        cards[title].append((path.stem, sentence, command, seconds.get(path.stem, "")))
        picture = f" ([picture]({PICTURES[path.stem]}))" if path.stem in PICTURES else ""
        entry = [f"**[{path.stem}](../configs/{path.name})**: {sentence}{picture}", "", f"*Answer*: {FINDS[path.stem]}", "", f"`{command}`"]
        if path.stem in seconds:
            entry[-1] += f" (one evaluation: {seconds[path.stem]})"
        if (PAGE.parent / "gallery" / f"{path.stem}.svg").exists():
            entry = [f"![{path.stem}](gallery/{path.stem}.svg)", "", *entry]
        rows[title] += ["", *entry]
    page = ["# Gallery of configurations", "",
            "On this page you find the configuration next to your question, and what it finds. Each configuration in `configs/` runs without changes. Copy it, and change it.",
            "`run` searches designs, `solve` finds one motion, `simulate` runs one simulation. `docs/site/gallery.py` writes this page.", "",
            "Each picture plays the motion of one evaluation, of the recommended design or the middle of the ranges. A study without a motion has a chart. The time is the processor time of that",
            "evaluation. `docs/site/pictures.py` draws the pictures, and `gallery/runs.csv` lists their designs.", "",
            "`configs/published/` holds problems of a source whose gaits are not valid walks ([published figures](measured/published-figures.md)). `configs/textbook/` holds",
            "problems of optimal control that others published ([textbook](measured/textbook.md))."]  # fmt: skip
    for title, lines in rows.items():
        page += ["", f"## {title}", *lines]
    bad += [f"docs/site/gallery.py: no configs/{name}.cfg" for name in sorted(set(FINDS) - {p.stem for p in (ROOT / "configs").glob("*.cfg")})]
    text = "\n".join(page) + "\n"
    if sys.argv[1:2] == ["--site"]:
        write_site(pathlib.Path(sys.argv[2]), page[: page.index("## Walkers")], cards)
    elif "--check" in sys.argv:
        if PAGE.read_text(encoding="utf-8") != text:
            bad.append("docs/gallery.md is not what docs/site/gallery.py writes")
    else:
        PAGE.write_text(text, encoding="utf-8")
    print("\n".join(bad))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
