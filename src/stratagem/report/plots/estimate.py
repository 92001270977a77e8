"""The figures of an estimate, every answer with its interval, and of a simulation, whether errors are as predicted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from scipy.special import gammaincinv

from stratagem.io.screen import presents
from stratagem.math.number import finite, spread
from stratagem.math.vector import WHOLE
from stratagem.mechanism.usable import reported
from stratagem.report.plots.figure import GREY, VERMILION, head, page, thousands
from stratagem.report.plots.query_error import NAMES, QueryAxis, exact, shortened
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
HEIGHT, ROW, PANEL = 2.6, 0.15, 0.3
"""Height in inches of the figure, of each answer that has its own row, and of what is above the rows of a table."""
NEAR = 0.5
"""Share of the people from which on an answer is near enough to them all for a line there."""
MARGIN = 0.03
"""Share of the axis of the people that lies behind all of them."""
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

    They stand along the numbers that one attribute has, else below each other beside their names, a panel for each
    table of attributes, or in a band where some are named. Lines stand at nobody where intervals go below, and at all
    people where answers are near. With `shares` all are in per cent of the people. `names`, one a query, stand in
    place of their own where these are written beside the answers.

    Raises:
        ValueError: as `page`, or for a truth that is not one finite number for each query.
    """
    shown = np.array(spread(many := estimate.workload.queries, SHOWN if many <= WHOLE else FEWER))
    true = None if truth is None else _checked(truth, many)[shown]
    along = QueryAxis.of(estimate.naming, shown.tolist())
    if names and along.names:
        along = replace(along, names=tuple(names[place] for place in shown))
    single, rows = len(shown) <= SINGLE, len(shown) <= SINGLE and bool(along.names)
    tables = _tables(estimate, shown) if rows and not names else {}
    panels = tables if len(tables) > 1 else {"": dict(enumerate(along.names or [""] * len(shown)))}
    size = 1 + ROW * len(shown) + PANEL * len(panels)
    with page(path, max(HEIGHT, size) if rows else HEIGHT + NAMES * along.upright, width) as figure:
        sizes = [*map(len, panels.values())]
        every = figure.subplots(len(sizes), 1, sharex=True, squeeze=False, height_ratios=sizes).ravel()
        draw = _draw_rows if rows else _draw_dots if single else _draw_band
        scale = 100 / estimate.users if shares else 1.0
        answers, low, high = (scale * column for column in _columns(estimate, shown))
        limits = _limits(estimate, low.min(), high.max(), scale)
        for axes, (title, own) in zip(every, panels.items(), strict=True):
            chosen, places = [*own], np.arange(len(own)) if rows else along.places
            draw(axes, places, answers[chosen], (low[chosen], high[chosen]))
            _draw_limits(axes, places, limits, across=rows)
            if true is not None:
                _draw_truth(axes, places, scale * true[chosen], across=rows, single=single)
            _name(axes, along, title, [*own.values()] if rows else [])
        _end_at_everybody(every[-1], limits, answers.max(), across=rows)
        _label(figure, every[-1], estimate, len(shown), across=rows, shares=shares)
    return figure


def _columns(estimate: Estimate, shown: np.ndarray) -> list[np.ndarray]:
    whole = estimate.workload.queries <= WHOLE
    source, at = (estimate, shown) if whole else (estimate.some(shown), slice(None))
    return [column[at] for column in (source.answers, source.low, source.high)]


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


def _draw_truth(axes: Axes, places: np.ndarray, true: np.ndarray, *, across: bool, single: bool) -> None:
    marks: dict[str, Any] = {"marker": "|" if across else "_", "linestyle": ""} if single else {}
    pair = (true, places) if across else (places, true)
    axes.plot(*pair, color="black", linewidth=0.7, label="truth", zorder=3, **marks)


def _limits(estimate: Estimate, low: float, high: float, scale: float) -> dict[str, float]:
    """Return where lines stand that true answers are never beyond, by name: what is drawn is beyond, or near it."""
    if not counts_users(estimate.workload):
        return {}
    users = scale * estimate.users
    near = estimate.workload.queries > 1 and high >= NEAR * users
    found = {"nobody": (0.0, low < 0), "everybody": (users, near)}
    return {name: place for name, (place, drawn) in found.items() if drawn}


