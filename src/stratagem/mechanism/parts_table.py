"""Tables of surveys in whole numbers: a part of the questions is drawn, and answered by a table of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar, final

import numpy as np

from stratagem.mechanism.client import WEIGHT_BITS
from stratagem.mechanism.table import ColumnTable, Table, TranslationTable, TwoLevelTable
from stratagem.strategies import Strategy, SurveyPart, SurveyStrategy, TranslationStrategy

ORDINARY: dict[str, type[Table]] = {
    leaf.kind: leaf for leaf in (TwoLevelTable, ColumnTable, TranslationTable)
}
"""The kinds of tables that a part may have."""
TOTAL = 1 << WEIGHT_BITS
"""Sum of all shares."""


@final
@dataclass(frozen=True, eq=False)
class TablePart:
    """Some attributes, the table that reports their cell, and how often it is drawn."""

    attributes: tuple[int, ...]
    """Places of the attributes in the domain, rising."""
    share: int
    """How many of 2^32 draws are of this part, at least 1."""
    table: Table

    @property
    def alone(self) -> Strategy | TranslationStrategy:
        """The strategy of the part, which is no survey itself."""
        return self.table.strategy


@final
@dataclass(frozen=True, eq=False)
class PartsTable(Table):
    """Part i is drawn with probability share_i/2^32, whatever the answers are; then its own table draws y.

    The output is the number of outputs of all earlier parts, plus y.
    """

    kind: ClassVar[str] = "parts"

    sizes: tuple[int, ...]
    """Attribute sizes of the domain."""
    parts: tuple[TablePart, ...]

    @cached_property
    def strategy(self) -> SurveyStrategy:
        """The survey, with the shares over 2^32."""
        parts = (SurveyPart(one.attributes, one.alone, one.share / TOTAL) for one in self.parts)
        return SurveyStrategy(self.sizes, tuple(parts))

    def drawn(self) -> list[tuple[float, Any]]:
        return [(one.share / TOTAL, one.table) for one in self.parts]

    def lowered(self, low: int) -> PartsTable:
        parts = (replace(one, table=one.table.lowered(low)) for one in self.parts)
        return replace(self, parts=tuple(parts))

    def data(self) -> dict[str, Any]:
        """Return attributes, share and table of every part."""
        parts = [
            {"attributes": list(one.attributes), "share": one.share, "table": one.table.data()}
            for one in self.parts
        ]
        return {"kind": self.kind, "outputs": sum(one["table"]["outputs"] for one in parts), "parts": parts}

    @staticmethod
    def of(data: Mapping[str, Any], sizes: tuple[int, ...]) -> PartsTable:
        parts = []
        for one in data["parts"]:
            own = tuple(sizes[i] for i in one["attributes"])
            table = ORDINARY[one["table"]["kind"]].of(one["table"], own)
            parts.append(TablePart(tuple(one["attributes"]), one["share"], table))
        return PartsTable(sizes, tuple(parts))

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a part for every user, then an output of its table: cells (k,) or coordinates (k, d)."""
        places = self.strategy.coordinates(values)
        limits = np.array(list(accumulate(one.share for one in self.parts)))
        drawn = np.searchsorted(limits, rng.integers(0, limits[-1], len(places)), side="right")
        outputs = np.empty(len(places), dtype=np.int64)
        for i, one in enumerate(self.parts):
            users = np.flatnonzero(drawn == i)
            if len(users):
                own = self._user_types(one, places[users])
                outputs[users] = self.strategy.offsets[i] + one.table.randomise(own, rng)
        return outputs

    def _user_types(self, one: TablePart, places: np.ndarray) -> np.ndarray:
        """Return users of all attributes (k, d) as user types of a part's table."""
        if one.table.kind == TranslationTable.kind:
            return places[:, list(one.attributes)]
        return self.strategy.cells(one.attributes, places)


def whole_shares(shares: np.ndarray) -> list[int]:
    """Return whole numbers of sum 2^32 next to probabilities (k,), at least 1 each: the method of largest remainders.

    >>> whole_shares(np.array([1 / 3, 1 / 3, 1 / 3]))
    [1431655766, 1431655765, 1431655765]
    """
    units = np.maximum(shares / math.fsum(shares) * TOTAL, 1.0)
    found = np.floor(units).astype(np.int64)
    order = np.argsort(found - units, kind="stable")
    lacking = TOTAL - int(found.sum())
    found[order[: max(lacking, 0)]] += 1
    found[int(found.argmax())] += min(lacking, 0)
    return found.tolist()
