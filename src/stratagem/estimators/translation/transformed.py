"""Exact variances under translates of patterns over the whole domain, by transforms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.estimators.translation.line import Window
from stratagem.estimators.translation.score import SEEN, even_scores
from stratagem.math.transform import fast_length, irfft, multiplicities, rfft, rfftn
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import unseen
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.ranges import AllRange, Prefix


def answer_energies(workload: Workload, r: np.ndarray) -> np.ndarray:
    """Return ||W r_g||^2 for every shift g of the cycle, r_g[u] = r[(u - g) mod N], u = 0, ..., n - 1.

    `workload` over one attribute of n values, `r` (N,) with N >= n; O(N log N), for each row if it is explicit.
    """
    n = workload.domain_size
    match workload:
        case Weighted():
            return workload.weight**2 * answer_energies(workload.workload, r)
        case Stack():
            return np.sum([answer_energies(part, r) for part in workload.parts], axis=0)
        case Identity():
            return _Runs(np.square(r)).sums(0, n)
        case Total():
            return np.square(_Runs(r).sums(0, n))
        case Prefix():
            return _prefixes(_Runs(r), n)
        case AllRange():
            return _ranges(_Runs(r), n, workload.width)
        case Explicit():
            power = np.conj(rfft(r))
            return sum(
                (np.square(irfft(rfft(row, len(r)) * power, len(r))) for row in workload.rows),
                np.zeros(len(r)),
            )
    raise ValueError(
        f"the exact variance of {type(workload).__name__} on {n} values is not known by transforms: use a domain "
        "of at most 1024 cells, or ranges, prefixes, histograms and explicit rows"
    )


class _Runs:
    """Sums of r over runs of consecutive cells, in the windows that begin at cell -g, for all shifts g."""

    def __init__(self, r: np.ndarray):
        self.cycle = len(r)
        self.below = np.concatenate([[0.0], np.cumsum(np.concatenate([r, r]))])
        """Cumulative sums of r over two turns of the cycle (2 N + 1,), the first one 0."""
        self.start = -np.arange(self.cycle) % self.cycle
        """First cell of the window for each shift g (N,)."""

    def sums(self, first: int, last: int) -> np.ndarray:
        """Return the sum over the cells first, ..., last - 1 of the window, (N,)."""
        return self.below[self.start + last] - self.below[self.start + first]

    def of(self, values: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return sum_j values[start + j] over first <= j < last, (N,), for values (2 N + 1,) on the two turns."""
        total = np.concatenate([[0.0], np.cumsum(values)])
        return total[self.start + last] - total[self.start + first]


def _prefixes(runs: _Runs, n: int) -> np.ndarray:
    """Return sum_j (C_j - C_0)^2 over j = 1, ..., n, C_j the sum of the first j cells of the window."""
    C, origin = runs.below, runs.below[runs.start]
    return runs.of(C**2, 1, n + 1) - 2 * origin * runs.of(C, 1, n + 1) + n * origin**2


def _ranges(runs: _Runs, n: int, width: int) -> np.ndarray:
    """Return sum (C_j - C_i)^2 over 0 <= i < j <= n, j - i <= width.

    C_j meets min(j, width) earlier and min(n - j, width) later ends, and the products C_i C_j of a place j
    are C_j times a difference of sums of C.
    """
    C = runs.below
    if width == n:
        return (n + 1) * runs.of(C**2, 0, n + 1) - np.square(runs.of(C, 0, n + 1))
    place = np.arange(n + 1)
    degrees = np.minimum(place, width) + np.minimum(n - place, width)
    length = fast_length(len(C) + n)
    squares = irfft(rfft(C**2, length) * np.conj(rfft(degrees.astype(float), length)), length)
    before = np.concatenate([[0.0], np.cumsum(C)[:-1]])
    far = C.copy()
    far[width:] *= before[width:] - before[:-width]
    near = runs.of(C * before, 0, width) - before[runs.start] * runs.of(C, 0, width)
    return squares[runs.start] - 2 * (near + runs.of(far, width, n + 1))


def transformed_objective(workload: Workload, strategy: TranslationStrategy) -> float:
    """Return L with the estimators by transforms at any n; no less than `Orbits.objective`.

    Raises:
        UnsupportedWorkloadError: as `Orbits.accuracy`.
        ValueError: as `Orbits.accuracy`.
    """
    if strategy.window:
        return float(by_transforms(workload, strategy)[0].sum()) + workload.frobenius_squared
    m = half_eigenvalues(strategy)
    v = workload.structure.translation_spectrum()[..., : m.shape[-1]] * multiplicities(strategy.cycles)
    seen = m > SEEN
    missing = unseen(workload, seen)
    if missing is not None:
        raise UnsupportedWorkloadError(
            "the strategy cannot answer this workload: no pattern sees the character number "
            f"{int(missing.argmax())} and others that the queries need: add patterns of other shapes"
        )
    return float((v[seen] / m[seen]).sum())


