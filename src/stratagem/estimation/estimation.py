"""Estimates of the answers to a workload from counts of reports; protocols answer with their published scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from stratagem.estimation.answer import check_arranged, check_confidence
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.postprocessing import METHODS, RECOMMENDED, Method, answered_by, named, recommended
from stratagem.estimation.survey import PartTables, SurveyEstimate
from stratagem.estimation.working_set import EVERY
from stratagem.estimators import Evidence, estimator
from stratagem.estimators.best_linear import Averaged, BestLinear, Rounds
from stratagem.estimators.estimator import About
from stratagem.estimators.survey import Surveyed, SurveyEvidence
from stratagem.math.vector import Counts
from stratagem.strategies import Runnable, SurveyStrategy
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of


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
