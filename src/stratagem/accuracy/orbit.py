"""Exact variance of a workload's answers from translates of patterns over the whole domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TypeVar

import numpy as np

from stratagem.accuracy.accuracy import (
    Accuracy,
    UnsupportedWorkloadError,
    accuracy_of,
    objective_of,
    refuse_prior,
)
from stratagem.accuracy.junta import check_sizes
from stratagem.accuracy.support import check_domain, check_support
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.accuracy.window import Window
from stratagem.math.linalg import PseudoInverse, centred_inverse
from stratagem.math.transform import fast_length, irfft, irfftn, multiplicities, rfft, rfftn
from stratagem.strategies import OrbitStrategy, TranslationStrategy
from stratagem.strategies.strategy import apply_inverse
from stratagem.workloads import Workload
from stratagem.workloads.centring import root, total_term
from stratagem.workloads.combined import Stack, Weighted, unweighted
from stratagem.workloads.dependence import unseen
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity, Total
from stratagem.workloads.merged import merged
from stratagem.workloads.ranges import AllRange, Prefix


def answer_energies(workload: Workload, r: np.ndarray) -> np.ndarray:
    """Return ||W r_g||^2 for every shift g of the cycle, r_g[u] = r[(u - g) mod N], u = 0, ..., n - 1.

    `workload` over one attribute of n values, `r` (N,) with N >= n; O(N log N), for each row if it is explicit.

    Raises:
        ValueError: for another workload.
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


SMALL = 1024
"""Domain size up to which windows are evaluated under the optimal reconstruction, by n x n arrays."""
NOTHING = 1e-24
"""Eigenvalue of the information matrix that counts as zero below this: transforms leave some 1e-32."""


Translates = TypeVar("Translates", bound=TranslationStrategy)


def asked(workload: Workload, strategy: Translates) -> tuple[Workload, Translates]:
    """Return the workload and the strategy, merged into one attribute where there is one cycle.

    Raises:
        ValueError: if the domains differ there.
    """
    if len(strategy.cycles) > 1 or workload.domain.sizes == (1,):
        return workload, strategy
    check_sizes(workload, strategy)
    return merged(workload), strategy.on_cycles()


@accuracy_of.register
def _(strategy: OrbitStrategy, workload: Workload, prior: np.ndarray | None) -> Accuracy:
    return orbit_accuracy(*_asked_of_orbits(workload, strategy, prior))


@objective_of.register
def _(strategy: OrbitStrategy, workload: Workload, F: np.ndarray | None, prior: np.ndarray | None) -> float:
    return orbit_objective(*_asked_of_orbits(workload, strategy, prior))


def _asked_of_orbits(
    workload: Workload, strategy: OrbitStrategy, prior: np.ndarray | None
) -> tuple[Workload, OrbitStrategy]:
    """Return what `asked` does, refusing a prior."""
    refuse_prior(prior)
    return asked(workload, strategy)


def orbit_accuracy(workload: Workload, strategy: OrbitStrategy) -> Accuracy:
    """Return the exact accuracy of the estimator that is used on the reports of the strategy.

    * Cycles as long as the attributes: the optimal reconstruction, by characters. Where V is not invariant,
      variances by type come from transforms on one attribute, on several from n x n arrays up to n = 1024.
    * Windows up to n = 1024: the optimal reconstruction, by n x n arrays; a histogram, and sets whose multiples give
      all characters the same eigenvalue, as below.
    * Longer windows: prefixes by `Window`; other queries from r_b^ = x_b^/m, whose translates estimate cells
      without bias.

    Raises:
        UnsupportedWorkloadError: if a query needs a character at which M is zero.
        ValueError: if the domains differ, or on larger domains for queries without transforms.
    """
    check_domain(workload, strategy)
    if workload.symmetry == strategy.cycles:
        value = orbit_objective(workload, strategy)
        return Accuracy(value, np.array([value / workload.scale - workload.mean_square]), workload.queries)
    if _written_out(workload, strategy):
        return _optimal(workload, strategy)
    per_type = _transformed(workload, strategy)
    return Accuracy(float(per_type.sum()) + workload.frobenius_squared, per_type, workload.queries)


def orbit_objective(workload: Workload, strategy: OrbitStrategy) -> float:
    """Return L of `orbit_accuracy`; without a window sum_chi v_chi/m_chi, v = chi^* V chi/n, at any workload.

    Raises:
        UnsupportedWorkloadError: as `orbit_accuracy`.
        ValueError: as `orbit_accuracy`.
    """
    check_domain(workload, strategy)
    if strategy.window and _written_out(workload, strategy):
        F = root(workload)
        return total_term(workload) + float(np.sum(F * _solved(workload, F, strategy)))
    return transformed_objective(workload, strategy)


def transformed_objective(workload: Workload, strategy: OrbitStrategy) -> float:
    """Return L with the estimators by transforms at any n; no less than `orbit_objective`.

    Raises:
        UnsupportedWorkloadError: as `orbit_accuracy`.
        ValueError: as `orbit_accuracy`.
    """
    if strategy.window:
        return float(_transformed(workload, strategy).sum()) + workload.frobenius_squared
    m = half_eigenvalues(strategy)
    v = workload.structure.translation_spectrum()[..., : m.shape[-1]] * multiplicities(strategy.cycles)
    seen = m > NOTHING
    missing = unseen(workload, seen)
    if missing is not None:
        raise UnsupportedWorkloadError(
            "the strategy cannot answer this workload: no pattern sees the character number "
            f"{int(missing.argmax())} and others that the queries need: add patterns of other shapes"
        )
    return float((v[seen] / m[seen]).sum())


