"""How translations act on the Gram matrix V = W^T W of a workload, and the norms of W that prove lower bounds.

The spectrum of one that they leave unchanged are its eigenvalues, by the attributes that a character touches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import combinations
from math import comb, prod

import numpy as np

from stratagem.math.number import as_float

Type = tuple[int, ...]
"""How many attributes of each group a character touches."""

TYPES = 200_000
"""Most types of characters that are listed."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues of V/n for the Gram matrix V of a workload that compares values only for equality.

    Every character of Z_a1 x ... x Z_ad is an eigenvector of V, and its eigenvalue depends on the set of
    attributes that it touches alone. Attributes of one group are interchangeable, so that only the type of the
    set matters: how many attributes of each group it holds. A type l has prod_g C(|g|, l_g) (a_g - 1)^l_g
    characters. The eigenvalues of V/n, unlike those of V, stay finite on domains of any size.
    """

    sizes: tuple[int, ...]
    """Attribute sizes a1, ..., ad."""
    groups: tuple[tuple[int, ...], ...]
    """A partition of the attributes 0, ..., d - 1; all attributes of a group have one size."""
    order: int
    """Characters that touch more attributes have eigenvalue 0."""
    value: Callable[[Type], float]
    """The eigenvalue of V/n at a type."""

    @cached_property
    def types(self) -> tuple[Type, ...]:
        """The types with a positive eigenvalue, the empty one first (whatever its eigenvalue)."""
        room = prod(min(len(group), self.order) + 1 for group in self.groups)
        listed = (t for t in _bounded([len(group) for group in self.groups], self.order))
        found = [kind for kind in listed if not any(kind) or self.value(kind) > 0]
        if len(found) > TYPES and room > TYPES:
            raise ValueError(
                f"the queries touch {len(found)} different sets of attributes, above the limit of {TYPES}: "
                "ask for fewer marginals, or treat more attributes alike"
            )
        return tuple(sorted(found, key=lambda kind: (sum(kind), tuple(-count for count in kind))))

    @cached_property
    def values(self) -> np.ndarray:
        """The eigenvalues of V/n at the types (t,)."""
        return np.array([self.value(kind) for kind in self.types], dtype=float)

    @cached_property
    def multiplicities(self) -> np.ndarray:
        """How many characters have each type (t,), as floats."""
        counts = (self.multiplicity(kind) for kind in self.types)
        return np.array([as_float(count, "the number of characters of a type") for count in counts])

    def multiplicity(self, kind: Type) -> int:
        """Return how many characters have a type."""
        sides = ((len(group), self.sizes[group[0]]) for group in self.groups)
        return prod(
            comb(many, count) * (a - 1) ** count for (many, a), count in zip(sides, kind, strict=True)
        )

    def array(self) -> np.ndarray:
        """Return the eigenvalues of V at all characters, shape `sizes`, in the order of `numpy.fft.fftn`."""
        place = np.zeros(self.sizes, dtype=np.intp)
        shape = tuple(len(group) + 1 for group in self.groups)
        for group, step in zip(self.groups, np.cumprod((1, *shape[:0:-1]))[::-1], strict=True):
            for i in group:
                touched = np.arange(self.sizes[i]) > 0
                place += int(step) * touched.reshape(-1, *[1] * (len(self.sizes) - 1 - i))
        kinds = (tuple(map(int, kind)) for kind in np.ndindex(shape))
        return prod(self.sizes) * np.array([self.value(kind) for kind in kinds])[place]

    def of(self, attributes: Sequence[int]) -> float:
        """Return the eigenvalue of V/n at the characters that touch exactly these attributes."""
        touched = set(attributes)
        return self.value(tuple(len(touched & set(group)) for group in self.groups))

    def refined(self, groups: tuple[tuple[int, ...], ...]) -> Spectrum:
        """Return the same eigenvalues by finer groups, each part of one of the present ones."""
        parent = {i: g for g, group in enumerate(self.groups) for i in group}
        place = [parent[group[0]] for group in groups]

        def value(kind: Type) -> float:
            coarse = [0] * len(self.groups)
            for g, count in zip(place, kind, strict=True):
                coarse[g] += count
            return self.value(tuple(coarse))

        return Spectrum(self.sizes, groups, self.order, value)


def by_size(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the partition of attributes into those of equal size, in order of their first attribute."""
    groups: dict[int, list[int]] = {}
    for i, a in enumerate(sizes):
        groups.setdefault(a, []).append(i)
    return tuple(map(tuple, groups.values()))


def common(partitions: Sequence[tuple[tuple[int, ...], ...]]) -> tuple[tuple[int, ...], ...]:
    """Return the coarsest partition that is finer than all those given."""
    labels: dict[int, list[int]] = {}
    for partition in partitions:
        for g, group in enumerate(partition):
            for i in group:
                labels.setdefault(i, []).append(g)
    groups: dict[tuple[int, ...], list[int]] = {}
    for i in sorted(labels):
        groups.setdefault(tuple(labels[i]), []).append(i)
    return tuple(map(tuple, groups.values()))


