"""Answers from counts of reports, with how far off they may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy.orbit import SMALL
from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.best_linear import BestLinear
from stratagem.estimation.interval import (
    Quantile,
    check_confidence,
    quantile_index,
    quantile_range,
    standard_errors_each_side,
)
from stratagem.estimation.invariant.reconstruction import TABLE, InvariantReconstruction
from stratagem.estimation.invariant.window import WindowReconstruction
from stratagem.estimation.postprocessing import METHODS, RECOMMENDED, Method, named, recommended
from stratagem.estimation.published import Published
from stratagem.estimation.reconstruction import ROUNDING, About, Reconstruction
from stratagem.number import integer, real
from stratagem.strategies import InvariantStrategy, OrbitStrategy, Protocol, Randomiser
from stratagem.workloads import Domain, Workload, histogram, kron, prefix, total

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Answer(NamedTuple):
    """One answer of many."""

    query: int
    """Its number, 0..p-1."""
    answer: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Estimate:
    """Answers to a workload, estimated from counts of reports.

    Standard errors, covariance and intervals are those of the unbiased answers, whatever the post-processing:
    a biased answer may lie outside its interval. `unbiased` and `bias` say which answers these are.
    """

    workload: Workload
    reconstruction: Reconstruction
    """The unbiased estimate of the data vector and its covariance."""
    method: Method
    """The post-processing."""
    processed: np.ndarray | None
    """The post-processed data vector (n,); None where answers come straight from the reports."""
    confidence: float
    """Confidence of the intervals."""
    simultaneous: bool
    """Whether all intervals together hold with that confidence, or each alone."""
    about: About
    """Whose true answers the intervals are about: the users who reported, or the population they came from."""

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.reconstruction.users

    def raw(self) -> Estimate:
        """Return the same estimate without post-processing."""
        return replace(self, method=METHODS["unbiased"], processed=None)

    @property
    def unbiased(self) -> bool:
        """Whether the expectation of every answer is the true one."""
        return self.method.unbiased

    @property
    def bias(self) -> str:
        """In which sense the answers are biased, or not, in one sentence."""
        return self.method.bias

    @property
    def data(self) -> np.ndarray:
        """Post-processed data vector (n,); where some user types cannot be told apart only its answers count.

        Raises:
            ValueError: for a domain that nobody can write out.
        """
        return self.reconstruction.data if self.processed is None else self.processed

    @cached_property
    def answers(self) -> np.ndarray:
        """Answers W x (p,) in users, x the post-processed data vector."""
        return self.unbiased_answers if self.processed is None else self.workload.answer(self.processed)

    @cached_property
    def unbiased_answers(self) -> np.ndarray:
        """Unbiased answers W x_hat (p,), the centres of the intervals."""
        return self.reconstruction.answers(self.workload)

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard error of every unbiased answer (p,), from the counts."""
        return np.sqrt(self.reconstruction.variances(self.workload, self.about))

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals (p,)."""
        return self.unbiased_answers - self._margins(self.simultaneous)

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals (p,)."""
        return self.unbiased_answers + self._margins(self.simultaneous)

    def covariance(self) -> np.ndarray:
        """Return the estimated covariance (p x p) of the unbiased answers.

        Raises:
            ValueError: for more than 2^27 entries, or if the counts do not determine it.
        """
        return self.reconstruction.covariance(self.workload, self.about)

    def ask(self, workload: Workload) -> Estimate:
        """Return the answers to other queries from the same reports, post-processed for these queries.

        Raises:
            UnsupportedWorkloadError: if a query is not a combination of rows of the strategy.
            ValueError: if the post-processing does not fit them.
        """
        self.reconstruction.check(workload)
        processed = self.method.processed(self.reconstruction, workload)
        return replace(self, workload=workload, processed=processed)

    def marginal(self, *attributes: str) -> Estimate:
        """Return the table of some attributes, the others summed out.

        Its answers are in row-major order of the attributes as the domain names them: reshape them to those
        sizes for a table.

        Raises:
            ValueError: for an attribute that is unknown or named twice.
            UnsupportedWorkloadError: if the strategy does not determine the table.
        """
        return self.ask(_along(self.workload.domain, attributes, histogram))

    def quantile(self, share: float, attribute: str | None = None) -> Quantile:
        """Return the smallest value of an attribute that at least a share of the users is at or below.

        Its estimate is the number of prefixes below that share, its interval has the confidence of the others.

        Raises:
            ValueError: for a share outside (0, 1), an unknown attribute, or none named among several.
            UnsupportedWorkloadError: if the strategy does not determine the attribute's prefixes.
        """
        if not 0 < real(share) < 1:
            raise ValueError(f"the quantile {share!r} was asked for, but must lie between 0 and 1: give 0.5")
        domain = self.workload.domain
        names = domain.attributes if attribute is None else (attribute,)
        if len(names) > 1:
            raise ValueError(
                f"a quantile was asked for without an attribute, but the domain has {len(names)}: "
                f"name one of {', '.join(names)}"
            )
        below = self.ask(_along(domain, names, prefix))
        wanted = share * self.users * (1 - ROUNDING)
        return Quantile(quantile_index(below.answers, wanted), *quantile_range(below.low, below.high, wanted))

    def top(self, k: int) -> list[Answer]:
        """Return the k largest answers, largest first, with intervals that hold together over all queries.

        Simultaneous intervals are valid for answers that were chosen for being large.

        Raises:
            ValueError: unless k is a whole number from 1 to p.
        """
        integer(k, "the number of largest answers", 1, self.workload.queries, "ask for fewer")
        largest = np.argsort(-self.answers, kind="stable")[:k]
        margins, centres = self._margins(True), self.unbiased_answers
        return [
            Answer(
                int(i),
                float(self.answers[i]),
                float(self.standard_errors[i]),
                float(centres[i] - margins[i]),
                float(centres[i] + margins[i]),
            )
            for i in largest
        ]

    def plot(
        self, path: str | Path | None = None, width: float | None = None, *, truth: ArrayLike | None = None
    ) -> Figure:
        """Draw the answers with their intervals; write an .svg, .png or .pdf if a path is given.

        `truth` (p,), the true answers where they are known, is drawn in black; `width` in inches, that of the
        style by default.

        Raises:
            ValueError: without matplotlib, for a path or width that cannot be used, or a truth of another shape.
        """
        from stratagem.plots import plot_estimate

        return plot_estimate(self, path, width, truth=truth)

    def _margins(self, simultaneous: bool) -> np.ndarray:
        """Return the half-widths (p,) of intervals; answers without error take no share of the confidence."""
        uncertain = int(np.count_nonzero(self.standard_errors)) if simultaneous else 1
        return standard_errors_each_side(self.confidence, uncertain) * self.standard_errors


