"""A table of estimated counts over some attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from stratagem.io.screen import brief
from stratagem.math.number import finite, positive


@dataclass(frozen=True, eq=False)
class MarginalTable:
    """Estimated counts of every combination of some attributes' values, all other attributes summed out.

    Raises:
        ValueError: for repeated attributes, another number of axes than attributes, numbers that are not finite,
            or a variance that is not positive.
    """

    __repr__ = brief

    attributes: tuple[str, ...]
    """Names of the axes; none for a table that holds just a total."""
    counts: np.ndarray
    """Estimates, one axis an attribute; counts or frequencies, negative ones too."""
    variance: float = 1.0
    """Variance of each cell as it was collected, equal in all of them; only ratios between tables matter."""

    def __post_init__(self):
        counts = finite(self.counts, "the counts of a table")
        names = named(self.attributes)
        object.__setattr__(self, "attributes", names)
        object.__setattr__(self, "counts", counts)
        if len(set(names)) != len(names) or counts.ndim != len(names) or not counts.size:
            raise ValueError(
                f"a table of the attributes {names} was given counts of shape {counts.shape}, but needs one axis for "
                "each of different attributes: reshape it"
            )
        object.__setattr__(self, "variance", positive(self.variance, "the variance of a table's cell"))

    @property
    def sizes(self) -> dict[str, int]:
        """Size of every attribute."""
        return dict(zip(self.attributes, self.counts.shape, strict=True))

    def onto(self, attributes: str | Sequence[str]) -> np.ndarray:
        """Return the table of some of its attributes, axes in that order, the others summed out.

        Raises:
            ValueError: for attributes that it does not have, or the same twice.
        """
        names = named(attributes)
        if len(set(names)) != len(names) or not set(names) <= set(self.attributes):
            raise ValueError(
                f"a table of {', '.join(self.attributes)} was asked for {', '.join(names)}: "
                "name some of its attributes, each once"
            )
        gone = tuple(k for k, name in enumerate(self.attributes) if name not in names)
        left = [name for name in self.attributes if name in names]
        return self.counts.sum(axis=gone).transpose([left.index(name) for name in names])

    def merged(self, attributes: Iterable[str]) -> int:
        """Return how many cells fall together in one cell of the table of some of its attributes."""
        return self.counts.size // math.prod(self.sizes[name] for name in attributes)

    def with_marginal(self, attributes: Sequence[str], wanted: ArrayLike) -> MarginalTable:
        """Return the nearest table whose table of some attributes, axes in that order, is the wanted one.

        Every cell takes an equal share of what its cell of that table misses, so its tables of the other
        attributes, and of theirs with attributes on which nothing was missing, stay (Lemma 6.2).
        """
        missing = (wanted - self.onto(attributes)) / self.merged(attributes)
        left = [name for name in self.attributes if name in attributes]
        missing = missing.transpose([list(attributes).index(name) for name in left])
        shape = [size if name in attributes else 1 for name, size in self.sizes.items()]
        return replace(self, counts=self.counts + missing.reshape(shape))


def named(attributes: str | Sequence[str]) -> tuple[str, ...]:
    """Return names of attributes; a text alone is one of them."""
    return (attributes,) if isinstance(attributes, str) else tuple(attributes)


def shared_sizes(tables: Sequence[MarginalTable]) -> dict[str, int]:
    """Return the size of every attribute of any table, in the order in which they come.

    Raises:
        ValueError: for no tables, or tables that differ in the size of an attribute.
    """
    if not tables:
        raise ValueError("no tables were given, but at least one is needed: give marginal tables")
    sizes: dict[str, int] = {}
    for table in tables:
        for name, size in table.sizes.items():
            if sizes.setdefault(name, size) != size:
                raise ValueError(
                    f"attribute {name!r} has {size} values in one table and {sizes[name]} in another: "
                    "give tables over the same values"
                )
    return sizes
