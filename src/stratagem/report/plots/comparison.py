"""Drawings of comparisons: mechanisms at one budget, and lines along budgets or domains."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from stratagem.estimators import ERROR, comparable
from stratagem.io.screen import presents
from stratagem.math.number import number_text
from stratagem.report.plots.figure import BLUE, GREY, PALE, PALETTE, VERMILION, Line, draw_lines, head, page
from stratagem.study.bound_table import EPSILON
from stratagem.study.capped import FREE
from stratagem.study.summary import MINIMUM, OURS, fewest_users, people_needed
from stratagem.workloads.explicit import counts_users

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from stratagem.study.bound_table import BoundSweep
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep
    from stratagem.study.frontier import Frontier
    from stratagem.study.report_size import TradeOff
    from stratagem.study.row import Row

TICK = 0.36
"""Space in inches for a number below the axis."""
TIMES = "times the proven minimum"
NARROW = 4.5
"""Width in inches below which title and legend are folded."""
FEW = 6.0
"""Ratio of the ends of an axis from which 1, 2 and 5 times powers of ten number it."""


@presents
def plot_comparison(
    comparison: Comparison, path: str | Path | None = None, width: float | None = None
) -> Figure:
    """Draw one dot a mechanism on a logarithmic axis of people needed, with a line at the proven minimum.

    Where queries differ in units or weights the axis is the objective, on data the expected error of an answer.

    Raises:
        ValueError: as `page`, or where the bound is zero.
    """
    shown = Measured.of(comparison)
    if shown.least <= 0:
        raise ValueError("the proven minimum is zero, so there is nothing to draw above it: print the table")
    with page(path, 1.4 + 0.32 * len(shown.rows), width) as figure:
        axes = figure.subplots()
        fold = "\n" if figure.get_figwidth() < NARROW else " "
        head(figure, f"{OURS} beside published{fold}mechanisms, ε = {comparison.epsilon:g}")
        _label(axes, shown)
        _draw_mechanisms(axes, shown)
        _draw_bound(axes, shown.least)
        _explain(axes)
    return figure


@dataclass(frozen=True)
class Measured:
    """The numbers of a picture, least first."""

    rows: list[tuple[float, Row]]
    least: float
    quantity: str

    @staticmethod
    def of(comparison: Comparison) -> Measured:
        """Return every mechanism with the number that a picture shows of it, least first."""
        rows, workload = comparison.rows, comparison.workload
        if comparison.users is not None:
            values, quantity = [row.value for row in rows], f"expected error (of {comparison.users:,} people)"
            least = comparison.least
        elif comparable(workload) is workload:
            values = [float(people_needed(comparison.compared[row.mechanism])) for row in rows]
            least = float(fewest_users(comparison.problem, comparison.bounds))
            each = f"{100 * ERROR:g} %" if counts_users(workload) else f"{ERROR:g} a person"
            quantity = f"people needed for ±{each}"
        else:
            values, least, quantity = (
                [row.value for row in rows],
                comparison.least,
                "variance of all answers",
            )
        return Measured(sorted(zip(values, rows, strict=True), key=lambda one: one[0]), least, quantity)


def _draw_mechanisms(axes: Axes, shown: Measured) -> None:
    for place, (value, row) in enumerate(shown.rows):
        name, colour, marker = (OURS, VERMILION, "D") if row.optimised else ("published", BLUE, "o")
        axes.plot([shown.least, value], [place, place], color=colour, linewidth=1.6, alpha=0.55)
        axes.plot(value, place, marker, color=colour, markersize=6, label=name)
        axes.annotate(
            times(value / shown.least),
            (value, place),
            xytext=(8, 0),
            textcoords="offset points",
            verticalalignment="center",
            fontweight="bold" if row.optimised else "normal",
        )


def times(over: float) -> str:
    """Return how many times the minimum, with as many digits as show what is above it: 1.002 ×, 1.52 ×."""
    above = over - 1
    return f"{over:.3g} ×" if above >= 0.0095 or above < 1e-6 else f"{1 + float(f'{above:.1g}'):.7g} ×"


def _explain(axes: Axes) -> None:
    """Write the legend below, an entry for each name."""
    named = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
    narrow = axes.figure.bbox.width < NARROW * axes.figure.dpi
    axes.figure.legend(named.values(), named, loc="outside lower left", ncols=1 if narrow else 3)


def _draw_bound(axes: Axes, least: float) -> None:
    axes.axvline(least, color=GREY, linestyle="--", label=MINIMUM)
    axes.annotate(
        f"{MINIMUM}\n{number_text(least)}",
        (least, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 4),
        textcoords="offset points",
        color=GREY,
    )


def _label(axes: Axes, shown: Measured) -> None:
    """Scale the axis so that every number fits beside its dot, and label everything."""
    bound, worst = shown.least, shown.rows[-1][0]
    spread = math.log(max(worst / bound, 1.5))
    axes.set_xscale("log")
    low, high = bound * math.exp(-0.05 * spread), bound * math.exp(1.25 * spread)
    axes.set_xlim(low, high)
    room = (0.45 * axes.figure.bbox.width / axes.figure.dpi - 0.2) / TICK
    subs = (1.0, 2.0, 5.0) if 3 * 1.3 * spread / math.log(10) < room else (1.0,)
    few = high < FEW * low  # a logarithmic locator finds less than two places and would number every hundred
    axes.xaxis.set_major_locator(MaxNLocator(2 if room < 3 else 3) if few else LogLocator(subs=subs))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(range(len(shown.rows)), [_name(row) for _, row in shown.rows])
    axes.set_ylim(len(shown.rows) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(shown.quantity, loc="right")
    axes.set_ylabel("mechanism")


LETTERS = 16
"""Letters of a line of a name without parameters."""


def _name(row: Row) -> str:
    if row.optimised:
        return OURS
    return f"{row.mechanism}\n({row.parameters})" if row.parameters else fill(row.mechanism, LETTERS)


@presents
def plot_bounds(line: BoundSweep, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw every bound, and the strategies found, over the best bound: bars at one place, lines along several."""
    ratios = line.ratios()
    places = "ε" if line.axis == EPSILON else "domain size n"
    single = len({*line.places}) == 1
    with page(path, 1.4 + 0.22 * len(ratios) if single else 3.2, width) as figure:
        axes = figure.subplots()
        if single:
            head(figure, f"Lower bounds, {places} = {line.places[0]:g}")
            _draw_bars(axes, {name: values[0] or 0.0 for name, values in ratios.items()}, found=line.solved)
            return figure
        head(figure, f"Lower bounds along {places}")
        found = [ratios.popitem()] if line.solved else []
        looks = zip(PALETTE * 2, ("o",) * len(PALETTE) + ("s",) * len(PALETTE), strict=True)
        lines = [Line([1.0] * len(line.places), GREY, MINIMUM, {"linestyle": "--"})]
        lines += [
            Line(values, colour, name, {"linewidth": 1.0, "marker": marker})
            for (name, values), (colour, marker) in zip(ratios.items(), looks, strict=False)
        ]
        lines += [Line(values, VERMILION, name, {"linewidth": 2.0, "marker": "D"}) for name, values in found]
        draw_lines(axes, line.places, lines)
        axes.set_xlabel(places)
        axes.set_ylabel(TIMES)
    return figure


