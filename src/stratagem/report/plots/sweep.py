"""The figure of a sweep: what every mechanism needs along an axis, and the bound below."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.io.presentation import presents
from stratagem.report.plots.figure import GREY, PALE, PALETTE, VERMILION, Line, draw_lines, page
from stratagem.study.axis import EPSILON

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.study.comparison_sweep import Sweep
    from stratagem.study.report_size import TradeOff


@presents
def plot_trade_off(table: TradeOff, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw the gap to the bound against the size of a report, in bits, each point with its number of outputs.

    Raises:
        ValueError: as `page`.
    """
    gaps = [100 * point.gap for point in table.points]
    with page(path, 2.6, width) as figure:
        axes = figure.subplots()
        axes.plot([point.bits for point in table.points], gaps, "D-", color=VERMILION)
        for point, gap in zip(table.points, gaps, strict=True):
            axes.annotate(
                f"{point.outputs:,}",
                (point.bits, gap),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=7,
            )
        axes.margins(x=0.12)
        axes.set_ylim(0, 1.15 * max(*gaps, 0.01))
        axes.set_xlabel("size of a report, bits (beside each point: outputs)")
        axes.set_ylabel("above the lower bound, %")
    return figure


NAMED = 6
"""Largest number of published mechanisms with a name and a colour: those closest to the strategy found at
some place."""

LABELS = {
    "users needed": "users needed for ±1 % (root mean square)",
    "least accurate": "users needed for ±1 % of every answer",
    "over bound": "objective over the best lower bound",
}

Values = Sequence[float | None]


@presents
def plot_sweep(
    sweep: Sweep, path: str | Path | None = None, width: float | None = None, *, measure: str = "users needed"
) -> Figure:
    """Draw `Sweep.users_needed`, of either kind, or `Sweep.over_bound` along the axis, every line named at its end.

    Raises:
        ValueError: as `page`, or for an unknown measure.
    """
    if measure not in LABELS:
        raise ValueError(f"the measure is {measure!r}, but must be one of {', '.join(LABELS)}: choose one")
    users = sweep.users_needed(least_accurate=measure == "least accurate")
    lines = sweep.over_bound() if measure == "over bound" else users
    ours, *others, bound = lines.items()
    others.sort(key=lambda line: _best_ratio(line[1], ours[1]))
    pale = [Line(values, PALE, style={"linewidth": 0.8}) for _, values in others[NAMED:]]
    named = [
        Line(values, colour, name, {"linewidth": 1.0, "marker": "o"})
        for (name, values), colour in zip(others, PALETTE, strict=False)
    ]
    found = Line(ours[1], VERMILION, ours[0], {"linewidth": 2.0, "marker": "D"})
    least = Line(bound[1], GREY, bound[0], {"linestyle": "--"})
    with page(path, 3.2, width) as figure:
        axes = figure.subplots()
        draw_lines(axes, sweep.places, [*pale, *named, found, least])
        axes.set_xlabel("ε" if sweep.axis == EPSILON else "domain size n")
        axes.set_ylabel(LABELS[measure] + (f"\n(grey: {len(pale)} more mechanisms)" if pale else ""))
    return figure


def _best_ratio(line: Values, ours: Values) -> float:
    """Return the least ratio to the strategy found anywhere on the axis."""
    ratios = [a / b for a, b in zip(line, ours, strict=True) if a is not None and b]
    return min(ratios, default=math.inf)
