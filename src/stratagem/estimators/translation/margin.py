"""The table of a few attributes with the covariance of all its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.estimators.dense import Dense
from stratagem.estimators.support import check_support
from stratagem.estimators.translation.reports import Placed, PlacedReports, even_products, even_sums
from stratagem.estimators.translation.score import SEEN, Labels, Scores, even_scores
from stratagem.workloads import Workload
from stratagem.workloads.product import translates

BLOCK = 1 << 22
"""Largest number of entries of a temporary array."""


@final
@dataclass(frozen=True, eq=False)
class TableScores(Dense):
    """The estimated table (n cells) of some attributes, from the reports that cover some of them.

    Where the attributes are windows of longer cycles everything is computed on the cycles; the floor of the
    variances is then that of a user of uniformly random type on the cycles.
    """

    scores: Scores
    attributes: tuple[int, ...]
    """Indices of the attributes of the table, in rising order."""

    @property
    def privacy(self) -> tuple[float, float]:
        return self.scores.strategy.epsilon, self.scores.strategy.delta

    @property
    def shares(self) -> np.ndarray:
        return self._cut(np.full(self._cycles, 1 / math.prod(self._cycles)))

    @property
    def least_spread(self) -> np.ndarray:
        """M^-1 divided by the number of cells of the cycles, at the cells of the table (n x n)."""
        row = np.fft.ifftn(self.scores.inverse(self._labels)).real / math.prod(self._cycles)
        inside = self._inside
        return translates(row.ravel(), self._cycles)[np.ix_(inside, inside)]

    def users(self, counts: PlacedReports) -> int:
        return counts.users

    def estimated_data(self, counts: PlacedReports) -> np.ndarray:
        if even := even_scores(self.scores.strategy):
            return self._cut(even_sums(counts, even)[0])
        total = np.zeros(self._cycles)
        for covered, histogram, K in self._configurations(counts):
            sums = np.fft.ifftn(np.fft.fftn(histogram) * np.fft.fftn(K)).real
            total += sums.reshape([a if i in covered else 1 for i, a in enumerate(self._cycles)])
        return self._cut(total / math.prod(self._cycles))

    def estimated_spread(self, counts: PlacedReports) -> np.ndarray:
        """Return the sum over reports of s s^T (n x n), s the scores of the cells of the table."""
        if even := even_scores(self.scores.strategy):
            return even_products(counts, even)
        cells = math.prod(self._cycles)
        total = np.zeros(self._cycles * 2)
        for covered, histogram, K in self._configurations(counts):
            shape = [a if i in covered else 1 for i, a in enumerate(self._cycles)]
            total += products(histogram, K).reshape(shape * 2)
        inside = self._inside
        return (total.reshape(cells, cells) / cells**2)[np.ix_(inside, inside)]

    def check(self, workload: Workload) -> None:
        check_support(workload, self.null)

    @property
    def null(self) -> np.ndarray:
        unseen = self.scores.information(self._labels) <= SEEN
        if not unseen.any():
            return np.zeros((len(self._inside), 0))
        hidden = np.fft.ifftn(np.where(unseen, 1.0, 0.0)).real
        values, vectors = np.linalg.eigh(translates(hidden.ravel(), self._cycles))
        return vectors[:, values > 0.5][self._inside]

    @property
    def _labels(self) -> Labels:
        return tuple(self.scores.strategy.owner[i] for i in self.attributes)

    @property
    def _cycles(self) -> tuple[int, ...]:
        return self.scores.sizes(self._labels)

    @property
    def _inside(self) -> np.ndarray:
        """Index of each cell of the table among the cells of the cycles (n,)."""
        return self._cut(np.arange(math.prod(self._cycles)).reshape(self._cycles))

    def _cut(self, table: np.ndarray) -> np.ndarray:
        sizes = self.scores.strategy.sizes
        return table[tuple(slice(sizes[i]) for i in self.attributes)].ravel()

    def _configurations(
        self, counts: PlacedReports
    ) -> Iterator[tuple[tuple[int, ...], np.ndarray, np.ndarray]]:
        """Yield a set of covered attributes, the histogram of the shifts of its reports, and their density K.

        There is one item for each pattern, multiple and way in which the axes lie on the table.
        """
        for placed in counts.placed:
            transform = self.scores.transform(placed.pattern, placed.multiple)
            slots = self._slots(placed)
            place = np.zeros(len(slots), dtype=np.int64)
            for column in slots.T:
                place = place * (transform.ndim + 1) + column + 1
            _, example, which = np.unique(place, return_index=True, return_inverse=True)
            for number, axes in enumerate(slots[example]):
                yield self._configuration(placed, transform, axes, which == number)

    def _configuration(
        self, reports: Placed, transform: np.ndarray, slots: np.ndarray, mine: np.ndarray
    ) -> tuple[tuple[int, ...], np.ndarray, np.ndarray]:
        covered = tuple(int(i) for i in np.flatnonzero(slots >= 0))
        sizes, axes = [self._cycles[i] for i in covered], [int(slots[i]) for i in covered]
        key = np.zeros(np.count_nonzero(mine), dtype=np.int64)
        for t, a in zip(axes, sizes, strict=True):
            key = key * a + reports.shifts[mine, t]
        histogram = np.bincount(key, reports.counts[mine], math.prod(sizes)).reshape(sizes)
        labels = tuple(self._labels[i] for i in covered)
        return covered, histogram, self.scores.density(transform, axes, labels)

    def _slots(self, reports: Placed) -> np.ndarray:
        """Return the axis (k, t) of each of k reports on each of the table's t attributes, -1 for none."""
        columns = []
        for i in self.attributes:
            on = reports.attributes == i
            columns.append(np.where(on.any(axis=1), on.argmax(axis=1), -1))
        return np.stack(columns, axis=1)


def products(histogram: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return sum over shifts g of histogram[g] K(u - g) K(v - g), cells x cells.

    One convolution is computed for every distance v - u.
    """
    cells, axes = K.size, tuple(range(1, K.ndim + 1))
    ahead = translates(np.arange(float(cells)), K.shape).astype(np.int64)  # u - v, as a cell
    moved = np.argsort(ahead, axis=0)  # v with u = v + distance: row distance, column v
    found, step = np.empty((cells, cells)), max(1, BLOCK // cells)
    transform = np.fft.fftn(histogram)
    for first in range(0, cells, step):
        u = moved[first : first + step]
        pairs = (K.ravel() * K.ravel()[u]).reshape(len(u), *K.shape)
        sums = np.fft.ifftn(np.fft.fftn(pairs, axes=axes) * transform, axes=axes).real
        np.put_along_axis(found, u, sums.reshape(len(u), cells), axis=0)
    return found
