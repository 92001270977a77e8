"""Marginals one at a time: MargPS, and MargHT with equal coefficients of several tables merged."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np

from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.published.fourier import fourier
from stratagem.published.partition import partition_strategy
from stratagem.published.table import attribute_sizes, table_cells, touching, widths
from stratagem.strategies.two_level import TwoLevelStrategy

Tables = Sequence[Sequence[int]]
"""Attribute sets, one a contingency table."""


def marginal_response(
    sizes: Sequence[int], epsilon: float, tables: Tables, oracle: str = "randomised"
) -> TwoLevelStrategy:
    """Draw one of the tables, report the user's cell of it through an oracle.

    Randomised response is MargPS; any table that the drawn ones contain is answered from all of them.

    Args:
        sizes: numbers of values of the attributes.
        epsilon: the budget.
        tables: attribute sets to draw from, all equally likely.
        oracle: "randomised", "hadamard", "one-bit" or "design".

    Guarantee:
        epsilon-LDP: that of `partition_strategy`.

    Raises:
        ValueError: for no tables, a table with a repeated or unknown attribute, or an unknown oracle.

    Reference:
        MargPS of Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy", SIGMOD
        2018, section 4.3; other oracles and larger tables: CALM of Zhang et al., CCS 2018.

    Example:
        >>> marginal_response((2, 2, 3), 1.0, tables=[(0, 1), (1, 2)]).outputs
        10
    """
    check_tables(sizes, tables)
    partitions = [table_cells(sizes, attributes) for attributes in tables]
    return partition_strategy(partitions, np.full(len(partitions), 1 / len(partitions)), epsilon, oracle)


def marginal_hadamard(sizes: Sequence[int], epsilon: float, tables: Tables) -> TwoLevelStrategy:
    """Draw one of the tables and one of its Hadamard coefficients but the constant, report its sign.

    This is MargHT; the same coefficient drawn through another table tells the same, so it is one report of
    the Fourier mechanism, whose share adds 1/(C (2^b - 1)) for each of the C tables (b bits) that hold it.

    Guarantee:
        epsilon-LDP: that of `fourier`.

    Raises:
        ValueError: for no tables, or a table with a repeated or unknown attribute or a single cell.

    Reference:
        MargHT of Cormode, Kulkarni, Srivastava, SIGMOD 2018, section 4.3.
    """
    check_tables(sizes, tables)
    if not all(sum(widths([sizes[i] for i in attributes])) for attributes in tables):
        raise ValueError("a table of a single cell has nothing to tell: leave it out")
    shares = np.zeros(1 << sum(widths(sizes)))
    for attributes in tables:
        held = touching(sizes, attributes)[1:]
        shares[held] += 1 / (len(tables) * len(held))
    drawn = np.flatnonzero(shares)
    return fourier(sizes, epsilon, drawn, shares[drawn])


def check_tables(sizes: Sequence[int], tables: Tables) -> None:
    """Refuse tables over attributes that the domain does not have."""
    d = len(attribute_sizes(sizes))
    try:
        given = [[index(i) for i in one] for one in tables]
    except TypeError:
        given = []
    if not given or not all(len(set(one)) == len(one) and set(one) <= set(range(d)) for one in given):
        raise ValueError(
            f"the tables are {given or tables!r}: give at least one set of attributes numbered 0 to {d - 1}"
        )


def tables_of(setting: Setting) -> Tables:
    """Return the tables that the queries need, without those of no attribute or of all."""
    several = sum(a > 1 for a in setting.sizes)
    return [table for table in setting.margins if 0 < len(table) < several]


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if tables := tables_of(setting):
        yield "", marginal_response(setting.sizes, epsilon, tables)


def _hadamard_candidates(setting: Setting, epsilon: float) -> Candidates:
    if tables := tables_of(setting):
        yield "", marginal_hadamard(setting.sizes, epsilon, tables)


MARGINAL = Baseline(
    "marginal-response",
    "the cell of a random table by randomised response",
    "@cormode2018marginal (MargPS)",
    _candidates,
)
MARGINAL_HADAMARD = Baseline(
    "marginal-hadamard",
    "a Hadamard coefficient of a random table",
    "@cormode2018marginal (MargHT)",
    _hadamard_candidates,
)
