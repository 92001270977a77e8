"""The scores of cells by their distance from the shift of a report, and the reports that counts tell of, decoded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, permutations, product
from typing import NoReturn

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.estimators.estimator import check_number, impossible_report, whole_counts
from stratagem.math.transform import fftn, irfft, rfft
from stratagem.math.vector import Counts, SparseCounts
from stratagem.strategies import TranslationStrategy

EVEN = 1e-7
"""Largest relative difference of the eigenvalues of the information matrix that is rounding: weights of hundreds of
patterns are whole numbers over 2^32."""


@dataclass(frozen=True)
class EvenScores:
    """Scores s_v of the cells v of a cycle of N points from sets of K cells and their multiples.

    If the information matrix has one eigenvalue m = (N sum_g x(g)^2 - 1)/(N - 1) away from the constants, the score
    of a cell is s = (x - 1/N)/m + 1/N at its distance from the shift: one number inside the set, one outside.
    So s^2 = a x + b, and the mean over all multiples of sum_g x(u - g) x(v - g) is (1 + (N - 1) m)/N for u = v,
    else (1 - m)/N (theory.md, section 6).
    """

    points: int
    """Number N of points of the cycle."""
    size: int
    """Number K of cells of each set."""
    ratio: float
    """Ratio E = exp(epsilon) of the levels inside and outside the set."""

    @property
    def levels(self) -> tuple[float, float]:
        """Score of a cell outside the set, and of a cell inside."""
        N, m = self.points, self._eigenvalue
        outside, inside = ((x - 1 / N) / m + 1 / N for x in self._chances)
        return outside, inside

    @property
    def second_moments(self) -> tuple[float, float]:
        """E[s_v^2 | u] for the user type u = v and for any other."""
        N, m, (low, high) = self.points, self._eigenvalue, self._chances
        outside, inside = self.levels
        a = (inside**2 - outside**2) / (high - low)
        b = outside**2 - a * low
        return a * (1 + (N - 1) * m) / N + b, a * (1 - m) / N + b

    def variance(self, cells: int) -> float:
        """Return the variance t_u of the answers to a histogram of the first cells, the same for all of them."""
        own, other = self.second_moments
        return own - 1 + (cells - 1) * other

    @property
    def _chances(self) -> tuple[float, float]:
        low = 1 / (self.points + (self.ratio - 1) * self.size)
        return low, self.ratio * low

    @property
    def _eigenvalue(self) -> float:
        low, high = self._chances
        return (high - low) ** 2 * self.size * (self.points - self.size) / (self.points - 1)


@lru_cache(maxsize=4)
def even_scores(strategy: TranslationStrategy) -> EvenScores | None:
    """Return the scores of patterns of one size with multiples on one cycle.

    None is returned for other patterns, and where the eigenvalues of the information matrix differ.
    """
    first, every = strategy.patterns[0], strategy.patterns
    alike = {(pattern.sizes, pattern.size) for pattern in every} == {((first.cells,), first.size)}
    if len(strategy.sizes) > 1 or not alike or min(pattern.multiples for pattern in every) == 1:
        return None
    energies = np.zeros(first.cells)
    for pattern, weight in zip(every, strategy.weights, strict=True):
        energies += weight * pattern.energies(strategy.ratio)
    if np.ptp(energies[1:]) > EVEN * energies[1:].mean():
        return None
    return EvenScores(first.cells, first.size, strategy.ratio)


Slots = tuple[int, ...]
"""The axis of a pattern that lies on each attribute of a table, -1 for none."""


def placements(
    strategy: TranslationStrategy, axes: tuple[int, ...], labels: Labels
) -> Iterator[tuple[Slots, float]]:
    """Yield the ways in which the axes of a pattern can lie on a table, and the probability of each."""
    options = [[-1, *(t for t, axis in enumerate(axes) if axis == group)] for group in labels]
    for slots in product(*options):
        on = [t for t in slots if t >= 0]
        if len(set(on)) < len(on):
            continue
        chance = 1.0
        for group in set(axes):
            many, inside = axes.count(group), sum(axes[t] == group for t in on)
            size = len(strategy.groups[group])
            chance *= math.perm(size - labels.count(group), many - inside) / math.perm(size, many)
        if chance > 0:
            yield slots, chance


SEEN = 1e-26
"""Eigenvalue of the information matrix, whose largest is 1, below which it counts as zero."""

Labels = tuple[int, ...]
"""Index of the group of each of some attributes."""


class Scores:
    """Scores s_y(u) of the cells u of tables, with E[s_y(u)] = the share of users in the cell.

    In the Fourier domain a report (b, placement, g) that covers the attributes of a character chi adds
    x_b^(chi) conj(chi(g))/m_chi to the estimate of chi's coefficient, one that does not adds nothing. If it covers
    exactly the attributes C of a table, the score is K(u_C - g)/cells with the density
    K(v) = sum_(chi on C) x_b^(chi)/m_chi chi(v), whose mean is 1.
    """

    def __init__(self, strategy: TranslationStrategy) -> None:
        """Store the strategy; eigenvalues and transforms are computed when they are first needed."""
        self.strategy = strategy
        self._known: dict[Labels, np.ndarray] = {}
        self._last = -1, np.zeros(0, dtype=complex)

    def sizes(self, labels: Labels) -> tuple[int, ...]:
        """Return the lengths of the cycles of attributes of these groups."""
        return tuple(self.strategy.cycles[self.strategy.groups[g][0]] for g in labels)

    def information(self, labels: Labels) -> np.ndarray:
        """Return the eigenvalues of M at the characters of attributes of these groups, one axis for each."""
        if labels not in self._known:
            groups = self.strategy.groups
            members = [groups[g][labels[:place].count(g)] for place, g in enumerate(labels)]
            self._known[labels] = self.strategy.table_eigenvalues(members)
        return self._known[labels]

    def inverse(self, labels: Labels) -> np.ndarray:
        """Return 1/m at the characters of attributes of these groups, 0 where m is zero."""
        m = self.information(labels)
        return np.divide(1.0, m, out=np.zeros_like(m), where=m > SEEN)

    def transform(self, b: int, multiple: int = 0) -> np.ndarray:
        """Return x_b^ at all characters of the axes of pattern b, or of one of its multiples."""
        pattern = self.strategy.patterns[b]
        if self._last[0] != b:
            self._last = b, fftn(pattern.levels(self.strategy.ratio))
        found = self._last[1]
        return found if pattern.multiples == 1 else found[pattern.multiplied(multiple)]

    def transforms(self, b: int) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the probability and x_b^ of each multiple of pattern b."""
        many = self.strategy.patterns[b].multiples
        for multiple in range(many):
            yield float(self.strategy.weights[b]) / many, self.transform(b, multiple)

    def transforms_on(self, b: int, axes: Sequence[int]) -> Iterator[tuple[float, np.ndarray]]:
        """Yield the probability and x_b^ at the characters of these axes, in this order, of each multiple of pattern b.

        Where others are left out, it is the transform of the sums over them.
        """
        pattern = self.strategy.patterns[b]
        if away := tuple(set(range(len(pattern.axes))) - set(axes)):
            found = fftn(pattern.levels(self.strategy.ratio).sum(axis=away))
            yield float(self.strategy.weights[b]), _in_order(found, axes)
            return
        for weight, transform in self.transforms(b):
            yield weight, _in_order(transform, axes)

    def density(self, transform: np.ndarray, axes: Sequence[int], labels: Labels) -> np.ndarray:
        """Return the density K (sizes of the axes) of a report that covers a table by these axes exactly.

        `labels` are the groups of the attributes that the axes lie on.
        """
        on_axes = transform[tuple(slice(None) if t in axes else 0 for t in range(transform.ndim))]
        if not axes:
            return np.ones(())
        found = _in_order(on_axes, axes)
        return np.fft.ifftn(found * self.inverse(labels)).real * found.size

    def interactions(self, transform: np.ndarray, axes: Sequence[int], labels: Labels) -> np.ndarray:
        """Return what covering these axes adds to the score and to its square, (2, orders, sizes of the axes).

        sum_(D in A) (-1)^|A - D| K_D and the same of K_D^2, K_D the density of a report that covers exactly D.
        There is one entry for each order in which axes of one group may come (`orders`).
        """
        K = self.density(transform, axes, labels)
        total = np.zeros((2, *K.shape))
        for kept in range(K.ndim + 1):
            for away in combinations(range(K.ndim), K.ndim - kept):
                part, sign = K.mean(axis=away, keepdims=True), (-1.0) ** len(away)
                total[0] += sign * part
                total[1] += sign * part**2
        return np.stack([total.transpose(0, *(1 + i for i in order)) for order in orders(labels)], axis=1)


