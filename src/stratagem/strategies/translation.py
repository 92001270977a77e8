"""The interface of a strategy of translates: all translates of a few base patterns, on a domain of any size."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Self, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.shuffling import PrivacyBlanket
from stratagem.math.vector import Counts, counted
from stratagem.strategies.pattern import Pattern, overlaps
from stratagem.strategies.strategy import MatrixStrategy, Randomiser, check_counts

OUTPUTS = 1 << 53
"""Largest number of reports: whole numbers up to 2^53 are exact in every language."""
DENSE = 1 << 25
"""Entries of the largest matrix that is written out."""
WEIGHT_ERROR = 1e-12
"""Largest distance of the sum of weights from one."""


class TranslationStrategy(Randomiser):
    """Reports (b, placement, shift g) with Pr[. | u] = w_b/placements_b x_b(u_placed - g), x_b = s_b/(1^T s_b).

    A pattern b is a set T_b of cells of a few axes, s_b = 1 + (E - 1) 1_(T_b). Every axis is placed on an
    attribute of its group, no attribute twice, all placements equally likely, and g runs through all
    translations of the axes' cycles. Summed over g every x_b is 1 for each user type: columns sum to one by
    construction, and the information matrix is diagonal in the characters of the group (theory.md, section 6).
    A pattern with multiples stands for all of them, equally likely. Attribute i has values 0, ..., sizes[i] - 1 on
    cycles[i] >= sizes[i] points of a cycle; or all attributes have one, with the cells of the domain, row-major.

    Outputs count patterns first, then multiples, then placements (mixed radix over the axes, the first most
    significant; a digit is the rank of an attribute among those that earlier axes left), then shifts, row-major.
    """

    even: ClassVar = "a strategy of translates, whose estimates treat all user types alike"
    sizes: tuple[int, ...]
    """Attribute sizes a1, ..., ad of the domain."""
    cycles: tuple[int, ...]
    """Lengths of the cycles that the attributes lie on, or of the one that the cells lie on."""
    groups: tuple[tuple[int, ...], ...]
    """Partition of the attributes; attributes of one group have cycles of equal length."""
    patterns: tuple[Pattern, ...]
    weights: np.ndarray
    """w (B,): the probability that a report comes from each pattern."""
    ratio: float
    """E, the ratio of the two probabilities of a report."""

    @final
    @property
    def domain_size(self) -> int:
        return math.prod(self.sizes)

    @final
    @property
    def outputs(self) -> int:
        return int(self.offsets[-1])

    @final
    @property
    def epsilon(self) -> float:
        """Measured privacy loss: log E if a pattern occurs, as each has cells inside and outside."""
        return math.log(self.ratio) if (self.weights > 0).any() else 0.0

    @final
    @property
    def translated(self) -> Self:
        """The strategy itself."""
        return self

    @property
    def blanket(self) -> PrivacyBlanket:
        levels = self.ratio - 1
        theta = [w / (b.cells + levels * b.size) for b, w in zip(self.patterns, self.weights, strict=True)]
        mass = math.fsum(share * b.cells for b, share in zip(self.patterns, theta, strict=True))
        return PrivacyBlanket(self.ratio, levels * self._apart(theta), min(1.0, mass))

    @property
    def guess(self) -> float:
        """E gamma/n at most."""
        return self.ratio * self.blanket.mass / self.domain_size

    def _apart(self, theta: Sequence[float]) -> float:
        """Return an upper limit of sum_b theta_b (translates of T_b that hold u and not v) over pairs u, v.

        Here every pattern meets the pair that is worst for itself.
        """
        pairs = zip(self.patterns, theta, strict=True)
        return math.fsum(share * (b.size - float(overlaps(b.spectrum).min())) for b, share in pairs)

    @final
    @property
    def window(self) -> bool:
        """Whether the domain is a part of longer cycles, so that M is not diagonal in its characters."""
        return self.cycles != tuple(self.lengths)

    @abstractmethod
    def eigenvalues_at(self, touched: Sequence[int]) -> np.ndarray:
        """Return M's eigenvalues at characters that touch just these cycles, of shape (a - 1, ...), rising."""

    @abstractmethod
    def table_eigenvalues(self, attributes: Sequence[int]) -> np.ndarray:
        """Return M's eigenvalues at all characters of a table of cycles, of shape (a, ...) in the order given."""

    def on_cycles(self) -> Self:
        """Return the same outputs over one attribute where all attributes share one cycle, else the strategy itself."""
        return self

    @final
    @cached_property
    def owner(self) -> tuple[int, ...]:
        """The number of the group that holds each attribute."""
        return tuple(
            group for _, group in sorted((i, g) for g, members in enumerate(self.groups) for i in members)
        )

    @final
    @cached_property
    def placements(self) -> tuple[int, ...]:
        """Number of placements of each pattern's axes, times the number of its multiples."""
        return tuple(pattern.multiples * math.prod(self._radices(pattern)) for pattern in self.patterns)

    @final
    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """First output of each pattern, followed by the number of all outputs."""
        offsets = [0]
        for pattern, placements in zip(self.patterns, self.placements, strict=True):
            offsets.append(offsets[-1] + placements * pattern.cells)
        return tuple(offsets)

    @final
    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one output (N,) for each user: cells (N,) or coordinates (N, d). For simulation only."""
        places = self.places(self.coordinates(values))
        outputs = np.empty(len(places), dtype=np.int64)
        chosen = rng.choice(len(self.weights), len(places), p=self.weights / self.weights.sum())
        for b, users in self._grouped(chosen):
            outputs[users] = self.offsets[b] + self._draw(b, places, users, rng)
        return outputs

    @final
    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> Counts:
        """Draw the counts of outputs (m,) when x[u] users (n,) have type u, of a domain that can be counted."""
        values = np.repeat(np.arange(self.domain_size), check_counts(x, self.domain_size))
        return counted(self.randomise(values, rng), self.outputs)

    @final
    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of points in use on each cycle: the attribute sizes, or n if there is only one cycle."""
        return self.sizes if len(self.cycles) > 1 else (self.domain_size,)

    @final
    def places(self, coordinates: np.ndarray) -> np.ndarray:
        """Return the places (N, cycles) of coordinates (N, d) on the cycles."""
        if self.lengths == self.sizes:
            return coordinates
        return np.asarray(np.ravel_multi_index(tuple(coordinates.T), self.sizes))[:, None]

    @final
    def coordinates(self, values: np.ndarray) -> np.ndarray:
        """Return user types as coordinates (N, d): given so, or as cells (N,) of a domain that can be counted.

        Raises:
            ValueError: for values outside the domain.
        """
        given = np.asarray(values)
        whole, many = given.dtype.kind in "iub", len(self.sizes)
        cells = whole and given.ndim == 1 and self.domain_size <= OUTPUTS
        if cells and ((given >= 0) & (given < self.domain_size)).all():
            return np.stack(np.unravel_index(given, self.sizes), axis=1)
        rows = whole and given.ndim == 2 and given.shape[1] == many
        if rows and ((given >= 0) & (given < np.array(self.sizes))).all():
            return given
        raise ValueError(
            f"user types were given as {given.dtype} of shape {given.shape}, but must be whole numbers, one value "
            f"from 0 to size - 1 for each of {len(self.sizes)} attributes: give an array (users, attributes)"
        )

    @final
    def decoded(self, b: int, local: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the attributes (N, axes) and shifts (N, axes) of outputs of pattern b, less its offset."""
        pattern = self.patterns[b]
        placement, shift = np.divmod(np.asarray(local, dtype=np.int64), pattern.cells)
        shifts = np.stack(np.unravel_index(shift, pattern.sizes), axis=1)
        digits = []
        for radix in reversed(self._radices(pattern)):
            placement, digit = np.divmod(placement, radix)
            digits.append(digit)
        return self._attributes(pattern, digits[::-1]), shifts

    @final
    def multiples(self, b: int, local: np.ndarray) -> np.ndarray:
        """Return the number i of the multiple r^i T_b (N,) of outputs of pattern b, less its offset."""
        pattern = self.patterns[b]
        return np.asarray(local, dtype=np.int64) // (self.placements[b] // pattern.multiples * pattern.cells)

    @final
    def cells(self, b: int, local: np.ndarray, users: np.ndarray) -> np.ndarray:
        """Return the cell of T_b that decides the probability of each output of pattern b for a user, (N,).

        For the multiple r^i T_b it is the user's cell divided by r^i.

        Args:
            b: the pattern.
            local: outputs (N,), less the pattern's offset.
            users: places of one user type on the cycles (d,), or of one for each output (N, d).
        """
        attributes, shifts = self.decoded(b, local)
        own = users[attributes] if users.ndim == 1 else np.take_along_axis(users, attributes, axis=1)
        return self._cells(b, own - shifts, self.multiples(b, local))

    @property
    @final
    def deepest(self) -> int:
        """Largest number of attributes that a report tells about together."""
        return max(len(pattern.axes) for pattern in self.patterns)

    @final
    def by_pattern(self, outputs: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """Return each pattern b that occurs, and the positions (k,) of its outputs in the array."""
        return self._grouped(np.searchsorted(np.array(self.offsets[1:]), outputs, side="right"))

    def _grouped(self, owner: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        order = np.argsort(owner, kind="stable")
        ends = np.cumsum(np.bincount(owner, minlength=len(self.patterns)))
        for b, places in enumerate(np.split(order, ends[:-1])):
            if len(places):
                yield b, places

    @final
    def dense(self) -> MatrixStrategy:
        if self.outputs * self.domain_size > DENSE:
            raise ValueError(
                f"a matrix of {self.outputs} outputs over the domain of {len(self.sizes)} attributes is too large: "
                "save it as a mechanism file, *.ldp.json"
            )
        cells = self.places(self.coordinates(np.arange(self.domain_size)))
        rows = [self._rows(b, cells) for b in range(len(self.patterns))]
        return MatrixStrategy(np.concatenate(rows))

    def _rows(self, b: int, cells: np.ndarray) -> np.ndarray:
        """Return the rows (placements * shifts, n) of a pattern."""
        pattern, count = self.patterns[b], self.placements[b]
        local = np.arange(count * pattern.cells)
        attributes, shifts = self.decoded(b, local)
        moved = np.moveaxis(cells.T[attributes] - shifts[:, :, None], 1, 2)
        places = self._cells(b, moved, self.multiples(b, local)[:, None])
        return pattern.levels(self.ratio).ravel()[places] * (self.weights[b] / count)

    def _cells(self, b: int, moved: np.ndarray, multiple: np.ndarray) -> np.ndarray:
        """Return the cells of T_b at distances (..., axes) from the shifts of its multiples."""
        pattern = self.patterns[b]
        around = np.moveaxis(moved % np.array(pattern.sizes), -1, 0)
        return pattern.divided(np.asarray(np.ravel_multi_index(tuple(around), pattern.sizes)), multiple)

    def _draw(self, b: int, places: np.ndarray, users: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw outputs of pattern b, less its offset, by rejection; the number of rounds reveals no type."""
        pattern = self.patterns[b]
        inside = pattern.inside.ravel()
        local, waiting = np.empty(len(users), dtype=np.int64), np.arange(len(users))
        while len(waiting):
            drawn = rng.integers(0, self.placements[b] * pattern.cells, len(waiting))
            kept = inside[self.cells(b, drawn, places[users[waiting]])]
            kept |= rng.random(len(waiting)) * self.ratio < 1
            local[waiting[kept]] = drawn[kept]
            waiting = waiting[~kept]
        return local

    def _radices(self, pattern: Pattern) -> list[int]:
        """Return the number of attributes that earlier axes leave to each axis of a pattern."""
        left = [len(group) for group in self.groups]
        radices = []
        for group in pattern.axes:
            radices.append(left[group])
            left[group] -= 1
        return radices

    def _attributes(self, pattern: Pattern, digits: list[np.ndarray]) -> np.ndarray:
        """Return the attributes (N, axes) of given ranks among the attributes that earlier axes leave."""
        places = np.stack(digits, axis=1)
        attributes = np.empty_like(places)
        for t, group in enumerate(pattern.axes):
            earlier = np.sort(places[:, [s for s in range(t) if pattern.axes[s] == group]], axis=1)
            for taken in earlier.T:
                places[:, t] += places[:, t] >= taken
            attributes[:, t] = np.array(self.groups[group])[places[:, t]]
        return attributes


def checked(strategy: TranslationStrategy) -> np.ndarray:
    """Return the weights of a strategy as a read-only array, after checking all its parts."""
    weights = np.array(strategy.weights, dtype=float)
    if weights.shape != (len(strategy.patterns),) or not len(weights):
        raise ValueError(
            f"{len(strategy.patterns)} patterns were given {weights.size} weights: give each pattern one weight"
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or abs(weights.sum() - 1) > WEIGHT_ERROR:
        raise ValueError(
            "the weights of patterns must be nonnegative and sum to one: divide them by their sum"
        )
    if not (strategy.ratio > 1 and math.isfinite(strategy.ratio)):
        raise ValueError(f"the ratio of the two levels is {strategy.ratio!r}: give exp(epsilon), above 1")
    lengths, members = strategy.lengths, sorted(i for group in strategy.groups for i in group)
    if members != list(range(len(lengths))) or not all(strategy.groups):
        raise ValueError("the groups do not hold every attribute once: give a partition of the attributes")
    if len(strategy.cycles) != len(lengths) or any(
        cycle < length for cycle, length in zip(strategy.cycles, lengths, strict=True)
    ):
        raise ValueError("an attribute has more values than its cycle has points: give a longer cycle")
    if any(len({strategy.cycles[i] for i in group}) > 1 for group in strategy.groups):
        raise ValueError(
            "attributes of one group lie on different cycles: give each length a group of its own"
        )
    for pattern in strategy.patterns:
        _check_pattern(strategy, pattern)
    if strategy.outputs > OUTPUTS:
        raise ValueError(
            f"the patterns have {strategy.outputs} translates and placements, above 2^53: use fewer axes or patterns"
        )
    weights.flags.writeable = False
    return weights


def _check_pattern(strategy: TranslationStrategy, pattern: Pattern) -> None:
    for group, size in zip(pattern.axes, pattern.sizes, strict=True):
        known = 0 <= group < len(strategy.groups)
        if not known or strategy.cycles[strategy.groups[group][0]] != size:
            raise ValueError(
                f"an axis of {size} cells was given for group {group}: give each the cycle of its group's attributes"
            )
    if any(pattern.axes.count(group) > len(strategy.groups[group]) for group in set(pattern.axes)):
        raise ValueError("a pattern takes more attributes from a group than it has: use fewer axes")


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

    def _apart(self, theta: Sequence[float]) -> float:
        pairs = list(zip(self.patterns, theta, strict=True))
        together = overlaps(np.sum([share * b.spectrum for b, share in pairs], axis=0))
        for axis, (cycle, length) in enumerate(zip(self.cycles, self.lengths, strict=True)):
            if 2 * length <= cycle:
                together = np.take(together, np.arange(1 - length, length), axis)
        return math.fsum(share * b.size for b, share in pairs) - float(together.min())

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues sum_b w_b |x_b^(chi)|^2 at all characters of the cycles, shape `cycles`."""
        total = np.zeros(self.cycles)
        for pattern, weight in zip(self.patterns, self.weights, strict=True):
            total += weight * pattern.energies(self.ratio)
        return total

    def eigenvalues_at(self, touched: Sequence[int]) -> np.ndarray:
        return self.table_eigenvalues(sorted(touched))[(slice(1, None),) * len(touched)]

    def table_eigenvalues(self, attributes: Sequence[int]) -> np.ndarray:
        kept = tuple(slice(None) if i in attributes else 0 for i in range(len(self.cycles)))
        return self.eigenvalues[kept].transpose(np.argsort(np.argsort(attributes)))

    def on_cycles(self) -> OrbitStrategy:
        return self if self.lengths == self.sizes else replace(self, sizes=self.lengths)
