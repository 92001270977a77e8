"""All marginal tables of a given number of attributes: consistent and without negative cells."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from stratagem.estimation.estimate import Estimate
from stratagem.estimation.marginal_table import MarginalTable, consistent_marginals, ripple, without_debt
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
        domain = self.estimate.workload.domain
        sizes = [a for a, name in zip(domain.sizes, domain.names, strict=True) if name in attributes]
        return marginal.standard_errors.reshape(sizes)


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
        paid = [replace(one, counts=ripple(one.counts, CLOSE * one.variance**0.5)) for one in tables]
        tables = consistent_marginals(paid, float(raw.users))
    return Release(raw, without_debt(tables, raw.users))


def _tables(estimate: Estimate) -> list[MarginalTable]:
    domain, tables = estimate.workload.domain, []
    variances = np.square(estimate.standard_errors)
    for margin in estimate.workload.margins():
        part = domain.part(margin.attributes)
        counts = estimate.answers[margin.places].reshape(part.sizes)
        variance = max(float(variances[margin.places].mean()), np.finfo(float).tiny)
        tables.append(MarginalTable(part.names, counts, variance))
    return tables
