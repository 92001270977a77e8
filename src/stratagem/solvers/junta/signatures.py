"""Which signatures a search for juntas looks at."""

from __future__ import annotations

from math import comb, perm, prod
from typing import NoReturn

import numpy as np

from stratagem.solvers.junta.character import Characters
from stratagem.solvers.junta.published_junta import axes_of, maximal
from stratagem.solvers.junta.signature import Signature
from stratagem.strategies.translation import OUTPUTS
from stratagem.workloads import Workload
from stratagem.workloads.harmonics import Harmonics, harmonics
from stratagem.workloads.spectrum import Spectrum, Type

CELLS, SHARE, LARGEST = 1 << 10, 8, 1 << 13
"""Cells up to which signatures are larger than the queries ask for; where patterns are few of the cells, up to so
many times E; and at most."""
TABLE = 1 << 20
"""Most cells of a signature that the queries need as it is."""
ENERGIES = 1 << 20
"""Most cells of a signature for each class of characters: many classes leave no time for large ones."""
ORDERED, GRID = 1 << 11, 1 << 20
"""Cells that an order is known of: of one table, whose Gram matrix is formed, and of all ordered attributes."""
FEWEST = 32
"""Patterns of a signature that the limit on outputs must leave room for."""
LARGER, PARTS, SPARE = 2, 3, 3
"""Axes that juntas should have beyond those that queries touch, the most parts that a group is divided into
for that, and the patterns of each choice of parts that there should be room for."""
MOST = 96
"""Signatures beyond those that the queries need."""


def divided(spectrum: Spectrum) -> Spectrum:
    """Return the spectrum with its largest group in up to `PARTS` parts, if juntas of its size need that.

    On parts, fewer orders of the same attributes are told apart: so patterns of `LARGER` attributes more than
    the queries touch may have few enough placements.
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
    """Return the characters that queries need, None where they know an order of too many cells together."""
    found = harmonics(workload)
    if found is None or prod(found.grid) > GRID:
        return None
    return found if all(prod(part.sizes) <= ORDERED for part in found.parts) else None


def checked_harmonics(workload: Workload) -> Harmonics:
    """Return the characters that queries need.

    Raises:
        ValueError: if the queries know an order of too many cells together.
    """
    found = searchable(workload)
    if found is None:
        raise ValueError(
            f"juntas were asked for queries that know an order of more than {ORDERED} cells of a table, or of more "
            f"than {GRID} over all tables: ask for ranges and prefixes of fewer attributes together, or use "
            "coarser values"
        )
    return found


def check_tables(spectrum: Spectrum) -> None:
    """Refuse queries about tables that no pattern covers, before anything as large as a table is formed.

    Raises:
        ValueError: if a table that is asked for has too many cells.
    """
    lengths = [spectrum.sizes[group[0]] for group in spectrum.groups]
    for kind in spectrum.types:
        if prod(a**count for a, count in zip(lengths, kind, strict=True)) > TABLE:
            _refuse(kind)


def signatures(characters: Characters, excess: float, rng: np.random.Generator) -> tuple[Signature, ...]:
    """Return the maximal types of attribute sets that are asked for, and larger ones while tables stay small.

    Where there are many they are a random choice.

    Raises:
        ValueError: if a table that is asked for has too many placements on attributes.
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
    """Return the types of one attribute more that are small enough."""
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
    """Return the outputs of one pattern."""
    return _cells(characters, kind) * prod(map(perm, map(len, characters.spectrum.groups), kind))
