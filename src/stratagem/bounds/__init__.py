"""Lower bounds on the objective of every epsilon-LDP strategy: on unbiased estimates from one report per user."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds.delsarte import delsarte
from stratagem.bounds.duals import Duals, linear, weighed, weighted
from stratagem.bounds.exact import EXACT_LIMIT, RELAXED_LIMIT, exact, sdp
from stratagem.bounds.formulas import attempted, closed, integer, noiseless, norms, safe, svd
from stratagem.bounds.generation import Generation
from stratagem.bounds.proof import WHOLE
from stratagem.io.screen import brief
from stratagem.io.table import Table
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import deadline, granted, within
from stratagem.math.privacy import check, check_prior
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import outweighed
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.norm import Norms
from stratagem.workloads.ranges import Line, line
from stratagem.workloads.spectrum import Spectrum
from stratagem.workloads.workload import COUNTED

if TYPE_CHECKING:
    from stratagem.bounds.nonnegative import Ascent

__all__ = [
    "Bounds",
    "Duals",
    "closed",
    "delsarte",
    "exact",
    "integer",
    "linear",
    "lower_bounds",
    "noiseless",
    "sdp",
    "spectral_bounds",
    "svd",
    "tighten",
    "weighed",
    "weighted",
]

ADDED = 1e-14
"""Share by which what the means of queries add to L(Q) is lowered where it is added to bounds."""
PATTERN_SIZE, QUICK = 2.5, 1.0
"""Pattern size n/(1 + E) up to which the nonnegative bound of at most 20 user types is up to 30 % above the weighted
one, elsewhere hardly ever, and the seconds that it is given."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy.

    L is the variance of unbiased estimates from one report per user, averaged over the user types or the prior:
    biased estimates, or rounds that build on each other, may have smaller errors.
    They are bounds on L(Q)/n instead where n > 2^53 (see `workload.counted`).
    """

    svd: float | None
    """The SVD bound; None under a prior, like `integer` and `delsarte`."""
    closed: float
    integer: float | None
    """The bound with whole pattern sizes; None beyond n = 2^53."""
    weighted: float | None = None
    """The weighted bound; None where the domain is too large to compute it by default."""
    nonnegative: float | None = None
    """The nonnegative bound; None, like `sdp` and `exact`, where it was not computed."""
    sdp: float | None = None
    exact: float | None = None
    """The optimum itself, less 1e-7 of it; less sharp under a prior with zeros. In a worst case the optimum for one
    mixture of the variances, which may be less."""
    pairwise: float | None = None
    """The bound on a largest variance from two user types alone; None for the average case."""
    delsarte: float | None = None
    """The linear programming bound; None without a spectrum (see `Structure`) or with too many types
    of characters."""
    linear: float | None = None
    """The bound of the linear programme for few queries (see `linear_dual`), close to the optimum; None for
    other workloads."""
    noiseless: float | None = None
    """The bound tr V, the best of all at large epsilon; None in `spectral_bounds`."""
    offset: float = 0.0
    """What the means of the queries add to L(Q) where they outweigh all else (see `outweighed`), else zero.

    It is the same for every strategy, and stands beside the bounds in the fields, so that these keep their digits.
    """

    def without_offset(self) -> dict[str, float]:
        """Return the bounds that were computed, by name, without the `offset`."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        del found["offset"]
        return found

    def known(self) -> dict[str, float]:
        """Return the bounds on L(Q) that were computed, by name."""
        return {name: value + self.offset for name, value in self.without_offset().items()}

    def record(self) -> dict[str, float]:
        """Return the bounds that were computed, by name, and the best of them."""
        return {**self.known(), "best": self.best}

    __repr__ = brief

    def __str__(self) -> str:
        """Return the bounds that were computed, one a line, the best of them marked."""
        return "\n".join(f"{name:<10} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        """Return the bounds as a table for a notebook."""
        return Table(("bound", "value"), self._rows()).html("lower bounds")

    def _rows(self) -> list[tuple[str, str]]:
        known = self.known().items()
        return [(name, f"{value:.6g}{' (best)' if name == self.name else ''}") for name, value in known]

    def above(self, known: float, *, far: bool) -> Bounds:
        """Return bounds on an L(Q) that is `known` more for every strategy; beside the bounds where that is `far`."""
        known *= 1 - ADDED  # its own rounding, and that of the sum
        if far:
            return replace(self, offset=known)
        return replace(self, **{name: value + known for name, value in self.without_offset().items()})

    @property
    def best(self) -> float:
        """The largest bound."""
        return self.best_apart + self.offset

    @property
    def best_apart(self) -> float:
        """The largest bound, without the `offset`."""
        return max(self.without_offset().values())

    @property
    def name(self) -> str:
        """Name of the largest bound."""
        found = self.without_offset()
        return max(found, key=lambda name: found[name])


def lower_bounds(
    workload: WorkloadLike,
    epsilon: float,
    prior: ArrayLike | None = None,
    duals: Duals | None = None,
    *,
    domain: DomainLike | None = None,
    seconds: float | None = None,
) -> Bounds:
    """Return every bound that takes a second or less: up to n = 10 the exact optimum is one of them.

    Under a prior over the user types these are all but svd, integer and delsarte. See `tighten`
    for the others; one that fails numerically is left out. Dual solutions found before are passed as `duals`.
    Beyond 4096 user types no Gram matrix is built for marginals, parities and ranges; beyond 2^53 the bounds
    are on L/n, per user type. A name with a `domain`, a file or a matrix of queries may stand for the workload
    (see `workload_of`). Those that do not fit into `seconds`, where these are given, end early or are left out.

    Raises:
        ValueError: if epsilon is out of range, the prior is none (see `check_prior`), the domain is too large
            for a Gram matrix that is needed, or a bound is above the largest float64.

    Example:
        >>> import stratagem as st
        >>> round(lower_bounds(st.histogram(8), 1.0).best, 3)
        181.891
    """
    workload = workload_of(workload, domain)
    epsilon, n = check(epsilon), workload.domain.size
    p = None if prior is None else check_prior(prior, n)
    with within(granted(seconds)), on_one_core(n):
        apart = outweighed(workload, p)
        if apart is not None and apart.far:
            return _quick_bounds(apart.rest, epsilon, p, None).above(apart.known, far=True)
        return _quick_bounds(workload, epsilon, p, duals)


def _quick_bounds(workload: Workload, epsilon: float, p: np.ndarray | None, duals: Duals | None) -> Bounds:
    n, bounds = workload.domain.size, _of_all_sizes(workload, epsilon, p)
    if deadline().over:
        return replace(bounds, noiseless=safe(noiseless(workload, p), epsilon))
    duals = duals or Duals(workload, epsilon, p)
    optimum, known, single = duals.exact, duals.weighted, duals.linear
    few_patterns = (
        n > EXACT_LIMIT and single is None and n <= WHOLE and n <= PATTERN_SIZE * (1 + math.exp(epsilon))
    )
    return replace(
        bounds,
        weighted=None if known is None else known.value,
        nonnegative=attempted(lambda: _quick(workload, epsilon, p)) if few_patterns else None,
        exact=None if optimum is None else optimum.value,
        linear=None if single is None else single.value,
        noiseless=safe(noiseless(workload, p), epsilon),
    )


def _quick(workload: Workload, epsilon: float, prior: np.ndarray | None) -> float:
    """Return the nonnegative bound that a search of one second finds."""
    search = Generation.of(workload, epsilon, prior)
    search.run(QUICK)
    return search.best.value


def spectral_bounds(spectrum: Spectrum, epsilon: float) -> Bounds:
    """Return the bounds svd, closed, integer and delsarte on L(Q)/n, per user type, for domains of any size.

    Raises:
        ValueError: if epsilon is out of range or the queries touch too many sets of attributes.

    Example:
        >>> import stratagem as st
        >>> bounds = spectral_bounds(st.marginals("2^1000", 3).structure.spectrum, 1.0)
        >>> bounds.name, round(bounds.best / bounds.closed, 3)
        ('delsarte', 1.142)
    """
    epsilon = check(epsilon)
    bounds = _by_norms(Norms.of(spectrum), math.prod(spectrum.sizes), epsilon)
    found = attempted(lambda: delsarte(spectrum, epsilon))
    return bounds if found is None else replace(bounds, delsarte=safe(found, epsilon))


def _of_all_sizes(workload: Workload, epsilon: float, prior: np.ndarray | None) -> Bounds:
    """Return the bounds that need a spectrum or norms alone, on L(Q) where n can be counted."""
    n, spectrum = workload.domain.size, workload.structure.spectrum if prior is None else None
    if spectrum is not None:
        shares = spectral_bounds(spectrum, epsilon)
    else:
        shares = _by_norms(norms(workload, prior), n, epsilon)
    if prior is not None:
        shares = replace(shares, svd=None, integer=None)
    scaled = {name: workload.scale * share for name, share in shares.known().items()}
    if not all(map(math.isfinite, scaled.values())):
        raise ValueError(
            f"the bounds for the domain {workload.domain} exceed the largest float64, even per user type: "
            "use fewer attributes or a larger epsilon"
        )
    return replace(shares, **scaled)


def _by_norms(known: Norms, n: int, epsilon: float) -> Bounds:
    """Return the bounds on L(Q)/n that the norms of a workload give."""
    return Bounds(
        svd=safe(svd(known, epsilon), epsilon),
        closed=safe(closed(known, epsilon), epsilon),
        integer=safe(integer(known, n, epsilon), epsilon) if n <= COUNTED else None,
    )


PAIRED = 1024
"""Largest domain for the nonnegative bound, whose steps are eigendecompositions of this size."""
CLOSE, CLOSER = 5e-3, 2e-3
"""Gap above which the nonnegative bound is computed although less was asked for, and gap at which its search ends."""
SMALL = 0.15
"""Share 1/(1 + E) of the types in optimal patterns up to which the nonnegative bound is computed although
less was asked for: at epsilon 1 it stays at the weighted bound of 64 prefixes, at 2 it is 2 % above."""
LONG, LONGEST, MODEST, PATIENCE = 1024, 1 << 20, 0.05, 20.0
"""User types of prefixes and ranges whose nonnegative bound has smooth matrices, the gap above which it is computed
and the seconds it may take: its eight stages take about 3 on an idle machine."""
MARGIN = 0.9
"""Share of the gap asked for at which the search for a nonnegative bound ends."""
LATE = 0.5
"""Least number of seconds left at which another bound is begun."""


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
    workload = workload_of(workload, domain)
    p = None if prior is None else check_prior(prior, workload.domain.size)
    apart = outweighed(workload, p)
    if apart is not None and apart.far:
        inner = replace(bounds, offset=0.0), apart.rest, epsilon, objective - apart.known
        return tighten(*inner, gap, seconds, patterns, p).above(apart.known, far=True)
    search = _Tightening(bounds, workload, check(epsilon), p, objective, gap)
    with within(seconds) as time, time.ended_by_hand(), on_one_core(workload.domain.size):
        search.run(patterns)
    return search.bounds


@dataclass(eq=False)
class _Tightening:
    """The bounds found so far, the problem, and the gap that ends the search."""

    bounds: Bounds
    workload: Workload
    epsilon: float
    prior: np.ndarray | None
    objective: float
    gap: float

    def left(self, gap: float = math.inf) -> float:
        """Return the seconds to spend on another bound, 0 where the gap asked for, or this one, is reached."""
        seconds = deadline().left
        near = self.objective <= self.bounds.best * (1 + min(self.gap, gap))
        return 0.0 if near or seconds < LATE or self.bounds.exact is not None else seconds

    def run(self, patterns: np.ndarray | None) -> None:
        """Compute one bound after the other while there is need."""
        n, p = self.workload.domain.size, self.prior
        problem = (self.workload, self.epsilon)
        if n <= EXACT_LIMIT and self.left():
            self.bounds = replace(self.bounds, exact=attempted(lambda: exact(*problem, prior=p)))
        path = line(self.workload) if p is None and LONG <= n <= LONGEST else None
        close = CLOSE if 1 / (1 + math.exp(self.epsilon)) <= SMALL else math.inf
        if path is not None:
            if self.objective > self.bounds.best * (1 + MODEST) and (seconds := self.left()):
                attempted(lambda: self._smooth(path, min(seconds, PATIENCE)))
        elif n <= PAIRED and (seconds := self.left(close)):
            attempted(lambda: self._paired(seconds, patterns))
        if WHOLE < n <= RELAXED_LIMIT and self.bounds.sdp is None and (seconds := self.left()):
            self.bounds = replace(self.bounds, sdp=attempted(lambda: sdp(*problem, seconds, p)))

    def _paired(self, seconds: float, patterns: np.ndarray | None) -> None:
        """Compute the nonnegative bound; Ctrl-C keeps what it reached."""
        problem = self.workload, self.epsilon, self.prior
        search: Ascent | Generation
        if self.workload.domain.size <= WHOLE:
            search = Generation.of(*problem, patterns)
        else:
            from stratagem.bounds.nonnegative import Ascent

            search = Ascent.of(*problem)
        try:
            search.run(seconds, self._enough())
        finally:
            self._take(search.best.value)

    def _smooth(self, path: Line, seconds: float) -> None:
        """Compute the nonnegative bound of prefixes and ranges of many values."""
        from stratagem.bounds.prefixes_and_ranges import Search

        search = Search(path, self.epsilon)
        try:
            search.run(seconds, self._enough())
        finally:
            self._take(search.best.value)

    def _take(self, value: float) -> None:
        """Take over a nonnegative bound, if it is the best so far."""
        self.bounds = replace(self.bounds, nonnegative=max(value, self.bounds.nonnegative or 0.0))

    def _enough(self) -> float:
        """Return the bound at which the search for a nonnegative one ends."""
        return self.objective / (1 + min(MARGIN * self.gap, CLOSER))
