"""A published mechanism that every optimised strategy is measured against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stratagem.baselines.setting import Setting
from stratagem.strategies import Randomiser

LARGE = 1024
"""Number of user types above which an evaluation takes seconds, so that only the best few are worth a look."""
Candidates = Iterator[tuple[str, Randomiser]]
"""Pairs of (parameters in words, mechanism)."""


@dataclass(frozen=True)
class Baseline:
    """A published mechanism with its tuning range."""

    name: str
    title: str
    reference: str
    candidates: Callable[[Setting, float], Candidates]
    """Function of (setting, epsilon) that yields the mechanisms to compare, none where it does not apply."""