def _in_order(transform: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """Return a transform of some axes, which stand in rising order, in their own order."""
    return transform.transpose(np.argsort(np.argsort(axes)))


def orders(labels: Labels) -> list[tuple[int, ...]]:
    """Return the permutations of attributes that map every attribute to one of the same group."""
    parts, start = [], 0
    for g in sorted(set(labels)):
        many = labels.count(g)
        parts.append([tuple(start + i for i in order) for order in permutations(range(many))])
        start += many
    return [sum(chosen, ()) for chosen in product(*parts)]


def refuse(names: Sequence[str]) -> NoReturn:
    """Say that no pattern distinguishes the values of these attributes together."""
    raise UnsupportedWorkloadError(
        f"the strategy cannot answer this workload: no pattern tells apart the values of attributes "
        f"{', '.join(names)} together: add a pattern that has them all as axes, or leave those queries out"
    )


LISTED = 4
"""Time of one transform of the cycle, in multiples of the time of listing as many cells as it has points."""
CELLS_AT_ONCE = 1 << 24
"""Largest number of cells that are listed at a time."""


def even_sums(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the score (row 0) and squared score (row 1) of every cell (2, N).

    The set of a report (b, i, g) is r^i T_b + g. Its cells are listed, or T_b is convolved with the shifts of all
    reports of one multiple, whichever takes fewer steps.
    """
    held, (low, high) = _held(reports, scores), scores.levels
    return np.stack([reports.users * low**k + (high**k - low**k) * held for k in (1, 2)])


def even_products(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the sum over reports of s_u s_v for every two cells u and v of the domain (n x n)."""
    n = reports.strategy.domain_size
    held, both = np.zeros(n), np.zeros((n, n))
    for cells, counts in _listed(reports, scores.points):
        inside = np.zeros((len(cells), scores.points))
        np.put_along_axis(inside, cells, 1.0, axis=1)
        inside = inside[:, :n]
        weighted = inside * counts[:, None]
        held += weighted.sum(axis=0)
        both += inside.T @ weighted
    low, high = scores.levels
    rise = high - low
    return reports.users * low**2 + low * rise * np.add.outer(held, held) + rise**2 * both


def _held(reports: PlacedReports, scores: EvenScores) -> np.ndarray:
    """Return the number of reports whose set contains each cell (N,)."""
    strategy, N, outputs = reports.strategy, scores.points, reports.counts.outputs
    if len(outputs) * scores.size <= LISTED * N * len(
        np.unique(outputs // N)
    ):  # one number for each multiple
        found = np.zeros(N)
        for cells, counts in _listed(reports, scores.size):
            found += np.bincount(cells.ravel(), np.repeat(counts, scores.size), N)
        return found
    transforms: dict[int, np.ndarray] = {}
    total = np.zeros(N // 2 + 1, dtype=complex)
    for placed in reports.placed:
        pattern = strategy.patterns[placed.pattern]
        if placed.pattern not in transforms:
            transforms = {placed.pattern: np.fft.fft(pattern.inside)}
        multiplied = transforms[placed.pattern][pattern.multiplied(placed.multiple)]
        total += rfft(np.bincount(placed.shifts[:, 0], placed.counts, N)) * multiplied[: len(total)]
    return np.rint(irfft(total, N))


def _listed(reports: PlacedReports, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the cells in the sets of k reports (k, |T|) and the counts of the reports (k,), block by block.

    A block has at most CELLS_AT_ONCE / width reports, so that an array (k, width) stays small.
    """
    strategy, step = reports.strategy, max(1, CELLS_AT_ONCE // width)
    for b, places in strategy.by_pattern(reports.counts.outputs):
        pattern, local = strategy.patterns[b], reports.counts.outputs[places] - strategy.offsets[b]
        cells, counts = np.flatnonzero(pattern.inside), reports.counts.counts[places]
        scales, shifts = pattern.scales[strategy.multiples(b, local)], local % pattern.cells
        for first in range(0, len(local), step):
            part = slice(first, first + step)
            moved = cells * scales[part, None] + shifts[part, None]
            yield moved % pattern.cells, counts[part]


@dataclass(frozen=True, eq=False)
class Placed:
    """The k distinct reports of one multiple of one pattern, with the count of each."""

    pattern: int
    multiple: int
    """Index of the multiple of the pattern."""
    attributes: np.ndarray
    """Index of the attribute that each axis of each report lies on (k, axes), int32."""
    shifts: np.ndarray
    """Shift of each report along each axis (k, axes), int32."""
    counts: np.ndarray
    """Number of times that each report came (k,), floats that hold whole numbers."""


@dataclass(frozen=True, eq=False)
class PlacedReports:
    """A strategy and the counts of the reports made with it."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    counts: SparseCounts

    @staticmethod
    def of(strategy: TranslationStrategy, counts: Counts) -> PlacedReports:
        """Return the strategy with its counts, after checking the counts."""
        if not isinstance(counts, SparseCounts):
            counts = SparseCounts.of(whole_counts(counts, strategy.outputs).astype(np.int64))
        if counts.size != strategy.outputs:
            raise ValueError(
                f"counts of {counts.size} outputs were given, but the strategy has {strategy.outputs}: use the "
                "strategy that the clients used"
            )
        check_number(counts.sum())
        for b, places in strategy.by_pattern(counts.outputs):
            if strategy.weights[b] == 0:
                raise impossible_report(int(counts.outputs[places[0]]))
        return PlacedReports(strategy, counts)

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.counts.sum()

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The reports grouped by pattern and multiple."""
        return tuple(self._decoded())

    def _decoded(self) -> Iterator[Placed]:
        for b, places in self.strategy.by_pattern(self.counts.outputs):
            local, counts = self.counts.outputs[places] - self.strategy.offsets[b], self.counts.counts[places]
            multiples = self.strategy.multiples(b, local)
            ends = np.flatnonzero(np.diff(multiples)) + 1  # outputs rise, and so do multiples
            for part, own in zip(np.split(local, ends), np.split(counts, ends), strict=True):
                attributes, shifts = self.strategy.decoded(b, part)
                multiple = int(self.strategy.multiples(b, part[:1])[0])
                yield Placed(
                    b, multiple, attributes.astype(np.int32), shifts.astype(np.int32), own.astype(float)
                )
