"""Estimates of the answers to a workload from counts of reports; protocols answer with their published scores.

That of a survey has a table for every part. Tables with attributes in common agree: none has a cell below zero, and
each sums to all users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from typing import cast

import numpy as np
from scipy.linalg import block_diag

from stratagem.estimation.answer import Interval, check_arranged, check_confidence
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.impossibility import Impossible, merged, nested
from stratagem.estimation.marginal_table import MarginalTable, consistent_marginals, without_debt
from stratagem.estimation.postprocessing import (
    METHODS,
    RECOMMENDED,
    Method,
    answered_by,
    named,
    recommended,
    tolerance,
)
from stratagem.estimation.working_set import EVERY, sparse_minimum
from stratagem.estimators import estimator
from stratagem.estimators.best_linear import Averaged, BestLinear, Rounds
from stratagem.estimators.estimator import About, Evidence
from stratagem.estimators.survey import Surveyed, SurveyEvidence
from stratagem.math.vector import Counts
from stratagem.strategies import Runnable, SurveyStrategy
from stratagem.workloads import DomainLike, Workload, along, histogram
from stratagem.workloads.given import WorkloadLike, workload_of

APART = 1e5
"""Penalty of people by whom two tables differ, as a multiple of the largest one of people by whom cells are off: what
it leaves of differences is a millionth of a standard error, and answers are a tenth of `tolerance` off."""


def agreeing(tables: Sequence[tuple[Evidence, Workload]]) -> list[np.ndarray]:
    """Return the data vectors (n_i,) of tables with attributes in common, as `wnnls`, that agree in what they share.

    argmin sum_i ||W_i (x_i - x_hat_i)||^2 / v_i subject to x_i >= 0, sum x_i = N, and the same number of people for
    every value of shared attributes; v_i is the mean variance of an answer at even shares. That set is convex and holds
    the true tables, so that no answers are farther from the truth than the unbiased ones in this norm. Tables that
    differ are penalised; what is left of that goes by `consistent_marginals`, and cells below zero by `without_debt`.
    """
    N, many = tables[0][0].users, len(tables)
    weights = [_weight(evidence, queries) for evidence, queries in tables]
    grams = [weight * queries.gram() for weight, (_, queries) in zip(weights, tables, strict=True)]
    both = zip(weights, tables, strict=True)
    gap = 0.5 * sum(weight * tolerance(*table) ** 2 for weight, table in both) / many**2
    centre = np.concatenate([evidence.data for evidence, _ in tables]) / (many * N)
    apart = _differences([queries for _, queries in tables])
    penalty = APART * max(float(np.diag(V).max()) for V in grams) * (apart.T @ apart)
    H = np.asarray(block_diag(*grams)) + penalty
    x = many * N * sparse_minimum(H, centre, penalty @ centre, gap)
    found, first = list[MarginalTable](), 0
    for weight, (_, queries) in zip(weights, tables, strict=True):
        cells = x[first : first + queries.domain_size].reshape(queries.domain.sizes)
        found.append(MarginalTable(queries.domain.names, cells, 1 / weight))
        first += queries.domain_size
    return [one.counts.ravel() for one in without_debt(consistent_marginals(found, N), N)]


def _weight(evidence: Evidence, workload: Workload) -> float:
    """Return one over the mean variance of an answer to one report at even shares; 1 for answers without error."""
    variance = float(evidence.prior_variances(workload).mean())
    return 1 / variance if variance > 0 else 1.0


def _differences(asked: Sequence[Workload]) -> np.ndarray:
    """Return C (k x sum n_i) with C x = 0 where the tables x of these queries agree in all that two of them share."""
    domains = [queries.domain for queries in asked]
    starts = np.cumsum([0, *(one.size for one in domains)])
    rows = [np.zeros((0, starts[-1]))]
    for i, j in combinations(range(len(domains)), 2):
        shared = [name for name in domains[i].names if name in domains[j].names]
        if shared:
            one, other = (along(domains[k], shared, histogram).matrix() for k in (i, j))
            rows.append(np.zeros((len(one), starts[-1])))
            rows[-1][:, starts[i] : starts[i + 1]], rows[-1][:, starts[j] : starts[j + 1]] = one, -other
    return np.concatenate(rows)


@dataclass(frozen=True, eq=False)
class PartTables:
    """The tables of the parts of a survey, each estimated once for all queries about it, whatever is asked of it."""

    evidence: SurveyEvidence
    asked: Workload
    """All queries of the survey."""
    make: Callable[..., Estimate]
    """Function from the evidence of a table and the queries about it to an estimate, unless another method is named."""
    method: Method

    @cached_property
    def estimates(self) -> dict[int, Estimate]:
        """The estimate of every part's table, for all queries of the survey that it answers, by its number.

        Tables of parts that share attributes are post-processed by wnnls all together.
        """
        surveyed = self.evidence.estimator
        asked = {part: queries for part, queries, _ in surveyed.by_part(self.asked)}
        found = dict[int, Estimate]()
        if self.method.agrees:
            for overlap in dict.fromkeys(each.overlap for each in surveyed.overlaps.values()):
                own = {
                    part: asked.pop(part, None) or surveyed.told(part, self.asked) for part in overlap.numbers
                }
                found |= self._agreed({part: queries for part, queries in own.items() if queries})
        return found | {part: self.make(self.of(part), queries) for part, queries in asked.items()}

    def _agreed(self, asked: dict[int, Workload]) -> dict[int, Estimate]:
        """Return the estimates of the tables of parts that share attributes, with the queries about each."""
        tables = [(self.of(part), queries) for part, queries in asked.items()]
        both = zip(asked, tables, agreeing(tables), strict=True)
        return {
            part: replace(self.make(*table, method="unbiased"), method=self.method, processed=x)
            for part, table, x in both
        }

    def of(self, part: int) -> Evidence:
        """Return what all reports say of the table of a part; those of the part alone where they are to be listed."""
        found = self.evidence.alone(part) if self.method.listed else self.evidence.of_table(part)
        if found is None:
            raise ValueError(
                "a table of the survey is too large for estimates with post-processing or shares: ask for unbiased ones"
            )
        return found

    def answered(self, part: int, queries: Workload) -> Estimate:
        """Return the answers to queries about the table of a part."""
        table = self.estimates.get(part)
        if table is None:
            return self.make(self.of(part), queries)
        return table if queries is table.workload else table.ask(queries)


@dataclass(frozen=True, eq=False)
class SurveyEstimate(Estimate):
    """Answers to the questions of a survey.

    All queries that one part answers are about one table, whose data vector is post-processed for all of them together:
    one cell has one answer, whatever it is asked with. Post-processing, shares and intervals are those of that table.
    Tables that share attributes have the same answers to what they share, unbiased and by wnnls (see `agreeing`).
    """

    evidence: SurveyEvidence
    tables: PartTables = field(kw_only=True)

    def by_table(self) -> list[tuple[Estimate, np.ndarray]]:
        shown = {"among": self.among or self.workload.queries, "simultaneous": self.simultaneous}
        found = []
        for part, queries, places in self.evidence.estimator.by_part(self.workload):
            own = self.tables.answered(part, queries)
            found.append((replace(own.raw() if self.unbiased else own, **shown), places))
        return found

    @cached_property
    def _by_table(self) -> list[tuple[Estimate, np.ndarray]]:
        return self.by_table()

    def _gathered(self, numbers: Callable[[Estimate], np.ndarray]) -> np.ndarray:
        found = np.empty(self.workload.queries)
        for one, places in self._by_table:
            found[places] = numbers(one)
        return found

    def _answers(self) -> np.ndarray:
        return self._gathered(lambda one: one.answers)

    @cached_property
    def _interval(self) -> Interval:
        found = Interval(self._gathered(lambda one: one.low), self._gathered(lambda one: one.high))
        return found if self.unbiased else nested(self.workload, found)

    @cached_property
    def impossible(self) -> Impossible:
        return merged([one.impossible for one, _ in self._by_table])

    @property
    def data(self) -> np.ndarray:
        raise ValueError(
            "a survey has a table for each part: ask for the table of some attributes, by marginal"
        )

    def ask(self, workload: WorkloadLike) -> Estimate:
        asked = workload_of(workload, default=lambda: self.workload.domain)
        base = self.base or self.workload
        self.evidence.check(asked)
        check_arranged(self.naming.attributes, asked, base)
        return replace(self, workload=asked, base=base)


def estimate(
    strategy: Runnable,
    counts: Counts,
    workload: WorkloadLike,
    *,
    domain: DomainLike | None = None,
    prior: np.ndarray | None = None,
    method: str = "unbiased",
    confidence: float = 0.95,
    simultaneous: bool = False,
    about: About = "users",
    rounds: Sequence[Rounds] = (),
    base: Workload | None = None,
) -> Estimate:
    """Return the answers of a workload (p queries over n user types) from counts of reports (m,).

    Args:
        strategy: The strategy or protocol that the clients ran.
        counts: Number of reports of each output, one report a user: (m,), or sparse where m is too large. For a
            protocol, its totals.
        workload: The queries, as in `evaluate`.
        domain: Domain of a name which fits any, or of the columns of a matrix; by default those of `base`,
            or the strategy's user types.
        prior: Prior (n,) that chooses the estimator, as in `evaluate`; a protocol has its published one.
        method: Name of the post-processing: unbiased (none); recommended, which is wnnls where n x n arrays can be
            formed and else none; wnnls and maximum-entropy for all queries; ibu for those that know no order of
            values; base-pos, base-cut, norm-cut, norm-sub (= simplex) and ripple for histograms.
        confidence: Confidence of the intervals: normal approximations, about a population wider for few users.
        simultaneous: Whether all intervals hold together (Sidak) or each alone.
        about: `users` for the true answers of the users who reported; `population` for those of the population
            that they are a random sample of, scaled to as many users.
        rounds: Says that the counts hold several reports of every user, made by a memo, for each part of a survey, else
            once; the answers are then about their means. Empty for one report a user.
        base: The queries for which a post-processed data vector is made, where these determine the workload: then
            one cell has one answer, whatever it is asked with. A mechanism passes its own; None for the workload.

    Raises:
        UnsupportedWorkloadError: if a query is not a combination of rows of the strategy.
        ValueError: for counts that are not m nonnegative whole numbers, none of them positive or not the same in every
            round, an unknown method or one that does not fit the queries, or a confidence outside (0, 1).

    Example:
        >>> import numpy as np, stratagem as st
        >>> strategy, rng = st.published.randomised_response(4, 1.0), np.random.default_rng(1)
        >>> counts = strategy.histogram(np.array([500, 300, 150, 50]), rng)
        >>> result = estimate(strategy, counts, st.prefix(4))
        >>> result.answers.round().tolist(), result.standard_errors.round().tolist()
        ([510.0, 710.0, 923.0, 1000.0], [47.0, 50.0, 41.0, 0.0])
    """
    workload = workload_of(workload, domain, lambda: base.domain if base else strategy.domain_size)
    chosen = _checked(method, confidence, about)
    survey = strategy.parted  # its tables are listed one by one
    through = None
    if rounds and survey:
        evidence = Surveyed(cast("SurveyStrategy", strategy), tuple(rounds)).evidence(counts)
    elif rounds:
        evidence = Averaged(BestLinear(strategy.listed(), prior), *rounds).evidence(counts)
    else:
        listed = chosen.listed and not survey
        through = estimator(strategy.listed() if listed else strategy, prior)
        evidence = through.evidence(counts)
    evidence = evidence if chosen.unbiased else evidence.written_out()
    shown = {"confidence": confidence, "simultaneous": simultaneous, "about": about}
    return replace(answered(evidence, workload, method=method, base=base, **shown), through=through)


def answered(
    evidence: Evidence,
    workload: Workload,
    *,
    method: str = "unbiased",
    confidence: float = 0.95,
    simultaneous: bool = False,
    about: About = "users",
    base: Workload | None = None,
) -> Estimate:
    """Return the answers of a workload from evidence; arguments and errors as in `estimate`."""
    chosen = _checked(method, confidence, about)
    evidence.check(workload)
    chosen = recommended(evidence) if method == RECOMMENDED else chosen
    attributes = () if base is None else base.domain.attributes
    check_arranged(attributes, workload, base or workload)
    shown = (confidence, simultaneous, about, attributes)
    if isinstance(evidence, SurveyEvidence):
        options = {"method": method, "confidence": confidence, "simultaneous": simultaneous, "about": about}
        chosen = METHODS["wnnls"] if method == RECOMMENDED else chosen
        tables = PartTables(evidence, base or workload, partial(answered, **options), chosen)
        return SurveyEstimate(workload, evidence, chosen, None, *shown, base, tables=tables)
    if base is not None and chosen.fits == EVERY and not chosen.unbiased and answered_by(base, workload):
        return Estimate(base, evidence, chosen, chosen.processed(evidence, base), *shown).ask(workload)
    return Estimate(workload, evidence, chosen, chosen.processed(evidence, workload), *shown)


def _checked(method: str, confidence: float, about: str) -> Method:
    """Return the method of a name, after a look at the other words."""
    check_confidence(confidence)
    if about not in ("users", "population"):
        raise ValueError(f"{about!r} was given for about, but it is 'users' or 'population': choose one")
    return named(method)
