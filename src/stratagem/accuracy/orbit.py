"""Exact variance of a workload's answers from translates of patterns over the whole domain."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import fft

from stratagem.accuracy.answer_energy import answer_energies
from stratagem.accuracy.dense import SUPPORT_TOLERANCE, check_domain, check_support
from stratagem.accuracy.measure import Accuracy, UnsupportedWorkloadError
from stratagem.accuracy.window import Window
from stratagem.linalg import centred_inverse, factor
from stratagem.strategies import OrbitStrategy
from stratagem.strategies.strategy import apply_inverse
from stratagem.workloads import Workload
from stratagem.workloads.prefix import Prefix
from stratagem.workloads.weighted import Weighted

SMALL = 1024
"""Domain size up to which windows are evaluated under the optimal reconstruction, by n x n arrays."""
NOTHING = 1e-24
"""Eigenvalue below which a character counts as unseen: transforms of doubles leave some 1e-32."""


def orbit_accuracy(workload: Workload, strategy: OrbitStrategy) -> Accuracy:
    """Return the exact accuracy with the estimator that runs: the optimal one where transforms can state it.

    * Cycles as long as the attributes: the optimal reconstruction, by characters; where V is not invariant,
      variances by type come from n x n arrays up to n = 1024, then from one attribute's transforms.
    * Windows up to n = 1024: the optimal reconstruction, by n x n arrays.
    * Longer windows: prefixes by `Window`; other queries from r_b^ = x_b^/m, whose translates estimate cells
      without bias.

    Raises:
        UnsupportedWorkloadError: if a query touches a character that no pattern sees.
        ValueError: if the domains differ, or on larger domains for queries without transforms.
    """
    check_domain(workload, strategy)
    if not strategy.window:
        value = orbit_objective(workload, strategy)
        if workload.symmetry == strategy.sizes:
            return Accuracy(
                value, np.array([value / workload.scale - workload.mean_square]), workload.queries
            )
    if workload.domain_size <= SMALL:
        return _optimal(workload, strategy)
    per_type = _transformed(workload, strategy)
    return Accuracy(float(per_type.sum()) + workload.frobenius_squared, per_type, workload.queries)


def orbit_objective(workload: Workload, strategy: OrbitStrategy) -> float:
    """Return L of `orbit_accuracy`; without a window sum_chi v_chi/m_chi, v = chi^* V chi/n, at any workload.

    Raises:
        UnsupportedWorkloadError: as `orbit_accuracy`.
        ValueError: as `orbit_accuracy`.
    """
    check_domain(workload, strategy)
    if strategy.window:
        return orbit_accuracy(workload, strategy).objective
    v, m = workload.translation_spectrum(), strategy.eigenvalues
    seen = m > NOTHING
    if v[~seen].sum() > SUPPORT_TOLERANCE * v.sum():
        raise UnsupportedWorkloadError(
            f"The strategy cannot answer this workload: no pattern sees {int((~seen).sum())} of the {m.size} "
            "characters, and the queries need some of them; add patterns of other shapes."
        )
    return float((v[seen] / m[seen]).sum())


def _optimal(workload: Workload, strategy: OrbitStrategy) -> Accuracy:
    """Evaluate the optimal reconstruction, pattern by pattern."""
    n, F = workload.domain_size, factor(workload.gram())
    C = np.zeros((n, n))
    for weight, rows in _translates(strategy):
        sums = rows.sum(axis=1, keepdims=True)
        spread = (rows - sums / n) / np.sqrt(sums)
        C += weight * (spread.T @ spread)
    inverse = centred_inverse(C)
    check_support(F, inverse)
    B = apply_inverse(inverse, F)
    moments = np.zeros(n)
    for weight, rows in _translates(strategy):
        moments += weight * (np.square(rows @ B).sum(axis=1) / np.square(rows.sum(axis=1))) @ rows
    per_type = np.maximum(moments - np.square(F).sum(axis=1), 0)
    return Accuracy(float(np.sum(F * B)), per_type, workload.queries)


def _translates(strategy: OrbitStrategy) -> Iterator[tuple[float, np.ndarray]]:
    """Yield each pattern's weight and the levels x_b(u - g) of all its translates, (shifts, n)."""
    cells = strategy.coordinates(np.arange(strategy.domain_size))
    shifts = np.stack(np.unravel_index(np.arange(np.prod(strategy.cycles)), strategy.cycles), axis=1)
    moved = (cells - shifts[:, None]) % np.array(strategy.cycles)
    places = np.ravel_multi_index(tuple(np.moveaxis(moved, 2, 0)), strategy.cycles)
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        if weight > 0:
            yield float(weight), pattern.levels(strategy.ratio).ravel()[places]


def _transformed(workload: Workload, strategy: OrbitStrategy) -> np.ndarray:
    """Return t_u (n,) from t_u + (what is subtracted) = sum_b w_b sum_g x_b(u - g) ||a_b(g)||^2."""
    if len(strategy.cycles) > 1:
        raise ValueError(
            f"variances by user type on {workload.domain_size} cells of {len(strategy.cycles)} attributes are not "
            "known for queries that translations change: ask for the objective alone"
        )
    n, (cycle,) = workload.domain_size, strategy.cycles
    m = strategy.eigenvalues[: cycle // 2 + 1]
    if not (m > NOTHING).all():
        raise UnsupportedWorkloadError(
            "The strategy cannot answer this workload: its patterns leave out some frequency of the cycle."
        )
    weight, inner = _weight(workload)
    if strategy.window and isinstance(inner, Prefix):
        window = Window(n, cycle, m)
        return weight**2 * (_moments(strategy, window.energies) - window.squares)

    def energies(x: np.ndarray) -> np.ndarray:
        return answer_energies(workload, fft.irfft(fft.rfft(x) / m, cycle))

    unit = np.zeros(cycle)
    unit[0] = 1
    return _moments(strategy, energies) - answer_energies(workload, unit)[:n]


def _moments(strategy: OrbitStrategy, energies) -> np.ndarray:
    """Return sum_b w_b sum_g x_b(u - g) energies(x_b)[g] (n,)."""
    (cycle,) = strategy.cycles
    total = np.zeros(cycle // 2 + 1, dtype=complex)
    for pattern, weight in zip(strategy.patterns, strategy.weights, strict=True):
        if weight > 0:
            x = pattern.levels(strategy.ratio)
            total += weight * fft.rfft(x) * fft.rfft(energies(x))
    return fft.irfft(total, cycle)[: strategy.domain_size]


def _weight(workload: Workload) -> tuple[float, Workload]:
    """Return the product of all weights of a workload and the workload inside."""
    weight = 1.0
    while isinstance(workload, Weighted):
        weight, workload = weight * workload.weight, workload.workload
    return weight, workload
