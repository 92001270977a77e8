"""Sets of cells whose translates are an orbit strategy: shaped to a workload's target, or flat for histograms.

The target of a workload are the cycles of the patterns and their wanted mean energies. Flat sets lie on one cycle, with
multiples that equalise all energies, at any size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np
from scipy.optimize import nnls

from stratagem.estimators.translation.line import Window
from stratagem.estimators.translation.score import EvenScores
from stratagem.math.deadline import deadline
from stratagem.math.galois import cyclotomic_index, is_prime, largest_order, orbits, primitive_root, roots
from stratagem.math.transform import fast_length, irfftn, multiplicities, rfft, rfftn
from stratagem.strategies import OrbitStrategy, Pattern, SubsetSelection
from stratagem.workloads import Workload, prefix

ROUNDS = 10
"""Transforms to the spectrum and back for one pattern."""
STEEPER = 1.4
"""Power of the wanted spectrum that a Gaussian field starts with: thresholding it flattens spectra."""
CORRECTION = 0.2
"""Power of the ratio of wanted and present amplitude that a round corrects an amplitude by."""
CLIP = 10.0
"""Largest such ratio, and largest inverse."""
LEAST, MOST = 0.1, 4.0
"""Least and largest energy that one pattern is shaped to have at a frequency, as multiples of the wanted mean."""
DOUBLINGS, WIDEST = 5, 1 / 8
"""Doublings of the size that are tried while a set stays below this share of the group: beyond it no set of twice
the best size was ever given weight."""


@dataclass(frozen=True, eq=False)
class Shaping:
    """Sets T of a given size on Z_N1 x ... x Z_Nd whose mean energy |x^|^2 follows a target.

    Each set starts as the largest values of a Gaussian field; a few rounds then go between the spectrum,
    where phases are kept and amplitudes are corrected, and the group, where the largest values are taken
    again. Each set is shaped to compensate the excess or lack of energy of the sets before it. So the error
    of the mean of B energies falls like 1/B; with independent sets its square would fall like 1/B.

    Reference: Gerchberg, Saxton, Optik 35, 1972; with weighted amplitudes Di Leonardo, Ianni, Ruocco, 2007.
    """

    shape: tuple[int, ...]
    size: int
    """The size |T| at which a set has the most energy."""
    ratio: float
    """E = exp(epsilon)."""
    target: np.ndarray
    """Wanted mean energies at the half spectrum, zero at the trivial character, up to scale."""

    @cached_property
    def wanted(self) -> np.ndarray:
        """The target scaled to the energy of one set of the best size, summed over all nontrivial characters."""
        N, k, E = float(np.prod(self.shape)), self.size, self.ratio
        energy = N * (k * E**2 + N - k) / (k * E + N - k) ** 2 - 1
        return self.target * (energy / (self.target * multiplicities(self.shape)).sum())

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The sizes |T| to try: the best one and some doublings of it.

        Larger sets have less energy, but a larger share of it at low frequencies. Where E is large, a set of
        the best size has few elements, so its spectrum is flatter than the target. Larger sets correct that.
        """
        most = WIDEST * float(np.prod(self.shape))
        doubled = (self.size << i for i in range(1, DOUBLINGS + 1))
        return (self.size, *(size for size in doubled if size <= most))

    def draw(self, total: np.ndarray, count: int, rng: np.random.Generator, size: int) -> np.ndarray:
        """Return a set of the given size as a boolean array, shaped to correct `count` earlier sets.

        `total` is the sum of the energies of these sets at the half spectrum. Rounds end with the deadline.
        """
        positive = self.wanted > 0
        have = np.divide(total, self.wanted, out=np.full(total.shape, float(count)), where=positive)
        asked = np.clip(1 + count - have, LEAST, MOST)
        wanted = np.sqrt(self.wanted * asked)
        wanted /= np.sqrt(np.square(wanted).sum())
        weights = self.wanted ** (STEEPER / 2) * np.sqrt(asked)
        spectrum = rfftn(rng.standard_normal(self.shape))
        for _ in range(ROUNDS):
            spectrum = rfftn(self._largest(weights, spectrum, size).astype(float))
            spectrum.flat[0] = 0
            amplitudes = np.abs(spectrum)
            amplitudes /= np.sqrt(np.square(amplitudes).sum())
            excess = np.divide(amplitudes, wanted, out=np.ones_like(wanted), where=wanted > 0)
            weights *= np.clip(excess, 1 / CLIP, CLIP) ** -CORRECTION
            if deadline().over:
                break
        return self._largest(weights, spectrum, size)

    def energies(self, inside: np.ndarray) -> np.ndarray:
        """Return |x^|^2 of a set at the half spectrum, x = s/(1^T s)."""
        s = np.where(inside, self.ratio, 1.0)
        return np.square(np.abs(rfftn(s / s.sum())))

    def _largest(self, weights: np.ndarray, spectrum: np.ndarray, size: int) -> np.ndarray:
        """Return the set of the `size` largest values of the field with these amplitudes and the spectrum's phases."""
        amplitudes = np.abs(spectrum)
        phases = np.divide(spectrum, amplitudes, out=np.ones_like(spectrum), where=amplitudes > 0)
        field = irfftn(weights * phases, self.shape).ravel()
        inside = np.zeros(field.size, dtype=bool)
        inside[np.argpartition(-field, size)[:size]] = True
        return inside.reshape(self.shape)