def _draw_bars(axes: Axes, ratios: dict[str, float], *, found: bool) -> None:
    """Draw one bar a bound, the strategy found as the last one, each with its number."""
    colours = [BLUE] * (len(ratios) - found) + [VERMILION] * found
    labels = ["lower bound", *["_"] * (len(ratios) - found - 1), *["strategy found"] * found]
    axes.barh(list(ratios), list(ratios.values()), 0.6, color=colours, label=labels)
    for place, value in enumerate(ratios.values()):
        axes.text(1.03 * max(ratios.values()), place, f"{value:.3g}", va="center")
    axes.axvline(1.0, color=GREY, linestyle="--", label=MINIMUM)
    axes.set_xlim(0, 1.2 * max(ratios.values()))
    axes.invert_yaxis()
    axes.set_xlabel(TIMES)
    axes.set_ylabel("bound")
    _explain(axes)


@presents
def plot_trade_off(table: TradeOff, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw the gap to the bound against the size of a report, in bits, each point with its number of outputs."""
    gaps = [100 * point.gap for point in table.points]
    with page(path, 3.0, width) as figure:
        axes = figure.subplots()
        head(figure, "Size of a report, and error\n(beside each point: possible reports)")
        axes.plot([point.bits for point in table.points], gaps, "D-", color=VERMILION, label="strategy found")
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
        axes.set_xlabel("size of a report, bits")
        axes.set_ylabel("above the proven minimum, %")
        _explain(axes)
    return figure


@presents
def plot_frontier(line: Frontier, path: str | Path | None = None, width: float | None = None) -> Figure:
    """Draw the objective and its bound, over that without a cap, against how often the best guess is right."""
    free = line.solutions[0].others[FREE].objective
    guesses = [100 * one.strategy.guess for one in line.solutions]
    with page(path, 3.2, width) as figure:
        axes = figure.subplots()
        head(figure, "What a cap on the best guess costs")
        found, bounds = (
            [getattr(one, name) / free for one in line.solutions] for name in ("objective", "lower_bound")
        )
        axes.plot(guesses, found, "D-", color=VERMILION, markersize=4, label="strategy found")
        axes.plot(guesses, bounds, "--", color=GREY, label=MINIMUM)
        blind = 100 / line.solutions[0].workload.domain_size
        axes.vlines(blind, *axes.get_ylim(), GREY, ":", label="guess without a report")
        axes.set_xlabel("best guess of a value is right (%)")
        axes.set_ylabel("total variance\n(1: without a cap)")
        figure.legend(loc="outside lower right", ncols=2)
    return figure


NAMED = 6
"""Largest number of published mechanisms with a name and a colour: those closest to the strategy found at
some place."""

LABELS = {
    "users needed": "people needed for ±{error} (typical answer)",
    "least accurate": "people needed for ±{error} of every answer",
    "over bound": "objective over the proven minimum",
}

Values = Sequence[float | None]


@presents
def plot_sweep(
    sweep: Sweep, path: str | Path | None = None, width: float | None = None, *, measure: str = "users needed"
) -> Figure:
    """Draw `Sweep.users_needed`, of either kind, or `Sweep.over_bound` along the axis, every line named beside it.

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
    pale[:1] = [replace(one, name=f"{len(pale)} others") for one in pale[:1]]
    named = [
        Line(values, colour, name, {"linewidth": 1.0, "marker": "o"})
        for (name, values), colour in zip(others, PALETTE, strict=False)
    ]
    found = Line(ours[1], VERMILION, OURS, {"linewidth": 2.0, "marker": "D"})
    least = Line(bound[1], GREY, MINIMUM, {"linestyle": "--"})
    with page(path, 3.2, width) as figure:
        axes = figure.subplots()
        draw_lines(axes, sweep.places, [*pale, *named, found, least])
        places = "ε" if sweep.axis == EPSILON else "domain size n"
        words = f"\ncoloured: the {len(named)} closest to {OURS}; grey: the others" if pale else ""
        head(figure, f"{OURS} and published mechanisms along {places}{words}")
        axes.set_xlabel(places)
        counts = counts_users(comparable(sweep.comparisons[0].workload))
        axes.set_ylabel(LABELS[measure].format(error=f"{100 * ERROR:g} %" if counts else f"{ERROR:g} a user"))
    return figure


def _best_ratio(line: Values, ours: Values) -> float:
    """Return the least ratio to the strategy found anywhere on the axis."""
    ratios = [a / b for a, b in zip(line, ours, strict=True) if a is not None and b]
    return min(ratios, default=math.inf)