def _draw_limits(axes: Axes, places: np.ndarray, limits: dict[str, float], *, across: bool) -> None:
    low, high = places.min() - 0.5 * across, places.max() + 0.5 * across
    line = axes.vlines if across else axes.hlines
    for name, users in limits.items():
        line(users, low, high, GREY, "--" if users else ":", label=name, linewidth=0.8)


def _end_at_everybody(axes: Axes, limits: dict[str, float], answer: float, *, across: bool) -> None:
    """End the axis of the people behind them all, where no answer is beyond; intervals may be."""
    most = max(limits.get("everybody", math.inf), answer)
    least, last = axes.get_xlim() if across else axes.get_ylim()
    (axes.set_xlim if across else axes.set_ylim)(least, min(last, most + MARGIN * (most - least)))


def _tables(estimate: Estimate, shown: np.ndarray) -> dict[str, dict[int, str]]:
    """Return the tables whose cells are counted, by title: which answers, and their values; none of other queries."""
    attributes, tables = estimate.naming.attributes, dict[str, dict[int, str]]()
    for place, query in enumerate(shown.tolist()):
        found = estimate.workload.describe(query)
        if found.weight != 1 or not found.spans:
            return {}
        asked = [(attributes[one.attribute], one) for one in found.spans]
        title = " × ".join(attribute.title() for attribute, _ in asked)
        words = (attribute.words(one.low, one.high) for attribute, one in asked)
        tables.setdefault(title, {})[place] = ", ".join(words)
    return tables


def _name(axes: Axes, along: QueryAxis, table: str, rows: Sequence[str]) -> None:
    """Name the rows of a table, or the answers below the axes where none are given."""
    if not rows:
        along.write_below(axes)
        return
    letters = round(LETTERS * axes.figure.bbox.width / axes.figure.dpi)
    axes.set_yticks(range(len(rows)), [shortened(name, letters) for name in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.set_title(table, loc="left")
    axes.set_ylabel("" if table else along.title)


def _label(figure: Figure, axes: Axes, estimate: Estimate, shown: int, *, across: bool, shares: bool) -> None:
    """Label the axes: what the answers count, how many are drawn, and the confidence of the intervals."""
    many = estimate.workload.queries
    some = f"{shown:,} of {many:,} answers drawn; " if shown < many else ""
    users = axes.xaxis if across else axes.yaxis
    users.set_major_formatter(thousands)
    if across:
        users.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
    unit = "people" if counts_users(estimate.workload) else "sum"
    users.set_label_text("% of the people" if shares else unit)
    words = f"{some}{reported(estimate, 'it')}\n{estimate.intervals}"
    head(figure, words)  # names and numbers take the left of the figure, and the words need all of its width
    legend = axes.get_legend_handles_labels()
    figure.legend(*legend, loc="outside lower right", ncols=3 if len(legend[0]) < 4 else 2, columnspacing=1)


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

    Exact answers are left out, which would end the line at zero. Up to 256 queries stand where their numbers or names
    are, more in the order of their predicted errors.
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
    told = ~exact(np.square(predicted[chosen]))
    told |= not told.any()
    with page(path, HEIGHT + NAMES * along.upright, width) as figure:
        axes = figure.subplots()
        _draw_prediction(axes, along.places[told], predicted[chosen][told], len(simulation.observed))
        axes.plot(
            along.places[told], observed[chosen][told], "o", color=VERMILION, markersize=2.5, label="observed"
        )
        along.write_below(axes)
        _label_errors(axes, simulation, " (exact answers left out)" * (not told.all()))
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


def _label_errors(axes: Axes, simulation: Simulation, left_out: str) -> None:
    axes.yaxis.set_major_formatter(thousands)
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    unit = ", people" if counts_users(simulation.naming.workload) else ""
    axes.set_ylabel(f"root mean square error{unit}")
    total = (
        ""
        if simulation.exact
        else f"\nsquared error {simulation.ratio:.3f} ± {simulation.ratio_error:.3f} of predicted"
    )
    words = f"{len(simulation.observed):,} × {simulation.users:,} reports{left_out}{total}"
    axes.set_title(words, loc="left")
