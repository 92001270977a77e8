"""How a lower bound is called and what it is."""

from typing import NamedTuple


class Rule(NamedTuple):
    """How a bound is named, what it is, and where it was published."""

    name: str
    meaning: str
    reference: str
    place: int
    """Where it stands among the others."""
