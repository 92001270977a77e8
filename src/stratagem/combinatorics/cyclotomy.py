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
    powers, step = np.ones(1, dtype=np.int64), primitive_root(prime)
    while len(powers) < prime - 1:
        powers = np.concatenate([powers, powers * pow(step, len(powers), prime) % prime])
    index = np.full(prime, -1)
    index[powers[: prime - 1]] = np.arange(prime - 1) % classes
    return index
