"""The figure of a strategy: what it reports, and how far off the answers are."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from stratagem.io.presentation import presents
from stratagem.math.number import real
from stratagem.report.plots.figure import page
from stratagem.report.plots.pattern import draw_patterns
from stratagem.report.plots.query_axis import NAMES
from stratagem.report.plots.query_error import draw_errors, upright
from stratagem.report.plots.table import draw_table
from stratagem.strategies import LinearProtocol, TranslationStrategy
from stratagem.workloads.naming import Naming

if TYPE_CHECKING:
    from matplotlib.figure import Figure, FigureBase

    from stratagem.strategies import Randomiser
    from stratagem.workloads import Workload
    from stratagem.workloads.attribute import Attribute

HEIGHT = 2.6
"""Height of a panel in inches."""
BESIDE = 4.5
"""Width in inches from which the panels are side by side."""


@presents
def plot_strategy(
    workload: Workload,
    strategy: Randomiser | TranslationStrategy,
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


def draw_strategy(
    figure: FigureBase, strategy: Randomiser | TranslationStrategy, attributes: Sequence[Attribute]
) -> None:
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
