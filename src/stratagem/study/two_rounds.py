"""Two rounds: a share of the users tells where the values lie, and the others are asked in bins merged for that."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast, final

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins
from stratagem.domain.values import OTHER
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.estimation import answered
from stratagem.estimators.best_linear import BestLinear
from stratagem.estimators.dense import Dense, DenseEvidence
from stratagem.math.deadline import granted
from stratagem.math.number import count_text, integer
from stratagem.math.privacy import check_prior, ratio
from stratagem.math.vector import Counts
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Auto, Callback
from stratagem.strategies import MatrixStrategy
from stratagem.study.optimisation import optimise
from stratagem.workloads import AllRange, Prefix, Workload, all_range, prefix
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
        >>> second = st.study.second_round(first, counts, cells=4)
        >>> second.domain.sizes[0] <= 4, str(second.attributes[0].values).split(",")[0]
        (True, '0')
    """
    bins, p = _bins(first).bins, learned(first, counts)
    if users is None:
        users = REST * int(_collected(first, counts)[1].sum())
    people = integer(users, "the number of users", 1, 1 << 53, "give the people to ask in the second round")
    if cells is None:
        E = ratio(float(first.epsilon))
        cells = int(np.clip((E - 1) * math.sqrt(people / E) / ERRORS, 2, min(MOST, bins)))
    cells = integer(cells, "the number of merged bins", 2, bins, "leave it out")
    merged, prior = _merged(first, p, cells)
    limits = Auto(gap=GAP, max_seconds=granted(seconds, SECONDS))
    found = optimise(_about(first.workload, merged), float(first.epsilon), limits, on_step, prior=prior)
    return found.mechanism(name=first.name)


def _merged(first: Mechanism, p: np.ndarray, cells: int) -> tuple[Attribute, np.ndarray]:
    """Return the attribute whose bins are merged to nearly equal ones of the shares p (n,), and their shares."""
    values = _bins(first)
    below = np.cumsum(p[: values.bins]) / p[: values.bins].sum()
    inner = [1 + int(np.abs(below[:-1] - k / cells).argmin()) for k in range(1, cells)]
    starts, edges = np.unique([0, *inner, *values.outside]), values.edges
    kept = tuple(edges[k] for k in np.union1d(starts, [len(edges) - 1]))
    return replace(first.attributes[0], values=replace(values, edges=kept)), np.add.reduceat(p, starts)


def learned(first: Mechanism, counts: Counts) -> np.ndarray:
    """Return shares (n,) of the bins, positive, from the counts of the first round (m,) or sparse.

    Expectation maximisation with smoothing (Li et al., SIGMOD 2020): p <- K p', p'_u = p_u sum_y Q[y, u] c_y/(Q p)_y
    over at most 64 groups of neighbouring bins, even inside, with the weights 1/4, 1/2, 1/4 of K. They decide which
    bins are merged and how answers weigh, never whether an answer is right on average.
    """
    n, bins = _bins(first).size, _bins(first).bins
    Q, c = _collected(first, counts)
    groups = min(GROUPS, bins)
    starts = np.arange(groups) * bins // groups
    starts = np.append(starts, range(bins, n)).astype(int)
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
    alone = BestLinear(second.strategy.dense(), prior)
    evidence = alone.evidence(two)
    if pooled:
        sizes, share = np.diff(starts, append=n), one.sum() / (one.sum() + two.sum())
        Q = np.concatenate([share * Q, (1 - share) * np.repeat(of_merged, sizes, axis=1)])
        both = BestLinear(MatrixStrategy(Q), np.repeat(prior / sizes, sizes))
        evidence = DenseEvidence(Pooled(both, alone, starts), np.concatenate([one, two]))
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
    found = answered(evidence, asked, method=method, base=second.workload, **options)
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
class Pooled(Dense):
    """The users of K merged bins, G x_hat, from the best linear estimate x_hat (n,) by both rounds' reports."""

    both: BestLinear
    """The estimator for all reports, as if every user drew one of the two strategies."""
    second: BestLinear
    """The estimator of the second round alone."""
    starts: np.ndarray
    """First bin of every merged bin (K,)."""

    @property
    def privacy(self) -> tuple[float, float]:
        return self.both.privacy

    @property
    def shares(self) -> np.ndarray:
        return self.second.shares

    @property
    def null(self) -> np.ndarray:
        """Orthonormal basis (K x k) of the merged data vectors that no report of the second round depends on."""
        return self.second.null

    @property
    def least_spread(self) -> np.ndarray:
        return self._merged(self.both.least_spread)

    def check(self, workload: Workload) -> None:
        self.second.check(workload)

    def users(self, counts: np.ndarray) -> int:
        return self.both.users(counts)

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        """Return G x_hat (K,)."""
        return np.add.reduceat(self.both.estimated_data(counts), self.starts)

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        """Return G R diag(c) R^T G^T (K x K)."""
        return self._merged(self.both.estimated_spread(counts))

    def _merged(self, C: np.ndarray) -> np.ndarray:
        return np.add.reduceat(np.add.reduceat(C, self.starts, axis=0), self.starts, axis=1)


def _bins(first: Mechanism) -> Bins:
    """Return the bins of the first mechanism; a whole number is from itself to below the next."""
    attribute = first.attributes[0]
    _about(first.workload, attribute)
    values = found = cast("Any", attribute.values)
    if values.numbers:
        rest = () if values.other is None else (OTHER,)
        found = replace(Bins.of((*range(values.numbers + 1), *rest)), no_answer=values.no_answer)
    if found.bins < 3:
        raise ValueError(
            f"{attribute.name} has {attribute.size} {'labels' if values.texts else 'values'}, but two "
            "rounds merge neighbouring bins: give a first mechanism with at least three bins of numbers, dates or times"
        )
    return found


def _about(workload: Workload, merged: Attribute) -> Workload:
    """Return all prefixes or all ranges of merged bins."""
    if len(workload.domain.sizes) == 1:
        match workload.unweighted[1].unpadded:
            case Prefix():
                return prefix(merged)
            case AllRange():
                return all_range(merged)
    raise ValueError(
        "the first mechanism answers other queries, but two rounds are for prefixes and ranges of one attribute: "
        "make it for prefix or all-range"
    )


def _starts(first: Mechanism, second: Mechanism) -> np.ndarray:
    """Return the first bin of every merged bin (K,)."""
    values, merged = _bins(first), second.attributes[0].values
    edges = values.edges
    places = {text: k for k, text in enumerate(edges)}
    found = [places.get(text, -1) for text in merged.edges]
    fits = len(second.attributes) == 1 and second.attributes[0].name == first.attributes[0].name
    fits = fits and merged.no_answer == values.no_answer and merged.entry().get("zone", "") == values.zone
    if not fits or not found or [found[0], found[-1]] != [0, len(edges) - 1] or (np.diff(found) <= 0).any():
        raise ValueError(
            "the bins of the second mechanism are not merged from those of the first: give the one made from it"
        )
    return np.array([*found[:-1], *([values.size - 1] if values.no_answer else [])])


def _collected(mechanism: Mechanism, counts: Counts) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix of a mechanism (m x n) and the counts of its reports (m,) as floats.

    Raises:
        ValueError: unless they are m whole numbers of reports that it makes, or for a matrix that is too large.
    """
    strategy = mechanism.strategy.dense()
    return strategy.matrix, BestLinear(strategy).evidence(counts).counts
