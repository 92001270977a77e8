"""What all figures share: palette, width, a blank page and the file it ends in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.target import check_target, written_atomically

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".svg", ".png", ".pdf")
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#595959"
"""Okabe and Ito's palette, told apart by colour-blind readers and in greyscale."""
PALETTE = (BLUE, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""The rest of it, for lines beside one in vermilion."""
WIDTH = 4.6
"""Inches: a column of a paper."""


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


def blank(width: float, height: float) -> Figure:
    """Return an empty figure of that size in inches.

    Raises:
        ValueError: without matplotlib.
    """
    check_matplotlib()
    from matplotlib.figure import Figure  # without pyplot: no window, no global state

    return Figure(figsize=(width, height), layout="constrained")


def target_of(path: str | Path | None) -> Path | None:
    """Return the file that a figure is to be written to, None without one.

    Raises:
        ValueError: for a suffix other than .svg, .png and .pdf, or a missing folder.
    """
    return None if path is None else check_target(path, SUFFIXES)


def finished(figure: Figure, target: Path | None) -> Figure:
    """Return the figure, written to its file if it has one."""
    if target is not None:
        with written_atomically(target) as file:
            figure.savefig(file, format=target.suffix[1:].lower(), dpi=200)
    return figure
