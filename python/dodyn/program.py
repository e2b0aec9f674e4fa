"""Starts the program dodyn: finds it, and implements the line protocol of `dodyn serve` (docs/python.md)."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar, Union

from .archive import PathLike

_Closing = TypeVar("_Closing", bound="Closing")
Value = Union[str, float, int, bool, Sequence[Any]]


class ProgramError(Exception):
    """The program has refused a request or a configuration, or has failed; the message is one line."""


def find_program(program: PathLike | None = None) -> str:
    """Returns the path of the program: `program`, $DODYN, the one installed with this package, or `dodyn` of the PATH.
    Throws ProgramError."""
    given = os.fspath(program) if program is not None else os.environ.get("DODYN", "")
    if given:
        found = shutil.which(given)
        if found is None:
            raise ProgramError(f"{given}: no such program; give the path of dodyn, or set DODYN to it")
        return found
    installed = Path(__file__).resolve().parents[4] / "bin" / "dodyn"  # root of the installation: this file is in PREFIX/share/dodyn/python/dodyn
    found = str(installed) if os.access(installed, os.X_OK) else shutil.which("dodyn")
    if found is None:
        raise ProgramError("the program dodyn is not in the PATH; install it, or set DODYN to its path")
    return found


def text_of(value: Value) -> str:
    """Returns a value in the syntax of a setting: true, 0.25, "steel, brass"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):  # numpy's float64 too
        return repr(float(value))
    if isinstance(value, (list, tuple)):
        return ", ".join(text_of(one) for one in value)
    return str(value)


def design_words(design: Mapping[str, Value]) -> list[str]:
    """Returns the words that fix or free design variables: a number or text fixes one, (lower, upper) frees one, and a list
    of names frees one that is a choice."""
    words: list[str] = []
    for name, value in design.items():
        if isinstance(value, tuple) and len(value) == 2 and not isinstance(value[0], str):
            words += [f"--design.{name}.min", text_of(value[0]), f"--design.{name}.max", text_of(value[1])]
        else:
            words += [f"--design.{name}", text_of(value)]
    return words


def configuration_text(sections: Mapping[str, Mapping[str, Value]]) -> str:
    """Returns the text of a configuration: sections of keys and values."""
    lines: list[str] = []
    for section, entries in sections.items():
        lines += [f"[{section}]", *(f"{key} = {text_of(value)}" for key, value in entries.items()), ""]
    return "\n".join(lines)


class Closing:
    """Base class of objects that own a process: the end of a `with` block calls close(), and so does the end of the object."""

    def close(self) -> None:
        """Ends the process."""
        raise NotImplementedError

    def __enter__(self: _Closing) -> _Closing:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


class Server:
    """A process of `dodyn serve`. It answers one request at a time; not thread-safe."""

    def __init__(self, program: str, configuration: str, words: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        # In a session of its own: Ctrl-C reaches this process only, which then ends the server.
        self._process = subprocess.Popen(
            [program, "serve", configuration, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
            text=True, encoding="utf-8", start_new_session=True)  # fmt: skip

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the answer to a request. Throws ProgramError if the program refuses it or has ended."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.stdin.closed:
            raise ProgramError("the process was closed, by close() or at the end of a with block; make another object")
        line = ""
        try:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.write(json.dumps(request) + "\n")
                self._process.stdin.flush()
            line = self._process.stdout.readline()
        finally:  # also after Ctrl-C: otherwise a pending answer would be taken for that of the next request
            if not line.endswith("\n"):
                self._process.kill()
        if not line.endswith("\n"):
            raise ProgramError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ProgramError(answer["error"])
        return answer

    def _last_words(self) -> str:
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().strip().splitlines()
        words = said[-1] if said else f"dodyn serve ended with exit code {code}"
        return words[len("dodyn: ") :] if words.startswith("dodyn: ") else words

    @property
    def alive(self) -> bool:
        """Whether the process is still running."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._errors.close()


def number(value: float | None) -> float:
    """Returns a number of an answer; null is NaN."""
    return math.nan if value is None else float(value)


def numbers_by_name(values: Mapping[str, float | None] | None) -> dict[str, float]:
    """Returns the numbers of an answer by name; empty if all are null."""
    found = {name: number(value) for name, value in (values or {}).items()}
    return {} if all(math.isnan(value) for value in found.values()) else found
