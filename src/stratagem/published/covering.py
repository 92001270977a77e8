"""Coverings: few tables of a given number of attributes that hold all the tables asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod

import numpy as np

from stratagem.math.block_design import covering_tables
from stratagem.published.baseline import LARGE, NEEDED, Baseline, Candidates, Setting
from stratagem.published.marginal import marginal_response, tables_of
from stratagem.published.partition import TUNED, strength
from stratagem.strategies import LinearProtocol, Strategy

Oracle = Callable[[int, float], Strategy | LinearProtocol]
"""Function of (number of cells, epsilon) that returns the randomiser through which a cell is reported."""


@dataclass(frozen=True)
class Covering:
    """A covering of the tables and the name of an oracle, with an estimate of their objective."""

    oracle: str
    tables: Sequence[Sequence[int]]
    estimate: float
    """Its objective without the constant 1^T V 1 / n: exact if the oracle treats the cells of a table alike."""

    def __str__(self) -> str:
        """Return the parameters in words."""
        return f"{len(self.tables)} tables of {len(self.tables[0])} attributes, {self.oracle}"


def screen(setting: Setting, epsilon: float, keep: int, oracles: Mapping[str, Oracle]) -> list[Covering]:
    """Return the `keep` coverings and oracles of least estimate, none if the queries need all attributes."""
    tables, d = tables_of(setting), len(setting.sizes)
    if not tables:
        return []
    covers = []
    for size in range(max(map(len, tables)), d):
        sets = covering_tables(d, tables, size)
        covers += [Covering(name, sets, _estimate(setting, epsilon, sets, oracles[name])) for name in oracles]
    return sorted(covers, key=lambda cover: cover.estimate)[:keep]


def _estimate(setting: Setting, epsilon: float, tables: Sequence[Collection[int]], oracle: Oracle) -> float:
    """Return sum_S tr(P_S V) / mu_S, mu_S the mean over the tables of the oracle's strength where they hold S.

    That is L(Q) without the constant: M is mu_S on the functions of exactly the attributes S.
    """
    told = np.zeros_like(setting.energies)
    for table in tables:
        held = tuple(slice(None) if i in table else 0 for i in range(told.ndim))
        cells = prod(setting.sizes[i] for i in table)
        told[held] += strength(oracle(cells, epsilon)) / len(tables)
    needed = setting.energies > NEEDED * np.trace(setting.gram)
    needed.flat[0] = False
    return float((setting.energies[needed] / told[needed]).sum()) if told[needed].all() else inf


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    for cover in screen(setting, epsilon, 1 if setting.domain_size > LARGE else 2, TUNED):
        yield str(cover), marginal_response(setting.sizes, epsilon, cover.tables, cover.oracle)


COVERING = Baseline(
    "covering",
    "the cell of a random table out of a few that hold all others",
    "@zhang2018calm (CALM)",
    _candidates,
)
