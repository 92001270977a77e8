"""Subset selection from the blocks of a design."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.formulas import pattern_information
from stratagem.math.block_design import BlockDesign, block_design
from stratagem.math.number import integer
from stratagem.math.privacy import check, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.two_level import DENSE, TwoLevelStrategy

LARGEST = 1 << 11
"""Largest number of values."""
CHEAP = 1 << 25
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
    n = integer(domain_size, "the number of values", 1, LARGEST, "designs are tabulated up to there")
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


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    found = _first_design(n, best_sizes(n, epsilon), CHEAP) if 1 < n <= LARGEST else None
    if found is not None:
        design, size = found
        yield f"size {size}, {design.kind}", _strategy(n, epsilon, design, size)


SUBSET_DESIGN = Baseline(
    "subset-design",
    "the blocks of a balanced design, of about n/(1 + e^epsilon) values each",
    "@ye2018optimal; @park2024exactly",
    _candidates,
)
