"""Marginals one table at a time, through strategies, encodings or subset selection, and coverings of the tables."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from operator import index

import numpy as np

from stratagem.math.block_design import covering_tables
from stratagem.published.baseline import LARGE, NEEDED, Baseline, Candidates, Oracle, Setting, Tuning
from stratagem.published.fourier import attribute_sizes, fourier, table_cells, touching, widths
from stratagem.published.partition import (
    DESIGNED,
    ENCODINGS,
    TUNED,
    partition_protocol,
    partition_strategy,
)
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.strategies.junta import shares_by_cost
from stratagem.strategies.set_protocol import SubsetSelection
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
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


def _needed(mechanism: Callable[[Sequence[int], float, Tables], TwoLevelStrategy]) -> Tuning:
    """Return the candidates of a mechanism that draws one of the tables needed: itself alone."""

    def candidates(setting: Setting, epsilon: float) -> Candidates:
        if tables := tables_of(setting):
            yield "", mechanism(setting.sizes, epsilon, tables)

    return candidates


@dataclass(frozen=True)
class Covering:
    """A covering of the tables and the name of an oracle, with an estimate of their objective."""

    oracle: str
    tables: Sequence[Sequence[int]]
    estimate: float
    """Its objective without the constant 1^T V 1 / n: exact if the oracle treats the cells of a table alike."""

    def __str__(self) -> str:
        """Return the parameters in words."""
        return f"{len(self.tables)} tables of {len(self.tables[0])} attributes, {self.oracle}"


def screen(setting: Setting, epsilon: float, keep: int, oracles: Mapping[str, Oracle]) -> list[Covering]:
    """Return the `keep` coverings and oracles of least estimate, none if the queries need all attributes."""
    tables, d = tables_of(setting), len(setting.sizes)
    if not tables:
        return []
    covers = []
    for size in range(max(map(len, tables)), d):
        sets = covering_tables(d, tables, size)
        covers += [Covering(name, sets, _estimate(setting, epsilon, sets, oracles[name])) for name in oracles]
    return sorted(covers, key=lambda cover: cover.estimate)[:keep]


def _estimate(setting: Setting, epsilon: float, tables: Sequence[Collection[int]], oracle: Oracle) -> float:
    """Return sum_S tr(P_S V) / mu_S, mu_S the mean over the tables of the oracle's strength where they hold S.

    That is L(Q) without the constant: M is mu_S on the functions of exactly the attributes S.
    """
    told = np.zeros_like(setting.energies)
    for table in tables:
        held = tuple(slice(None) if i in table else 0 for i in range(told.ndim))
        cells = prod(setting.sizes[i] for i in table)
        told[held] += oracle(cells, epsilon).strength / len(tables)
    needed = setting.energies > NEEDED * np.trace(setting.gram)
    needed.flat[0] = False
    return float((setting.energies[needed] / told[needed]).sum()) if told[needed].all() else inf


def _covered(setting: Setting, epsilon: float) -> Candidates:
    for cover in screen(setting, epsilon, 1 if setting.domain_size > LARGE else 2, TUNED):
        yield str(cover), marginal_response(setting.sizes, epsilon, cover.tables, cover.oracle)


def marginal_encoding(
    sizes: Sequence[int], epsilon: float, tables: Tables, encoding: str = "symmetric"
) -> StratifiedProtocol:
    """Draw one of the tables, report the user's cell of it by an encoding.

    The tables are all equally likely; the encoding is "symmetric" (SUE), "optimised" (OUE) or "hashing" (OLH).
    The estimate is the least-squares one, so that tables agree on what they share; the published MargRR
    leaves each table to itself, which is never more accurate on average.

    Guarantee:
        epsilon-LDP: that of `partition_protocol`.

    Raises:
        ValueError: for no tables, a table with a repeated or unknown attribute, or an unknown encoding.

    Reference:
        MargRR of Cormode, Kulkarni, Srivastava, SIGMOD 2018, section 4.3; Zhang et al., CCS 2018 (CALM).
    """
    check_tables(sizes, tables)
    partitions = [table_cells(sizes, attributes) for attributes in tables]
    return partition_protocol(partitions, np.full(len(partitions), 1 / len(partitions)), epsilon, encoding)


def _encoded(setting: Setting, epsilon: float) -> Candidates:
    if setting.domain_size > LARGE:
        return
    for cover in screen(setting, epsilon, 1, ENCODINGS):
        yield str(cover), marginal_encoding(setting.sizes, epsilon, cover.tables, cover.oracle)


def marginal_selection(
    sizes: Sequence[int], epsilon: float, tables: Tables, shares: Sequence[float] | None = None
) -> StratifiedProtocol:
    """Draw one of the tables, report the user's cell of it by subset selection.

    A table has at least two cells and a probability, `shares`, by default the same. The estimate is the least-squares
    one, so that tables agree on what they share.

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


def _selected(setting: Setting, epsilon: float) -> Candidates:
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
    _selected,
)


BASELINES = (
    Baseline(
        "marginal-response",
        "the cell of a random table by randomised response",
        "@cormode2018marginal (MargPS)",
        _needed(marginal_response),
    ),
    Baseline(
        "marginal-hadamard",
        "a Hadamard coefficient of a random table",
        "@cormode2018marginal (MargHT)",
        _needed(marginal_hadamard),
    ),
    Baseline(
        "marginal-encoding",
        "the cell of a random table, as noisy bits or a noisy hash",
        "@cormode2018marginal (MargRR); @zhang2018calm (CALM)",
        _encoded,
    ),
    MARGINAL_SELECTION,
    Baseline(
        "covering",
        "the cell of a random table out of a few that hold all others",
        "@zhang2018calm (CALM)",
        _covered,
    ),
)
"""Its baselines, in the order in which lists show them."""
