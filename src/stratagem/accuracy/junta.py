"""Exact variance of a workload's answers from juntas: sums over characters, on domains of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import product
from typing import NoReturn

import numpy as np

from stratagem.accuracy.dense import dense_accuracy
from stratagem.accuracy.measure import Accuracy, UnsupportedWorkloadError
from stratagem.accuracy.ordered import variances_by_type
from stratagem.strategies import JuntaStrategy, OrbitStrategy, TableSampling, TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.harmonics import Harmonics, harmonics
from stratagem.workloads.spectrum import Type, common


def junta_accuracy(workload: Workload, strategy: JuntaStrategy | TableSampling) -> Accuracy:
    """Return the exact accuracy of juntas, or of table sampling, under the optimal reconstruction.

    With v and m the eigenvalues of V/n and M at the characters chi of the domain, L(Q)/n = sum_chi v/m and
    t_u = sum_chi v (1/m - 1) for every user type u. A workload that knows an order of values has another
    variance for each user type: the matrix of the strategy says which, where it can be written out.

    Raises:
        UnsupportedWorkloadError: if a query needs a character at which M is zero, naming its attributes.
        ValueError: if the domains differ, or the workload knows an order and there is no matrix of the strategy.

    Example:
        >>> import stratagem as st
        >>> parity = st.Pattern.of((0,), np.array([1, 0]))
        >>> one = st.JuntaStrategy((2,) * 100, (tuple(range(100)),), (parity,), np.ones(1), np.e)
        >>> round(junta_accuracy(st.marginals("2^100", 1), one).worst_case_variance, 1)
        23363.5
    """
    check_sizes(workload, strategy)
    found = harmonics(workload)
    if found is None:
        return _written_out(workload, strategy)
    share = variance = 0.0
    for v, m in _by_type(workload, found, strategy):
        share += float(np.sum(v / m))
        variance += float(np.sum(v * (1 / m - 1)))
    per_type, attributes = np.array([max(variance, 0.0)]), None
    if found.parts:
        if isinstance(strategy, TableSampling):
            _refuse_order()
        per_type, attributes = variances_by_type(found, strategy, variance)
    return Accuracy(workload.scale * share, per_type, workload.queries, attributes)


def cell_variance(strategy: TranslationStrategy, attributes: Sequence[int]) -> float:
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
        m = _supported(eigenvalues_at(strategy, touched), [str(i) for i in touched])
        total += float(np.sum(1 / m - 1))
    return max(total, 0.0) / math.prod(strategy.sizes[i] for i in chosen) ** 2


def check_sizes(workload: Workload, strategy: TranslationStrategy | TableSampling) -> None:
    """Refuse a workload and a strategy over different attributes.

    Raises:
        ValueError: if the sizes differ.
    """
    if workload.domain.sizes != strategy.sizes:
        raise ValueError(
            f"the strategy has {len(strategy.sizes)} attributes of {strategy.domain_size} cells and the workload "
            f"the domain {workload.domain}: both must have the same attribute sizes in the same order"
        )


def _by_type(
    workload: Workload, found: Harmonics, strategy: JuntaStrategy | TableSampling
) -> Iterator[tuple[float | np.ndarray, np.ndarray]]:
    """Yield the eigenvalues of V/n, summed over equals, with those of M, for the types of the strategy."""
    spectrum = found.spectrum
    fine = spectrum.refined(common([spectrum.groups, strategy.groups]))
    demands: dict[Type, float] = {}
    known: dict[Type, np.ndarray] = {}
    for kind, v, many in zip(fine.types, fine.values, fine.multiplicities, strict=True):
        if v * many <= 0:
            continue
        touched = [i for group, count in zip(fine.groups, kind, strict=True) for i in group[:count]]
        coarse = _type(strategy, touched)
        names = [workload.domain.attributes[i] for i in touched]
        if any(i in found.ordered for i in touched) and isinstance(strategy, JuntaStrategy):
            m = _supported(eigenvalues_at(strategy, touched), names)
            yield _resolved(found, touched, m.shape) * (v * many / found.values(touched).mean() / m.size), m
            continue
        demands[coarse] = demands.get(coarse, 0.0) + float(v * many)
        known[coarse] = known[coarse] if coarse in known else _supported(strategy.eigenvalues(coarse), names)
    yield from ((demand / known[kind].size, known[kind]) for kind, demand in demands.items())


def _resolved(found: Harmonics, touched: Sequence[int], shape: tuple[int, ...]) -> np.ndarray:
    """Return v at the characters that touch exactly these attributes, one axis for each, rising."""
    sides = [a if i in found.ordered else 1 for i, a in zip(sorted(touched), shape, strict=True)]
    return np.broadcast_to(found.values(touched).reshape(sides), shape)


def _written_out(workload: Workload, strategy: JuntaStrategy | TableSampling) -> Accuracy:
    """Return the accuracy computed from the full matrix of the strategy."""
    if isinstance(strategy, TableSampling):
        _refuse_order()
    return dense_accuracy(workload, strategy.dense(), None)


def _refuse_order() -> NoReturn:
    raise ValueError("queries that know an order were given for table sampling: ask about tables alone")


def eigenvalues_at(strategy: TranslationStrategy, touched: Sequence[int]) -> np.ndarray:
    """Return M's eigenvalues at the characters that touch exactly these attributes, one axis for each, rising."""
    if isinstance(strategy, JuntaStrategy):
        m = strategy.eigenvalues(_type(strategy, touched))
        return m.transpose(
            np.argsort([i for group in strategy.groups for i in sorted(set(group) & set(touched))])
        )
    if not isinstance(strategy, OrbitStrategy) or strategy.window:
        raise ValueError(
            "the domain is a window of longer cycles, so that the information matrix has no characters"
        )
    place = tuple(slice(1, None) if i in touched else 0 for i in range(len(strategy.sizes)))
    return strategy.eigenvalues[place]


def _type(strategy: JuntaStrategy | TableSampling, touched: Sequence[int]) -> Type:
    return tuple(len(set(group) & set(touched)) for group in strategy.groups)


def _supported(m: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return the eigenvalues m of M after checking that all are positive.

    Raises:
        UnsupportedWorkloadError: if one is zero, naming the attributes.
    """
    if not (m > 0).all():
        refuse(names)
    return m


def refuse(names: Sequence[str]) -> NoReturn:
    """Say that no pattern distinguishes the values of these attributes together."""
    raise UnsupportedWorkloadError(
        f"The strategy cannot answer this workload: no pattern tells apart the values of attributes "
        f"{', '.join(names)} together; add a pattern that has them all as axes, or leave those queries out."
    )
