"""Two rounds: a share of the users tells where the values lie, and the others are asked in bins merged for that."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

import numpy as np

from stratagem.bounds.formulas import best_spread
from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins
from stratagem.domain.values import OTHER
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.estimation import answered
from stratagem.estimators import estimator
from stratagem.estimators.best_linear import BestLinear, Pooled
from stratagem.estimators.dense import DenseEvidence
from stratagem.math.deadline import granted
from stratagem.math.number import count_text, integer
from stratagem.math.privacy import check_prior, ratio
from stratagem.math.vector import Counts
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers import Auto, Callback
from stratagem.strategies import MatrixStrategy
from stratagem.study.optimisation import optimise
from stratagem.workloads import Workload
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.merged import Spread, about, with_merged
from stratagem.workloads.naming import Naming
from stratagem.workloads.question import questions

if TYPE_CHECKING:
    from stratagem.estimators.survey import SurveyEvidence
    from stratagem.study.solution import Solution

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
DRAWS, DRAWN, LISTED = (8, 32), 1 << 15, 1 << 22
"""Fewest and most first rounds whose merged bins are predicted, their reports together, and most entries of a matrix
for which that is done."""
PAYS = 0.8
"""Ratio of typical errors below which two rounds pay."""


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
    ranges of the merged bins, as in the first round; epsilon is the same, as no user takes part in both. Of a survey
    every attribute is merged that a part of the questions asks about alone, in prefixes or ranges and nothing else; the
    others stay. The search takes at most `seconds`, 20 by default.

    Raises:
        ValueError: for a first mechanism that is not about prefixes or ranges of at least three bins of an attribute,
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
    scales = numeric(first.workload, first.strategy)
    told, reports = _told(first, counts, scales)
    users = REST * reports if users is None else users
    people = integer(users, "the number of users", 1, 1 << 53, "give the people to ask in the second round")
    merged, p = dict[str, Attribute](), np.empty(0)
    for one, c in zip(scales, told, strict=True):
        many = one.cells(people, float(first.epsilon)) if cells is None else cells
        many = integer(many, "the number of merged bins", 2, one.bins.bins, "leave it out")
        p = one.learned(c[:, None])[:, 0]
        starts = one.starts(p, many)
        merged[one.attribute.name], p = one.merged(starts), np.add.reduceat(p, starts)
    asked = with_merged(first.workload, merged)
    limits, prior = Auto(gap=GAP, max_seconds=granted(seconds, SECONDS)), None if first.strategy.parted else p
    return optimise(asked, float(first.epsilon), limits, on_step, prior=prior).mechanism(name=first.name)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Scale:
    """Bins of numbers, dates or times that a first round asks about by prefixes or ranges."""

    asked: Workload
    """The queries, about this attribute alone."""
    strategy: Any
    """The strategy of the reports about it."""
    share: float = 1.0
    """Share of the people who send such a report."""
    part: int = 0
    """Number of its part among those of a survey."""

    @property
    def attribute(self) -> Attribute:
        """The attribute with its values."""
        return self.asked.domain.attributes[0]

    @cached_property
    def bins(self) -> Bins:
        """The bins; a whole number is from itself to below the next."""
        return _bins(self.attribute)

    def cells(self, people: int, epsilon: float) -> int:
        """Return how many merged bins the errors of so many people of the whole survey leave room for."""
        E = ratio(epsilon)
        many = (E - 1) * math.sqrt(self.share * people / E) / ERRORS
        return int(np.clip(many, 2, min(MOST, self.bins.bins)))

    def starts(self, p: np.ndarray, cells: int) -> np.ndarray:
        """Return the first bin of every merged one, of nearly equal ones of the shares p (n,); what is no bin stays."""
        if cells >= self.bins.bins:
            return np.arange(self.bins.size)
        below = np.cumsum(p[: self.bins.bins]) / p[: self.bins.bins].sum()
        inner = [1 + int(np.abs(below[:-1] - k / cells).argmin()) for k in range(1, cells)]
        return np.unique([0, *inner, *self.bins.outside])

    def merged(self, starts: np.ndarray) -> Attribute:
        """Return the attribute whose bins are merged."""
        edges = self.bins.edges
        kept = tuple(edges[k] for k in np.union1d(starts, [len(edges) - 1]))
        return replace(self.attribute, values=replace(self.bins, edges=kept))

    def learned(self, counts: np.ndarray) -> np.ndarray:
        """Return shares (n, r) of the bins, positive, from the counts of r first rounds (m, r).

        Expectation maximisation with smoothing (Li et al., SIGMOD 2020): p <- K p',
        p'_u = p_u sum_y Q[y, u] c_y/(Q p)_y over at most 64 groups of neighbouring bins, even inside, with the weights
        1/4, 1/2, 1/4 of K. They decide which bins are merged and how answers weigh, never whether an answer is right on
        average.
        """
        n, bins = self.bins.size, self.bins.bins
        groups = min(GROUPS, bins)
        starts = np.append(np.arange(groups) * bins // groups, range(bins, n)).astype(int)
        sizes = np.diff(starts, append=n)
        came = counts.any(axis=1)
        Q = np.add.reduceat(self.strategy.dense().matrix[came], starts, axis=1) / sizes
        c = counts[came] / counts.sum(axis=0)
        p = np.repeat((sizes / n)[:, None], c.shape[1], axis=1)
        for _ in range(STEPS):
            p = p * (Q.T @ (c / (Q @ p)))
            ends = np.pad(p[:groups], ((1, 1), (0, 0)), mode="edge")
            p[:groups] = (ends[:-2] + 2 * ends[1:-1] + ends[2:]) / 4
            p /= p.sum(axis=0)
        return np.repeat(p / sizes[:, None], sizes, axis=0)

    def gain(self, x: np.ndarray, users: int, epsilon: float) -> Gain:
        """Return what two rounds of so many people gain if their shares are those of x (n,): theory.md, section 14."""
        V, p, Q = self.asked.gram(), x / x.sum(), self.strategy.dense().matrix
        n, few = len(p), max(1, round(users / (1 + REST)))
        even, accuracy = np.full(n, 1 / n), estimator(self.strategy).accuracy(self.asked)
        bound = np.sum(V * best_spread(V, even, epsilon))
        scale = (accuracy.average_variance + V.trace() / n - even @ V @ even) / bound / self.share
        apart = p @ V.diagonal() - 2 * p @ V @ even + even @ V @ even
        one = (accuracy.total_variance(p) + (1 - self.share) * apart) / self.share / users

        def error(starts: np.ndarray, weights: np.ndarray, people: int) -> float:
            D = best_spread(about(self.asked, self.merged(starts)).gram(), weights, epsilon) * scale / people
            return self._error(V, p, starts, D, users)

        steps = [self.bins.bins >> k for k in range(1, self.bins.bins.bit_length() - 1)]
        wide = [self.starts(even, cells) for cells in steps]
        coarser = [error(starts, np.diff(starts, append=n) / n, users) for starts in wide]
        reports, many = max(1, round(few * self.share)), self.cells(users - few, epsilon)
        draws = int(np.clip(DRAWN // reports, *DRAWS))
        counts = np.random.default_rng(0).multinomial(reports, Q @ p / (Q @ p).sum(), draws).T
        two = []
        for shares in self.learned(counts).T:
            starts = self.starts(shares, many)
            two.append(error(starts, np.add.reduceat(shares, starts), users - few))
        queries = self.asked.queries
        return Gain(one / queries, min([one, *coarser]) / queries, float(np.mean(two)) / queries, few)

    def _error(self, V: np.ndarray, p: np.ndarray, starts: np.ndarray, D: np.ndarray, users: int) -> float:
        """Return the sum of squared errors of all queries from second moments D (K x K) of merged shares."""
        sizes, held = np.diff(starts, append=len(p)), np.add.reduceat(p, starts)
        F = np.add.reduceat(np.add.reduceat(V, starts, axis=0), starts, axis=1) / np.outer(sizes, sizes)
        missed = p - np.repeat(held / sizes, sizes)
        told = np.sum(F * D) - (held @ F.diagonal() - held @ F @ held) / users
        return float(told + missed @ V @ missed)


class Gain(NamedTuple):
    """Squared errors of shares of all people, in the mean over the queries about the bins of the first round."""

    one: float
    """Of one round of everybody in all bins."""
    coarser: float
    """Of one round of everybody in all bins, or in evenly merged ones if that is less."""
    two: float
    """Of two rounds; people count as evenly spread over a merged bin."""
    first: int
    """People of the first round, a fifth of all."""

    @property
    def cut(self) -> float:
        """Share of the typical error of one round in all bins that two rounds save."""
        return 1 - math.sqrt(self.two / self.one)

    @property
    def pays(self) -> bool:
        """Whether two rounds cut the typical error by a fifth, also that of one round in coarser bins."""
        return bool(self.two <= PAYS**2 * self.coarser)


def numeric(workload: Workload, strategy: Any) -> list[Scale]:
    """Return what two rounds can merge: the bins of one question, or those that a part of a survey asks about alone.

    Raises:
        ValueError: where nothing is asked in prefixes or ranges of at least three bins.
    """
    if not strategy.parted:
        one = Scale(asked=workload, strategy=strategy)
        about(workload, one.attribute)
        return [one] if one.bins else []
    found, every = list[Scale](), questions(workload)
    for part, drawn in enumerate(strategy.parts):
        told = [one for one in every if {*one.about} & {*drawn.attributes}]
        if all(one.attributes == drawn.attributes and one.kind in ("prefix", "all-range") for one in told):
            scale = Scale(asked=told[0].workload, strategy=drawn.strategy, share=drawn.share, part=part)
            with suppress(ValueError):  # fewer than three bins
                found += [scale] if scale.bins else []
    if not found:
        raise ValueError(
            "no part of the survey asks for prefixes or ranges of at least three bins of one attribute and nothing "
            "else about it: two rounds merge neighbouring bins of such an attribute"
        )
    return found


def advice(solution: Solution, users: int, known: Sequence[np.ndarray]) -> str:
    """Return how much two rounds of so many people gain, and how to go on; empty where they do not pay.

    `known` are people by value of every attribute (n,), from data like the answers; none where there are no data.
    """
    workload, strategy, named = solution.workload, solution.strategy, solution.workload.domain.names
    try:
        scales = numeric(workload, strategy) if known and users > REST else []
    except ValueError:
        return ""
    cuts, few = list[str](), 0
    for one in scales:
        x, name = known[named.index(one.attribute.name)], one.attribute.name
        if x.any() and one.strategy.runnable and one.strategy.outputs * len(x) <= LISTED:
            gain = one.gain(x, users, solution.epsilon)
            cuts, few = cuts + [f"{name} by {100 * gain.cut:.0f} %"] * gain.pays, gain.first
    if not cuts:
        return ""
    return (
        f"Two rounds would cut the typical error of {' and '.join(cuts)}, if answers are like these: collect {few:,} "
        f"people with this mechanism, merge bins by `st.study.second_round(first, counts, users={users - few})`, and "
        "ask everybody else in these."
    )


def learned(first: Mechanism, counts: Counts) -> np.ndarray:
    """Return shares (n,) of the bins of a question, positive, from the counts of its first round (m,) or sparse."""
    (scale,) = numeric(first.workload, first.strategy)
    return scale.learned(_collected(first, counts)[1][:, None])[:, 0]


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


def _bins(attribute: Attribute) -> Bins:
    """Return the bins of an attribute; a whole number is from itself to below the next."""
    values = found = cast("Any", attribute.values)
    if values.numbers:
        rest = () if values.other is None else (OTHER,)
        found = replace(Bins.of((*range(values.numbers + 1), *rest)), no_answer=values.no_answer, whole=True)
    if found.bins < 3:
        raise ValueError(
            f"{attribute.name} has {attribute.size} {'labels' if values.texts else 'values'}, but two "
            "rounds merge neighbouring bins: give a first mechanism with at least three bins of numbers, dates or times"
        )
    return found


def _told(first: Mechanism, counts: Counts, scales: Sequence[Scale]) -> tuple[list[np.ndarray], int]:
    """Return the counts of the reports about every scale (m,), and how many reports there are in all."""
    if not first.strategy.parted:
        return [c := _collected(first, counts)[1]], int(c.sum())
    evidence = cast("SurveyEvidence", estimator(first.strategy).evidence(counts))
    return [evidence.of_part(one.part).dense() for one in scales], evidence.users


def _starts(first: Mechanism, second: Mechanism) -> np.ndarray:
    """Return the first bin of every merged bin (K,)."""
    about(first.workload, first.attributes[0])
    values, merged = _bins(first.attributes[0]), second.attributes[0].values
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
