"""Pages in Chromium: the browser's command line, and pages that report what their scripts saw."""

import http.server
import json
import shutil
import subprocess
import tempfile
import threading

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def flags(profile, webgl=True, dark=None):
    drawing = ["--enable-unsafe-swiftshader"] if webgl else ["--disable-gpu", "--disable-software-rasterizer"]
    scheme = [] if dark is None else [f"--blink-settings=preferredColorScheme={0 if dark else 1}"]
    return [CHROMIUM, "--headless", "--no-sandbox", "--disable-dev-shm-usage", *drawing,
            "--disable-background-networking", "--no-first-run", "--hide-scrollbars", f"--user-data-dir={profile}",
            "--window-size=1300,1500", *scheme]  # fmt: skip


def seen_by(get, timeout, webgl=True, dark=None):
    """Returns what the page's script posts to /. get(handler): answers a GET request. timeout: of the answer, s."""
    answer, done = [], threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            get(self)

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
        browser = subprocess.Popen([*flags(profile, webgl, dark), *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            assert done.wait(timeout), "the page's script did not answer"
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
    return answer[0]


def send(handler, body, kind="text/html"):
    handler.send_response(200)
    handler.send_header("Content-Type", kind + "; charset=utf-8")
    handler.end_headers()
    handler.wfile.write(body)
