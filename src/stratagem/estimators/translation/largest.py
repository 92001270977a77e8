"""The largest variances of queries under translates, from one query of every class: cells, ranges by length, rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from stratagem.estimators.accuracy import check_sizes
from stratagem.estimators.translation.score import Labels, Scores, even_scores, placements
from stratagem.estimators.translation.tables import check_answered
from stratagem.estimators.translation.transformed import largest_of_prefixes
from stratagem.math.transform import irfft, irfftn, rfft, rfftn
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.product import translates

WORK, KEPT = 1 << 33, 1 << 25
"""Multiplications for the worst user types of all lengths, some seconds, and entries of the arrays kept for them;
where these are not enough, an upper bound is stated."""


@dataclass(frozen=True, eq=False)
class _Covering:
    """Reports of one pattern or multiple that cover the attribute."""

    chance: float
    """Probability of such a report."""
    transform: np.ndarray
    """x^ (N // 2 + 1,), x the probabilities of the shifts for a user at 0."""
    sums: np.ndarray
    """p(g) = sum_(v < -g) (K(v) - 1)/N (N,), less its mean: the range [0, l) has the score p(g - l) - p(g) + l/N."""


def largest_by_length(strategy: TranslationStrategy, attribute: int, lengths: np.ndarray) -> np.ndarray:
    """Return the variance (k,) of ranges of these lengths at the worst user type, or an upper bound on it.

    With z_l(d) = sum over reports of their chance times sum_g x(d - g) (p(g - l) - p(g))^2, a user at distance d from
    the begin of a range of length l adds z_l(d) - (1[d < l] - l/N)^2. All places of the range and all users are among
    the distances, so that one convolution a length is exact. Where these are too many, x <= 1/N + (x - 1/N)^+ and
    (a - b)^2 <= 2 a^2 + 2 b^2 give z_l(d) <= V(l) + c(d) + c(d - l), V the mean over d and
    c(d) = 2 sum of chance times sum_g (x(d - g) - 1/N)^+ p(g)^2.
    """
    n, N = strategy.sizes[attribute], strategy.cycles[attribute]
    alike = (
        lengths if strategy.window else np.minimum(lengths, N - lengths)
    )  # a range and the rest of the cycle
    distinct, places = np.unique(alike, return_inverse=True)
    chosen = [strategy.patterns[b] for b in np.flatnonzero(strategy.weights)]
    many = sum(pattern.multiples * len(pattern.axes) for pattern in chosen)
    if len(distinct) * many * N * math.log2(N + 1) <= WORK and many * N <= KEPT:
        kept = list(_covering(strategy, attribute))
        return np.array([_largest(kept, int(length), n, N) for length in distinct])[places]
    return _bounds(_covering(strategy, attribute), N)[distinct][places]


def _largest(covering: list[_Covering], length: int, n: int, N: int) -> float:
    """Return the largest variance of a range of a length, over all users and places within the n values."""
    if length == 0:
        return 0.0
    moments = np.zeros(N // 2 + 1, dtype=complex)
    for one in covering:
        moments += one.chance * one.transform * rfft(np.square(np.roll(one.sums, length) - one.sums))
    apart = np.arange(N)
    variance = irfft(moments, N) - np.square((apart < length) - length / N)
    return max(0.0, float(variance[(apart < n) | (apart >= N - (n - length))].max()))


def _bounds(covering: Iterator[_Covering], N: int) -> np.ndarray:
    """Return an upper bound (N,) on the largest variance of ranges of length 0, ..., N - 1."""
    energies, above = np.zeros(N // 2 + 1), np.zeros(N // 2 + 1, dtype=complex)
    for one in covering:
        excess = np.maximum(irfft(one.transform, N) - 1 / N, 0.0)
        above += 2 * one.chance * rfft(excess) * rfft(np.square(one.sums))
        energies += one.chance * np.square(np.abs(rfft(one.sums))) / N
    correlation = irfft(energies, N)
    return np.maximum(2 * (correlation[0] - correlation) + 2 * float(irfft(above, N).max()), 0.0)


def _covering(strategy: TranslationStrategy, attribute: int) -> Iterator[_Covering]:
    """Yield the reports that cover the attribute, pattern by pattern and multiple by multiple."""
    scores, labels, N = Scores(strategy), (strategy.owner[attribute],), strategy.cycles[attribute]
    for b in map(int, np.flatnonzero(strategy.weights)):
        for (axis,), chance in placements(strategy, strategy.patterns[b].axes, labels):
            if axis < 0:
                continue
            for weight, transform in scores.transforms(b):
                K = scores.density(transform, (axis,), labels)
                sums = np.cumsum(K - 1)[::-1] / N
                place = tuple(slice(N // 2 + 1) if t == axis else 0 for t in range(transform.ndim))
                yield _Covering(weight * chance, transform[place], sums - sums.mean())


DIRECT = 512
"""Largest number of cells of a table for which matrices of all translates are formed."""


@lru_cache(maxsize=8)
def _largest_of_cell(strategy: TranslationStrategy, labels: Labels, sizes: tuple[int, ...]) -> float:
    """Return the largest variance of a cell of a table, computed for the first cell of the cycles.

    A report asks for it several times of the same strategies.
    """
    if even := even_scores(strategy):
        own, other = even.second_moments
        return max(own - 1, other)
    moments = moments_of(strategy)
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


ENTRIES = 1 << 20
"""Largest number of queries of a table times its cells."""
PLACEMENTS = 1 << 12
"""Largest number of ways in which a pattern may lie on a table."""


def largest_by_table(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,) under translates whose information matrix has the characters.

    A report that covers the attributes C of a table of some cells gives its query w the answer
    a(g) = sum_c w(c) K(c_C - g)/cells, K as in `Scores`, and comes from u with the chance x_C(u_C - g): two
    convolutions give sum_g x_C(u_C - g) a(g)^2 for all u. The mean over reports less w(u)^2 is the variance.

    Raises:
        ValueError: if the domains differ, for windows of longer cycles, or tables that are too large.
    """
    tables = _Tables(workload, strategy)
    largest = np.empty(workload.queries)
    for margin in workload.margins():
        weight, queries = margin.workload.unweighted
        largest[margin.places] = weight**2 * tables.largest(margin.attributes, queries)[_classes(queries)]
    return np.maximum(largest, 0.0)


def largest_of_kinds(workload: Workload, strategy: TranslationStrategy) -> float:
    """Return the largest entry of `largest_by_table` from one table of every kind."""
    tables, largest = _Tables(workload, strategy), 0.0
    for attributes, weighted in workload.kinds(strategy.owner):
        weight, queries = weighted.unweighted
        largest = max(largest, weight**2 * float(tables.largest(attributes, queries).max()))
    return largest


class _Tables:
    """The largest variances of the queries of tables, by what they depend on."""

    def __init__(self, workload: Workload, strategy: TranslationStrategy) -> None:
        """Check that the strategy answers the workload by its characters, and in few ways.

        Raises:
            UnsupportedWorkloadError: for queries that it does not answer.
            ValueError: as `largest_by_table`.
        """
        check_sizes(workload, strategy.sizes)
        if not strategy.window:
            check_answered(workload, strategy)
        self.strategy, self.moments = strategy, moments_of(strategy)

    def largest(self, attributes: tuple[int, ...], queries: Workload) -> np.ndarray:
        """Return the largest variances (k,) of the queries of a table, one for each of their `_classes`."""
        single = self.strategy.window and len(self.strategy.sizes) == 1
        if single and queries.cumulative:
            return largest_of_prefixes(queries, self.strategy)
        if self.strategy.window and not (single and (queries.by_cell or queries.range_lengths is not None)):
            raise ValueError(
                "the domain is a window of longer cycles, where the variance of every query is known for histograms, "
                "prefixes and ranges alone: use evaluate for their sum"
            )
        labels = tuple(self.strategy.owner[i] for i in attributes)
        _check_ways(self.moments, labels)
        if (lengths := queries.range_lengths) is not None:
            return largest_by_length(self.strategy, attributes[0], lengths)
        if queries.cells is not None:
            return np.array([_largest_of_cell(self.strategy, labels, queries.domain.sizes)])
        rows = _rows(queries)
        return variances(self.moments, labels, rows).reshape(len(rows), -1).max(axis=1)


def _check_ways(moments: Moments, labels: Labels) -> None:
    for axes in moments.kinds:
        if math.prod(1 + axes.count(group) for group in labels) > PLACEMENTS:
            raise ValueError(
                f"patterns of {len(axes)} axes lie on a table of {len(labels)} attributes in too many ways for the "
                "variance of every query: use evaluate for their sum"
            )


def _classes(queries: Workload) -> np.ndarray:
    """Return for every query of a table (p,) the number of the query of `_rows` that stands for it."""
    places = np.zeros(1, dtype=int)
    for one in queries.factored():
        own = one.range_classes if one.cells is None else np.zeros(one.queries, dtype=int)
        places = np.add.outer(places * (1 + own.max()), own).ravel()
    return places


def _rows(queries: Workload) -> np.ndarray:
    """Return a query of a table for each class with the same largest variance (k, sizes of the attributes).

    One cell of an attribute whose cells are asked for one by one, and one range of every length, stand for the others:
    translations of the attribute take it to them and leave the strategy as it is.
    """
    factors = queries.factored()
    lengths = [one.range_lengths for one in factors]
    many = math.prod(
        1 if one.cells is not None else one.queries if own is None else len(own)
        for one, own in zip(factors, lengths, strict=True)
    )
    if many * queries.domain_size > ENTRIES:
        raise ValueError(
            f"a table of {queries.domain_size} cells and {queries.queries} queries is too large for the variance of "
            "every query: use evaluate for their sum"
        )
    rows = np.ones((1, 1))
    for one, own in zip(factors, lengths, strict=True):
        if one.cells is not None:
            rows = np.kron(rows, np.eye(1, one.domain_size))
        else:
            inner = one.matrix() if own is None else (np.arange(one.domain_size) < own[:, None]).astype(float)
            rows = np.kron(rows, inner)
    return rows.reshape(len(rows), *queries.domain.sizes)