def best_size(cells: int, ratio: float) -> int:
    """Return the size k of a set with the most energy, (k E^2 + N - k)/(k E + N - k)^2; near N/(1 + E)."""
    near = int(cells / (1 + ratio))
    around = np.clip(np.array([near, near + 1]), 1, cells - 1)
    energy = (around * ratio**2 + cells - around) / (around * ratio + cells - around) ** 2
    return int(around[energy.argmax()])


def is_prefix(workload: Workload) -> bool:
    """Return whether queries are all prefixes, weighted or not."""
    return workload.unweighted[1].cumulative


STRETCH, SLOPE = 0.28, 0.54
"""The cycle for prefixes is longer than the domain by the share min(STRETCH, SLOPE (1 + E)^(-1/2)). On a shorter
cycle the two ends of the domain are neighbours. On a longer one translates differ more in the number of their
cells within the domain, the more so the smaller the patterns are. At n = 4096 the best lengths were 1.28,
1.2, 1.1 and
1.05 for epsilon 1, 2, 3 and 4."""
ALTERNATIONS = 50
"""Most alternations between the best estimator and the best spectrum on a window."""
SETTLED = 1e-5
"""Relative gain of an alternation below which the alternations end."""
COARSE = 1 << 13
"""Number of values up to which the spectrum wanted on a window is computed as it is."""


@dataclass(frozen=True, eq=False)
class CycleTarget:
    """The cycles for a workload and E = `ratio`, and the mean energies that patterns on them should have."""

    workload: Workload
    ratio: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of the attributes of the domain."""
        return self.workload.domain.sizes

    @cached_property
    def windowed(self) -> bool:
        """Whether the domain is a window of a longer cycle, as for prefixes, whose two ends must not be neighbours."""
        return is_prefix(self.workload)

    @cached_property
    def cycles(self) -> tuple[int, ...]:
        """Length of the cycle of each attribute."""
        if not self.windowed:
            return self.sizes
        n = self.sizes[0]
        stretch = min(STRETCH, SLOPE / math.sqrt(1 + self.ratio))
        return (fast_length(max(n + 2, math.ceil((1 + stretch) * n))),)

    @property
    def half(self) -> tuple[int, ...]:
        """Shape of the half spectrum of a real array on the cycles."""
        return (*self.cycles[:-1], self.cycles[-1] // 2 + 1)

    @cached_property
    def shaping(self) -> Shaping:
        """The shaping of patterns towards the best mean energies, m proportional to v^(1/2) by Cauchy-Schwarz."""
        target = self._stationary() if self.windowed else np.sqrt(np.maximum(self.costs(), 0))
        target.flat[0] = 0
        if not (target > 0).any():
            target = np.ones_like(target)
            target.flat[0] = 0
        return Shaping(self.cycles, best_size(math.prod(self.cycles), self.ratio), self.ratio, target)

    def costs(self, m: np.ndarray | None = None) -> np.ndarray:
        """Return v of the objective sum v/m at the half spectrum; on windows v is that of the best estimator for m."""
        if self.windowed:
            assert m is not None
            return Window(self.sizes[0], self.cycles[0], m).spectrum
        return self.workload.structure.translation_spectrum()[..., : self.half[-1]]

    def _stationary(self) -> np.ndarray:
        """Return the best m on a window (half,), by alternating between the best estimator for m and the best m for it.

        No alternation raises the variance. On a long window the ratio of m to that of sums along a cycle is that of
        a coarser window of the same shape at low frequencies, and nearly constant at the others.
        """
        if self.sizes[0] > COARSE:
            coarse = CycleTarget(prefix(COARSE), self.ratio)
            ratio = coarse._stationary() / coarse._slopes()
            ratio[0] = ratio[1]
            return np.interp(np.arange(self.half[0]), np.arange(len(ratio)), ratio) * self._slopes()
        m = 1 / np.maximum(np.arange(self.half[0]), 1.0)
        value, counts = math.inf, multiplicities(self.cycles)
        for _ in range(ALTERNATIONS):
            v = self.costs(m)
            m, last, value = np.sqrt(v), value, float(np.sqrt(v) @ counts)
            m[0] = 1
            if value > last * (1 - SETTLED):
                break
        return m

    def _slopes(self) -> np.ndarray:
        """Return 1/|2 sin(pi k/N)| (half,), the amplitude of a sum along the cycle; that of k = 1 at k = 0."""
        return 0.5 / np.sin(np.pi * np.maximum(np.arange(self.half[0]), 1) / self.cycles[0])


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
