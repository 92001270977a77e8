"""Patterns of one table that make up for each other, each weighing less than the one before."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.fft import irfftn, rfftn

from stratagem.solvers.junta.multiplier_group import MultiplierGroup
from stratagem.solvers.junta.signature import Signature

LIGHTER = 0.9
"""Weight of a pattern over that of the one before: lighter ones cannot make up for what is left."""
EXCESS = 15.0
"""What may be left too much at a character, as a multiple of what the next pattern would bring there."""
MOVES, INERTIA = 5, 3.5
"""How often a pattern moves, and how strongly its cells are kept when it does, in standard deviations of the
field that moves it."""
FAINT = 0.01
"""Amplitude relative to the mean below which the phase of a character is no guide."""
ENOUGH = 1e-10
"""Loss of L relative to equal energies at which no more patterns are drawn."""


class Complementary(NamedTuple):
    """Weighted patterns of a table, and the energies of their images together."""

    patterns: np.ndarray
    """Sets of cells (P, cells), boolean."""
    shares: np.ndarray
    """(P,), of sum one."""
    power: np.ndarray
    """Their mean energy at each character (cells,)."""


def complementary(
    signature: Signature,
    levels: np.ndarray,
    sizes: np.ndarray,
    group: MultiplierGroup,
    rng: np.random.Generator,
) -> Complementary:
    """Return at most one pattern of each of some sizes (P,), with mean energies near the levels (cells,).

    Each pattern has a spectrum near what those before it lack. Were all of one weight, their sum would miss
    its level by about the energy of one of them, and L by some 1/P^2. So weights fall geometrically, and what
    is missed falls with them, on many cells as fast as on few.
    Sets of few cells follow a spectrum less well; there weights fall as slowly as what is left too much allows.
    """
    wanted, made, weights = levels / levels.sum(), [], []
    power, weight = np.zeros(signature.cells), 1.0
    for size in sizes.tolist():
        energy = signature.total(size)
        lacking = (power.sum() + weight * energy) * wanted - power
        inside = _near(signature.shape, size, np.sqrt(np.maximum(lacking, 0)), rng)
        power += weight * group.mean(signature.power(inside[None])[0] * (wanted > 0))
        made.append(inside)
        weights.append(weight)
        excess = power - power.sum() * wanted
        if _loss(excess, power.sum(), wanted) <= ENOUGH:
            break
        largest = float((excess[wanted > 0] / wanted[wanted > 0]).max())
        weight = min(weight, max(LIGHTER * weight, largest / (EXCESS * energy)))
    total = sum(weights)
    return Complementary(np.stack(made), np.array(weights) / total, power / total)


def _loss(excess: np.ndarray, total: float, wanted: np.ndarray) -> float:
    """Return by how much of it L is above that of equal energies, to second order."""
    known = wanted > 0
    return float((np.square(excess[known]) / wanted[known]).sum()) / total**2


def _near(shape: tuple[int, ...], size: int, amplitudes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random set of cells (cells,) whose spectrum is near the amplitudes (cells,).

    A Gaussian field of that spectrum is cut off; the set then moves a few times, by the field of its own phases
    and the amplitudes, less the part of that field which lies along the set and would only keep it in place.
    """
    half = (amplitudes / np.sqrt(np.square(amplitudes).mean())).reshape(shape)[..., : shape[-1] // 2 + 1]
    half = half.astype(np.float32)
    noise = rng.standard_normal((*half.shape, 2), dtype=np.float32).view(np.complex64)[..., 0]
    inside = _top(np.asarray(irfftn(noise * half, shape)), size)
    for _ in range(MOVES):
        transformed = np.asarray(rfftn(inside.reshape(shape).astype(np.float32)))
        transformed.flat[0] = 0
        present = np.abs(transformed)
        present /= np.sqrt(np.square(present).mean())
        ratio = half / np.maximum(present, FAINT)
        field = np.asarray(irfftn(transformed * (ratio - (half * present).mean()), shape))
        inside = _top(field + INERTIA * field.std() * inside.reshape(shape), size)
    return inside


def _top(field: np.ndarray, size: int) -> np.ndarray:
    """Return the cells (cells,) of the `size` largest values; of equal ones at the edge, the first."""
    values = field.ravel()
    edge = np.partition(values, len(values) - size)[len(values) - size]
    inside = values > edge
    inside[np.flatnonzero(values == edge)[: size - int(inside.sum())]] = True
    return inside
