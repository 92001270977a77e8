"""Marginal tables, made to agree wherever they overlap."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations

import numpy as np

from stratagem.estimation.consistency.table import MarginalTable, shared_sizes
from stratagem.math.number import scalar


def consistent_marginals(
    tables: Sequence[MarginalTable], total: float | None = None
) -> tuple[MarginalTable, ...]:
    """Return the tables that agree on all attributes they share and are nearest to the given ones.

    argmin sum_i ||T'_i - T_i||^2 / variance_i subject to equal sub-tables: for every set A of attributes that is
    the intersection of some tables, smaller sets first, T_A = the mean of the tables' T_i[A], weighted by
    1 / (variance_i cells_i / cells_A), and T_i(c) += (T_A(a) - T_i[A](a)) cells_A / cells_i, a = c on A. A table is
    the orthogonal sum of its interactions, and the tables that hold an interaction are those that hold the
    smallest such A around it, so one pass is the exact minimum, for attributes of any sizes and any variances.

    Linear: unbiased estimates stay unbiased, whatever the variances; with the true ones, cells independent, every
    count has the least variance (Gauss-Markov). Known to PriView for tables of equal size and variance.

    Args:
        tables: Any number, over any attributes; the same attributes may come in several tables.
        total: The count of all, where it is known.

    Raises:
        ValueError: for no tables, or tables that differ in the size of an attribute.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014; Li, Lyu, Su, Yang, Differential Privacy: From Theory to Practice, Lemma 6.2.

    Example:
        >>> one = MarginalTable(("a", "b"), [[0.3, 0.3], [0.3, 0.1]])
        >>> other = MarginalTable(("a", "c"), [[0.2, 0.3], [0.1, 0.4]])
        >>> first, second = consistent_marginals([one, other])
        >>> first.onto("a").round(12).tolist(), second.onto("a").round(12).tolist()
        ([0.55, 0.45], [0.55, 0.45])
    """
    order = list(shared_sizes(tables))
    known = None if total is None else scalar(total, "the total")
    found = list(tables)
    sets = tuple(frozenset(table.attributes) for table in tables)
    for shared in _intersections(sets, known is not None):
        names = sorted(shared, key=order.index)
        holders = [i for i, held in enumerate(sets) if shared <= held]
        given = [found[i].onto(names) for i in holders]
        weights = [1 / (found[i].variance * found[i].merged(names)) for i in holders]
        mean = np.average(given, axis=0, weights=weights)
        wanted = mean if names or known is None else known
        for i in holders:
            found[i] = found[i].with_marginal(names, wanted)
    return tuple(found)


@lru_cache(maxsize=4)
def _intersections(sets: tuple[frozenset[str], ...], always_empty: bool) -> list[frozenset[str]]:
    """Return all intersections of two or more of the sets, smaller ones first, and the empty set if asked."""
    found = {a & b for a, b in combinations(sets, 2)} | ({frozenset()} if always_empty else set())
    fresh = found
    while fresh:
        fresh = {a & b for a in fresh for b in sets} - found
        found = found | fresh
    return sorted(found, key=len)
