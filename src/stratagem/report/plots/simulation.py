"""The figure of a simulation: whether the errors observed are those predicted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import EngFormatter
from scipy.special import gammaincinv

from stratagem.io.screen import presents
from stratagem.math.number import spread
from stratagem.report.plots.figure import GREY, VERMILION, page
from stratagem.report.plots.query_error import NAMES, QueryAxis
from stratagem.workloads.explicit import counts_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.estimation.simulation import Simulation

ORDERED = 256
"""Largest number of queries in their own order; more are sorted by predicted error."""
SHOWN = 1000
"""Largest number of queries that are drawn; of more, evenly spaced ones are drawn."""
BY_ERROR = "query, in the order of predicted errors"
HEIGHT = 2.6
"""Height of the figure in inches, vertical names excluded."""
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
        _label(axes, simulation)
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


def _label(axes: Axes, simulation: Simulation) -> None:

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
