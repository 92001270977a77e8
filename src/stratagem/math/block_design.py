"""Balanced block designs with few blocks, and coverings of pairs by blocks."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count

import numpy as np

from stratagem.math.difference_family import difference_family
from stratagem.math.galois import affine_hyperplanes, factorise, is_prime_power, projective_hyperplanes
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


def primitive_root(prime: int) -> int:
    """Return the least w whose powers are all nonzero numbers modulo a prime."""
    factors = [q for q, _ in factorise(prime - 1)]
    return next(w for w in count(1) if all(pow(w, (prime - 1) // q, prime) != 1 for q in factors))


def is_prime(number: int) -> bool:
    """Return whether a whole number is prime."""
    return factorise(number) == [(number, 1)]


def cyclotomic_index(prime: int, classes: int) -> np.ndarray:
    """Return i mod e of u = w^i for every u = 0, ..., p - 1, w a primitive root and e = `classes` | p - 1; -1 at 0.

    For a set T of r whole classes, the power spectra of its e rotations wT, w^2 T, ... have a sum that is
    constant away from 0: rotating permutes the frequencies of a class in turn.
    """
    index = np.full(prime, -1)
    index[powers(1, primitive_root(prime), prime)] = np.arange(prime - 1) % classes
    return index


def powers(first: int, root: int, modulus: int) -> np.ndarray:
    """Return first, first root, first root^2, ... modulo a number, up to where they repeat.

    The root has no divisor in common with the modulus.
    """
    found = np.array([first], dtype=np.int64)
    while not (again := np.flatnonzero(found[1:] == first)).size:
        found = np.concatenate([found, found * pow(root, len(found), modulus) % modulus])
    return found[: again[0] + 1]


def orbits(root: int, modulus: int, most: int | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the number of the orbit of each k = 0, ..., N - 1 under multiplication by a root, and their lengths.

    None if there are more than `most` of them.
    """
    labels, lengths = np.full(modulus, -1), []
    first = 0
    while True:
        first += int((labels[first:] < 0).argmax())
        if labels[first] >= 0:
            return labels, np.array(lengths)
        if len(lengths) == most:
            return None
        orbit = powers(first, root, modulus)
        labels[orbit] = len(lengths)
        lengths.append(len(orbit))


def largest_order(modulus: int) -> int:
    """Return the largest order of a number modulo N under multiplication, Carmichael's function of N."""
    orders = (p ** (k - 1) * (p - 1) // (2 if p == 2 and k > 2 else 1) for p, k in factorise(modulus))
    return math.lcm(*orders)


def roots(modulus: int) -> Iterator[int]:
    """Yield the numbers of the largest order modulo N."""
    largest = largest_order(modulus)
    factors = [q for q, _ in factorise(largest)]
    for number in range(1, modulus):
        if math.gcd(number, modulus) == 1 and all(pow(number, largest // q, modulus) != 1 for q in factors):
            yield number


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
