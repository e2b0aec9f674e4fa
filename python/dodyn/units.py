"""Units of the reader's choice. The only table of units and their factors is in the program (src/settings/units.cpp);
this module asks the program for conversions. So the package accepts the units that --units accepts, and refuses the
others with the same message. Without the program an archive can only be read in its own units."""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from .archive import Archive
from .program import ProgramError, find_program


@dataclass(frozen=True)
class Conversions:
    """Converts numbers to the chosen units. `unused` are the chosen units whose dimension no quantity has."""

    chosen: str = ""  # "mm,deg"
    converted: dict[str, tuple[str, float]] | None = None
    unused: tuple[str, ...] = ()

    def __call__(self, unit: str) -> tuple[str, float]:
        """Returns the unit that a number of `unit` is shown in, and its factor."""
        return (self.converted or {}).get(unit, (unit, 1.0))


def conversions(chosen: str, own: Iterable[str]) -> Conversions:
    """Returns how numbers with the units `own` convert. Throws ProgramError if a chosen unit is none, or there is no program."""
    return _ask(find_program(), chosen, tuple(sorted(set(own)))) if chosen else Conversions()


@functools.lru_cache(maxsize=64)
def _ask(program: str, chosen: str, own: tuple[str, ...]) -> Conversions:
    try:
        done = subprocess.run([program, "help", "units", chosen, *own], capture_output=True, text=True, check=False)
    except OSError as error:
        raise ProgramError(f"{program}: {error.strerror}") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"{program} ended with exit code {done.returncode}"]
        raise ProgramError(lines[-1].removeprefix("dodyn: ").removeprefix("command line: --"))
    answer = json.loads(done.stdout)
    converted = {unit: (one["unit"], float(one["factor"])) for unit, one in answer["converted"].items()}
    return Conversions(chosen, converted, tuple(answer["unused"]))


# ---- the option of commands ------------------------------------------------------------------------------------------


def add_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--units", default="", metavar="UNIT,...", help="units, such as deg,mm, of designs, metrics and motions; reasons and settings keep theirs")


def opened(path: str, units: str, noted: bool = False) -> Archive:
    """Reads an archive in the units of the option, and notes those that fit nothing in it, unless that was `noted`. Throws ArchiveError, ProgramError."""
    try:
        archive = Archive(path, units)
    except ProgramError as error:
        raise ProgramError(f"command line: --{error}" if str(error).startswith("units ") else str(error)) from None
    for name in () if noted else archive.unused_units:
        print(f"note: --units {name}: nothing in {path} has this dimension", file=sys.stderr)
    return archive
