"""Heat maps of count mechanisms, the properties that hold marked below."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from matplotlib.collections import PatchCollection
from matplotlib.colors import Normalize, PowerNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from stratagem.counts import CountDesign, CountMechanism, Property
from stratagem.io.screen import presents
from stratagem.report.plots.figure import BLUE, GREY, VERMILION, page

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NUMBERED = 10
"""Largest group size for which the probabilities are written into the cells."""
ALONE, PANEL = 4.6, 3.0
"""Width in inches of a single matrix, and of one of several side by side."""

LETTERS = 18
"""Letters of the names of the properties on a line, per inch of the figure's width."""


@presents
def plot_counts(
    found: CountMechanism | CountDesign | Sequence[CountMechanism | CountDesign],
    path: str | Path | None = None,
) -> Figure:
    """Draw P[i, j] as a heat map, or several side by side on one scale of colours.

    Outputs run down, counts across, the diagonal is outlined. Up to n = 10 the cells hold their numbers; for
    larger groups a bar says what the colours mean, on a square-root scale so that small probabilities show.
    Below stand the seven properties: filled where they hold exactly, hollow where they do not, and their names.

    Raises:
        ValueError: without matplotlib, for a suffix other than .svg, .png and .pdf, a missing folder, or a
            group too large for a matrix.
    """
    listed = list(found) if isinstance(found, Sequence) else [found]
    panels = [*map(_panel, listed)]
    matrices = [one.matrix for one, _ in panels]
    numbered = all(len(P) <= NUMBERED + 1 for P in matrices)
    side = ALONE if len(panels) == 1 else PANEL
    scale = PowerNorm(1.0 if numbered else 0.5, 0.0, max(float(P.max()) for P in matrices))
    with page(path, side + 0.95, side * len(panels) + 0.6 * (not numbered)) as figure:
        row = figure.subplots(1, len(panels), squeeze=False)[0]
        for axes, (mechanism, title), P in zip(row, panels, matrices, strict=True):
            _draw_cells(axes, P, scale, 72 * 0.8 * side / len(P), numbered=numbered)
            _label(axes, mechanism.size, title)
            _draw_properties(axes, mechanism)
        if not numbered:
            bar = figure.colorbar(row[0].collections[0], ax=row, shrink=0.8, aspect=30, pad=0.02)
            bar.set_label("probability")
            bar.outline.set_visible(False)  # type: ignore[operator]
        names = ", ".join(
            f"{kind.name} {kind.value.partition(':')[0]}".replace(" ", "\u00a0") for kind in Property
        )
        words = fill(
            f"Framed: the output is the count. Filled: holds; hollow: does not. {names}.",
            round(LETTERS * figure.get_figwidth()),
        )
        figure.supxlabel(words, fontsize=7)
    return figure


@singledispatch
def _panel(found: CountMechanism) -> tuple[CountMechanism, str]:
    """Return the mechanism of a panel, and its title."""
    return found, f"{found.name}, n = {found.size}, α = {float(found.alpha):.4g}"


@_panel.register
def _(found: CountDesign) -> tuple[CountMechanism, str]:
    mechanism, title = _panel(found.mechanism)
    return mechanism, f"{title}\n{found.loss} = {found.cost:.4f}"


def _draw_cells(axes: Axes, P: np.ndarray, scale: Normalize, cell: float, *, numbered: bool) -> None:
    """Draw the probabilities of a matrix whose cells measure `cell` points, and outline its diagonal."""
    size = len(P)
    edges = [place - 0.5 for place in range(size + 1)]
    # pixels even in vector formats: viewers draw seams between cells that touch
    lines: dict[str, Any] = {"edgecolors": "white", "linewidth": 0.8} if numbered else {"rasterized": True}
    axes.pcolormesh(edges, edges, P, norm=scale, **lines)
    squares = [Rectangle((place - 0.5, place - 0.5), 1, 1) for place in range(size)]
    width = min(1.3, 0.1 * cell)
    axes.add_collection(
        PatchCollection(squares, facecolor="none", edgecolor=VERMILION, linewidth=width, clip_on=False)
    )
    axes.set_aspect("equal")
    axes.invert_yaxis()
    if numbered:
        _write_numbers(axes, P, scale, min(8.0, 0.4 * cell))


def _write_numbers(axes: Axes, P: np.ndarray, scale: Normalize, points: float) -> None:
    for i, row in enumerate(P):
        for j, value in enumerate(row):
            colour = "white" if scale(value) > 0.6 else "black"
            axes.text(j, i, _number(value), color=colour, fontsize=points, ha="center", va="center")


def _number(value: float) -> str:
    """Return a probability as a short text with two digits."""
    return {"0.00": "0", "1.00": "1"}.get(text := f"{value:.2f}", text.removeprefix("0"))


def _label(axes: Axes, size: int, title: str) -> None:
    """Write the name of the mechanism and of its axes; the counts are above the matrix."""
    axes.set_title(title, pad=4)
    ticks = size + 1 if size <= NUMBERED else 8
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=ticks, steps=[1, 2, 5, 10], integer=True))
    axes.xaxis.set_ticks_position("top")
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("count of people", labelpad=2)
    axes.set_ylabel("output, people", labelpad=4)
    axes.tick_params(length=0, pad=2)
    axes.spines[:].set_visible(False)


def _draw_properties(axes: Axes, mechanism: CountMechanism) -> None:
    """Write the names of all properties below the matrix, those that hold on a filled box."""
    kinds, held = list(Property), mechanism.properties
    for place, kind in enumerate(kinds):
        colour, text = (BLUE, "white") if kind in held else ("white", GREY)
        axes.annotate(
            kind.name,
            ((place + 0.5) / len(kinds), 0),
            xycoords="axes fraction",
            xytext=(0, -11),
            textcoords="offset points",
            horizontalalignment="center",
            verticalalignment="center",
            fontsize=7,
            color=text,
            bbox={
                "boxstyle": "round,pad=0.25",
                "facecolor": colour,
                "edgecolor": BLUE if kind in held else GREY,
            },
        )
