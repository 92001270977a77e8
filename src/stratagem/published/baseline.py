"""A published mechanism that strategies are measured against, and the problem to which it is tuned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from stratagem.strategies import LinearProtocol, Strategy

NEEDED = 1e-12
"""Share of tr V below which the queries do not depend on a set of attributes."""


@dataclass(frozen=True, eq=False)
class Setting:
    """The attributes of a domain and the Gram matrix of its queries.

    Example:
        >>> import stratagem as st
        >>> W = st.marginals("2^3", 2)
        >>> Setting(W.domain.sizes, W.gram()).margins
        ((0, 1), (0, 2), (1, 2))
    """

    sizes: tuple[int, ...]
    """Number of values of every attribute; n is their product."""
    gram: np.ndarray
    """Gram matrix V = W^T W, n x n."""

    @property
    def domain_size(self) -> int:
        """Number n of user types."""
        return math.prod(self.sizes)

    @cached_property
    def energies(self) -> np.ndarray:
        """tr(P_S V) for every set S of attributes, (2, ..., 2): entry 1 along the attributes of S.

        P_S projects onto the functions of exactly the attributes S: I - J/a for those, J/a for the others.
        """
        d = len(self.sizes)
        energies = np.asarray(self.gram, dtype=float).reshape(*self.sizes, *self.sizes)
        for a in range(d):
            energies = np.moveaxis(energies, (0, d - a), (0, 1))
            mean = energies.mean(axis=1).sum(axis=0)
            energies = np.stack([mean, np.einsum("ii...->...", energies) - mean], axis=-1)
        return energies

    @cached_property
    def margins(self) -> tuple[tuple[int, ...], ...]:
        """The maximal sets of attributes that the queries need, each sorted, in lexicographic order."""
        floor = NEEDED * float(np.trace(self.gram))
        choices = product((0, 1), repeat=len(self.sizes))
        needed = [frozenset(np.flatnonzero(c).tolist()) for c in choices if self.energies[c] > floor]
        maximal = (S for S in needed if not any(S < other for other in needed))
        return tuple(sorted(tuple(sorted(S)) for S in maximal))


LARGE = 1024
"""Number of user types above which an evaluation takes seconds, so that only the best few are worth a look."""
Candidates = Iterator[tuple[str, Strategy | LinearProtocol]]
"""Pairs of (parameters in words, mechanism)."""
Tuning = Callable[[Setting, float], Candidates]
"""Function of (setting, epsilon) that yields the mechanisms to compare, none where it does not apply."""
Oracle = Callable[[int, float], Strategy | LinearProtocol]
"""Function of (number of values, epsilon) that returns a mechanism."""


def untuned(mechanism: Oracle) -> Tuning:
    """Return the candidates of a mechanism of (number of values, epsilon) that has nothing to tune: itself alone."""

    def candidates(setting: Setting, epsilon: float) -> Candidates:
        yield "", mechanism(setting.domain_size, epsilon)

    return candidates


@dataclass(frozen=True)
class Baseline:
    """A published mechanism with its tuning range."""

    name: str
    title: str
    reference: str
    candidates: Tuning
    slow: bool = False
    """Whether it takes longer than most, so that it is tried last."""
