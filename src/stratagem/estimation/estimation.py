"""Estimates of the answers to a workload from counts of reports; protocols answer with their published scores."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import final

import numpy as np

from stratagem.accuracy import check_seen
from stratagem.accuracy.orbit import SMALL
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.answer import check_confidence
from stratagem.estimation.averaged import Averaged, Rounds
from stratagem.estimation.best_linear import BestLinear
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.likelihood import EVERY
from stratagem.estimation.postprocessing import RECOMMENDED, Method, answered_by, named, recommended
from stratagem.estimation.reconstruction import MAX_USERS, About, Reconstruction
from stratagem.estimation.translation.reconstruction import TABLE, TranslationReconstruction
from stratagem.estimation.translation.window import WindowReconstruction
from stratagem.math.privacy import uniform
from stratagem.strategies import LinearProtocol, Runnable, Strategy, TranslationStrategy
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.domain import Attribute
from stratagem.workloads.given import WorkloadLike, workload_of


@final
@dataclass(frozen=True, eq=False)
class Published(DenseReconstruction):
    """The reconstruction x_hat by a protocol's published estimator, linear in the totals (k,) and unbiased."""

    protocol: LinearProtocol
    totals: np.ndarray
    """Totals of the reports (k,); the first is the number of reports."""

    @staticmethod
    def of(protocol: LinearProtocol, totals: np.ndarray) -> Published:
        """Check the totals and reconstruct.

        Raises:
            ValueError: unless the totals are as many numbers as the protocol's, all finite, the first a number of
                reports from 1 to 2^53.
        """
        given = np.asarray(totals)
        shape = protocol.collect(protocol.randomise(np.zeros(1, dtype=int), np.random.default_rng(0))).shape
        if given.dtype.kind not in "iuf" or given.shape != shape or not np.isfinite(given).all():
            raise ValueError(
                f"the totals were given as {given.dtype} of shape {given.shape}, but this protocol has "
                f"{shape[0]} finite ones: collect the reports with it"
            )
        if not (1 <= given[0] <= MAX_USERS and given[0] % 1 == 0):
            raise ValueError(
                f"the totals begin with {given[0]:.6g} reports, but an estimate needs a whole number from 1 to "
                "2^53: collect the reports with this protocol"
            )
        return Published(protocol, given)

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of the protocol."""
        return self.protocol.epsilon, self.protocol.delta

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return round(float(self.totals[0]))

    def estimated_data(self) -> np.ndarray:
        """Return the protocol's estimate (n,)."""
        return self.protocol.reconstruct(self.totals)

    @property
    def nullity(self) -> int:
        """Number of dimensions of the data vector that no score depends on."""
        return self.protocol.null_space.shape[1]

    @property
    def null_vector(self) -> np.ndarray:
        """A random vector (n,) among the data vectors that no score depends on; zeros if there is none."""
        directions = self.protocol.null_space
        return directions @ np.random.default_rng(0).standard_normal(directions.shape[1])

    @property
    def shares(self) -> np.ndarray:
        """The uniform prior 1/n (n,): the published scores use no other."""
        return uniform(self.protocol.domain_size)

    @property
    def exact_total(self) -> bool:
        """False: published scores of a report need not add up to one."""
        return False

    def estimated_spread(self) -> np.ndarray:
        """Return sum_u x_hat_u E[s s^T | u] (n x n), linear in the estimate and so unbiased."""
        return self.protocol.spread(self.data)

    @property
    def least_spread(self) -> np.ndarray:
        """Second moments (n x n) of the scores of one report from a user of uniformly random type."""
        return self.protocol.spread(self.shares)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that needs dimensions of the data vector that no score depends on.

        Raises:
            UnsupportedWorkloadError: if there is such a query.
            ValueError: if the domains differ in size.
        """
        check_seen(workload, self.protocol)


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
    attributes: tuple[Attribute, ...] = (),
    rounds: Rounds | None = None,
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
        prior: Prior (n,) that chooses the reconstruction, as in `evaluate`; a protocol has its published one.
        method: Name of the post-processing: unbiased (none); recommended, which is wnnls where n x n arrays can be
            formed and else none; wnnls and maximum-entropy for all queries; ibu for those that know no order of
            values; base-pos, base-cut, norm-cut, norm-sub (= simplex) and ripple for histograms.
        confidence: Confidence of the intervals: normal approximations, about a population wider for few users.
        simultaneous: Whether all intervals hold together (Sidak) or each alone.
        about: `users` for the true answers of the users who reported; `population` for those of the population
            that they are a random sample of, scaled to as many users.
        attributes: The attributes with the names of their values; a mechanism passes its own.
        rounds: Says that the counts hold several reports of every user, made by a memo; the answers are then about
            their means. None for one report a user.
        base: The queries for which a post-processed data vector is made, where these determine the workload: then
            one cell has one answer, whatever it is asked with. A mechanism passes its own; None for the workload.

    Raises:
        UnsupportedWorkloadError: if a query is not a combination of rows of the strategy.
        ValueError: for counts that are not m nonnegative whole numbers, none of them positive or not the same in every
            round, an unknown method or one that does not fit the queries, or a confidence outside (0, 1).

    Example:
        >>> import numpy as np, stratagem as st
        >>> strategy, rng = st.randomised_response(4, 1.0), np.random.default_rng(1)
        >>> counts = strategy.histogram(np.array([500, 300, 150, 50]), rng)
        >>> result = estimate(strategy, counts, st.prefix(4))
        >>> result.answers.round().tolist(), result.standard_errors.round().tolist()
        ([510.0, 710.0, 923.0, 1000.0], [47.0, 50.0, 41.0, 0.0])
    """
    workload = workload_of(workload, domain, lambda: base.domain if base else strategy.domain_size)
    chosen = _checked(method, confidence, about)
    if rounds is None:
        reconstruction = _reconstruction(strategy, counts, prior, chosen)
    else:
        reconstruction = Averaged.of(BestLinear.of(_listed(strategy), _dense(counts), prior), rounds)
    shown = {"confidence": confidence, "simultaneous": simultaneous, "about": about, "attributes": attributes}
    return answered(reconstruction, workload, method=method, base=base, **shown)


