"""Serves the page of a running study on this machine only: `dodyn watch ARCHIVE`. Reads the archive when the file has
changed, and notifies the browser by server-sent events. It only reads, so the writing program is not disturbed."""

from __future__ import annotations

import argparse
import http.server
import json
import math
import os
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from . import motion as motions
from . import report, summary
from .archive import Archive, ArchiveError, Evaluation, is_written
from .units import add_option, opened

Json = dict[str, Any]
PORT = 8700
RECENT = 20  # number of latest evaluations for the rate
HEARTBEAT = 15.0  # interval of signs of life, which reveal closed connections, s


def finished_at(evaluation: Evaluation) -> float | None:
    """Returns when it ended, s since 1970; None if its start is unknown."""
    try:
        started = datetime.fromisoformat(evaluation.start_time.replace("Z", "+00:00"))
    except ValueError:
        return None
    return started.replace(tzinfo=started.tzinfo or timezone.utc).timestamp() + (evaluation.wall_time if evaluation.wall_time == evaluation.wall_time else 0.0)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def progress(study: Archive, now: float) -> Json:
    """Returns the progress of the study: facts [(name, text)], and a row for each rank. `now`: s since 1970."""
    times = {e.id: at for e in study if (at := finished_at(e)) is not None}
    recent = sorted(times.values())[-RECENT:]
    writer = is_written(study.path)
    count, most = len(study), study.configuration.get("study.max-evaluations", "")
    facts = [("evaluations", f"{count} of at most {most}" if most.isdigit() else str(count))]
    if len(recent) > 1 and recent[-1] > recent[0]:
        rate = (len(recent) - 1) / (recent[-1] - recent[0])
        left = f"; at most {duration((int(most) - count) / rate)} left" if most.isdigit() and writer and not study.finished and int(most) > count else ""
        facts.append(("rate", f"{60 * rate:.{'0f' if rate > 2 else '3g'}} a minute, of the last {len(recent)}{left}"))
    best = study.recommended or study.lowest
    if best is not None:
        newest = max(e.id for e in study.front) if len(study.objectives) > 1 else best.id
        after = sum(1 for e in study if e.id > newest)
        facts.append(("best so far", f"{summary.headline(study)} {summary.plural(after, 'evaluation')} since."))
    if study.finished:
        facts.append(("stop reason", study.stop_reason))
    else:
        note = study.iterations[-1].note if study.iterations else ""
        limits = [f"{key} = {study.configuration[key]}" for key in ("study.max-evaluations", "study.wall-time") if study.configuration.get(key, "none") != "none"]
        joined = ", ".join(limits)
        facts.append(("why it has not stopped", f"No rule has ended the search{f', and no limit is reached ({joined})' if limits else ''}."
                      + (f" Its last decision: {note}." if note else "")))  # fmt: skip
        facts.append(("process", "a process writes to the archive" if writer else "no process writes to the archive: it was killed; the command that started it continues the study"))
    facts += [("last event", f"{event.time[:19].replace('T', ' ')} UTC, {event.kind}: {event.text}") for event in study.events[-1:]]
    ranks: dict[int, list[Evaluation]] = {}
    for e in study:
        ranks.setdefault(e.rank, []).append(e)
    rows = []
    for rank in sorted(set(ranks) | (set(range(1, study.ranks)) if study.ranks > 1 else {0})):
        done = ranks.get(rank, [])
        last = max(done, key=lambda e: times.get(e.id, 0.0), default=None)
        mean = sum(e.wall_time for e in done if e.wall_time == e.wall_time) / len(done) if done else 0.0
        age = now - times[last.id] if last is not None and last.id in times else None
        doing = "has no result yet" if last is None else f"evaluation {last.id} ended {last.status}" + (f" {duration(max(0.0, age))} ago" if age is not None else "")
        rows.append([rank, last.host if last else "", len(done), duration(mean) if done else "", doing])
    return {"facts": facts, "ranks": rows, "running": not study.finished and writer}


