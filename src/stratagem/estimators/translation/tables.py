"""The tables of a few attributes that reports of translates tell about, and the covariance of all cells of one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError, check_sizes, check_support
from stratagem.estimators.dense import Dense, quadratic_forms
from stratagem.estimators.translation.line import quadratic_by_length
from stratagem.estimators.translation.score import (
    SEEN,
    Labels,
    Placed,
    PlacedReports,
    Scores,
    even_products,
    even_scores,
    even_sums,
    refuse,
)
from stratagem.math.number import count_text
from stratagem.math.privacy import uniform
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import unseen
from stratagem.workloads.merged import merged
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
        check_support(workload, self.null, uniform(workload.domain_size))

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


TABLE = 2048
"""Largest number of cells of a table whose covariance is formed."""


def check_answered(workload: Workload, strategy: TranslationStrategy) -> None:
    """Refuse queries that need a character at which M is zero; the strategy has no window.

    Raises:
        UnsupportedWorkloadError: for such queries, naming the attributes of their table.
        ValueError: if the domains differ.
    """
    check_sizes(workload, strategy.sizes)
    if even_scores(strategy):
        return
    for attributes, queries in workload.kinds(strategy.owner):
        if unseen(queries, strategy.table_eigenvalues(attributes) > SEEN) is not None:
            refuse([workload.domain.names[i] for i in attributes])


def typical_by_table(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    """Return the exact variance (p,) that one user of uniformly random type adds to every answer.

    Table by table of `Workload.margins`: the estimated table has the covariance C with eigenvalue (1/m - 1)/cells at
    a character of its attributes, m that of M, and a query w of the table the variance w^T C w.

    Raises:
        UnsupportedWorkloadError: as `check_answered`.
        ValueError: if the domains differ or a table is too large.
    """
    check_answered(workload, strategy)
    variances, cells = np.empty(workload.queries), dict[tuple[int, ...], float]()
    known = dict[tuple[int, ...], np.ndarray]()
    for margin in workload.margins():
        weight, queries = margin.workload.unweighted
        kind = tuple(strategy.owner[i] for i in margin.attributes)
        if (lengths := queries.range_lengths) is not None:
            by_length = quadratic_by_length(_noise(strategy.table_eigenvalues(margin.attributes)))
            variances[margin.places] = weight**2 * by_length[lengths % len(by_length)][queries.range_classes]
            continue
        if queries.by_cell:
            if kind not in cells:
                noise = _noise(strategy.table_eigenvalues(margin.attributes))
                cells[kind] = float(noise.mean()) / noise.size
            variances[margin.places] = weight**2 * cells[kind]
            continue
        if kind not in known:
            known[kind] = _covariance_row(strategy, margin.attributes)
        forms = quadratic_forms(queries, translates(known[kind].ravel(), queries.domain.sizes))
        variances[margin.places] = weight**2 * np.maximum(forms, 0.0)
    return variances


def _covariance_row(strategy: TranslationStrategy, attributes: tuple[int, ...]) -> np.ndarray:
    """Return the covariance of a table's cells with cell 0, for one user of random type.

    Characters at which M is zero count as exact: `check_answered` refuses the queries that need them.
    """
    sizes = [strategy.sizes[i] for i in attributes]
    if math.prod(sizes) > TABLE:
        raise ValueError(
            f"a table of {math.prod(sizes)} cells is too large for the covariance of its cells: "
            "use evaluate for the sum over all queries"
        )
    return np.fft.ifftn(_noise(strategy.table_eigenvalues(attributes))).real / math.prod(sizes)


def _noise(m: np.ndarray) -> np.ndarray:
    """Return 1/m - 1, zero where m is: the eigenvalues of the covariance times the number of cells."""
    return np.where(m > SEEN, 1 / np.maximum(m, SEEN) - 1, 0.0)


TABLE = 2048
"""Cells of the largest table whose covariance is computed."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of some attributes of a domain of any size, seen through the scores of a strategy of translates."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    sizes: tuple[int, ...]
    """Number of values of each attribute of the domain."""

    @cached_property
    def scores(self) -> Scores:
        """The scores of cells of tables."""
        return Scores(self.strategy)

    def asked(self, workload: Workload) -> Workload:
        """Return the workload over the attributes of `strategy`, merged into one where it has one cycle.

        Raises:
            ValueError: for a workload over other attributes than the domain's.
        """
        check_sizes(workload, self.sizes)
        return workload if len(self.strategy.cycles) > 1 else merged(workload)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that needs a character at which the information matrix is zero.

        Raises:
            UnsupportedWorkloadError: naming the attributes.
            ValueError: if the domains differ.
        """
        workload = self.asked(workload)
        for attributes, queries in workload.kinds(self.strategy.owner):
            self._check_support(attributes, queries, workload.domain.names)

    def table(self, attributes: Iterable[int]) -> TableScores:
        """Return the table of some attributes, in rising order, with the covariance of all its cells."""
        chosen = tuple(sorted(attributes))
        cells = math.prod(self.strategy.cycles[i] for i in chosen)
        if cells > TABLE:
            raise ValueError(
                f"the covariance of a table of {count_text(cells)} cells was asked for, but at most {TABLE} are "
                "computed: ask for fewer attributes at once, or for the cells themselves"
            )
        return TableScores(self.scores, chosen)

    def placed(self, attributes: tuple[int, ...]) -> tuple[Labels, list[int]]:
        """Return the groups of the attributes in rising order, and the positions that sort the attributes so."""
        group = self.strategy.owner
        order = sorted(range(len(attributes)), key=lambda i: (group[attributes[i]], attributes[i]))
        return tuple(group[attributes[i]] for i in order), order

    def _check_support(self, attributes: tuple[int, ...], queries: Workload, names: tuple[str, ...]) -> None:
        _, inner = queries.unweighted
        try:
            if len(attributes) <= self.strategy.deepest:
                if (self.scores.information(self.placed(attributes)[0]) > SEEN).all():
                    return
            elif inner.by_cell:
                raise UnsupportedWorkloadError
            self.table(attributes).check(queries)
        except UnsupportedWorkloadError:
            asked = ", ".join(names[i] for i in attributes)
            raise UnsupportedWorkloadError(
                f"the strategy cannot answer this workload: no report tells about some combination of values of "
                f"{asked}: use a strategy made for these queries, or ask for tables of fewer attributes"
            ) from None
