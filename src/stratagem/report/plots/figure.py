"""The common parts of all figures: palette, style, an empty figure, and writing it to a file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import real

MISSING = "a plot was asked for, but matplotlib is not installed: run pip install stratagem[plots]"
try:
    from matplotlib import rcParams, style
    from matplotlib.figure import Figure
    from matplotlib.ticker import EngFormatter, FixedLocator, LogLocator, NullFormatter, NullLocator
except ImportError:
    raise ValueError(MISSING) from None

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = "stratagem.report.plots.paper"
"""Name of the style sheet beside this file, as `matplotlib.style.use` takes it."""
SUFFIXES = (".svg", ".png", ".pdf")
NARROW, BROAD = 2.6, 20.0
"""Least and greatest width of a figure in inches; one column of a two-column page is 3.4 wide."""
VERMILION, BLUE, GREY, PALE = "#D55E00", "#0072B2", "#595959", "#C8C8C8"
"""Colours of the optimised strategy, of published mechanisms, of bounds, and of the background."""
PALETTE = (BLUE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's palette for further lines. Several colours are too light for text, so names are black."""
DATES = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
"""Metadata without dates, so that the same figure gives the same file."""


def check_matplotlib() -> None:
    """Refuse to go on without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError(MISSING) from None


@contextmanager
def page(path: str | Path | None, height: float, width: float | None = None) -> Iterator[Figure]:
    """Yield an empty figure in the common style, sizes in inches; after drawing, lay it out and write it once.

    Everything is drawn inside the style, ticks as well, so that nothing depends on the settings of whoever
    looks at the figure. It has no window: pyplot is not needed.
    """
    check_matplotlib()
    target = None if path is None else check_target(path, SUFFIXES)
    if width is not None and not NARROW <= real(width) <= BROAD:
        raise ValueError(
            f"the width of the figure is {width!r}, but must lie between {NARROW:g} and {BROAD:g} inches: give 3.4"
        )
    with styled():
        figure = Figure(figsize=(width or rcParams["figure.figsize"][0], height))
        yield figure
        figure.draw_without_rendering()
        if target is not None:
            _write(figure, target)


def styled() -> AbstractContextManager[None]:
    """Return the context of the common style, whatever the settings of whoever looks at the figure."""
    return style.context(STYLE, after_reset=True)


def _write(figure: Figure, target: Path) -> None:
    suffix = target.suffix.lower()
    with written_atomically(target) as file:
        figure.savefig(file, format=suffix[1:], metadata=DATES[suffix])


def ratio_text(epsilon: float) -> str:
    """Return e^epsilon for reading."""
    if math.isinf(epsilon):
        return "∞"
    if epsilon > 20:
        return f"e^{epsilon:.3g}"
    return f"{math.exp(epsilon):.3g}" if epsilon > 0.1 else f"{math.exp(epsilon):.6g}"


def head(figure: Figure, words: str) -> None:
    """Write the title of a figure above everything, from the left."""
    figure.suptitle(words, x=0.01, horizontalalignment="left")


def thousands(value: float, _: object = None) -> str:
    """Return the number of a tick, written out below a million: 600 and 1,200 beside each other, then 1.5M."""
    return EngFormatter(sep="")(value) if abs(value) >= 1e6 else f"{value:,.7g}"


@dataclass(frozen=True)
class Line:
    """A line of a figure: one value for every place on the axis, None where there is no value."""

    values: Sequence[float | None]
    colour: str
    name: str = ""
    """Name in the legend; empty for none."""
    style: dict[str, Any] = field(default_factory=dict)

    def points(self, places: Sequence[float]) -> list[tuple[float, float]]:
        """Return the points (place, value) at which the line has a value, in the order of the places."""
        return sorted((x, y) for x, y in zip(places, self.values, strict=True) if y)


def draw_lines(axes: Axes, places: Sequence[float], lines: Sequence[Line]) -> None:
    """Draw lines on two logarithmic axes, places on the one below; a legend names them as they end, pale ones last."""
    lines = [line for line in lines if line.points(places)]  # nothing of what is zero everywhere
    ends = {}
    for line in lines:
        points = line.points(places)
        look = {"color": line.colour, "markersize": 3, **line.style}
        (ends[line.colour == PALE, -points[-1][1], line.name],) = axes.plot(
            *zip(*points, strict=True), **look
        )
    _scale_places(axes, places)
    axes.set_yscale("log")
    _scale_values(axes)
    named = {name: ends[pale, end, name] for pale, end, name in sorted(ends) if name}
    axes.figure.legend(named.values(), named, loc="outside right center")


def _scale_places(axes: Axes, places: Sequence[float]) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(_spaced(places)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")


def _scale_values(axes: Axes) -> None:
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
