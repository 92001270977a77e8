"""The linear programming bound, from constraints that translations put on a pattern's Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from stratagem.bounds.formulas import Rule
from stratagem.bounds.three_point import cube
from stratagem.math.interior_point import maximise
from stratagem.math.transform import krawtchouk
from stratagem.workloads.structure import Spectrum
from stratagem.workloads.workload import COUNTED

DELSARTE = Rule(
    "delsarte",
    "what the symmetry of the queries allows the sets that reports favour",
    "@stratagem; @delsarte1973algebraic; @schrijver2005new",
    9,
)
SIZE, SLICED = 8, 12
"""Largest attribute that is sliced, and most attributes that are."""
STEPS = (0.1, 0.05, 0.025, 0.0125)
"""Steps of the logarithm of a price in the sweeps of the search."""
ROUGH, FINE = (100, 14), (480, 40)
"""Cells of pattern sizes and levels of the norm of a mean, for the search of prices and for the bound."""
HOPE = 0.8
"""The search ends below this share of the bound that is known: it gains a few per cent."""
SLOPES, SPACING = 12, 0.05
"""Most slopes lambda that are tried, and how far apart they are otherwise, as a share of the largest."""
SLACK = 1e-11
"""Upper bound on the rounding error of a sum of numbers below ten."""


def conditioning(spectrum: Spectrum, epsilon: float, known: float = 0.0) -> float:
    """Return S^2/h <= L(Q)/n - v_0 for queries on single attributes, 0 for others and where none is sliced.

    Let p_i(x) be the share of the user types with x_i = x that a pattern T of the share f holds, and E_i the
    variance of p_i over x: the energy of T at the characters that touch attribute i alone. For prices
    alpha_i >= 0 and h >= c^2 sum_i alpha_i E_i/(1 + c f)^2 for all T, the Cauchy-Schwarz inequality of `delsarte`
    gives S = sum_i (a_i - 1) (v_i alpha_i)^(1/2). Attributes with few values, of which patterns of the best
    share would hold no whole number, are sliced (see `Slicing`); a single attribute has the bound `integer`.
    The others have price one, and sum_i E_i <= f - f^2 is all that is used of them. The prices of those sliced
    come from a short search, which ends where it is far below what is known of L(Q)/n - v_0. The number is a
    bound whatever prices it returned.

    Reference:
        Bobkov, An isoperimetric inequality on the discrete cube, 1997: an inequality of a product by its slices.
    """
    queried = [
        (spectrum.sizes[spectrum.groups[g][0]], len(spectrum.groups[g]), float(value))
        for kind, value in zip(spectrum.types, spectrum.values, strict=True)
        for g in np.flatnonzero(kind)
    ]
    groups = sorted((group for group in queried if group[0] > 1), key=lambda group: group[0])
    many = np.cumsum([count for _, count, _ in groups])
    sliced = [group for group, end in zip(groups, many, strict=True) if group[0] <= SIZE and end <= SLICED]
    if not sliced or many[-1] == 1 or any(sum(kind) > 1 for kind in spectrum.types):
        return 0.0
    whole = sum(_gain(group) for group in groups[len(sliced) :])
    return SlicedPrices(tuple(sliced), whole, math.expm1(epsilon)).best(known)


def _gain(group: tuple[int, int, float]) -> float:
    """Return the sum of (a - 1) sqrt(v) over a group of attributes: their size a, their number, v."""
    size, many, value = group
    return many * (size - 1) * math.sqrt(value)


@dataclass(frozen=True, eq=False)
class SlicedPrices:
    """The search of the logarithms of the prices of sliced groups; the other attributes have price one."""

    groups: tuple[tuple[int, int, float], ...]
    """The sliced groups: size of an attribute, number of attributes, eigenvalue v; smallest size first."""
    whole: float
    """The gain of the attributes that are not sliced."""
    c: float
    """Difference E - 1 of the two levels of a row."""

    def best(self, known: float) -> float:
        """Return the bound at the best prices of a coordinate search from those of single attributes."""
        x = 0.5 * np.log([self.alone(size) for size, _, _ in self.groups])
        value = self.value(x, *ROUGH)
        for step in STEPS:
            if value < HOPE * known:
                return value
            for move in np.vstack([step * np.eye(len(x)), -step * np.eye(len(x))]):
                found = self.value(x + move, *ROUGH)
                x, value = (x + move, found) if found > value else (x, value)
        return self.value(x, *FINE)

    def alone(self, size: int) -> float:
        """Return how much smaller f (1 - f)/(1 + c f)^2 is at shares that are multiples of 1/size than anywhere."""
        f = np.append(1 / (2 + self.c), np.arange(1, size) / size)
        heights = f * (1 - f) / (1 + self.c * f) ** 2
        return heights[0] / heights[1:].max()

    def value(self, logarithms: np.ndarray, cells: int, levels: int) -> float:
        """Return S^2/h at some prices."""
        prices = np.exp(logarithms)
        total = self.whole + sum(
            _gain(g) * math.sqrt(price) for g, price in zip(self.groups, prices, strict=True)
        )
        slicing = Slicing(cells, levels)
        ratios = np.full(cells, float(self.whole > 0))
        for (size, many, _), price in reversed(list(zip(self.groups, prices.tolist(), strict=True))):
            for _ in range(many):
                ratios = slicing.step(ratios, size, price)
        return total * (total / (slicing.height(ratios, self.c) * (1 + SLACK)))


@dataclass(frozen=True)
class Slicing:
    """Numbers A_g with sum_i alpha_i E_i <= A_g f (1 - f) for all patterns with f in a cell [g/M, (g + 1)/M].

    Before the first attribute is sliced, A = max_i alpha_i holds, since sum_i E_i is at most the variance of T.

    Slicing by one more attribute k of a values and price alpha: T has slices T_x of shares p_x with mean f.
    For i != k, p_i - f is the mean over x of what T_x has in its place, so that by Minkowski's inequality
    (sum_(i != k) alpha_i E_i)^(1/2) <= b = mean_x b(p_x), where b(p) = (A_g p (1 - p))^(1/2) in the cell g of p.
    Hence sum_i alpha_i E_i <= mean_x alpha p_x^2 - alpha f^2 + b^2.
    1. b^2 <= 2 r b - r^2 + d^2/4 for the closest of the levels r, d apart, which cover [0, max b].
    2. For p in the cell g from l to u, any slope lambda, and k = lambda - alpha (l + u),
       alpha p^2 + 2 r b(p) <= lambda (p - l) + psi_g, psi_g = alpha l^2 + max_p (2 r b(p) - k (p - l)),
       by the chord of the convex p^2. What is maximised is concave in p, its maximum known in closed form.
    3. So the mean of alpha p^2 + 2 r b(p) is at most lambda (f - I/(a M)) + the sum of psi_g/a over the cells
       of the p_x, where I, the sum of the a cells' numbers g, has a M f - a <= I <= a M f. The largest sum
       with each I is a max-plus power. For s <= a M f < s + 1, I is one of s - a, ..., s.
    4. lambda f - alpha f^2 is concave and so below its tangent: for these f, the bound on the energy is linear
       in f. A nonnegative linear function over the concave f (1 - f) is largest at an end of an interval.
    The largest over r and s and the smallest over lambda hold. So does max_i alpha_i, and as E_i is the same for
    the complement of T, the numbers A are computed for f <= 1/2.
    """

    cells: int
    """Number M of cells of the interval [0, 1], even."""
    levels: int

    def step(self, ratios: np.ndarray, size: int, price: float) -> np.ndarray:
        """Return the numbers A (M,) after one more attribute is sliced, from the numbers before."""
        least, most = float(ratios.min()), max(float(ratios.max()), price)
        slopes = np.linspace(least, most, min(SLOPES, 1 + math.ceil((most - least) / (SPACING * most))))
        r = np.linspace(0, math.sqrt(ratios.max()) / 2, self.levels)
        powers = max_plus_power(self.psi(ratios, price, slopes, r) / size, size, size * self.cells // 2)
        best = (powers - np.square(r)[:, None]).max(axis=1) + (r[1] / 2) ** 2 + SLACK
        half = np.minimum(self.ratios(best, size, price, slopes), most)
        return np.append(half, half[::-1])

    def ratios(self, best: np.ndarray, size: int, price: float, slopes: np.ndarray) -> np.ndarray:
        """Return A (M/2,) from the largest sums of psi/a - r^2 + d^2/4 by slope and I (s x a M/2)."""
        many = best.shape[1]
        left = np.arange(many) / (size * self.cells)
        right = left + 1 / (size * self.cells)
        padded = np.pad(best - slopes[:, None] * left, ((0, 0), (size, 0)), constant_values=-np.inf)
        constants = np.lib.stride_tricks.sliding_window_view(padded, size + 1, axis=1).max(axis=2)
        middle, largest = (left + right) / 2, np.zeros((len(slopes), many))
        with np.errstate(divide="ignore"):
            for f in (left, right):
                square = middle**2 + 2 * middle * (f - middle)
                energies = constants + slopes[:, None] * f - price * square
                largest = np.maximum(largest, energies / (f * (1 - f)))
        return largest.min(axis=0).reshape(-1, size).max(axis=1)

    def psi(self, ratios: np.ndarray, price: float, slopes: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return psi_g for every slope, level and cell, shape (slopes, levels, M)."""
        left = np.arange(self.cells) / self.cells
        right = left + 1 / self.cells
        k, curve = (slopes[:, None] - price * (left + right))[:, None], 2 * r[:, None] * np.sqrt(ratios)
        length = np.hypot(curve, k)
        peak = 0.5 * (1 - k / np.where(length > 0, length, 1.0))
        p = np.clip(peak, left, right)
        return price * left**2 + curve * np.sqrt(np.maximum(p * (1 - p), 0)) - k * (p - left)

    def height(self, ratios: np.ndarray, c: float) -> float:
        """Return h, the largest c^2 A_g f (1 - f)/(1 + c f)^2: the last factor grows up to f = 1/(2 + c)."""
        left = np.arange(self.cells) / self.cells
        f = np.clip(1 / (2 + c), left, left + 1 / self.cells)
        return float((ratios * c**2 * f * (1 - f) / (1 + c * f) ** 2).max())


