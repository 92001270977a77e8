"""Powers and orbits modulo a number, finite fields by powers of a primitive element, and hyperplanes over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

import numpy as np


def factorise(number: int) -> list[tuple[int, int]]:
    """Return the pairs (prime, exponent) of a whole number, primes ascending; none for 1."""
    factors, rest = [], number
    for prime in count(2):
        if prime * prime > rest:
            break
        exponent = 0
        while rest % prime == 0:
            rest, exponent = rest // prime, exponent + 1
        if exponent:
            factors.append((prime, exponent))
    return [*factors, (rest, 1)] if rest > 1 else factors


def is_prime_power(number: int) -> bool:
    """Return whether there is a field of that many elements."""
    return len(factorise(number)) == 1


def divisors(number: int) -> list[int]:
    """Return the divisors of a whole number, ascending."""
    return [d for d in range(1, number + 1) if number % d == 0]


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
class Field:
    """GF(q), q = p^e: vectors of e digits modulo p, added digit by digit, multiplied by their logarithms."""

    characteristic: int
    """The prime p."""
    degree: int
    """The exponent e."""
    powers: np.ndarray
    """Digits of 1, w, w^2, ..., w^(q - 2) for a primitive element w, (q - 1) x e."""

    @property
    def order(self) -> int:
        """Number q of elements."""
        return len(self.powers) + 1

    def codes(self, elements: np.ndarray) -> np.ndarray:
        """Return one number in 0..q-1 for each vector of digits (k x e), the first digit most significant."""
        return elements @ self.characteristic ** np.arange(self.degree - 1, -1, -1)

    def traces(self, base: int) -> np.ndarray:
        """Return the codes of Tr(w^l) = sum_i w^(l b^i) for l = 0..q-2, the trace down to the subfield GF(b).

        It is linear over GF(b) and takes each of the b values equally often, but for the zero of GF(q).
        """
        logs, total = np.arange(self.order - 1), np.zeros_like(self.powers)
        for _ in range(self.degree // factorise(base)[0][1]):
            total += self.powers[logs]
            logs = logs * base % (self.order - 1)
        return self.codes(total % self.characteristic)


@lru_cache(maxsize=32)
def field(order: int) -> Field:
    """Return the field of q = p^e elements.

    w is a root of the first polynomial x^e = c_0 + ... + c_(e-1) x^(e-1) whose companion matrix has the
    multiplicative order q - 1: its powers are then all the units there can be.
    """
    ((p, e),) = factorise(order)
    step = next(C for code in range(1, order) if _has_order(C := _companion(code, p, e), order - 1, p))
    powers = np.zeros((1, e), dtype=np.int64)
    powers[0, 0] = 1
    while len(powers) < order - 1:
        powers, step = np.concatenate([powers, powers @ step % p]), step @ step % p
    powers = powers[: order - 1]
    powers.flags.writeable = False
    return Field(p, e, powers)


def _companion(code: int, p: int, e: int) -> np.ndarray:
    """Return the matrix of multiplication by x modulo x^e = c_0 + ... + c_(e-1) x^(e-1), c the digits of a code."""
    matrix = np.eye(e, k=1, dtype=np.int64)
    matrix[-1] = code // p ** np.arange(e) % p
    return matrix


def _has_order(matrix: np.ndarray, order: int, p: int) -> bool:
    """Return whether `order` is the least exponent whose power is the identity modulo p."""
    one = np.eye(len(matrix), dtype=np.int64)
    proper = (order // prime for prime, _ in factorise(order))
    return (_power(matrix, order, p) == one).all() and not any(
        (_power(matrix, exponent, p) == one).all() for exponent in proper
    )


def _power(matrix: np.ndarray, exponent: int, p: int) -> np.ndarray:
    """Return a power of a square matrix modulo p."""
    result = np.eye(len(matrix), dtype=np.int64)
    while exponent:
        if exponent & 1:
            result = result @ matrix % p
        matrix, exponent = matrix @ matrix % p, exponent >> 1
    return result


def projective_points(order: int, dimension: int) -> int:
    """Return (q^t - 1)/(q - 1), the number of points, and of hyperplanes, of PG(t - 1, q)."""
    return (order**dimension - 1) // (order - 1)


def projective_hyperplanes(order: int, dimension: int, columns: int | None = None) -> np.ndarray:
    """Return which points of PG(t - 1, q) lie in which hyperplanes, K x K, K = (q^t - 1)/(q - 1).

    In Singer's order point i is the line through w^i in GF(q^t), and hyperplane j the kernel of
    x -> Tr(w^j x): [y, u] = [Tr(w^(y + u)) = 0], every row a translate of the first. `columns` keeps the
    first hyperplanes only. Each holds (q^(t-1) - 1)/(q - 1) points, two of them share (q^(t-2) - 1)/(q - 1).

    Reference:
        Singer 1938, "A theorem in finite projective geometry".
    """
    K = projective_points(order, dimension)
    inside = field(order**dimension).traces(order)[:K] == 0
    return inside[(np.arange(K)[:, None] + np.arange(K if columns is None else columns)) % K]


def affine_hyperplanes(order: int, dimension: int) -> np.ndarray:
    """Return which of the q (q^t - 1)/(q - 1) hyperplanes (rows) of AG(t, q) hold which of its q^t points.

    Rows are the sets {x in GF(q^t): Tr(w^j x) = b}, one for each class j and each b in GF(q), of q^(t-1)
    points; the first column is x = 0, column 1 + l is x = w^l.
    """
    traces, K = field(order**dimension).traces(order), projective_points(order, dimension)
    values = np.unique(traces)
    by_class = traces[(np.arange(K)[:, None] + np.arange(len(traces))) % len(traces)]
    by_class = np.hstack([np.zeros((K, 1), dtype=by_class.dtype), by_class])
    return (by_class[:, None, :] == values[:, None]).reshape(K * order, order**dimension)
