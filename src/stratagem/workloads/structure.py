"""What is known of a workload's symmetry, and how sums, products and weights of workloads combine it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from stratagem.workloads.norm import Norms
from stratagem.workloads.spectrum import Spectrum, combined, summed

Spectra = Callable[[Sequence[Spectrum]], Spectrum]


@dataclass(frozen=True, kw_only=True, eq=False)
class Structure:
    """How translations of the domain act on the Gram matrix V of a workload W, and the norms of W.

    Arrays are computed when they are asked for, so that a structure is made at once on a domain of any size.
    """

    translation_spectrum: Callable[[], np.ndarray]
    """Returns chi^* V chi / n for every character chi of Z_a1 x ... x Z_ad, shape (a1, ..., ad), O(n log n).

    These are the eigenvalues of the average of V over all translations of the domain, so of V itself where
    `symmetry` says so, in the order of `numpy.fft.fftn`.
    """
    spectrum: Spectrum | None = None
    """The eigenvalues of V/n by the attributes touched, where permuting an attribute's values leaves V as it is.

    None where values of some attribute have an order, or where this is not known.
    """
    closed_norms: Callable[[], Norms | None] | None = None
    """Returns the norms of W by a formula of its own; None where they follow from the spectrum, if there is one."""

    @staticmethod
    def of(spectrum: Spectrum) -> Structure:
        """Return the structure of a workload whose eigenvalues are known by the attributes touched."""
        return Structure(translation_spectrum=spectrum.array, spectrum=spectrum)

    @property
    def symmetry(self) -> tuple[int, ...] | None:
        """Sizes (a1, ..., ad) of the product of cyclic groups whose translations leave V unchanged.

        The group acts on the cells coordinate by coordinate, so V[u, v] depends on u - v alone; None when no such
        group is known.
        """
        return self.spectrum and self.spectrum.sizes

    @property
    def norms(self) -> Norms | None:
        """The total and the nuclear norms of W where they are known without an eigendecomposition, else None.

        The nuclear norms may be lower bounds.
        """
        if self.closed_norms:
            return self.closed_norms()
        return self.spectrum and Norms.of(self.spectrum)

    def weighted(self, weight: float) -> Structure:
        """Return the structure of weight W, whose Gram matrix is weight^2 V."""
        square, inner = weight**2, self.spectrum
        return Structure(
            translation_spectrum=lambda: square * self.translation_spectrum(),
            spectrum=inner and replace(inner, value=lambda kind: square * inner.value(kind)),
            closed_norms=lambda: (norms := self.norms) and norms.scaled(weight),
        )


def stacked(parts: Sequence[Structure]) -> Structure:
    """Return the structure of workloads asked one after the other, V = V_1 + ... + V_k."""
    return Structure(
        translation_spectrum=lambda: np.sum([one.translation_spectrum() for one in parts], axis=0),
        spectrum=_together(parts, summed),
    )


def multiplied(factors: Sequence[Structure]) -> Structure:
    """Return the structure of a Kronecker product, V = V_1 kron ... kron V_k."""
    return Structure(
        translation_spectrum=lambda: reduce(
            np.multiply.outer, [one.translation_spectrum() for one in factors]
        ),
        spectrum=_together(factors, combined),
    )


def _together(parts: Sequence[Structure], combine: Spectra) -> Spectrum | None:
    """Return the combined spectrum of all parts, None where one is not known."""
    known = [one.spectrum for one in parts if one.spectrum]
    return combine(known) if len(known) == len(parts) else None
