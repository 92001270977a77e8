"""Bounds in closed form, what all bounds share about rounding, and bounds that may fail."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg import helmert

from stratagem.workloads import Workload
from stratagem.workloads.harmonics import Harmonics, Part, subsets
from stratagem.workloads.structure import Norms


class Rule(NamedTuple):
    """How a bound is named, what it is, and where it was published."""

    name: str
    meaning: str
    reference: str
    place: int
    """Where it stands among the others."""


PUBLISHED = "the published one, from the singular values of the queries"
SVD = Rule("svd", PUBLISHED, "@mckenna2020workload, Theorem 5.6", 1)
CLOSED = Rule("closed", "from the singular values of the queries without their total", "@stratagem", 2)
INTEGER = Rule(
    "integer", "from singular values, and that a report favours a whole number of user types", "@stratagem", 3
)
PAIRWISE = Rule(
    "pairwise", "what telling two user types apart costs, for the worst type or query", "@stratagem", 8
)
NOISELESS = Rule("noiseless", "what remains without any noise; the best at large epsilon", "@stratagem", 12)

ULP = float(np.finfo(float).eps)
"""Relative distance of neighbouring float64 numbers."""
SHARE = 1e-10
"""Relative amount taken off every bound, for sums of products of n and n^2 numbers.

