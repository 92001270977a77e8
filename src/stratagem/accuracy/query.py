"""The exact variance of every query for users of random type, on domains of any size."""

from __future__ import annotations

import math

import numpy as np

from stratagem.accuracy.dense import per_query_variance, quadratic_forms
from stratagem.accuracy.junta import check_sizes, refuse
from stratagem.accuracy.length import classes_of, lengths_of, quadratic_by_length
from stratagem.accuracy.orbit import NOTHING, asked
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.math.on_demand import written_or_asked
from stratagem.math.privacy import uniform
from stratagem.strategies import Runnable, TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.dependence import unseen
from stratagem.workloads.identity import Identity
from stratagem.workloads.product import translates
from stratagem.workloads.selection import Selection

TABLE = 2048
"""Largest number of cells of a table whose covariance is formed."""
ENTRIES = 1 << 28
"""Largest number of queries times user types for which variances are computed."""


def query_variances(workload: Workload, strategy: Runnable, prior: np.ndarray | None = None) -> np.ndarray:
    """Return the exact variance (p,) that one user of random type adds to every answer (see `OnDemand`).

    The type is drawn from the prior (n,), 1/n by default. Translates without a window are treated table by
    table of `Workload.margins`: the estimated table has the covariance C with eigenvalue (1/m - 1)/cells at a
    character of its attributes, m that of M, and a query w of the table the variance w^T C w.

    Raises:
        UnsupportedWorkloadError: if the strategy cannot answer a query.
        ValueError: if the domains differ or the arrays would be too large.
    """
    return written_or_asked(
        workload.queries,
        lambda: _every(workload, strategy, prior),
        lambda places: _every(Selection(workload, places), strategy, prior),
        "the variances",
    )


def _every(workload: Workload, strategy: Runnable, prior: np.ndarray | None) -> np.ndarray:
    if isinstance(strategy, TranslationStrategy):
        workload, strategy = asked(workload, strategy)
        if prior is None and not strategy.window:
            return _by_table(workload, strategy)
        even = even_scores(strategy) if prior is None and isinstance(workload, Identity) else None
        if even:
            return np.full(workload.queries, even.variance(workload.queries) / workload.queries)
    if workload.queries * workload.domain_size > ENTRIES:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types take too long: "
            "ask for fewer queries, or use evaluate for their sum"
        )
    shares = uniform(workload.domain_size) if prior is None else prior
    return per_query_variance(workload, strategy, shares, prior)


def check_answered(workload: Workload, strategy: TranslationStrategy) -> None:
    """Refuse queries that need a character at which M is zero; the strategy has no window.

    Raises:
        UnsupportedWorkloadError: for such queries, naming the attributes of their table.
        ValueError: if the domains differ.
    """
    check_sizes(workload, strategy)
    if even_scores(strategy):
        return
    for attributes, queries in workload.kinds([strategy.owner[i] for i in range(len(strategy.sizes))]):
        if unseen(queries, strategy.table_eigenvalues(attributes) > NOTHING) is not None:
            refuse([workload.domain.attributes[i] for i in attributes])


def _by_table(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    check_answered(workload, strategy)
    variances, cells = np.empty(workload.queries), dict[tuple[int, ...], float]()
    known = dict[tuple[int, ...], np.ndarray]()
    for margin in workload.margins():
        weight, queries = unweighted(margin.workload)
        kind = tuple(strategy.owner[i] for i in margin.attributes)
        if (lengths := lengths_of(queries)) is not None:
            by_length = quadratic_by_length(_noise(strategy.table_eigenvalues(margin.attributes)))
            variances[margin.places] = weight**2 * by_length[lengths % len(by_length)][classes_of(queries)]
            continue
        if isinstance(queries, Identity):
            if kind not in cells:
                noise = _noise(strategy.table_eigenvalues(margin.attributes))
                cells[kind] = float(noise.mean()) / noise.size
            variances[margin.places] = weight**2 * cells[kind]
            continue
        if kind not in known:
            known[kind] = _covariance_row(strategy, margin.attributes)
        forms = quadratic_forms(queries, translates(known[kind].ravel(), queries.domain.sizes))
        variances[margin.places] = weight**2 * np.maximum(forms, 0.0)
    return variances


def _covariance_row(strategy: TranslationStrategy, attributes: tuple[int, ...]) -> np.ndarray:
    """Return the covariance of a table's cells with cell 0, for one user of random type.

    Characters at which M is zero count as exact: `check_answered` refuses the queries that need them.
    """
    sizes = [strategy.sizes[i] for i in attributes]
    if math.prod(sizes) > TABLE:
        raise ValueError(
            f"a table of {math.prod(sizes)} cells is too large for the covariance of its cells: "
            "use evaluate for the sum over all queries"
        )
    return np.fft.ifftn(_noise(strategy.table_eigenvalues(attributes))).real / math.prod(sizes)


def _noise(m: np.ndarray) -> np.ndarray:
    """Return 1/m - 1, zero where m is: the eigenvalues of the covariance times the number of cells."""
    return np.where(m > NOTHING, 1 / np.maximum(m, NOTHING) - 1, 0.0)
