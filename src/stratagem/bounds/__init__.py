"""Lower bounds on the objective of every epsilon-LDP strategy: on unbiased estimates from one report per user."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds.any_estimator import any_estimator, with_any_estimator
from stratagem.bounds.bound import AnyEstimator, Bound, Bounds, Case, norms
from stratagem.bounds.constrained import CONSTRAINED
from stratagem.bounds.delsarte import DELSARTE, delsarte
from stratagem.bounds.duals import LINEAR, WEIGHTED, Duals, weighed
from stratagem.bounds.exact import EXACT, EXACT_LIMIT, RELAXED_LIMIT, SDP, exact, sdp
from stratagem.bounds.formulas import (
    CLOSED,
    INTEGER,
    NOISELESS,
    PAIRWISE,
    SVD,
    attempted,
    closed,
    integer,
    noiseless,
    safe,
    svd,
)
from stratagem.bounds.generation import Generation
from stratagem.bounds.proof import NONNEGATIVE, WHOLE, Proof
from stratagem.bounds.questions import QUESTIONS, questions
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import deadline, fits, granted, within
from stratagem.math.privacy import check, check_prior
from stratagem.workloads import DomainLike
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.ranges import PathGram, line
from stratagem.workloads.structure import Norms, Spectrum
from stratagem.workloads.workload import COUNTED

if TYPE_CHECKING:
    from stratagem.bounds.nonnegative import Ascent
    from stratagem.bounds.prefixes_and_ranges import RangeSearch

__all__ = [
    "RULES",
    "AnyEstimator",
    "Bound",
    "Bounds",
    "Case",
    "Duals",
    "any_estimator",
    "closed",
    "delsarte",
    "exact",
    "integer",
    "lower_bounds",
    "noiseless",
    "sdp",
    "spectral_bounds",
    "svd",
    "tighten",
    "weighed",
    "with_any_estimator",
]

PATTERN_SIZE, QUICK = 2.5, 1.0
"""Pattern size n/(1 + E) up to which the nonnegative bound of at most 20 user types is up to 30 % above the weighted
one, elsewhere hardly ever, and the seconds that it is given."""


RULES = {
    rule.name: rule
    for rule in (
        SVD,
        CLOSED,
        INTEGER,
        WEIGHTED,
        NONNEGATIVE,
        SDP,
        EXACT,
        PAIRWISE,
        DELSARTE,
        QUESTIONS,
        LINEAR,
        NOISELESS,
        CONSTRAINED,
    )
}
"""Every bound by its name."""


def lower_bounds(
    workload: WorkloadLike,
    epsilon: float,
    prior: ArrayLike | None = None,
    duals: Duals | None = None,
    *,
    domain: DomainLike | None = None,
    seconds: float | None = None,
    people: int | None = None,
) -> Bounds:
    """Return every bound that takes a second or less: up to n = 10 the exact optimum is one of them.

    Under a prior over the user types these are all but svd, integer and delsarte. See `tighten`
    for the others; one that fails numerically is left out. Dual solutions found before are passed as `duals`.
    Beyond 4096 user types no Gram matrix is built for marginals, parities and ranges; beyond 2^53 the bounds
    are on L/n, per user type. A name with a `domain`, a file or a matrix of queries may stand for the workload
    (see `workload_of`). Those that do not fit into `seconds`, where these are given, end early or are left out.
    With `people`, `any_estimator` of the result is an error that every estimator, biased or not, has for some
    population from which so many people are drawn, whatever the prior; the others are for unbiased ones.

    Raises:
        ValueError: if epsilon is out of range, the prior is none (see `check_prior`), the domain is too large
            for a Gram matrix that is needed, or a bound is above the largest float64; for wrong `people`
            as `any_estimator`.

    Example:
        >>> import stratagem as st
        >>> round(lower_bounds(st.histogram(8), 1.0).best, 3)
        181.891
    """
    asked = workload_of(workload, domain)
    case = Case(asked, epsilon, None if prior is None else check_prior(prior, asked.domain_size))
    with within(granted(seconds)), on_one_core(case.n):
        apart = case.apart
        if apart is not None and apart.far:
            found = _quick_bounds(Duals(replace(case, workload=apart.rest))).above(apart.known, far=True)
        else:
            found = _quick_bounds(duals or Duals(case))
        return found if people is None else with_any_estimator(found, asked, epsilon, people)


def _quick_bounds(duals: Duals) -> Bounds:
    """Return every bound that takes a second or less."""
    case = duals.case
    n, bounds = case.n, _of_all_sizes(case)
    bounds = bounds.having(*Bound.of(NOISELESS, case.safe(noiseless(case.workload, case.prior))))
    if deadline().over:
        return bounds
    optimum, known, single = duals.exact, duals.weighted, duals.linear
    few_patterns = (
        n > EXACT_LIMIT and single is None and n <= WHOLE and n <= PATTERN_SIZE * (1 + math.exp(case.epsilon))
    )
    proof = attempted(lambda: Generation.of(case).run(QUICK)) if few_patterns else None
    return bounds.having(
        *Bound.of(WEIGHTED, None if known is None else known.value),
        *Bound.of(NONNEGATIVE, None if proof is None else proof.value, proof),
        *Bound.of(EXACT, None if optimum is None else optimum.value),
        *Bound.of(LINEAR, None if single is None else single.value),
    )


def spectral_bounds(spectrum: Spectrum, epsilon: float) -> Bounds:
    """Return the bounds svd, closed, integer and delsarte on L(Q)/n, per user type, for domains of any size.

    Raises:
        ValueError: if epsilon is out of range or the queries touch too many sets of attributes.

    Example:
        >>> import stratagem as st
        >>> bounds = spectral_bounds(st.marginals("2^1000", 3).structure.spectrum, 1.0)
        >>> bounds.name, round(bounds.best / bounds["closed"].value, 3)
        ('delsarte', 1.142)
    """
    epsilon = check(epsilon)
    bounds = _by_norms(Norms.of(spectrum), math.prod(spectrum.sizes), epsilon)
    found = attempted(lambda: delsarte(spectrum, epsilon))
    return bounds.having(*Bound.of(DELSARTE, None if found is None else safe(found, epsilon)))


def _of_all_sizes(case: Case) -> Bounds:
    """Return the bounds that need a spectrum or norms alone, on L(Q) where n can be counted."""
    workload, spectrum = case.workload, case.workload.structure.spectrum if case.prior is None else None
    if spectrum is not None:
        shares = spectral_bounds(spectrum, case.epsilon)
    else:
        known = norms(case)
        shares = _by_norms(known, case.n, case.epsilon)
        if case.prior is None and (found := questions(workload, known.centred, case.epsilon)):
            shares = shares.having(*Bound.of(QUESTIONS, safe(known.total + found, case.epsilon)))
    if case.prior is not None:
        shares = Bounds((shares["closed"],))
    scaled = shares.mapped(lambda share: workload.scale * share)
    if not all(math.isfinite(one.value) for one in scaled):
        raise ValueError(
            f"the bounds for the domain {workload.domain} exceed the largest float64, even per user type: "
            "use fewer attributes or a larger epsilon"
        )
    return scaled


def _by_norms(known: Norms, n: int, epsilon: float) -> Bounds:
    """Return the bounds on L(Q)/n that the norms of a workload give."""
    whole = safe(integer(known, n, epsilon), epsilon) if n <= COUNTED else None
    return Bounds(
        (
            *Bound.of(SVD, safe(svd(known, epsilon), epsilon)),
            *Bound.of(CLOSED, safe(closed(known, epsilon), epsilon)),
            *Bound.of(INTEGER, whole),
        )
    )


PAIRED = 1024
"""Largest domain for the nonnegative bound, whose steps are eigendecompositions of this size."""
CLOSE, CLOSER = 5e-3, 2e-3
"""Gap above which the nonnegative bound is computed although less was asked for, and gap at which its search ends."""
SMALL = 0.15
"""Share 1/(1 + E) of the types in optimal patterns up to which the nonnegative bound is computed although
less was asked for: at epsilon 1 it stays at the weighted bound of 64 prefixes, at 2 it is 2 % above."""
LONG, LONGEST, MODEST, PATIENCE = 1024, 1 << 20, 0.05, 40.0
"""User types of prefixes and ranges whose nonnegative bound has smooth matrices, the gap above which it is computed
and the seconds it may take: its three searches take about 12 on an idle machine."""
MARGIN = 0.9
"""Share of the gap asked for at which the search for a nonnegative bound ends."""
LATE = 0.5
"""Least number of seconds left at which another bound is begun."""
PROOF, BEYOND = 130, 4.0
"""n^3 multiplications of the first proof with a nonnegative matrix and its first step on n types, and the seconds that
they may end later."""


def tighten(
    bounds: Bounds,
    workload: WorkloadLike,
    epsilon: float,
    objective: float = math.inf,
    gap: float = 0.01,
    seconds: float = 20.0,
    patterns: np.ndarray | None = None,
    prior: ArrayLike | None = None,
    *,
    domain: DomainLike | None = None,
) -> Bounds:
    """Return the bounds with expensive ones added, as long as they leave more than a gap to an objective.

    In this order: the exact optimum up to n = 10, the nonnegative bound up to 1024, of prefixes and all ranges up to
    2^20 where the gap is above 5 %, the semidefinite bound for n > 20 up to n = 32.
    Under a prior (n counts or probabilities) all of them are bounds for that prior, as `bounds` must be.
    Workload and domain are those of `lower_bounds`.
    `objective` is L(Q) of a strategy found; `patterns` (N, n) bool are the sets T of its rows of most weight,
    from which the nonnegative bound starts up to n = 20. Whatever is passed, each number is a
    bound: a wrong objective or useless patterns cost time alone. Ctrl-C ends it with those completed, and a
    bound that fails numerically does not take part.

    Example:
        >>> import stratagem as st
        >>> quick = st.lower_bounds(st.prefix(32), 4.0)
        >>> quick.best < tighten(quick, st.prefix(32), 4.0, seconds=5).best
        True
    """
    asked = workload_of(workload, domain)
    case = Case(asked, epsilon, None if prior is None else check_prior(prior, asked.domain_size))
    apart = case.apart
    if apart is not None and apart.far:
        inner = Bounds(bounds.found), apart.rest, epsilon, objective - apart.known
        return tighten(*inner, gap, seconds, patterns, case.prior).above(apart.known, far=True)
    search = _Tightening(bounds, case, objective, gap)
    with within(seconds) as time, time.ended_by_hand(), on_one_core(case.n):
        search.run(patterns)
    late = (search.refused or time.over) and not (time.stopped or search.near() or search.bounds.optimal)
    return replace(search.bounds, cut=late)


@dataclass(eq=False)
class _Tightening:
    """The bounds found so far, the problem, and the gap that ends the search."""

    bounds: Bounds
    case: Case
    objective: float
    gap: float
    refused: bool = False
    """Whether there was no time to begin another bound."""

    def left(self, gap: float = math.inf) -> float:
        """Return the seconds to spend on another bound, 0 where the gap asked for, or this one, is reached."""
        if self.near(gap) or "exact" in self.bounds:
            return 0.0
        self.refused = (seconds := deadline().left) < LATE
        return 0.0 if self.refused else seconds

    def near(self, gap: float = math.inf) -> bool:
        """Return whether the gap asked for, or this one, is reached."""
        return self.objective <= self.bounds.best * (1 + min(self.gap, gap))

    def run(self, patterns: np.ndarray | None) -> None:
        """Compute one bound after the other while there is need."""
        case, n = self.case, self.case.n
        asked = case.workload, case.epsilon
        if n <= EXACT_LIMIT and self.left():
            found = attempted(lambda: exact(*asked, prior=case.prior))
            self.bounds = self.bounds.having(*Bound.of(EXACT, found))
        path = line(case.workload) if case.prior is None and LONG <= n <= LONGEST else None
        close = CLOSE if 1 / (1 + math.exp(case.epsilon)) <= SMALL else math.inf
        if path is not None:
            if self.objective > self.bounds.best * (1 + MODEST) and (seconds := self.left()):
                attempted(lambda: self._nonnegative(path, None, min(seconds, PATIENCE)))
        elif n <= PAIRED and (seconds := self.left(close)) and fits(PROOF * n**3, BEYOND):
            attempted(lambda: self._nonnegative(None, patterns, seconds))
        if WHOLE < n <= RELAXED_LIMIT and "sdp" not in self.bounds and (seconds := self.left()):
            found = attempted(lambda: sdp(*asked, seconds, case.prior))
            self.bounds = self.bounds.having(*Bound.of(SDP, found))

    def _nonnegative(self, path: PathGram | None, patterns: np.ndarray | None, seconds: float) -> None:
        """Compute the nonnegative bound by the search that fits the domain; Ctrl-C keeps what it reached."""
        search: Generation | Ascent | RangeSearch
        if path is not None:
            from stratagem.bounds.prefixes_and_ranges import RangeSearch

            search = RangeSearch(path, self.case.epsilon)
        elif self.case.n <= WHOLE:
            search = Generation.of(self.case, patterns)
        else:
            from stratagem.bounds.nonnegative import Ascent

            search = Ascent.of(self.case)
        try:
            search.run(seconds, self.objective / (1 + min(MARGIN * self.gap, CLOSER)))
        finally:
            best = search.best
            if "nonnegative" not in self.bounds or best.value > self.bounds["nonnegative"].value:
                proof = cast(Proof, best) if path is None else None
                self.bounds = self.bounds.having(*Bound.of(NONNEGATIVE, best.value, proof))
