"""The largest variances of the queries of tables under translates, from one query of every class."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from stratagem.estimators.support import check_sizes
from stratagem.estimators.translation.length import classes_of, largest_by_length, lengths_of
from stratagem.estimators.translation.moments import Moments, largest_of_cell, moments_of, variances
from stratagem.estimators.translation.score import Labels
from stratagem.estimators.translation.tables import check_answered
from stratagem.estimators.translation.transformed import largest_of_prefixes
from stratagem.strategies import OrbitStrategy, TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.identity import Identity
from stratagem.workloads.product import Product
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Cells, Ranges

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
        weight, queries = unweighted(margin.workload)
        largest[margin.places] = weight**2 * tables.largest(margin.attributes, queries)[_classes(queries)]
    return np.maximum(largest, 0.0)


def largest_of_kinds(workload: Workload, strategy: TranslationStrategy) -> float:
    """Return the largest entry of `largest_by_table` from one table of every kind."""
    tables, largest = _Tables(workload, strategy), 0.0
    for attributes, weighted in workload.kinds(tables.group):
        weight, queries = unweighted(weighted)
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
        self.group = [strategy.owner[i] for i in range(len(strategy.sizes))]
        if not strategy.window:
            check_answered(workload, strategy)
        self.strategy, self.moments = strategy, moments_of(strategy)

    def largest(self, attributes: tuple[int, ...], queries: Workload) -> np.ndarray:
        """Return the largest variances (k,) of the queries of a table, one for each of their `_classes`."""
        single = self.strategy.window and len(self.strategy.sizes) == 1
        if single and isinstance(queries, Prefix) and isinstance(self.strategy, OrbitStrategy):
            return largest_of_prefixes(queries, self.strategy)
        if self.strategy.window and not (
            isinstance(queries, Identity | AllRange | Ranges) and len(self.strategy.sizes) == 1
        ):
            raise ValueError(
                "the domain is a window of longer cycles, where the variance of every query is known for histograms, "
                "prefixes and ranges alone: use evaluate for their sum"
            )
        labels = tuple(self.group[i] for i in attributes)
        _check_ways(self.moments, labels)
        if (lengths := lengths_of(queries)) is not None:
            return largest_by_length(self.strategy, attributes[0], lengths)
        if isinstance(queries, Identity | Cells):
            return np.array([_largest_of_cell(self.strategy, labels, queries.domain.sizes)])
        rows = _rows(queries)
        return variances(self.moments, labels, rows).reshape(len(rows), -1).max(axis=1)


@lru_cache(maxsize=8)
def _largest_of_cell(strategy: TranslationStrategy, labels: Labels, sizes: tuple[int, ...]) -> float:
    """Return `largest_of_cell`, which a report asks for several times of the same strategies."""
    return largest_of_cell(moments_of(strategy), labels, sizes)


def _check_ways(moments: Moments, labels: Labels) -> None:
    for axes in moments.kinds:
        if math.prod(1 + axes.count(group) for group in labels) > PLACEMENTS:
            raise ValueError(
                f"patterns of {len(axes)} axes lie on a table of {len(labels)} attributes in too many ways for the "
                "variance of every query: use evaluate for their sum"
            )


def _factors(queries: Workload) -> tuple[Workload, ...]:
    return queries.factors if isinstance(queries, Product) else (queries,)


def _classes(queries: Workload) -> np.ndarray:
    """Return for every query of a table (p,) the number of the query of `_rows` that stands for it."""
    places = np.zeros(1, dtype=int)
    for one in _factors(queries):
        own = np.zeros(one.queries, dtype=int) if isinstance(one, Identity | Cells) else classes_of(one)
        places = np.add.outer(places * (1 + own.max()), own).ravel()
    return places


def _rows(queries: Workload) -> np.ndarray:
    """Return a query of a table for each class with the same largest variance (k, sizes of the attributes).

    One cell of an attribute whose cells are asked for one by one, and one range of every length, stand for the others:
    translations of the attribute take it to them and leave the strategy as it is.
    """
    lengths = [lengths_of(one) for one in _factors(queries)]
    many = math.prod(
        1 if isinstance(one, Identity | Cells) else one.queries if own is None else len(own)
        for one, own in zip(_factors(queries), lengths, strict=True)
    )
    if many * queries.domain_size > ENTRIES:
        raise ValueError(
            f"a table of {queries.domain_size} cells and {queries.queries} queries is too large for the variance of "
            "every query: use evaluate for their sum"
        )
    rows = np.ones((1, 1))
    for one, own in zip(_factors(queries), lengths, strict=True):
        if isinstance(one, Identity | Cells):
            rows = np.kron(rows, np.eye(1, one.domain_size))
        else:
            inner = one.matrix() if own is None else (np.arange(one.domain_size) < own[:, None]).astype(float)
            rows = np.kron(rows, inner)
    return rows.reshape(len(rows), *queries.domain.sizes)
