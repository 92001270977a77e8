"""The Hadamard mechanism: one bit, or a few, of a random row of a Hadamard matrix."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.linalg import hadamard

from stratagem.math.number import integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.two_level import DENSE, TwoLevelStrategy, pack

MOST_BITS = 8
"""Most coefficients in a report."""
CHEAP = {1: 1 << 23, 2: 1 << 20, 3: 1 << 17}
"""Most outputs x values in a comparison, by the number of bits."""


def hadamard_mechanism(domain_size: int, epsilon: float, bits: int = 1) -> TwoLevelStrategy:
    """Draw t of the K coefficients of the Hadamard transform, report theirs by randomised response on 2^t patterns.

    K = 2^ceil(log2 n), value u owns column u of the K x K matrix H. A report is a set S of t distinct rows,
    all equally likely, with signs o in {-1, 1}^S: the user's own with probability E/(E + 2^t - 1), any other
    with 1/(E + 2^t - 1). So m = 2^t C(K, t). The published estimate of u averages H[l, u] o_l/g over S,
    g = (E - 1)/(E + 2^t - 1): a user of another value adds (1 - (t - 1) g/(K - 1))/(t g^2) to its variance,
    one of value u adds (1 + (t - 1) g)/(t g^2) - 1. With t = 1 a count x of N users has the variance
    N ((E + 1)/(E - 1))^2 - x. The best linear estimate also reads products of signs: t near log2(E + 1) pays.

    Guarantee:
        epsilon-LDP: a row holds two probabilities, of ratio E.

    Raises:
        ValueError: if n is below 1, t not in 1..K, or m n above 2^27.

    Reference:
        Bassily, Smith 2015, "Local, private, efficient protocols for succinct histograms" (t = 1); Cormode,
        Kulkarni, Srivastava 2019, "Answering range queries under local differential privacy" (HRR).

    Example:
        >>> hadamard_mechanism(5, epsilon=1.0).outputs
        16
    """
    n = integer(domain_size, "the number of values", 1, DENSE, "one is enough")
    K = coefficients(n)
    t = integer(bits, "the number of bits", 1, min(K, MOST_BITS), f"there are {K} coefficients to draw from")
    m = 2**t * math.comb(K, t)
    if m * n > DENSE:
        raise ValueError(
            f"{t} bits of {K} coefficients make {m} reports on {n} values, more than {DENSE} probabilities; "
            "report fewer bits"
        )
    E = ratio(epsilon)
    signs = hadamard(K)[:, :n] > 0
    sets = np.array(list(combinations(range(K), t)))
    pattern = np.zeros((len(sets), n), dtype=np.uint8)
    for i in range(t):
        pattern |= signs[sets[:, i]].astype(np.uint8) << i
    rows = np.stack([pack(pattern == code) for code in range(2**t)], axis=1)
    return TwoLevelStrategy(rows.reshape(m, -1), np.full(m, 1 / (E + 2**t - 1) / len(sets)), n, E)


def coefficients(n: int) -> int:
    """Return K, the least power of two that is at least n."""
    return 1 << (n - 1).bit_length()


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    K = coefficients(n)
    for bits, most in CHEAP.items():
        if bits <= K and 2**bits * math.comb(K, bits) * n <= most:
            yield f"bits {bits}", hadamard_mechanism(n, epsilon, bits)


HADAMARD_MECHANISM = Baseline(
    "hadamard-mechanism",
    "one random coefficient of the Hadamard transform, or a few",
    "@bassily2015local; @cormode2019answering",
    _candidates,
)
