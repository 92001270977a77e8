"""Lines along an axis of budgets or domains, each named where it ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 9.5
"""Least distance between two names, in points: one line of 7-point text."""
INSIDE = 0.75
"""Least share of the figure's height for its axes."""


@dataclass(frozen=True)
class Line:
    """A line of a figure: one value for every place on the axis, None where there is no value."""

    values: Sequence[float | None]
    colour: str
    name: str = ""
    """Name written at the end of the line; empty for lines in the background."""
    style: dict[str, Any] = field(default_factory=dict)

    def points(self, places: Sequence[float]) -> list[tuple[float, float]]:
        """Return the points (place, value) at which the line has a value."""
        return [(x, y) for x, y in zip(places, self.values, strict=True) if y]


def draw_lines(axes: Axes, places: Sequence[float], lines: Sequence[Line]) -> None:
    """Draw lines on two logarithmic axes, places on the one below; names stand to the right in black.

    Names are not coloured, as most of the palette is too light for text; a leader shows the colour.
    """
    lines = [line for line in lines if line.points(places)]  # nothing of what is zero everywhere
    for line in lines:
        points = line.points(places)
        axes.plot(*zip(*points, strict=True), color=line.colour, **{"markersize": 3, **line.style})
    _scale_places(axes, places)
    axes.set_yscale("log")
    _scale_values(axes)
    _name_ends(axes, {line.name: (*line.points(places)[-1], line.colour) for line in lines if line.name})


def _scale_places(axes: Axes, places: Sequence[float]) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_spaced(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")


def _scale_values(axes: Axes) -> None:
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    subs, thousands = (1.0, 2.0, 5.0) if high < 300 * low else (1.0,), EngFormatter(sep="")
    if high < 6 * low:
        subs = tuple(k / 10 for k in range(10, 100, 2 if high < 2.5 * low else 5))
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.yaxis.set_major_formatter(lambda y, _: thousands(y) if y >= 1000 else f"{y:.3g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def _spaced(places: Sequence[float]) -> list[float]:
    """Return the places that are far enough from each other for a number each, both ends among them."""
    low, high = min(places), max(places)
    least = math.log(high / low) / 9 if high > low else 0.0
    shown = [low]
    for place in sorted(places):
        if math.log(place / shown[-1]) >= least and math.log(high / place) >= least:
            shown.append(place)
    return sorted({*shown, high})


def _name_ends(axes: Axes, ends: dict[str, tuple[float, float, str]]) -> None:
    """Write names beside the ends of their lines, moved apart where they would overlap."""
    low, high = (math.log(edge) for edge in axes.get_ylim())
    apart = POINTS / 72 / (INSIDE * axes.figure.bbox.height / axes.figure.dpi)
    order = sorted(ends, key=lambda name: ends[name][1])
    heights = _moved_apart([(math.log(ends[name][1]) - low) / (high - low) for name in order], apart)
    for name, height in zip(order, heights, strict=True):
        x, y, colour = ends[name]
        axes.annotate(
            name,
            (x, y),
            xytext=(1.04, height),
            textcoords="axes fraction",
            verticalalignment="center",
            fontsize=7,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "linewidth": 0.9,
                "linestyle": (0, (1, 2)),
                "relpos": (0, 0.5),
                "shrinkA": 0,
                "shrinkB": 2,
                "color": colour,
            },
        )


def _moved_apart(heights: list[float], apart: float) -> list[float]:
    """Return rising heights in 0..1 with at least a distance between them, from the top down if need be."""
    moved = list(heights)
    for place in range(1, len(moved)):
        moved[place] = max(moved[place], moved[place - 1] + apart)
    top = min(moved[-1], 1.0)
    for place in range(len(moved) - 1, -1, -1):
        moved[place] = min(moved[place], top - apart * (len(moved) - 1 - place))
    return moved
