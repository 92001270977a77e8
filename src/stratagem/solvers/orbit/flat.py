"""Histograms of any size: a set of cells on one cycle, and its multiples, which tell all characters equally well."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from stratagem.accuracy.even import EvenScores
from stratagem.combinatorics.cyclotomy import cyclotomic_index, is_prime, primitive_root
from stratagem.strategies import OrbitStrategy, Pattern, SubsetSelection

ENOUGH = 1e-8
"""Loss against subset selection at which no finer classes are tried."""
CLASSES, LISTED = 1 << 13, 1 << 12
"""Most cyclotomic classes, but as many as there are of sets of so few cells, which estimates list one by one."""
AHEAD = 16
"""A prime is looked for up to 1 + 1/16 times the size of the domain."""


def flat_orbit(sizes: tuple[int, ...], ratio: float) -> OrbitStrategy:
    """Return r of the e cyclotomic classes of a prime p >= n and their e multiples, equally likely.

    All n cells lie on one cycle. The information on it is a multiple of the identity away from the constants, and
    r/e comes close to the best share 1/(1 + E). Where one cell is the best set, this is randomised response.
    """
    n = math.prod(sizes)
    if SubsetSelection.best(n, math.log(ratio)).k == 1:
        return OrbitStrategy(sizes, (n,), (Pattern.of((0,), np.arange(n) == 0),), np.ones(1), ratio)
    _, prime, classes, taken = min(_candidates(n, ratio))
    index, root = cyclotomic_index(prime, classes), primitive_root(prime)
    bits = np.packbits((index >= 0) & (index < taken))
    pattern = Pattern((0,), (prime,), bits, multiples=classes, root=root)
    return OrbitStrategy(sizes, (prime,), (pattern,), np.ones(1), ratio)


def _candidates(n: int, ratio: float) -> Iterator[tuple[float, int, int, int]]:
    """Yield the loss of L, the prime p, the number e | p - 1 of classes and r, until the loss is negligible.

    The loss is that against subset selection, which is optimal.
    """
    least = 1 + (n - 1) / SubsetSelection.best(n, math.log(ratio)).eigenvalue
    for prime in filter(is_prime, range(n, n + n // AHEAD)):
        few = np.arange(2, min(CLASSES, prime - 1) + 1)
        for e in [*few[(prime - 1) % few == 0].tolist(), prime - 1]:
            r = min(max(1, round(e / (1 + ratio))), e - 1)
            size = r * ((prime - 1) // e)
            if e > CLASSES and size > LISTED:
                continue
            loss = n * (1 + EvenScores(prime, size, ratio).variance(n)) / least - 1
            yield loss, prime, e, r
            if loss <= ENOUGH:
                return
