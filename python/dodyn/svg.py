"""Draws charts as SVG text: without libraries, reproducible byte by byte. Each dot has the id of its evaluation."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

STATUS_COLOURS = {
    "ok": "#1f6fb2", "infeasible": "#8d99ae", "not_converged": "#e9a03b",
    "failed": "#c8324a", "timed_out": "#5e60ce", "lost": "#3d405b", "unknown": "#000",
}  # fmt: skip


def ramp(share: float) -> str:
    """Returns a colour "#rrggbb" from yellow (share 0) to dark blue (share 1)."""
    stops = [(253, 231, 37), (94, 201, 98), (33, 145, 140), (59, 82, 139), (68, 1, 84)]
    share = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    i = min(int(share), len(stops) - 2)
    return "#" + "".join(f"{round(a + (share - i) * (b - a)):02x}" for a, b in zip(stops[i], stops[i + 1]))


def ticks(low: float, high: float, about: int = 7) -> list[float]:
    """Returns round numbers between two limits, `about` as many."""
    if not high > low:
        return [low]
    raw = (high - low) / about
    step = 10.0 ** math.floor(math.log10(raw))
    step *= next(f for f in (1, 2, 5, 10) if f * step >= raw)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def tag(name: str, content: str | None = None, **attributes: object) -> str:
    """Returns <name key="value">; `class_` becomes class, data_id becomes data-id."""
    inside = "".join(f' {k.rstrip("_").replace("_", "-")}="{html.escape(str(v))}"' for k, v in attributes.items())
    return f"<{name}{inside}/>" if content is None else f"<{name}{inside}>{content}</{name}>"


class Chart:
    """Axes in a rectangle of pixels; elements are stored in the order of drawing."""

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        size: tuple[int, int] = (540, 300),
        labels: tuple[str, str] = ("", ""),
        margin: tuple[int, int, int, int] = (62, 16, 14, 44),
        y_ticks: bool = True,
        whole: bool = False,
    ) -> None:
        self.size, self.labels, self.y_ticks, self.whole = size, labels, y_ticks, whole
        self.left, self.right, self.top, self.bottom = margin
        self.x, self.y = (self._widened(*x), self._widened(*y))
        self.parts: list[str] = []

    @staticmethod
    def _widened(low: float, high: float) -> tuple[float, float]:
        if not math.isfinite(low) or not math.isfinite(high):
            return 0.0, 1.0
        if high > low:
            return low, high
        return low - (abs(low) * 0.1 or 1.0), high + (abs(high) * 0.1 or 1.0)

    def px(self, x: float) -> float:
        share = (x - self.x[0]) / (self.x[1] - self.x[0])
        return round(self.left + share * (self.size[0] - self.left - self.right), 1)

    def py(self, y: float) -> float:
        share = (y - self.y[0]) / (self.y[1] - self.y[0])
        return round(self.size[1] - self.bottom - share * (self.size[1] - self.top - self.bottom), 1)

    def path(self, xs: Iterable[float], ys: Iterable[float]) -> str:
        pieces, pen = [], "M"
        for x, y in zip(xs, ys):
            if math.isfinite(x) and math.isfinite(y):
                pieces.append(f"{pen}{self.px(x)} {self.py(y)}")
                pen = "L"
            else:
                pen = "M"
        return "".join(pieces)

    def line(self, xs: Iterable[float], ys: Iterable[float], **style: object) -> None:
        self.parts.append(tag("path", None, d=self.path(xs, ys), fill="none", **style))

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], **style: object) -> None:
        inside = [k for k in range(len(xs)) if math.isfinite(low[k]) and math.isfinite(high[k])]
        if inside:
            xs, low, high = ([a[k] for k in inside] for a in (xs, low, high))
            there = self.path([*xs, *xs[::-1]], [*high, *low[::-1]])
            self.parts.append(tag("path", None, d=there + "Z", stroke="none", **style))

    def dot(self, x: float, y: float, title: str = "", radius: float = 5, **style: object) -> None:
        if math.isfinite(x) and math.isfinite(y):
            name = tag("title", html.escape(title)) if title else None
            self.parts.append(tag("circle", name, cx=self.px(x), cy=self.py(y), r=radius, **style))

    def cross(self, x: float, title: str = "", **style: object) -> None:
        """Adds a cross at the bottom of the chart, for an evaluation without a value."""
        at, y, r = self.px(x), self.size[1] - self.bottom - 7, 4
        d = f"M{at - r:g} {y - r}L{at + r:g} {y + r}M{at - r:g} {y + r}L{at + r:g} {y - r}"
        name = tag("title", html.escape(title)) if title else None
        self.parts.append(tag("path", name, d=d, fill="none", stroke_width=2, **style))

    def word(self, x: float, y: float, words: str, **style: object) -> None:
        self.parts.append(tag("text", html.escape(words), x=self.px(x), y=self.py(y), **style))

    def text(self) -> str:
        w, h = self.size
        out: list[str] = []
        foot = h - self.bottom
        for value in ticks(*self.x):
            if self.whole and value != round(value):
                continue
            at = self.px(value)
            out.append(tag("path", d=f"M{at} {self.top}V{foot}", stroke="#8796a5", stroke_opacity="0.25"))
            out.append(tag("text", f"{value:.6g}", x=at, y=foot + 16, text_anchor="middle"))
        for value in ticks(*self.y) if self.y_ticks else []:
            at = self.py(value)
            out.append(tag("path", d=f"M{self.left} {at}H{w - self.right}", stroke="#8796a5", stroke_opacity="0.25"))
            out.append(tag("text", f"{value:.5g}", x=self.left - 6, y=at + 4, text_anchor="end"))
        out.append(tag("path", d=f"M{self.left} {self.top}V{foot}H{w - self.right}", stroke="#8796a5", fill="none"))
        out.append(tag("text", html.escape(self.labels[0]), x=(self.left + w - self.right) / 2, y=h - 8, text_anchor="middle"))
        middle = (self.top + foot) / 2
        out.append(
            tag("text", html.escape(self.labels[1]), x=13, y=middle, text_anchor="middle", transform=f"rotate(-90 13 {middle})")
        )
        return tag("svg", "".join(out + self.parts), viewBox=f"0 0 {w} {h}", role="img", class_="static")


def limits(values: Iterable[float], margin: float = 0.08, trimmed: bool = True) -> tuple[float, float]:
    """Returns a range that shows the finite values, except a few outliers if `trimmed`."""
    finite = np.array([v for v in values if math.isfinite(v)])
    if not len(finite):
        return 0.0, 1.0
    low, high = finite.min(), finite.max()
    if trimmed and len(finite) > 7:
        middle = np.quantile(finite, 0.75)
        high = min(high, max(middle + 4 * (middle - low), low))
    pad = margin * ((high - low) or abs(low) or 1.0)
    return float(low - pad), float(high + pad)
