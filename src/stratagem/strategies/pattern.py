"""Base patterns: sets of cells of a few attributes, whose translates are the rows of a strategy of translates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.fft import ifftn

from stratagem.io.screen import brief
from stratagem.math.galois import orbits, powers
from stratagem.math.transform import fftn


@dataclass(frozen=True, eq=False)
class Pattern:
    """A set T of cells of a product of cycles, stored as bits, with the multiples that it stands for.

    On one cycle of N points the multiples r^i T = {r^i t mod N}, i = 0, ..., e - 1, are sets as large as T.

    Raises:
        ValueError: if the shapes disagree, the set is empty or full, or multiples are asked for where they are no
            such sets.
    """

    __repr__ = brief

    axes: tuple[int, ...]
    """Group of attributes of each axis; the axis is placed on an attribute of this group."""
    sizes: tuple[int, ...]
    """Length of the cycle of each axis."""
    packed: np.ndarray
    """Bits of T in row-major order (ceil(cells/8),), uint8, as by `numpy.packbits`."""
    multiples: int = 1
    """Number e of multiples."""
    root: int = 1
    """Factor r of the multiples, which has no divisor in common with N."""

    def __post_init__(self) -> None:
        """Check and freeze the bits."""
        packed = np.array(self.packed, dtype=np.uint8)
        if len(self.axes) != len(self.sizes) or packed.shape != (-(-self.cells // 8),):
            raise ValueError(
                f"a pattern was given {packed.size} bytes and {len(self.axes)} axes of sizes {self.sizes}, but "
                "needs one size an axis and one bit a cell: use Pattern.of"
            )
        packed.flags.writeable = False
        object.__setattr__(self, "packed", packed)
        if not 0 < self.size < self.cells:
            raise ValueError(
                f"a pattern was given {self.size} of {self.cells} cells, but tells nobody apart unless some are "
                "inside and some outside: leave it out"
            )
        single = len(self.sizes) == 1 and math.gcd(self.root, self.cells) == 1
        if self.multiples < 1 or ((self.multiples, self.root) != (1, 1) and not single):
            raise ValueError(
                f"{self.multiples} multiples by powers of {self.root} were asked for on {len(self.sizes)} cycles of "
                f"{self.cells} cells, but need one cycle and a number without a divisor in common with its length"
            )

    @staticmethod
    def of(axes: tuple[int, ...], inside: np.ndarray) -> Pattern:
        """Return the pattern of a boolean array of shape (N_1, ..., N_k), one length for every axis."""
        inside = np.asarray(inside, dtype=bool)
        return Pattern(tuple(axes), inside.shape, np.packbits(inside))

    @property
    def cells(self) -> int:
        """Number of cells, the product of the sizes."""
        return math.prod(self.sizes)

    @cached_property
    def size(self) -> int:
        """Number |T| of cells in the set."""
        return int(np.bitwise_count(self.packed).sum())

    @property
    def inside(self) -> np.ndarray:
        """T as a boolean array of shape `sizes`."""
        return np.unpackbits(self.packed, count=self.cells).astype(bool).reshape(self.sizes)

    def divided(self, places: np.ndarray | int, multiple: np.ndarray | int) -> np.ndarray:
        """Return the cells t with r^i t = `places` modulo N, i = `multiple`, in their common shape."""
        if self.multiples == 1:
            return np.asarray(places)
        return np.asarray(places * self._inverses[multiple] % self.cells)

    def multiplied(self, multiple: int) -> np.ndarray:
        """Return r^i k modulo N (N,) for k = 0, ..., N - 1: the frequency of T that r^i T has at k, i = `multiple`."""
        return np.arange(self.cells) * self.scales[multiple] % self.cells

    @cached_property
    def scales(self) -> np.ndarray:
        """Factors r^i modulo N, i = 0, ..., e - 1, shape (e,)."""
        return np.resize(powers(1, self.root, self.cells), self.multiples)

    @cached_property
    def _inverses(self) -> np.ndarray:
        """Inverse factors r^-i modulo N, i = 0, ..., e - 1, shape (e,)."""
        return np.resize(powers(1, pow(self.root, -1, self.cells), self.cells), self.multiples)

    def levels(self, ratio: float) -> np.ndarray:
        """Return x = s/(1^T s), s = 1 + (E - 1) 1_T, shape `sizes`: a report's probabilities by u - g."""
        total = self.cells + (ratio - 1) * self.size
        return np.where(self.inside, ratio / total, 1 / total)

    @cached_property
    def spectrum(self) -> np.ndarray:
        """Squared moduli of the Fourier transform of 1_T, shape `sizes`, the mean over all multiples."""
        spectrum = np.square(np.abs(fftn(self.inside.astype(float))))
        return spectrum if self.multiples == 1 else self._averaged(spectrum)

    def energies(self, ratio: float) -> np.ndarray:
        """Return |x^(chi)|^2 at the characters chi of the cycles, shape `sizes`; 1 at the trivial one.

        The mean over all multiples: r^i T has at frequency k what T has at r^i k.
        """
        energies = np.square(np.abs(fftn(self.levels(ratio))))
        return energies if self.multiples == 1 else self._averaged(energies)

    def _averaged(self, energies: np.ndarray) -> np.ndarray:
        """Return the mean of energies (N,) at r^i k, i = 0, ..., e - 1, for every k: along the orbits of r."""
        labels, lengths = _orbits(self.root, self.cells)
        means = np.bincount(labels, energies) / lengths
        if (self.multiples % lengths == 0).all():
            return means[labels]
        found = np.empty_like(energies)
        for first in np.unique(labels, return_index=True)[1]:
            orbit = powers(int(first), self.root, self.cells)
            laps, rest = divmod(self.multiples, len(orbit))
            sums = np.cumsum(np.concatenate([[0.0], energies[orbit], energies[orbit[:rest]]]))
            around = laps * len(orbit) * means[labels[first]]
            found[orbit] = (around + sums[rest : rest + len(orbit)] - sums[: len(orbit)]) / self.multiples
        return found


def overlaps(spectrum: np.ndarray) -> np.ndarray:
    """Return how many translates of a set hold both of two cells, by their difference, from the set's spectrum."""
    return np.real(np.asarray(ifftn(spectrum)))


@lru_cache(maxsize=4)
def _orbits(root: int, cycle: int) -> tuple[np.ndarray, np.ndarray]:
    found = orbits(root, cycle)
    assert found is not None, "no limit is given"
    return found
