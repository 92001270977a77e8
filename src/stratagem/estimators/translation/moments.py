"""Second moments of the answers of tables under translates, for a user in each cell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

import numpy as np

from stratagem.estimators.translation.score import Labels, Scores, even_scores, placements
from stratagem.math.transform import irfftn, rfftn
from stratagem.strategies import TranslationStrategy
from stratagem.workloads.product import translates

DIRECT = 512
"""Largest number of cells of a table for which matrices of all translates are formed."""


def largest_of_cell(moments: Moments, labels: Labels, sizes: tuple[int, ...]) -> float:
    """Return the largest variance of a cell of a table, computed for the first cell of the cycles."""
    if even := even_scores(moments.strategy):
        own, other = even.second_moments
        return max(own - 1, other)
    cell = np.zeros((1, *moments.scores.sizes(labels)))
    cell.flat[0] = 1.0
    found = variances(moments, labels, cell)[0]
    for axis, (size, cycle) in enumerate(zip(sizes, found.shape, strict=True)):
        apart = np.arange(cycle)
        found = found.compress((apart < size) | (apart > cycle - size), axis)
    return float(found.max())


def variances(moments: Moments, labels: Labels, rows: np.ndarray) -> np.ndarray:
    """Return the variance of each of k queries (k, sizes) of a table for a user in each cell, (k, sizes)."""
    second, cells = np.zeros_like(rows), math.prod(rows.shape[1:])
    for axes in moments.kinds:
        for slots, chance in placements(moments.strategy, axes, labels):
            order = tuple(t for t in slots if t >= 0)
            away = tuple(i for i, t in enumerate(slots, 1) if t < 0)
            part = moments.second(axes, order, rows.sum(axis=away))
            shape = [size if t >= 0 else 1 for t, size in zip(slots, rows.shape[1:], strict=True)]
            second += chance / cells**2 * part.reshape(len(rows), *shape)
    return second - np.square(rows)


@lru_cache(maxsize=2)
def moments_of(strategy: TranslationStrategy) -> Moments:
    """Return the moments of a strategy; a comparison asks for those of two, several times."""
    return Moments(strategy)


class Moments:
    """The sums sum_b w_b sum_g x_C(u_C - g) a_b(g)^2 over the patterns b of the same axes, for all u_C."""

    def __init__(self, strategy: TranslationStrategy) -> None:
        """Group the patterns of positive weight by their axes."""
        self.strategy, self.scores = strategy, Scores(strategy)
        self.kinds: dict[tuple[int, ...], list[int]] = {}
        for b in np.flatnonzero(strategy.weights):
            self.kinds.setdefault(strategy.patterns[b].axes, []).append(int(b))
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...], bytes], np.ndarray] = {}

    def second(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        """Return the sums (k, sizes) for queries (k, sizes) of the table that the axes in this order cover."""
        if len(rows) > 1:
            return self._second(axes, order, rows)
        key = (axes, order, rows.tobytes())  # the first cell comes again in every table of these axes
        if key not in self._known:
            self._known[key] = self._second(axes, order, rows)
        return self._known[key]

    def _second(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        sizes, labels = rows.shape[1:], tuple(axes[t] for t in order)
        if not order:
            return self.strategy.weights[self.kinds[axes]].sum() * np.square(rows)
        if len(rows) > 1 and math.prod(sizes) <= DIRECT:
            return self._by_products(axes, order, rows)
        half = (..., slice(sizes[-1] // 2 + 1))
        asked = rfftn(rows, len(sizes)) * (math.prod(sizes) * self.scores.inverse(labels)[half])
        total = np.zeros_like(asked)
        for weight, transform in self._transforms(axes, order):
            answers = irfftn(asked * np.conj(transform[half]), sizes)
            total += weight * transform[half] * rfftn(np.square(answers), len(sizes))
        return irfftn(total, sizes)

    def _transforms(
        self, axes: tuple[int, ...], order: tuple[int, ...]
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the probability and the transform on `order` of every multiple of every pattern of these axes."""
        return chain.from_iterable(self.scores.transforms_on(b, order) for b in self.kinds[axes])

    def _by_products(self, axes: tuple[int, ...], order: tuple[int, ...], rows: np.ndarray) -> np.ndarray:
        """Return the sums of `second` by matrix products, which are faster for many queries of few cells."""
        flat, sizes = rows.reshape(len(rows), -1), rows.shape[1:]
        total, inverse = np.zeros_like(flat), self.scores.inverse(tuple(axes[t] for t in order))
        for weight, transform in self._transforms(axes, order):
            K = np.fft.ifftn(transform * inverse).real * inverse.size
            answers = flat @ translates(K.ravel(), sizes)
            x = np.fft.ifftn(transform).real
            total += weight * np.square(answers) @ translates(x.ravel(), sizes).T
        return total.reshape(rows.shape)
