"""Cyclotomic classes of a prime field, whose unions have flat spectra on average."""

from __future__ import annotations

from itertools import count

import numpy as np

from stratagem.combinatorics.galois import factorise


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
