"""The variance that a user of each type adds, where queries know an order of some attributes."""

from __future__ import annotations

import math
from itertools import product

import numpy as np

from stratagem.accuracy.placement import Slots, placements
from stratagem.accuracy.score import Scores
from stratagem.strategies import JuntaStrategy
from stratagem.workloads.harmonics import Harmonics, Part

WRITTEN = 1 << 20
"""User types up to which one number is returned for each; beyond, one for each cell of the ordered attributes."""


def variances_by_type(
    found: Harmonics, strategy: JuntaStrategy, mean: float
) -> tuple[np.ndarray, tuple[int, ...] | None]:
    """Return t_u for each cell of the ordered attributes, and these attributes.

    Up to 2^20 user types, t_u (n,) and None are returned instead. Translations of the other attributes leave V
    unchanged, so t_u does not depend on them. `mean` is the mean of t_u over the user types.
    """
    sizes = found.plain.sizes
    total = np.full(found.grid, mean)
    for part in found.parts:
        own = _part_by_type(part, strategy)
        shape = [sizes[i] if i in part.ordered else 1 for i in found.ordered]
        total += (own - own.mean()).reshape(shape)
    total = np.maximum(total, 0.0)
    if math.prod(sizes) > WRITTEN:
        return total.ravel(), found.ordered
    shape = [a if i in found.ordered else 1 for i, a in enumerate(sizes)]
    return np.broadcast_to(total.reshape(shape), sizes).ravel(), None


def _part_by_type(part: Part, strategy: JuntaStrategy) -> np.ndarray:
    """Return the variance that a user adds to the answers of one table, by the cell of its ordered attributes.

    A report that covers some attributes of the table gives its cells the score K/cells, K as in `Scores`, and so
    its answers the energy q(g) = k_g^T W^T W k_g at the shift g. With G = W_o^T W_o that is
    sum_(u, v) G[u, v] H[u - g, v - g], H of `_second`. A user of type u sends the shift g with the chance
    x(u - g): one more convolution.
    """
    scores, gram, total = Scores(strategy), part.gram(), np.zeros(part.sizes)
    owner = {i: group for group, members in enumerate(strategy.groups) for i in members}
    labels, along = tuple(owner[i] for i in part.attributes), tuple(range(1, 1 + len(part.sizes)))
    asked = np.fft.fftn(_diagonals(gram, part.sizes), axes=along)
    for b in np.flatnonzero(strategy.weights):
        pattern, transform = strategy.patterns[b], scores.transform(int(b))
        for slots, chance in placements(strategy, pattern.axes, labels):
            order = tuple(t for t in slots if t >= 0)
            K = scores.density(transform, order, tuple(pattern.axes[t] for t in order))
            H = np.fft.fftn(_diagonals(_second(K, slots, part), part.sizes), axes=along)
            chances = _chances(transform, [slots[part.attributes.index(i)] for i in part.ordered], part.sizes)
            found = np.fft.ifftn((asked * H.conj()).sum(axis=0) * chances).real
            total += chance * strategy.weights[b] * found
    own = len(gram) * np.diag(gram).reshape(part.sizes)
    free = part.spectrum
    return total - own * (1.0 if free is None else float(free.multiplicities @ free.values))


def _second(K: np.ndarray, slots: Slots, part: Part) -> np.ndarray:
    """Return H = sum_f v_f Re K_f K_f^* over the cells of the ordered attributes, f the characters of the others.

    `K` has one axis for each attribute of the table that is covered; along others it is constant.
    """
    covered = [i for i, t in zip(part.attributes, slots, strict=True) if t >= 0]
    free = [i for i in part.free if i in covered]
    K = K.transpose([covered.index(i) for i in (*(i for i in part.ordered if i in covered), *free)])
    sides = K.shape[K.ndim - len(free) :]
    rows = [a if i in covered else 1 for i, a in zip(part.ordered, part.sizes, strict=True)]
    K = np.broadcast_to(K.reshape(*rows, *sides), (*part.sizes, *sides))
    K = np.fft.fftn(K, axes=range(len(rows), K.ndim)) / math.prod(sides) if free else K
    v = np.zeros(sides)
    for picked in product((False, True), repeat=len(free)):
        touched = [i for i, one in zip(free, picked, strict=True) if one]
        v[tuple(slice(1, None) if one else 0 for one in picked)] = part.share(touched)
    flat = K.reshape(math.prod(part.sizes), -1)
    return (flat * v.ravel() @ flat.conj().T).real / len(flat)


def _diagonals(matrix: np.ndarray, sizes: tuple[int, ...]) -> np.ndarray:
    """Return matrix[v + d, v] for every d and v of Z_a1 x ... x Z_ad, (n, sizes)."""
    cells = np.indices(sizes).reshape(len(sizes), -1)
    moved = (cells[:, :, None] + cells[:, None, :]) % np.array(sizes)[:, None, None]
    places = np.ravel_multi_index(tuple(moved), sizes)
    return matrix[places, np.arange(len(matrix))].reshape(-1, *sizes)


def _chances(transform: np.ndarray, slots: list[int], sizes: tuple[int, ...]) -> np.ndarray:
    """Return the transform (sizes) of the probabilities of a report by its shifts along the axes `slots`.

    A slot of -1 stands for an attribute that no axis lies on.
    """
    order = [t for t in slots if t >= 0]
    on_axes = transform[tuple(slice(None) if t in order else 0 for t in range(transform.ndim))]
    chances = np.zeros(sizes, dtype=complex)
    place = tuple(slice(None) if t >= 0 else 0 for t in slots)
    chances[place] = on_axes.transpose(np.argsort(np.argsort(order))) if order else on_axes
    return chances