def _bounded(most: Sequence[int], order: int) -> Iterator[Type]:
    """Yield all tuples of counts, each at most its limit and together at most the order."""
    if order == 0 or len(most) == 1:
        yield from ((first, *[0] * (len(most) - 1)) for first in range(min(most[0], order) + 1))
        return
    if all(limit == 1 for limit in most):
        yield from _subsets(len(most), order)
        return
    for first in range(min(most[0], order) + 1):
        yield from ((first, *rest) for rest in _bounded(most[1:], order - first))


def _subsets(many: int, order: int) -> Iterator[Type]:
    """Yield the indicators of all sets of at most `order` of the places 0, ..., many - 1."""
    for count in range(order + 1):
        for chosen in combinations(range(many), count):
            inside = set(chosen)
            yield tuple(int(i in inside) for i in range(many))


def summed(parts: Sequence[Spectrum]) -> Spectrum:
    """Return the spectrum of a stack: the sum of the parts' eigenvalues, by groups common to all of them."""
    groups = common([one.groups for one in parts])
    fine = [one.refined(groups) for one in parts]
    order = max(one.order for one in parts)
    return Spectrum(parts[0].sizes, groups, order, lambda kind: sum(one.value(kind) for one in fine))


def combined(factors: Sequence[Spectrum]) -> Spectrum:
    """Return the spectrum of a Kronecker product: the product of the factors' eigenvalues.

    Factors of one attribute with equal sizes and eigenvalues become one group.
    """
    starts = np.cumsum([0, *(len(factor.sizes) for factor in factors)])
    alike: dict[object, list[int]] = {}
    for number, factor in enumerate(factors):
        single = len(factor.sizes) == 1
        key = (factor.sizes, factor.value((0,)), factor.value((1,))) if single else number
        alike.setdefault(key, []).append(number)
    groups, parts = [], []
    for members in alike.values():
        first = factors[members[0]]
        if len(members) > 1:
            groups.append(tuple(int(starts[number]) for number in members))
        else:
            groups += [tuple(int(starts[members[0]]) + i for i in group) for group in first.groups]
        parts.append((first, len(members)))

    def value(kind: Type) -> float:
        product, place = 1.0, 0
        for first, many in parts:
            if many > 1:
                touched = kind[place]
                product *= first.value((0,)) ** (many - touched) * first.value((1,)) ** touched
                place += 1
            else:
                product *= first.value(kind[place : place + len(first.groups)])
                place += len(first.groups)
        return product

    sizes = tuple(a for factor in factors for a in factor.sizes)
    return Spectrum(sizes, tuple(groups), sum(factor.order for factor in factors), value)


DIRECT = 1 << 16
"""Terms of a sum of cosecants that are added one by one."""
LONGEST = 1 << 22
"""Values up to which short ranges are transformed in one piece."""
ROUNDING = 1e-13
"""Relative error taken off where two nearly equal numbers are subtracted."""


@dataclass(frozen=True)
class Norms:
    """The total and the nuclear norms of W per user type, finite on domains of any size."""

    total: float
    """Squared norm of the row sums over n^2, ||W 1||^2/n^2."""
    whole: float
    """Nuclear norm of W over n^(1/2), sum_i sigma_i(W)/n^(1/2)."""
    centred: float
    """sum_i sigma_i(W P)/n^(1/2), P = I - 11^T/n."""

    @staticmethod
    def of(spectrum: Spectrum) -> Norms:
        """Return the norms of a workload whose eigenvalues of V/n are known by type."""
        roots = spectrum.multiplicities * np.sqrt(spectrum.values)
        return Norms(float(spectrum.values[0]), float(roots.sum()), float(roots[1:].sum()))

    def scaled(self, weight: float) -> Norms:
        """Return the norms of the workload with every query multiplied by `weight`."""
        size = abs(weight)
        return Norms(size**2 * self.total, size * self.whole, size * self.centred)


def prefix_norms(n: int) -> Norms:
    """Return the norms of all n prefixes.

    V^-1 is the Laplacian of a path with one end held, so V has the eigenvalues
    1/(4 sin^2(pi (j - 1/2)/(2 n + 1))), j = 1, ..., n. On 1^perp it is the inverse of
    the free path's Laplacian: 1/(4 sin^2(pi j/(2 n))), j = 1, ..., n - 1.
    """
    whole, centred = cosecants(n, 2 * n + 1, 0.5), cosecants(n - 1, 2 * n)
    return Norms((n + 1) * (2 * n + 1) / (6 * n), whole / 2 / math.sqrt(n), centred / 2 / math.sqrt(n))


