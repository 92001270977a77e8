"""A lower bound on L(Q) as a few arrays, from which it can be computed again and checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, combinations, islice
from math import comb
from typing import NamedTuple

import numpy as np

from stratagem.bounds.formulas import ULP, Rule, root_trace, safe
from stratagem.math.privacy import uniform

NONNEGATIVE = Rule(
    "nonnegative",
    "a convex programme over pairs of user types; sharp where reports favour few",
    "@stratagem; @wentges1997weighted",
    5,
)
WHOLE, LISTING = 20, 1 << 24
"""Largest domain of which all patterns are listed; on others, most products in x^T G x of all listed x."""
BLOCK = 1 << 15
"""Patterns that are looked at together."""


def listed_size(n: int) -> int:
    """Return the size up to which all patterns of n user types are listed: n itself up to n = 20."""
    if n <= WHOLE:
        return n
    size, many = 0, 1
    while (many := many + comb(n, size + 1)) * n**2 <= LISTING:
        size += 1
    return size


def sets(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return sets by their numbers, whose bits are their members, as rows of zeros and ones (N, n)."""
    return (numbers[:, None] >> np.arange(n)) & 1


def all_patterns(n: int) -> np.ndarray:
    """Return all 2^n patterns (2^n, n) bool, the empty one first and the full one last."""
    return sets(np.arange(2**n), n).astype(bool)


