"""The figures of an estimate, every answer with its interval, and of a simulation, whether errors are as predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import EngFormatter, MaxNLocator
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from stratagem.io.screen import presents
from stratagem.math.number import finite, spread
from stratagem.math.vector import WHOLE
from stratagem.mechanism.usable import reported
from stratagem.report.plots.figure import GREY, VERMILION, page
from stratagem.report.plots.query_error import NAMES, QueryAxis, shortened
from stratagem.workloads.explicit import counts_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.estimation.estimate import Estimate
    from stratagem.estimation.simulation import Simulation

SINGLE = 48
"""Largest number of answers drawn as dots with whiskers; more are drawn as a line in a band."""
SHOWN = 1000
"""Largest number of answers that are drawn; of more, evenly spaced ones are drawn."""
FEWER = 100
"""As many of more than 2^24 answers, each of which is computed by itself."""
HEIGHT, ROW = 2.6, 0.15
"""Height in inches of the figure, and of each answer that has its own row."""
LETTERS = 9
"""Letters of a name allowed per inch of the figure's width."""


@presents
def plot_estimate(
    estimate: Estimate,
    path: str | Path | None = None,
    width: float | None = None,
    *,
    truth: ArrayLike | None = None,
    shares: bool = False,
    names: Sequence[str] = (),
) -> Figure:
    """Draw the answers in order with their intervals, as dots with whiskers or a line in a band; the truth in black.

    They stand along the numbers that one attribute has, else below each other beside their names, or in a band
    where some are named. Intervals are those of the estimate: they hold its answers. With `shares` all are in per cent
    of the people. `names`, one a query, stand in place of their own where these are written beside the answers.

    Raises:
        ValueError: as `page`, or for a truth that is not one finite number for each query.
    """
    many = estimate.workload.queries
    shown = np.array(spread(many, SHOWN if many <= WHOLE else FEWER))
    true = None if truth is None else _checked(truth, many)[shown]
    source, at = (estimate, shown) if many <= WHOLE else (estimate.some(shown), slice(None))
    along = QueryAxis.of(estimate.naming, shown.tolist())
    if names and along.names:
        along = replace(along, names=tuple(names[place] for place in shown))
    single, rows = len(shown) <= SINGLE, len(shown) <= SINGLE and bool(along.names)
    height = max(HEIGHT, 1 + ROW * len(shown)) if rows else HEIGHT + NAMES * along.upright
    with page(path, height, width) as figure:
        axes = figure.subplots()
        draw = _draw_rows if rows else _draw_dots if single else _draw_band
        places = np.arange(len(shown)) if rows else along.places
        scale = 100 / estimate.users if shares else 1.0
        answers, low, high = (scale * column[at] for column in (source.answers, source.low, source.high))
        draw(axes, places, answers, (low, high))
        if true is not None:
            true = scale * true
            marks: dict[str, Any] = {"marker": "|" if rows else "_", "linestyle": ""} if single else {}
            pair = (true, places) if rows else (places, true)
            axes.plot(*pair, color="black", linewidth=0.7, label="truth", zorder=3, **marks)
        if rows:
            _name_rows(axes, along, round(LETTERS * figure.get_figwidth()))
        else:
            along.write_below(axes)
        _label(axes, estimate, len(shown), across=rows, shares=shares)
    return figure


