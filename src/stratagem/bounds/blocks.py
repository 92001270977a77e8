"""Nuclear norms of queries about tables, some of which know an order, on domains of any size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import helmert

from stratagem.bounds.allowance import root_trace
from stratagem.workloads.harmonics import Harmonics, Part, subsets
from stratagem.workloads.norm import Norms

LARGEST = 1 << 12
"""Rows of the largest block that is decomposed; queries that would make one larger do not count in it."""
ULPS = 16
"""Error of a block of n rows relative to its trace, in the spectral norm, over n ulp."""

Attributes = tuple[int, ...]


def block_norms(found: Harmonics) -> Norms:
    """Return ||W 1||^2/n^2 and the nuclear norms of W and W P over n^(1/2), from below where blocks are too large.

    V/n maps functions that touch exactly the free attributes C, along which it is invariant, to such functions.
    There it is a block on the ordered attributes, the same for each of the prod_C (a - 1) characters of C. In
    orthonormal functions of which the first is constant, the rows of a block are the sets D of ordered
    attributes that some part asks about together. All else is diagonal. Leaving queries out lowers V, and
    with it tr V^(1/2).
    """
    blocks: dict[Attributes, _Block] = {}
    for part in found.parts:
        for free in subsets([i for i in part.free if i not in found.ordered]):
            blocks.setdefault(free, _Block(found, free)).add(part)
    whole = centred = 0.0
    for free, block in blocks.items():
        many = math.prod(found.plain.sizes[i] - 1 for i in free)
        matrix = block.matrix()
        whole += many * _root_trace(matrix)
        centred += many * _root_trace(matrix if free else matrix[1:, 1:])
    rest = _diagonal(found, blocks)
    total = blocks[()].matrix()[0, 0] if blocks else found.plain.of(())
    return Norms(float(total), float(whole + rest), float(centred + rest))


def _diagonal(found: Harmonics, blocks: dict[Attributes, _Block]) -> float:
    """Return sum v^(1/2) over the characters that no block holds."""
    spectrum, total = found.spectrum, 0.0
    for kind, value, many in zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True):
        alone = all(len(group) == 1 for group, count in zip(spectrum.groups, kind, strict=True) if count)
        touched = tuple(group[0] for group, count in zip(spectrum.groups, kind, strict=True) if count)
        if alone and touched in found.tables:
            block = blocks[tuple(i for i in touched if i not in found.ordered)]
            if tuple(i for i in touched if i in found.ordered) in block.starts:
                continue
            value = found.plain.of(touched)
        total += many * math.sqrt(value)
    return total


@dataclass(eq=False)
class _Block:
    """V/n at one character of the free attributes."""

    found: Harmonics
    free: Attributes
    parts: list[Part] = field(default_factory=list)
    starts: dict[Attributes, int] = field(default_factory=dict)
    """The first row of the functions that touch exactly some ordered attributes."""
    rows: int = 0

    def add(self, part: Part) -> None:
        """Take the queries of a part, unless the block gets too large."""
        held = [i for i in part.attributes if i in self.found.ordered]
        new = [own for own in subsets(held) if own not in self.starts]
        if self.rows + sum(map(self.many, new)) > LARGEST:
            return
        self.parts.append(part)
        for own in new:
            self.starts[own] = self.rows
            self.rows += self.many(own)

    def many(self, touched: Attributes) -> int:
        """Return how many functions touch exactly some ordered attributes."""
        return math.prod(self.found.plain.sizes[i] - 1 for i in touched)

    def matrix(self) -> np.ndarray:
        """Return the block (rows x rows)."""
        B = np.zeros((self.rows, self.rows))
        for own, start in self.starts.items():
            place = np.arange(start, start + self.many(own))
            B[place, place] = self.found.plain.of((*self.free, *own))
        for part in self.parts:
            self._fill(B, part)
        return B

    def _fill(self, B: np.ndarray, part: Part) -> None:
        """Add what a part asks."""
        gram = _rotated(part)
        for other in subsets([i for i in part.free if i in self.found.ordered]):
            share, eye = part.share((*self.free, *other)), np.eye(self.many(other))
            for left in subsets(part.ordered):
                for right in subsets(part.ordered):
                    cut = [slice(1, None) if i in side else 0 for side in (left, right) for i in part.ordered]
                    both = np.multiply.outer(gram[tuple(cut)], self._shaped(eye, other))
                    rows, columns = tuple(sorted((*left, *other))), tuple(sorted((*right, *other)))
                    order = _order(left, right, other, rows, columns)
                    flat = both.transpose(order).reshape(self.many(rows), self.many(columns))
                    i, j = self.starts[rows], self.starts[columns]
                    B[i : i + len(flat), j : j + flat.shape[1]] += share * flat

    def _shaped(self, eye: np.ndarray, other: Attributes) -> np.ndarray:
        return eye.reshape(2 * [self.found.plain.sizes[i] - 1 for i in other])


def _order(
    left: Attributes, right: Attributes, other: Attributes, rows: Attributes, columns: Attributes
) -> list[int]:
    """Return where the axes (left, right, other, other) go so that those of the rows and the columns rise."""
    a, b, c = len(left), len(right), len(other)
    first = {i: k for k, i in enumerate(left)} | {i: a + b + k for k, i in enumerate(other)}
    second = {i: a + k for k, i in enumerate(right)} | {i: a + b + c + k for k, i in enumerate(other)}
    return [first[i] for i in rows] + [second[i] for i in columns]


def _rotated(part: Part) -> np.ndarray:
    """Return W_o^T W_o over its size in orthonormal functions of each attribute, the first constant (sizes, sizes)."""
    gram = part.gram().reshape(*part.sizes, *part.sizes)
    for axis, a in enumerate((*part.sizes, *part.sizes)):
        U = helmert(a, full=True)
        gram = np.moveaxis(np.tensordot(U, gram, axes=(1, axis)), 0, axis)
    return gram


def _root_trace(matrix: np.ndarray) -> float:
    """Return a lower bound on tr A^(1/2) of a block A, whose entries are sums of products along a few axes."""
    error = ULPS * len(matrix) * float(np.finfo(float).eps * np.trace(matrix))
    return root_trace(np.linalg.eigvalsh(matrix), error) if len(matrix) else 0.0
