"""Groups of n points with groups of multipliers: the symmetries of difference families."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from stratagem.math.galois import Field, divisors, factorise, field


@dataclass(frozen=True, eq=False)
class Group:
    """An abelian group of n elements, split into the orbits of some of its automorphisms."""

    minus: np.ndarray
    """Table of y - d (n x n), one row for each d."""
    orbit: np.ndarray
    """Number of the orbit of each element (n,)."""

    @cached_property
    def apart(self) -> np.ndarray:
        """One nonzero d of each orbit, d and -d taken together."""
        pairs = np.minimum(self.orbit, self.orbit[self.minus[:, 0]])
        return 1 + np.unique(pairs[1:], return_index=True)[1]

    def differences(self, blocks: np.ndarray) -> np.ndarray:
        """Return |{x, y in T: x - y = d}| for blocks T (s x n) and each d in `apart`."""
        return np.column_stack([(blocks & blocks[:, self.minus[d]]).sum(axis=1) for d in self.apart])

    def translates(self, block: np.ndarray) -> np.ndarray:
        """Return the distinct translates of a block (n,): n, or fewer if some of them leave it as it is."""
        moved = block[self.minus]
        same = (moved == block).all(axis=1)
        return moved[self.minus[same].min(axis=0) == np.arange(len(block))]


@lru_cache(maxsize=4)
def groups(n: int, most: float) -> tuple[Group, ...]:
    """Return the groups of n elements with at most `most` orbits apart, the fewest orbits first.

    The last is the integers modulo n without multipliers, if floor(n/2) is within the limit.
    """
    digits = [p for p, e in factorise(n) for _ in range(e)]
    fields, cyclic = subtraction(digits), subtraction([n])
    found = [Group(fields, orbit) for orbit in _field_orbits(n)] if len(digits) > 1 or n < 4 else []
    found += [Group(cyclic, orbit) for orbit in _cyclic_orbits(n)]
    useful = (group for group in found if len(group.apart) <= min(most, n // 2))
    return tuple(sorted(useful, key=lambda group: (len(group.apart), group.orbit.max())))


def subtraction(radices: list[int]) -> np.ndarray:
    """Return the table of y - d (row d) in the product of the integers modulo each radix."""
    n = math.prod(radices)
    numbers, rest, result = np.arange(n), n, np.zeros((n, n), dtype=np.int32)
    for radix in radices:
        rest //= radix
        digit = (numbers // rest % radix).astype(np.int32)
        result += (digit - digit[:, None]) % radix * rest
    return result


def _cyclic_orbits(n: int) -> Iterator[np.ndarray]:
    """Yield the orbits (n,) of x -> u^i x modulo n for each cyclic group of units u."""
    numbers, seen = np.arange(n), set[int]()
    for u in (u for u in range(1, n) if math.gcd(u, n) == 1):
        if u in seen:
            continue
        powers = [1]
        while (v := powers[-1] * u % n) != 1:
            powers.append(v)
        seen.update(v for i, v in enumerate(powers) if math.gcd(i, len(powers)) == 1)
        least = numbers
        for v in powers:
            least = np.minimum(least, numbers * v % n)
        yield _renumbered(least)


def _field_orbits(n: int) -> Iterator[np.ndarray]:
    """Yield the orbits (n,) of products of x -> a x^(p^j) in the fields of the prime powers of n."""
    distinct = dict[bytes, np.ndarray]()
    for parts in product(*(list(_orbits_of_field(field(p**e))) for p, e in factorise(n))):
        orbit = np.zeros(1, dtype=np.int64)
        for part in parts:
            orbit = (orbit[:, None] * (part.max() + 1) + part).ravel()
        orbit = _renumbered(orbit)
        distinct[orbit.tobytes()] = orbit
    yield from distinct.values()


def _orbits_of_field(one: Field) -> Iterator[np.ndarray]:
    """Yield the orbits (q,) of x -> a x^(p^(i j)), a an f-th power, for each f dividing q - 1 and j dividing e."""
    logs = np.arange(one.order - 1)
    for f, j in product(divisors(one.order - 1), divisors(one.degree)):
        images = [np.arange(f) * one.characteristic**i % f for i in range(0, one.degree, j)]
        orbit = np.zeros(one.order, dtype=np.int64)
        orbit[one.codes(one.powers)] = 1 + np.min(images, axis=0)[logs % f]
        yield orbit


def _renumbered(orbit: np.ndarray) -> np.ndarray:
    """Return the same orbits, numbered from zero without gaps."""
    return np.unique(orbit, return_inverse=True)[1]
