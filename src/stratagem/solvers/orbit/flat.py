"""Strategies for histograms of any size: sets of cells on one cycle, with multiples that equalise all energies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

import numpy as np
from scipy.optimize import nnls

from stratagem.estimators.translation.score import EvenScores
from stratagem.math.galois import cyclotomic_index, is_prime, largest_order, orbits, primitive_root, roots
from stratagem.math.transform import rfft
from stratagem.strategies import OrbitStrategy, Pattern, SubsetSelection

ENOUGH = 1e-8
"""Relative loss against subset selection at which no finer classes are tried."""
CLASSES, LISTED = 1 << 13, 1 << 12
"""Most cyclotomic classes for a set of more than LISTED cells; there is no limit for smaller sets, whose cells the
estimator lists."""
AHEAD = 16
"""Primes are tried below 1 + 1/16 times the size of the domain."""
ROOTS, ORBITS = 16, 600
"""Number of roots that are tried to find few orbits of characters, and most orbits, each of which is an equation."""
SETS, SPARE, TRIES = 2.5, 8, 3
"""Number of random sets for each equation, number of further ones, and number of draws, each of twice as many."""
RARE = 8
"""Ratio of the squared size of sets to the points of the cycle below which some distances of cells are rare. Few
random sets contain such a distance, so sets with each distance are added."""
WORK = 1 << 27
"""Most cells of all random sets, which take some seconds."""
EXACT = 1e-11
"""Largest residual of the equations at which their solution is accepted."""


def flat_orbit(sizes: tuple[int, ...], ratio: float) -> OrbitStrategy:
    """Return translates of sets and their multiples whose information is a multiple of the identity on the cycle.

    All n cells lie on one cycle. Where one cell is the best set, this is randomised response. Otherwise it is r of
    the e cyclotomic classes of a prime p >= n and their e multiples, r/e close to the best share 1/(1 + E); or, if
    the p - n idle points cost more than a hundred-millionth, several sets on a cycle of n points.
    """
    n = math.prod(sizes)
    size = SubsetSelection.best(n, math.log(ratio)).k
    if size == 1:
        return OrbitStrategy(sizes, (n,), (Pattern.of((0,), np.arange(n) == 0),), np.ones(1), ratio)
    loss, prime, classes, taken = min(_candidates(n, ratio))
    found = balanced_sets(n, size) if loss > ENOUGH and size <= LISTED else None
    if found:
        return OrbitStrategy(sizes, (n,), *found, ratio)
    index, root = cyclotomic_index(prime, classes), primitive_root(prime)
    bits = np.packbits((index >= 0) & (index < taken))
    pattern = Pattern((0,), (prime,), bits, multiples=classes, root=root)
    return OrbitStrategy(sizes, (prime,), (pattern,), np.ones(1), ratio)


def is_exact(n: int, ratio: float) -> bool:
    """Return whether `flat_orbit` may be as good as subset selection without idle points.

    That holds if the best sets have at most `LISTED` cells and the characters have few orbits.
    """
    return SubsetSelection.best(n, math.log(ratio)).k <= LISTED and _few_orbits(n) is not None


def balanced_sets(n: int, size: int) -> tuple[tuple[Pattern, ...], np.ndarray] | None:
    """Return sets of a size on a cycle of n points, with all multiples by powers of a root, and weights (B,).

    Multiples by a root of the largest order have equal energies at the characters of an orbit of that root. Weights
    w >= 0 of random sets T solve sum_T w_T (mean energy of T at an orbit) = the mean at all characters, one equation
    for each orbit up to conjugation; a vertex has no more sets than equations. None where orbits are too many.
    """
    found = _few_orbits(n)
    if found is None:
        return None
    root, orbit_of = found
    counts, rng, order = np.bincount(orbit_of), np.random.default_rng(0), largest_order(n)
    level = size * (n - size) / (n - 1)
    distance = np.unique(orbit_of, return_index=True)[1] + 1 if size**2 < n * RARE else ()
    for attempt in range(TRIES):
        many = round(SETS * len(counts) + SPARE) << attempt
        sets = [_cells(n, size, rng) for _ in range(many)] + [_cells(n, size, rng, int(d)) for d in distance]
        equations = np.ones((len(counts) + 1, len(sets)))
        for column, cells in zip(equations.T, sets, strict=True):
            power = np.square(np.abs(rfft(cells.astype(float))[1:]))
            column[:-1] = np.bincount(orbit_of, power) / counts / level
        weights, error = nnls(equations, np.ones(len(equations)))
        if error <= EXACT:
            kept = np.flatnonzero(weights)
            patterns = tuple(Pattern((0,), (n,), np.packbits(sets[k]), order, root) for k in kept)
            return patterns, weights[kept] / weights[kept].sum()
    return None


def _cells(n: int, size: int, rng: np.random.Generator, distance: int = 0) -> np.ndarray:
    """Return a random set of `size` cells (n,), boolean; where `distance` > 0 the cells 0 and `distance` among them."""
    others = rng.permutation(n)
    first = [0, distance] if distance else []
    inside = np.zeros(n, dtype=bool)
    inside[np.concatenate([first, others[~np.isin(others, first)]])[:size].astype(int)] = True
    return inside


@lru_cache(maxsize=4)
def _few_orbits(n: int) -> tuple[int, np.ndarray] | None:
    """Return a root of the largest order modulo n and the orbit, up to conjugation, of k = 1, ..., n // 2.

    None is returned if there are too many orbits for `balanced_sets`.
    """
    tried = [(root, found) for root in islice(roots(n), ROOTS) if (found := orbits(root, n, 2 * ORBITS))]
    if not tried:
        return None
    root, (labels, _) = min(tried, key=lambda one: len(one[1][1]))
    conjugate = np.minimum(labels, labels[-np.arange(n) % n])[1 : n // 2 + 1]
    orbit_of = np.unique(conjugate, return_inverse=True)[1]
    many = int(orbit_of.max()) + 1
    return (root, orbit_of) if many <= ORBITS and SETS * many * n <= WORK else None


def _candidates(n: int, ratio: float) -> Iterator[tuple[float, int, int, int]]:
    """Yield candidates: the loss of L, the prime p, the number e of classes (a divisor of p - 1), and r.

    The loss is relative to subset selection, which is optimal. The candidates end once a loss is negligible.
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
