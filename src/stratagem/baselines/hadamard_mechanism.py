"""The Hadamard mechanism: one bit, or a few, of a random row of a Hadamard matrix."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.linalg import hadamard

from stratagem.baselines.baseline import Baseline, Candidates
from stratagem.baselines.setting import Setting
from stratagem.privacy import ratio
from stratagem.strategies.two_level import DENSE, TwoLevelStrategy, pack
from stratagem.workloads.check import integer

MOST_BITS = 8
"""Most coefficients in a report."""
CHEAP = {1: 1 << 23, 2: 1 << 20, 3: 1 << 20}
"""Most outputs x values in a comparison, by the number of bits."""


def hadamard_mechanism(domain_size: int, epsilon: float, bits: int = 1) -> TwoLevelStrategy:
    """Draw t of the K coefficients of the Hadamard transform, report theirs by randomised response on 2^t patterns.

    K = 2^ceil(log2 n), value u owns column u of the K x K matrix H. A report is a set S of t distinct rows,
    all equally likely, with signs o in {-1, 1}^S: the user's own with probability E/(E + 2^t - 1), any other
    with 1/(E + 2^t - 1). So m = 2^t C(K, t), and each sign alone is true with probability
    p_t = (E + 2^(t-1) - 1)/(E + 2^t - 1). The published estimate averages H[l, u] o_l/(2 p_t - 1); with t = 1
    a count x among N users then has the variance N ((E + 1)/(E - 1))^2 - x.

    Guarantee:
        epsilon-LDP: a row holds two probabilities, of ratio E.

    Raises:
        ValueError: if n is below 1, t not in 1..K, or m n above 2^27.

    Reference:
        Bassily, Smith 2015 (t = 1); Cormode, Kulkarni, Srivastava 2019, "Answering range queries under local
        differential privacy" (HRR); t > 1 as in the thesis of Kulkarni 2019, Section 4.7, where the estimate
        that reads each sign alone is best at t = 1.

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
            "report fewer bits."
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
    "Bassily, Smith 2015; Cormode, Kulkarni, Srivastava 2019",
    _candidates,
)
