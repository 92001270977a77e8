"""Drawings of strategies: tables of probabilities, and patterns."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from stratagem.estimators import estimator
from stratagem.io.screen import presents
from stratagem.math.number import count, real, spread
from stratagem.report.plots.figure import GREY, PALE, VERMILION, page, ratio_text
from stratagem.report.plots.query_error import (
    LETTERS,
    NAMES,
    SMALL,
    TICKS,
    draw_errors,
    name_places,
    shortened,
    upright,
)
from stratagem.strategies import (
    Runnable,
    TranslationStrategy,
)
from stratagem.strategies.two_level import unpack
from stratagem.workloads import Bins, Codes, Labels
from stratagem.workloads.naming import Naming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, FigureBase

    from stratagem.strategies import Pattern, Strategy, SurveyStrategy
    from stratagem.workloads import Attribute, Workload

ROWS = 1 << 14
"""Largest number of reports that are examined; of more, those at equal steps of total probability are."""
COLUMNS = 1024
"""Largest number of user types that are examined; of more, evenly spaced ones are."""
PIXELS, SAMPLES = 480, 4
"""Pixels of the picture in each direction, and samples per pixel, which are averaged."""
LONG = 100_000
"""Number of values from which their long numbers leave space for fewer of them on the axis."""


HIGH = "(a row's height: how likely it is)"


def draw_table(axes: Axes, strategy: Strategy, attributes: Sequence[Attribute]) -> None:
    """Draw every report as a band as high as it is likely, dark for the user types that it speaks for.

    Shades are log(Q[y, u]/min_u Q[y, u])/epsilon: two in most optimal strategies.
    """
    rows, heights = _reports(strategy)
    types = np.array(spread(strategy.domain_size, COLUMNS))
    draw_bands(
        axes, _levels(_rows(strategy, rows)[:, types], strategy.epsilon), heights, strategy.domain_size
    )
    chosen = "" if strategy.outputs <= ROWS else f"{len(rows):,} of "
    axes.set_title(f"{chosen}{strategy.outputs:,} reports")
    axes.set_ylabel(f"reports\n{HIGH}")
    _name_types(axes, attributes)
    axes.set_xlabel(attributes[0].title() if len(attributes) == 1 else "combination of values")
    _explain_shades(axes, strategy.epsilon)


def _explain_shades(axes: Axes, epsilon: float) -> None:
    """Draw the bar of shades at the right, from the values for which a report is least likely to the likeliest."""
    bar = axes.figure.colorbar(axes.images[0], cax=axes.inset_axes((1.03, 0, 0.04, 1)), ticks=[0, 1])
    bar.set_ticklabels(["1 ×", f"{ratio_text(epsilon)} ×"])
    bar.set_label("likely, times the least", labelpad=-18)
    bar.ax.tick_params(length=0)


def _name_types(axes: Axes, attributes: Sequence[Attribute]) -> None:
    """Name the user types of one attribute: the edges between its bins, or some of its labels."""
    if len(attributes) == 1:
        _name_values(attributes[0].values, axes)


@singledispatch
def _name_values(values: Codes, axes: Axes) -> None:
    """Name the edges between bins, or some labels; whole numbers name themselves."""


@_name_values.register(Bins)
def _(values: Bins, axes: Axes) -> None:
    places = spread(len(values.edges), TICKS - 2)
    axes.set_xticks([k - 0.5 for k in places], [values.edges[k] for k in places])


@_name_values.register(Labels)
def _(values: Labels, axes: Axes) -> None:
    name_places(axes, [(k, values.value(k)) for k in spread(values.size, TICKS)])


def draw_bands(axes: Axes, levels: np.ndarray, heights: np.ndarray, across: int) -> None:
    """Draw rows of shades in 0..1 as bands, ordered so that rows of one shape follow each other."""
    order = _order(levels)
    axes.imshow(
        _picture(levels[order], heights[order]),
        aspect="auto",
        interpolation="nearest",
        vmin=0,
        vmax=1,
        extent=(-0.5, across - 0.5, 1, 0),
    )
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5 if across < LONG else 3, integer=True, min_n_ticks=1))
    axes.set_yticks([])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


def _reports(strategy: Strategy) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the reports to draw, and the heights of their bands."""
    likely = strategy.row_sums / strategy.domain_size
    if strategy.outputs <= ROWS:
        return np.arange(strategy.outputs), likely
    places = np.searchsorted(np.cumsum(likely), (np.arange(ROWS) + 0.5) / ROWS * likely.sum())
    return np.unique(np.minimum(places, strategy.outputs - 1), return_counts=True)


def _rows(strategy: Strategy, rows: np.ndarray) -> np.ndarray:
    """Return some rows of Q; a two-level strategy's up to their weights, which no shade depends on."""
    if (two := strategy.two_level) is not None:
        return 1 + (two.ratio - 1) * unpack(two.patterns[rows], two.size)
    return strategy.dense().matrix[rows]


