"""Opens reports in headless Chromium: no errors, the animation advances, buttons work, nothing is asked for, the page is
not blank. The pages come from a server of this test's, to which their script tells what it saw.
Usage: browser.py DODYN [NAME...]; skipped (77) where Chromium is not installed."""

import http.server
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import zlib

from studies import dodyn, make, make_hostile

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
try:
    import h5py  # noqa: F401
    import numpy  # noqa: F401
except ImportError:
    CHROMIUM = None
if not CHROMIUM:
    sys.exit(77)  # skipped

# Runs before the page's own script, and after it.
BEFORE = "<script>window.errors = []; window.onerror = (what, where, line) => errors.push(what + ' line ' + line);</script>"
AFTER = """<script>
const wait = ms => new Promise(done => setTimeout(done, ms));
(async () => {
  const told = {players: []};
  for (const player of window.dodyn) {
    const pixels = () => { const c = player.stage; return Array.from(c.getContext('2d').getImageData(0, 0, c.width, c.height).data); };
    const colours = data => { const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); return seen.size; };
    const one = {series: player.scene.series.length, before: player.time, colours: colours(pixels())};
    const first = pixels().join();
    player.speed.value = 0.25;
    player.button.click();
    for (let k = 0; k < 200 && player.frames < 4; ++k) await wait(50);
    one.after = player.time + player.step * (player.end - player.start); one.playing = player.playing; one.frames = player.frames;
    one.label = player.button.textContent;
    player.button.click();
    one.stopped = player.time; await wait(200); one.still = player.time === one.stopped && !player.playing;
    one.moved = pixels().join() !== first;
    player.slider.value = 500; player.slider.oninput();
    one.middle = (player.time - player.start) / (player.end - player.start);
    if (player.dimension === 3) {
      const side = pixels().join(); one.views = {};
      for (const view of ['front', 'top', 'orbit']) { player.view.value = view; player.view.onchange(); one.views[view] = pixels().join() !== side; }
    }
    told.players.push(one);
  }
  const article = document.querySelector('article[id^=study-]'), row = article.querySelector('table.evaluations tbody tr');
  row.click(); told.chosen = row.classList.contains('chosen'); told.record = (article.querySelector('.record') || {}).textContent;
  const slider = article.querySelector('.iterations');
  if (slider) { slider.value = 0; slider.oninput(); told.iteration = [...article.querySelectorAll('.iteration')].filter(n => n.style.display !== 'none').length; }
  if (window.dodynMaps) { const map = window.dodynMaps[0]; told.dots = map.svg.querySelectorAll('circle').length; map.svg.querySelectorAll('circle')[3].onclick(); told.start = map.start; told.plays = map.player ? map.player.playing : null; }
  told.errors = window.errors;
  return told;
})().catch(error => ({errors: [String(error.stack)]})).then(told => fetch('/told', {method: 'POST', body: JSON.stringify(told)}));
</script>"""


def flags(profile):
    return [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--disable-background-networking", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}",
            "--window-size=1200,1500"]  # fmt: skip


def screenshot(page, picture):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        there = "file://" + os.path.abspath(page)
        words = ["--virtual-time-budget=2000", f"--screenshot={picture}", there]
        subprocess.run([*flags(profile), *words], capture_output=True, timeout=120, check=True)


def ask(name):
    """What the page's script saw, and every address that the browser asked for."""
    page = open(f"{name}.html", encoding="utf-8").read()
    page = page.replace("<head>", "<head>" + BEFORE).replace("</body>", AFTER + "</body>").encode()
    asked, answer, done = [], [], threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def do_POST(self):
            answer.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        words = ["--remote-debugging-port=0", f"http://127.0.0.1:{server.server_port}/"]  # stays until it is ended
        browser = subprocess.Popen([*flags(profile), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert done.wait(120), (name, "the page's script did not answer")
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
    assert asked == ["/"], (name, asked)
    return answer[0]


def colours(path):
    """How many colours a PNG of 8-bit RGB(A) has."""
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


names = sys.argv[2:] or ["knee", "spatial", "docking", "scene", "command"]
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    make(*names)
    for name in names:
        dodyn("report", f"{name}.h5")
        told = ask(name)
        assert told["errors"] == [], (name, told)
        assert told["chosen"], told
        assert (len(told["players"]) > 0) == (name != "command"), told
        for player in told["players"]:
            assert player["playing"] and player["label"] == "Pause" and player["frames"] > 3, (name, player)
            assert player["after"] > player["before"] and player["still"] and player["moved"], (name, player)
            assert abs(player["middle"] - 0.5) < 1e-3 and player["colours"] > 3, (name, player)
            assert all(player.get("views", {}).values()), (name, player)
        assert told.get("iteration", 1) == 1
        if name == "docking":
            assert told["dots"] == 12 and told["start"] == 3 and told["plays"], told
        print(name, "ok", {k: v for k, v in told.items() if k != "players"}, flush=True)
    for name in [n for n in names if n in ("knee", "docking")]:  # texts that would end the script, or be one
        make_hostile(f"{name}.h5")
        dodyn("report", f"{name}.h5")
        told = ask(name)
        assert told["errors"] == [] and told["chosen"] and told["players"], (name, told)
        screenshot(f"{name}.html", "hostile.png")
        assert colours("hostile.png") > 30, "a blank page"
        print(name, "hostile, ok", flush=True)
    screenshot(f"{names[0]}.html", "shot.png")
    assert colours("shot.png") > 30
    open("blank.html", "w").write("<html></html>")
    screenshot("blank.html", "blank.png")
    assert colours("blank.png") == 1, "this test would not see a blank page"
