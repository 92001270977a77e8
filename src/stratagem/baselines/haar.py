"""HaarHRR: one bit about one coefficient of the Haar wavelet, for ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.baselines.fourier import fourier
from stratagem.strategies.two_level import TwoLevelStrategy
from stratagem.workloads import check


def haar(domain_size: int, epsilon: float, levels: ArrayLike | None = None) -> TwoLevelStrategy:
    """Draw a level of the binary tree, report a Hadamard coefficient of the user's Haar vector there.

    On level l = 1, ..., h = ceil(log2 n) a user has one entry, at node u >> l, +1 in its left half and -1 in
    its right half; its Hadamard coefficient i is the character of frequency (2 i + 1) 2^(l - 1), so the
    mechanism is the Fourier mechanism in which all 2^(h - l) frequencies of level l share levels_l equally.
    Domains other than powers of two are padded.

    Args:
        domain_size: number n of user types, at least 2.
        epsilon: the budget.
        levels: probabilities of the levels 1..h, positive with sum 1; all equal by default.

    Guarantee:
        epsilon-LDP: that of `fourier`.

    Raises:
        ValueError: for n < 2, which has no level, or probabilities that do not fit the levels.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB
        2019, section 4.6: a range's variance is at most h^2/2 ((E + 1)/(E - 1))^2 a user.

    Example:
        >>> haar(8, 1.0).outputs
        14
    """
    check.integer(domain_size, "the domain size", 2, 1 << 53, "a single value needs no mechanism")
    height = (domain_size - 1).bit_length()
    p = np.full(height, 1 / height) if levels is None else np.asarray(levels, dtype=float)
    if p.shape != (height,):
        raise ValueError(f"{domain_size} values have {height} levels; give one probability for each.")
    level = level_of(np.arange(1, 1 << height))
    return fourier((domain_size,), epsilon, np.arange(1, 1 << height), p[level - 1] / 2.0 ** (height - level))


def level_of(frequencies: np.ndarray) -> np.ndarray:
    """Return the level 1, 2, ... of frequencies (K,): one more than the number of trailing zeros."""
    return np.bitwise_count(frequencies ^ (frequencies - 1)).astype(np.int64)