def largest_of_prefixes(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    """Return an upper bound (n,) on the variance of every prefix at its worst user type, in a window of one cycle.

    A report comes from no user type with more than max x_b N times its mean chance 1/N, x_b = E/(k E + N - k) within a
    pattern of k cells: so much more than the variance if all reports were equally likely, at most.
    """
    E, N = strategy.ratio, math.prod(strategy.cycles)
    sizes = [one.size for one, weight in zip(strategy.patterns, strategy.weights, strict=True) if weight > 0]
    _, variances = by_transforms(workload, strategy)
    assert variances is not None
    return E * N / (min(sizes) * (E - 1) + N) / workload.domain_size * variances


def half_eigenvalues(strategy: TranslationStrategy) -> np.ndarray:
    """Return m = sum_b w_b |x_b^|^2 at the half spectrum of the cycles."""
    total = np.zeros((*strategy.cycles[:-1], strategy.cycles[-1] // 2 + 1))
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        if pattern.multiples == 1:
            total += weight * np.square(np.abs(rfftn(pattern.levels(strategy.ratio))))
        else:
            total += weight * pattern.energies(strategy.ratio)[: len(total)]
    return total


@lru_cache(maxsize=2)
def by_transforms(workload: Workload, strategy: TranslationStrategy) -> tuple[np.ndarray, np.ndarray | None]:
    """Return t_u (n,): sum_b w_b sum_g x_b(u - g) ||a_b(g)||^2 less the second value of `_scored`; and its third.

    A search asks for the objective of its last strategy, and whoever reports it for the variances of the same; whoever
    saves it compares it with its table of whole numbers.
    """
    if len(strategy.cycles) > 1:
        raise ValueError(
            f"variances by user type on {workload.domain_size} cells of {len(strategy.cycles)} attributes are not "
            "known for queries that translations change: ask for the objective alone"
        )
    n, cycle = workload.domain_size, math.prod(strategy.cycles)
    weight, inner = workload.unweighted
    even = even_scores(strategy) if inner.by_cell else None
    if even:
        return np.broadcast_to(weight**2 * even.variance(n), n), None
    m = half_eigenvalues(strategy)
    if not (m > SEEN).all():
        raise UnsupportedWorkloadError(
            "the strategy cannot answer this workload: its patterns leave out some frequency of the cycle"
        )
    energies, subtracted, variances = _scored(workload, strategy, m)
    moments = np.zeros(len(m), dtype=complex)
    for chance, x in _transforms(strategy):
        moments += chance * x * rfft(energies(x))
    per_type = irfft(moments, cycle)[:n] - subtracted
    per_type.setflags(write=False)
    return per_type, variances


def _transforms(strategy: TranslationStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the probability and x^ at the half spectrum (N // 2 + 1,) of every multiple of every pattern on a cycle."""
    for weight, pattern in zip(strategy.weights, strategy.patterns, strict=True):
        if weight == 0:
            continue
        transform = rfft(pattern.levels(strategy.ratio))
        if pattern.multiples == 1:
            yield float(weight), transform
            continue
        full = np.concatenate([transform, np.conj(transform[pattern.cells - len(transform) : 0 : -1])])
        for multiple in range(pattern.multiples):
            yield float(weight) / pattern.multiples, full[pattern.multiplied(multiple)][: len(transform)]


def _scored(
    workload: Workload, strategy: TranslationStrategy, m: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray, np.ndarray | None]:
    """Return the function from x_b^ to ||a_b(g)||^2 (N,), and the term (n,) subtracted from its mean.

    In a window also the variances (n,) of `Window`, else None.
    """
    n, cycle = workload.domain_size, math.prod(strategy.cycles)
    weight, inner = workload.unweighted
    if strategy.window and inner.cumulative:
        window = Window(n, cycle, m)
        return lambda x: weight**2 * window.energies(x), weight**2 * window.squares, window.variances
    unit = np.zeros(cycle)
    unit[0] = 1
    return lambda x: answer_energies(workload, irfft(x / m, cycle)), answer_energies(workload, unit)[:n], None