Ends = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends of intervals."""


def _draw_rows(axes: Axes, places: np.ndarray, answers: np.ndarray, ends: Ends) -> None:
    axes.hlines(places, *ends, color=VERMILION, linewidth=2.5, alpha=0.4, label="interval")
    axes.plot(answers, places, "o", color=VERMILION, markersize=3, label="estimate")


def _draw_dots(axes: Axes, places: np.ndarray, answers: np.ndarray, ends: Ends) -> None:
    axes.vlines(places, *ends, color=VERMILION, linewidth=2.5, alpha=0.4, label="interval")
    axes.plot(places, answers, "o", color=VERMILION, markersize=3, label="estimate")


def _draw_band(axes: Axes, places: np.ndarray, answers: np.ndarray, ends: Ends) -> None:
    axes.fill_between(places, *ends, color=VERMILION, alpha=0.25, linewidth=0, label="interval")
    axes.plot(places, answers, color=VERMILION, linewidth=0.9, label="estimate")


def _name_rows(axes: Axes, along: QueryAxis, letters: int) -> None:
    axes.set_yticks(range(len(along.names)), [shortened(name, letters) for name in along.names])
    axes.set_ylim(len(along.names) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylabel(along.title)


def _label(axes: Axes, estimate: Estimate, shown: int, *, across: bool, shares: bool) -> None:
    """Label the axes: what the answers count, how many are drawn, and the confidence of the intervals."""
    many = estimate.workload.queries
    some = f"{shown:,} of {many:,} answers drawn; " if shown < many else ""
    users = axes.xaxis if across else axes.yaxis
    users.set_major_formatter(EngFormatter(sep=""))
    if across:
        users.set_major_locator(MaxNLocator(nbins=5))
    users.set_label_text(
        "% of the people" if shares else "people" if counts_users(estimate.workload) else "sum"
    )
    words = f"{some}{reported(estimate, 'it')}\n{estimate.intervals}"
    if across:  # the names take the left of the figure, and the words need all of its width
        axes.figure.suptitle(words, x=0.01, horizontalalignment="left")
    else:
        axes.set_title(words, loc="left")
    axes.figure.legend(loc="outside lower right" if across else "outside upper right", ncols=3)


def _checked(truth: ArrayLike, queries: int) -> np.ndarray:
    true = finite(truth, "the true answers")
    if true.shape != (queries,):
        raise ValueError(
            f"the true answers have shape {true.shape}, but the estimate has {queries} answers: give one number each"
        )
    return true


ORDERED = 256
"""Largest number of queries in their own order; more are sorted by predicted error."""
BY_ERROR = "query, in the order of predicted errors"
SHARE = 0.95
"""Share of the observed errors that the band is expected to contain."""


@presents
def plot_simulation(
    simulation: Simulation, path: str | Path | None = None, width: float | None = None
) -> Figure:
    """Draw the observed root mean square error of every query over the one predicted, on a band for 95 % of them.

    Up to 256 queries stand where their numbers or names are, more in the order of their predicted errors.
    With R repetitions and normal errors, the observed mean square is the predicted one times chi^2_R/R. Where
    the standard errors of very many queries were not computed, a line stands at the mean over all queries.

    Raises:
        ValueError: as `page`, or where the errors of single queries were not kept.
    """
    observed, predicted = _errors(simulation)
    if len(observed) <= ORDERED:
        chosen, along = np.arange(len(observed)), QueryAxis.of(simulation.naming, range(len(observed)))
    else:
        shown = np.array(spread(len(observed), SHOWN))
        chosen, along = np.argsort(predicted, kind="stable")[shown], QueryAxis(shown, (), BY_ERROR)
    with page(path, HEIGHT + NAMES * along.upright, width) as figure:
        axes = figure.subplots()
        _draw_prediction(axes, along.places, predicted[chosen], len(simulation.observed))
        axes.plot(along.places, observed[chosen], "o", color=VERMILION, markersize=2.5, label="observed")
        along.write_below(axes)
        _label_errors(axes, simulation)
        figure.legend(loc="outside upper right", ncols=2)
    return figure


def _errors(simulation: Simulation) -> tuple[np.ndarray, np.ndarray]:
    observed = simulation.errors
    if simulation.standard_errors is not None:
        return observed, simulation.standard_errors
    mean = math.sqrt(simulation.predicted / len(observed))
    return observed, np.full(len(observed), mean)


def _draw_prediction(axes: Axes, places: np.ndarray, predicted: np.ndarray, repetitions: int) -> None:

    if len(places) == 1:  # a band of one place has no width
        places, predicted = places[0] + np.array([-0.5, 0.5]), np.repeat(predicted, 2)
    squares = 2 * gammaincinv(repetitions / 2, [(1 - SHARE) / 2, (1 + SHARE) / 2])  # quantiles of chi^2
    low, high = np.sqrt(squares / repetitions)
    axes.fill_between(places, low * predicted, high * predicted, color=GREY, alpha=0.2, linewidth=0)
    axes.plot(places, predicted, color=GREY, label=f"predicted, with {100 * SHARE:g} % band")


def _label_errors(axes: Axes, simulation: Simulation) -> None:

    axes.yaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    axes.set_ylabel(
        "root mean square error" + (", users" if counts_users(simulation.naming.workload) else "")
    )
    total = (
        ""
        if simulation.exact
        else f"\nsquared error {simulation.ratio:.3f} ± {simulation.ratio_error:.3f} of predicted"
    )
    axes.set_title(f"{len(simulation.observed):,} × {simulation.users:,} reports{total}", loc="left")
