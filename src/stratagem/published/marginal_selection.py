"""Marginals one at a time by subset selection, with probabilities of the tables set by their costs."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stratagem.published.baseline import LARGE, Baseline, Candidates, Setting
from stratagem.published.marginal import Tables, check_tables, tables_of
from stratagem.published.partition import DESIGNED, partition_strategy
from stratagem.published.table import table_cells
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.subset_protocol import SubsetSelection
from stratagem.strategies.table_sampling import shares_by_cost


def marginal_selection(
    sizes: Sequence[int], epsilon: float, tables: Tables, shares: Sequence[float] | None = None
) -> StratifiedProtocol:
    """Draw one of the tables, report the user's cell of it by subset selection.

    The estimate is the least-squares one, so that tables agree on what they share.

    Args:
        sizes: numbers of values of the attributes.
        epsilon: the budget.
        tables: attribute sets to draw from, each of at least two cells.
        shares: probabilities of the tables, of sum one; all equal by default.

    Guarantee:
        epsilon-LDP: the table is drawn without a look at the value, the oracle is epsilon-LDP.

    Raises:
        ValueError: for no tables, a table with a repeated or unknown attribute or a single cell, or shares
            that are no probabilities.

    Reference:
        Zhang et al., CALM, CCS 2018 (tables); Ye, Barg, IEEE Trans. Inf. Theory 2018 (subset selection).

    Example:
        >>> protocol = marginal_selection((2, 2, 3), 1.0, tables=[(0, 1), (1, 2)], shares=[0.4, 0.6])
        >>> [partition.oracle.report for partition in protocol.partitions]
        ['1 of 4 values', '2 of 6 values']
    """
    check_tables(sizes, tables)
    chances = np.full(len(tables), 1 / len(tables)) if shares is None else np.asarray(shares, dtype=float)
    if chances.shape != (len(tables),):
        raise ValueError(f"{chances.size} shares were given for {len(tables)} tables: give each table one")
    partitions = []
    for attributes, chance in zip(tables, chances, strict=True):
        cells = prod(sizes[i] for i in attributes)
        oracle = SubsetSelection.best(cells, epsilon)
        weight = float(chance) * oracle.eigenvalue * cells  # the table's part of Q^T D^-1 Q
        partitions.append(Partition(table_cells(sizes, attributes), oracle, float(chance), weight))
    return StratifiedProtocol(tuple(partitions), total_known=True)


def _by_cost(setting: Setting, epsilon: float, tables: Tables) -> np.ndarray:
    """Return the probabilities of the tables (T,) from their costs, as `shares_by_cost` does."""
    kinds = [touched for touched in np.ndindex(setting.energies.shape) if any(touched)]
    needed = [frozenset(np.flatnonzero(touched).tolist()) for touched in kinds]
    held = np.array([[float(one <= frozenset(table)) for table in tables] for one in needed])
    energies = np.array([max(0.0, float(setting.energies[touched])) for touched in kinds])
    cells = [prod(setting.sizes[i] for i in table) for table in tables]
    strengths = np.array([SubsetSelection.best(many, epsilon).eigenvalue for many in cells])
    return shares_by_cost(energies, held, strengths)


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    tables = [table for table in tables_of(setting) if prod(setting.sizes[i] for i in table) > 1]
    if tables and setting.domain_size <= LARGE:
        yield "equal shares", _sampled(setting.sizes, epsilon, tables, np.full(len(tables), 1 / len(tables)))
        shares = _by_cost(setting, epsilon, tables)
        if (shares > 0).all() and not np.allclose(shares, shares[0]):
            yield "shares by cost", _sampled(setting.sizes, epsilon, tables, shares)


def _sampled(
    sizes: Sequence[int], epsilon: float, tables: Tables, shares: np.ndarray
) -> Strategy | LinearProtocol:
    """Return the mechanism, with blocks of a design in place of all sets where a table has few enough cells.

    Designs are as accurate, and they have few enough reports for a search to return them.
    """
    partitions = [table_cells(sizes, attributes) for attributes in tables]
    if max(int(view.max()) + 1 for view in partitions) <= DESIGNED:
        return partition_strategy(partitions, shares, epsilon, "design")
    return marginal_selection(sizes, epsilon, tables, shares.tolist())


MARGINAL_SELECTION = Baseline(
    "marginal-selection",
    "a set of cells of a random table that likes to hold the own one",
    "@zhang2018calm (tables); @ye2018optimal (subset selection)",
    _candidates,
)
