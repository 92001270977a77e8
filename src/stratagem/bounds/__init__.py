"""Lower bounds on the objective of every epsilon-LDP strategy: on unbiased estimates from one report per user."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stratagem.bounds.allowance import safe
from stratagem.bounds.attempt import attempted
from stratagem.bounds.closed import closed
from stratagem.bounds.delsarte import delsarte
from stratagem.bounds.duals import Duals, weighed
from stratagem.bounds.exact import LIMIT as EXACT
from stratagem.bounds.exact import exact
from stratagem.bounds.generation import Generation
from stratagem.bounds.integer import integer
from stratagem.bounds.linear import linear
from stratagem.bounds.noiseless import noiseless
from stratagem.bounds.nuclear import norms
from stratagem.bounds.patterns import WHOLE
from stratagem.bounds.sdp import sdp
from stratagem.bounds.svd import svd
from stratagem.bounds.tightening import tighten
from stratagem.bounds.weighted import weighted
from stratagem.catalogue.coercion import WorkloadLike, workload_of
from stratagem.prior import check_prior
from stratagem.privacy import check
from stratagem.screen import brief, html_table
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.norm import Norms
from stratagem.workloads.spectrum import Spectrum
from stratagem.workloads.workload import COUNTED

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

PATTERN_SIZE, QUICK = 2.5, 1.0
"""Pattern size n/(1 + E) up to which the nonnegative bound of at most 20 user types is up to 30 % above the weighted
one, elsewhere hardly ever, and the seconds that it is given."""


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy.

    L is the variance of unbiased estimates from one report per user, averaged over the user types or the prior:
    biased estimates, or rounds that build on each other, may have smaller errors.
    On L(Q)/n instead where nobody can count the domain, n > 2^53 (`workload.counted`).
    """

    svd: float | None
    """None under a prior, as `integer` and `delsarte`."""
    closed: float
    integer: float | None
    """None beyond n = 2^53, where whole pattern sizes are all sizes."""
    weighted: float | None = None
    """None where the domain is too large to compute it unasked."""
    nonnegative: float | None = None
    """None, as the next two, where it was not computed: the domain is too large or no need was seen."""
    sdp: float | None = None
    exact: float | None = None
    """The optimum itself, less 1e-7 of it; less sharp under a prior with zeros."""
    pairwise: float | None = None
    """The bound on a largest variance from two user types alone; None for the average case."""
    delsarte: float | None = None
    """None without a spectrum (see `Workload.spectrum`), or with too many types of characters."""
    linear: float | None = None
    """The optimum for one query, within a few 1e-4; None for others."""
    noiseless: float | None = None
    """tr V, the best of all at large epsilon; None in `spectral_bounds`."""

    def known(self) -> dict[str, float]:
        """Return the bounds that were computed, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    __repr__ = brief

    def __str__(self) -> str:
        """Say every bound that was computed, the best of them marked."""
        return "\n".join(f"{name:<10} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        """Return the bounds as a table for a notebook."""
        return html_table("lower bounds", ("bound", "value"), self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        known = self.known().items()
        return [(name, f"{value:.6g}{' (best)' if name == self.name else ''}") for name, value in known]

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
    workload: WorkloadLike,
    epsilon: float,
    prior: ArrayLike | None = None,
    duals: Duals | None = None,
    *,
    domain: DomainLike | None = None,
) -> Bounds:
    """Return every bound that takes a second or less: up to n = 10 the exact optimum is one of them.

    Under a prior over the user types, those that know it: all but svd, integer and delsarte. See `tighten`
    for the others; one that fails numerically is left out. Whoever has dual solutions already passes them on.
    Beyond 4096 user types no Gram matrix is built for marginals, parities and ranges; beyond 2^53 the bounds
    are on L/n, per user type. A name with a `domain`, a file or a matrix of queries may stand for the workload
    (see `workload_of`).

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
    bounds = _of_all_sizes(workload, epsilon, p)
    duals = duals or Duals(workload, epsilon, p)
    small, known, single = n <= EXACT, duals.weighted, duals.linear
    few_patterns = not small and single is None and n <= WHOLE and n <= PATTERN_SIZE * (1 + math.exp(epsilon))
    return replace(
        bounds,
        weighted=None if known is None else known.value,
        nonnegative=attempted(lambda: _quick(workload, epsilon, p)) if few_patterns else None,
        exact=attempted(lambda: exact(workload, epsilon, prior=p)) if small else None,
        linear=None if single is None else single.value,
        noiseless=safe(noiseless(workload, p), epsilon),
    )


def _quick(workload: Workload, epsilon: float, prior: np.ndarray | None) -> float:
    """Return the nonnegative bound of a second."""
    search = Generation.of(workload, epsilon, prior)
    search.run(QUICK)
    return search.best.value


def spectral_bounds(spectrum: Spectrum, epsilon: float) -> Bounds:
    """Return the bounds svd, closed, integer and delsarte on L(Q)/n, per user type, for domains of any size.

    Raises:
        ValueError: if epsilon is out of range or the queries touch too many sets of attributes.

    Example:
        >>> import stratagem as st
        >>> bounds = spectral_bounds(st.marginals("2^1000", 3).spectrum, 1.0)
        >>> bounds.name, round(bounds.best / bounds.closed, 3)
        ('delsarte', 1.142)
    """
    epsilon = check(epsilon)
    bounds = _by_norms(Norms.of(spectrum), math.prod(spectrum.sizes), epsilon)
    found = attempted(lambda: delsarte(spectrum, epsilon))
    return bounds if found is None else replace(bounds, delsarte=safe(found, epsilon))


def _of_all_sizes(workload: Workload, epsilon: float, prior: np.ndarray | None) -> Bounds:
    """Return the bounds that need a spectrum or norms alone, on L(Q) where n can be counted."""
    n, spectrum = workload.domain.size, workload.spectrum if prior is None else None
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
