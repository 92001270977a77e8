"""Exact variance of a workload's answers from juntas: sums over characters, on domains of any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, check_sizes
from stratagem.estimators.estimator import Estimator, Evidence, estimator, even_handed
from stratagem.estimators.translation.score import Scores, Slots, placements, refuse
from stratagem.estimators.translation.translates import Translates
from stratagem.math.vector import Counts
from stratagem.strategies import JuntaStrategy, TableSampling, TranslationStrategy
from stratagem.strategies.junta import type_of
from stratagem.workloads import Workload
from stratagem.workloads.harmonics import Harmonics, Part, harmonics
from stratagem.workloads.structure import Type, common


@final
@dataclass(frozen=True, eq=False)
class Juntas(Translates[JuntaStrategy]):
    """The estimator of patterns of a few attributes: sums over characters, on domains of any size."""

    strategy: JuntaStrategy

    @property
    def short(self) -> None:
        """None: no n x n arrays are formed."""
        return None

    def accuracy(self, workload: Workload) -> Accuracy:
        return junta_accuracy(workload, self.strategy)


estimator.register(JuntaStrategy, even_handed(Juntas))


@final
@dataclass(frozen=True, eq=False)
class Sampling(Estimator):
    """The estimator of a table drawn at random: its accuracy by characters, all else where a matrix can be written."""

    strategy: TableSampling

    @property
    def _listed(self) -> Estimator:
        return estimator(self.strategy.dense())

    def check(self, workload: Workload) -> None:
        self.accuracy(workload)

    def accuracy(self, workload: Workload) -> Accuracy:
        return junta_accuracy(workload, self.strategy)

    def evidence(self, counts: Counts) -> Evidence:
        return self._listed.evidence(counts)

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        return self._listed.variances(workload, x)

    def _typical(self, workload: Workload) -> np.ndarray:
        return self._listed.variances(workload)

    def _largest(self, workload: Workload) -> np.ndarray:
        return self._listed.largest(workload)


estimator.register(TableSampling, even_handed(Sampling))


def junta_accuracy(workload: Workload, strategy: JuntaStrategy | TableSampling) -> Accuracy:
    """Return the exact accuracy of juntas, or of table sampling, under the optimal reconstruction.

    With v and m the eigenvalues of V/n and M at the characters chi of the domain, L(Q)/n = sum_chi v/m and
    t_u = sum_chi v (1/m - 1) for every user type u. A workload that knows an order of values has another
    variance for each user type: the matrix of the strategy says which, where it can be written out.

    Raises:
        UnsupportedWorkloadError: if a query needs a character at which M is zero, naming its attributes.
        ValueError: if the domains differ, or the workload knows an order and there is no matrix of the strategy.

    Example:
        >>> import stratagem as st
        >>> parity = st.strategies.Pattern.of((0,), np.array([1, 0]))
        >>> one = st.strategies.JuntaStrategy((2,) * 100, (tuple(range(100)),), (parity,), np.ones(1), np.e)
        >>> round(junta_accuracy(st.marginals("2^100", 1), one).worst_case_variance, 1)
        23363.5
    """
    check_sizes(workload, strategy.sizes)
    found = harmonics(workload)
    if found is None:
        return estimator(strategy.dense()).accuracy(workload)
    share = variance = 0.0
    for v, m in _by_type(workload, found, strategy):
        share += float(np.sum(v / m))
        variance += float(np.sum(v * (1 / m - 1)))
    per_type, attributes = np.array([max(variance, 0.0)]), None
    if found.ordered and (translates := strategy.translated) is not None:
        per_type, attributes = variances_by_type(found, translates, variance)
    return Accuracy(workload.scale * share, per_type, workload.queries, attributes)


def _by_type(
    workload: Workload, found: Harmonics, strategy: JuntaStrategy | TableSampling
) -> Iterator[tuple[float | np.ndarray, np.ndarray]]:
    """Yield the eigenvalues of V/n, summed over equals, with those of M, for the types of the strategy."""
    spectrum = found.spectrum
    fine = spectrum.refined(common([spectrum.groups, strategy.groups]))
    demands: dict[Type, float] = {}
    known: dict[Type, np.ndarray] = {}
    for kind, v, many in zip(fine.types, fine.values, fine.multiplicities, strict=True):
        if v * many <= 0:
            continue
        touched = [i for group, count in zip(fine.groups, kind, strict=True) for i in group[:count]]
        coarse = type_of(strategy.groups, touched)
        names = [workload.domain.names[i] for i in touched]
        if any(i in found.ordered for i in touched):
            m = _supported(strategy.eigenvalues_at(touched), names)
            yield _resolved(found, touched, m.shape) * (v * many / found.values(touched).mean() / m.size), m
            continue
        demands[coarse] = demands.get(coarse, 0.0) + float(v * many)
        known[coarse] = known[coarse] if coarse in known else _supported(strategy.eigenvalues(coarse), names)
    yield from ((demand / known[kind].size, known[kind]) for kind, demand in demands.items())


def _resolved(found: Harmonics, touched: Sequence[int], shape: tuple[int, ...]) -> np.ndarray:
    """Return v at the characters that touch exactly these attributes, one axis for each, rising."""
    sides = [a if i in found.ordered else 1 for i, a in zip(sorted(touched), shape, strict=True)]
    return np.broadcast_to(found.values(touched).reshape(sides), shape)


def _supported(m: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Return the eigenvalues m of M after checking that all are positive.

    Raises:
        UnsupportedWorkloadError: if one is zero, naming the attributes.
    """
    if not (m > 0).all():
        refuse(names)
    return m


WRITTEN = 1 << 20
"""User types up to which one number is returned for each; beyond, one for each cell of the ordered attributes."""


def variances_by_type(
    found: Harmonics, strategy: TranslationStrategy, mean: float
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


def _part_by_type(part: Part, strategy: TranslationStrategy) -> np.ndarray:
    """Return the variance that a user adds to the answers of one table, by the cell of its ordered attributes.

    A report that covers some attributes of the table gives its cells the score K/cells, K as in `Scores`, and so
    its answers the energy q(g) = k_g^T W^T W k_g at the shift g. With G = W_o^T W_o that is
    sum_(u, v) G[u, v] H[u - g, v - g], H of `_second`. A user of type u sends the shift g with the chance
    x(u - g): one more convolution.
    """
    scores, gram, total = Scores(strategy), part.gram(), np.zeros(part.sizes)
    labels, along = tuple(strategy.owner[i] for i in part.attributes), tuple(range(1, 1 + len(part.sizes)))
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
