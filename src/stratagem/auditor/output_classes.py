"""Outputs put into classes of known probability, for strategies with more outputs than can be counted one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.math.transform import correlation
from stratagem.strategies import Pattern, TranslationStrategy

BLOCKS = 64
"""Largest number of parts into which the cells inside a pattern are merged, and those outside."""
PRIME = 61
"""Modulus for the numbers of placements; all axes contribute to the remainder."""
ONE_BY_ONE = 1 << 20
"""Largest number of outputs that are counted one by one."""


@dataclass(frozen=True, eq=False)
class OutputClasses:
    """Classes of outputs, and how likely each is for one user type."""

    probabilities: np.ndarray
    """Probability of every class for the user type, with sum 1."""
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Map from outputs (k,) to the numbers of their classes (k,); the identity where every output is a class."""

    def counts(self, outputs: np.ndarray) -> np.ndarray:
        """Return how often each class came among outputs (k,)."""
        return np.bincount(self.classes(outputs), minlength=len(self.probabilities))


def by_output(strategy: TranslationStrategy, user: np.ndarray, most: int = ONE_BY_ONE) -> OutputClasses:
    """Return the outputs themselves, or where they are too many pattern and cell of the user type (d,) in it.

    The cells of a pattern are put together to at most 64 parts inside it and 64 outside.
    """
    if strategy.outputs > min(most, ONE_BY_ONE):
        return by_cell(strategy, user)
    column = [
        (strategy.weights[b] / strategy.placements[b] * pattern.levels(strategy.ratio)).ravel()[
            strategy.cells(b, np.arange(strategy.placements[b] * pattern.cells), user)
        ]
        for b, pattern in enumerate(strategy.patterns)
    ]
    return OutputClasses(np.concatenate(column))


def by_cell(strategy: TranslationStrategy, user: np.ndarray) -> OutputClasses:
    """Return the classes of pattern, of whether it holds the user type (d,), and of the part that has its cell."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        cells, pattern = strategy.cells(b, local, user), strategy.patterns[b]
        return (2 * b + _held(pattern, cells)) * BLOCKS + cells * BLOCKS // pattern.cells

    probabilities = np.zeros((len(strategy.patterns), 2, BLOCKS))
    for b, pattern in enumerate(strategy.patterns):
        part, inside = np.arange(pattern.cells) * BLOCKS // pattern.cells, pattern.inside.ravel()
        probabilities[b] = (
            np.bincount(part, ~inside, BLOCKS),
            np.bincount(part, inside, BLOCKS) * strategy.ratio,
        )
        probabilities[b] *= strategy.weights[b] / probabilities[b].sum()
    return OutputClasses(probabilities.ravel(), _per_pattern(strategy, classes))


def by_holding(strategy: TranslationStrategy, user: np.ndarray) -> OutputClasses:
    """Return the classes of pattern and of whether it holds the user type (d,)."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        return 2 * b + _held(strategy.patterns[b], strategy.cells(b, local, user))

    return OutputClasses(holding(strategy).ravel(), _per_pattern(strategy, classes))


def by_attribute(strategy: TranslationStrategy, user: np.ndarray, axis: int) -> OutputClasses:
    """Return the classes of the attribute that an axis was placed on, and of whether the user type (d,) is held.

    One more class is of the patterns without that axis.
    """
    none = 2 * len(strategy.sizes)

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        if axis >= len(strategy.patterns[b].axes):
            return np.full(len(local), none)
        held = _held(strategy.patterns[b], strategy.cells(b, local, user))
        return 2 * strategy.decoded(b, local)[0][:, axis] + held

    probabilities = np.zeros(none + 1)
    for pattern, (outside, inside) in zip(strategy.patterns, holding(strategy), strict=True):
        if axis >= len(pattern.axes):
            probabilities[none] += outside + inside
            continue
        members = np.array(strategy.groups[pattern.axes[axis]])
        probabilities[2 * members] += outside / len(members)
        probabilities[2 * members + 1] += inside / len(members)
    return OutputClasses(probabilities, _per_pattern(strategy, classes))