class Watched:
    """An archive and the data read last. `version` counts the reads that found changes."""

    def __init__(self, path: str, units: str = "") -> None:
        self.path, self.units = path, units
        self.changed = threading.Condition()
        self.version = 0
        self.study = opened(path, units)  # throws ArchiveError, ProgramError
        self.error = ""
        self.seen = self.stamp()
        self.count = self.state()

    def stamp(self) -> tuple[object, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return found.st_size, found.st_mtime_ns, found.st_ino, is_written(self.path)

    def state(self) -> tuple[object, ...]:
        return len(self.study.columns["id"]), len(self.study.iterations), self.study.stop_reason, len(self.study.events), is_written(self.path), self.error

    def look(self) -> None:
        """Reads the archive if its file has changed, and wakes the waiting threads if its data have."""
        stamp = self.stamp()
        if stamp == self.seen:
            return
        try:
            self.study, self.error = Archive(self.path, self.units), ""
        except ArchiveError as error:
            self.error = str(error)
        self.seen = stamp
        state = self.state()
        if state != self.count:
            self.count = state
            with self.changed:
                self.version += 1
                self.changed.notify_all()

    def follow(self, every: float) -> None:
        while True:
            begun = time.monotonic()
            self.look()
            time.sleep(max(every, time.monotonic() - begun))  # reads a large archive at most half of the time


def data(watched: Watched) -> Json:
    study = watched.study
    return {
        "version": watched.version,
        "error": watched.error,
        "progress": progress(study, time.time()),
        "summary": report.summary_part(study, None),
        "study": report.study_data(study, with_motions=False),
    }


def motion_of(study: Archive, identity: int, scenario: str) -> Json | None:
    """Returns the motion of an evaluation, in one scenario if the study has several."""
    trajectory = study.evaluation(identity).trajectory
    if trajectory and scenario and scenario in trajectory.scenarios:
        trajectory = trajectory.scenario(scenario)
    one = motions.motion(trajectory) if trajectory else None
    return report.motion_data(one, report.NODES[0]) if one is not None else None


def runs_of(study: Archive, identity: int) -> Json | None:
    trajectory = study.evaluation(identity).trajectory
    return report.runs_data(trajectory) if motions.outcomes(trajectory) else None


def handler(watched: Watched) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self, body: str, kind: str = "application/json", code: int = 200) -> None:
            content = body.encode("utf-8")
            self.send_response(code)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(content)

        def do_GET(self) -> None:
            # Refuses requests under another host name: a page of another site could lead here.
            host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
            if host not in ("127.0.0.1", "localhost"):
                return self.answer("not this host\n", "text/plain", 403)
            address = urlsplit(self.path)
            found = re.fullmatch(r"/(motions|runs)/(\d+)", address.path)
            try:
                if address.path == "/":
                    self.answer(report.page([watched.study], live=True), "text/html")
                elif address.path == "/data":
                    self.answer(json.dumps(data(watched), allow_nan=False))
                elif address.path == "/events":
                    self.tell()
                elif found:
                    scenario = unquote(parse_qs(address.query).get("scenario", [""])[0])
                    one = motion_of(watched.study, int(found[2]), scenario) if found[1] == "motions" else runs_of(watched.study, int(found[2]))
                    self.answer(json.dumps(one, allow_nan=False))
                else:
                    self.answer("no such page\n", "text/plain", 404)
            except KeyError as error:
                self.answer(f"{error.args[0]}\n", "text/plain", 404)
            except ArchiveError as error:
                self.answer(f"{error}\n", "text/plain", 503)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def tell(self) -> None:
            """Sends the number of every new version."""
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.close_connection = True
            sent = -1
            while True:
                with watched.changed:
                    if watched.version == sent:
                        watched.changed.wait(HEARTBEAT)
                    new = watched.version
                self.wfile.write(f"data: {new}\n\n".encode() if new != sent else b": still here\n\n")
                self.wfile.flush()
                sent = new

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    address_family = socket.AF_INET


def end(number: int, frame: object) -> None:
    """Ends the process at once. An orderly end could wait forever: a thread that reads the archive holds the lock of h5py."""
    if sys.stderr is not None:  # None: closed by the caller (2>&-)
        os.write(sys.stderr.fileno(), b"\n")
    os._exit(0)


def port_number(word: str) -> int:
    if not word.isdecimal() or int(word) > 65535:
        raise argparse.ArgumentTypeError(f"{word}: expected a port from 0 to 65535; 0 takes a free one")
    return int(word)


def interval(word: str) -> float:
    try:
        seconds = float(word)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"{word}: expected a positive number of seconds")
    return seconds


def main(words: Sequence[str], parser: type[argparse.ArgumentParser], refused: type[Exception]) -> None:
    options = parser(prog="dodyn watch", description="Serves the page of a study on this machine and shows new rows as they come.")
    options.add_argument("archive", metavar="ARCHIVE")
    options.add_argument("--port", type=port_number, default=PORT, metavar="NUMBER", help=f"default {PORT}; 0: a free one")
    options.add_argument("--every", type=interval, default=1.0, metavar="SECONDS", help="how often it looks whether the file has changed (default 1)")
    add_option(options)
    given = options.parse_args(words)
    watched = Watched(given.archive, given.units)
    try:
        server = Server(("127.0.0.1", given.port), handler(watched))
    except OSError as error:
        raise refused(f"--port {given.port}: {error.strerror}; choose another one, 0 takes a free one") from None
    signal.signal(signal.SIGINT, end)
    threading.Thread(target=watched.follow, args=(given.every,), daemon=True).start()
    print(f"{Path(given.archive).name}: http://127.0.0.1:{server.server_address[1]}/ shows the page (Ctrl-C ends this server)", flush=True)
    server.serve_forever()
