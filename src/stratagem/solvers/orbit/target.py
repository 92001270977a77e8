"""The target of the orbit solver for a workload: the cycles of the patterns and their wanted mean energies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.estimators.translation.line import Window
from stratagem.math.deadline import deadline
from stratagem.math.transform import fast_length, irfftn, multiplicities, rfftn
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
