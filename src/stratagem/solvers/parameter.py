"""Checks of solver parameters, which refuse values that are not numbers or are out of range."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


def check_whole(least: int = 1, **given: Any) -> None:
    """Refuse parameters that are not whole numbers of at least `least`; None stands for the default and passes.

    Raises:
        ValueError: naming the parameter.
    """
    for name, value in given.items():
        if value is not None and not (
            isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= least
        ):
            raise ValueError(f"{name} is {value!r}; give a whole number of at least {least}.")


def check_limits(max_seconds: Any, **given: Any) -> None:
    """Refuse `max_seconds` unless it is positive or None, and other limits that are not numbers of at least 0.

    Raises:
        ValueError: naming the parameter.
    """
    for name, value in given.items():
        if not (isinstance(value, Real) and float(value) >= 0):
            raise ValueError(f"{name} is {value!r}; give a number of at least 0.")
    if max_seconds is not None and not (isinstance(max_seconds, Real) and float(max_seconds) > 0):
        raise ValueError(f"max_seconds is {max_seconds!r}; give a number of seconds above 0.")
