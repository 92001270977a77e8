"""Exact variance under strategies that translations leave unchanged: sums over characters, on domains of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NoReturn

import numpy as np

from stratagem.accuracy import Accuracy, UnsupportedWorkloadError, evaluate
from stratagem.strategies import InvariantStrategy, JuntaStrategy, OrbitStrategy
from stratagem.strategies.invariant import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.spectrum import Spectrum, Type, common

COUNTABLE = 1 << 53
"""Domain size up to which objectives are stated for all user types together."""
NEEDED = 1e-12
"""Share of tr V below which the queries do not depend on a character: rounding of a transform."""


@dataclass(frozen=True, eq=False)
class InvariantAccuracy:
    """The variance of a workload's answers where V and M are invariant: every user type adds the same.

    With v and m the eigenvalues of V/n and M at the characters chi of the domain,
    L(Q)/n = sum_chi v/m and t_u = sum_chi v (1/m - 1) for every user type u.
    """

    share: float
    """L(Q)/n = sum_chi v/m, per user type."""
    variance: float
    """t_u, the same for every u: total variance over all queries that one user adds, in squared counts."""
    queries: int
    """Number p of queries."""
    domain_size: int
    """Number n of user types."""

    @property
    def scale(self) -> int:
        """n where all user types can be counted (n <= 2^53), else 1: the objective is then per user type."""
        return self.domain_size if self.domain_size <= COUNTABLE else 1

    @property
    def objective(self) -> float:
        """L(Q) = tr(M^+ V) times scale/n."""
        return self.scale * self.share

    @property
    def worst_case_variance(self) -> float:
        """max_u t_u = t_u."""
        return self.variance

    @property
    def average_variance(self) -> float:
        """mean_u t_u = t_u."""
        return self.variance

    def samples_for(self, alpha: float) -> float:
        """Return the users needed for a normalised variance alpha, t_u/(p alpha), as `Accuracy.samples_for`.

        Raises:
            ValueError: if alpha is not a positive number.
        """
        return Accuracy(self.objective, np.array([self.variance]), self.queries).samples_for(alpha)


def evaluate_invariant(workload: Workload, strategy: InvariantStrategy) -> Accuracy | InvariantAccuracy:
    """Return the exact accuracy of an invariant strategy whose cycles are as long as its attributes.

    A workload that is not invariant has another variance for each user type: the matrix of the strategy says
    which, where it can be written out.

    Raises:
        UnsupportedWorkloadError: if a query needs a character at which M is zero, naming its attributes.
        ValueError: if the domains differ, the domain is a window of longer cycles, or the workload is not
            invariant and the matrix would be too large.

    Example:
        >>> import stratagem as st
        >>> parity = st.Pattern.of((0,), np.array([1, 0]))
        >>> one = st.JuntaStrategy((2,) * 100, (tuple(range(100)),), (parity,), np.ones(1), np.e)
        >>> round(evaluate_invariant(st.marginals("2^100", 1), one).variance, 1)
        23363.5
    """
    if workload.spectrum is None and workload.symmetry is None:
        check_sizes(workload, strategy)
        if strategy.outputs * strategy.domain_size > DENSE:
            raise ValueError(
                "the user types have different variances under this workload, and the matrix of the strategy is "
                "too large to tell which: ask for average_share, or use a smaller domain"
            )
        return evaluate(workload, strategy.dense())
    share, variance = _totals(workload, strategy)
    return InvariantAccuracy(share, variance, workload.queries, workload.domain_size)


def average_share(workload: Workload, strategy: InvariantStrategy) -> float:
    """Return L(Q)/n = tr(M^+ V)/n, exact for every workload: M is invariant, so V may be averaged.

    tr(M^-1 V) = tr(M^-1 V') with V' the mean of V over all translations.

    Raises:
        UnsupportedWorkloadError, ValueError: as `evaluate_invariant`, except for large matrices.
    """
    return _totals(workload, strategy)[0]


def cell_variance(strategy: InvariantStrategy, attributes: Sequence[int]) -> float:
    """Return the variance that a user adds to the estimated count of one cell of the table of `attributes`.

    (1/cells^2) sum_(S' in S) sum_chi (1/m - 1) over the characters chi that touch exactly S'. It is the mean
    over the user types: exact for uniform data, the same for every cell. Summed over the cells of the table it
    is exact for every data vector.

    Raises:
        UnsupportedWorkloadError: if M is zero at a character of the table.
        ValueError: for unknown or repeated attributes, or a window of longer cycles.
    """
    chosen, d = list(attributes), len(strategy.sizes)
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(d)):
        raise ValueError(
            f"a table was given the attributes {chosen}: give different numbers from 0 to {d - 1}"
        )
    total = 0.0
    for picked in product((False, True), repeat=len(chosen)):
        touched = [i for i, one in zip(chosen, picked, strict=True) if one]
        m = _supported(_eigenvalues_at(strategy, touched), [str(i) for i in touched])
        total += float(np.sum(1 / m - 1))
    return max(total, 0.0) / math.prod(strategy.sizes[i] for i in chosen) ** 2


def check_sizes(workload: Workload, strategy: InvariantStrategy) -> None:
    """Refuse a workload and a strategy over different attributes.

    Raises:
        ValueError: if the sizes differ.
    """
    if workload.domain.sizes != strategy.sizes:
        raise ValueError(
            f"the strategy has {len(strategy.sizes)} attributes of {strategy.domain_size} cells and the workload "
            f"the domain {workload.domain}: both must have the same attribute sizes in the same order"
        )


def _totals(workload: Workload, strategy: InvariantStrategy) -> tuple[float, float]:
    """Return sum_chi v/m and sum_chi v (1/m - 1)."""
    check_sizes(workload, strategy)
    spectrum = workload.spectrum
    pairs = (
        _by_type(workload, spectrum, strategy)
        if spectrum is not None and isinstance(strategy, JuntaStrategy)
        else _by_character(workload, spectrum, strategy)
    )
    share = variance = 0.0
    for v, m in pairs:
        share += float(np.sum(v / m))
        variance += float(np.sum(v * (1 / m - 1)))
    return share, max(variance, 0.0)


def _by_type(
    workload: Workload, spectrum: Spectrum, strategy: JuntaStrategy
) -> Iterator[tuple[float | np.ndarray, np.ndarray]]:
    """Yield the eigenvalues of V/n, summed over equals, with those of M, for the types of the strategy."""
    fine = spectrum.refined(common([spectrum.groups, strategy.groups]))
    demands: dict[Type, float] = {}
    found: dict[Type, np.ndarray] = {}
    for kind, v, many in zip(fine.types, fine.values, fine.multiplicities, strict=True):
        touched = [i for group, count in zip(fine.groups, kind, strict=True) for i in group[:count]]
        coarse = _type(strategy, touched)
        if v * many > 0:
            demands[coarse] = demands.get(coarse, 0.0) + float(v * many)
            names = [workload.domain.attributes[i] for i in touched]
            found[coarse] = (
                found[coarse] if coarse in found else _supported(strategy.eigenvalues(coarse), names)
            )
    yield from ((demand / found[kind].size, found[kind]) for kind, demand in demands.items())


def _by_character(
    workload: Workload, spectrum: Spectrum | None, strategy: InvariantStrategy
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the eigenvalues of the mean of V/n over all translations, with those of M, at all characters."""
    v = averaged(workload) if spectrum is None else _spread(spectrum)
    m = _eigenvalues(strategy)
    needed = v > NEEDED * v.sum()
    if not (m[needed] > 0).all():
        lost = np.argwhere(needed & ~(m > 0))[0]
        _refuse([workload.domain.attributes[i] for i in np.flatnonzero(lost)])
    yield v[needed], m[needed]


def averaged(workload: Workload) -> np.ndarray:
    """Return the eigenvalues of the mean of V/n over all translations, at all characters, shape `sizes`.

    Raises:
        ValueError: if the Gram matrix would be too large.
    """
    sizes, V = workload.domain.sizes, workload.gram()
    axes, row = tuple(range(len(sizes))), np.zeros(sizes)
    for u, shift in enumerate(np.ndindex(*sizes)):
        row += np.roll(V[u].reshape(sizes), tuple(-step for step in shift), axes)
    return np.maximum(np.fft.fftn(row / workload.domain_size).real / workload.domain_size, 0.0)


def _spread(spectrum: Spectrum) -> np.ndarray:
    """Return the eigenvalues of V/n at all characters of the domain, shape `sizes`."""
    d, code, radix = len(spectrum.sizes), np.zeros((1,) * len(spectrum.sizes), dtype=np.int64), 1
    for group in spectrum.groups:
        for i in group:
            touched = np.arange(spectrum.sizes[i]) > 0
            code = code + radix * touched.reshape([-1 if k == i else 1 for k in range(d)])
        radix *= len(group) + 1
    values = np.zeros(radix)
    radices = np.cumprod([1, *(len(group) + 1 for group in spectrum.groups)])[:-1]
    for kind, v in zip(spectrum.types, spectrum.values, strict=True):
        values[int(np.dot(kind, radices))] = v
    return values[code]


def _eigenvalues(strategy: InvariantStrategy) -> np.ndarray:
    """Return those of M at all characters of the domain, shape `sizes`."""
    if isinstance(strategy, OrbitStrategy):
        return _unwindowed(strategy).eigenvalues
    m = np.empty(strategy.sizes)
    for picked in product((False, True), repeat=len(strategy.sizes)):
        m[tuple(slice(1, None) if one else 0 for one in picked)] = _eigenvalues_at(
            strategy, np.flatnonzero(picked).tolist()
        )
    return m


def _eigenvalues_at(strategy: InvariantStrategy, touched: Sequence[int]) -> np.ndarray:
    """Return M's eigenvalues at the characters that touch exactly these attributes, one axis for each, rising."""
    if isinstance(strategy, JuntaStrategy):
        m = strategy.eigenvalues(_type(strategy, touched))
        return m.transpose(
            np.argsort([i for group in strategy.groups for i in sorted(set(group) & set(touched))])
        )
    place = tuple(slice(1, None) if i in touched else 0 for i in range(len(strategy.sizes)))
    return _unwindowed(strategy).eigenvalues[place]


def _type(strategy: InvariantStrategy, touched: Sequence[int]) -> Type:
    return tuple(len(set(group) & set(touched)) for group in strategy.groups)


def _unwindowed(strategy: InvariantStrategy) -> OrbitStrategy:
    if not isinstance(strategy, OrbitStrategy) or strategy.window:
        raise ValueError(
            "the domain is a window of longer cycles, so that the information matrix has no characters: "
            "use the accuracy of windows"
        )
    return strategy


def _supported(m: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return eigenvalues after checking that none is zero."""
    if not (m > 0).all():
        _refuse(names)
    return m


def _refuse(names: Sequence[str]) -> NoReturn:
    raise UnsupportedWorkloadError(
        f"The strategy cannot answer this workload: no pattern tells apart the values of attributes "
        f"{', '.join(names)} together; add a pattern that has them all as axes, or leave those queries out."
    )
