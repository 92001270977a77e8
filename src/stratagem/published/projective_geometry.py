"""Projective geometry response."""

from __future__ import annotations

import numpy as np

from stratagem.math.galois import is_prime_power, projective_hyperplanes, projective_points
from stratagem.math.number import integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.two_level import TwoLevelStrategy, pack

LARGEST = 1 << 13
"""Largest number of values."""
ELEMENTS = 1 << 22
"""Largest field q^t whose logarithms are written out."""
BITS = 1 << 27
"""Most outputs x values."""
CHEAP, FEW = 1 << 21, 16
"""Most outputs x values, and outputs for each value, in a comparison."""
COMPARED = 3
"""Orders in a comparison."""


def projective_geometry_response(
    domain_size: int, epsilon: float, order: int | None = None
) -> TwoLevelStrategy:
    """Report a point of PG(t - 1, q), with E times the probability if it lies in the user's hyperplane.

    t >= 2 is the least with K = (q^t - 1)/(q - 1) >= n, and value u owns hyperplane u of the K, in Singer's
    order. A hyperplane holds c = (q^(t-1) - 1)/(q - 1) points and shares l = (q^(t-2) - 1)/(q - 1) with any
    other, so the true value supports a report with p* = E c/(E c + K - c) and any other with
    q* = (E l + c - l)/(E c + K - c): a pure protocol with m = K outputs. With K = n it is subset selection by
    a symmetric design. Without `order`, q is the prime power of the least variance: about E + 1, or farther
    from it where K then exceeds n by less.

    Guarantee:
        epsilon-LDP: a row holds two probabilities, of ratio E.

    Raises:
        ValueError: if n is not in 1..8192, or q no prime power or too large.

    Reference:
        Feldman, Nelson, Nguyen, Talwar 2022, "Private frequency estimation via projective geometry".

    Example:
        >>> projective_geometry_response(13, epsilon=1.0, order=3).outputs
        13
    """
    n = integer(domain_size, "the number of values", 1, LARGEST, "geometries are tabulated up to there")
    E = ratio(epsilon)
    q = (
        orders(n, E, BITS)[0]
        if order is None
        else integer(order, "the order", 2, ELEMENTS, "about E + 1 is best")
    )
    if not is_prime_power(q):
        raise ValueError(f"the order is {q}; a field needs a power of a prime, such as 2, 3, 4, 5, 7, 8, 9")
    t = _dimension(n, q)
    K, c = projective_points(q, t), projective_points(q, t - 1)
    if not _fits(n, q, BITS):
        raise ValueError(f"order {q} has {K} points for {n} values, too many: give a lower order")
    return TwoLevelStrategy(pack(projective_hyperplanes(q, t, n)), np.full(K, 1 / (E * c + K - c)), n, E)


def orders(n: int, E: float, bits: int) -> list[int]:
    """Return the orders q that may be used for n values, least variance of a histogram first; K n <= `bits`."""
    useful = (q for q in range(2, max(n, 3)) if is_prime_power(q) and _fits(n, q, bits))
    return sorted(useful, key=lambda q: histogram_variance(n, E, q))


def histogram_variance(n: int, E: float, q: int) -> float:
    """Return sum_u Var_u per user, n q* (1 - q*)/(p* - q*)^2 + (1 - p* - q*)/(p* - q*), of the published estimate."""
    t = _dimension(n, q)
    K, c, own = projective_points(q, t), projective_points(q, t - 1), q ** (t - 2)
    shared = c - own
    inside, outside = E * shared + own, E * own + K - c - own
    return n * (inside / (E - 1) / own) * (outside / (E - 1) / own) + (outside - E * c) / ((E - 1) * own)


def _dimension(n: int, q: int) -> int:
    """Return the least t >= 2 with (q^t - 1)/(q - 1) >= n."""
    t = 2
    while projective_points(q, t) < n:
        t += 1
    return t


def _fits(n: int, q: int, bits: int) -> bool:
    """Return whether the geometry of order q for n values is small enough."""
    t = _dimension(n, q)
    return q**t <= ELEMENTS and projective_points(q, t) * n <= bits


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    cheap = orders(n, ratio(epsilon), min(CHEAP, FEW * n**2)) if n <= LARGEST else []
    for q in cheap[:COMPARED]:
        yield f"order {q}", projective_geometry_response(n, epsilon, q)


PROJECTIVE_GEOMETRY = Baseline(
    "projective-geometry",
    "the points of a finite geometry that lie in the value's hyperplane",
    "@feldman2022private",
    _candidates,
)
