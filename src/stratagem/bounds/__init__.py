"""Lower bounds on every epsilon-LDP strategy's objective, each a function (workload, epsilon) -> number."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from numpy.typing import ArrayLike

from stratagem.bounds.closed import closed
from stratagem.bounds.exact import exact
from stratagem.bounds.integer import integer
from stratagem.bounds.pricing import pricing
from stratagem.bounds.sdp import sdp
from stratagem.bounds.svd import svd
from stratagem.bounds.weighted import weighted
from stratagem.prior import check_prior
from stratagem.privacy import check
from stratagem.workloads import Workload

__all__ = ["Bounds", "closed", "exact", "integer", "lower_bounds", "pricing", "sdp", "svd", "weighted"]

WEIGHTED_LIMIT = 2048
"""Domain size up to which the weighted bound, some twenty eigendecompositions, is computed unasked."""

SAFETY = 1e-10
"""Relative amount taken off every bound, far above the rounding of the eigenvalues that it sums."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy."""

    svd: float | None
    """None under a prior."""
    closed: float
    integer: float | None
    """None under a prior."""
    weighted: float | None = None
    """None where the domain is too large to compute it unasked."""

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


def lower_bounds(workload: Workload, epsilon: float, prior: ArrayLike | None = None) -> Bounds:
    """Return every bound that the domain size allows; under a prior over the user types, those that know it.

    Raises:
        ValueError: if epsilon is out of range or the prior is none (see `check_prior`).

    Example:
        >>> import stratagem as st
        >>> round(lower_bounds(st.histogram(8), 1.0).best, 3)
        181.891
    """
    epsilon = check(epsilon)
    down = 1 - SAFETY
    if prior is not None:
        p = check_prior(prior, workload.domain_size)
        small = workload.domain_size <= WEIGHTED_LIMIT
        return Bounds(
            svd=None,
            closed=closed(workload, epsilon, p) * down,
            integer=None,
            weighted=weighted(workload, epsilon, prior=p) * down if small else None,
        )
    return Bounds(
        svd=svd(workload, epsilon) * down,
        closed=closed(workload, epsilon) * down,
        integer=integer(workload, epsilon) * down,
        weighted=weighted(workload, epsilon) * down if workload.domain.size <= WEIGHTED_LIMIT else None,
    )
