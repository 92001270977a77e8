"""Reports of a strategy of translates, decoded: which pattern, on which attributes, by which shifts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.accuracy.score import Scores
from stratagem.accuracy.two_valued_scores import EvenScores
from stratagem.accuracy.window import Window
from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.reconstruction import check_number, impossible_report, whole_counts
from stratagem.math.transform import irfft, rfft
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.merged import merged

LISTED = 4
"""Time of one transform of the cycle, in multiples of the time of listing as many cells as it has points."""
BLOCK = 1 << 24
"""Largest number of cells that are listed at a time."""


def even_sums(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sums over reports of the score (row 0) and squared score (row 1) of every cell (2, N).

    The set of a report (b, i, g) is r^i T_b + g. Its cells are listed, or T_b is convolved with the shifts of all
    reports of one multiple, whichever takes fewer steps.
    """
    held, (low, high) = _held(evidence, scores), scores.levels
    return np.stack([evidence.users * low**k + (high**k - low**k) * held for k in (1, 2)])


def even_products(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the sum over reports of s_u s_v for every two cells u and v of the domain (n x n)."""
    n = evidence.strategy.domain_size
    held, both = np.zeros(n), np.zeros((n, n))
    for cells, counts in _listed(evidence, scores.points):
        inside = np.zeros((len(cells), scores.points))
        np.put_along_axis(inside, cells, 1.0, axis=1)
        inside = inside[:, :n]
        weighted = inside * counts[:, None]
        held += weighted.sum(axis=0)
        both += inside.T @ weighted
    low, high = scores.levels
    rise = high - low
    return evidence.users * low**2 + low * rise * np.add.outer(held, held) + rise**2 * both


def _held(evidence: Evidence, scores: EvenScores) -> np.ndarray:
    """Return the number of reports whose set contains each cell (N,)."""
    strategy, N, outputs = evidence.strategy, scores.points, evidence.counts.outputs
    if len(outputs) * scores.size <= LISTED * N * len(
        np.unique(outputs // N)
    ):  # one number for each multiple
        found = np.zeros(N)
        for cells, counts in _listed(evidence, scores.size):
            found += np.bincount(cells.ravel(), np.repeat(counts, scores.size), N)
        return found
    transforms: dict[int, np.ndarray] = {}
    total = np.zeros(N // 2 + 1, dtype=complex)
    for reports in evidence.placed:
        pattern = strategy.patterns[reports.pattern]
        if reports.pattern not in transforms:
            transforms = {reports.pattern: np.fft.fft(pattern.inside)}
        multiplied = transforms[reports.pattern][pattern.multiplied(reports.multiple)]
        total += rfft(np.bincount(reports.shifts[:, 0], reports.counts, N)) * multiplied[: len(total)]
    return np.rint(irfft(total, N))


def _listed(evidence: Evidence, width: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the cells in the sets of k reports (k, |T|) and the counts of the reports (k,), block by block.

    A block has at most BLOCK / width reports, so that an array (k, width) stays small.
    """
    strategy, step = evidence.strategy, max(1, BLOCK // width)
    for b, places in strategy.by_pattern(evidence.counts.outputs):
        pattern, local = strategy.patterns[b], evidence.counts.outputs[places] - strategy.offsets[b]
        cells, counts = np.flatnonzero(pattern.inside), evidence.counts.counts[places]
        scales, shifts = pattern.scales[strategy.multiples(b, local)], local % pattern.cells
        for first in range(0, len(local), step):
            part = slice(first, first + step)
            moved = cells * scales[part, None] + shifts[part, None]
            yield moved % pattern.cells, counts[part]


@dataclass(frozen=True, eq=False)
class Gap:
    """Answers of `Window` to prefixes of n points of a cycle of N, and their squared scores.

    A report (b, g) adds a_t(g) + c_t to the prefix t, a_t(g) = P(t - g) - sum_k psi_k(t) mu_k(g): P the sums along
    the cycle of its density K/N - 1/N, of mean zero, mu_k(g) the mean of P(p - g) over block k of the gap.
    """

    evidence: Evidence
    scores: Scores

    @cached_property
    def window(self) -> Window:
        """The unbiased estimator of the prefix counts."""
        strategy = self.evidence.strategy
        (n,), (cycle,) = strategy.sizes, strategy.cycles
        return Window(n, cycle, self.scores.information((0,))[: cycle // 2 + 1])

    def squares(self) -> np.ndarray:
        """Return the sum over reports of the squared scores of every prefix (n,)."""
        window, n, cycle = self.window, self.window.size, self.window.cycle
        psi, c = window.weights, window.constants
        blocks = np.zeros((len(psi), cycle))
        for block, first, last in zip(blocks, window.edges, window.edges[1:], strict=False):
            block[first:last] = 1 / (last - first)
        blocks, total = np.fft.rfft(blocks), c**2 * self.evidence.users
        for reports in self.evidence.placed:
            histogram = np.bincount(reports.shifts[:, 0], reports.counts, cycle)
            density = self.scores.density(
                self.scores.transform(reports.pattern, reports.multiple), (0,), (0,)
            )
            P = np.cumsum(density - 1) / cycle
            P -= P.mean()
            along, counted = np.fft.rfft(P), np.fft.rfft(histogram)
            means = np.fft.irfft(blocks * along.conj(), cycle)
            across = np.fft.irfft(np.fft.rfft(histogram * means) * along, cycle)[:, :n]
            first = np.fft.irfft(counted * along, cycle)[:n] - (means @ histogram) @ psi
            mixed = ((means * histogram) @ means.T) @ psi - 2 * across
            total += np.fft.irfft(counted * np.fft.rfft(P**2), cycle)[:n] + 2 * c * first
            total += np.einsum("kt,kt->t", psi, mixed)
        return total

    def least(self) -> np.ndarray:
        """Return the variance (n,) of the score of one report if all translates are equally likely."""
        return self.window.variances / self.window.size


def check_sizes(sizes: tuple[int, ...], workload: Workload) -> None:
    """Refuse a workload whose attributes have other sizes than those of the strategy.

    Raises:
        ValueError: if the sizes differ.
    """
    if workload.domain.sizes != sizes:
        raise ValueError(
            f"the strategy has attributes of sizes {_shown(sizes)}, the workload {_shown(workload.domain.sizes)}: "
            "both must speak of the same domain"
        )


def _shown(sizes: tuple[int, ...]) -> str:
    return " x ".join(map(str, sizes[:4])) + (f" x ... ({len(sizes)} in all)" if len(sizes) > 4 else "")


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
class Evidence:
    """A strategy and the counts of the reports made with it."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    counts: SparseCounts
    sizes: tuple[int, ...]
    """Number of values of each attribute of the domain."""

    @staticmethod
    def of(strategy: TranslationStrategy, counts: Counts) -> Evidence:
        """Return the strategy with its counts, after checking the counts.

        Raises:
            ValueError: for counts of another number of outputs, that are no whole numbers, hold no report, or hold
                one that the strategy never makes.
        """
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
        return Evidence(strategy.on_cycles(), counts, strategy.sizes)

    def asked(self, workload: Workload) -> Workload:
        """Return the workload over the attributes of `strategy`, merged into one where it has one cycle.

        Raises:
            ValueError: for a workload over other attributes than the domain's.
        """
        check_sizes(self.sizes, workload)
        return workload if len(self.strategy.cycles) > 1 else merged(workload)

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

    @property
    def deepest(self) -> int:
        """Largest number of attributes that a report tells about together."""
        return max(len(pattern.axes) for pattern in self.strategy.patterns)

    @cached_property
    def group(self) -> np.ndarray:
        """Index of the group of each attribute (d,)."""
        group = np.empty(len(self.strategy.sizes), dtype=np.int64)
        for g, members in enumerate(self.strategy.groups):
            group[list(members)] = g
        return group
