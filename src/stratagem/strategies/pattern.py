"""Base patterns: sets of cells of a few attributes, whose translates are the rows of an invariant strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.fft import fftn

from stratagem.screen import brief


@dataclass(frozen=True, eq=False)
class Pattern:
    """A set T of cells of the product of a few cycles, as bits.

    Raises:
        ValueError: if the shapes disagree, or the set is empty or full.
    """

    __repr__ = brief

    axes: tuple[int, ...]
    """The number of the group of attributes that each axis takes its own from."""
    sizes: tuple[int, ...]
    """Length of the cycle of each axis."""
    packed: np.ndarray
    """Bits of T in row-major order (ceil(cells/8),), uint8, as by `numpy.packbits`."""

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

    @staticmethod
    def of(axes: tuple[int, ...], inside: np.ndarray) -> Pattern:
        """Return the pattern of a boolean array that has one dimension an axis."""
        inside = np.asarray(inside, dtype=bool)
        return Pattern(tuple(axes), inside.shape, np.packbits(inside))

    @property
    def cells(self) -> int:
        """Number of cells, the product of the sizes."""
        return math.prod(self.sizes)

    @cached_property
    def size(self) -> int:
        """|T|."""
        return int(np.bitwise_count(self.packed).sum())

    @property
    def inside(self) -> np.ndarray:
        """T as a boolean array of shape `sizes`."""
        return np.unpackbits(self.packed, count=self.cells).astype(bool).reshape(self.sizes)

    def levels(self, ratio: float) -> np.ndarray:
        """Return x = s/(1^T s) of shape `sizes`, s = 1 + (E - 1) 1_T: the report's chances by u - g."""
        s = np.where(self.inside, ratio, 1.0)
        return s / s.sum()

    def energies(self, ratio: float) -> np.ndarray:
        """Return |x^(chi)|^2 at the characters chi of the cycles, shape `sizes`; 1 at the trivial one."""
        return np.square(np.abs(np.asarray(fftn(self.levels(ratio)))))
