"""Two rounds: a share of the users tells where the values lie, and the others are asked in bins merged for that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from stratagem.collection.tally import Counts, SparseCounts
from stratagem.estimation.best_linear import BestLinear, check_reports
from stratagem.estimation.dense_reconstruction import DenseReconstruction
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.estimation import answered
from stratagem.math.deadline import granted
from stratagem.math.number import count_text, integer
from stratagem.math.privacy import check_prior, ratio
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Auto, Callback
from stratagem.strategies import MatrixStrategy
from stratagem.study.optimisation import optimise
from stratagem.workloads import AllRange, Domain, Prefix, Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.domain import OTHER
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.merged import Spread
from stratagem.workloads.naming import Naming

GROUPS, STEPS = 64, 100
"""Groups of neighbouring bins whose shares are learned, and steps of the iteration that learns them."""
ERRORS = 9
"""Standard errors of one yes/no question that the share of a merged bin is worth."""
MOST = 64
"""Most merged bins by default."""
REST = 4
"""Users of the second round for each of the first, by default."""
FIXED = (
    "biased if these first reports chose the bins: in a simulation of 6,000 people by half a standard error at a "
    "chosen edge, more where an edge is seldom chosen; from the second round alone unbiased"
)
"""What is true of pooled answers about merged bins."""
GAP, SECONDS = 0.01, 20.0
"""Gap at which the search for the second strategy ends, and seconds after which it does."""


def second_round(
    first: Mechanism,
    counts: Counts,
    *,
    users: int | None = None,
    cells: int | None = None,
    on_step: Callback | None = None,
    seconds: float | None = None,
) -> Mechanism:
    """Return the mechanism of the second round: the best one found for bins merged to nearly equal shares.

    The reports of the first round, counts (m,) or sparse, estimate the shares of its n bins (see `learned`).
    Neighbouring bins are merged into `cells` ones, by default as many as the errors of `users` people leave room for,
    at most 64; `users` are four times the reports of the first round by default. The queries are all prefixes or all
    ranges of the merged bins, as in the first round; epsilon is the same, as no user takes part in both. The search
    takes at most `seconds`, 20 by default.

    Raises:
        ValueError: for a first mechanism that is not about prefixes or ranges of at least three bins of one attribute,
            counts of another mechanism, or numbers out of range.

    Example:
        >>> import numpy as np, stratagem as st
        >>> first = st.optimise(st.prefix(16), 1.0).mechanism()
        >>> x = np.array([500] * 4 + [0] * 12)
        >>> counts = first.strategy.histogram(x, np.random.default_rng(1))
        >>> second = st.second_round(first, counts, cells=4)
        >>> second.domain.sizes[0] <= 4, second.attributes[0].edges[0], second.attributes[0].edges[-1]
        (True, '0', '16')
    """
    edges, last = _edges(first)
    bins, p = len(edges) - 1 - last, learned(first, counts)
    if users is None:
        users = REST * int(_collected(first, counts)[1].sum())
    people = integer(users, "the number of users", 1, 1 << 53, "give the people to ask in the second round")
    if cells is None:
        E = ratio(float(first.epsilon))
        cells = int(np.clip((E - 1) * math.sqrt(people / E) / ERRORS, 2, min(MOST, bins)))
    cells = integer(cells, "the number of merged bins", 2, bins, "leave it out")
    below = np.cumsum(p[:bins]) / p[:bins].sum()
    inner = [1 + int(np.abs(below[:-1] - k / cells).argmin()) for k in range(1, cells)]
    starts = np.unique([0, *inner, *([bins] if last else [])])
    attribute, workload = first.attributes[0], _about(first.workload, len(starts))
    prior = np.add.reduceat(p, starts)
    limits = Auto(gap=GAP, max_seconds=granted(seconds, SECONDS))
    found = optimise(workload, float(first.epsilon), limits, on_step, prior=prior)
    texts = [edges[k] for k in (*starts, len(edges) - 1)]
    return found.mechanism(name=first.name, edges=texts, units=attribute.unit or None)


def learned(first: Mechanism, counts: Counts) -> np.ndarray:
    """Return shares (n,) of the bins, positive, from the counts of the first round (m,) or sparse.

    Expectation maximisation with smoothing (Li et al., SIGMOD 2020): p <- K p', p'_u = p_u sum_y Q[y, u] c_y/(Q p)_y
    over at most 64 groups of neighbouring bins, even inside, with the weights 1/4, 1/2, 1/4 of K. They decide which
    bins are merged and how answers weigh, never whether an answer is right on average.

    Raises:
        ValueError: as `second_round`.
    """
    edges, last = _edges(first)
    n = len(edges) - 1
    Q, c = _collected(first, counts)
    bins = n - last
    groups = min(GROUPS, bins)
    starts = np.arange(groups) * bins // groups
    starts = np.append(starts, bins) if last else starts
    sizes = np.diff(starts, append=n)
    Q = np.add.reduceat(Q, starts, axis=1) / sizes
    p = sizes / n
    for _ in range(STEPS):
        p = p * (Q.T @ (c / c.sum() / (Q @ p)))
        ends = np.pad(p[:groups], 1, mode="edge")
        p[:groups] = (ends[:-2] + 2 * ends[1:-1] + ends[2:]) / 4
        p /= p.sum()
    return np.repeat(p / sizes, sizes)


def combine(
    first: Mechanism,
    first_counts: Counts,
    second: Mechanism,
    second_counts: Counts,
    workload: WorkloadLike | None = None,
    *,
    pooled: bool = False,
    method: str = "unbiased",
    **options: Any,
) -> Estimate:
    """Return the answers of the second of two rounds, about merged bins or about those of the first round.

    The users of the two rounds are different ones, dealt at random. Bins that the first reports chose lie where these
    reports erred: so they choose bins alone, and the answers are those of the second round's users, unbiased whatever
    was chosen. With `pooled` the reports of both rounds answer for all users, weighed by their information (theory.md,
    section 14): unbiased where the second mechanism was fixed before any report, else biased at the chosen edges.
    The answers are those of the second mechanism's queries, or of a `workload` over its K bins. A workload over the n
    bins of the first is answered as if the people of a merged bin were spread evenly over it: exact for queries whose
    ends are edges of merged bins (`Spread.exact`), biased for others, as `Estimate.bias` says.
    `method` and the other options are those of `estimate`.

    Raises:
        ValueError: for mechanisms that are no pair, counts of other mechanisms or given twice, queries about other
            bins, and as `estimate`.
    """
    starts, n = _starts(first, second), first.workload.domain_size
    (Q, one), (of_merged, two) = _collected(first, first_counts), _collected(second, second_counts)
    if first.identifier == second.identifier and (one == two).all():
        raise ValueError(
            "both rounds have one mechanism and the same counts, so that reports would count twice: give the counts of "
            "two rounds"
        )
    prior = check_prior(second.prior, len(starts))
    source: DenseReconstruction = BestLinear.of(second.strategy.dense(), two, prior)
    if pooled:
        sizes, share = np.diff(starts, append=n), one.sum() / (one.sum() + two.sum())
        Q = np.concatenate([share * Q, (1 - share) * np.repeat(of_merged, sizes, axis=1)])
        both = BestLinear.of(MatrixStrategy(Q), np.concatenate([one, two]), np.repeat(prior / sizes, sizes))
        source = Pooled(both, source, starts)
    asked = workload_of(second.workload if workload is None else workload, default=lambda: second.domain)
    inexact = 0
    if asked.domain_size != len(starts):
        if asked.domain_size != n:
            raise ValueError(
                f"the queries are about {count_text(asked.domain_size)} values, but the first mechanism has {n} and "
                f"the second {len(starts)}: ask about one of these"
            )
        asked = Spread(asked, tuple(starts.tolist()), Naming.of(asked, first.attributes))
        inexact = int((~asked.exact).sum())
    options |= {"base": second.workload, "attributes": second.attributes}
    found = answered(source, asked, method=method, **options)
    bias = found.bias if not pooled else FIXED if found.unbiased else f"{FIXED}; {found.bias}"
    if inexact:
        within = (
            f"{inexact:,} of {asked.queries:,} queries end within merged bins, whose people count as even, which their "
            "intervals leave out"
        )
        bias = f"{bias}; {within}" if bias.startswith("biased") else f"biased: {within}"
    unbiased = found.unbiased and not pooled and not inexact
    return replace(found, method=replace(found.method, unbiased=unbiased, bias=bias))


@final
@dataclass(frozen=True, eq=False)
class Pooled(DenseReconstruction):
    """The users of K merged bins, G x_hat, from the best linear reconstruction x_hat (n,) of both rounds' reports."""

    both: BestLinear
    """The reconstruction from all reports, as if every user drew one of the two strategies."""
    second: BestLinear
    """The reconstruction from the second round alone."""
    starts: np.ndarray
    """First bin of every merged bin (K,)."""

    @property
    def privacy(self) -> tuple[float, float]:
        """Epsilon and delta of a report of either round."""
        return self.both.privacy

    @property
    def users(self) -> int:
        """Number N of reports of both rounds, one a user."""
        return self.both.users

    @property
    def nullity(self) -> int:
        """Number of dimensions of the merged data vector that no report of the second round depends on."""
        return self.second.nullity

    @property
    def null_vector(self) -> np.ndarray:
        """A random one of these data vectors (K,)."""
        return self.second.null_vector

    @property
    def shares(self) -> np.ndarray:
        """The prior of the second mechanism (K,)."""
        return self.second.shares

    @property
    def least_spread(self) -> np.ndarray:
        """G M^+ G^T/n (K x K): the second moments of one report's scores under the prior."""
        return self._merged(self.both.least_spread)

    def estimated_data(self) -> np.ndarray:
        """Return G x_hat (K,)."""
        return np.add.reduceat(self.both.data, self.starts)

    @property
    def exact_total(self) -> bool:
        """True: the strategy knows the number of users."""
        return True

    def estimated_spread(self) -> np.ndarray:
        """Return G R diag(c) R^T G^T (K x K)."""
        return self._merged(self.both.estimated_spread())

    def check(self, workload: Workload) -> None:
        """Refuse queries that the second mechanism cannot answer.

        Raises:
            UnsupportedWorkloadError: naming what is missing.
            ValueError: if the domains differ in size.
        """
        self.second.check(workload)

    def _merged(self, C: np.ndarray) -> np.ndarray:
        return np.add.reduceat(np.add.reduceat(C, self.starts, axis=0), self.starts, axis=1)