def all_range_norms(n: int) -> Norms:
    """Return the norms of all n (n + 1)/2 ranges.

    V = (n + 1) K^-1, K = tridiag(-1, 2, -1): eigenvalues (n + 1)/(4 sin^2(pi j/(2 (n + 1)))), j = 1, ..., n.
    Those of even j have antisymmetric vectors, orthogonal to 1 already. For symmetric x orthogonal to 1,
    P V P x = mu x is (n + 1) x = mu K x + t K 1, and K 1 is zero but at the ends: with
    mu = (n + 1)/(4 sin^2(theta/2)), x_u = cos(theta (u - (n - 1)/2)), t settles the ends, and
    sum_u x_u = sin(n theta/2)/sin(theta/2) = 0 leaves theta = 2 pi k/n. So on 1^perp
    (n + 1)/(4 sin^2(pi k/n)) for k < n/2 and (n + 1)/(4 sin^2(pi k/(n + 1))) for k <= n/2.
    """
    factor = math.sqrt((n + 1) / n) / 2
    whole = cosecants(n, 2 * (n + 1))
    centred = cosecants((n + 1) // 2 - 1, n) + cosecants(n // 2, n + 1)
    return Norms(range_total(n, n), factor * whole, factor * centred)


def short_range_norms(n: int, width: int) -> Norms:
    """Return norms of the ranges of at most width < n values, the nuclear ones from below.

    Continued as odd functions beyond both ends, vectors meet the ranges of a circle of 2 n values. One across
    an end sees the difference of two prefixes, itself a short range: with d the rows [i, j) of W, 0 < i < j,
    i + j <= width, and their mirror images, and D = d^T d <= V, A = V + D has the eigenvectors
    sin(pi k (u + 1/2)/n) and eigenvalues sum_(L <= width) sin^2(L x)/sin^2 x, x = pi k/(2 n), k = 1, ..., n.
    As D <= A/2, A - t D >= (1 - t/2) A, so tr A^(1/2) - tr V^(1/2) = 1/2 int_0^1 tr D (A - t D)^(-1/2) dt
    is at most (2 - 2^(1/2)) tr D A^(-1/2). On 1^perp pinching takes off at most ||W 1||/n^(1/2), because the
    square root is concave. Up to width n/10 this is within 0.4 % of sum sigma_i(W P), up to n/2 within 3 %.

    More than 2^22 values are cut into pieces, whose ranges are some of those asked for.
    """
    if n > LONGEST:
        long = n // width * all_range_norms(width).whole * math.sqrt(width)
        piece = short_range_norms(LONGEST, min(width, LONGEST // 4))
        whole = max(long, n // LONGEST * piece.whole * math.sqrt(LONGEST)) / math.sqrt(n)
    else:
        whole = _odd_continuation(n, width) / math.sqrt(n)
    total = range_total(n, width)
    return Norms(total, whole, max(0.0, whole - math.sqrt(total)))


def range_total(n: int, width: int) -> float:
    """Return sum_(L <= width) L^2 (n - L + 1)/n^2 = ||W 1||^2/n^2."""
    w = width
    return ((n + 1) * (w * (w + 1) * (2 * w + 1) // 6) - (w * (w + 1) // 2) ** 2) / n**2


def cosecants(count: int, period: int, shift: float = 0.0) -> float:
    """Return sum_(k <= count) 1/sin(pi (k - shift)/period), the arguments in (0, pi), from below.

    The function is convex, so that beyond the first terms the trapezoid rule is below the sum; 1e-12 of it.
    """
    direct = min(count, DIRECT)
    terms = 1 / np.sin(math.pi / period * (np.arange(1, direct + 1) - shift))
    if count == direct:
        return float(terms.sum())
    ends = [math.pi / period * (k - shift) for k in (direct, count)]
    area = period / math.pi * (math.log(math.tan(ends[1] / 2)) - math.log(math.tan(ends[0] / 2)))
    return float(terms.sum()) - float(terms[-1]) / 2 + area + 0.5 / math.sin(ends[1])


def _odd_continuation(n: int, width: int) -> float:
    """Return tr A^(1/2) - (2 - 2^(1/2)) tr D A^(-1/2) of `short_range_norms`.

    sum_(L <= w) 4 sin^2(L x) = 2 w + 1 - sin((2 w + 1) x)/sin x. With y_i = cos(2 i x) the row [i, j) maps the
    k-th sine to (y_i - y_j)/(2 sin x), so D needs the sum of (y_i - y_j)^2 over all pairs: cosines of sums and
    differences of i and j, which one Fourier transform adds up.
    """
    w, x = width, math.pi / (2 * n) * np.arange(1, n + 1)
    odd = 2 * w + 1
    quadruple = np.maximum((1 - ROUNDING) * odd - np.sin(odd * x) / np.sin(x), 0.0)
    i = np.arange(1, w)
    partners = w - i - (2 * i <= w)
    waves = np.zeros(2 * n)
    waves[0] = partners.sum() / 2
    waves[2 * i] += partners / 2
    waves[1 : w + 1] -= np.arange(w) // 2  # pairs of sum s: (s - 1) // 2
    waves[1:w] -= (w - i) // 2  # pairs of difference i
    pairs = np.maximum(np.fft.rfft(waves).real[1:], 0.0) * (4 / n)
    pairs[-1] /= 2  # the last sine is as long as two others
    roots = np.sqrt(quadruple)
    lost = (pairs / roots / np.sin(x)).sum() / 2
    return float((roots / np.sin(x)).sum() / 2 - (2 - math.sqrt(2)) * lost)


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
