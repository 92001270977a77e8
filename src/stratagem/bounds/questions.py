"""What one report can tell of several questions at once: small attributes are sliced, the others have weights."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from stratagem.bounds.bound import Case, norms
from stratagem.bounds.duals import weighted_dual
from stratagem.bounds.formulas import ULP, Rule, root_trace
from stratagem.workloads import Workload
from stratagem.workloads.structure import Spectrum
from stratagem.workloads.table import attributes_asked, by_attributes
from stratagem.workloads.workload import Margin

QUESTIONS = Rule("questions", "what one report can tell of several questions at once", "@stratagem", 10)
YES_NO, SIZE, SLICED = 2, 8, 12
"""Values of a yes/no question, most values of an attribute that is sliced, and most attributes that are."""
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
CELLS, POWERS = 512, (1.0, 0.75, 0.5, 0.25, 0.0)
"""Most cells of all tables that have weights, and powers of their weights that are tried."""


class SlicedGroup(NamedTuple):
    """Attributes of one size that are sliced at one price."""

    size: int
    many: int
    value: float
    """Square of the mean root v^(1/2) of an eigenvalue of V/n on one of them."""

    @property
    def gain(self) -> float:
        """The sum of (a - 1) v^(1/2) over the attributes."""
        return self.many * (self.size - 1) * math.sqrt(self.value)


def conditioning(spectrum: Spectrum, epsilon: float, known: float = 0.0) -> float:
    """Return S^2/h <= L(Q)/n - v_0 for queries on single attributes, 0 for others and where none is sliced.

    Let p_i(x) be the share of the user types with x_i = x that a pattern T of the share f holds, and E_i the
    variance of p_i over x: the energy of T at the characters that touch attribute i alone. For prices
    alpha_i >= 0 and h >= c^2 sum_i alpha_i E_i/(1 + c f)^2 for all T, the Cauchy-Schwarz inequality of `delsarte`
    gives S = sum_i (a_i - 1) (v_i alpha_i)^(1/2). Attributes with few values, of which patterns of the best
    share would hold no whole number, are sliced (see `Slicing` and `Halving`); a single attribute has the bound
    `integer`. The others have price one, and sum_i E_i <= f - f^2 is all that is used of them. The prices of those
    sliced come from a short search, which ends where it is far below what is known of L(Q)/n - v_0. The number is a
    bound whatever prices it returned.

    Reference:
        Bobkov, An isoperimetric inequality on the discrete cube, 1997: an inequality of a product by its slices.
    """
    if any(sum(kind) > 1 for kind in spectrum.types):
        return 0.0
    groups = [
        SlicedGroup(spectrum.sizes[spectrum.groups[g][0]], len(spectrum.groups[g]), float(value))
        for kind, value in zip(spectrum.types, spectrum.values, strict=True)
        for g in np.flatnonzero(kind)
    ]
    return _sliced([one for one in groups if one.size > 1], lambda _: 0.0, epsilon, known)


def questions(workload: Workload, norm: float, epsilon: float) -> float:
    """Return S^2/h <= L(Q)/n - v_0 for a survey, 0 for one table and where nothing is known but the norm.

    Theory.md, section 4, says what the number is and why. `norm` is the nuclear norm of all queries without their
    means, over n^(1/2).
    """
    tables = [one for one in by_attributes(workload) if attributes_asked(one)]
    held = Counter(i for one in tables for i in one.attributes)
    groups, others = list[SlicedGroup](), list[Margin]()
    for one in tables:
        size = one.workload.domain_size
        if len(one.attributes) == 1 and held[one.attributes[0]] == 1 and size <= SIZE:
            groups.append(
                SlicedGroup(size, 1, (norms(Case(one.workload, epsilon)).centred / (size - 1)) ** 2)
            )
        elif all(held[i] == 1 for i in one.attributes) and one.workload.structure.spectrum is None:
            others.append(one)
    if len(tables) == 1 or not (groups or others):
        return 0.0
    weighed = CellWeights.of(others, epsilon)
    if not (groups or weighed.roots):
        return 0.0
    rest = max(0.0, norm - sum(one.gain for one in groups) - weighed.norm)
    return _sliced(groups, lambda height: rest + weighed.root(height), epsilon)


@dataclass(frozen=True, eq=False)
class CellWeights:
    """Weights gamma_i, of mean one, on the cells of tables that share no attribute, and roots of their V_i."""

    roots: tuple[np.ndarray, ...]
    """F_i (n_i x r_i) with F_i F_i^T = P V_i P/n_i."""
    gammas: tuple[np.ndarray, ...]

    @staticmethod
    def of(tables: Sequence[Margin], epsilon: float) -> CellWeights:
        """Return the weights that are best for each table alone; none for what does not fit."""
        roots, gammas, cells = list[np.ndarray](), list[np.ndarray](), 0
        for one in sorted(tables, key=lambda table: table.workload.domain_size):
            cells += (size := one.workload.domain_size)
            if cells > CELLS:
                break
            case = Case(one.workload, epsilon)
            gamma = weighted_dual(case).gamma
            roots.append(case.factor() / math.sqrt(size))
            gammas.append(gamma / gamma.mean())
        return CellWeights(tuple(roots), tuple(gammas))

    @property
    def norm(self) -> float:
        """What `root` is without weights, from above."""
        return sum(float(np.linalg.svd(one, compute_uv=False).sum()) for one in self.roots)

    def root(self, height: float) -> float:
        """Return tr (F^T G F)^(1/2) from below, G = diag(gamma) - g g^T by table less h g g^T on all of them.

        g_i = gamma_i/n_i^(1/2). Of the powers of the weights that are tried the best counts for which G >= 0.
        """
        return max((self._at(power, height) for power in POWERS), default=0.0) if self.roots else 0.0

    def _at(self, power: float, height: float) -> float:
        blocks, pulled, size = [], [], 0.0
        for F, weights in zip(self.roots, self.gammas, strict=True):
            gamma = weights**power / (weights**power).mean()
            own = F.T @ ((gamma - 1) / math.sqrt(len(F)))
            blocks.append((F.T * gamma) @ F - np.outer(own, own))
            pulled.append(own)
            size += float(gamma @ np.square(F).sum(axis=1)) * len(F)
        g = np.concatenate(pulled)
        values = np.linalg.eigvalsh(np.asarray(block_diag(*blocks)) - height * np.outer(g, g))
        error = 16 * ULP * size * (1 + height)
        return 0.0 if values[0] < -error else root_trace(values, error)


def _sliced(
    groups: Sequence[SlicedGroup], whole: Callable[[float], float], epsilon: float, known: float = 0.0
) -> float:
    """Return S^2/h with the smallest attributes sliced; `whole` is the gain of all that is in no group, by h."""
    halves = [one for one in groups if one.size == YES_NO]
    many = sum(one.many for one in halves)
    together = [SlicedGroup(YES_NO, many, (sum(one.gain for one in halves) / many) ** 2)] if halves else []
    ordered = together + sorted(one for one in groups if one.size > YES_NO)
    ends = np.cumsum([one.many for one in ordered])
    sliced = [one for one, end in zip(ordered, ends, strict=True) if one.size <= SIZE and end <= SLICED]
    rest = sum(one.gain for one in ordered[len(sliced) :])
    if not whole(0.0) and (not sliced or ends[-1] == 1):
        return 0.0
    return SlicedPrices(tuple(sliced), lambda height: rest + whole(height), math.expm1(epsilon)).best(known)


@dataclass(frozen=True, eq=False)
class SlicedPrices:
    """The search of the logarithms of the prices of sliced groups; the other attributes have price one."""

    groups: tuple[SlicedGroup, ...]
    """The sliced groups, smallest size first."""
    whole: Callable[[float], float]
    """The gain of all else, by the h for which it is counted."""
    c: float
    """Difference E - 1 of the two levels of a row."""
    found: dict[Any, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)
    """What the last groups gave at their prices: the search moves one price at a time."""

    def best(self, known: float) -> float:
        """Return the bound at the best prices of a coordinate search from those of single attributes."""
        x = 0.5 * np.log([self.alone(one.size) for one in self.groups])
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
        prices = tuple(np.exp(logarithms).tolist())
        h = height(*self._after(prices, cells, levels), self.c) * (1 + SLACK)
        gains = sum(one.gain * math.sqrt(price) for one, price in zip(self.groups, prices, strict=True))
        total = self.whole(h) + gains
        return total * (total / h)

    def _after(self, prices: tuple[float, ...], cells: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers A and the ends of their cells after the last groups are sliced at these prices."""
        if not prices:
            return np.full(cells, float(self.whole(0.0) > 0)), np.linspace(0, 1, cells + 1)
        if (asked := (prices, cells, levels)) not in self.found:
            group, (ratios, edges) = self.groups[-len(prices)], self._after(prices[1:], cells, levels)
            if group.size > YES_NO:
                for _ in range(group.many):
                    ratios = Slicing(cells, levels).step(ratios, group.size, prices[0])
            else:
                halving = Halving(2 * cells)
                ratios, edges = halving.run(halving.spread(ratios), group.many, prices[0]), halving.edges
            self.found[asked] = ratios, edges
        return self.found[asked]


