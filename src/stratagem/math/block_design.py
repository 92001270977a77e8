"""Balanced block designs with few blocks, difference families that make them, and coverings of pairs by blocks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product

import numpy as np
from scipy.optimize import nnls
from scipy.special import gammaln, xlog1py, xlogy

from stratagem.math.galois import (
    Field,
    affine_hyperplanes,
    divisors,
    factorise,
    field,
    is_prime_power,
    projective_hyperplanes,
)
from stratagem.math.number import integer


def covering_tables(
    attributes: int, tables: Sequence[Collection[int]], size: int
) -> tuple[tuple[int, ...], ...]:
    """Return sets of `size` attributes out of 0..d-1 such that each table lies inside one of them.

    Greedy: the set that holds most of the tables not held yet, first in lexicographic order, until all are;
    at most 1 + log(number of tables) times as many sets as needed.

    Args:
        attributes: their number d, at most 62.
        tables: attribute sets, each of numbers 0..d-1.
        size: attributes of a set, from those of the largest table to d.

    Raises:
        ValueError: if `attributes` or `size` is out of range.

    Reference:
        PriView (Qardaji, Yang, Li, SIGMOD 2014) and CALM (Zhang et al., CCS 2018) use covering designs; the
        greedy bound is Chvatal's, 1979.

    Example:
        >>> covering_tables(4, [(0, 1), (1, 2), (2, 3)], size=3)
        ((0, 1, 2), (0, 2, 3))
    """
    d = integer(attributes, "the number of attributes", 1, 62, "sets are kept as bits")
    largest = max(map(len, tables), default=0)
    integer(size, "the size of the sets", largest, d, "each must be able to hold the largest table")
    sets = list(combinations(range(d), size))
    inside = np.array([sum(1 << i for i in one) for one in sets])
    left = np.array([sum(1 << i for i in one) for one in tables], dtype=np.int64)
    held, chosen = left & ~inside[:, None] == 0, []
    while held.any():
        best = int(held.sum(axis=1).argmax())
        chosen.append(sets[best])
        held = held[:, ~held[best]]
    return tuple(chosen)


@dataclass(frozen=True, eq=False)
class BlockDesign:
    """Weighted blocks of k of n points that hold every point, and every pair of points, equally often."""

    kind: str
    """Name of the construction, in words."""
    patterns: np.ndarray
    """Blocks, bit-packed (b x ceil(n/8))."""
    weights: np.ndarray
    """Weights of the blocks (b,), of sum one."""


def block_design(points: int, size: int, bits: int) -> BlockDesign | None:
    """Return a 2-design of n points with blocks of k, 1 <= k < n: the one with the fewest blocks known here.

    In order: single points; the hyperplanes of a projective geometry (n blocks, the fewest there can be, by
    Fisher's inequality) or of an affine one (fewer than 2 n); difference families, n blocks times a number
    of base blocks of at most n/2. None if no design is known with blocks x points <= `bits`.
    """
    plain = _plain(points, size, bits)
    if plain is not None:
        kind, blocks = plain
        return BlockDesign(kind, np.packbits(blocks, axis=1), np.full(len(blocks), 1 / len(blocks)))
    family = difference_family(points, size, bits // points**2)
    if family is None:
        return None
    group, bases, shares = family
    parts = [np.packbits(group.translates(base), axis=1) for base in bases]
    weights = np.repeat(shares / [len(part) for part in parts], [len(part) for part in parts])
    kind = f"difference family of {len(bases)}" if len(bases) > 1 else "difference set"
    return BlockDesign(kind, np.concatenate(parts), weights)


def _plain(points: int, size: int, bits: int) -> tuple[str, np.ndarray] | None:
    """Return single points or hyperplanes, unless others have these parameters, each with its kind in words."""
    if points**2 > bits:
        return None
    if size == 1:
        return "single points", np.eye(points, dtype=bool)
    order, rest = divmod(points - 1, size)
    if rest == 0 and (dimension := _power(points * (order - 1) + 1, order)):
        return f"hyperplanes of PG({dimension - 1}, {order})", projective_hyperplanes(order, dimension)
    order, rest = divmod(points, size)
    if rest == 0 and (dimension := _power(points, order)) and 2 * points**2 <= bits:
        return f"hyperplanes of AG({dimension}, {order})", affine_hyperplanes(order, dimension)
    return None


def _power(number: int, order: int) -> int:
    """Return the t > 1 with order^t = number if there is one and a field of that order, else zero."""
    if order < 2 or not is_prime_power(order):
        return 0
    exponent, rest = 0, number
    while rest % order == 0:
        rest, exponent = rest // order, exponent + 1
    return exponent if rest == 1 and exponent > 1 else 0


@dataclass(frozen=True, eq=False)
class Group:
    """An abelian group of n elements, split into the orbits of some of its automorphisms."""

    minus: np.ndarray
    """Table of y - d (n x n), one row for each d."""
    orbit: np.ndarray
    """Number of the orbit of each element (n,)."""

    @cached_property
    def representatives(self) -> np.ndarray:
        """One nonzero d of each orbit, d and -d taken together."""
        pairs = np.minimum(self.orbit, self.orbit[self.minus[:, 0]])
        return 1 + np.unique(pairs[1:], return_index=True)[1]

    def differences(self, blocks: np.ndarray) -> np.ndarray:
        """Return |{x, y in T: x - y = d}| for blocks T (s x n) and each d in `representatives`."""
        return np.column_stack(
            [(blocks & blocks[:, self.minus[d]]).sum(axis=1) for d in self.representatives]
        )

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
    useful = (group for group in found if len(group.representatives) <= min(most, n // 2))
    return tuple(sorted(useful, key=lambda group: (len(group.representatives), group.orbit.max())))


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


def random_subsets(sizes: np.ndarray, total: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random sets (at most count x things, boolean) of that total size; no rows if none has it.

    Each thing is drawn with probability total/(sum of sizes), under the condition that the total is right:
    uniform over all sets where the sizes are equal. Sizes are whole and positive, 0 <= total <= their sum.
    """
    kinds, kind = np.unique(sizes, return_inverse=True)
    members = [np.flatnonzero(kind == j) for j in range(len(kinds))]
    chances = [_binomial(len(things), total / sizes.sum()) for things in members]
    tails = _tails(kinds, chances, total)
    subsets = np.zeros((count if tails[0][total] > 0 else 0, len(sizes)), dtype=bool)
    needed = np.full(len(subsets), total)
    for size, things, chance, tail in zip(kinds, members, chances, tails[1:], strict=True):
        left = needed[:, None] - size * np.arange(len(things) + 1)
        cumulative = np.cumsum(np.where(left >= 0, chance * tail[np.maximum(left, 0)], 0), axis=1)
        points = cumulative[:, -1:] * (1 - rng.random((len(subsets), 1)))
        taken = (cumulative < points).sum(axis=1)
        order = rng.random((len(subsets), len(things))).argsort(axis=1).argsort(axis=1)
        subsets[:, things] = order < taken[:, None]
        needed -= size * taken
    return np.unique(subsets, axis=0)


def _tails(kinds: np.ndarray, chances: list[np.ndarray], total: int) -> list[np.ndarray]:
    """Return, for each kind, the probabilities that it and all later ones sum to 0..total; then those of none."""
    tails = [np.eye(1, total + 1)[0]]
    for size, chance in zip(kinds[::-1], chances[::-1], strict=True):
        step = np.zeros((len(chance) - 1) * size + 1)
        step[::size] = chance
        tails.append(np.convolve(tails[-1], step)[: total + 1])
    return tails[::-1]


def _binomial(n: int, p: float) -> np.ndarray:
    """Return the probabilities of 0..n successes in n tries."""
    k = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p))


