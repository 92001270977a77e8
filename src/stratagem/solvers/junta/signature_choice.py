"""The choice of the signatures that a search for juntas uses."""

from __future__ import annotations

from math import comb, perm, prod
from typing import NoReturn

import numpy as np

from stratagem.solvers.junta.junta_pattern import axes_of, maximal
from stratagem.solvers.junta.signature import Characters, Signature
from stratagem.strategies.translation import OUTPUTS
from stratagem.workloads import Workload
from stratagem.workloads.harmonics import Harmonics, harmonics
from stratagem.workloads.structure import Spectrum, Type

CELLS, SHARE, LARGEST = 1 << 10, 8, 1 << 13
"""Limits on the cells of signatures with more attributes than the queries need: max(CELLS, SHARE (E - 1)), and at
most LARGEST."""
TABLE = 1 << 20
"""Most cells of a table that the queries need."""
ENERGIES = 1 << 20
"""Limit on the cells of a larger signature times the number of classes of characters, which bounds the time."""
ORDERED, GRID = 1 << 11, 1 << 20
"""Most cells of one table with ordered values, whose Gram matrix is formed, and of the grid of frequencies of all
ordered attributes."""
FEWEST = 32
"""Number of patterns of a larger signature that the limit on outputs must leave room for."""
LARGER, PARTS, SPARE = 2, 3, 3
"""Number of axes that juntas should have beyond those that queries touch, the most parts that a group is divided
into for that, and the patterns of each choice of parts that there should be room for."""
MOST = 96
"""Number of signatures, beyond those that the queries need, at which no more are added."""


def divided(spectrum: Spectrum) -> Spectrum:
    """Return the spectrum with its largest group in up to `PARTS` parts, if juntas of its size need that.

    Attributes in different parts have a fixed order, so a pattern has fewer placements. Then patterns on
    `LARGER` attributes more than the queries touch may stay within the limit of outputs.
    """
    groups, axes = spectrum.groups, spectrum.order + LARGER
    widest = max(groups, key=len)
    cells = spectrum.sizes[widest[0]] ** axes
    for parts in range(1, PARTS + 1):
        placements = comb(axes + parts - 1, parts - 1) * perm(-(-len(widest) // parts), axes)
        if len(widest) >= axes and SPARE * placements * cells <= OUTPUTS:
            pieces = tuple(widest[first::parts] for first in range(parts))
            place = groups.index(widest)
            return spectrum.refined((*groups[:place], *pieces, *groups[place + 1 :]))
    return spectrum


def searchable(workload: Workload) -> Harmonics | None:
    """Return the characters that queries need; None if the queries use an order of too many cells together."""
    found = harmonics(workload)
    if found is None or prod(found.grid) > GRID:
        return None
    return found if all(prod(part.sizes) <= ORDERED for part in found.parts) else None


def checked_harmonics(workload: Workload) -> Harmonics:
    """Return the characters that queries need."""
    found = searchable(workload)
    if found is None:
        raise ValueError(
            f"juntas were asked for queries that know an order of more than {ORDERED} cells of a table, or of more "
            f"than {GRID} over all tables: ask for ranges and prefixes of fewer attributes together, or use "
            "coarser values"
        )
    return found


def check_tables(spectrum: Spectrum) -> None:
    """Refuse queries about tables too large for a pattern, before any array of that size is formed.

    Raises:
        ValueError: if a table that the queries need has more than 2^20 cells.
    """
    lengths = [spectrum.sizes[group[0]] for group in spectrum.groups]
    for kind in spectrum.types:
        if prod(a**count for a, count in zip(lengths, kind, strict=True)) > TABLE:
            _refuse(kind)


def signatures(characters: Characters, excess: float, rng: np.random.Generator) -> tuple[Signature, ...]:
    """Return the signatures of the maximal types that the queries need, and larger ones while tables stay small.

    If there are many larger types, a random choice of them is used.

    Raises:
        ValueError: if a table that the queries need has too many placements on attributes.
    """
    layer = maximal(characters.kinds)
    for kind in layer:
        if _outputs(characters, kind) > OUTPUTS // len(layer):
            _refuse(kind)
    found = dict.fromkeys(layer)
    while layer and len(found) - len(maximal(characters.kinds)) < MOST:
        larger = list(dict.fromkeys(one for kind in layer for one in _extended(characters, kind, excess)))
        room = MOST // 4 if len(larger) > MOST // 4 else len(larger)
        layer = [larger[i] for i in sorted(rng.permutation(len(larger))[:room])]
        found |= dict.fromkeys(layer)
    return tuple(Signature(axes_of(kind), characters, excess) for kind in found)


def _refuse(kind: Type) -> NoReturn:
    raise ValueError(
        f"a table of {sum(kind)} attributes was asked for, which has too many cells or too many places "
        "among the attributes for a junta: ask for tables of fewer attributes"
    )


def _extended(characters: Characters, kind: Type, excess: float) -> list[Type]:
    """Return the types with one attribute more than `kind` that are within the limits of cells and outputs."""
    groups, lengths = characters.spectrum.groups, characters.lengths
    larger = [
        (*kind[:g], count + 1, *kind[g + 1 :])
        for g, count in enumerate(kind)
        if count < len(groups[g]) and lengths[g] > 1
    ]
    room = min(max(CELLS, SHARE * excess), LARGEST, ENERGIES // len(characters.costs))
    return [
        one
        for one in larger
        if _cells(characters, one) <= room and _outputs(characters, one) * FEWEST <= OUTPUTS
    ]


def _cells(characters: Characters, kind: Type) -> int:
    return prod(characters.lengths[g] for g in axes_of(kind))


def _outputs(characters: Characters, kind: Type) -> int:
    """Return the number of outputs of one pattern of the given type."""
    return _cells(characters, kind) * prod(map(perm, map(len, characters.spectrum.groups), kind))