def _levels(Q: np.ndarray, epsilon: float) -> np.ndarray:
    """Return log(Q[y, u]/min_u Q[y, u])/epsilon; Q[y, u]/max_u Q[y, u] where zeros make epsilon infinite."""
    if epsilon == 0:
        return np.zeros(Q.shape)
    if math.isinf(epsilon):
        return Q / np.maximum(Q.max(axis=1, keepdims=True), np.finfo(float).tiny)
    low = Q.min(axis=1, keepdims=True)
    return np.log(np.divide(Q, low, out=np.ones(Q.shape), where=low > 0)) / epsilon


def _order(levels: np.ndarray) -> np.ndarray:
    """Return the rows by the frequency that dominates them, coarse ones first, then from left to right."""
    waves = np.fft.rfft(levels - levels.mean(axis=1, keepdims=True), axis=1)
    dominant = np.abs(waves).round(6).argmax(axis=1)
    phase = -np.angle(waves[np.arange(len(waves)), dominant])
    return np.lexsort(((phase + 1e-9) % (2 * np.pi), dominant))


def _picture(levels: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return the pixels of the picture, each the mean of its samples."""
    across = levels.shape[1]
    return _averaged(levels if across <= PIXELS else _averaged(levels.T, np.ones(across)).T, heights)


def _averaged(rows: np.ndarray, heights: np.ndarray) -> np.ndarray:
    """Return the rows, with the given heights, resampled to as many lines as the picture has pixels."""
    ends = np.cumsum(heights)
    places = (np.arange(PIXELS * SAMPLES) + 0.5) / (PIXELS * SAMPLES) * ends[-1]
    chosen = np.minimum(np.searchsorted(ends, places), len(ends) - 1)
    return rows[chosen].reshape(PIXELS, SAMPLES, -1).mean(axis=1)


SHOWN = 2
"""Largest number of patterns over several attributes that are drawn side by side, the most likely first."""


def draw_patterns(figure: FigureBase, strategy: TranslationStrategy, attributes: Sequence[Attribute]) -> None:
    """Draw patterns with their weights: as bands where they lie on one cycle, else the most likely ones as tables.

    The rows of a table are the values of the pattern's first attributes, its columns those of the others.
    """
    if len({pattern.sizes for pattern in strategy.patterns}) == 1 and len(strategy.patterns[0].sizes) == 1:
        _draw_cycle(figure, strategy)
    else:
        _draw_tables(figure, strategy, attributes)


def _draw_cycle(figure: FigureBase, strategy: TranslationStrategy) -> None:
    axes = figure.subplots()
    cycle = strategy.patterns[0].cells
    levels = np.stack([_centred(pattern.inside) for pattern in strategy.patterns])
    draw_bands(axes, levels, strategy.weights, cycle)
    many = sum(pattern.multiples for pattern in strategy.patterns)
    named = (
        _plural(len(strategy.patterns))
        if many == len(strategy.patterns)
        else f"{len(strategy.patterns):,} of {_plural(many)}"
    )
    axes.set_title(f"{named}, moved in {cycle:,} ways")
    axes.set_ylabel(f"patterns\n{HIGH}")
    axes.set_xlabel("place")
    _explain_shades(axes, strategy.epsilon)


def _draw_tables(figure: FigureBase, strategy: TranslationStrategy, attributes: Sequence[Attribute]) -> None:
    chosen = np.argsort(-strategy.weights, kind="stable")[:SHOWN]
    for axes, b in zip(figure.subplots(1, len(chosen), squeeze=False)[0], chosen, strict=True):
        pattern = strategy.patterns[b]
        table, names = _folded(pattern), _axis_names(strategy, pattern, attributes)
        axes.imshow(table, vmin=0, vmax=1)
        axes.set_xticks(np.arange(0.5, table.shape[1] - 1), minor=True)
        axes.set_yticks(np.arange(0.5, table.shape[0] - 1), minor=True)
        axes.grid(which="minor", color=PALE, linewidth=0.5)
        axes.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
        axes.spines[:].set_visible(True)
        axes.set_title(f"{100 * strategy.weights[b]:.2g} % of reports", fontsize=7, pad=2)
        cut = next(k for k in range(len(pattern.sizes) + 1) if math.prod(pattern.sizes[:k]) == len(table))
        axes.set_ylabel(_together(names[:cut]), fontsize=7, labelpad=2)
        axes.set_xlabel(_together(names[cut:]), fontsize=7, labelpad=2)
    share = 100 * strategy.weights[chosen].sum()
    some = f"{len(chosen)} of " if len(chosen) < len(strategy.patterns) else ""
    figure.suptitle(
        f"{some}{_plural(len(strategy.patterns))}: {share:.3g} %\n{count(strategy.outputs)} reports"
    )
    blues = map(colormaps["Blues"], (1.0, 0.0))
    shades = [Patch(facecolor=blue, edgecolor=GREY, linewidth=0.5) for blue in blues]
    words = [f"{ratio_text(strategy.epsilon)} × as likely", "others"]
    figure.legend(shades, words, loc="outside lower center", **SMALL)


def _axis_names(
    strategy: TranslationStrategy, pattern: Pattern, attributes: Sequence[Attribute]
) -> list[str]:
    """Return what each axis of a pattern stands for: an attribute, or any of a group of them."""
    if len(strategy.cycles) != len(attributes):
        return ["values"] * len(pattern.sizes)
    groups = [strategy.groups[group] for group in pattern.axes]
    return [attributes[one[0]].name if len(one) == 1 else f"of {len(one)}\nattributes" for one in groups]


def _together(names: Sequence[str]) -> str:
    """Return the attributes along one side of a table in words, on lines that fit beside it."""
    any_of = {name: f"any {names.count(name)} {name}" for name in names if name.endswith("\nattributes")}
    return " ×\n".join(any_of.get(name) or shortened(name, LETTERS) for name in dict.fromkeys(names))


def _plural(patterns: int) -> str:
    return f"{patterns:,} pattern{'s' * (patterns != 1)}"


def _centred(inside: np.ndarray) -> np.ndarray:
    """Return a pattern on a cycle, moved so that its first wave has its crest in the middle."""
    wave = np.fft.rfft(inside)[1]
    middle = len(inside) / 2 + np.angle(wave) / (2 * np.pi) * len(inside)
    return np.roll(inside, round(middle)).astype(float)


def _folded(pattern: Pattern) -> np.ndarray:
    """Return a pattern as the table closest to a square, without changing the order of its attributes."""
    sides = [
        (math.prod(pattern.sizes[:cut]), math.prod(pattern.sizes[cut:])) for cut in range(len(pattern.sizes))
    ]
    return pattern.inside.reshape(min(sides, key=lambda side: (abs(math.log(side[1] / side[0])), side)))


PARTS = 8
"""Largest number of parts of a survey that are drawn, the likeliest first."""


def draw_parts(axes: Axes, strategy: SurveyStrategy, attributes: Sequence[Attribute]) -> None:
    """Draw how often each part of the questions is answered, by the names of its attributes."""
    shown = sorted(strategy.parts, key=lambda one: -one.share)[:PARTS]
    names = [" × ".join(attributes[i].name for i in one.attributes) for one in shown]
    bars = axes.barh(range(len(shown)), [100 * one.share for one in shown], 0.7, color=VERMILION)
    axes.bar_label(bars, [f"{100 * one.share:.3g} %" for one in shown], padding=3)
    axes.set_yticks(range(len(shown)), [shortened(name, LETTERS) for name in names])
    axes.invert_yaxis()
    axes.set_xticks([])
    axes.margins(x=0.3)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0)
    many = len(strategy.parts)
    some = f"\n(the {len(shown)} likeliest)" if len(shown) < many else ""
    axes.set_title(f"each device answers one of\n{many:,} part{'s' * (many != 1)} of the questions{some}")
    axes.set_xlabel("share of the devices")
    axes.set_ylabel("part")


HEIGHT = 2.6
"""Height of a panel in inches."""
BESIDE = 4.5
"""Width in inches from which the panels are side by side."""


@presents
def plot_strategy(
    workload: Workload,
    strategy: Runnable,
    path: str | Path | None = None,
    width: float | None = None,
    *,
    prior: np.ndarray | None = None,
    bound: float | None = None,
) -> Figure:
    """Draw a strategy, whatever form it has, beside the error of every query that it is to answer.

    Reports down and user types across for a table; the patterns for translates; how often each part of a survey is
    answered; one sentence for a protocol.
    `bound` is the least root mean square of the errors that any mechanism
    could have, per user.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer the workload.
        ValueError: as `page`, and if the domains differ.
    """
    beside = width is None or real(width) >= BESIDE
    naming = Naming.of(workload)
    height = HEIGHT + NAMES * upright(naming)
    with page(path, height * (1 if beside else 2), width) as figure:
        rows, columns = (1, 2) if beside else (2, 1)
        left, right = np.ravel(figure.subfigures(rows, columns))  # type: ignore[arg-type]
        draw_strategy(left, strategy, naming.attributes)
        draw_errors(right, naming, estimator(strategy, prior), bound)
    return figure


def draw_strategy(figure: FigureBase, strategy: Runnable, attributes: Sequence[Attribute]) -> None:
    """Draw a strategy alone: the table of its probabilities, its patterns, the shares of its parts, or a sentence.

    Reports that are sets, hashes or real vectors have no table to draw: it says what one user sends.
    """
    if strategy.translated is not None:
        draw_patterns(figure, strategy.translated, attributes)
    elif strategy.enumerated is not None:
        draw_table(figure.subplots(), strategy.enumerated, attributes)
    elif strategy.parted:
        draw_parts(figure.subplots(), cast("SurveyStrategy", strategy), attributes)
    else:
        axes = figure.subplots()
        axes.axis("off")
        sentence = (
            f"A user of {strategy.domain_size:,} types sends {strategy.report}: too many reports to draw."
        )
        axes.text(0.5, 0.5, textwrap.fill(sentence, 28), ha="center", va="center")
