"""Two-sided geometric noise and uniform numbers, exact, from random bytes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

Source = Callable[[int], bytes]
"""Function from a number k to k random bytes."""
PRECISION = 64
"""Number of random bits read at first for a comparison; they almost always decide it."""
GUARD = 32
"""Further bits for the powers of alpha, so that rounding them hardly changes the probabilities."""


def below(limit: int, source: Source) -> int:
    """Return a uniform whole number from 0 to limit - 1; each try keeps more than half of what it draws."""
    bits = (limit - 1).bit_length()
    size = -(-bits // 8)
    while True:
        found = int.from_bytes(source(size), "big") >> (8 * size - bits)
        if found < limit:
            return found


@dataclass(frozen=True)
class TwoSided:
    """X with Pr[X = x] in proportion to alpha^|x|, exactly, for |x| < 2^bits.

    |X| is a number of successes G before a failure, Pr[G = g] = (1 - alpha) alpha^g. As alpha^g is the product
    of alpha^(2^k) over the binary digits of g, the digits of G are independent: digit k is 1 with probability
    A/(1 + A), A = alpha^(2^k), and G >= 2^bits with probability alpha^(2^bits). A random sign follows, and
    (0, minus) is drawn again, or else 0 would come twice as often.

    Every digit compares a uniform real number, read 64 bits at first, with its chance, known between two whole
    multiples of 2^-64; where these do not decide, about once in 2^64 draws, twice as many bits are taken.
    """

    alpha: Fraction
    bits: int
    beyond: bool
    """Whether noise of size 2^bits and more is drawn too, as 2^bits or -2^bits; otherwise it is left out."""

    def draw(self, source: Source) -> int:
        """Return X; every try takes one string of bytes of fixed length."""
        chances = self._chances
        while True:
            raw, size = source(8 * len(chances) + 1), 0
            for k, (low, high) in enumerate(chances):
                u = int.from_bytes(raw[8 * k : 8 * k + 8], "big")
                size |= (u < low if not low <= u < high else self.decided(k, u, source)) << k
            size, negative = min(size, 1 << self.bits), raw[-1] >> 7
            if size or not negative:
                return -size if negative else size

    def decided(self, digit: int, u: int, source: Source) -> bool:
        """Return whether a real number whose first 64 binary places are u is below the chance of a digit."""
        precision = PRECISION
        low, high = self._chances[digit]
        while low <= u < high:
            u = u << precision | int.from_bytes(source(precision // 8), "big")
            precision *= 2
            low, high = self.chances(precision)[digit]
        return u < low

    @cached_property
    def _chances(self) -> list[tuple[int, int]]:
        return self.chances(PRECISION)

    def chances(self, precision: int) -> list[tuple[int, int]]:
        """Return whole numbers low <= 2^precision chance <= high for every digit and, beyond, for the rest."""
        work = precision + GUARD
        p, q = self.alpha.as_integer_ratio()
        low, high, found = (p << work) // q, -((-p << work) // q), []
        for _ in range(self.bits):
            one = 1 << work
            found.append(((low << precision) // (one + low), -((-high << precision) // (one + high))))
            low, high = low * low >> work, -(-high * high >> work)
        if self.beyond:
            found.append((low >> GUARD, -(-high >> GUARD)))
        return found