def answered(
    reconstruction: Reconstruction,
    workload: Workload,
    *,
    method: str = "unbiased",
    confidence: float = 0.95,
    simultaneous: bool = False,
    about: About = "users",
    attributes: tuple[Attribute, ...] = (),
    base: Workload | None = None,
) -> Estimate:
    """Return the answers of a workload from a reconstruction; arguments and errors as in `estimate`."""
    chosen = _checked(method, confidence, about)
    reconstruction.check(workload)
    chosen = recommended(reconstruction) if method == RECOMMENDED else chosen
    shown = (confidence, simultaneous, about, attributes)
    if base is not None and chosen.fits is EVERY and not chosen.unbiased and answered_by(base, workload):
        return Estimate(base, reconstruction, chosen, chosen.processed(reconstruction, base), *shown).ask(
            workload
        )
    return Estimate(workload, reconstruction, chosen, chosen.processed(reconstruction, workload), *shown)


def _checked(method: str, confidence: float, about: str) -> Method:
    """Return the method of a name, after a look at the other words."""
    check_confidence(confidence)
    if about not in ("users", "population"):
        raise ValueError(f"{about!r} was given for about, but it is 'users' or 'population': choose one")
    return named(method)


def _dense(counts: Counts) -> np.ndarray:
    return counts.dense() if isinstance(counts, SparseCounts) else counts


def _listed(strategy: Runnable) -> Strategy:
    """Return the strategy with all its rows, which means of several rounds need."""
    if isinstance(strategy, LinearProtocol):
        raise ValueError(
            "several rounds were given for a protocol that has no memo: estimate from each round by itself"
        )
    return strategy.dense() if isinstance(strategy, TranslationStrategy) else strategy


@singledispatch
def _reconstruction(
    strategy: Strategy, counts: Counts, prior: np.ndarray | None, method: Method
) -> Reconstruction:
    return BestLinear.of(strategy, _dense(counts), prior)


@_reconstruction.register
def _(strategy: LinearProtocol, counts: Counts, prior: np.ndarray | None, method: Method) -> Reconstruction:
    return Published.of(strategy, _dense(counts))


@_reconstruction.register
def _(
    strategy: TranslationStrategy, counts: Counts, prior: np.ndarray | None, method: Method
) -> Reconstruction:
    """Return a reconstruction that can do what is asked: tables, the covariance of all cells, or the matrix."""
    if prior is not None or method.name == "ibu":
        return BestLinear.of(strategy.dense(), _dense(counts), prior)
    tables = TranslationReconstruction.of(strategy, counts)
    small = strategy.window and strategy.domain_size <= SMALL
    if small and not even_scores(tables.evidence.strategy):
        return WindowReconstruction(tables.evidence)
    if method.unbiased or strategy.domain_size > TABLE:
        return tables
    return tables.table(range(len(tables.evidence.strategy.sizes)))
