"""The variance of every answer if all users had the least favourable type for it, by matrices and table by table."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from stratagem.accuracy.accuracy import UnsupportedWorkloadError
from stratagem.accuracy.dense import supporting_inverse
from stratagem.accuracy.orbit import SMALL, asked
from stratagem.accuracy.support import check_seen
from stratagem.accuracy.table import largest_by_table, largest_of_kinds
from stratagem.math.on_demand import written_or_asked
from stratagem.strategies import LinearProtocol, Runnable, TranslationStrategy
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled
from stratagem.workloads.identity import Identity
from stratagem.workloads.selection import Selection

WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
QUICK = 1 << 32
"""Largest number of multiplications for which a strategy of translates is written out."""
BLOCK = 1 << 24
"""Entries of a temporary array."""


def largest_variances(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> np.ndarray:
    """Return max_u Var(w_i R e_y | u) (p,), the variance per user of each answer at its worst user type.

    For ranges of very many values it is an upper bound (`largest_by_length`); see `OnDemand` for very many queries.

    Var(w R e_y | u) = sum_y Q[y, u] (w R e_y)^2 - w_u^2 with R as in `evaluate`, of the prior (n,). Whatever the
    N users, no answer has more than N times this variance, and users of that one type reach it.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer a query.
        ValueError: if the domains differ or the queries are too many to be looked at one by one.
    """
    return written_or_asked(
        workload.queries,
        lambda: _largest_of(strategy, workload, prior),
        lambda places: _largest_of(strategy, Selection(workload, places), prior),
        "the largest variances",
    )


def largest_variance(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> float | None:
    """Return the largest entry of `largest_variances`, or None if there are too many queries for that.

    Under translates one query of every kind is looked at. For ranges of very many values it is an upper bound (see
    `largest_by_length`), 1.2 to 2.2 times the largest variance in the tests.
    """
    try:
        if isinstance(strategy, TranslationStrategy):
            workload, strategy = asked(workload, strategy)
            found = _by_matrix(workload, strategy, prior)
            return largest_of_kinds(workload, strategy) if found is None else float(found.max())
        return float(_largest_of(strategy, workload, prior).max())
    except UnsupportedWorkloadError:
        raise
    except ValueError:
        return None


def _written_out(workload: Workload, strategy: TranslationStrategy) -> bool:
    """Return whether the matrix is written out: if it is cheap; on windows, if its estimator is in use."""
    if strategy.window:
        histogram = isinstance(workload, Identity) and len(strategy.sizes) == 1
        return strategy.domain_size <= SMALL and not histogram
    entries = strategy.outputs * strategy.domain_size
    return entries <= DENSE and entries * workload.queries <= QUICK


@singledispatch
def _largest_of(strategy: Strategy, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
    p, n, m = workload.queries, workload.domain_size, strategy.outputs
    _check_work(workload, p * n * m)
    inverse = supporting_inverse(workload, strategy, prior)
    scale, W = inverse_row_sums(strategy, prior)[:, None], levelled(workload, prior).matrix()
    largest, step = np.empty(p), max(1, BLOCK // max(m, n))
    for first in range(0, p, step):
        rows = W[first : first + step].T
        answers = scale * strategy.forward(apply_inverse(inverse, rows, prior))
        variances = strategy.backward(np.square(answers)) - np.square(rows)
        largest[first : first + step] = variances.max(axis=0)
    return np.maximum(largest, 0.0)


@_largest_of.register
def _(strategy: TranslationStrategy, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
    workload, strategy = asked(workload, strategy)
    found = _by_matrix(workload, strategy, prior)
    return largest_by_table(workload, strategy) if found is None else found


def _by_matrix(
    workload: Workload, strategy: TranslationStrategy, prior: np.ndarray | None
) -> np.ndarray | None:
    """Return the largest variances (p,) by the matrix of the strategy, None where it is not written out."""
    if prior is None and not _written_out(workload, strategy):
        return None
    try:
        return _largest_of(strategy.dense(), workload, prior)
    except UnsupportedWorkloadError:
        # a matrix loses what the characters hold of queries that others outweigh: then they answer
        if prior is not None or strategy.window:
            raise
    return None


@_largest_of.register
def _(protocol: LinearProtocol, workload: Workload, prior: np.ndarray | None) -> np.ndarray:
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
