"""What each lower bound is, in one line, and where it comes from."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """A bound by the name that it has in `Bounds`."""

    name: str
    title: str
    reference: str


MEANINGS = (
    Meaning(
        "svd",
        "the published one: from the sum of the singular values of W",
        "@mckenna2020workload, Theorem 5.6",
    ),
    Meaning("closed", "that of the workload without its total, times 4E/(E - 1)^2", "@stratagem"),
    Meaning("integer", "the same with patterns of a whole number of user types", "@stratagem"),
    Meaning("weighted", "the same with the best weight on every user type", "@stratagem"),
    Meaning("pricing", "all 2^n patterns priced by branch and bound", "@stratagem; @wentges1997weighted"),
    Meaning(
        "sdp",
        "a semidefinite relaxation of the patterns, with triangle cuts",
        "@stratagem; @padberg1989boolean",
    ),
    Meaning("exact", "the optimum itself, up to ten user types", "@stratagem"),
    Meaning("pairwise", "two user types alone, for the worst type or query", "@stratagem"),
    Meaning(
        "delsarte", "what translations of patterns allow their spectrum", "@stratagem; @delsarte1973algebraic"
    ),
)
