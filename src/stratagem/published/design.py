"""Subset selection from the blocks of a design, and from the hyperplanes of a projective geometry."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.formulas import pattern_information
from stratagem.math.block_design import BlockDesign, block_design
from stratagem.math.galois import is_prime_power, projective_hyperplanes, projective_points
from stratagem.math.number import integer
from stratagem.math.privacy import check, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.two_level import DENSE, TwoLevelStrategy, pack

TABULATED = 1 << 11
"""Largest number of values."""
CHEAP_DESIGN = 1 << 25
"""Most outputs x values in a comparison."""
SIZES = 16
"""Number of block sizes that are tried, the best first, before the search for a design fails."""


def subset_design(domain_size: int, epsilon: float, size: int | None = None) -> TwoLevelStrategy:
    """Report a block of a 2-design, with E times the probability if it holds the user's value.

    Q[y, u] = w_y n (1 + (E - 1) [u in T_y])/(n + (E - 1) k) for blocks T_y of k values, with weights w_y of
    sum one, that hold all pairs of values equally often. M is then that of subset selection, which draws
    from all k-subsets; the k next to n/(1 + E) is optimal on every workload with V = a I + b 11^T, such as
    histograms. It is the one taken unless `size` names another; where no design is known that has at most
    2^27 outputs x values, the next best of the 16 best sizes is taken.

    Guarantee:
        epsilon-LDP: a row holds two probabilities, of ratio E.

    Raises:
        ValueError: if n is not in 1..2048, k not in 1..n-1, or no design is known.

    Reference:
        Ye, Barg 2018, "Optimal schemes for discrete distribution estimation under locally differential
        privacy" (all subsets); Park, Nam, Lee 2024, "Exactly optimal and communication-efficient private
        estimation via block designs".

    Example:
        >>> strategy = subset_design(13, epsilon=1.0)
        >>> strategy.outputs, strategy.sizes[0]  # the lines of the projective plane of order 3
        (13, np.int64(4))
    """
    n = integer(domain_size, "the number of values", 1, TABULATED, "designs are tabulated up to there")
    check(epsilon)
    if n == 1:
        return TwoLevelStrategy(np.zeros((1, 1), dtype=np.uint8), np.ones(1), 1, ratio(epsilon))
    if size is not None:
        sizes = [integer(size, "the size of a subset", 1, n - 1, "leave it open for the best")]
    else:
        sizes = best_sizes(n, epsilon)
    found = _first_design(n, sizes, DENSE)
    if found is None:
        raise ValueError(
            f"no design of {n} values with blocks of {sizes[0]} is known that has at most {DENSE // n} blocks; "
            "name another size, or use projective_geometry_response"
        )
    return _strategy(n, epsilon, *found)


def best_sizes(n: int, epsilon: float) -> list[int]:
    """Return the 16 sizes k of the largest g(k), n >= 2, the best first."""
    return sorted(range(1, n), key=lambda k: -pattern_information(n, epsilon, k))[:SIZES]


def _first_design(n: int, sizes: list[int], bits: int) -> tuple[BlockDesign, int] | None:
    """Return the design of the first size that has one, and the size."""
    found = ((block_design(n, k, bits), k) for k in sizes)
    return next(((design, k) for design, k in found if design), None)


def _strategy(n: int, epsilon: float, design: BlockDesign, size: int) -> TwoLevelStrategy:
    """Return the strategy whose patterns are the blocks."""
    E = ratio(epsilon)
    return TwoLevelStrategy(design.patterns, design.weights * (n / (n + (E - 1) * size)), n, E)


def _designs(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    found = _first_design(n, best_sizes(n, epsilon), CHEAP_DESIGN) if 1 < n <= TABULATED else None
    if found is not None:
        design, size = found
        yield f"size {size}, {design.kind}", _strategy(n, epsilon, design, size)


SUBSET_DESIGN = Baseline(
    "subset-design",
    "the blocks of a balanced design, of about n/(1 + e^epsilon) values each",
    "@ye2018optimal; @park2024exactly",
    _designs,
)


LARGEST_GEOMETRY = 1 << 13
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
    n = integer(
        domain_size, "the number of values", 1, LARGEST_GEOMETRY, "geometries are tabulated up to there"
    )
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


def _geometries(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    cheap = orders(n, ratio(epsilon), min(CHEAP, FEW * n**2)) if n <= LARGEST_GEOMETRY else []
    for q in cheap[:COMPARED]:
        yield f"order {q}", projective_geometry_response(n, epsilon, q)


PROJECTIVE_GEOMETRY = Baseline(
    "projective-geometry",
    "the points of a finite geometry that lie in the value's hyperplane",
    "@feldman2022private",
    _geometries,
)


BASELINES = (
    PROJECTIVE_GEOMETRY,
    SUBSET_DESIGN,
)
"""Its baselines, in the order in which lists show them."""
