"""Table sampling with subset selection for a spectrum, the baseline for strategies that are juntas."""

from __future__ import annotations

import math
from math import comb, prod

import numpy as np

from stratagem.solvers.junta.published_junta import CELLS, maximal, sets_of
from stratagem.strategies import SubsetSelection, TableSampling
from stratagem.strategies.table_sampling import shares_by_cost
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
            sizes=spectrum.sizes,
            groups=spectrum.groups,
            tables=tuple(tables),
            oracles=oracles,
            shares=share,
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
