"""dodyn watch: it serves the page on this machine alone, shows what comes while a study runs, and changes no file. Usage: watch.py DODYN"""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from chromium import CHROMIUM, seen_by
from studies import DODYN, ROOT, dodyn, make

try:
    import dodyn as package
    from dodyn import report, summary
except ImportError:
    sys.exit(77)  # skipped


def started(*words):
    """The server's process and its port."""
    process = subprocess.Popen([sys.executable, "-m", "dodyn", "watch", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})  # fmt: skip
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
    assert found, (line, process.stderr.read() if process.poll() is not None else "")
    return process, int(found[1])


def get(port, path, host=None, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


class Events(threading.Thread):
    """Returns the versions that the server announces."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.versions = port, []
        self.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", "/events")
        answer = connection.getresponse()
        assert answer.getheader("Content-Type") == "text/event-stream"
        while line := answer.readline():
            if line.startswith(b"data: "):
                self.versions.append(int(line[6:]))


def state(path):
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, open(path, "rb").read()


def ended_study():
    """Every address of a study that has ended: rows, motions as in the archive, refusals."""
    make("knee")
    before = state("knee.h5"), sorted(os.listdir("."))
    process, port = started("knee.h5", "--port", "0")
    try:
        study = package.open("knee.h5")
        code, page = get(port, "/")
        assert code == 200 and "<h1>knee</h1>" in page
        code, text = get(port, "/data")
        data = json.loads(text)
        assert data["study"]["rows"]["id"] == [e.id for e in study] and data["study"]["best"] == study.best.id and not data["study"]["motions"]
        facts = dict(data["progress"]["facts"])
        assert facts["stop reason"] == study.stop_reason and not data["progress"]["running"] and facts["evaluations"].startswith(f"{len(study)} of at most 5")
        assert [row[0] for row in data["progress"]["ranks"]] == [0] and data["progress"]["ranks"][0][2] == len(study)
        code, text = get(port, f"/motions/{study.best.id}")
        embedded = report.study_data(study)["motions"][study.best.id]
        assert json.loads(text) == json.loads(json.dumps(embedded))
        assert get(port, f"/runs/{study.best.id}") == (200, "null")
        assert get(port, "/motions/99")[0] == 404 and get(port, "/../knee.h5")[0] == 404 and get(port, "/knee.h5")[0] == 404
        assert get(port, "/", host="example.org")[0] == 403 and get(port, "/data", host=f"localhost:{port}")[0] == 200
        assert get(port, "/", method="POST")[0] == 501 and get(port, "/", method="PUT")[0] == 501
        # Not to be reached from elsewhere: it listens on the loopback address alone.
        listening = [line.split() for line in open("/proc/net/tcp").read().splitlines()[1:] if line.split()[3] == "0A" and int(line.split()[1].split(":")[1], 16) == port]
        assert [line[1].split(":")[0] for line in listening] == ["0100007F"], listening
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            taken = other.getsockname()[1]
            refused = subprocess.run([sys.executable, "-m", "dodyn", "watch", "knee.h5", "--port", str(taken)], capture_output=True, text=True,
                                     env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})  # fmt: skip
            assert refused.returncode == 2 and f"--port {taken}: " in refused.stderr and refused.stderr.count("\n") == 1, refused
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    assert (state("knee.h5"), sorted(os.listdir("."))) == before


def running_study():
    """Rows appear while the study writes them. The run ends as it does without the server, with the same archive."""
    with open("slow.cfg", "w") as file:
        file.write("[study]\nevaluator = testfunction\nmax-evaluations = 30\n[surrogate]\nstrategy = sweep\npoints = 30\n"
                   "[testfunction]\nname = forrester\ndelay = 0.25 s\n[design]\nx.min = 0\nx.max = 1\n")  # fmt: skip
    # The first rows come before the server, so that it sees the others from the first on, however long it takes to start.
    dodyn("run", "slow.cfg", "--study.archive", "slow.h5", "--study.max-evaluations", "2")
    process, port = started("slow.h5", "--port", "0", "--every", "0.2")
    writer = subprocess.Popen([DODYN, "run", "slow.cfg", "--study.archive", "slow.h5"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        events, counts, facts = Events(port), [], {}
        while writer.poll() is None:
            data = json.loads(get(port, "/data")[1])
            counts.append(len(data["study"]["rows"]["id"]))
            facts = dict(data["progress"]["facts"]) if data["progress"]["running"] and counts[-1] > 3 else facts
            time.sleep(0.3)
        assert writer.wait() == 0, writer.stderr.read()
        for _ in range(100):
            data = json.loads(get(port, "/data")[1])
            if data["study"]["running"] is False:
                break
            time.sleep(0.1)
        assert data["study"]["rows"]["id"] == list(range(30)) and not data["progress"]["running"], data["progress"]
        assert len(set(counts)) > 4 and counts == sorted(counts), counts
        assert len(events.versions) > 4 and events.versions == sorted(events.versions), events.versions
        assert "a minute" in facts["rate"] and "No rule has ended the search" in facts["why it has not stopped"] and facts["process"] == "a process writes to the archive", facts
        rate = float(facts["rate"].split()[0])
        assert 10 < rate < 241, facts["rate"]  # of evaluations that take 0.25 s each
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        writer.kill()
    dodyn("run", "slow.cfg", "--study.archive", "alone.h5", "--testfunction.delay", "0 s")
    one, other = package.open("slow.h5"), package.open("alone.h5")
    assert [e.cost for e in one] == [e.cost for e in other]


SCRIPT = """<script>window.errors = []; window.addEventListener('error', e => errors.push(e.message)); window.addEventListener('unhandledrejection', e => errors.push(String(e.reason)));
const wait = ms => new Promise(done => setTimeout(done, ms));
window.addEventListener('load', async () => {
  const seen = {counts: []};
  try {
    for (let k = 0; k < 400 && !document.documentElement.dataset.ready; ++k) await wait(50);
    const study = window.dodyn.studies[0];
    study.choose(1);  // not the best one, which a page follows
    await fetch('/run');
    for (let k = 0; k < 1200; ++k) {
      const now = window.dodyn.studies[0];
      if (seen.counts[seen.counts.length - 1] !== now.count) seen.counts.push(now.count);
      if (now.count === 30 && document.getElementById('live').textContent.startsWith('Not running') && !now.data.running) break;
      await wait(100);
    }
    for (const view of study.views) { view.near = view.stale = true; } study.refresh(); await wait(300);
    seen.row = window.dodyn.studies[0].row; seen.hash = location.hash; seen.live = document.getElementById('live').textContent;
    seen.chosen = [...document.querySelectorAll('tr.chosen')].map(row => row.dataset.id); seen.motion = window.dodyn.studies[0].data.motions[1] !== undefined;
    seen.lead = document.querySelector('.lead').textContent; seen.errors = window.errors;
  } catch (error) { seen.errors = [String(error.stack)]; }
  fetch('/seen', {method: 'POST', body: JSON.stringify(seen)});
});</script>"""


def in_a_browser():
    """The page of a study that runs grows by itself, keeps what was chosen, and asks for the motion that is looked at."""
    if not CHROMIUM or not all(os.path.exists(file) for _, files in report.LIBRARIES.values() for file in files):
        return print("no Chromium, or no libraries")
    dodyn("run", "slow.cfg", "--study.archive", "seen.h5", "--study.max-evaluations", "3")
    process, port = started("seen.h5", "--port", "0", "--every", "0.2")
    writers = []

    def get(handler):
        if handler.path == "/run":  # the page is there, however long the browser took: the study goes on before its eyes
            writers.append(subprocess.Popen([DODYN, "run", "slow.cfg", "--study.archive", "seen.h5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            handler.send_response(204)
            return handler.end_headers()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        connection.request("GET", handler.path)
        found = connection.getresponse()
        handler.send_response(found.status)
        handler.send_header("Content-Type", found.getheader("Content-Type"))
        handler.end_headers()
        if handler.path == "/":
            handler.wfile.write(found.read().replace(b"<head>", b"<head>" + SCRIPT.encode(), 1))
        else:
            while part := found.read1():
                handler.wfile.write(part)
                handler.wfile.flush()

    try:
        seen = seen_by(get, 150)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        for writer in writers:
            writer.wait(60)
    assert seen["errors"] == [], seen
    assert seen["counts"][-1] == 30 and len(seen["counts"]) > 3 and seen["counts"] == sorted(seen["counts"]), seen
    assert seen["row"] == 1 and "row=1" in seen["hash"] and set(seen["chosen"]) == {"1"} and seen["motion"], seen
    assert "Not running" in seen["live"] and summary.headline(package.open("seen.h5")) == seen["lead"], seen


def killed_study():
    """A killed process leaves the file of its lock: no process writes. A damaged or removed archive is a problem that the page shows, and it recovers."""
    dodyn("run", "slow.cfg", "--study.archive", "killed.h5", "--study.max-evaluations", "2")
    writer = subprocess.Popen([DODYN, "run", "slow.cfg", "--study.archive", "killed.h5"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    process, port = started("killed.h5", "--port", "0", "--every", "0.1")

    def wait_for(holds):
        for _ in range(100):
            code, text = get(port, "/data")
            found = json.loads(text) if code == 200 else {"code": code, "text": text}
            if holds(found):
                return found
            time.sleep(0.1)
        raise AssertionError(found)

    try:
        wait_for(lambda found: found["progress"]["running"])
        writer.kill()
        writer.wait()
        assert os.path.exists("killed.h5.lock")
        facts = dict(wait_for(lambda found: not found["progress"]["running"])["progress"]["facts"])
        assert facts["process"].startswith("no process writes") and "left" not in facts.get("rate", ""), facts
        os.rename("killed.h5", "away.h5")
        refused = wait_for(lambda found: found.get("code"))
        assert refused == {"code": 503, "text": "killed.h5: no such file\n"}, refused
        with open("away.h5", "rb") as whole, open("killed.h5", "wb") as cut:
            cut.write(whole.read(3000))
        wait_for(lambda found: found.get("error") or found.get("code"))
        os.replace("away.h5", "killed.h5")
        wait_for(lambda found: found.get("error") == "")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)
        writer.kill()


def interrupted_while_it_reads():
    """Ctrl-C ends the server, also while one of its threads reads the archive and therefore holds the lock of h5py."""
    for _ in range(8):
        process, port = started("slow.h5", "--port", "0", "--every", "0.005")
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            os.utime("slow.h5")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def refusals():
    for line in (["none.h5"], ["slow.cfg"], ["slow.h5", "--port", "x"], ["slow.h5", "--port", "70000"], ["slow.h5", "--port", "²"], ["slow.h5", "--every", "0"],
                 ["slow.h5", "--every", "1e300"], []):  # fmt: skip
        found = subprocess.run([sys.executable, "-m", "dodyn", "watch", *line], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
        assert found.returncode == 2 and found.stderr.count("\n") == 1 and found.stderr.startswith("dodyn: "), (line, found)


with tempfile.TemporaryDirectory() as directory:
    os.chdir(directory)
    for test in (ended_study, running_study, killed_study, interrupted_while_it_reads, in_a_browser, refusals):
        test()
        print(test.__name__, "ok", flush=True)
