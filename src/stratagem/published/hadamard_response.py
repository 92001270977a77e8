"""Hadamard response."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

from stratagem.math.number import integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.strategy import MatrixStrategy

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


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    blocks = 1
    while blocks <= min(setting.domain_size, 16):
        yield f"blocks {blocks}", hadamard_response(setting.domain_size, epsilon, blocks)
        blocks *= 2


HADAMARD_RESPONSE = Baseline(
    "hadamard-response",
    "half of the rows of a Hadamard matrix, chosen by the value",
    "@acharya2019hadamard",
    _candidates,
)
