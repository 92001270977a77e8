"""The figure of a comparison: how far every mechanism is above the bound."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.plots.figure import BLUE, GREY, VERMILION, WIDTH, blank, finished, target_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.comparison import Comparison


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> Figure:
    """Draw one dot a mechanism on a logarithmic axis of objectives, with a line at the best lower bound.

    Raises:
        ValueError: without matplotlib, for a suffix other than .svg, .png and .pdf, or a missing folder.
    """
    target = target_of(path)
    figure = blank(WIDTH, 1.15 + 0.36 * len(comparison.rows))
    axes = figure.subplots()
    _draw_mechanisms(axes, comparison)
    _draw_bound(axes, comparison)
    _label(axes, comparison)
    return finished(figure, target)


def _draw_mechanisms(axes: Axes, comparison: Comparison) -> None:
    from stratagem.comparison import OPTIMISED

    bound = comparison.bounds.best
    for place, row in enumerate(comparison.rows):
        ours = row.mechanism == OPTIMISED
        colour, marker = (VERMILION, "D") if ours else (BLUE, "o")
        axes.plot([bound, row.objective], [place, place], color=colour, linewidth=1.6, alpha=0.55)
        axes.plot(row.objective, place, marker, color=colour, markersize=6)
        axes.annotate(
            f"{row.objective / bound:.3g} ×",
            (row.objective, place),
            xytext=(8, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontsize=8,
            color=colour,
            fontweight="bold" if ours else "normal",
        )


def _draw_bound(axes: Axes, comparison: Comparison) -> None:
    from stratagem.comparison import number_text

    axes.axvline(comparison.bounds.best, color=GREY, linestyle="--", linewidth=1.2)
    axes.annotate(
        f"lower bound {number_text(comparison.bounds.best)}",
        (comparison.bounds.best, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        fontsize=8,
        color=GREY,
    )


def _label(axes: Axes, comparison: Comparison) -> None:
    """Scale the axis so that every dot has room for its number, and name everything."""
    from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter

    bound, worst = comparison.bounds.best, max(row.objective for row in comparison.rows)
    spread = math.log(max(worst / bound, 1.5))
    axes.set_xscale("log")
    axes.set_xlim(bound * math.exp(-0.05 * spread), bound * math.exp(1.25 * spread))
    subs = (1.0, 2.0, 5.0) if spread < math.log(300) else (1.0,)
    axes.xaxis.set_major_locator(LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(
        range(len(comparison.rows)), [_name(row.mechanism, row.parameters) for row in comparison.rows]
    )
    axes.set_ylim(len(comparison.rows) - 0.5, -0.5)
    axes.tick_params(labelsize=8)
    axes.tick_params(axis="y", length=0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_xlabel(f"objective (total variance, log scale), ε = {comparison.epsilon:g}", fontsize=8)


def _name(mechanism: str, parameters: str) -> str:
    from stratagem.comparison import OPTIMISED

    return mechanism if mechanism == OPTIMISED or not parameters else f"{mechanism}\n({parameters})"
