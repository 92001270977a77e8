"""Designs: patterns with their probabilities, as NumPy arrays, and the calls of compiled code that improve them."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stratagem.math.computing import Precision, compiled, jax, working_in
from stratagem.math.deadline import RATE, Deadline, deadline
from stratagem.math.linalg import CentredInverse, PseudoInverse, centre, centred_inverse
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.patterns import Prices, search
from stratagem.solvers.certified.weights import Weights, improve, inform
from stratagem.solvers.problem import Problem
from stratagem.strategies.two_level import BLOCK, TwoLevelStrategy, pack

PLAIN = 256
"""Domain size up to which nothing is compiled: NumPy took at most half the time there, compiling seconds a size."""
SHORT = 1024, 10.0
"""Domain size up to which nothing is compiled where fewer seconds are left: compiling would take half of them."""
LEAST = 512
"""Least number of rows in compiled code; padding to fewer rows would save nothing."""
LARGE = 1 << 19
"""Entries of an array above which padding to a power of two costs more than compiling code for another size."""
CHUNK = 1 << 21
"""Entries of a batch of patterns that one call of the local search works on."""
WHOLE, EVEN_AND_ODD = 0, (1, -1)
"""Kinds of vectors x: all of them, and those with x reversed = x and = -x."""
SAME = 1e-12
"""Largest difference, as a share of its largest entry, that reversing may make to V_c."""
SQUARE = 8
"""Products of two n x n matrices that take as long as the factorisations and solves of one weight update."""


@dataclass(frozen=True, eq=False)
class Design:
    """Patterns and probabilities of a two-level strategy, with the multipliers of its balance."""

    patterns: np.ndarray
    """Sets T (m x n), boolean, distinct."""
    p: np.ndarray
    """Probability of each report under the prior (m,): p = theta (1 + c f), f = prior(T), c = E - 1.

    Where reversing the values changes nothing, of the report and of its mirror image together.
    """
    mu: float
    nu: np.ndarray
    """Multipliers (n,) of sum p x = 0."""
    value: float
    """tr(C^-1 V_c), C = M - 11^T/n, for the scaled V_c = F F^T of `Arithmetic`."""


@dataclass(frozen=True, eq=False)
class Arithmetic:
    """The constants of a problem that all computations with designs use.

    Where reversing the order of the values changes neither V_c nor the prior, a pattern stands for itself and its
    mirror image, each with half its probability. Even and odd vectors are orthogonal under the information matrix of
    such a design, so that products and factorisations work on two halves (theory.md, section 6).
    """

    F: tuple[np.ndarray, ...]
    """V_c = F F^T (n x r); where patterns have mirror images, of its even and of its odd vectors (see `folded`)."""
    c: float
    """E - 1."""
    precision: Precision
    """Arithmetic of the products with all rows; n x n matrices are always float64."""
    prior: np.ndarray
    """Probabilities of the user types (n,); 1/n in the average case."""
    plain: bool
    """Whether arrays are NumPy's, and nothing is compiled."""

    @staticmethod
    def of(problem: Problem, F: np.ndarray, precision: Precision) -> Arithmetic:
        """Return the constants of a problem whose V_c is proportional to F F^T (n x r)."""
        n = len(F)
        blocks = halves(F) if n > PLAIN and _reversible(problem) else (F,)
        return Arithmetic(blocks, ratio(problem.epsilon) - 1, precision, problem.shares, uncompiled(n))

    @property
    def n(self) -> int:
        """Number of user types."""
        return len(self.prior)

    @property
    def signs(self) -> tuple[int, ...]:
        """The kinds of vectors that are computed with apart."""
        return EVEN_AND_ODD if len(self.F) > 1 else (WHOLE,)

    @property
    def work(self) -> int:
        """Multiplications for one row in the product of all rows with an n x n matrix."""
        return sum(len(F) ** 2 for F in self.F)

    def oriented(self, patterns: np.ndarray) -> np.ndarray:
        """Return the patterns (m x n), of mirror images the one that holds the first cell where they differ."""
        if len(self.F) == 1:
            return patterns
        images = patterns[:, ::-1]
        first = (patterns != images).argmax(axis=1)
        return np.where(patterns[np.arange(len(patterns)), first][:, None], patterns, images)

    def merged(self, patterns: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns (m x n) without the mirror images of others, which count in their probabilities."""
        if len(self.F) == 1:
            return patterns, p
        patterns = self.oriented(patterns)
        _, first, place = np.unique(pack(patterns), axis=0, return_index=True, return_inverse=True)
        return patterns[first], np.bincount(place.ravel(), p)

    def both(self, design: Design) -> Design:
        """Return the design with the mirror images of its patterns, each with its own probability."""
        if len(self.F) == 1:
            return design
        images = design.patterns[:, ::-1]
        apart = (images != design.patterns).any(axis=1)
        p = np.where(apart, design.p / 2, design.p)
        return replace(
            design,
            patterns=np.concatenate([design.patterns, images[apart]]),
            p=np.concatenate([p, p[apart]]),
        )

    def running(self) -> AbstractContextManager[object]:
        """Return the context of all arithmetic; what leaves double precision is seen in its results."""
        return np.errstate(all="ignore") if self.plain else working_in("float64")

    def array(self, a: Any, dtype: Any = None) -> Any:
        """Return numbers as an array that all functions of the weights and of pricing take."""
        return (np if self.plain else jax().numpy).asarray(a, dtype)

    def rows(self, patterns: np.ndarray) -> tuple[Any, ...]:
        """Return the rows x_s = c (b - f)/(1 + c f), f = prior(T), folded, followed by zero rows (padded x n)."""
        padded = len(patterns) if self.plain else padding(len(patterns), self.n)
        f = masses(patterns, self.prior)[:, None]
        scale, f = (self.c / (1 + self.c * f)).astype(self.precision), f.astype(self.precision)
        X = tuple(np.zeros((padded, len(F)), dtype=self.precision) for F in self.F)
        for rows in _blocks(patterns):
            x = (patterns[rows] - f[rows]) * scale[rows]
            for half, sign in zip(X, self.signs, strict=True):
                half[: len(patterns)][rows] = folded(x, sign)
        return tuple(self.array(half) for half in X)

    def improved(
        self,
        patterns: np.ndarray,
        p: np.ndarray,
        near: Design | None,
        steps: int,
        until: Deadline | None = None,
    ) -> Design:
        """Return the design after `steps` weight updates from any positive p (m,), balanced or not.

        Updates run in blocks of about one second. The first block always runs; no further block starts after
        the deadline.
        """
        m, until = len(patterns), until or deadline()
        further, informed = (improve, inform) if self.plain else (compiled(improve), compiled(inform))
        with self.running():
            X, F = self.rows(patterns), tuple(self.array(half) for half in self.F)
            stride = max(1, RATE // ((len(X[0]) + SQUARE * self.n) * self.work))
            weight = self.array(np.pad(p / p.sum(), (0, len(X[0]) - m)))
            mu, nu = (1.0, np.zeros(self.n)) if near is None else (near.mu, near.nu)
            nu = nu if self.signs[0] == WHOLE else (nu + nu[::-1])[: len(F[0])]
            # numbers of a stated type, or the second call would be compiled again
            value, mu, nu = (self.array(number, float) for number in (np.inf, mu, nu))
            found = Weights(weight, weight, value, mu, nu, self.array(0, int))
            for first in range(0, steps, stride):
                found = further(X, F, found, min(stride, steps - first))
                np.asarray(found.value)  # waits for compiled code
                if until.over:
                    break
            value = float(informed(X, found.p, F).value)
            nu = unfolded(np.asarray(found.nu), self.n, self.signs[0])
            return Design(patterns, np.asarray(found.p)[:m], float(found.mu), nu, value)

    def priced(
        self, design: Design, starts: np.ndarray, steps: int, until: Deadline | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the patterns (k x n) that a local search reaches from `starts` (k x n), and their scores over mu (k,).

        Once the deadline has passed, the remaining starts are left out.
        """
        m, until = len(design.patterns), until or deadline()
        batch = max(1, CHUNK // self.n)
        found, worth = [], []
        informed, searched = (inform, search) if self.plain else (compiled(inform), compiled(search, "steps"))
        with self.running():
            X = self.rows(design.patterns)
            p = self.array(np.pad(design.p, (0, len(X[0]) - m)))
            roots = informed(X, p, tuple(self.array(half) for half in self.F)).roots
            K = np.zeros((self.n, self.n))
            for root, sign in zip(map(np.asarray, roots), self.signs, strict=True):
                entire = unfolded(root.T, self.n, sign)
                K += entire.T @ entire
            K = K if len(roots) == 1 else centre(K)  # an odd n weighs the middle of even vectors less
            nu = design.nu - design.nu.sum() * self.prior
            numbers = (K, design.mu, nu, self.c, self.prior)
            prices = Prices(*(self.array(number, self.precision) for number in numbers))
            for first in range(0, len(starts), batch):
                B = self.array(starts[first : first + batch], self.precision)
                patterns, scores = searched(B, prices, steps)
                found.append(np.asarray(patterns) > 0.5)
                worth.append(np.asarray(scores, dtype=float) / design.mu)
                if until.over:
                    break
        return np.concatenate(found), np.concatenate(worth)


def folded(x: np.ndarray, sign: int) -> np.ndarray:
    """Return T x for vectors x (... x n): half of x_u + sign x_u' for the first half of the u, u' = n - 1 - u.

    The middle of an even vector counts half, so that 1 stays a multiple of T^T 1. WHOLE is the sign of T = I.
    """
    if sign == WHOLE:
        return x
    n = x.shape[-1]
    half = (x + sign * x[..., ::-1])[..., : (n + (sign > 0)) // 2] / 2
    if sign > 0 and n % 2:
        half[..., -1] /= 2
    return half


def halves(F: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return factors of the even and of the odd part of F F^T (n x n) in the coordinates of `folded`."""
    parts = (folded(F.T, sign) for sign in EVEN_AND_ODD)
    return tuple(np.linalg.qr(part)[1].T * np.sqrt(len(F) / part.shape[1]) for part in parts)


def unfolded(y: np.ndarray, n: int, sign: int) -> np.ndarray:
    """Return T^T y (... x n) for the T of `folded`."""
    if sign == WHOLE:
        return y
    half, x = y.shape[-1], np.zeros((*y.shape[:-1], n))
    x[..., :half] = y / 2
    x[..., n - half :] = sign * y[..., ::-1] / 2
    return x


def _reversible(problem: Problem) -> bool:
    """Return whether V_c stays the same where the order of the values is reversed; without a prior."""
    if problem.prior is not None:
        return False
    V = centre(problem.gram)
    return bool(np.abs(V - V[::-1, ::-1]).max() <= SAME * np.abs(V).max())


def uncompiled(n: int) -> bool:
    """Return whether a search over n user types that begins now should compile nothing."""
    return n <= PLAIN or (n <= SHORT[0] and deadline().left < SHORT[1])


def padding(m: int, n: int) -> int:
    """Return the number of rows, at least m, to which arrays of n columns are padded.

    Every size is compiled anew, so the sizes are powers of two. Where these would waste much time, they are
    multiples of an eighth of the power of two below: 10,240 rows of 64 types in place of 16,384 took .60 of the time.
    """
    power = max(LEAST, 1 << (m - 1).bit_length())
    part = power // 16 if power * n > LARGE else power
    return -(-m // part) * part


def masses(patterns: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the mass p^T x of every pattern (m,) under shares p of the user types (n,), a block at a time."""
    if not len(patterns):
        raise FloatingPointError("no pattern of a design has a weight that double precision can hold")
    step = max(1, CHUNK // len(shares))
    return np.concatenate([patterns[y : y + step] @ shares for y in range(0, len(patterns), step)])


BALANCED = 5e-13
"""Largest distance of a column sum from one; twice what remains after the last correction at n = 4096."""
ROUNDS, REPEATS = 4, 8
"""Number of times that the inverse of C is formed, and number of corrections with each inverse."""


def project_to_feasible(design: Design, problem: Problem, most: int | None = None) -> TwoLevelStrategy:
    """Return the strategy of a design, with column sums of one up to rounding.

    Weights move by the smallest relative change, p <- p (1 - r - x^T (n C)^+ R) for the residuals r = sum p -
    1 and R = sum p x of the balance under the prior. Where this correction does not reach
    column sums of one, rows of single user types are added, which is always possible; then the strategy has
    at most `most` rows.
    """
    kept, E, shares = design.p > 0, ratio(problem.epsilon), problem.shares
    patterns, p = _balanced(design.patterns[kept], design.p[kept], E - 1, shares)
    theta = p / (1 + (E - 1) * masses(patterns, shares))
    if np.abs(columns(patterns, theta, E - 1) - 1).max() > BALANCED:
        patterns, theta = filled(patterns, theta, E, most)
    return TwoLevelStrategy(pack(patterns), theta, patterns.shape[1], E)


def filled(
    patterns: np.ndarray, theta: np.ndarray, E: float, most: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return patterns (m x n) and weights theta (m,) whose columns sum to one, by adding patterns of one user type.

    If the patterns and n more exceed `most`, the lightest ones are dropped first.

    Columns that sum to sigma shrink by k = min(1, c/((c + n) max sigma - sum sigma)), c = E - 1; then
    a_u = (1 - k sigma_u - A)/c with A = (n - k sum sigma)/(c + n) is nonnegative and fills them exactly.
    """
    n, c = patterns.shape[1], E - 1
    if most is not None and len(theta) + n > most:
        heavy = np.sort(np.argsort(-theta)[: max(0, most - n)])
        patterns, theta = patterns[heavy], theta[heavy]
    sigma = columns(patterns, theta, c)
    k = min(1.0, c / ((c + n) * sigma.max(initial=0.0) - sigma.sum())) if len(theta) else 1.0
    A = (n - k * sigma.sum()) / (c + n)
    a = np.maximum(1 - k * sigma - A, 0.0) / c
    used = a > 0
    return np.concatenate([patterns, np.eye(n, dtype=bool)[used]]), np.concatenate([k * theta, a[used]])


def columns(patterns: np.ndarray, theta: np.ndarray, c: float) -> np.ndarray:
    """Return the column sums (n,) of the rows theta_y (1 + c b_y)."""
    return theta.sum() + c * _against(patterns, theta)


def _balanced(
    patterns: np.ndarray, p: np.ndarray, c: float, shares: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the patterns and their probabilities p (m,), corrected until column sums are one or rounds run out."""
    f = masses(patterns, shares)
    alpha = c / (1 + c * f)
    for _ in range(ROUNDS):
        inverse = _inverse(patterns, p, alpha, f, shares)
        for _ in range(REPEATS):
            residual = columns(patterns, p / (1 + c * f), c) - 1
            if np.abs(residual).max() < 2e-14:
                return patterns, p
            r = shares @ residual
            z = (inverse @ (residual - r)) / len(shares)
            moved = _along(patterns, z) - f * z.sum()
            p = p * np.maximum(1 - r - alpha * moved, 0.1)
    return patterns, p


def _inverse(
    patterns: np.ndarray, p: np.ndarray, alpha: np.ndarray, f: np.ndarray, shares: np.ndarray
) -> CentredInverse | PseudoInverse:
    """Return C^+ for C = sum_s p_s x_s x_s^T/n, x = alpha (b - f), f the masses."""
    n = patterns.shape[1]
    C = np.zeros((n, n))
    for rows in _blocks(patterns):
        centred = patterns[rows] - f[rows, None]
        centred *= (alpha[rows] * np.sqrt(p[rows] / n))[:, None]
        C += centred.T @ centred
    return centred_inverse(C, shares)


def _along(patterns: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return B z (m,) for the patterns B (m x n), a block of rows at a time."""
    return np.concatenate([patterns[rows].astype(float) @ z for rows in _blocks(patterns)])


def _against(patterns: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return B^T w (n,) for the patterns B (m x n), a block of rows at a time."""
    return sum(
        (w[rows] @ patterns[rows].astype(float) for rows in _blocks(patterns)), np.zeros(patterns.shape[1])
    )


def _blocks(patterns: np.ndarray) -> list[slice]:
    """Return slices of rows, each of at most BLOCK entries."""
    step = max(1, BLOCK // patterns.shape[1])
    return [slice(first, first + step) for first in range(0, len(patterns), step)]