def estimate(
    strategy: Randomiser | InvariantStrategy,
    counts: Counts,
    workload: Workload,
    *,
    prior: np.ndarray | None = None,
    method: str = "unbiased",
    confidence: float = 0.95,
    simultaneous: bool = False,
    about: About = "users",
) -> Estimate:
    """Return the answers of a workload (p queries over n user types) from counts of reports (m,).

    Args:
        strategy: What the clients ran.
        counts: How often each output was reported, one report a user: (m,), or sparse where m is too large; a
            protocol's totals.
        workload: What is asked.
        prior: Chooses the reconstruction (n,), as in `evaluate`; a protocol has its published one.
        method: Post-processing by name: unbiased (none); recommended, which is wnnls where n x n arrays can be
            formed and else none; wnnls and maximum-entropy for all queries; ibu for those that know no order of
            values; base-pos, base-cut, norm-cut, norm-sub (= simplex) and ripple for histograms.
        confidence: Of the intervals, which are normal approximations.
        simultaneous: Whether all intervals hold together (Sidak) or each alone.
        about: `users` for the true answers of the users who reported; `population` for those of the population
            that they are a random sample of, scaled to as many users.

    Raises:
        UnsupportedWorkloadError: if a query is not a combination of rows of the strategy.
        ValueError: for counts that are not m nonnegative whole numbers, none of them positive, an unknown
            method or one that does not fit the queries, or a confidence outside (0, 1).

    Example:
        >>> import numpy as np, stratagem as st
        >>> strategy, rng = st.randomised_response(4, 1.0), np.random.default_rng(1)
        >>> counts = strategy.histogram(np.array([500, 300, 150, 50]), rng)
        >>> result = estimate(strategy, counts, st.prefix(4))
        >>> result.answers.round().tolist(), result.standard_errors.round().tolist()
        ([510.0, 710.0, 923.0, 1000.0], [47.0, 50.0, 41.0, 0.0])
    """
    chosen = named(method)
    check_confidence(confidence)
    if about not in ("users", "population"):
        raise ValueError(f"{about!r} was given for about, but it is 'users' or 'population': choose one")
    if isinstance(strategy, InvariantStrategy):
        reconstruction = _invariant(strategy, counts, prior, chosen)
    else:
        counts = counts.dense() if isinstance(counts, SparseCounts) else counts
        protocol = isinstance(strategy, Protocol)
        reconstruction = (
            Published.of(strategy, counts) if protocol else BestLinear.of(strategy, counts, prior)
        )
    reconstruction.check(workload)
    chosen = recommended(reconstruction) if method == RECOMMENDED else chosen
    processed = chosen.processed(reconstruction, workload)
    return Estimate(workload, reconstruction, chosen, processed, confidence, simultaneous, about)


def _invariant(
    strategy: InvariantStrategy, counts: Counts, prior: np.ndarray | None, method: Method
) -> Reconstruction:
    """Return a reconstruction that can do what is asked: tables, the covariance of all cells, or the matrix."""
    if prior is not None or method.name == "ibu":
        return BestLinear.of(strategy.dense(), SparseCounts.of(counts).dense(), prior)
    tables = InvariantReconstruction.of(strategy, counts)
    if isinstance(strategy, OrbitStrategy) and strategy.window and strategy.domain_size <= SMALL:
        return WindowReconstruction(tables.evidence)
    if method.unbiased or strategy.domain_size > TABLE:
        return tables
    return tables.table(range(len(strategy.sizes)))


def _along(domain: Domain, attributes: Iterable[str], kind: Callable[..., Workload]) -> Workload:
    """Return the workload that asks `kind` of the named attributes together and sums out the others."""
    chosen = list(attributes)
    for name in chosen:
        if name not in domain.attributes:
            raise ValueError(
                f"{name!r} was given as an attribute, but the domain has {', '.join(domain.attributes[:20])}: "
                "name one of these"
            )
        if chosen.count(name) > 1:
            raise ValueError(f"attribute {name!r} was given {chosen.count(name)} times: name it once")
    return kron(
        (kind if name in chosen else total)({name: size})
        for name, size in zip(domain.attributes, domain.sizes, strict=True)
    )
