"""The figure of an estimate: every answer with its interval, and the truth where it is known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stratagem.number import finite, spread
from stratagem.plots.figure import VERMILION, page

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.estimation.estimate import Estimate

SINGLE = 48
"""Answers up to which each has a dot and whiskers; more have a line in a band."""
SHOWN = 1000
"""Answers that are drawn: of more, evenly spread ones."""


def plot_estimate(
    estimate: Estimate,
    path: str | Path | None = None,
    width: float | None = None,
    *,
    truth: ArrayLike | None = None,
) -> Figure:
    """Draw the answers in order with their intervals, as dots with whiskers or a line in a band; the truth in black.

    Intervals surround the unbiased answers, whatever the post-processing.

    Raises:
        ValueError: as `page`, or for a truth that is not one finite number for each query.
    """
    shown = np.array(spread(len(estimate.answers), SHOWN))
    true = None if truth is None else _checked(truth, len(estimate.answers))[shown]
    with page(path, 2.6, width) as figure:
        axes = figure.subplots()
        draw = _draw_dots if len(shown) <= SINGLE else _draw_band
        draw(axes, shown, estimate.answers[shown], estimate.low[shown], estimate.high[shown])
        if true is not None:
            axes.plot(
                shown,
                true,
                "_" if len(shown) <= SINGLE else "-",
                color="black",
                linewidth=0.7,
                label="truth",
                zorder=3,
            )
        _label(axes, estimate, len(shown))
    return figure


def _draw_dots(
    axes: Axes, places: np.ndarray, answers: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    axes.vlines(places, low, high, color=VERMILION, linewidth=2.5, alpha=0.4, label="interval")
    axes.plot(places, answers, "o", color=VERMILION, markersize=3, label="estimate")


def _draw_band(
    axes: Axes, places: np.ndarray, answers: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    axes.fill_between(places, low, high, color=VERMILION, alpha=0.25, linewidth=0, label="interval")
    axes.plot(places, answers, color=VERMILION, linewidth=0.9, label="estimate")


def _label(axes: Axes, estimate: Estimate, shown: int) -> None:
    from matplotlib.ticker import EngFormatter, MaxNLocator

    many, domain = len(estimate.answers), estimate.workload.domain
    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True, min_n_ticks=1))
    some = f" ({shown:,} of {many:,} drawn)" if shown < many else ""
    axes.set_xlabel(
        ("query" if many != domain.size or len(domain.sizes) > 1 else domain.attributes[0]) + some
    )
    axes.set_ylabel("users")
    kind = "simultaneous " if estimate.simultaneous else ""
    axes.set_title(
        f"{estimate.users:,} reports, {kind}intervals at {100 * estimate.confidence:g} %", loc="left"
    )
    axes.figure.legend(loc="outside upper right", ncols=3)


def _checked(truth: ArrayLike, queries: int) -> np.ndarray:
    true = finite(truth, "the true answers")
    if true.shape != (queries,):
        raise ValueError(
            f"the true answers have shape {true.shape}, but the estimate has {queries} answers: give one number each"
        )
    return true
