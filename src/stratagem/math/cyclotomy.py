"""Cyclotomic classes of a prime field, whose unions have flat spectra on average."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import count

import numpy as np

from stratagem.math.galois import factorise


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
