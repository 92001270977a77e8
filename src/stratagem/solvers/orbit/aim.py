"""The target of the orbit solver for a workload: the cycles of the patterns and their wanted mean energies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.accuracy.window import Window
from stratagem.math.transform import fast_length, multiplicities
from stratagem.solvers.orbit.shaping import Shaping, best_size
from stratagem.workloads import Workload
from stratagem.workloads.prefix import Prefix
from stratagem.workloads.weighted import Weighted

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


@dataclass(frozen=True, eq=False)
class Aim:
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
        inner = self.workload
        while isinstance(inner, Weighted):
            inner = inner.workload
        return isinstance(inner, Prefix)

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
        return self.workload.translation_spectrum()[..., : self.half[-1]]

    def _stationary(self) -> np.ndarray:
        """Return the best m on a window (half,), by alternating between the best estimator for m and the best m for it.

        No alternation raises the variance.
        """
        m = 1 / np.maximum(np.arange(self.half[0]), 1.0)
        value, counts = math.inf, multiplicities(self.cycles)
        for _ in range(ALTERNATIONS):
            v = self.costs(m)
            m, last, value = np.sqrt(v), value, float(np.sqrt(v) @ counts)
            m[0] = 1
            if value > last * (1 - SETTLED):
                break
        return m