def by_placement(strategy: TranslationStrategy) -> OutputClasses:
    """Return the classes of the placement's number modulo 61."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        return local // strategy.patterns[b].cells % PRIME

    probabilities = np.zeros(PRIME)
    for weight, ways in zip(strategy.weights, strategy.placements, strict=True):
        full, rest = divmod(ways, PRIME)
        probabilities += weight * (full + (np.arange(PRIME) < rest)) / ways
    return OutputClasses(probabilities, _per_pattern(strategy, classes))


def by_pair(strategy: TranslationStrategy, u: np.ndarray, v: np.ndarray) -> tuple[OutputClasses, np.ndarray]:
    """Return the classes of pattern and of which of two user types it holds, for u (d,), and their chances for v.

    Attributes of one group must all differ alike, v - u: then the placement does not matter.
    """

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        holds = [_held(strategy.patterns[b], strategy.cells(b, local, one)) for one in (u, v)]
        return 4 * b + 2 * holds[0] + holds[1]

    columns = np.zeros((2, len(strategy.patterns), 4))
    for b, pattern in enumerate(strategy.patterns):
        steps = [int(v[first] - u[first]) for first in (strategy.groups[group][0] for group in pattern.axes)]
        both = _overlap(pattern, steps)
        one = pattern.size - both
        cells = np.array([pattern.cells - 2 * one - both, one, one, both])
        scale = strategy.weights[b] / (pattern.cells + (strategy.ratio - 1) * pattern.size)
        columns[0, b] = cells * scale * np.array([1, 1, strategy.ratio, strategy.ratio])
        columns[1, b] = cells * scale * np.array([1, strategy.ratio, 1, strategy.ratio])
    of_u, of_v = columns.reshape(2, -1)
    return OutputClasses(of_u, _per_pattern(strategy, classes)), of_v


def _per_pattern(
    strategy: TranslationStrategy, classes: Callable[[TranslationStrategy, int, np.ndarray], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the classes of outputs from those of one pattern's, given from its first output on."""

    def found(outputs: np.ndarray) -> np.ndarray:
        result = np.empty(len(outputs), dtype=np.int64)
        for b, places in strategy.by_pattern(outputs):
            result[places] = classes(strategy, b, outputs[places] - strategy.offsets[b])
        return result

    return found


def holding(strategy: TranslationStrategy, power: float = 1.0) -> np.ndarray:
    """Return the chances (B, 2) that a report is of a pattern and the pattern does not hold the user, or does.

    The ratio of the two probabilities of a report is E^power, as it is at that many times epsilon.
    """
    size = np.array([pattern.size for pattern in strategy.patterns]) * strategy.ratio**power
    rest = np.array([pattern.cells - pattern.size for pattern in strategy.patterns])
    return np.stack([rest, size], axis=1) * (strategy.weights / (rest + size))[:, None]


def _overlap(pattern: Pattern, steps: Sequence[int]) -> float:
    """Return how many cells of a pattern it shares with its translate by `steps`, averaged over its multiples."""
    inside = pattern.inside
    if pattern.multiples == 1:
        return float(np.count_nonzero(inside & np.roll(inside, steps, axis=tuple(range(len(steps))))))
    overlaps = np.rint(correlation(inside.astype(float), inside.astype(float)))
    return float(
        overlaps[pattern.divided(np.array(steps[0] % pattern.cells), np.arange(pattern.multiples))].mean()
    )


def _held(pattern: Pattern, cells: np.ndarray) -> np.ndarray:
    """Return 1 for cells inside a pattern, else 0."""
    return (pattern.packed[cells >> 3] >> (7 - (cells & 7)).astype(np.uint8) & 1).astype(np.int64)
