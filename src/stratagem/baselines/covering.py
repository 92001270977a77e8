"""Coverings: few tables of a given number of attributes that hold all the tables asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from math import inf, prod

import numpy as np

from stratagem.baselines.baseline import LARGE, Baseline, Candidates
from stratagem.baselines.marginal import marginal, tables_of
from stratagem.baselines.setting import NEEDED, Setting
from stratagem.baselines.view import ORACLES, strength
from stratagem.workloads import check


def covering(attributes: int, tables: Sequence[Collection[int]], size: int) -> tuple[tuple[int, ...], ...]:
    """Return sets of `size` attributes out of 0..d-1 such that each table lies inside one of them.

    Greedy: the set that holds most of the tables not held yet, first in lexicographic order, until all are;
    at most 1 + log(number of tables) times as many sets as needed.

    Args:
        attributes: their number d, at most 62.
        tables: attribute sets, each of numbers 0..d-1.
        size: attributes of a set, from those of the largest table to d.

    Raises:
        ValueError: if `attributes` or `size` is out of range.

    Reference:
        PriView (Qardaji, Yang, Li, SIGMOD 2014) and CALM (Zhang et al., CCS 2018) use covering designs; the
        greedy bound is Chvatal's, 1979.

    Example:
        >>> covering(4, [(0, 1), (1, 2), (2, 3)], size=3)
        ((0, 1, 2), (0, 2, 3))
    """
    d = check.integer(attributes, "the number of attributes", 1, 62, "sets are kept as bits")
    largest = max(map(len, tables), default=0)
    check.integer(size, "the size of the sets", largest, d, "each must be able to hold the largest table")
    sets = list(combinations(range(d), size))
    inside = np.array([sum(1 << i for i in one) for one in sets])
    left = np.array([sum(1 << i for i in one) for one in tables], dtype=np.int64)
    held, chosen = left & ~inside[:, None] == 0, []
    while held.any():
        best = int(held.sum(axis=1).argmax())
        chosen.append(sets[best])
        held = held[:, ~held[best]]
    return tuple(chosen)


def estimate(setting: Setting, epsilon: float, tables: Sequence[Collection[int]], oracle: str) -> float:
    """Return L(Q) of `marginal` without the constant, if the oracle treats the cells of a table alike.

    M then is mu_S on the functions of exactly the attributes S, the sum of the oracle's strengths on the
    tables that hold S over their number, and L = sum_S tr(P_S V) / mu_S.
    """
    told = np.zeros_like(setting.energies)
    for table in tables:
        held = tuple(slice(None) if i in table else 0 for i in range(told.ndim))
        told[held] += strength(oracle, prod(setting.sizes[i] for i in table), epsilon) / len(tables)
    needed = setting.energies > NEEDED * np.trace(setting.gram)
    needed.flat[0] = False
    return float((setting.energies[needed] / told[needed]).sum()) if told[needed].all() else inf


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    if not (tables := tables_of(setting)):
        return
    d = len(setting.sizes)
    ranked = []
    for size in range(max(map(len, tables)), d):
        sets = covering(d, tables, size)
        ranked += [(estimate(setting, epsilon, sets, oracle), oracle, sets) for oracle in ORACLES]
    ranked.sort()
    for _, oracle, sets in ranked[: 1 if setting.domain_size > LARGE else 2]:
        parameters = f"{len(sets)} tables of {len(sets[0])} attributes, {oracle}"
        yield parameters, marginal(setting.sizes, epsilon, sets, oracle)


COVERING = Baseline(
    "covering",
    "the cell of a random table out of a few that hold all others",
    "Zhang et al. 2018 (CALM)",
    _candidates,
)
