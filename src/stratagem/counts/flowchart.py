"""The flowchart: which mechanism is optimal for a set of properties under L0, and which needs a program."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from stratagem.counts.decay import decay, whole_size
from stratagem.counts.property import Property, property_set


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
