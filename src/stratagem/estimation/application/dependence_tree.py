"""The tree of attributes that explains most of their dependence."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from stratagem.estimation.application.marginal_release import release
from stratagem.estimation.consistency.table import MarginalTable, shared_sizes
from stratagem.estimation.estimate import Estimate


class Edge(NamedTuple):
    """Two attributes that depend on each other."""

    first: str
    second: str
    information: float
    """Mutual information in nats."""


def chow_liu(tables: Sequence[MarginalTable] | Estimate) -> list[Edge]:
    """Return the tree over the attributes with the largest sum of mutual informations, largest first.

    Among all distributions that are trees it gives the one nearest to the data in Kullback-Leibler divergence
    (maximum likelihood). Noise adds to mutual informations, so take consistent tables: of an estimate, those of
    `release`.

    Args:
        tables: That hold every pair of attributes together, or an estimate that determines all pairs.

    Raises:
        ValueError: if no table holds two of the attributes together, or one holds nobody.

    Reference:
        Chow, Liu, IEEE Transactions on Information Theory 1968.

    Example:
        >>> both = MarginalTable(("a", "b"), [[40.0, 10.0], [10.0, 40.0]])
        >>> [(edge.first, edge.second, round(edge.information, 4)) for edge in chow_liu([both])]
        [('a', 'b', 0.1927)]
    """
    held = release(tables, 2).tables if isinstance(tables, Estimate) else tables
    if not isinstance(held, Sequence) or not all(isinstance(table, MarginalTable) for table in held):
        raise ValueError(f"{tables!r} was given, but a tree is made of an estimate or of marginal tables")
    names = list(shared_sizes(held))
    edges = [Edge(a, b, _information(held, a, b)) for a, b in combinations(names, 2)]
    tree, part = [], {name: name for name in names}
    for edge in sorted(edges, key=lambda edge: -edge.information):
        if part[edge.first] != part[edge.second]:
            tree.append(edge)
            joined = part[edge.second]
            part = {name: part[edge.first] if own == joined else own for name, own in part.items()}
    return tree


def mutual_information(table: np.ndarray) -> float:
    """Return sum p_ij log(p_ij/(p_i. p_.j)) in nats of a table of counts; negative cells count as zero.

    Raises:
        ValueError: for a table that holds nobody.
    """
    counts = np.maximum(table, 0.0)
    if not counts.sum() > 0:
        raise ValueError("a table that holds nobody was given: give a table with positive counts")
    p = counts / counts.sum()
    independent = np.outer(p.sum(axis=1), p.sum(axis=0))
    return float(np.sum(xlogy(p, np.where(p > 0, p, 1.0) / np.where(p > 0, independent, 1.0))))


def _information(tables: Sequence[MarginalTable], first: str, second: str) -> float:
    for table in tables:
        if first in table.attributes and second in table.attributes:
            return mutual_information(table.onto((first, second)))
    raise ValueError(
        f"no table holds {first!r} and {second!r} together, but a tree needs every pair: release all pairs"
    )
