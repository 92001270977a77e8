"""A strategy as a picture of its table: reports down, user types across."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from stratagem.math.number import spread
from stratagem.report.plots.figure import ratio_text
from stratagem.report.plots.query_error import TICKS, name_places

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from stratagem.strategies import Strategy
    from stratagem.workloads.domain import Attribute

ROWS = 1 << 14
"""Largest number of reports that are examined; of more, those at equal steps of total probability are."""
COLUMNS = 1024
"""Largest number of user types that are examined; of more, evenly spaced ones are."""
PIXELS, SAMPLES = 480, 4
"""Pixels of the picture in each direction, and samples per pixel, which are averaged."""
LONG = 100_000
"""Number of values from which their long numbers leave space for fewer of them on the axis."""


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
    axes.set_ylabel("reports, as high as likely")
    _name_types(axes, attributes)
    dark = f"(dark: {ratio_text(strategy.epsilon)} × as likely)"
    axes.set_xlabel(f"{attributes[0].title() if len(attributes) == 1 else 'user type'}\n{dark}")


def _name_types(axes: Axes, attributes: Sequence[Attribute]) -> None:
    """Name the user types of one attribute: the edges between its bins, or some of its labels."""
    if len(attributes) == 1 and attributes[0].edges:
        places = spread(attributes[0].size + 1, TICKS)
        axes.set_xticks([k - 0.5 for k in places], [attributes[0].edges[k] for k in places])
    elif len(attributes) == 1 and attributes[0].labels:
        name_places(axes, [(k, attributes[0].labels[k]) for k in spread(attributes[0].size, TICKS)])


def draw_bands(axes: Axes, levels: np.ndarray, heights: np.ndarray, across: int) -> None:
    """Draw rows of shades in 0..1 as bands, ordered so that rows of one shape follow each other."""
    from matplotlib.ticker import MaxNLocator

    order = _order(levels)
    axes.imshow(
        _picture(levels[order], heights[order]),
        aspect="auto",
        interpolation="nearest",
        vmin=0,
        vmax=1,
        extent=(-0.5, across - 0.5, 1, 0),
    )
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7 if across < LONG else 3, integer=True, min_n_ticks=1))
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
    from stratagem.strategies.two_level import TwoLevelStrategy, unpack

    if isinstance(strategy, TwoLevelStrategy):
        return 1 + (strategy.ratio - 1) * unpack(strategy.patterns[rows], strategy.size)
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
