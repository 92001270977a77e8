"""Mechanisms with a closed form, for groups of any size; no matrix is made unless it is asked for."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple, TypeVar

import numpy as np

from stratagem.counts.criteria import Property, distance_power, property_set
from stratagem.counts.exact import Whole, decay, log_decay, reduced, whole_size
from stratagem.counts.mechanism import CountMechanism, whole_count
from stratagem.counts.sampling import ClampedSampler, RankSampler, UniformSampler

EVERY = frozenset(Property)
TABLE = 512
"""Largest group size for which a closed form is written as whole numbers."""
Number = TypeVar("Number", float, Fraction)


@dataclass(frozen=True, eq=False)
class ClosedForm(CountMechanism):
    """P[i, j] = f_i alpha^e with a whole exponent e(i, j): exact fractions, for any n."""

    size: int
    alpha: Fraction

    @abstractmethod
    def exponents(self, output: np.ndarray | int, count: np.ndarray | int) -> np.ndarray:
        """Return the exponents e(output, count) of alpha; the two arrays are broadcast against each other."""

    @abstractmethod
    def factors(self, alpha: Number) -> tuple[Number, Number]:
        """Return the factors f of the outputs 0 and n, and of all other outputs, in the arithmetic of alpha."""

    @abstractmethod
    def powers_by_count(self, power: int, above: int) -> np.ndarray:
        """Return E |i - j|^power [|i - j| > above] for every count j (n+1,), in O(n)."""

    def column(self, count: int) -> np.ndarray:
        edge, inner = self.factors(float(self.alpha))
        factor = np.full(self.size + 1, inner)
        factor[[0, -1]] = edge
        return factor * float(self.alpha) ** self.exponents(
            np.arange(self.size + 1), whole_count(count, self.size)
        )

    def whole(self) -> Whole:
        """Return the probabilities as whole numbers with a common total, exactly.

        Raises:
            ValueError: above n = 512.
        """
        n, (p, q) = self.size, self.alpha.as_integer_ratio()
        if n > TABLE:
            raise ValueError(f"whole numbers for {n} people would be huge; above {TABLE} draw directly")
        powers = np.array([p**k * q ** (n - k) for k in range(n + 1)], dtype=object)
        edge, inner = self.factors(self.alpha)
        factor = np.full(n + 1, inner.numerator * edge.denominator, dtype=object)
        factor[[0, -1]] = edge.numerator * inner.denominator
        i, j = np.indices((n + 1, n + 1))
        return reduced(factor[:, None] * powers[self.exponents(i, j)])

    def log_likelihood(self, output: int) -> np.ndarray:
        return log_decay(self.alpha) * self.exponents(
            whole_count(output, self.size), np.arange(self.size + 1)
        )

    def ratio(self) -> Fraction:
        return 1 / self.alpha

    def by_count(self, loss: str | Sequence | np.ndarray) -> np.ndarray:
        if not isinstance(loss, str):
            return super().by_count(loss)
        power, above, factor = distance_power(loss, self.size)
        return factor * self.powers_by_count(power, above)


class Geometric(ClosedForm):
    """GM, the truncated geometric mechanism: the count plus two-sided geometric noise, clamped to 0..n.

    P[i, j] = (1 - a)/(1 + a) a^|i-j|, for the outputs 0 and n 1/(1 + a) a^|i-j|. The only optimum under L0
    without further properties; it has S, RM and RH, WH if n >= 2a/(1 - a), CM and CH if a <= 1/2.

    Reference:
        Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """

    name = "geometric"

    def exponents(self, output: np.ndarray | int, count: np.ndarray | int) -> np.ndarray:
        return np.abs(np.subtract(output, count))

    def sampler(self) -> ClampedSampler:
        return ClampedSampler(self.size, self.alpha)

    def factors(self, alpha: Number) -> tuple[Number, Number]:
        """Return 1/(1 + a) and (1 - a)/(1 + a)."""
        return 1 / (1 + alpha), (1 - alpha) / (1 + alpha)

    def powers_by_count(self, power: int, above: int) -> np.ndarray:
        edge, inner = self.factors(float(self.alpha))
        terms = _terms(self.size, float(self.alpha), power, above)
        one_side = inner * np.cumsum(terms) + (edge - inner) * terms
        return one_side + one_side[::-1]

    @property
    def properties(self) -> frozenset[Property]:
        if self.size == 1:
            return EVERY
        found = {Property.S, Property.RM, Property.RH}
        if self.size * (1 - self.alpha) >= 2 * self.alpha:
            found.add(Property.WH)
        if 2 * self.alpha <= 1:
            found |= {Property.CM, Property.CH, Property.WH}
        return frozenset(found)


class ExplicitFair(ClosedForm):
    """The explicit fair mechanism: every column holds the powers 0, 1, 1, 2, 2, ... of alpha in some order.

    With k = |i - j| and m = min(j, n - j), P[i, j] = y a^k for k <= m and y a^ceil((k + m)/2) beyond,
    y = (1 - a)/(1 + a - 2 a^(n/2 + 1)) for even n and (1 - a)/((1 + a)(1 - a^((n + 1)/2))) for odd n. It has
    all properties, and no fair mechanism costs less under L0.

    Reference:
        Cormode, Kulkarni, Srivastava, ICDE 2018, there EM.
    """

    name = "explicit fair"

    def exponents(self, output: np.ndarray | int, count: np.ndarray | int) -> np.ndarray:
        k, m = np.abs(np.subtract(output, count)), np.minimum(count, self.size - count)
        return np.where(k <= m, k, -(-(k + m) // 2))

    def sampler(self) -> RankSampler:
        return RankSampler(self.size, self.alpha)

    def factors(self, alpha: Number) -> tuple[Number, Number]:
        n, half = self.size, _powers(alpha, (self.size + 1) // 2)
        y = 1 / ((1 + alpha) * half) if n % 2 else 1 / (1 + 2 * alpha * half)
        return y, y

    def powers_by_count(self, power: int, above: int) -> np.ndarray:
        """Return E |i - j|^power [|i - j| > above] for every count j (n+1,).

        Beyond distance m, with r = k + m, the terms (r - m)^t a^ceil(r/2) are summed by powers of r.
        """
        n, a = self.size, float(self.alpha)
        count = np.arange(n + 1)
        m = np.minimum(count, n - count)
        paired = 2 * np.cumsum(_terms(n, a, power, above))[m]
        r = np.arange(n + 2, dtype=float)
        weight = np.where(r <= n, a ** np.ceil(r / 2), 0.0)
        tails = [np.cumsum((r**t * weight)[::-1])[::-1] for t in range(3)]
        first = np.minimum(m + np.maximum(m, above) + 1, n + 1)
        zeroth, linear, square = (tail[first] for tail in tails)
        single = (zeroth, linear - m * zeroth, square - 2.0 * m * linear + m.astype(float) ** 2 * zeroth)
        return self.factors(a)[0] * (paired + single[power])

    @property
    def properties(self) -> frozenset[Property]:
        return EVERY


class Uniform(ClosedForm):
    """UM, the uniform mechanism: every output with probability 1/(n + 1), whatever the count."""

    name = "uniform"

    def exponents(self, output: np.ndarray | int, count: np.ndarray | int) -> np.ndarray:
        return np.zeros(np.broadcast(output, count).shape, dtype=int)

    def sampler(self) -> UniformSampler:
        return UniformSampler(self.size)

    def factors(self, alpha: Number) -> tuple[Number, Number]:
        """Return the factor 1/(n + 1) twice, as all outputs have the same one."""
        even = alpha / alpha / (self.size + 1)
        return even, even

    def powers_by_count(self, power: int, above: int) -> np.ndarray:
        one_side = np.cumsum(_terms(self.size, 1.0, power, above)) / (self.size + 1)
        return one_side + one_side[::-1]

    def ratio(self) -> Fraction:
        return Fraction(1)

    @property
    def properties(self) -> frozenset[Property]:
        return EVERY


def _terms(n: int, alpha: float, power: int, above: int) -> np.ndarray:
    """Return k^power alpha^k for k = 0..n (n+1,), zero for k <= above and for k = 0."""
    k = np.arange(n + 1)
    return np.where(k > above, k.astype(float) ** power * alpha**k, 0.0)


@singledispatch
def _powers(alpha: Any, terms: int) -> Any:
    """Return 1 + a + ... + a^(terms - 1) = (1 - a^terms)/(1 - a), without cancellation where a is near 1."""
    return (1 - alpha**terms) / (1 - alpha)


@_powers.register
def _(alpha: float, terms: int) -> float:
    return math.expm1(terms * math.log(alpha)) / (alpha - 1) if alpha < 1 else float(terms)


def geometric(size: int, alpha: float | str | None = None, *, epsilon: float | None = None) -> Geometric:
    """Return the truncated geometric mechanism for counts 0 to `size`.

    Raises:
        ValueError: unless size is a whole number >= 1 and exactly one of alpha in (0, 1), epsilon is given.
    """
    return Geometric(whole_size(size), decay(alpha, epsilon))


def explicit_fair(
    size: int, alpha: float | str | None = None, *, epsilon: float | None = None
) -> ExplicitFair:
    """Return the explicit fair mechanism for counts 0 to `size`.

    Raises:
        ValueError: unless size is a whole number >= 1 and exactly one of alpha in (0, 1), epsilon is given.
    """
    return ExplicitFair(whole_size(size), decay(alpha, epsilon))


def uniform(size: int, alpha: float | str | None = None, *, epsilon: float | None = None) -> Uniform:
    """Return the uniform mechanism for counts 0 to `size`, which any budget allows.

    Raises:
        ValueError: unless size is a whole number >= 1 and exactly one of alpha in (0, 1), epsilon is given.
    """
    return Uniform(whole_size(size), decay(alpha, epsilon))


def randomised_response(alpha: float | str | None = None, *, epsilon: float | None = None) -> Geometric:
    """Return the mechanism for a single person: the truth with probability 1/(1 + alpha), else the opposite.

    It is the geometric mechanism for n = 1, and has every property.

    Raises:
        ValueError: unless exactly one of alpha in (0, 1), epsilon is given.
    """
    return geometric(1, alpha, epsilon=epsilon)


class Kind(StrEnum):
    """The two ways to the optimum: a closed form or a linear program."""

    GEOMETRIC = "closed form of the geometric mechanism"
    EXPLICIT_FAIR = "closed form of the explicit fair mechanism"
    PROGRAM = "linear program"


class Route(NamedTuple):
    """The cheapest way to an optimal mechanism."""

    kind: Kind
    properties: frozenset[Property]
    """Properties that the linear program imposes: those requested and those that cost nothing more."""
    reason: str


def route(
    size: int,
    alpha: float | str | Fraction | None = None,
    properties: str | Iterable[str | Property] = (),
    *,
    epsilon: float | None = None,
) -> Route:
    """Return the cheapest way to the optimum under L0 with uniform weights, for any of the 128 property sets.

    Fairness asks for the explicit fair mechanism. Otherwise the geometric mechanism is optimal where it has
    the properties (Lemmas 13 and 14: WH if n >= 2a/(1 - a), CM and CH if a <= 1/2). Where CM or CH is asked
    for and a > 1/2, a program gives RM, CM, RH, CH, WH and S at the cost of CH alone; where WH is asked for
    and n < 2a/(1 - a), one gives RM, RH, WH and S at the cost of WH alone.

    Reference:
        Cormode, Kulkarni, Srivastava, ICDE 2018, section 4; n = 1 is randomised response throughout.

    Raises:
        ValueError: for an unknown property, size or budget.
    """
    n, a, asked = whole_size(size), decay(alpha, epsilon), property_set(properties)
    if n == 1:
        return Route(Kind.GEOMETRIC, asked, "one person: randomised response, which has every property")
    if Property.F in asked:
        return Route(Kind.EXPLICIT_FAIR, asked, "fairness: the explicit fair mechanism is optimal")
    if 2 * a <= 1:
        return Route(Kind.GEOMETRIC, asked, "alpha <= 1/2: the geometric mechanism has all but fairness")
    if asked & {Property.CH, Property.CM}:
        free = frozenset(Property) - {Property.F}
        return Route(Kind.PROGRAM, free, "alpha > 1/2: monotone columns need a program")
    if Property.WH not in asked:
        return Route(Kind.GEOMETRIC, asked, "nothing asked for that the geometric mechanism lacks")
    if n * (1 - a) >= 2 * a:
        return Route(
            Kind.GEOMETRIC, asked, "n >= 2 alpha/(1 - alpha): the geometric mechanism is weakly honest"
        )
    free = frozenset([Property.RH, Property.RM, Property.WH, Property.S])
    return Route(Kind.PROGRAM, free, "n < 2 alpha/(1 - alpha): weak honesty needs a program")
