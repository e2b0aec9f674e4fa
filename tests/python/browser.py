"""Opens reports in headless Chromium at the widths of phones and desktop screens. Checks that nothing overflows, that
a page requests no other file, that the keyboard reaches all dots, that all views and the link share one selection, that
CSV holds the selected rows, that motions play, and that texts of an archive are not run as scripts. The reports are in
frames of a page of this test's server; the script of that page sends its observations to the server.
Usage: browser.py DODYN [NAME...]; skipped (77) if Chromium is not installed."""

import csv
import io
import math
import os
import struct
import subprocess
import sys
import tempfile
import zlib

from chromium import CHROMIUM, flags, seen_by, send
from studies import dodyn, make, make_hostile

try:
    import dodyn as package
    from dodyn import report
except ImportError:
    CHROMIUM = None
if not CHROMIUM or not os.path.exists("/usr/share/nodejs/d3/dist/d3.min.js") or not os.path.exists("/usr/share/javascript/three/three.min.js"):
    sys.exit(77)  # skipped

WIDTHS = (390, 768, 1280, 1920)
FRAMES = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body>FRAMES<script>
const wait = ms => new Promise(done => setTimeout(done, ms));
const frames = [...document.querySelectorAll('iframe')];
const ready = async frame => { for (let k = 0; k < 600; ++k) { const root = frame.contentDocument && frame.contentDocument.documentElement; if (root && root.dataset.ready) return frame.contentWindow; await wait(50); } throw 'not ready: ' + frame.width; };
const go = async (frame, hash) => { frame.contentDocument.documentElement.removeAttribute('data-ready'); frame.contentWindow.location.hash = hash; frame.contentWindow.location.reload(); await wait(100); return ready(frame); };
const press = (node, window, key) => node.dispatchEvent(new window.KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
(async () => {
  const seen = {widths: {}, players: [], errors: []};
  for (const frame of frames) {
    const there = await ready(frame), root = there.document.documentElement;
    there.scrollTo(0, 1e6); await wait(150); there.scrollTo(0, 0); await wait(150);
    const wide = [...there.document.querySelectorAll('main *')].filter(n => n.getBoundingClientRect().right > there.innerWidth + 1 && !n.closest('.scroll, svg, .series, .selection .record')).slice(0, 3).map(n => n.tagName + '.' + n.className);
    seen.widths[frame.width] = {overflow: root.scrollWidth - there.innerWidth, wide, milliseconds: there.dodyn.milliseconds};
  }
  const frame = frames[2];
  let there = frame.contentWindow, page = there.document, study = there.dodyn.studies[0];
  there.scrollTo(0, 1e6); await wait(200);
  for (const view of study.views) { view.near = true; view.stale = true; } study.refresh(); await wait(200);
  // Arrow keys visit every dot of every chart.
  seen.charts = [];
  for (const node of page.querySelectorAll('.frame[role=application]')) {
    if (node.closest('section').querySelector('h2').textContent.startsWith('Initial states')) continue;
    const visited = new Set(); let last = null;
    press(node, there, 'Home');
    for (let k = 0; k <= study.count && study.row !== last; ++k) { visited.add(last = study.row); press(node, there, 'ArrowRight'); await wait(0); }
    seen.charts.push([node.getAttribute('aria-label'), node.tabIndex, visited.size]);
  }
  seen.count = study.count;
  // A selection is one in all views, is an address, and outlives a new load.
  const middle = study.ids[Math.floor(study.count / 2)];
  study.choose(middle); await wait(300);
  const chosen = () => [...page.querySelectorAll('tr.chosen')].map(n => Number(n.dataset.id));
  seen.chosen = {wanted: middle, row: study.row, hash: there.location.hash, tables: chosen(), number: Number(page.querySelector('.row-number').value), record: page.querySelector('.record').textContent};
  const box = page.querySelector('.filter'); box.value = 'id <= ' + middle; box.onchange(); await wait(300);
  seen.filtered = {tally: page.querySelector('.tally').textContent, hash: there.location.hash, rows: [...study.subset], csv: study.csv(), shown: page.querySelectorAll('table.evaluations tbody tr').length};
  there = await go(frame, there.location.hash); page = there.document; study = there.dodyn.studies[0]; await wait(300);
  seen.again = {row: study.row, rows: [...(study.subset || [])], hash: there.location.hash};
  box.value = '';
  page.querySelector('.filter').value = 'nonsense'; page.querySelector('.filter').onchange(); seen.refused = page.querySelector('.refused').textContent;
  study.select(null);
  // A drag over a chart selects what it covers.
  for (const view of study.views) { view.near = true; view.stale = true; } study.refresh(); await wait(200);
  const chart = page.querySelector('.frame[aria-label^=History] .brush .overlay'), area = chart.getBoundingClientRect();
  const mouse = (type, x, y, on) => on.dispatchEvent(new there.MouseEvent(type, {clientX: x, clientY: y, bubbles: true, cancelable: true, view: there}));
  mouse('mousedown', area.left + 1, area.top + 1, chart); mouse('mousemove', area.right - 1, area.bottom - 1, there); mouse('mouseup', area.right - 1, area.bottom - 1, there); await wait(200);
  seen.brushed = study.subset ? study.subset.size : 0;
  study.select(null);
  there = await go(frame, ''); page = there.document; study = there.dodyn.studies[0]; await wait(500);
  for (const view of study.views) { view.near = true; view.stale = true; } study.refresh(); await wait(500);
  // Heads of tables sort.
  const head = page.querySelector('table.evaluations thead th:nth-child(2) button');
  if (head) { head.click(); const values = () => [...page.querySelectorAll('table.evaluations tbody tr')].map(row => Number(row.dataset.id)); const up = values(); head.click(); seen.sorted = up.length < 2 || up.join() !== values().join(); }
  for (const player of [study.player, study.runner].filter(p => p && p.stage.clientWidth)) {
    const canvas = player.stage.querySelector('canvas'), hold = there.document.createElement('canvas');
    const pixels = () => { hold.width = canvas.width; hold.height = canvas.height; const pen = hold.getContext('2d'); pen.drawImage(canvas, 0, 0); return Array.from(pen.getImageData(0, 0, hold.width, hold.height).data); };
    const colours = data => { const found = new Set(); for (let i = 0; i < data.length; i += 4) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); return found.size; };
    player.draw();
    const one = {before: player.time, svg: !canvas};
    const shot = () => canvas ? pixels().join() : player.stage.querySelector('svg').innerHTML;
    const first = shot(); one.colours = canvas ? colours(pixels()) : 99;
    player.speed.value = 0.25; player.button.click();
    for (let k = 0; k < 200 && player.frames < 4; ++k) await wait(50);
    one.after = player.time + player.step * (player.end - player.start); one.playing = player.playing; one.frames = player.frames; one.label = player.button.textContent;
    player.button.click(); one.stopped = player.time; await wait(200); one.still = player.time === one.stopped && !player.playing; one.moved = shot() !== first;
    player.slider.value = 500; player.slider.oninput();
    one.middle = (player.time - player.start) / (player.end - player.start);
    const half = shot(); one.views = {};
    for (const view of ['front', 'top']) { player.view.value = view; player.view.onchange(); one.views[view] = shot() !== half; }
    press(player.stage, there, ' '); one.space = player.playing; press(player.stage, there, ' ');
    seen.players.push(one);
  }
  if (study.player) {
    const cursor = page.querySelector('.series .cursor');
    if (cursor) { study.player.seek(study.player.start); const from = cursor.getAttribute('x1'); study.player.seek(study.player.end); seen.cursor = [...page.querySelectorAll('.series .cursor')].every(c => c.getAttribute('x1') !== from) && from !== cursor.getAttribute('x1'); }
    const others = Object.keys(study.data.motions).map(Number).filter(id => id !== study.row);
    if (others.length) { study.compare(others[0]); await wait(400); seen.overlaid = study.player.motions.length; seen.with = there.location.hash; }
  }
  if (study.starts) {
    const node = study.starts.chart.frame, visited = new Set(); let last = null;
    press(node, there, 'Home');
    for (let k = 0; k <= study.data.starts.length && study.starts.chosen !== last; ++k) { visited.add(last = study.starts.chosen); press(node, there, 'ArrowRight'); await wait(0); }
    seen.starts = visited.size;
    study.starts.choose(3, true); await wait(300);
    seen.start = {row: study.starts.chosen, plays: study.runner ? study.runner.playing : null, count: study.data.starts.length};
  }
  const slider = page.querySelector('.iterations');
  if (slider) { slider.value = 0; slider.oninput(); seen.iteration = page.querySelector('.which').textContent; }
  seen.legs = [...page.querySelectorAll('.legend')].some(l => l.textContent.includes('swing leg'));
  seen.coloured = [...page.querySelectorAll('.series figure')].map(f => new Set([...f.querySelectorAll('.key')].map(k => there.getComputedStyle(k).borderTopColor)).size);
  for (const one of frames) seen.errors.push(...(one.contentWindow.errors || ['no errors list']));
  return seen;
})().catch(error => ({errors: [String(error.stack || error)]})).then(seen => fetch('/seen', {method: 'POST', body: JSON.stringify(seen)}));
</script></body></html>"""
BEFORE = "<script>window.errors = []; window.addEventListener('error', e => errors.push(e.message + ' line ' + e.lineno)); window.addEventListener('unhandledrejection', e => errors.push(String(e.reason && e.reason.stack || e.reason)));</script>"


def screenshot(page, picture):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        there = "file://" + os.path.abspath(page)
        words = ["--virtual-time-budget=4000", f"--screenshot={picture}", there]
        subprocess.run([*flags(profile), *words], capture_output=True, timeout=120, check=True)


# At the first load, chooses a row and selects two. At the second load, reports both.
TWICE = """<script>(async () => {
  while (!document.documentElement.dataset.ready) await new Promise(done => setTimeout(done, 50));
  const study = window.dodyn.studies[0];
  if (sessionStorage.loaded) fetch('/seen', {method: 'POST', body: JSON.stringify({row: study.row, rows: [...(study.subset || [])], hash: location.hash})});
  else { sessionStorage.loaded = 1; study.choose(study.ids[1]); study.select(study.ids.slice(0, 2)); }
})();</script>"""


def ask(name, outer=None, webgl=True):
    """Returns the observations of the script of the page, or of `outer`. Checks that the page requests nothing else."""
    page = open(f"{name}.html", encoding="utf-8").read().replace("<head>", "<head>" + BEFORE).encode()
    outer = outer or FRAMES.replace("FRAMES", "".join(f'<iframe width="{w}" height="1000" src="/page"></iframe>' for w in WIDTHS), 1).encode()
    asked = []

    def get(handler):
        asked.append(handler.path)
        send(handler, outer if handler.path == "/" else page)

    answer = seen_by(get, 180, webgl)
    assert set(asked) <= {"/", "/page"}, (name, asked)
    return answer


def colours(path):
    """Returns the number of colours in a PNG file of 8-bit RGB(A)."""
    data, at, header, packed = open(path, "rb").read(), 8, None, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, depth, mode = struct.unpack(">IIBB", header[:10])
    assert depth == 8 and mode in (2, 6)
    channels = 3 if mode == 2 else 4
    lines = zlib.decompress(packed)
    stride = width * channels + 1
    rows, before = [], bytearray(width * channels)
    for y in range(height):
        kind, line = lines[y * stride], bytearray(lines[y * stride + 1 : (y + 1) * stride])
        for x in range(len(line)):
            a = line[x - channels] if x >= channels else 0
            b, c = before[x], before[x - channels] if x >= channels else 0
            if kind == 1:
                line[x] = (line[x] + a) & 255
            elif kind == 2:
                line[x] = (line[x] + b) & 255
            elif kind == 3:
                line[x] = (line[x] + (a + b) // 2) & 255
            elif kind == 4:
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
                line[x] = (line[x] + near) & 255
        rows.append(line)
        before = line
    return len({bytes(row[x : x + 3]) for row in rows[::7] for x in range(0, len(row), channels)})


def check(name, seen):
    study = package.open(f"{name}.h5")
    ids, charts = [e.id for e in study], seen.get("charts", [])
    assert seen["errors"] == [], (name, seen["errors"])
    for width, found in seen["widths"].items():
        assert found["overflow"] <= 0 and found["wide"] == [], (name, width, found)
    # The keyboard reaches every row in the charts of one and two variables, the history and the parallel coordinates.
    assert charts and all(tab == 0 and visited == len(ids) for _, tab, visited in charts if not _.startswith("Pareto")), (name, charts)
    chosen, filtered = seen["chosen"], seen["filtered"]
    middle = ids[len(ids) // 2]
    assert chosen["wanted"] == chosen["row"] == chosen["number"] == middle and f"row={middle}" in chosen["hash"] and set(chosen["tables"]) == {middle}, chosen
    wanted = [i for i in ids if i <= middle]
    assert filtered["rows"] == wanted and filtered["tally"] == f"{len(wanted)} of {len(ids)} selected" and filtered["shown"] == min(50, len(wanted)), filtered
    assert seen["again"]["row"] == middle and seen["again"]["rows"] == wanted, seen["again"]
    assert "expected a comparison" in seen["refused"] and seen["brushed"] >= max(1, len(ids) - 1) and seen["sorted"], (name, seen["brushed"])
    rows = list(csv.reader(io.StringIO(filtered["csv"])))
    assert [int(row[0]) for row in rows[1:]] == wanted and all(len(row) == len(rows[0]) for row in rows)
    cost = rows[0].index("cost")
    for row, e in zip(rows[1:], study):
        assert row[cost] == "" if math.isnan(e.cost) else math.isclose(float(row[cost]), e.cost, rel_tol=1e-9), (row, e)
    for player in seen["players"]:
        assert player["playing"] and player["space"] and player["label"] == "Pause" and player["frames"] > 3, (name, player)
        assert player["after"] > player["before"] and player["still"] and player["moved"], (name, player)
        assert abs(player["middle"] - 0.5) < 1e-3 and player["colours"] > 3 and all(player["views"].values()), (name, player)
    assert all(count <= 8 for count in seen["coloured"]), seen["coloured"]
    assert seen.get("cursor", True) and seen.get("overlaid", 2) == 2, (name, seen)
    if name == "docking":
        assert seen["start"]["row"] == 3 and seen["start"]["plays"] and seen["start"]["count"] == seen["starts"] == 12, seen
    if "iteration" in seen:
        assert seen["iteration"].startswith("iteration 1 of "), seen["iteration"]


names = sys.argv[2:] or ["knee", "squat", "spatial", "docking", "scene", "beam", "front"]
moving = ("knee", "squat", "spatial", "docking", "scene")
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make(*[n for n in names if not os.path.exists(f'{n}.h5')])
    for name in names:
        dodyn("report", f"{name}.h5")
        webgl = name != "spatial"
        seen = ask(name, webgl=webgl)
        assert "charts" in seen, (name, seen)
        assert all(player["svg"] != webgl for player in seen["players"]), (name, seen["players"])
        check(name, seen)
        assert (len(seen["players"]) > 0) == (name in moving), (name, seen["players"])
        assert seen["legs"] == (name in ("knee", "spatial")), (name, "a legend of legs is for gaits")
        print(name, "ok", {width: round(found["milliseconds"]) for width, found in seen["widths"].items()}, "ms", flush=True)
    name = names[0]  # a page that reloads while a study runs preserves the selection
    study = package.open(f"{name}.h5")
    seen = ask(name, report.page([study], refresh=2).replace("</body>", TWICE + "</body>").encode())
    ids = [e.id for e in study]
    assert seen["row"] == ids[1] and seen["rows"] == ids[:2] and f"row={ids[1]}" in seen["hash"], seen
    print("read again, ok", flush=True)
    for name in [n for n in names if n in ("knee", "docking")]:  # texts that would end the script or run as one
        make_hostile(f"{name}.h5")
        dodyn("report", f"{name}.h5")
        seen = ask(name)
        assert seen["errors"] == [] and seen["chosen"]["tables"] and seen["players"], (name, seen)
        screenshot(f"{name}.html", "hostile.png")
        assert colours("hostile.png") > 30, "a blank page"
        print(name, "hostile, ok", flush=True)
    screenshot(f"{names[0]}.html", "shot.png")
    assert colours("shot.png") > 30
    open("blank.html", "w").write("<html></html>")
    screenshot("blank.html", "blank.png")
    assert colours("blank.png") == 1, "this test would not see a blank page"
