"""A lower bound with what it means and what proves it, and all bounds that are known for one problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from stratagem.bounds.formulas import Rule
from stratagem.bounds.proof import Proof
from stratagem.io.screen import brief
from stratagem.io.table import Table

ADDED = 1e-14
"""Share by which what the means of queries add to L(Q) is lowered where it is added to bounds."""


@dataclass(frozen=True)
class Bound:
    """A lower bound on L(Q) = tr(M^+ V), valid for every epsilon-LDP strategy."""

    rule: Rule
    value: float
    proof: Proof | None = field(default=None, compare=False, repr=False)
    """What anybody can compute the bound from again (see `Proof`); None for bounds in closed form."""

    @classmethod
    def of(cls, rule: Rule, value: float | None, proof: Proof | None = None) -> tuple[Bound, ...]:
        """Return the bound of this value; none where it was not computed."""
        return () if value is None else (cls(rule, value, proof),)

    @property
    def name(self) -> str:
        """Name of the bound."""
        return self.rule.name

    @property
    def meaning(self) -> str:
        """What the bound is, in a few words."""
        return self.rule.meaning


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on L(Q) = tr(M^+ V), each of them valid for every epsilon-LDP strategy.

    L is the variance of unbiased estimates from one report per user, averaged over the user types or the prior:
    biased estimates, or rounds that build on each other, may have smaller errors.
    They are bounds on L(Q)/n instead where n > 2^53 (see `workload.counted`).

    >>> import stratagem as st
    >>> bounds = st.lower_bounds(st.prefix(32), 1.0)
    >>> bounds.name, bounds["svd"].value < bounds.best
    ('weighted', True)
    """

    found: tuple[Bound, ...]
    """The bounds that were computed."""
    offset: float = 0.0
    """What the means of the queries add to L(Q) where they outweigh all else (see `Case.apart`), else zero.

    It is the same for every strategy, and stands beside the bounds, so that these keep their digits.
    """

    __repr__ = brief

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.found)

    def __contains__(self, name: str) -> bool:
        return any(one.name == name for one in self.found)

    def __getitem__(self, name: str) -> Bound:
        """Return the bound of a name, without the `offset`."""
        for one in self.found:
            if one.name == name:
                return one
        raise KeyError(f"{name} was not computed: only {', '.join(one.name for one in self.found)}")

    def known(self) -> dict[str, float]:
        """Return the bounds on L(Q) that were computed, by name."""
        return {one.name: one.value + self.offset for one in self.found}

    def record(self) -> dict[str, float]:
        """Return the bounds that were computed, by name, and the best of them."""
        return {**self.known(), "best": self.best}

    def __str__(self) -> str:
        """Return the bounds that were computed, one a line, the best of them marked."""
        return "\n".join(f"{name:<10} {value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        """Return the bounds as a table for a notebook."""
        return Table(("bound", "value"), self._rows()).html("lower bounds")

    def _rows(self) -> list[tuple[str, str]]:
        known = self.known().items()
        return [(name, f"{value:.6g}{' (best)' if name == self.name else ''}") for name, value in known]

    def having(self, *more: Bound) -> Bounds:
        """Return the bounds with others, which replace those of the same name."""
        found = {one.name: one for one in (*self.found, *more)}.values()
        return replace(self, found=tuple(sorted(found, key=lambda one: one.rule.place)))

    def mapped(self, change: Callable[[float], float], offset: float = 0.0) -> Bounds:
        """Return bounds on what a rising function makes of L(Q), without their proofs."""
        return Bounds(tuple(Bound(one.rule, change(one.value)) for one in self.found), offset)

    def above(self, known: float, *, far: bool) -> Bounds:
        """Return bounds on an L(Q) that is `known` more for every strategy; beside the bounds where that is `far`."""
        known *= 1 - ADDED  # its own rounding, and that of the sum
        return self.mapped(lambda value: value, known) if far else self.mapped(lambda value: value + known)

    @property
    def best(self) -> float:
        """The largest bound."""
        return self.best_apart + self.offset

    @property
    def best_apart(self) -> float:
        """The largest bound, without the `offset`."""
        return max(one.value for one in self.found)

    @property
    def name(self) -> str:
        """Name of the largest bound."""
        return max(self.found, key=lambda one: one.value).name
