"""The figure of a sweep: the users that every mechanism needs along an axis, and the bound below."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.plots.figure import GREY, PALETTE, VERMILION, WIDTH, blank, finished, target_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.comparison_sweep import Sweep

NAMED = 6
"""Published mechanisms with a name and a colour, those closest to the bound somewhere; the others are grey."""
APART = 0.055
"""Least distance between two names, as a share of the height."""

Line = list[float | None]


def plot_sweep(sweep: Sweep, path: str | Path | None = None) -> Figure:
    """Draw users needed on a logarithmic axis, a line for every mechanism, named where it ends.

    Raises:
        ValueError: without matplotlib, for a suffix other than .svg, .png and .pdf, or a missing folder.
    """
    from stratagem.comparison import OPTIMISED
    from stratagem.comparison_sweep import BOUND

    target = target_of(path)
    figure = blank(WIDTH, 3.4)
    axes = figure.subplots()
    lines = sweep.users_needed()
    ours, bound = lines.pop(OPTIMISED), lines.pop(BOUND)
    named = sorted(lines, key=lambda name: _best_ratio(lines[name], ours))[:NAMED]
    ends = {}
    for name in [name for name in lines if name not in named]:
        _draw(axes, sweep, lines[name], color="#C8C8C8", linewidth=0.8)
    for name, colour in zip(named, PALETTE, strict=False):
        ends[name] = (*_draw(axes, sweep, lines[name], color=colour, linewidth=1.1, marker="o"), colour)
    ends[OPTIMISED] = (*_draw(axes, sweep, ours, color=VERMILION, linewidth=2.0, marker="D"), VERMILION)
    ends[BOUND] = (*_draw(axes, sweep, bound, color=GREY, linewidth=1.2, linestyle="--"), GREY)
    _label(axes, sweep, len(lines) - len(named))
    _name_ends(axes, ends)
    return finished(figure, target)


def _best_ratio(line: Line, ours: Line) -> float:
    """Return the least ratio to the strategy found anywhere on the axis."""
    ratios = [a / b for a, b in zip(line, ours, strict=True) if a is not None and b]
    return min(ratios, default=math.inf)


def _draw(axes: Axes, sweep: Sweep, line: Line, **style: object) -> tuple[float, float]:
    """Draw a line where it exists and return its last point."""
    points = [(x, y) for x, y in zip(sweep.places, line, strict=True) if y]
    axes.plot(*zip(*points, strict=True), markersize=3, **style)  # type: ignore[arg-type]
    return points[-1]


def _label(axes: Axes, sweep: Sweep, others: int) -> None:
    from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, NullFormatter, NullLocator

    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(_spaced(sweep.places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    low, high = axes.get_ylim()
    subs, thousands = (1.0, 2.0, 5.0) if high < 3000 * low else (1.0,), EngFormatter(sep="")
    axes.yaxis.set_major_locator(LogLocator(subs=subs, numticks=12))
    axes.yaxis.set_major_formatter(lambda y, _: thousands(y) if y >= 1 else f"{y:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("ε" if sweep.axis == "epsilon" else "domain size n", fontsize=8)
    grey = f"; grey: {others} more" if others else ""
    axes.set_ylabel(f"users needed (normalised variance 0.01{grey})", fontsize=8)


def _spaced(places: tuple[float, ...]) -> list[float]:
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
    order = sorted(ends, key=lambda name: ends[name][1])
    heights = [(math.log(ends[name][1]) - low) / (high - low) for name in order]
    for place in range(1, len(heights)):
        heights[place] = max(heights[place], heights[place - 1] + APART)
    excess = max(0.0, heights[-1] - 1.0)
    for place in reversed(range(len(heights))):
        ceiling = heights[-1] - excess - APART * (len(heights) - 1 - place)
        heights[place] = min(heights[place], ceiling)
    leader = {"arrowstyle": "-", "linewidth": 0.4, "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 2}
    for name, height in zip(order, heights, strict=True):
        x, y, colour = ends[name]
        axes.annotate(
            name,
            (x, y),
            xycoords="data",
            xytext=(1.03, height),
            textcoords="axes fraction",
            verticalalignment="center",
            fontsize=7,
            color=colour,
            annotation_clip=False,
            arrowprops=leader | {"color": colour},
        )
