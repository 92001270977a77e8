"""What the translates of patterns are to tell about a workload, and on which cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stratagem.accuracy.window import Window
from stratagem.numeric.transform import fast_length, multiplicities
from stratagem.solvers.orbit.shaping import Shaping, best_size
from stratagem.workloads import Workload
from stratagem.workloads.prefix import Prefix
from stratagem.workloads.weighted import Weighted

STRETCH, SLOPE = 0.28, 0.54
"""By how much of the domain the cycle for prefixes is longer: at most STRETCH, and SLOPE (1 + E)^(-1/2). Shorter cycles
make the ends neighbours, on longer ones translates differ more in how much of the domain they hold, the more so the
smaller the patterns are. At n = 4096 the best lengths were 1.28, 1.2, 1.1 and 1.05 for epsilon 1, 2, 3 and 4."""
ALTERNATIONS = 50
"""Alternations of estimator and spectrum on a window."""
SETTLED = 1e-5
"""Gain of an alternation below which they end."""


@dataclass(frozen=True, eq=False)
class Aim:
    """What the translates of patterns are to tell, and on which cycles."""

    workload: Workload
    ratio: float

    @property
    def sizes(self) -> tuple[int, ...]:
        """Attribute sizes."""
        return self.workload.domain.sizes

    @cached_property
    def windowed(self) -> bool:
        """Whether a longer cycle serves the queries better: for prefixes, as the ends of a cycle are neighbours."""
        inner = self.workload
        while isinstance(inner, Weighted):
            inner = inner.workload
        return isinstance(inner, Prefix)

    @cached_property
    def cycles(self) -> tuple[int, ...]:
        """Lengths of the cycles."""
        if not self.windowed:
            return self.sizes
        n = self.sizes[0]
        stretch = min(STRETCH, SLOPE / math.sqrt(1 + self.ratio))
        return (fast_length(max(n + 2, math.ceil((1 + stretch) * n))),)

    @property
    def half(self) -> tuple[int, ...]:
        """Shape of half a spectrum."""
        return (*self.cycles[:-1], self.cycles[-1] // 2 + 1)

    @cached_property
    def shaping(self) -> Shaping:
        """Patterns with the mean energies that are best if any can be had: m ~ v^(1/2) by Cauchy-Schwarz."""
        target = self._stationary() if self.windowed else np.sqrt(np.maximum(self.costs(), 0))
        target.flat[0] = 0
        if not (target > 0).any():
            target = np.ones_like(target)
            target.flat[0] = 0
        return Shaping(self.cycles, best_size(math.prod(self.cycles), self.ratio), self.ratio, target)

    def costs(self, m: np.ndarray | None = None) -> np.ndarray:
        """Return v of the objective sum v/m at the half spectrum; on windows with the estimator that m asks for."""
        if self.windowed:
            assert m is not None
            return Window(self.sizes[0], self.cycles[0], m).spectrum
        return self.workload.translation_spectrum()[..., : self.half[-1]]

    def _stationary(self) -> np.ndarray:
        """Alternate the best estimator for m and the best m for the estimator; each lowers the variance."""
        m = 1 / np.maximum(np.arange(self.half[0]), 1.0)
        value, counts = math.inf, multiplicities(self.cycles)
        for _ in range(ALTERNATIONS):
            v = self.costs(m)
            m, last, value = np.sqrt(v), value, float(np.sqrt(v) @ counts)
            m[0] = 1
            if value > last * (1 - SETTLED):
                break
        return m