All of them have an error of a few n ulp of tr V at most, n ulp = 1e-12 at n = 4096, and L >= tr V: an error that is
large beside the bound itself cannot lift it above L. Square roots are the exception, see `root_trace`.
"""
RATIO = 1.1e-14
"""Relative error of E = exp(epsilon), lowered by 1e-14 where a strategy has to measure at most epsilon."""
KEPT = 1e-12
"""Ratio to the largest eigenvalue above which others are more than rounding."""


def safe(value: float, epsilon: float) -> float:
    """Return a number that is certainly below the one of which `value` is the rounded one; zero below zero.

    Beside the rounding, the optimum L at E' is not the one at E: for E' < E rows of {1, E} mixed with constant
    ones, a share t = (E - E')/(E - 1), are E'-private, and the rest of M on 1^perp is at least (1 - t)^2 of what
    it was. So L(E') <= L(E)/(1 - t)^2, and 2 t is taken off.
    """
    return max(0.0, value * (1 - SHARE - 2 * RATIO / -math.expm1(-epsilon)))


def ulps(workload: Workload) -> float:
    """Return a bound on the relative error of V = W^T W, of its factors and of an n x n product, 8 (n + p) ulp.

    Relative to tr V, in the spectral norm: an entry is a sum of p products at most, and no sum of absolute
    values exceeds (V_uu V_vv)^(1/2). The p queries do not count where V is known in closed form.

    Reference:
        Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.5 and theorem 20.5.
    """
    terms = workload.domain_size + (workload.queries if workload.structure.norms is None else 0)
    return 8 * terms * ULP


def root_trace(squares: np.ndarray, error: float) -> float:
    """Return a lower bound on tr A^(1/2) from the eigenvalues of a computed A (n,), off by `error` in the norm.

    Weyl: no eigenvalue of A is smaller by more than that, and no square root is below zero. An eigenvalue
    that should be zero would otherwise count with the square root of its rounding, 1e-8 of the largest.
    """
    return float(np.sqrt(np.maximum(squares - error, 0.0)).sum())


LARGEST = 1 << 12
"""Rows of the largest block that is decomposed; queries that would make one larger do not count in it."""
ULPS = 16
"""Error of a block of n rows relative to its trace, in the spectral norm, over n ulp."""

Attributes = tuple[int, ...]


def block_norms(found: Harmonics) -> Norms:
    """Return ||W 1||^2/n^2 and the nuclear norms of W and W P over n^(1/2), from below where blocks are too large.

    V/n maps functions that touch exactly the free attributes C, along which it is invariant, to such functions.
    There it is a block on the ordered attributes, the same for each of the prod_C (a - 1) characters of C. In
    orthonormal functions of which the first is constant, the rows of a block are the sets D of ordered
    attributes that some part asks about together. All else is diagonal. Leaving queries out lowers V, and
    with it tr V^(1/2).
    """
    blocks: dict[Attributes, _Block] = {}
    for part in found.parts:
        for free in subsets([i for i in part.free if i not in found.ordered]):
            blocks.setdefault(free, _Block(found, free)).add(part)
    whole = centred = 0.0
    for free, block in blocks.items():
        many = math.prod(found.plain.sizes[i] - 1 for i in free)
        matrix = block.matrix()
        whole += many * _root_trace(matrix)
        centred += many * _root_trace(matrix if free else matrix[1:, 1:])
    rest = _diagonal(found, blocks)
    total = blocks[()].matrix()[0, 0] if blocks else found.plain.of(())
    return Norms(float(total), float(whole + rest), float(centred + rest))


def _diagonal(found: Harmonics, blocks: dict[Attributes, _Block]) -> float:
    """Return sum v^(1/2) over the characters that no block holds."""
    spectrum, total = found.spectrum, 0.0
    for kind, value, many in zip(spectrum.types, spectrum.values, spectrum.multiplicities, strict=True):
        alone = all(len(group) == 1 for group, count in zip(spectrum.groups, kind, strict=True) if count)
        touched = tuple(group[0] for group, count in zip(spectrum.groups, kind, strict=True) if count)
        if alone and touched in found.tables:
            block = blocks[tuple(i for i in touched if i not in found.ordered)]
            if tuple(i for i in touched if i in found.ordered) in block.starts:
                continue
            value = found.plain.of(touched)
        total += many * math.sqrt(value)
    return total


@dataclass(eq=False)
class _Block:
    """The block of V/n at one character of the free attributes, over functions of the ordered ones."""

    found: Harmonics
    free: Attributes
    parts: list[Part] = field(default_factory=list)
    starts: dict[Attributes, int] = field(default_factory=dict)
    """The first row of the functions that touch exactly some ordered attributes."""
    rows: int = 0

    def add(self, part: Part) -> None:
        """Take the queries of a part, unless the block gets too large."""
        held = [i for i in part.attributes if i in self.found.ordered]
        new = [own for own in subsets(held) if own not in self.starts]
        if self.rows + sum(map(self.many, new)) > LARGEST:
            return
        self.parts.append(part)
        for own in new:
            self.starts[own] = self.rows
            self.rows += self.many(own)

    def many(self, touched: Attributes) -> int:
        """Return how many functions touch exactly some ordered attributes."""
        return math.prod(self.found.plain.sizes[i] - 1 for i in touched)

    def matrix(self) -> np.ndarray:
        """Return the block (rows x rows)."""
        B = np.zeros((self.rows, self.rows))
        for own, start in self.starts.items():
            place = np.arange(start, start + self.many(own))
            B[place, place] = self.found.plain.of((*self.free, *own))
        for part in self.parts:
            self._fill(B, part)
        return B

    def _fill(self, B: np.ndarray, part: Part) -> None:
        """Add the Gram matrix of a part's queries to the block B (rows x rows)."""
        gram = _rotated(part)
        for other in subsets([i for i in part.free if i in self.found.ordered]):
            sizes = 2 * [self.found.plain.sizes[i] - 1 for i in other]
            share, eye = part.share((*self.free, *other)), np.eye(self.many(other)).reshape(sizes)
            for left in subsets(part.ordered):
                for right in subsets(part.ordered):
                    cut = [slice(1, None) if i in side else 0 for side in (left, right) for i in part.ordered]
                    both = np.multiply.outer(gram[tuple(cut)], eye)
                    rows, columns = tuple(sorted((*left, *other))), tuple(sorted((*right, *other)))
                    order = _order(left, right, other, rows, columns)
                    flat = both.transpose(order).reshape(self.many(rows), self.many(columns))
                    i, j = self.starts[rows], self.starts[columns]
                    B[i : i + len(flat), j : j + flat.shape[1]] += share * flat


def _order(
    left: Attributes, right: Attributes, other: Attributes, rows: Attributes, columns: Attributes
) -> list[int]:
    """Return where the axes (left, right, other, other) go so that those of the rows and the columns rise."""
    a, b, c = len(left), len(right), len(other)
    first = {i: k for k, i in enumerate(left)} | {i: a + b + k for k, i in enumerate(other)}
    second = {i: a + k for k, i in enumerate(right)} | {i: a + b + c + k for k, i in enumerate(other)}
    return [first[i] for i in rows] + [second[i] for i in columns]


def _rotated(part: Part) -> np.ndarray:
    """Return W_o^T W_o over its size in orthonormal functions of each attribute, the first constant (sizes, sizes)."""
    gram = part.gram().reshape(*part.sizes, *part.sizes)
    for axis, a in enumerate((*part.sizes, *part.sizes)):
        U = helmert(a, full=True)
        gram = np.moveaxis(np.tensordot(U, gram, axes=(1, axis)), 0, axis)
    return gram


def _root_trace(matrix: np.ndarray) -> float:
    """Return a lower bound on tr A^(1/2) of a block A, whose entries are sums of products along a few axes."""
    error = ULPS * len(matrix) * float(np.finfo(float).eps * np.trace(matrix))
    return root_trace(np.linalg.eigvalsh(matrix), error) if len(matrix) else 0.0


def svd(norms: Norms, epsilon: float) -> float:
    """Return (sum_i sigma_i(W))^2/(n E) <= L(Q)/n for every epsilon-LDP strategy Q.

    Proof sketch: d_y >= n q_min gives tr M <= E, and tr(M^-1 V) tr(M) >= (tr V^(1/2))^2 by Cauchy-Schwarz.

    Reference:
        McKenna, Maity, Mazumdar, Miklau, VLDB 2020, Theorem 5.6.
    """
    return norms.whole * norms.whole / math.exp(epsilon)


def closed(norms: Norms, epsilon: float) -> float:
    """Return ||W 1||^2/n^2 + 4E/(E - 1)^2 (sum_i sigma_i(W P))^2/n <= L(Q)/n, P = I - 11^T/n.

    For a prior p: p^T V p + 4E/(E - 1)^2 (sum_i sigma_i(W (I - p 1^T) diag(n p)^(1/2)))^2/n <= L(Q)/n.

    Proof sketch: an optimal row is theta s with s in {1, E}^n, so s_i^2 = (1 + E) s_i - E and, with
    kappa = (1 + E)^2/(4E), ||s||^2 <= kappa (1^T s)^2/n; summing over rows, tr M <= kappa. Since M 1 = 1,
    at most kappa - 1 = (E - 1)^2/(4E) is left on 1^perp, where Cauchy-Schwarz for the nuclear norm ends it.
    A prior replaces ||s||^2 by sum_u p_u s_u^2 <= kappa (p^T s)^2: the weighted bound with weights p.
    """
    spread = norms.centred / math.sinh(epsilon / 2)
    return norms.total + spread * spread


def integer(norms: Norms, n: int, epsilon: float) -> float:
    """Return ||W 1||^2/n^2 + (sum_i sigma_i(W P))^2/n / (n max_k g(k) - 1) <= L(Q)/n.

    g(k) = (k E^2 + n - k)/(k E + n - k)^2 is ||s||^2/(1^T s)^2 for a pattern s with k entries E, so
    tr M <= n max_k g(k) over the whole numbers k; attained by subset selection on histograms.
    """
    return norms.total + spread(n, epsilon) * norms.centred * norms.centred


def spread(n: int, epsilon: float) -> float:
    """Return 1/(n max_k g(k) - 1), zero for n = 1 where 1^perp is empty."""
    return 0.0 if n == 1 else 1 / pattern_information(n, epsilon, pattern_size(n, epsilon))


def best_spread(V: np.ndarray, p: np.ndarray, epsilon: float) -> np.ndarray:
    """Return P^(1/2) T^+ P^(1/2) (n x n), T the M - p p^T with which equality holds in `integer` under shares p > 0.

    A user adds that to the second moments of the estimated data vector, beside p p^T: `integer` is tr V of both.
    """
    r = np.sqrt(p)
    centred = np.eye(len(p)) - np.outer(r, r)
    squares, U = np.linalg.eigh(centred @ (V * np.outer(r, r)) @ centred)
    kept = squares > KEPT * squares.max()
    roots, U = np.sqrt(squares[kept]), r[:, None] * U[:, kept]
    return spread(len(p), epsilon) * roots.sum() * (U / roots) @ U.T


def pattern_size(n: int, epsilon: float) -> int:
    """Return the whole k with the largest g(k), n >= 2: next to the real maximum at n/(1 + E)."""
    below = math.floor(n / (2 + math.expm1(epsilon)))
    return max((k for k in (below, below + 1) if 0 < k < n), key=lambda k: pattern_information(n, epsilon, k))


def pattern_information(n: int, epsilon: float, k: int) -> float:
    """Return n g(k) - 1 = c^2 f (1 - f)/(1 + c f)^2, f = k/n and c = E - 1, so written that nothing cancels.

    It is tr(M) - 1 of a strategy whose patterns all have k of the n user types.
    """
    c, f = math.expm1(epsilon), k / n
    return c**2 * f * (1 - f) / (1 + c * f) ** 2


def noiseless(workload: Workload, prior: np.ndarray | None = None) -> float:
    """Return tr V <= L(Q), or n sum_u p_u V_uu under a prior p; per user type where n > 2^53.

    Proof: L(Q) = n sum_u p_u (t_u + V_uu), and no variance t_u is negative. At large epsilon it is attained up
    to terms of order 1/E, where bounds that shrink like 1/E leave nothing.
    """
    if prior is None:
        return workload.mean_square * workload.scale
    return workload.domain_size * float(prior @ np.diag(workload.gram()))


def pairwise_types(V: np.ndarray, epsilon: float, ulps: float = 0.0) -> float:
    """Return max_uv ||W (e_u - e_v)||^2/(4 sinh^2(eps/2)) <= max_u t_u, in squared counts per user.

    Proof sketch: t_u is the total variance under Q e_u of an estimate whose mean is W e_u, and W e_v under
    Q e_v. The Hammersley-Chapman-Robbins inequality gives ||W (e_u - e_v)||^2 <= t_u chi^2(Q e_v, Q e_u), and
    a ratio of mean one between 1/E and E has variance at most (E - 1)(1 - 1/E) = 4 sinh^2(eps/2). The bound
    subtracts no term, so it stays positive where the other bounds are lost in rounding. The entries of V
    (n x n) have errors of at most `ulps` times its diagonal.
    """
    size = np.diag(V)[:, None] + np.diag(V)
    return safe(float((size * (1 - ulps) - 2 * V).max()) / divergence(epsilon), epsilon)


def pairwise_queries(W: np.ndarray, epsilon: float, p: np.ndarray) -> float:
    """Return max_i sum_u p_u max_v (W_iu - W_iv)^2/(4 sinh^2(eps/2)) <= max_i Var_i, W (k x n), a prior p (n,).

    The inequality of `pairwise_types` for one query at a time; attained for one 0/1 query.
    """
    low, high = W.min(axis=1, keepdims=True), W.max(axis=1, keepdims=True)
    return safe(float((np.square(np.maximum(W - low, high - W)) @ p).max()) / divergence(epsilon), epsilon)


def divergence(epsilon: float) -> float:
    """Return the largest chi-squared divergence of two columns of an epsilon-LDP strategy."""
    return 4 * math.sinh(epsilon / 2) ** 2


T = TypeVar("T")
FAILURES = (np.linalg.LinAlgError, FloatingPointError, ZeroDivisionError, OverflowError)
"""Exceptions that numerical work raises where double precision does not suffice."""


def attempted(work: Callable[[], T]) -> T | None:
    """Return what some work finds, None where it fails numerically or finds a number that is not finite.

    Any lower bound may be left out without making the others wrong, so that none ends a run.
    """
    try:
        found = work()
    except FAILURES:
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else found