def max_plus_power(terms: np.ndarray, exponent: int, length: int) -> np.ndarray:
    """Return the largest sums of `exponent` entries (... x length) along the last axis with each sum of places."""
    if exponent == 1:
        return terms[..., :length]
    half = max_plus_power(terms, exponent // 2, length)
    square = _max_plus(half, half, length)
    return _max_plus(terms, square, length) if exponent % 2 else square


def _max_plus(A: np.ndarray, B: np.ndarray, length: int) -> np.ndarray:
    """Return the max-plus products of sequences along the last axis, up to a length."""
    m, n = A.shape[-1], B.shape[-1]
    product = np.full((*A.shape[:-1], min(m + n - 1, length)), -np.inf)
    for i in range(min(m, length)):
        part = product[..., i : i + n]
        np.maximum(part, A[..., i, None] + B[..., : part.shape[-1]], out=part)
    return product


TYPES, SHIFTS, WORK = 1 << 17, 1 << 22, 1 << 24
"""Most types of characters, entries of a table of mean characters, and products of a Newton step."""
WHOLE = 1 << 10
"""Domain size up to which every whole pattern size is a constraint of the search."""
POINTS = 200
"""Number of pattern sizes that are constraints of the search on larger domains."""
NOISE = 1e-13
"""Most that rounding changes a mean of characters by."""
ROUNDS = 3
"""How often classes of translations are chosen where there are too many of them."""


def delsarte(spectrum: Spectrum, epsilon: float) -> float | None:
    """Return v_0 + max_(p, w) S^2/h <= L(Q)/n, None for more than 2^17 types of characters.

    Averaging a strategy over the translations and permutations that leave V as it is makes M diagonal. Its
    eigenvalue at a character chi != 0 is the mean, over patterns T of shares f of all user types, of
    |x^(chi)|^2 = c^2 |1_T^(chi)/n|^2/(1 + c f)^2, x = s/(1^T s), c = E - 1. Let B_l >= 0 be the sum of
    |1_T^(chi)/n|^2 over the mu_l characters of type l, and P_j(l) the mean of chi(g) over a class j of
    translations. Then sum_(l != 0) B_l = f - f^2, and because Pr[u in T, u + g in T] >= max(0, 2 f - 1),
    sum_(l != 0) B_l P_j(l) >= -min(f, 1 - f)^2.

    So for prices a_l = p - sum_j w_j P_j(l) that are >= 0 on all types l != 0, w >= 0 and W = sum_j w_j,
    sum_l mu_l a_l m_l <= h = max_f c^2 (p f (1 - f) + W min(f, 1 - f)^2)/(1 + c f)^2, and by Cauchy-Schwarz
    sum_l mu_l v_l/m_l >= S^2/h, S = sum_l mu_l (v_l a_l)^(1/2). w = 0 is the bound `integer`. The maximum over
    f is taken in closed form, over whole n f up to n = 2^53: the number is a bound whatever p and w the
    search returned. For queries on single attributes the larger of it and of `conditioning` is returned, for a few
    equal binary attributes the larger of it and of `cube`.

    Reference:
        Delsarte, An algebraic approach to the association schemes of coding theory, 1973.
    """
    dual = Dual.of(spectrum, epsilon)
    if dual is None:
        return None
    level = spectrum.value((0,) * len(spectrum.groups))
    found = dual.best() if dual.gains.any() else 0.0
    return level + max(found, conditioning(spectrum, epsilon, found), cube(spectrum, epsilon))


@dataclass(frozen=True, eq=False)
class Dual:
    """The dual of the linear programme. Types and classes are those of all groups, in C order."""

    gains: np.ndarray
    """mu_l sqrt(v_l) of all types but the trivial one (t - 1,)."""
    tables: tuple[np.ndarray, ...]
    """P_j(l) of each group (m + 1 x k), l down and some classes j, 0 among them, across."""
    cells: int | None
    """Number n of user types; None above 2^53."""
    c: float
    """Difference E - 1 of the two levels of a row."""

    @staticmethod
    def of(spectrum: Spectrum, epsilon: float) -> Dual | None:
        """Return the program of a spectrum, None if there are too many types."""
        kept = [k for k, group in enumerate(spectrum.groups) if spectrum.sizes[group[0]] > 1]
        groups = [spectrum.groups[k] for k in kept]
        shape = tuple(len(group) + 1 for group in groups)
        if math.prod(shape) > TYPES:
            return None
        gains = np.zeros(shape)
        for kind, value, many in zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True):
            gains[tuple(kind[k] for k in kept)] += many * math.sqrt(value)
        tables = tuple(
            krawtchouk(len(group), spectrum.sizes[group[0]], _spread(len(group))) for group in groups
        )
        n = math.prod(spectrum.sizes)
        return Dual(gains.reshape(-1)[1:], tables, n if n <= COUNTED else None, math.expm1(epsilon))

    @property
    def classes(self) -> tuple[int, ...]:
        """How many classes of translations each group has in its table."""
        return tuple(table.shape[1] for table in self.tables)

    def columns(self, chosen: np.ndarray) -> np.ndarray:
        """Return P_j(l) of all types but the trivial one (t - 1 x k) for classes by their number."""
        places = np.unravel_index(chosen, self.classes)
        rows = [table[:, place] for table, place in zip(self.tables, places, strict=True)]
        product = reduce(lambda A, B: (A[:, None, :] * B[None, :, :]).reshape(-1, len(chosen)), rows)
        return product[1:]

    def correlations(self, energies: np.ndarray) -> np.ndarray:
        """Return sum_l B_l P_j(l) of all classes j but the trivial one, B = energies (t - 1,)."""
        tensor = np.append(0.0, energies).reshape([len(table) for table in self.tables])
        for table in self.tables:
            tensor = np.tensordot(tensor, table, axes=(0, 0))
        return tensor.reshape(-1)[1:]

    def best(self) -> float:
        """Return the largest S^2/h that the search finds."""
        room = max(1, math.isqrt(WORK // (len(self.gains) + 1)))
        total = math.prod(self.classes) - 1
        chosen, energies = np.zeros(0, dtype=int), self.gains
        found = self.value(np.zeros((len(self.gains), 0)), 1.0, np.zeros(0))
        for _ in range(ROUNDS if total > room else 1):
            share = total if total <= room else max(1, room // ROUNDS)
            wanted = 1 + np.argsort(self.correlations(energies), kind="stable")[:share]
            chosen = np.union1d(chosen, wanted)
            columns = self.columns(chosen)
            (p, *weights), energies = self.search(columns)
            found = max(found, self.value(columns, p, np.array(weights)))
        return found

    def search(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (p, w_1, ..., w_k) near the best for these classes, and the energies that hold against it."""
        alpha, beta = self.curve
        G = np.column_stack([np.ones(len(columns)), -columns])
        C = np.column_stack([alpha, np.repeat(beta[:, None], columns.shape[1], axis=1)])
        return maximise(self.gains, G, C / alpha.max())

    @cached_property
    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """f (1 - f) and min(f, 1 - f)^2, over (1 + c f)^2, for f between 1/(1 + E) and 1/2, the best ones."""
        low = 1 / (2 + self.c)
        if self.cells is not None and self.cells <= WHOLE:
            f = np.arange(max(1, int(self.cells * low)), (self.cells + 1) // 2 + 1) / self.cells
        else:
            # (2 + c) f/(1 + c f) in even steps up to 1, where f is 1/2 however large c is
            shares = np.linspace((2 + self.c) / (2 + 2 * self.c), 1, POINTS)
            f = shares / (2 + self.c * (1 - shares))
        return f * (1 - f) / (1 + self.c * f) ** 2, (np.minimum(f, 1 - f) / (1 + self.c * f)) ** 2

    def value(self, columns: np.ndarray, p: float, weights: np.ndarray) -> float:
        """Return S^2/h at multipliers made feasible: w >= 0, and p so large that all prices are.

        Prices that rounding makes too large are exact for a p larger by less than what h is given.
        """
        w = np.where(weights > 0, weights, 0.0)
        w, p = (w, p) if np.isfinite(w).all() and math.isfinite(p) else (np.zeros_like(w), 1.0)
        shares, added = columns @ w, float(w.sum())
        p = float(max(p, shares.max(initial=0.0)))
        scale = p + added
        if scale == 0:
            return 0.0
        total = float(self.gains @ np.sqrt(np.maximum(p - shares, 0.0) / scale))
        return total * (total / self.height((p + NOISE * added) / scale, added / scale))

    def height(self, p: float, total: float) -> float:
        """Return h: over f it grows up to p/((1 + E) p - 2 W), at most 1/2, and falls from there."""
        bend = (2 + self.c) * p - 2 * total
        peak = p / bend if bend > 2 * p else 0.5
        if self.cells is None:
            return self.energy(peak, p, total)
        below = math.floor(self.cells * peak)
        near = [k for k in range(below - 1, below + 3) if 0 < k < self.cells]
        return max(self.energy(k / self.cells, p, total) for k in near)

    def energy(self, f: float, p: float, total: float) -> float:
        """Return the largest sum_l mu_l a_l m_l of patterns of the share f of all user types."""
        return self.c**2 * (p * f * (1 - f) + total * min(f, 1 - f) ** 2) / (1 + self.c * f) ** 2


def _spread(many: int) -> np.ndarray:
    """Return numbers of places that a translation moves: all of 0, ..., m, or evenly spread ones."""
    count = min(many + 1, max(2, min(WHOLE, SHIFTS // (many + 1))))
    return np.unique(np.linspace(0, many, count).round().astype(int))