class AllPatterns:
    """All 2^n patterns, each a pattern of the first half of the types and one of the others.

    Number i stands for the bits of i, the first type in the highest one. What is asked of all of them is a sum of
    what both halves say and, of quadratic forms, one matrix product.
    """

    def __init__(self, n: int) -> None:
        """List the patterns of both halves."""
        self.first = n // 2
        self.halves = [sets(np.arange(2**many), many)[:, ::-1].astype(float) for many in (n // 2, n - n // 2)]

    def chosen(self, numbers: np.ndarray) -> np.ndarray:
        """Return some patterns (N, n), zeros and ones."""
        head, tail = self.halves
        places = np.divmod(numbers, len(tail))
        return np.concatenate([head[places[0]], tail[places[1]]], axis=1)

    def linear(self, weights: np.ndarray) -> np.ndarray:
        """Return w^T x of all patterns (2^n,)."""
        head, tail = self.halves
        return np.add.outer(head @ weights[: self.first], tail @ weights[self.first :]).ravel()

    def quadratic(self, A: np.ndarray) -> np.ndarray:
        """Return x^T A x of all patterns (2^n,), A symmetric (n x n)."""
        head, tail, k = *self.halves, self.first
        own = ((head @ A[:k, :k]) * head).sum(axis=1), ((tail @ A[k:, k:]) * tail).sum(axis=1)
        return (np.add.outer(*own) + head @ (2 * A[:k, k:]) @ tail.T).ravel()


def listed_patterns(n: int, size: int) -> Iterator[np.ndarray]:
    """Yield the patterns of at most `size` of n user types in blocks, as rows of zeros and ones."""
    if size == n:
        for first in range(0, 2**n, BLOCK):
            yield sets(np.arange(first, min(first + BLOCK, 2**n)), n).astype(float)
        return
    smaller = chain.from_iterable(combinations(range(n), many) for many in range(size + 1))
    while block := list(islice(smaller, BLOCK)):
        X = np.zeros((len(block), n))
        rows = np.repeat(np.arange(len(block)), [len(members) for members in block])
        X[rows, np.fromiter(chain.from_iterable(block), dtype=int)] = 1.0
        yield X


EACH, GROWTH = 64, 1.05
"""Largest pattern size that is a group of its own, and the factor by which the groups of larger sizes
grow."""
PARTS, FINE, ROUNDS, WORK = 16, 1e-5, 6, 1 << 22
"""Parts of the masses of a size, and of each part where the relative error is larger; how often, and most entries of
their rows."""
HALVINGS, LIGHT = 30, 1e-4
"""Bisections of a multiplier, any of which gives a valid bound, and least h by which its range is divided."""


class Terms(NamedTuple):
    """Numerators linear x + constant of patterns x of at most some sizes at masses f (K,), over a^2."""

    linear: np.ndarray
    """Coefficients of x, shape (K, n)."""
    constant: np.ndarray
    square: float
    """Half the second derivative of linear x + constant by f."""


class Boxes(NamedTuple):
    """Ranges of sizes and of masses (B,)."""

    fewest: np.ndarray
    most: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def beyond(p: np.ndarray, size: int) -> Boxes:
        """Return boxes for all patterns of more types than a size."""
        fewest = groups(size + 1, len(p))
        most = np.append(fewest[1:], len(p) + 1) - 1
        least, largest = masses(p)
        error = len(p) * ULP
        whole = Boxes(fewest, most, least[fewest] * (1 - error), largest[most] * (1 + error))
        return whole.divided(np.full(len(fewest), True))

    def divided(self, chosen: np.ndarray) -> Boxes:
        """Return the chosen boxes (mask of shape (B,)), each divided into equal ranges of mass."""
        fewest, most, low, high = (side[chosen].repeat(PARTS) for side in self)
        part = np.tile(np.arange(PARTS), int(chosen.sum()))
        ends = (low + (high - low) * share / PARTS for share in (part, part + 1))
        return Boxes(fewest, most, *ends)


def groups(first: int, n: int) -> np.ndarray:
    """Return the least size of each group of the sizes first, ..., n: one by one up to 64, then wider and wider."""
    sizes = [first]
    while (following := max(sizes[-1] + 1, int(sizes[-1] * GROWTH) if sizes[-1] >= EACH else 0)) <= n:
        sizes.append(following)
    return np.array(sizes)


def masses(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest mass of patterns of 0, 1, ..., n types (n + 1,)."""
    inorder = np.sort(p)
    return np.append(0.0, np.cumsum(inorder)), np.append(0.0, np.cumsum(inorder[::-1]))


def largest(terms: Callable[[np.ndarray, np.ndarray], Terms], p: np.ndarray, c: float, listed: int) -> float:
    """Return a bound on (linear x + constant)/a^2, a = n (1 + c f), of all patterns of more types than are listed."""
    found, level, boxes, left = -math.inf, -math.inf, Boxes.beyond(p, listed), ROUNDS
    while True:
        middle, most, _ = within(terms, p, c, boxes, level)
        level, left = max(level, float(middle.max())), left - 1
        wide = most > level + FINE * abs(level)
        if not left or not wide.any() or PARTS * int(wide.sum()) * len(p) > WORK:
            return max(found, float(most.max()))
        found = max(found, float(most[~wide].max(initial=-math.inf)))
        boxes = boxes.divided(wide)


def within(
    terms: Callable[[np.ndarray, np.ndarray], Terms], p: np.ndarray, c: float, boxes: Boxes, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return about what is reached in the middle of boxes, what bounds all of them, and their multipliers t (B,).

    For any t and u the numerator is at most constant + t (n f - h^T x) + u (k - 1^T x) + linear x for patterns of k
    types and mass f, whatever x in [0, 1]^n. For given x, t and u that is quadratic in f, and so it is less a level
    times a^2: between two masses it is below the larger end, or above it by a quarter of the square of the step where
    it is concave. Any level is valid; the best is the largest (linear x + constant)/a^2.
    """
    n, f, k = len(p), (boxes.low + boxes.high) / 2, (boxes.fewest + boxes.most) // 2
    h, rows = n * p, np.arange(len(boxes.low))
    linear, constant, _ = terms(boxes.most, f)
    t = tilts(linear, h, k, n * f)
    tilted = -np.sort(np.outer(t, h) - linear, axis=1)
    u, a = tilted[rows, k - 1], n * (1 + c * f)
    reached = (constant + t * n * f + tilted.cumsum(axis=1)[rows, k - 1]) / a**2
    level = max(level, float(reached.max()))

    def end(f: np.ndarray) -> tuple[np.ndarray, float]:
        linear, constant, square = terms(boxes.most, f)
        positive = np.maximum(linear - np.outer(t, h) - u[:, None], 0).sum(axis=1)
        counted = np.maximum(u * boxes.fewest, u * boxes.most)
        return constant + t * n * f + counted + positive - level * (n * (1 + c * f)) ** 2, square

    (left, square), (right, _) = end(boxes.low), end(boxes.high)
    concave = max(0.0, level * (n * c) ** 2 - square)
    rounding = 16 * n * ULP * (n * (np.abs(t) + np.abs(u)) + abs(level) * a**2 * 4)
    worst = np.maximum(left, right) + concave * np.square((boxes.high - boxes.low) / 2) + rounding
    nearest = np.where(worst > 0, boxes.low, boxes.high)
    return reached, level + worst / (n * (1 + c * nearest)) ** 2, t


def tilts(linear: np.ndarray, h: np.ndarray, sizes: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return for every row the t (K,) at which the largest entries of linear - t h, as many as a size, have a mass."""
    rows = np.arange(len(linear))
    reach = 4 * np.abs(linear).max(axis=1) / max(float(h[h > 0].min()), LIGHT)
    low, high = -reach, reach
    for _ in range(HALVINGS):
        t = (low + high) / 2
        order = np.argsort(np.outer(t, h) - linear, axis=1)
        heavy = h[order].cumsum(axis=1)[rows, sizes - 1] > mass
        low, high = np.where(heavy, t, low), np.where(heavy, high, t)
    return (low + high) / 2


TINY = 1e-30
"""Least gamma, relative to the largest, by whose root rows are divided."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Proof:
    """Weights gamma and w, a matrix N and prices lambda: together a lower bound on L(Q) of every strategy.

    The proof is in theory.md, section 4, number 6; here it is under a prior.
    For a prior p and h = n p, which M h = 1 makes 1 in the average case, let c = E - 1. Any pattern T with indicator
    x and f = p^T x is the row s = 1 + c x, with a = h^T s = n (1 + c f). On h^perp the matrix
    G = diag(gamma) - N - w w^T must be positive semidefinite. Let R be what N is below zero, and b_u the sum of the
    k - 1 largest entries of row u of R. As x_i^2 = x_i, x^T N x >= -x^T R x >= -b^T x for at most k types, and
    (w^T x)^2 >= 2 r w^T x - r^2 for any r, here r = r_0 + r_1 f,

        s^T A^T G A s/c^2 <= q(f, x) = (gamma + b - 2 r w - 2 f G 1)^T x + r^2 + f^2 1^T G 1,   A = I - 1 p^T.

    N = 0, w proportional to gamma and a certain r are the weighted bound. If delta is at least
    [c^2 q(f, x) - a lambda^T s]/a^2 for every pattern, then tr(G Y) <= D for Y = A M A^T of every strategy,
    D = 1^T lambda + n delta, and Cauchy-Schwarz for the nuclear norm gives

        L(Q) >= h^T V h/n + S^2/D,   S = tr (F^T G F)^(1/2),   F F^T = A V A^T.

    Small patterns are listed (see `listed_size`): delta holds their s^T A^T G A s itself.

    Every choice of the arrays is a valid bound; how they were found does not matter.
    """

    gamma: np.ndarray
    """Weights of the user types (n,)."""
    avoided: np.ndarray
    """N (n x n), symmetric, zero on its diagonal: what patterns pay for two types together, of any sign."""
    spread: np.ndarray
    """Vector w (n,): patterns pay if their weight w^T x is far from r."""
    level: tuple[float, float]
    """Coefficients (r_0, r_1) of r = r_0 + r_1 f."""
    prices: np.ndarray
    """Prices lambda of the user types, shape (n,)."""
    factor: np.ndarray
    """Factor F (n x r) of the centred Gram matrix, F F^T = A V A^T."""
    total: float
    """Constant part h^T V h/n of the bound."""
    epsilon: float
    prior: np.ndarray | None = None
    """Prior p over the user types (n,); None for 1/n."""
    ulps: float = 0.0
    """Relative error of F F^T (see `formulas.ulps`)."""

    @cached_property
    def value(self) -> float:
        """The bound, from below after every rounding; no less than h^T V h/n, zero at the least.

        Each eigenvalue of a product has an error of at most n ulp of the sum of absolute values in it, which the
        Frobenius norms bound; F F^T has one of `ulps`. Sums of 2 n terms lose at most 2 n ulp of their absolute values.
        """
        S, D = self.root, self.price
        return safe(self.total + (S * S / D if D > 0 and math.isfinite(D) else 0.0), self.epsilon)

    @cached_property
    def root(self) -> float:
        """S, from below."""
        G, size = self.matrix(self.definite), float(np.square(self.factor).sum())
        norm = float(np.linalg.norm(self._absolute(self.definite)))
        error = (self.ulps + 8 * len(G) * ULP) * norm * size
        return root_trace(np.linalg.eigvalsh(self.factor.T @ G @ self.factor), error)

    @cached_property
    def delta(self) -> float:
        """What the prices leave, from above."""
        return self._excess(self.definite)

    @cached_property
    def price(self) -> float:
        """D = 1^T lambda + n delta, from above."""
        n = len(self.gamma)
        rounding = 2 * n * ULP * float(np.abs(self.prices).sum())
        return float(self.prices.sum()) + n * self.delta + rounding

    def matrix(self, gamma: np.ndarray) -> np.ndarray:
        """Return G (n x n) for some gamma."""
        return np.diag(gamma) - self.avoided - np.outer(self.spread, self.spread)

    def _absolute(self, gamma: np.ndarray) -> np.ndarray:
        """Return the sums (n x n) of the absolute values of the terms of G, which its rounding is relative to."""
        return np.diag(np.abs(gamma)) + np.abs(self.avoided) + np.abs(np.outer(self.spread, self.spread))

    @cached_property
    def definite(self) -> np.ndarray:
        """gamma (n,), raised until G is positive semidefinite on h^perp in spite of rounding.

        Rows and columns are divided by gamma^(1/2) first, as types that a prior hardly knows have a tiny gamma. An
        eigenvalue is off by 16 n ulp of the norm of the sums of absolute values.
        """
        n, G = len(self.gamma), self.matrix(self.gamma)
        diagonal = np.abs(self.gamma)
        diagonal = np.maximum(diagonal, TINY * (float(diagonal.max()) or 1.0))
        scale = 1 / np.sqrt(diagonal)
        direction = scale if self.prior is None else scale * self.prior
        direction = direction / np.linalg.norm(direction)
        seen, size = (np.outer(scale, scale) * matrix for matrix in (G, self._absolute(self.gamma)))
        seen = seen - np.outer(seen @ direction, direction)
        seen = seen - np.outer(direction, direction @ seen)
        least = float(np.linalg.eigvalsh((seen + seen.T) / 2)[0]) - 16 * n * ULP * float(np.linalg.norm(size))
        return self.gamma + max(0.0, -least) * diagonal

    def _excess(self, gamma: np.ndarray) -> float:
        """Return delta for all patterns, an allowance of 8 n ulp of its terms included."""
        n = len(gamma)
        size = listed_size(n)
        if size == n:
            return float(self.excess_of_all(gamma).max())
        found = max(float(self.excess(X, gamma).max()) for X in listed_patterns(n, size))
        return max(found, self._unlisted_excess(gamma, size))

    def excess(self, X: np.ndarray, gamma: np.ndarray) -> np.ndarray:
        """Return [c^2 q - a lambda^T s]/a^2 of patterns X (N x n), an allowance of 8 n ulp of its terms included."""
        n, c = len(gamma), math.expm1(self.epsilon)
        G = self.matrix(gamma)
        f = X @ (uniform(n) if self.prior is None else self.prior)
        Y, a = X - f[:, None], n * (1 + c * f)
        total = float(self.prices.sum())
        found = c**2 * ((Y @ G) * Y).sum(axis=1) - a * (total + c * (X @ self.prices))
        upper, absolute = X + f[:, None], np.abs(self.prices)
        size = c**2 * ((upper @ self._absolute(gamma)) * upper).sum(axis=1)
        size += a * (absolute.sum() + c * (X @ absolute))
        return (found + 8 * n * ULP * size) / a**2

    def excess_of_all(self, gamma: np.ndarray) -> np.ndarray:
        """Return the excess of all patterns (2^n,), in the order of `AllPatterns`; A is expanded."""
        n, c, every = len(gamma), math.expm1(self.epsilon), AllPatterns(len(gamma))
        f = every.linear(uniform(n) if self.prior is None else self.prior)
        G, absolute, prices = self.matrix(gamma), self._absolute(gamma), np.abs(self.prices)
        a = n * (1 + c * f)
        with np.errstate(over="ignore", invalid="ignore"):
            found = every.quadratic(G) - 2 * f * every.linear(G.sum(axis=1)) + f**2 * float(G.sum())
            found = c**2 * found - a * (float(self.prices.sum()) + c * every.linear(self.prices))
            size = every.quadratic(absolute) + 2 * f * every.linear(absolute.sum(axis=1))
            size = c**2 * (size + f**2 * float(absolute.sum()))
            size += a * (float(prices.sum()) + c * every.linear(prices))
            excess = (found + 8 * n * ULP * size) / a**2
        return np.where(np.isnan(excess), np.inf, excess)  # beyond float64 nothing is proved

    def _unlisted_excess(self, gamma: np.ndarray, listed: int) -> float:
        """Return delta for larger patterns, by size and mass under a prior."""
        n, c = len(gamma), math.expm1(self.epsilon)
        if self.prior is None:
            sizes = np.arange(listed + 1, n + 1)
            linear, constant, _ = self._terms(gamma, sizes, sizes / n)
            sums = np.cumsum(-np.sort(-linear, axis=1), axis=1)
            best = sums[np.arange(len(sizes)), sizes - 1]
            return float(((constant + best) / (n + c * sizes) ** 2).max())
        return largest(partial(self._terms, gamma), self.prior, c, listed)

    @cached_property
    def _together(self) -> np.ndarray:
        """Vectors b for patterns of at most 1, 2, ..., n types, one in each row, n x n."""
        inorder = -np.sort(np.minimum(self.avoided, 0), axis=1)
        return np.cumsum(np.pad(inorder[:, :-1], ((0, 0), (1, 0))), axis=1).T

    def _terms(self, gamma: np.ndarray, sizes: np.ndarray, f: np.ndarray) -> Terms:
        """Return q c^2 - a lambda^T s = linear x + constant of patterns of at most some sizes at masses f (K,).

        The constant includes an allowance of 8 n ulp of all terms.
        """
        n, c, w = len(gamma), math.expm1(self.epsilon), self.spread
        sums = gamma - self.avoided.sum(axis=1) - w * w.sum()
        a, (first, second) = n * (1 + c * f), self.level
        r, together = first + second * f, self._together[sizes - 1]
        linear = c**2 * (gamma + together - np.outer(2 * r, w) - np.outer(2 * f, sums))
        linear -= c * np.outer(a, self.prices)
        square = c**2 * (float(sums.sum()) + second**2)
        constant = c**2 * (r**2 + f**2 * float(sums.sum())) - a * float(self.prices.sum())
        size = np.abs(gamma) + np.abs(self.avoided).sum(axis=1) + np.abs(w) * np.abs(w).sum()
        terms = np.abs(linear).sum(axis=1) + np.abs(constant)
        terms += c**2 * (float(size.sum()) + r**2 + 2 * np.abs(r) * np.abs(w).sum())
        return Terms(linear, constant + 8 * n * ULP * terms, square)

    def heaviest(self, sizes: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return about the delta of patterns of some sizes and masses (K,), and their multipliers t, under a prior."""
        assert self.prior is not None
        c, boxes = math.expm1(self.epsilon), Boxes(sizes, sizes, f, f)
        found, _, t = within(partial(self._terms, self.gamma), self.prior, c, boxes, -math.inf)
        return found, t
