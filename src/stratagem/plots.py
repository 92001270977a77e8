"""Figures: a comparison at a glance."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.target import check_target, written_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.comparison import Comparison

SUFFIXES = (".svg", ".png", ".pdf")
BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "#595959"
"""Okabe and Ito's palette, told apart by colour-blind readers and in greyscale."""
WIDTH = 4.6
"""Inches: a column of a paper."""


def plot_comparison(comparison: Comparison, path: str | Path | None = None) -> Figure:
    """Draw one dot a mechanism on a logarithmic axis of objectives, with a line at the best lower bound.

    Raises:
        ValueError: without matplotlib, for a suffix other than .svg, .png and .pdf, or a missing folder.
    """
    target = None if path is None else check_target(path, SUFFIXES)
    figure = _figure(len(comparison.rows))
    axes = figure.subplots()
    _draw_mechanisms(axes, comparison)
    _draw_bound(axes, comparison)
    _label(axes, comparison)
    if target is not None:
        with written_atomically(target) as file:
            figure.savefig(file, format=target.suffix[1:].lower(), dpi=200)
    return figure


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


def _figure(rows: int) -> Figure:
    check_matplotlib()
    from matplotlib.figure import Figure  # without pyplot: no window, no global state

    return Figure(figsize=(WIDTH, 1.15 + 0.36 * rows), layout="constrained")


def _draw_mechanisms(axes: Axes, comparison: Comparison) -> None:
    bound = comparison.bounds.best
    for place, row in enumerate(comparison.rows):
        ours = row.mechanism == "optimised"
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
    return mechanism if mechanism == "optimised" or not parameters else f"{mechanism}\n({parameters})"
