"""All marginal tables of a given number of attributes: consistent and without negative cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import xlogy
from scipy.stats import chi2

from stratagem.estimation.consistency.table import MarginalTable, consistent_marginals, ripple, shared_sizes
from stratagem.estimation.estimate import Estimate
from stratagem.io.screen import brief
from stratagem.math.number import integer
from stratagem.workloads import marginals

ROUNDS = 20
"""Largest number of rounds of `ripple` and `consistent_marginals`."""
CLOSE = 0.01
"""Negative amount in a cell at which the rounds stop, as a share of its standard error."""


@dataclass(frozen=True, eq=False)
class Release:
    """Consistent marginal tables of all sets of attributes of one size, and their standard errors.

    Tables agree on all attributes they share, have no negative cell and sum to the number of users. They are
    biased where cells are rare; the standard errors are those of the unbiased estimates that they were made from.
    """

    __repr__ = brief

    estimate: Estimate
    """The unbiased estimates of all tables."""
    tables: tuple[MarginalTable, ...]
    """Tables in lexicographic order of their attributes, each with the mean variance of its cells."""

    def table(self, *attributes: str) -> MarginalTable:
        """Return the table of some attributes, summed from a larger one where they are fewer.

        Raises:
            ValueError: if no table holds them all.
        """
        for one in self.tables:
            if set(attributes) <= set(one.attributes):
                return replace(one, attributes=attributes, counts=one.onto(attributes))
        raise ValueError(
            f"a table of {', '.join(attributes)} was asked for, but none was released that holds them all: "
            "release tables of more attributes"
        )

    def standard_errors(self, *attributes: str) -> np.ndarray:
        """Return the standard errors of the unbiased table of some attributes, in the shape of that table."""
        marginal = self.estimate.marginal(*attributes)
        sizes = [a for a, name in self._attributes if name in attributes]
        return marginal.standard_errors.reshape(sizes)

    @cached_property
    def _attributes(self) -> list[tuple[int, str]]:
        domain = self.estimate.workload.domain
        return list(zip(domain.sizes, domain.attributes, strict=True))


def release(estimate: Estimate, order: int = 2) -> Release:
    """Return all marginal tables of `order` attributes: consistent, without negative cells, of N users each.

    The unbiased tables are made consistent (`consistent_marginals`). Then negative cells are raised at the expense
    of others (`ripple`) and the tables made consistent again, as in PriView, until hardly a negative cell is left.
    At last all tables are mixed with even ones, (1 - t) T + t N/cells, which keeps them consistent. The tables
    returned have both properties exactly, up to rounding.

    Args:
        estimate: An estimate of any workload, from a strategy that answers these tables. Its post-processing is
            ignored.
        order: The number of attributes of each table, from 1.

    Raises:
        UnsupportedWorkloadError: if the strategy does not determine these tables.
        ValueError: for an order below 1 or above the number of attributes.

    Reference:
        Qardaji, Yang, Li, SIGMOD 2014.
    """
    domain = estimate.workload.domain
    integer(order, "the order of the tables", 1, len(domain.sizes), "name how many attributes each has")
    raw = estimate.raw().ask(marginals(domain, order))
    tables = consistent_marginals(_tables(raw), float(raw.users))
    for _ in range(ROUNDS):
        if all(table.counts.min() >= -CLOSE * table.variance**0.5 for table in tables):
            break
        tables = consistent_marginals([_paid(table) for table in tables], float(raw.users))
    return Release(raw, _without_debt(tables, raw.users))


def _tables(estimate: Estimate) -> list[MarginalTable]:
    domain, tables = estimate.workload.domain, []
    variances = np.square(estimate.standard_errors)
    for margin in estimate.workload.margins():
        part = domain.part(margin.attributes)
        counts = estimate.answers[margin.places].reshape(part.sizes)
        variance = max(float(variances[margin.places].mean()), np.finfo(float).tiny)
        tables.append(MarginalTable(part.attributes, counts, variance))
    return tables


def _paid(table: MarginalTable) -> MarginalTable:
    return replace(table, counts=ripple(table.counts, CLOSE * table.variance**0.5))


def _without_debt(tables: Sequence[MarginalTable], users: int) -> tuple[MarginalTable, ...]:
    """Return (1 - t) T + t N/cells for every table T, with the least t at which no cell is negative."""
    even = [users / table.counts.size for table in tables]
    lows = [float(table.counts.min()) for table in tables]
    t = max((-low / (level - low) for low, level in zip(lows, even, strict=True) if low < 0), default=0.0)
    mixed = [(1 - t) * table.counts + t * level for table, level in zip(tables, even, strict=True)]
    return tuple(
        replace(table, counts=np.maximum(counts, 0.0)) for table, counts in zip(tables, mixed, strict=True)
    )


class Association(NamedTuple):
    """A test of independence of two attributes in the population."""

    statistic: float
    """Chi-squared distributed under independence."""
    degrees: int
    """(r - 1)(c - 1) degrees of freedom."""
    p_value: float
    """Probability of so large a statistic under independence."""


def association(estimate: Estimate, first: str, second: str) -> Association:
    """Test whether two attributes (r and c values) are independent in the population that users are a sample of.

    With T the unbiased table (r x c) and Z_ij = T_ij - T_i. T_.j/N, the statistic is the Wald statistic
    z^T (J C J^T)^-1 z: z are the cells of Z without the last row and column, C the estimated covariance of T
    (of privacy and of sampling), J the derivative of z by T. Asymptotically chi-squared under independence,
    whatever the strategy; the plain statistic sum (T - E)^2/E takes the noise for association.

    Raises:
        ValueError: for unknown or equal attributes, one with a single value, or too few reports to tell the noise.
        UnsupportedWorkloadError: if the strategy does not determine the table.

    Reference:
        Wald statistics: Rao, Scott, JASA 1981, section 2 (tables of complex surveys); privacy: Gaboardi, Rogers,
        ICML 2018.
    """
    if not isinstance(estimate, Estimate):
        raise ValueError(f"{estimate!r} was given, but a test of association takes what st.estimate returned")
    domain = estimate.workload.domain
    marginal = estimate.raw().marginal(first, second)
    sizes = [a for a, name in zip(domain.sizes, domain.attributes, strict=True) if name in (first, second)]
    if len(sizes) != 2 or min(sizes) < 2:
        raise ValueError(
            f"a test of association of {first!r} and {second!r} was asked for, but needs two attributes of two or "
            "more values each: name two"
        )
    table = marginal.unbiased_answers.reshape(sizes)
    rows, columns, N = table.sum(axis=1), table.sum(axis=0), estimate.users
    z = (table - np.outer(rows, columns) / N)[:-1, :-1].ravel()
    J = np.eye(table.size).reshape(*sizes, *sizes)
    J -= np.einsum("ik,j->ijk", np.eye(sizes[0]), columns)[..., None] / N
    J -= np.einsum("jl,i->ijl", np.eye(sizes[1]), rows)[:, :, None, :] / N
    J = J[:-1, :-1].reshape(len(z), table.size)
    spread = J @ marginal.reconstruction.covariance(marginal.workload, "population") @ J.T
    try:
        statistic = float(z @ cho_solve(cho_factor(spread), z))
    except LinAlgError:
        raise ValueError(
            f"the noise of the table of {first!r} and {second!r} cannot be told from {N} reports: collect more"
        ) from None
    return Association(statistic, len(z), float(chi2.sf(statistic, len(z))))


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
