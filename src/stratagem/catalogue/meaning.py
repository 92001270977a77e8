"""The meaning of each lower bound in one line, with its reference."""

from __future__ import annotations

from typing import NamedTuple

SCOPE = "unbiased estimates from one report per user"
"""What every bound is about: the variance of such estimates, averaged as the objective says. Biased ones may err less.

Of N users whose types are drawn from the prior, an unbiased estimate, linear or not, has at least the variance of its
linear part, which is unbiased too (Hoeffding 1948); so the bounds on linear estimates hold for all unbiased ones.
"""


class Meaning(NamedTuple):
    """The meaning of a bound, and the reference for it."""

    title: str
    reference: str


MEANINGS = {
    "svd": Meaning(
        "the published one: from the sum of the singular values of W", "@mckenna2020workload, Theorem 5.6"
    ),
    "closed": Meaning("that of the workload without its total, times 4E/(E - 1)^2", "@stratagem"),
    "integer": Meaning("the same with patterns of a whole number of user types", "@stratagem"),
    "weighted": Meaning("the same with the best weight on every user type", "@stratagem"),
    "nonnegative": Meaning(
        "a convex programme over pairs of user types; tight where patterns are small, and up to 20 user types",
        "@stratagem; @wentges1997weighted",
    ),
    "sdp": Meaning(
        "a semidefinite relaxation of the patterns, with triangle cuts", "@stratagem; @padberg1989boolean"
    ),
    "exact": Meaning("the optimum itself, up to ten user types", "@stratagem"),
    "pairwise": Meaning("two user types alone, for the worst type or query", "@stratagem"),
    "delsarte": Meaning(
        "what translations, slices and triples of types allow the spectrum of patterns",
        "@stratagem; @delsarte1973algebraic; @schrijver2005new",
    ),
    "linear": Meaning(
        "one query: the linear programme of its unbiased randomisers, priced exactly",
        "@stratagem; @badanidiyuru2023optimal",
    ),
    "noiseless": Meaning("tr V, what remains without any noise; the best at large epsilon", "@stratagem"),
}
"""Meanings of the bounds, by the names of the fields of `Bounds`."""