def height(ratios: np.ndarray, ends: np.ndarray, c: float) -> float:
    """Return h, the largest c^2 A_g f (1 - f)/(1 + c f)^2: the last factor grows up to f = 1/(2 + c)."""
    f = np.clip(1 / (2 + c), ends[:-1], ends[1:])
    return float((ratios * c**2 * f * (1 - f) / (1 + c * f) ** 2).max())


@dataclass(frozen=True)
class Halving:
    """Numbers A_g as those of `Slicing` for yes/no attributes of one price alpha, in cells of theta, f = sin^2 theta/2.

    Let q_j be the difference of the shares of T in its two slices along attribute j, so that E_j = q_j^2/4, and t the
    largest |q_j|. T differs between the slices in a share of at least t of the places, so that the characters that
    touch this attribute have the energy t/4 or more, and those that touch others as well t (1 - t)/4 or more, which no
    question sees. With B >= A for what is not sliced here, a = max(alpha - B, 0) and k attributes,

        sum_i alpha_i E_i <= B R + a min(k t^2/4, R),  R = f (1 - f) - t (1 - t)/4.

    By Minkowski's inequality along the attribute of t as in `Slicing`, with p the shares of its slices,
    sum_i alpha_i E_i <= alpha t^2/4 + (b(p_0) + b(p_1))^2/4. The smaller of both holds, and the largest over all p.
    """

    cells: int
    """Number M of cells, even."""

    @property
    def edges(self) -> np.ndarray:
        """The ends of the cells (M + 1,), symmetric about 1/2."""
        half = np.sin(np.linspace(0, math.pi / 2, self.cells // 2 + 1) / 2) ** 2
        half[-1] = 0.5
        return np.append(half, 1 - half[-2::-1])

    def spread(self, ratios: np.ndarray) -> np.ndarray:
        """Return numbers A (M,) for these cells from those for cells of even length, the largest of those met."""
        edges, many = self.edges, len(ratios)
        first = np.clip(np.floor(edges[:-1] * many - SLACK), 0, many - 1).astype(int)
        last = np.clip(np.floor(edges[1:] * many + SLACK), 0, many - 1).astype(int)
        return np.array([ratios[i : j + 1].max() for i, j in zip(first, last, strict=True)])

    def run(self, ratios: np.ndarray, many: int, price: float) -> np.ndarray:
        """Return the numbers A (M,) after so many attributes are sliced."""
        edges, base = self.edges, float(ratios.max())
        low, high = edges[:-1], edges[1:]
        i, j = np.triu_indices(self.cells)
        i, j = i[low[i] + low[j] <= 1], j[low[i] + low[j] <= 1]
        least, most = (low[i] + low[j]) / 2, np.minimum((high[i] + high[j]) / 2, 0.5)
        near, far = np.maximum(low[j] - high[i], 0.0), np.minimum(high[j] - low[i], 1.0)
        hidden = np.minimum(near * (1 - near), far * (1 - far)) / 4
        with np.errstate(divide="ignore"):
            square, whole = far**2 / 4, 1 / (least * (1 - least))
            room = 1 - hidden / (most * (1 - most))
        first = np.searchsorted(edges, least, side="right") - 1
        spans = np.searchsorted(edges, most, side="left") - first
        peaks = np.where((low < 0.5) & (high > 0.5), 0.25, np.maximum(low * (1 - low), high * (1 - high)))
        for k in range(1, many + 1):
            b = np.sqrt(ratios * peaks)
            along = (price * square + (b[i] + b[j]) ** 2 / 4) * whole
            apart = base * room + max(price - base, 0.0) * np.minimum(k * square * whole, room)
            found = np.minimum(np.minimum(along, apart), max(price, base)) + SLACK
            half = np.zeros(self.cells + 2)
            for step in range(int(spans.max())):
                np.maximum.at(half, np.minimum(first + step, self.cells), np.where(step < spans, found, 0.0))
            half = half[: self.cells // 2]
            ratios = np.append(half, half[::-1])
        return ratios


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
        terms = np.ascontiguousarray(np.moveaxis(self.psi(ratios, price, slopes, r), -1, 0)) / size
        powers = max_plus_power(terms, size, size * self.cells // 2)
        best = (powers - np.square(r)).max(axis=2).T + (r[1] / 2) ** 2 + SLACK
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


def max_plus_power(terms: np.ndarray, exponent: int, length: int) -> np.ndarray:
    """Return the largest sums of `exponent` entries (length x ...) along the first axis with each sum of places."""
    if exponent == 1:
        return terms[:length]
    half = max_plus_power(terms, exponent // 2, length)
    square = _max_plus(half, half, length)
    return _max_plus(terms, square, length) if exponent % 2 else square


def _max_plus(A: np.ndarray, B: np.ndarray, length: int) -> np.ndarray:
    """Return the max-plus products of sequences along the first axis, up to a length; of a square, half the sums."""
    product = np.full((min(len(A) + len(B) - 1, length), *A.shape[1:]), -np.inf)
    sums = np.empty_like(B)
    for i in range(min(len(A), length)):
        first = i if A is B else 0
        part = product[i + first : i + len(B)]
        found = np.add(A[i], B[first : first + len(part)], out=sums[: len(part)])
        np.maximum(part, found, out=part)
    return product
