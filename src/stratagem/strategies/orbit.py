"""All translates of patterns over the whole domain."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from stratagem.io.screen import brief
from stratagem.strategies.pattern import Pattern
from stratagem.strategies.translation import TranslationStrategy, checked


@final
@dataclass(frozen=True, eq=False)
class OrbitStrategy(TranslationStrategy):
    """Mixture of orbits: a report is a pattern b and one of its translates on Z_N1 x ... x Z_Nd.

    Q[(b, g), u] = w_b x_b(u - g). With cycles as long as the attributes the information matrix M is invariant,
    with eigenvalue sum_b w_b |x_b^(chi)|^2 at a character chi. On longer cycles the domain is a window: the
    first a_i points of each cycle. Several attributes may share one cycle, on which the cells of the domain lie.

    Raises:
        ValueError: as `checked`.
    """

    __repr__ = brief

    sizes: tuple[int, ...]
    cycles: tuple[int, ...]
    patterns: tuple[Pattern, ...]
    """Base patterns, each with one axis for every cycle, in the order of the cycles."""
    weights: np.ndarray
    ratio: float
    groups: tuple[tuple[int, ...], ...] = field(init=False)
    """Groups of cycles: every cycle is a group of its own."""

    def __post_init__(self) -> None:
        """Check all parts."""
        object.__setattr__(self, "groups", tuple((i,) for i in range(len(self.cycles))))
        object.__setattr__(self, "weights", checked(self))
        if any(pattern.axes != tuple(range(len(self.cycles))) for pattern in self.patterns):
            raise ValueError(
                "a pattern of an orbit does not have every attribute as an axis: use JuntaStrategy"
            )

    @property
    def window(self) -> bool:
        """Whether the domain is only a part of the cycles, because a cycle has more points than values."""
        return self.cycles != self.lengths

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues sum_b w_b |x_b^(chi)|^2 at all characters of the cycles, shape `cycles`."""
        total = np.zeros(self.cycles)
        for pattern, weight in zip(self.patterns, self.weights, strict=True):
            total += weight * pattern.energies(self.ratio)
        return total


def on_cycles(strategy: TranslationStrategy) -> TranslationStrategy:
    """Return the same outputs over one attribute where all attributes share one cycle, else the strategy itself."""
    if strategy.lengths == strategy.sizes:
        return strategy
    return OrbitStrategy(
        strategy.lengths, strategy.cycles, strategy.patterns, strategy.weights, strategy.ratio
    )
