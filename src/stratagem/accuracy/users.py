"""The number of users needed for a standard error, as root mean square and for the least accurate answer."""

from __future__ import annotations

import math
from typing import NamedTuple

from stratagem.math.number import real, users_text

ERROR = 0.01
"""Standard error of an answer, as a share of the users, at which the users needed are stated."""
SMALLEST = 1e-9
"""Smallest standard error that may be asked for; the largest is its inverse."""
NOISE = 1e-12
"""Relative error of double precision, which must not round 80,000.000000001 users up to one more."""


class Users(NamedTuple):
    """Users needed for a standard error, whole numbers, even if everybody had the least favourable type."""

    root_mean_square: int
    """Users needed for the root mean square of the standard errors over all queries."""
    least_accurate: int | None
    """Users needed for every single answer; None where there are too many queries to compute each."""

    def __str__(self) -> str:
        """Return a sentence on the users needed for the standard error asked for."""
        return self.sentence("the standard error asked for")

    def sentence(self, goal: str = f"a standard error of {100 * ERROR:g} % of all users") -> str:
        """Return a sentence on the users needed; `goal` states the standard error in words."""
        mean, single = users_text(self.root_mean_square), users_text(self.least_accurate)
        are = "user is" if self.root_mean_square == 1 else "users are"
        if self.least_accurate is None:
            rest = " (single answers may take more, but are too many to be looked at one by one)"
        else:
            rest = f", {single} for every single answer"
        return (
            f"{mean} {are} enough for {goal}, root mean square over the queries{rest}, even if everybody had the "
            "least favourable type"
        )


def users_needed(variance: float, error: float = ERROR) -> int:
    """Return the least N with (N variance)^(1/2)/N <= error, at least one.

    N users of one type add N times the variance of one to the variance of a count; the standard error of the
    answer as a share of the users is (variance/N)^(1/2).

    Raises:
        ValueError: for an error that is no number from 1e-9 to 1e9.

    Example:
        >>> users_needed(2.5), users_needed(2.5, 0.1)
        (25000, 250)
    """
    share = real(error)
    if not SMALLEST <= share <= 1 / SMALLEST:
        raise ValueError(
            f"the standard error is {error!r}, but must be a share of the users from {SMALLEST:g} on: give for "
            "example 0.01"
        )
    users = variance / share**2
    return max(1, round(users) if abs(users - round(users)) <= NOISE * users else math.ceil(users))


def both_needed(root_mean_square: float, least_accurate: float | None, error: float = ERROR) -> Users:
    """Return the users needed, from the mean and the largest variance that one user adds to an answer.

    Raises:
        ValueError: as `users_needed`.
    """
    single = None if least_accurate is None else users_needed(least_accurate, error)
    return Users(users_needed(root_mean_square, error), single)
