"""Bounds made as tight as the strategy found needs them to be."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds.attempt import attempted
from stratagem.bounds.exact import LIMIT as EXACT
from stratagem.bounds.exact import exact
from stratagem.bounds.generation import Generation
from stratagem.bounds.patterns import WHOLE
from stratagem.bounds.sdp import LIMIT as RELAXED
from stratagem.bounds.sdp import sdp
from stratagem.prior import check_prior
from stratagem.privacy import check
from stratagem.workloads import Workload
from stratagem.workloads.line import Line, line

if TYPE_CHECKING:
    from stratagem.bounds import Bounds
    from stratagem.bounds.nonnegative import Ascent

PAIRED = 1024
"""Largest domain for the nonnegative bound, whose steps are eigendecompositions of this size."""
CLOSE, CLOSER = 5e-3, 2e-3
"""Gap above which the nonnegative bound is computed although less was asked for, and gap at which its search ends."""
SMALL = 0.15
"""Share 1/(1 + E) of the types in optimal patterns up to which that is done: at epsilon 1 it stays at the
weighted bound of 64 prefixes, at 2 it is 2 % above."""
LONG, LONGEST, MODEST, PATIENCE = 1024, 1 << 20, 0.05, 20.0
"""User types of prefixes and ranges whose nonnegative bound has smooth matrices, the gap above which it is computed
and the seconds it may take: its eight stages take about 3 on an idle machine."""
MARGIN = 0.9
"""Share of the gap asked for at which the search for a nonnegative bound ends."""
LATE = 0.5
"""Seconds below which nothing new is begun."""


def tighten(
    bounds: Bounds,
    workload: Workload,
    epsilon: float,
    objective: float = math.inf,
    gap: float = 0.01,
    seconds: float = 20.0,
    patterns: np.ndarray | None = None,
    prior: ArrayLike | None = None,
) -> Bounds:
    """Return the bounds with expensive ones added, as long as they leave more than a gap to an objective.

    In this order: the exact optimum up to n = 10, the nonnegative bound up to 1024, of prefixes and all ranges up to
    2^20 where the gap is above 5 %, the semidefinite bound for n > 20 up to n = 32.
    Under a prior (n counts or probabilities) all of them are bounds for that prior, as `bounds` must be.
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
    p = None if prior is None else check_prior(prior, workload.domain.size)
    search = _Tightening(bounds, workload, check(epsilon), p, objective, gap, time.monotonic() + seconds)
    with suppress(KeyboardInterrupt):
        search.run(patterns)
    return search.bounds


@dataclass(eq=False)
class _Tightening:
    """The bounds so far and what is asked of them."""

    bounds: Bounds
    workload: Workload
    epsilon: float
    prior: np.ndarray | None
    objective: float
    gap: float
    deadline: float

    def left(self, gap: float = math.inf) -> float:
        """Return the seconds to spend on another bound, 0 where the gap asked for, or this one, is reached."""
        seconds = self.deadline - time.monotonic()
        near = self.objective <= self.bounds.best * (1 + min(self.gap, gap))
        return 0.0 if near or seconds < LATE or self.bounds.exact is not None else seconds

    def run(self, patterns: np.ndarray | None) -> None:
        """Compute one bound after the other while there is need."""
        n, p = self.workload.domain.size, self.prior
        problem = (self.workload, self.epsilon)
        if n <= EXACT and self.left():
            self.bounds = replace(self.bounds, exact=attempted(lambda: exact(*problem, prior=p)))
        path = line(self.workload) if p is None and LONG <= n <= LONGEST else None
        close = CLOSE if 1 / (1 + math.exp(self.epsilon)) <= SMALL else math.inf
        if path is not None:
            if self.objective > self.bounds.best * (1 + MODEST) and (seconds := self.left()):
                attempted(lambda: self._smooth(path, min(seconds, PATIENCE)))
        elif n <= PAIRED and (seconds := self.left(close)):
            attempted(lambda: self._paired(seconds, patterns))
        if WHOLE < n <= RELAXED and self.bounds.sdp is None and (seconds := self.left()):
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
        from stratagem.bounds.path import Search

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
