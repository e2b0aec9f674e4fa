"""Runs the subcommands that are written in Python: python3 -m dodyn report|plot|animate|import|watch ..."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from .archive import ArchiveError
from .program import ProgramError
from .units import add_option, opened


class Refused(Exception):
    """Invalid input: the message is one line, the exit code 2."""


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(f"{message}; {self.prog} --help lists what it takes")


def report(words: Sequence[str]) -> None:
    from .report import page, written
    from .summary import plural
    from .watch import interval

    parser = Parser(prog="dodyn report", description="Writes one HTML page with the result of a study. It needs no network.")
    parser.add_argument("archives", nargs="+", metavar="ARCHIVE", help="several are compared in one page")
    parser.add_argument("-o", "--output", metavar="FILE", help="default: the first archive's name, .html; -: standard output")
    parser.add_argument("--follow", action="store_true", help="write the page again after each change, until the study has ended")
    parser.add_argument("--every", type=interval, default=5.0, metavar="SECONDS", help="--follow: time between two looks at the archive (default 5)")
    add_option(parser)
    given = parser.parse_args(words)
    output = given.output or f"{Path(given.archives[0]).stem}.html"
    if os.path.isfile(output) and not output.endswith((".html", ".htm")):
        raise Refused(f"{output}: exists, and its name does not end in .html; choose another name")
    if output in given.archives:
        raise Refused(f"{output}: is the archive itself")
    seen = None
    while True:
        studies = [opened(path, given.units, seen is not None) for path in given.archives]
        running = given.follow and not all(study.finished for study in studies)
        state = [(len(s.columns["id"]), len(s.iterations), s.stop_reason) for s in studies]
        if state != seen:
            text = page(studies, refresh=max(1, round(given.every)) if running else None)
            if output == "-":
                sys.stdout.write(text)
            else:
                written(output, text)
                if seen is None or not running:
                    print(f"{output}: {len(text.encode()) / 1e6:.2f} MB, {plural(sum(map(len, studies)), 'evaluation')}; open it in a browser")
            seen = state
        if not running:
            return
        time.sleep(given.every)


def plot(words: Sequence[str]) -> None:
    from . import plot as pictures

    pictures.main(words, Parser, Refused)


def animate(words: Sequence[str]) -> None:
    from . import animate as films

    films.main(words, Parser, Refused)


def import_(words: Sequence[str]) -> None:
    from . import robots

    robots.main(words, Parser, Refused)


def watch(words: Sequence[str]) -> None:
    from . import watch as server

    server.main(words, Parser, Refused)


def main(words: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if words is None else words
    commands = {"report": report, "plot": plot, "animate": animate, "import": import_, "watch": watch}
    if not words or words[0] not in commands:
        print("usage: python3 -m dodyn report|plot|animate|import|watch ...", file=sys.stderr)
        return 2
    try:
        commands[words[0]](words[1:])
        sys.stdout.flush()
    except (Refused, ArchiveError, ProgramError) as error:
        print(f"dodyn: {error}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"dodyn: {error}; Debian has it as python3-{error.name}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 3
    except OSError as error:
        print(f"dodyn: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
