"""HaarHRR: one bit about one coefficient of the Haar wavelet, for ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import integer, numbers
from stratagem.published.baseline import LARGE, NEEDED, Baseline, Candidates, Setting
from stratagem.published.fourier import fourier
from stratagem.published.table import energies
from stratagem.strategies.two_level import TwoLevelStrategy


def haar(domain_size: int, epsilon: float, levels: ArrayLike | None = None) -> TwoLevelStrategy:
    """Draw a level of the binary tree, report a Hadamard coefficient of the user's Haar vector there.

    On level l = 1, ..., h = ceil(log2 n) a user has one entry, at node u >> l, +1 in its left half and -1 in
    its right half; its Hadamard coefficient i is the character of frequency (2 i + 1) 2^(l - 1), so the
    mechanism is the Fourier mechanism in which all 2^(h - l) frequencies of level l share levels_l equally.
    Domains other than powers of two are padded.

    Args:
        domain_size: number n of user types, at least 2.
        epsilon: the budget.
        levels: probabilities of the levels 1..h with sum 1; all equal by default.

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
    domain_size = integer(domain_size, "the domain size", 2, 1 << 53, "a single value needs no mechanism")
    height = (domain_size - 1).bit_length()
    p = np.full(height, 1 / height) if levels is None else numbers(levels)
    if p.shape != (height,) or not (p >= 0).all() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"the levels have probabilities of shape {p.shape} and sum {p.sum():.6g}; {domain_size} values have "
            f"{height} levels: give one probability for each, with sum 1"
        )
    frequencies = np.arange(1, 1 << height)
    level = level_of(frequencies)
    shares = p[level - 1] / 2.0 ** (height - level)
    return fourier((domain_size,), epsilon, frequencies[shares > 0], shares[shares > 0])


def level_of(frequencies: np.ndarray) -> np.ndarray:
    """Return the level 1, 2, ... of frequencies (K,): one more than the number of trailing zeros."""
    return np.bitwise_count(frequencies ^ (frequencies - 1)).astype(np.int64)


def optimal_levels(V: np.ndarray) -> np.ndarray:
    """Return the probabilities of the levels (h,) that minimise tr(M^-1 V), exactly so if n = 2^h.

    M has the eigenvalue p_l / 2^(h - l) on the characters of level l, up to a factor that they share; so p_l
    is proportional to the root of 2^(h - l) times the sum of V's energies on them.
    """
    v = energies((len(V),), V)[1:]
    v = np.where(v > NEEDED * np.trace(V), v, 0)
    level = level_of(np.arange(1, len(v) + 1))
    weights = np.sqrt(np.bincount(level, v)[1:] * 2.0 ** (level.max() - np.arange(1, level.max() + 1)))
    return weights / weights.sum()


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    if not any(setting.margins):
        return
    if n <= LARGE:
        yield "equal levels", haar(n, epsilon)
    yield "optimal levels", haar(n, epsilon, optimal_levels(setting.gram))


HAAR = Baseline(
    "haar",
    "a bit of a random level of the Haar wavelet",
    "@cormode2019answering (HaarHRR)",
    _candidates,
)
