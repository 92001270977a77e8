"""How far patterns on six bits are from functions of degree two, by their size: all that are not far are listed."""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np
from scipy.linalg import hadamard

LIMIT = 64
"""Patterns are listed up to this number; it is 1/64 of the energy of all characters."""


@cache
def beyond() -> np.ndarray:
    """Return for the sizes 0, ..., 64 a lower bound (65,) on q(T) of all sets T of user types on six bits.

    S_chi = sum_(u in T) chi(u) are whole numbers, and q(T) is the sum of their squares over the characters chi that
    touch more than two bits: zero for functions of degree two, whose sizes are multiples of 16. The slices T0 and T1
    along the last bit have S_chi = S0_chi + S1_chi, and S0_chi - S1_chi where chi touches the last bit too, so that

        q(T) = 2 q(T0) + 2 q(T1) + sum_(chi that touch two bits) (S0_chi - S1_chi)^2.

    So q(T) < 64 asks for a slice with q < 16 and another with q < 32 on five bits. The latter have a slice with q < 8
    and one with q < 16 on four bits, where all sets are listed. One slice of a pair may be moved by the symmetries of
    the cube to one of a few representatives, if the other slice runs through all sets. On five bits q < 16 holds for
    q = 0 alone; that is checked.

    Example:
        >>> beyond()[[0, 1, 2, 16, 24]].tolist()
        [0.0, 42.0, 64.0, 0.0, 64.0]
    """
    first = _four()
    q = squares(first)
    flat = joined(first[q == 0], first[q == 0], 1)
    near = joined(first[_representatives(first, q < LIMIT / 8)], first[q < LIMIT / 4], LIMIT / 2)
    q = squares(near)
    limit = min(float(LIMIT), 4 * q.min(initial=LIMIT, where=q > 0))
    found = np.full(65, limit)
    whole = joined(flat, near, limit)
    np.minimum.at(found, whole[:, 0].astype(int), squares(whole))
    return np.minimum(found, found[::-1])


def squares(S: np.ndarray) -> np.ndarray:
    """Return q (p,) of sets by their S (p x 2^d), characters by the bits of their number."""
    return np.square(S[:, np.bitwise_count(np.arange(S.shape[1])) > 2]).sum(axis=1)


def joined(first: np.ndarray, second: np.ndarray, limit: float) -> np.ndarray:
    """Return S (p x 2^(d + 1)) of all sets with q < limit whose slices are one of the first and one of the second."""
    two = np.bitwise_count(np.arange(first.shape[1])) == 2
    a, b = first[:, two], second[:, two]
    own = [2 * squares(S) + np.square(S[:, two]).sum(axis=1) for S in (first, second)]
    i, j = np.nonzero(own[0][:, None] + own[1] - 2 * a @ b.T < limit - 0.5)
    return np.concatenate([first[i] + second[j], first[i] - second[j]], axis=1)


def _four() -> np.ndarray:
    """Return S (2^16 x 16) of all sets on four bits, types by the bits of the number of a set."""
    inside = (np.arange(1 << 16)[:, None] >> np.arange(16)) & 1
    return inside @ hadamard(16).astype(float)


def _representatives(S: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the least number of each orbit that the chosen sets on four bits form under the cube's symmetries."""
    numbers, types = np.flatnonzero(chosen), np.arange(16)
    least = numbers.copy()
    for order in permutations(range(4)):
        moved = sum(((types >> i) & 1) << place for i, place in enumerate(order))
        for shift in range(16):
            images = ((numbers[:, None] >> (moved ^ shift)) & 1) << types
            least = np.minimum(least, images.sum(axis=1))
    return np.unique(least)
