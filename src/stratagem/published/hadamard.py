"""Hadamard response, and the Hadamard mechanism: one bit, or a few, of a random row of a Hadamard matrix."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from scipy.linalg import hadamard

from stratagem.math.number import integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.strategy import MatrixStrategy
from stratagem.strategies.two_level import DENSE, TwoLevelStrategy, pack

LARGEST = 1 << 14
"""User types of the largest matrix."""


def hadamard_response(domain_size: int, epsilon: float, blocks: int = 1) -> MatrixStrategy:
    """Report a row on which the user's Hadamard column is +1, with E times the probability of the others.

    With B blocks of b = 2^ceil(log2(n/B + 1)) rows, value u lives in block u // (b - 1) and owns column
    1 + u % (b - 1) of the b x b Hadamard matrix (never the constant one): Q[y, u] is proportional to E
    on the b/2 rows of its block where that column is +1 and to 1 on all others; m = B b.

    Guarantee:
        epsilon-LDP: all columns share the normaliser b/2 (E + 2B - 1), so a row holds two values of ratio E.

    Raises:
        ValueError: unless n is a whole number from 1 to 16,384 and `blocks` a power of two from 1 to n.

    Reference:
        Acharya, Sun, Zhang 2019, "Hadamard Response"; more than one block pays from epsilon = 1 upwards.
    """
    return MatrixStrategy(patterned(domain_size, epsilon, blocks))


def patterned(domain_size: int, epsilon: float, blocks: int = 1) -> np.ndarray:
    """Return the (B b) x n matrix of Hadamard response."""
    n = integer(domain_size, "The number of values", 1, LARGEST, "the matrix holds 2 n^2 numbers or so")
    blocks = integer(blocks, "The number of blocks", 1, n, "it is a power of two, near e^epsilon")
    if blocks & (blocks - 1):
        raise ValueError(f"blocks is {blocks}; Hadamard response needs a power of two from 1 to {n}")
    E = ratio(epsilon)
    b = 1 << int(np.ceil(np.log2(n / blocks + 1)))
    high = hadamard(b)[:, 1:] > 0
    Q = np.ones((blocks, b, n))
    for block in range(blocks):
        members = slice(block * (b - 1), min((block + 1) * (b - 1), n))
        owned = max(0, members.stop - members.start)
        Q[block, :, members][high[:, :owned]] = E
    return Q.reshape(blocks * b, n) / (b / 2 * (E + 2 * blocks - 1))


def _responses(setting: Setting, epsilon: float) -> Candidates:
    blocks = 1
    while blocks <= min(setting.domain_size, 16):
        yield f"blocks {blocks}", hadamard_response(setting.domain_size, epsilon, blocks)
        blocks *= 2


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


def _mechanisms(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    K = coefficients(n)
    for bits, most in CHEAP.items():
        if bits <= K and 2**bits * math.comb(K, bits) * n <= most:
            yield f"bits {bits}", hadamard_mechanism(n, epsilon, bits)


HADAMARD_MECHANISM = Baseline(
    "hadamard-mechanism",
    "one random coefficient of the Hadamard transform, or a few",
    "@bassily2015local; @cormode2019answering",
    _mechanisms,
)


BASELINES = (
    Baseline(
        "hadamard-response",
        "half of the rows of a Hadamard matrix, chosen by the value",
        "@acharya2019hadamard",
        _responses,
    ),
    HADAMARD_MECHANISM,
)
"""Its baselines, in the order in which lists show them."""
