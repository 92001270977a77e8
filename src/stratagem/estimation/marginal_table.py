"""Tables of estimated counts over some attributes: made consistent, and without negative cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.io.screen import brief
from stratagem.math.number import finite, positive, scalar


@dataclass(frozen=True, eq=False)
class MarginalTable:
    """Estimated counts of every combination of some attributes' values, all other attributes summed out.

    Raises:
        ValueError: for repeated attributes, another number of axes than attributes, numbers that are not finite,
            or a variance that is not positive.
    """

    __repr__ = brief

    attributes: tuple[str, ...]
    """Names of the axes; none for a table that holds just a total."""
    counts: np.ndarray
    """Estimates, one axis an attribute; counts or frequencies, negative ones too."""
    variance: float = 1.0
    """Variance of each cell as it was collected, equal in all of them; only ratios between tables matter."""

    def __post_init__(self):
        counts = finite(self.counts, "the counts of a table")
        names = named(self.attributes)
        object.__setattr__(self, "attributes", names)
        object.__setattr__(self, "counts", counts)
        if len(set(names)) != len(names) or counts.ndim != len(names) or not counts.size:
            raise ValueError(
                f"a table of the attributes {names} was given counts of shape {counts.shape}, but needs one axis for "
                "each of different attributes: reshape it"
            )
        object.__setattr__(self, "variance", positive(self.variance, "the variance of a table's cell"))

    @property
    def sizes(self) -> dict[str, int]:
        """Size of every attribute."""
        return dict(zip(self.attributes, self.counts.shape, strict=True))

    def onto(self, attributes: str | Sequence[str]) -> np.ndarray:
        """Return the table of some of its attributes, of shape (a_1, ..., a_k) in that order, the others summed out.

        Raises:
            ValueError: for attributes that it does not have, or the same twice.
        """
        names = named(attributes)
        if len(set(names)) != len(names) or not set(names) <= set(self.attributes):
            raise ValueError(
                f"a table of {', '.join(self.attributes)} was asked for {', '.join(names)}: "
                "name some of its attributes, each once"
            )
        gone = tuple(k for k, name in enumerate(self.attributes) if name not in names)
        left = [name for name in self.attributes if name in names]
        return self.counts.sum(axis=gone).transpose([left.index(name) for name in names])

    def merged(self, attributes: Iterable[str]) -> int:
        """Return how many cells fall together in one cell of the table of some of its attributes."""
        return self.counts.size // math.prod(self.sizes[name] for name in attributes)

    def with_marginal(self, attributes: Sequence[str], wanted: ArrayLike) -> MarginalTable:
        """Return the nearest table whose table of `attributes` is the wanted one, of shape (a_1, ..., a_k).

        Every cell takes an equal share of what its cell of that table misses, so its tables of the other
        attributes, and of theirs with attributes on which nothing was missing, stay (Lemma 6.2).
        """
        missing = (wanted - self.onto(attributes)) / self.merged(attributes)
        left = [name for name in self.attributes if name in attributes]
        missing = missing.transpose([list(attributes).index(name) for name in left])
        shape = [size if name in attributes else 1 for name, size in self.sizes.items()]
        return replace(self, counts=self.counts + missing.reshape(shape))


def named(attributes: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of attributes; a text alone is one of them."""
    return (attributes,) if isinstance(attributes, str) else tuple(attributes)


def shared_sizes(tables: Sequence[MarginalTable]) -> dict[str, int]:
    """Return the size of every attribute of any table, in the order in which they come."""
    if not tables:
        raise ValueError("no tables were given, but at least one is needed: give marginal tables")
    sizes: dict[str, int] = {}
    for table in tables:
        for name, size in table.sizes.items():
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"attribute {name!r} has {size} values in one table and {sizes[name]} in another: "
                    "give tables over the same values"
                )
    return sizes


def ripple(counts: ArrayLike, threshold: float) -> np.ndarray:
    """Return a table of the same shape and total without a cell below -threshold.

    Every cell c below -threshold becomes 0 and its |c| is taken in equal parts from its neighbours, the cells that
    differ in the value of one attribute; then again, while there are such cells, all of them at once. Debt spreads
    until somebody can pay: nearby sub-tables change least. The rounds end, as a cell that has paid once is at
    most 0 from then on, and if all were, none could be below the total.

    Biased: rare cells upwards, their neighbours downwards.

    Args:
        counts: Estimates, one axis an attribute, of any sizes.
        threshold: How far below zero a cell may stay, positive; the smaller, the more rounds.

    Raises:
        ValueError: for numbers that are not finite, a threshold that is not positive, or a total of -threshold or
            less, which no such table has.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014.

    Example:
        >>> ripple([[-2.0, 5.0], [4.0, 3.0]], 0.5).tolist()
        [[0.0, 4.0], [3.0, 3.0]]
    """
    table = finite(counts, "the counts of a table")
    threshold = positive(threshold, "the threshold of ripple")
    if table.sum() <= -threshold:
        raise ValueError(
            f"a table of total {table.sum():.6g} was given, but ripple keeps the total and cells of at least "
            f"{-threshold:.6g}: give a table of a positive total"
        )
    neighbours = sum(size - 1 for size in table.shape)
    while (low := table < -threshold).any():
        debt = np.where(low, -table, 0.0)
        share = debt / neighbours
        received = sum((share.sum(axis=k, keepdims=True) - share for k in range(table.ndim)), np.zeros(()))
        table = np.where(low, 0.0, table) - received
    return table


def consistent_marginals(
    tables: Sequence[MarginalTable], total: float | None = None
) -> tuple[MarginalTable, ...]:
    """Return the tables that agree on all attributes they share and are nearest to the given ones.

    argmin sum_i ||T'_i - T_i||^2 / variance_i subject to equal sub-tables: for every set A of attributes that is
    the intersection of some tables, smaller sets first, T_A = the mean of the tables' T_i[A], weighted by
    1 / (variance_i cells_i / cells_A), and T_i(c) += (T_A(a) - T_i[A] (a)) cells_A / cells_i, a = c on A. A table is
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


def without_debt(tables: Sequence[MarginalTable], users: int) -> tuple[MarginalTable, ...]:
    """Return (1 - t) T + t N/cells for every table T, with the least t at which no cell is negative."""
    even = [users / table.counts.size for table in tables]
    lows = [float(table.counts.min()) for table in tables]
    t = max((-low / (level - low) for low, level in zip(lows, even, strict=True) if low < 0), default=0.0)
    mixed = [(1 - t) * table.counts + t * level for table, level in zip(tables, even, strict=True)]
    return tuple(
        replace(table, counts=np.maximum(counts, 0.0)) for table, counts in zip(tables, mixed, strict=True)
    )


@lru_cache(maxsize=4)
def _intersections(sets: tuple[frozenset[str], ...], always_empty: bool) -> list[frozenset[str]]:
    """Return all intersections of two or more of the sets, smaller ones first, and the empty set if asked."""
    found = {a & b for a, b in combinations(sets, 2)} | ({frozenset()} if always_empty else set())
    fresh = found
    while fresh:
        fresh = {a & b for a in fresh for b in sets} - found
        found = found | fresh
    return sorted(found, key=len)
