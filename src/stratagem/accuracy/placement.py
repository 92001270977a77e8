"""The ways in which a pattern can lie on the attributes of a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from stratagem.accuracy.score import Labels
from stratagem.strategies import TranslationStrategy

Slots = tuple[int, ...]
"""The axis of a pattern that lies on each attribute of a table, -1 for none."""


def placements(
    strategy: TranslationStrategy, axes: tuple[int, ...], labels: Labels
) -> Iterator[tuple[Slots, float]]:
    """Yield the ways in which the axes of a pattern can lie on a table, and the probability of each."""
    options = [[-1, *(t for t, axis in enumerate(axes) if axis == group)] for group in labels]
    for slots in product(*options):
        on = [t for t in slots if t >= 0]
        if len(set(on)) < len(on):
            continue
        chance = 1.0
        for group in set(axes):
            many, inside = axes.count(group), sum(axes[t] == group for t in on)
            size = len(strategy.groups[group])
            chance *= math.perm(size - labels.count(group), many - inside) / math.perm(size, many)
        if chance > 0:
            yield slots, chance