def _edges(first: Mechanism) -> tuple[tuple[str, ...], bool]:
    """Return the edges of the first mechanism's bins (n + 1,), and whether its last value stands for others.

    Raises:
        ValueError: unless its queries are prefixes or ranges of at least three bins of one attribute.
    """
    _about(first.workload, 1)
    (attribute,) = first.attributes
    last = attribute.edges[-1:] == (OTHER,)
    if attribute.labels or attribute.size - last < 3:
        raise ValueError(
            f"{attribute.name} has {attribute.size} {'labels' if attribute.labels else 'values'}, but two rounds merge "
            "neighbouring bins: give a first mechanism with at least three bins of numbers, dates or times"
        )
    return attribute.edges or tuple(map(str, range(attribute.size + 1))), last


def _about(workload: Workload, cells: int) -> Workload:
    """Return all prefixes or all ranges of merged bins."""
    domain = Domain(workload.domain.attributes, (cells,)) if len(workload.domain.sizes) == 1 else None
    match unweighted(workload)[1]:
        case Prefix() if domain:
            return Prefix(domain)
        case AllRange() if domain:
            return AllRange(domain, cells)
    raise ValueError(
        "the first mechanism answers other queries, but two rounds are for prefixes and ranges of one attribute: "
        "make it for prefix or all-range"
    )


def _starts(first: Mechanism, second: Mechanism) -> np.ndarray:
    """Return the first bin of every merged bin (K,).

    Raises:
        ValueError: unless the second mechanism merges bins of the first.
    """
    edges, _ = _edges(first)
    places = {text: k for k, text in enumerate(edges)}
    found = [places.get(text, -1) for text in second.attributes[0].edges]
    fits = len(second.attributes) == 1 and second.attributes[0].name == first.attributes[0].name
    if not fits or not found or [found[0], found[-1]] != [0, len(edges) - 1] or (np.diff(found) <= 0).any():
        raise ValueError(
            "the bins of the second mechanism are not merged from those of the first: give the one made from it"
        )
    return np.array(found[:-1])


def _collected(mechanism: Mechanism, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix of a mechanism (m x n) and the counts of its reports (m,) as floats.

    Raises:
        ValueError: unless they are m whole numbers of reports that it makes, or for a matrix that is too large.
    """
    strategy = mechanism.strategy.dense()
    given = counts.dense() if isinstance(counts, SparseCounts) else counts
    return strategy.matrix, check_reports(given, strategy)
