"""Lower bounds on every epsilon-LDP strategy's objective, each a function (workload, epsilon) -> number."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from numpy.typing import ArrayLike

from stratagem.bounds.closed import closed
from stratagem.bounds.exact import LIMIT as EXACT
from stratagem.bounds.exact import exact
from stratagem.bounds.integer import integer
from stratagem.bounds.pricing import pricing
from stratagem.bounds.sdp import sdp
from stratagem.bounds.svd import svd
from stratagem.bounds.tightening import tighten
from stratagem.bounds.weighted import WeightedDual, weighted
from stratagem.prior import check_prior
from stratagem.privacy import check
from stratagem.workloads import Workload

__all__ = [
    "Bounds",
    "closed",
    "exact",
    "integer",
    "lower_bounds",
    "pricing",
    "sdp",
    "svd",
    "tighten",
    "weighted",
]

WEIGHTED_LIMIT = 4096
"""Domain size up to which the weighted bound, half a dozen eigendecompositions, is computed unasked."""

PRICED_LIMIT, PATTERN_SIZE = 20, 2.5
"""Domain size and pattern size n/(1 + E) up to which the pricing bound takes about a second: there it is
up to 30 % above the weighted bound, elsewhere hardly ever above it."""

SAFETY = 1e-10
"""Relative amount taken off every bound, far above the rounding of the eigenvalues that it sums."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy."""

    svd: float | None
    """None under a prior, as `integer`."""
    closed: float
    integer: float | None
    weighted: float | None = None
    """None where the domain is too large to compute it unasked."""
    pricing: float | None = None
    """None, as the next two, where it was not computed: the domain is too large or no need was seen."""
    sdp: float | None = None
    exact: float | None = None
    """The optimum itself, less 1e-7 of it."""
    pairwise: float | None = None
    """The bound on a largest variance from two user types alone; None for the average case."""

    def known(self) -> dict[str, float]:
        """Return the bounds that were computed, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def best(self) -> float:
        """The largest bound."""
        return max(self.known().values())

    @property
    def name(self) -> str:
        """Name of the largest bound."""
        known = self.known()
        return max(known, key=lambda name: known[name])


def lower_bounds(
    workload: Workload, epsilon: float, prior: ArrayLike | None = None, dual: WeightedDual | None = None
) -> Bounds:
    """Return every bound that takes a second or less: up to n = 10 the exact optimum is one of them.

    Under a prior over the user types, those that know it: all but svd and integer. See `tighten` for the
    others. Whoever has the weighted bound already passes it on.

    Raises:
        ValueError: if epsilon is out of range or the prior is none (see `check_prior`).

    Example:
        >>> import stratagem as st
        >>> round(lower_bounds(st.histogram(8), 1.0).best, 3)
        181.891
    """
    epsilon, n = check(epsilon), workload.domain.size
    down = 1 - SAFETY
    p = None if prior is None else check_prior(prior, n)
    known = dual.value if dual else None
    if known is None and n <= WEIGHTED_LIMIT:
        known = weighted(workload, epsilon, prior=p)
    small = n <= EXACT
    few_patterns = not small and n <= PRICED_LIMIT and n <= PATTERN_SIZE * (1 + math.exp(epsilon))
    return Bounds(
        svd=svd(workload, epsilon) * down if p is None else None,
        closed=closed(workload, epsilon, p) * down,
        integer=integer(workload, epsilon) * down if p is None else None,
        weighted=None if known is None else known * down,
        pricing=pricing(workload, epsilon, gap=2e-3, seconds=1.0, prior=p) if few_patterns else None,
        exact=exact(workload, epsilon, prior=p) if small else None,
    )
