"""Sums over reports of scores, for all sets of attributes from the same groups at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

import numpy as np

from stratagem.estimators.translation.score import Labels, Placed, PlacedReports, Scores, orders
from stratagem.math.number import entries
from stratagem.workloads.product import translates

ENTRIES = 1 << 27
"""Entries of the largest histogram of shifts (1 GiB)."""
DIRECT = 1 << 16
"""Entries of the largest matrix by which histograms are convolved, instead of by Fourier transforms."""


class Interactions:
    """Sums over reports of the scores, and of the squared scores, of the cells of tables.

    A score of a cell of a table depends on the axes that lie on the table's attributes alone. By inclusion and
    exclusion it is a sum over all sets E of the table's attributes that the report covers, of a function of
    u_E - g: so for every E a histogram of shifts, convolved with that function, serves all tables that hold E.

        sum_y s_y(u)   = 1/cells   sum_E I_E[u_E],    sum_y s_y(u)^2 = 1/cells^2 sum_E S_E[u_E].
    """

    def __init__(
        self, reports: PlacedReports, scores: Scores, members: Sequence[Sequence[int]], squared: bool
    ) -> None:
        """Store the attributes asked about, `members` by group, and whether squared scores are needed."""
        self.reports, self.scores, self.squared = reports, scores, squared
        self.members = [np.array(sorted(group), dtype=np.int64) for group in members]
        self._local = np.full(len(reports.strategy.sizes), -1)
        for group in self.members:
            self._local[group] = np.arange(len(group))
        self._found: dict[Labels, np.ndarray] = {}

    def holds(self, asked: Iterable[int], kinds: Iterable[Labels], squared: bool) -> bool:
        """Return whether the tables of these kinds and attributes were computed, with squares if needed."""
        return (
            self.squared >= squared
            and all(kind in self._found for kind in kinds)
            and all(self._local[i] >= 0 for i in asked)
        )

    def tables(self, labels: Labels, sets: np.ndarray) -> np.ndarray:
        """Return the sums of scores (1, k, sizes), and if asked of their squares (2, k, sizes), for k sets (k, t).

        The attributes of a set are ordered by group, and rise within a group; `labels` are their groups.
        """
        sizes, t = self.scores.sizes(labels), len(labels)
        kinds = 2 if self.squared else 1
        total = np.full((kinds, len(sets), *sizes), float(self.reports.users))
        for many in range(1, min(t, self.reports.strategy.deepest) + 1):
            for held in combinations(range(t), many):
                part = tuple(labels[i] for i in held)
                chosen = self._interaction(part)[:, self._ranks(part, self._local[sets[:, held]])]
                total += chosen.reshape(
                    *chosen.shape[:2], *(a if i in held else 1 for i, a in enumerate(sizes))
                )
        cells = math.prod(sizes)
        return total / np.array([cells, cells**2], dtype=float)[:kinds].reshape(kinds, *[1] * (t + 1))

    def _interaction(self, labels: Labels) -> np.ndarray:
        """Return I_E and S_E for all sets E of that kind (2, sets, sizes)."""
        if labels not in self._found:
            sizes = self.scores.sizes(labels)
            total = np.zeros((2 if self.squared else 1, self._sets(labels), *sizes))
            for reports in self.reports.placed:
                for axes in self._choices(reports.pattern, labels):
                    transform = self.scores.transform(reports.pattern, reports.multiple)
                    kernels = self.scores.interactions(transform, axes, labels)[: len(total)]
                    total += convolved(self._histogram(reports, axes, labels), kernels)
            self._found[labels] = total
        return self._found[labels]

    def _choices(self, b: int, labels: Labels) -> Iterator[tuple[int, ...]]:
        """Yield the sets of axes of pattern b that can lie on attributes of these groups."""
        own = self.reports.strategy.patterns[b].axes
        sides = [
            combinations([t for t, group in enumerate(own) if group == g], labels.count(g))
            for g in sorted(set(labels))
        ]
        for chosen in product(*sides):
            yield sum(chosen, ())

    def _histogram(self, reports: Placed, axes: tuple[int, ...], labels: Labels) -> np.ndarray:
        """Return how many reports cover each set, by the order of the axes and their shifts (sets, orders, sizes)."""
        sizes = self.scores.sizes(labels)
        shape = (self._sets(labels), len(orders(labels)), *sizes)
        entries(math.prod(shape), ENTRIES, "a histogram of reports", "ask for tables of fewer attributes")
        local, shifts = self._local[reports.attributes[:, axes]], reports.shifts[:, axes]
        counts = reports.counts
        inside = (local >= 0).all(axis=1)
        if not inside.all():
            local, shifts, counts = local[inside], shifts[inside], counts[inside]
        local, order, shifts = _sorted(local, shifts, labels)
        key = self._ranks(labels, local) * shape[1] + order
        for i, a in enumerate(sizes):
            key = key * a + shifts[:, i]
        return np.bincount(key, counts, math.prod(shape)).reshape(shape)

    def _sets(self, labels: Labels) -> int:
        return math.prod(math.comb(len(self.members[g]), labels.count(g)) for g in set(labels))

    def _ranks(self, labels: Labels, local: np.ndarray) -> np.ndarray:
        """Return the index (k,) of each of k sets (k, t) among all sets of its kind; attributes rise by group."""
        rank, start = np.zeros(len(local), dtype=np.int64), 0
        for g in sorted(set(labels)):
            many, own = labels.count(g), len(self.members[g])
            rank *= math.comb(own, many)
            for i in range(many):
                binomials = np.array([math.comb(c, i + 1) for c in range(own)], dtype=np.int64)
                rank += binomials[local[:, start + i]]
            start += many
        return rank


def _sorted(
    local: np.ndarray, shifts: np.ndarray, labels: Labels
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sort the attributes of each group; return them, the numbers (k,) of the orders they came in, and the shifts."""
    order, start = np.zeros(len(local), dtype=np.int64), 0
    local, shifts = local.copy(), shifts.copy()
    for g in sorted(set(labels)):
        many = labels.count(g)
        part = slice(start, start + many)
        if many > 1:
            places = np.argsort(local[:, part], axis=1)
            local[:, part] = np.take_along_axis(local[:, part], places, axis=1)
            shifts[:, part] = np.take_along_axis(shifts[:, part], places, axis=1)
            for i in range(many):
                smaller = (places[:, i + 1 :] < places[:, i : i + 1]).sum(axis=1)
                order = order * (many - i) + smaller
        start += many
    return local, order, shifts


def convolved(histogram: np.ndarray, kernels: np.ndarray) -> np.ndarray:
    """Return sum over orders o and shifts g of histogram[s, o, g] kernels[k, o, u - g], (k, s, sizes)."""
    sets, many, *sizes = histogram.shape
    cells = math.prod(sizes)
    if many * cells**2 <= DIRECT:
        flat = kernels.reshape(len(kernels), many, cells)
        moves = np.stack([[translates(one, tuple(sizes)) for one in kernel] for kernel in flat])
        found = np.einsum("sog,koug->ksu", histogram.reshape(sets, many, cells), moves, optimize=True)
        return found.reshape(len(kernels), sets, *sizes)
    axes = tuple(range(2, 2 + len(sizes)))
    left = np.fft.rfftn(histogram, axes=axes)
    parts = []
    for kernel in kernels:
        inner = tuple(axis - 1 for axis in axes)
        summed = (left * np.fft.rfftn(kernel, axes=inner)).sum(axis=1)
        parts.append(np.fft.irfftn(summed, sizes, axes=inner))
    return np.stack(parts)
