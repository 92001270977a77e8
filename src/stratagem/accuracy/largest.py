"""The variance of every answer if all users had the least favourable type for that answer."""

from __future__ import annotations

import numpy as np

from stratagem.accuracy.dense import check_seen, supporting_inverse
from stratagem.accuracy.largest_by_table import largest_by_table
from stratagem.accuracy.measure import UnsupportedWorkloadError
from stratagem.accuracy.orbit import SMALL, asked
from stratagem.accuracy.query import check_answered
from stratagem.math.linalg import factor
from stratagem.strategies import LinearProtocol, OrbitStrategy, Randomiser, TranslationStrategy
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.identity import Identity

WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
QUICK = 1 << 32
"""Largest number of multiplications for which a strategy of translates is written out."""
BLOCK = 1 << 24
"""Entries of a temporary array."""


def largest_variances(
    workload: Workload, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None = None
) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,), the variance per user of each answer at its worst user type.

    Var(w R e_y | u) = sum_y Q[y, u] (w R e_y)^2 - w_u^2 with R as in `evaluate`, of the prior (n,). Whatever the
    N users, no answer has more than N times this variance, and users of that one type reach it.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer a query.
        ValueError: if the domains differ or the queries are too many to be looked at one by one.
    """
    if isinstance(strategy, LinearProtocol):
        return _of_protocol(workload, strategy)
    if isinstance(strategy, TranslationStrategy):
        workload, strategy = asked(workload, strategy)
        if prior is None and not _written_out(workload, strategy):
            if not (isinstance(strategy, OrbitStrategy) and strategy.window):
                check_answered(workload, strategy)
            return largest_by_table(workload, strategy)
        strategy = strategy.dense()
    return _of_matrix(workload, strategy, prior)


def largest_variance(
    workload: Workload, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None = None
) -> float | None:
    """Return the largest entry of `largest_variances`, or None if there are too many queries for that."""
    try:
        return float(largest_variances(workload, strategy, prior).max())
    except UnsupportedWorkloadError:
        raise
    except ValueError:
        return None


def _written_out(workload: Workload, strategy: TranslationStrategy) -> bool:
    """Return whether the matrix is written out: if it is cheap; on windows, if its estimator is in use."""
    if isinstance(strategy, OrbitStrategy) and strategy.window:
        histogram = isinstance(workload, Identity) and len(strategy.sizes) == 1
        return strategy.domain_size <= SMALL and not histogram
    entries = strategy.outputs * strategy.domain_size
    return entries <= DENSE and entries * workload.queries <= QUICK


def _of_matrix(workload: Workload, strategy: Strategy, prior: np.ndarray | None) -> np.ndarray:
    p, n, m = workload.queries, workload.domain_size, strategy.outputs
    _check_work(workload, p * n * m)
    inverse = supporting_inverse(factor(workload.gram()), workload, strategy, prior)
    scale, W = inverse_row_sums(strategy, prior)[:, None], workload.matrix()
    largest, step = np.empty(p), max(1, BLOCK // max(m, n))
    for first in range(0, p, step):
        rows = W[first : first + step].T
        answers = scale * strategy.forward(apply_inverse(inverse, rows, prior))
        variances = strategy.backward(np.square(answers)) - np.square(rows)
        largest[first : first + step] = variances.max(axis=0)
    return np.maximum(largest, 0.0)


def _of_protocol(workload: Workload, protocol: LinearProtocol) -> np.ndarray:
    check_seen(workload, protocol)
    _check_work(workload, workload.queries * workload.domain_size**3)
    moments = (protocol.second_moments(np.outer(w, w)) - np.square(w) for w in workload.matrix())
    return np.array([max(0.0, float(one.max())) for one in moments])


def _check_work(workload: Workload, products: int) -> None:
    if products > WORK:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types were asked for one "
            "by one, which takes too long: ask for fewer queries, or use evaluate for their sum"
        )