def half_eigenvalues(strategy: OrbitStrategy) -> np.ndarray:
    """Return m = sum_b w_b |x_b^|^2 at the half spectrum of the cycles."""
    total = np.zeros((*strategy.cycles[:-1], strategy.cycles[-1] // 2 + 1))
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        if pattern.multiples == 1:
            total += weight * np.square(np.abs(rfftn(pattern.levels(strategy.ratio))))
        else:
            total += weight * pattern.energies(strategy.ratio)[: len(total)]
    return total


def _written_out(workload: Workload, strategy: OrbitStrategy) -> bool:
    """Return whether n x n arrays are formed: for n up to 1024, where no estimator by transforms is used."""
    easy = len(strategy.sizes) == 1 and (not strategy.window or isinstance(workload, Identity))
    return workload.domain_size <= SMALL and not easy and not even_scores(strategy)


def _optimal(workload: Workload, strategy: OrbitStrategy) -> Accuracy:
    """Return the accuracy of the optimal reconstruction, summed pattern by pattern.

    The products of all translates of a pattern with M^+ F, and the sums of their levels, are correlations on the
    cycles: transforms, not N x n arrays.
    """
    n, cycles = workload.domain_size, strategy.cycles
    cells = tuple(strategy.coordinates(np.arange(n)).T)
    F = root(workload)
    B = _solved(workload, F, strategy)
    placed = np.zeros((B.shape[1] + 1, *cycles))
    placed[(slice(None), *cells)] = np.vstack([B.T, np.ones(n)])
    seen, moments = rfftn(placed, len(cycles)), np.zeros(1)
    for weight, levels in _levels(strategy):
        x = rfftn(levels.reshape(cycles))
        found = np.square(irfftn(np.conj(x) * seen, cycles))
        moments = moments + weight * x * rfftn(found[:-1].sum(axis=0) / found[-1])
    per_type = np.maximum(irfftn(moments, cycles)[cells] - np.square(F).sum(axis=1), 0)
    return Accuracy(total_term(workload) + float(np.sum(F * B)), per_type, workload.queries)


def _solved(workload: Workload, F: np.ndarray, strategy: OrbitStrategy) -> np.ndarray:
    """Return M^+ F for F (n x r) as in `root`, M the information matrix (n x n)."""
    n = len(F)
    C = np.zeros((n, n))
    for weight, rows in _translates(strategy):
        sums = rows.sum(axis=1, keepdims=True)
        spread = (rows - sums / n) / np.sqrt(sums)
        C += weight * (spread.T @ spread)
    inverse = centred_inverse(C)
    if isinstance(inverse, PseudoInverse):
        check_support(workload, inverse.null)
    return apply_inverse(inverse, F)


def _translates(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield each pattern's weight and the levels x_b(u - g) of all its translates, (shifts, n)."""
    cells = strategy.coordinates(np.arange(strategy.domain_size))
    shifts = np.stack(np.unravel_index(np.arange(np.prod(strategy.cycles)), strategy.cycles), axis=1)
    moved = (cells - shifts[:, None]) % np.array(strategy.cycles)
    places = np.asarray(np.ravel_multi_index(tuple(np.moveaxis(moved, 2, 0)), strategy.cycles))
    for weight, levels in _levels(strategy):
        yield weight, levels[places]


def _levels(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the probability of every multiple of every pattern and its levels x_b on all N cells of the cycles (N,)."""
    cells = np.arange(math.prod(strategy.cycles))
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        for multiple in range(pattern.multiples if weight > 0 else 0):
            levels = pattern.levels(strategy.ratio).ravel()[pattern.divided(cells, multiple)]
            yield float(weight) / pattern.multiples, levels


@lru_cache(maxsize=2)
def _transformed(workload: Workload, strategy: OrbitStrategy) -> np.ndarray:
    """Return t_u (n,): sum_b w_b sum_g x_b(u - g) ||a_b(g)||^2 less the second value of `_scored`.

    A search asks for the objective of its last strategy, and whoever reports it for the variances of the same; whoever
    saves it compares it with its table of whole numbers.
    """
    if len(strategy.cycles) > 1:
        raise ValueError(
            f"variances by user type on {workload.domain_size} cells of {len(strategy.cycles)} attributes are not "
            "known for queries that translations change: ask for the objective alone"
        )
    n, cycle = workload.domain_size, math.prod(strategy.cycles)
    weight, inner = unweighted(workload)
    even = even_scores(strategy) if isinstance(inner, Identity) else None
    if even:
        return np.broadcast_to(weight**2 * even.variance(n), n)
    m = half_eigenvalues(strategy)
    if not (m > NOTHING).all():
        raise UnsupportedWorkloadError(
            "the strategy cannot answer this workload: its patterns leave out some frequency of the cycle"
        )
    energies, subtracted = _scored(workload, strategy, m)
    moments = np.zeros(len(m), dtype=complex)
    for chance, x in _transforms(strategy):
        moments += chance * x * rfft(energies(x))
    per_type = irfft(moments, cycle)[:n] - subtracted
    per_type.setflags(write=False)
    return per_type


def _transforms(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
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
    workload: Workload, strategy: OrbitStrategy, m: np.ndarray
) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """Return the function from x_b^ to ||a_b(g)||^2 (N,), and the term (n,) subtracted from its mean."""
    n, cycle = workload.domain_size, math.prod(strategy.cycles)
    weight, inner = unweighted(workload)
    if strategy.window and isinstance(inner, Prefix):
        window = Window(n, cycle, m)
        return lambda x: weight**2 * window.energies(x), weight**2 * window.squares
    unit = np.zeros(cycle)
    unit[0] = 1
    return lambda x: answer_energies(workload, irfft(x / m, cycle)), answer_energies(workload, unit)[:n]
