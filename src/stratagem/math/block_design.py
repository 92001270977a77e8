"""Balanced block designs with few blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stratagem.math.difference_family import difference_family
from stratagem.math.galois import is_prime_power
from stratagem.math.geometry import affine_hyperplanes, projective_hyperplanes


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
