"""The figure of a strategy: what it reports, and how far off the answers are."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.io.presentation import presents
from stratagem.math.number import count_text, real
from stratagem.report.plots.figure import page, ratio_text
from stratagem.report.plots.query_error import NAMES, draw_errors, upright
from stratagem.report.plots.table import draw_bands, draw_table
from stratagem.strategies import LinearProtocol, TranslationStrategy
from stratagem.workloads.naming import Naming

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

    from stratagem.strategies import Pattern, Runnable
    from stratagem.workloads import Workload
    from stratagem.workloads.domain import Attribute

SHOWN = 6
"""Largest number of patterns over several attributes that are drawn, the most likely first."""
ACROSS = 3


def draw_patterns(figure: FigureBase, strategy: TranslationStrategy) -> None:
    """Draw patterns with their weights: as bands where they lie on one cycle, else the most likely ones as tables.

    The rows of a table are the values of the pattern's first attributes, its columns those of the others.
    """
    if len({pattern.sizes for pattern in strategy.patterns}) == 1 and len(strategy.patterns[0].sizes) == 1:
        _draw_cycle(figure, strategy)
    else:
        _draw_tables(figure, strategy)


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
    axes.set_ylabel("patterns, as high as likely")
    axes.set_xlabel(f"place (dark: {ratio_text(strategy.epsilon)} × as likely)")


def _draw_tables(figure: FigureBase, strategy: TranslationStrategy) -> None:
    chosen = np.argsort(-strategy.weights, kind="stable")[:SHOWN]
    across = min(ACROSS, len(chosen))
    grid = figure.subplots(-(-len(chosen) // across), across, squeeze=False).ravel()
    for axes in grid:
        axes.axis("off")
    for axes, b in zip(grid, chosen, strict=False):
        pattern = strategy.patterns[b]
        table = _folded(pattern)
        axes.axis("on")
        axes.imshow(table, vmin=0, vmax=1)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(True)
        axes.set_title(f"{100 * strategy.weights[b]:.2g} %", fontsize=7, pad=2)
        axes.set_xlabel(" × ".join(map(str, pattern.sizes)), fontsize=7, labelpad=2)
    share = 100 * strategy.weights[chosen].sum()
    some = f"{len(chosen)} of " if len(chosen) < len(strategy.patterns) else ""
    figure.suptitle(
        f"{some}{_plural(len(strategy.patterns))}: {share:.3g} %\n{_many(strategy.outputs)} reports"
    )
    figure.supxlabel(f"values (dark: {ratio_text(strategy.epsilon)} × as likely)")


def _plural(patterns: int) -> str:
    return f"{patterns:,} pattern{'s' * (patterns != 1)}"


def _many(count: int) -> str:
    return f"{count:,}" if count < 10**15 else count_text(count)


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
    attributes: Sequence[Attribute] = (),
    bound: float | None = None,
) -> Figure:
    """Draw a strategy, whatever form it has, beside the error of every query that it is to answer.

    Reports down and user types across for a table; the patterns for translates; one sentence for a protocol.
    `attributes` say what values are called; `bound` is the least root mean square of the errors that any mechanism
    could have, per user.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer the workload.
        ValueError: as `page`, and if the domains differ.
    """
    beside = width is None or real(width) >= BESIDE
    naming = Naming.of(workload, attributes)
    height = HEIGHT + NAMES * upright(naming)
    with page(path, height * (1 if beside else 2), width) as figure:
        rows, columns = (1, 2) if beside else (2, 1)
        left, right = np.ravel(figure.subfigures(rows, columns))  # type: ignore[arg-type]
        draw_strategy(left, strategy, naming.attributes)
        draw_errors(right, naming, strategy, prior, bound)
    return figure


def draw_strategy(figure: FigureBase, strategy: Runnable, attributes: Sequence[Attribute]) -> None:
    """Draw a strategy alone: the table of its probabilities, its patterns, or a sentence for a protocol."""
    if isinstance(strategy, TranslationStrategy):
        draw_patterns(figure, strategy)
    elif isinstance(strategy, LinearProtocol):
        _write_protocol(figure, strategy)
    else:
        draw_table(figure.subplots(), strategy, attributes)


def _write_protocol(figure: FigureBase, protocol: LinearProtocol) -> None:
    """Say what one user sends: reports that are sets, hashes or real vectors have no table to draw."""
    axes = figure.subplots()
    axes.axis("off")
    sentence = f"A user of {protocol.domain_size:,} types sends {protocol.report}: too many reports to draw."
    axes.text(0.5, 0.5, textwrap.fill(sentence, 28), ha="center", va="center")
