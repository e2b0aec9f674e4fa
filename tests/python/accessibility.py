"""Examines reports with axe-core at the widths of a phone and a desktop screen, in the light and the dark scheme. There must be no violation of
WCAG 2.1 A and AA or of axe's best practices. All folded parts are open, and an evaluation is selected.
Usage: accessibility.py DODYN [NAME...]; skipped (77) where Chromium or axe-core is missing (jobs/dependencies.sh all)."""

import json
import os
import sys
import tempfile

from chromium import CHROMIUM, seen_by, send
from studies import dodyn, make

PLACES = [os.environ.get("AXE", ""), "/usr/local/lib/node_modules/axe-core/axe.min.js", "/usr/lib/node_modules/axe-core/axe.min.js"]
AXE = next((place for place in PLACES if place and os.path.exists(place)), None)
try:
    import dodyn as package  # noqa: F401  h5py is there
except ImportError:
    AXE = None
if not CHROMIUM or not AXE or not os.path.exists("/usr/share/nodejs/d3/dist/d3.min.js"):
    sys.exit(77)  # skipped

WIDTHS = (390, 1280)
FRAMES = """<!DOCTYPE html><html><head><link rel="icon" href="data:,"></head><body>FRAMES<script>
const wait = ms => new Promise(done => setTimeout(done, ms));
(async () => {
  const seen = {};
  for (const frame of document.querySelectorAll('iframe')) {
    const root = () => frame.contentDocument && frame.contentDocument.documentElement;
    for (let k = 0; k < 1200 && !(root() && root().dataset.ready); ++k) await wait(50);
    const there = frame.contentWindow, page = there.document;
    for (const part of page.querySelectorAll('details')) part.open = true;
    for (const study of there.dodyn.studies) { study.choose(study.ids[study.ids.length - 1]); for (const view of study.views) { view.near = true; view.stale = true; } study.refresh(); }
    await wait(800);
    const script = page.createElement('script');
    script.src = '/axe.js';
    await new Promise(done => { script.onload = done; page.head.append(script); });
    const result = await there.axe.run(page, {resultTypes: ['violations', 'incomplete'], iframes: false});
    const short = list => list.map(rule => ({rule: rule.id, impact: rule.impact, help: rule.help, count: rule.nodes.length, nodes: rule.nodes.slice(0, 3).map(node => [node.target.join(' '), node.html.slice(0, 160), node.failureSummary])}));
    seen[frame.width] = {violations: short(result.violations), incomplete: short(result.incomplete), passes: result.passes.length, dark: there.matchMedia('(prefers-color-scheme: dark)').matches};
  }
  return seen;
})().catch(error => ({error: String(error.stack || error)})).then(seen => fetch('/seen', {method: 'POST', body: JSON.stringify(seen)}));
</script></body></html>"""


def examine(path, dark):
    """What axe found, by the width."""
    page = open(path, "rb").read()
    outer = FRAMES.replace("FRAMES", "".join(f'<iframe title="{w}" width="{w}" height="1000" src="/page"></iframe>' for w in WIDTHS), 1).encode()

    def get(handler):
        if handler.path == "/axe.js":
            send(handler, open(AXE, "rb").read(), "text/javascript")
        else:
            send(handler, outer if handler.path == "/" else page)

    return seen_by(get, 240, dark=dark)


names = sys.argv[2:] or ["knee", "docking", "beam", "front"]
with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    bad = []
    pages = [name for name in names if name.endswith(".html")]
    names = [name for name in names if name not in pages]
    make(*names)
    for name in names:
        dodyn("report", f"{name}.h5")
    for path in pages + [f"{name}.html" for name in names]:
        for dark in (False, True):
            seen = examine(path, dark)
            assert "error" not in seen, (path, seen)
            for width, found in seen.items():
                assert found["dark"] == dark, (path, width, "the scheme was not set")
                scheme = "dark" if dark else "light"
                print(f"{os.path.basename(path)} {width} px {scheme}: {found['passes']} rules pass, {len(found['violations'])} violated, {len(found['incomplete'])} undecided", flush=True)
                bad += [(os.path.basename(path), width, scheme, rule) for rule in found["violations"]]
                if os.environ.get("AXE_UNDECIDED"):
                    for rule in found["incomplete"]:
                        print("  undecided", json.dumps(rule)[:900])
    for where in bad:
        print(json.dumps(where, indent=1))
    assert not bad, f"{len(bad)} violations"
    page = open(f"{names[0]}.html" if names else pages[0], encoding="utf-8").read()
    with open("planted.html", "w", encoding="utf-8") as file:
        file.write(page.replace("</body>", '<img src="data:,"></body>'))
    found = {rule["rule"] for seen in examine("planted.html", False).values() for rule in seen["violations"]}
    assert "image-alt" in found, f"this test would not see a picture without a text: {found}"