LARGEST = 1 << 11
"""Largest number of points: the table of their differences has its square."""
PROBE = 24
"""Candidate blocks that are looked at first."""
SPARE = 64
"""Candidate blocks of each group, beyond eight for each equation."""
EXACT = 1e-12
"""Largest relative distance of a weighted count of differences from its mean."""


def difference_family(
    points: int, size: int, most: float = math.inf
) -> tuple[Group, np.ndarray, np.ndarray] | None:
    """Return a group of n points, base blocks (s x n, boolean) of k points and weights (s,) of sum one.

    If a block T has lambda_T(d) = |{x, y in T: x - y = d}| and sum_T w_T lambda_T(d) = k (k - 1)/(n - 1) for
    every d != 0, then the n translates of every T, weighted by w_T/n, hold all pairs of points equally often.
    Blocks are unions of orbits of multipliers, x -> a x^(p^j) in the fields of the prime powers of n or
    x -> u^i x modulo n, so that each orbit gives one equation. Groups with few orbits come first; of each,
    random unions (from a fixed seed) are weighted by nonnegative least squares, which needs no more blocks
    than equations. The last try has no multipliers: floor(n/2) equations modulo n.

    `most` limits the equations, and with them the base blocks. None if no group within the limits, n <= 2048
    among them, balances; size and n - size are at least two.

    Reference:
        Wilson 1972, "Cyclotomy and difference families in elementary abelian groups".
    """
    if points > LARGEST:
        return None
    rng, mean = np.random.default_rng(0), size * (size - 1) / (points - 1)
    ordered = groups(points, most)
    pools = [8] * len(ordered)
    if ordered and len(ordered[-1].representatives) == points // 2:
        ordered, pools = (*ordered, ordered[-1]), [*pools, 32]
    for group, pool in zip(ordered, pools, strict=True):
        few = _random_unions(group, size, PROBE, rng)
        if len(few) == 0 or (group.differences(few) > mean * (1 + EXACT)).all(axis=0).any():
            continue  # no union has this size, or the multipliers favour some differences
        blocks = _random_unions(group, size, pool * len(group.representatives) + SPARE, rng)
        weights = _balance(group.differences(blocks) / mean)
        if weights is not None:
            return group, blocks[weights > 0], weights[weights > 0]
    return None


def _random_unions(group: Group, size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return distinct random unions of orbits that have `size` elements (at most count x n, boolean)."""
    return random_subsets(np.bincount(group.orbit), size, count, rng)[:, group.orbit]


def _balance(counts: np.ndarray) -> np.ndarray | None:
    """Return weights w >= 0 of sum one with counts^T w = 1 (blocks x orbits), few of them positive; None if none."""
    off = counts - 1
    alone = np.abs(off).max(axis=1) <= EXACT
    if alone.any():
        return np.eye(len(counts))[int(np.argmax(alone))]
    total = np.zeros(off.shape[1] + 1)
    total[-1] = 1
    try:
        weights, _ = nnls(np.vstack([off.T, np.ones(len(off))]), total)
    except RuntimeError:  # no convergence within its limit of steps
        return None
    weights /= weights.sum()
    return weights if np.abs(weights @ off).max() <= EXACT else None
