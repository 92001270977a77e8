"""The linear programming bound, from constraints that translations put on a pattern's Fourier transform."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np

from stratagem.bounds.formulas import Rule
from stratagem.bounds.questions import conditioning
from stratagem.bounds.three_point import cube
from stratagem.math.optimisers import maximise
from stratagem.math.transform import krawtchouk
from stratagem.workloads.structure import Spectrum
from stratagem.workloads.workload import COUNTED

DELSARTE = Rule(
    "delsarte",
    "what the symmetry of the queries allows the sets that reports favour",
    "@stratagem; @delsarte1973algebraic; @schrijver2005new",
    9,
)
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
