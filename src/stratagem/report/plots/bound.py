"""The figure of bounds along an axis: each bound divided by the best one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.io.presentation import presents
from stratagem.report.plots.figure import GREY, PALETTE, VERMILION, page
from stratagem.report.plots.line import Line, draw_lines
from stratagem.study.axis import EPSILON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.study.bound_table import BoundSweep


@presents
def plot_bounds(line: BoundSweep, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw every bound, and the strategies found if there are any, divided by the best bound of the same place.

    Raises:
        ValueError: as `page`.
    """
    ratios = line.ratios()
    found = [ratios.popitem()] if line.solved else []
    looks = zip(PALETTE * 2, ("o",) * len(PALETTE) + ("s",) * len(PALETTE), strict=True)
    lines = [
        Line(values, colour, name, {"linewidth": 1.0, "marker": marker})
        for (name, values), (colour, marker) in zip(ratios.items(), looks, strict=False)
    ]
    lines += [Line(values, VERMILION, name, {"linewidth": 2.0, "marker": "D"}) for name, values in found]
    with page(path, 3.0, width) as figure:
        axes = figure.subplots()
        axes.axhline(1.0, color=GREY, linestyle="--")
        draw_lines(axes, line.places, lines)
        axes.set_xlabel("ε" if line.axis == EPSILON else "domain size n")
        axes.set_ylabel("over the best lower bound")
    return figure
