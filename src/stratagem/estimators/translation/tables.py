"""The tables of a strategy of translates that its reports tell about."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.estimators.dense import quadratic_forms
from stratagem.estimators.support import check_sizes
from stratagem.estimators.translation.length import classes_of, lengths_of, quadratic_by_length
from stratagem.estimators.translation.margin import TableScores
from stratagem.estimators.translation.score import SEEN, Labels, Scores, even_scores, refuse
from stratagem.math.number import count_text
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.dependence import unseen
from stratagem.workloads.identity import Identity
from stratagem.workloads.merged import merged
from stratagem.workloads.product import translates

TABLE = 2048
"""Largest number of cells of a table whose covariance is formed."""


def check_answered(workload: Workload, strategy: TranslationStrategy) -> None:
    """Refuse queries that need a character at which M is zero; the strategy has no window.

    Raises:
        UnsupportedWorkloadError: for such queries, naming the attributes of their table.
        ValueError: if the domains differ.
    """
    check_sizes(workload, strategy.sizes)
    if even_scores(strategy):
        return
    for attributes, queries in workload.kinds([strategy.owner[i] for i in range(len(strategy.sizes))]):
        if unseen(queries, strategy.table_eigenvalues(attributes) > SEEN) is not None:
            refuse([workload.domain.names[i] for i in attributes])


def typical_by_table(workload: Workload, strategy: TranslationStrategy) -> np.ndarray:
    """Return the exact variance (p,) that one user of uniformly random type adds to every answer.

    Table by table of `Workload.margins`: the estimated table has the covariance C with eigenvalue (1/m - 1)/cells at
    a character of its attributes, m that of M, and a query w of the table the variance w^T C w.

    Raises:
        UnsupportedWorkloadError: as `check_answered`.
        ValueError: if the domains differ or a table is too large.
    """
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
    return np.where(m > SEEN, 1 / np.maximum(m, SEEN) - 1, 0.0)


TABLE = 2048
"""Cells of the largest table whose covariance is computed."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables of some attributes of a domain of any size, seen through the scores of a strategy of translates."""

    strategy: TranslationStrategy
    """The strategy, written over one attribute where all attributes of the domain share one cycle."""
    sizes: tuple[int, ...]
    """Number of values of each attribute of the domain."""

    @cached_property
    def scores(self) -> Scores:
        """The scores of cells of tables."""
        return Scores(self.strategy)

    def asked(self, workload: Workload) -> Workload:
        """Return the workload over the attributes of `strategy`, merged into one where it has one cycle.

        Raises:
            ValueError: for a workload over other attributes than the domain's.
        """
        check_sizes(workload, self.sizes)
        return workload if len(self.strategy.cycles) > 1 else merged(workload)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that needs a character at which the information matrix is zero.

        Raises:
            UnsupportedWorkloadError: naming the attributes.
            ValueError: if the domains differ.
        """
        workload, group = self.asked(workload), self.strategy.owner
        for attributes, queries in workload.kinds([group[i] for i in range(len(group))]):
            self._check_support(attributes, queries, workload.domain.names)

    def table(self, attributes: Iterable[int]) -> TableScores:
        """Return the table of some attributes, in rising order, with the covariance of all its cells."""
        chosen = tuple(sorted(attributes))
        cells = math.prod(self.strategy.cycles[i] for i in chosen)
        if cells > TABLE:
            raise ValueError(
                f"the covariance of a table of {count_text(cells)} cells was asked for, but at most {TABLE} are "
                "computed: ask for fewer attributes at once, or for the cells themselves"
            )
        return TableScores(self.scores, chosen)

    def placed(self, attributes: tuple[int, ...]) -> tuple[Labels, list[int]]:
        """Return the groups of the attributes in rising order, and the positions that sort the attributes so."""
        group = self.strategy.owner
        order = sorted(range(len(attributes)), key=lambda i: (group[attributes[i]], attributes[i]))
        return tuple(group[attributes[i]] for i in order), order

    def _check_support(self, attributes: tuple[int, ...], queries: Workload, names: tuple[str, ...]) -> None:
        _, inner = unweighted(queries)
        try:
            if len(attributes) <= self.strategy.deepest:
                if (self.scores.information(self.placed(attributes)[0]) > SEEN).all():
                    return
            elif isinstance(inner, Identity):
                raise UnsupportedWorkloadError
            self.table(attributes).check(queries)
        except UnsupportedWorkloadError:
            asked = ", ".join(names[i] for i in attributes)
            raise UnsupportedWorkloadError(
                f"the strategy cannot answer this workload: no report tells about some combination of values of "
                f"{asked}: use a strategy made for these queries, or ask for tables of fewer attributes"
            ) from None
