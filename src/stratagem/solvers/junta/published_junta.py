"""Published mechanisms for marginals as juntas, whose variance is exact on domains too large to enumerate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import comb, perm, prod

import numpy as np

from stratagem.math.privacy import ratio
from stratagem.strategies import JuntaStrategy, Pattern, SubsetSelection, TableSampling
from stratagem.strategies.junta import shares_by_cost
from stratagem.strategies.translation import OUTPUTS
from stratagem.workloads.spectrum import Spectrum, Type


def sampled_tables(spectrum: Spectrum, epsilon: float) -> dict[str, TableSampling]:
    """Return table sampling with "equal shares" and with "shares by cost", by name.

    The dictionary is empty if the spectrum has no tables or one of more than 2^20 cells.

    Reference:
        Zhang et al., CALM, CCS 2018 (tables); Ye, Barg, IEEE Trans. Inf. Theory 2018 (subset selection).
    """
    kinds = [kind for kind in spectrum.types if any(kind) and spectrum.multiplicity(kind)]
    tables = maximal(kinds)
    lengths = [spectrum.sizes[group[0]] for group in spectrum.groups]
    cells = [prod(a**own for a, own in zip(lengths, table, strict=True)) for table in tables]
    if not tables or max(cells) > CELLS:
        return {}
    oracles = tuple(SubsetSelection.best(many, epsilon) for many in cells)
    sets = np.array([sets_of(spectrum, table) for table in tables])
    held = np.array([[_holding(spectrum, table, kind) for table in tables] for kind in kinds])
    energies = np.array([spectrum.value(kind) * spectrum.multiplicity(kind) for kind in kinds])
    strengths = np.array([oracle.eigenvalue for oracle in oracles])
    by_cost = shares_by_cost(energies, held, strengths, sets)
    shares = {"equal shares": sets / sets.sum(), "shares by cost": by_cost}
    return {
        name: TableSampling(
            sizes=spectrum.sizes, groups=spectrum.groups, tables=tuple(tables), oracles=oracles, shares=share
        )
        for name, share in shares.items()
    }


def _holding(spectrum: Spectrum, table: Type, kind: Type) -> float:
    """Return the number of tables of the type `table` that contain a given set of attributes of the type `kind`."""
    return float(
        math.prod(
            comb(len(group) - touched, own - touched) if own >= touched else 0
            for group, own, touched in zip(spectrum.groups, table, kind, strict=True)
        )
    )


CELL = "marginal-response"
"""Name of the mechanism whose reports are cells of a table; the reports of the others are parities."""
CELLS = 1 << 20
"""Largest number of cells of a table that a report may be about."""


def published_juntas(spectrum: Spectrum, epsilon: float) -> dict[str, JuntaStrategy]:
    """Return the published mechanisms for marginals that apply to the queries, by name.

    "marginal-response" reports the cell of a random table by randomised response (MargPS), a pattern of one
    cell. The others apply where the tables have binary attributes only. "fourier" reports a random parity
    that the queries need, all equally likely (InpHT). "fourier, optimal shares" draws them in proportion to
    sqrt(v), v the eigenvalues of V/n, so that L/n = v_0 + ((E + 1)/(E - 1))^2 (sum_chi sqrt(v_chi))^2.
    "marginal-hadamard" reports a random parity of a random table (MargHT). A mechanism with more than 2^53
    outputs, or with tables of more than 2^20 cells, is left out.

    Guarantee:
        Measured epsilon at most `epsilon`.

    Reference:
        Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy", SIGMOD 2018.
    """
    kinds = [kind for kind in spectrum.types if any(kind) and spectrum.multiplicity(kind)]
    tables = {kind: sets_of(spectrum, kind) for kind in maximal(kinds)}
    shares = {CELL: tables}
    if all(spectrum.sizes[spectrum.groups[g][0]] == 2 for kind in kinds for g in axes_of(kind)):
        shares["fourier"] = {kind: sets_of(spectrum, kind) for kind in kinds}
        optimal = {kind: many * math.sqrt(spectrum.value(kind)) for kind, many in shares["fourier"].items()}
        shares["fourier, optimal shares"] = optimal
        shares["marginal-hadamard"] = {
            kind: sum(
                many * prod(map(comb, table, kind)) / (2 ** sum(table) - 1) for table, many in tables.items()
            )
            for kind in kinds
        }
    made = {name: _strategy(spectrum, epsilon, share, name == CELL) for name, share in shares.items()}
    return {name: strategy for name, strategy in made.items() if strategy is not None}


def axes_of(kind: Type) -> tuple[int, ...]:
    """Return the groups of the attributes that a type touches, in order."""
    return tuple(g for g, count in enumerate(kind) for _ in range(count))


def maximal(kinds: Sequence[Type]) -> list[Type]:
    """Return the types that no other type of the list contains."""
    below, waiting = set(), list(kinds)
    while waiting:
        kind = waiting.pop()
        for g in set(axes_of(kind)):
            smaller = (*kind[:g], kind[g] - 1, *kind[g + 1 :])
            if smaller not in below:
                below.add(smaller)
                waiting.append(smaller)
    return [kind for kind in kinds if kind not in below]


def sets_of(spectrum: Spectrum, kind: Type) -> float:
    """Return the number of sets of attributes that have the given type."""
    return float(prod(comb(len(group), count) for group, count in zip(spectrum.groups, kind, strict=True)))


def _strategy(
    spectrum: Spectrum, epsilon: float, shares: Mapping[Type, float], cell: bool
) -> JuntaStrategy | None:
    """Return the mixture of one pattern for each type, with weights in proportion to `shares`.

    The pattern is one cell of the table if `cell`, else a parity. None is returned if the mixture has more
    than 2^53 outputs or a table more than 2^20 cells.
    """
    outputs, patterns = 0, []
    for kind in shares:
        shape = tuple(spectrum.sizes[spectrum.groups[g][0]] for g in axes_of(kind))
        outputs += prod(shape) * prod(map(perm, map(len, spectrum.groups), kind))
        if prod(shape) > CELLS or outputs > OUTPUTS:
            return None
        sums = np.indices(shape).sum(axis=0)
        patterns.append(Pattern.of(axes_of(kind), np.equal(sums if cell else sums % 2, 0)))
    if not patterns:
        return None
    w = np.array(list(shares.values()), dtype=float)
    return JuntaStrategy(spectrum.sizes, spectrum.groups, tuple(patterns), w / w.sum(), ratio(epsilon))
