"""The common parts of all figures: palette, style, an empty figure, and writing it to a file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import real

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = "stratagem.report.plots.paper"
"""Name of the style sheet beside this file, as `matplotlib.style.use` takes it."""
SUFFIXES = (".svg", ".png", ".pdf")
NARROW, BROAD = 3.0, 20.0
"""Least and greatest width of a figure in inches; one column of a two-column page is 3.4 wide."""
VERMILION, BLUE, GREY, PALE = "#D55E00", "#0072B2", "#595959", "#C8C8C8"
"""Colours of the optimised strategy, of published mechanisms, of bounds, and of the background."""
PALETTE = (BLUE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's palette for further lines. Several colours are too light for text, so names are black."""
DATES = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}, ".png": {}}
"""Metadata without dates, so that the same figure gives the same file."""


def check_matplotlib() -> None:
    """Refuse to go on without matplotlib.

    Raises:
        ValueError: saying how to install it.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise ValueError(
            "a plot was asked for, but matplotlib is not installed: run pip install stratagem[plots]"
        ) from None


@contextmanager
def page(path: str | Path | None, height: float, width: float | None = None) -> Iterator[Figure]:
    """Yield an empty figure in the common style, sizes in inches; after drawing, lay it out and write it once.

    Everything is drawn inside the style, ticks as well, so that nothing depends on the settings of whoever
    looks at the figure. It has no window: pyplot is not needed.

    Raises:
        ValueError: without matplotlib, for a suffix other than .svg, .png and .pdf, a missing folder, or a
            width outside 3..20 inches.
    """
    check_matplotlib()
    target = None if path is None else check_target(path, SUFFIXES)
    if width is not None and not NARROW <= real(width) <= BROAD:
        raise ValueError(
            f"the width of the figure is {width!r}, but must lie between {NARROW:g} and {BROAD:g} inches: give 3.4"
        )
    from matplotlib import rcParams, style
    from matplotlib.figure import Figure

    with style.context(STYLE, after_reset=True):
        figure = Figure(figsize=(width or rcParams["figure.figsize"][0], height))
        yield figure
        figure.draw_without_rendering()
        if target is not None:
            _write(figure, target)


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
