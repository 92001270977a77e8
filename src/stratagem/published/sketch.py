"""Hashes of the value: Apple's count mean sketches, and RAPPOR with Bloom filters and cohorts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.linalg import hadamard

from stratagem.math.number import entries, integer
from stratagem.math.privacy import probability, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting, Tuning
from stratagem.published.oracle import symmetric_unary_encoding
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.strategies.hashing import BloomFilters, differences, loss
from stratagem.strategies.strategy import MatrixStrategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.two_level import DENSE

SKETCHED = 512
"""User types up to which comparisons try sketches."""


def count_mean_sketch(
    domain_size: int, epsilon: float, width: int = 64, hashes: int = 64, seed: int = 0
) -> StratifiedProtocol:
    """Draw one of k hash functions into m values, send the hash's m bits, each flipped with one probability.

    The estimate here is least squares over the hash functions, unbiased where together they tell the values
    apart. Apple's own, `count_mean_estimate`, is cheaper and biased by `count_mean_bias`.

    Guarantee:
        epsilon-LDP: a symmetric unary encoding of the hashed value.

    Raises:
        ValueError: as `hash_tables`.

    Reference:
        Apple Differential Privacy Team 2017, "Learning with privacy at scale" (CMS).

    Example:
        >>> count_mean_sketch(100, 1.0, width=16).report
        '1 of 64 views, then at most 16 bits'
    """
    tables = hash_tables(domain_size, width, hashes, seed)
    oracle = symmetric_unary_encoding(width, epsilon)
    return StratifiedProtocol(
        tuple(Partition(table, oracle, 1 / hashes) for table in tables), total_known=False
    )


def hadamard_count_mean_sketch(
    domain_size: int, epsilon: float, width: int = 64, hashes: int = 8, seed: int = 0
) -> MatrixStrategy:
    """Draw a hash function and a row r of the m x m Hadamard matrix, send H[r, hash] flipped w.p. 1/(E + 1).

    Reports are (hash function, r, sign), 2 k m rows of probability E/(E + 1)/(k m) or 1/(E + 1)/(k m).

    Guarantee:
        epsilon-LDP: one bit of randomised response.

    Raises:
        ValueError: unless m >= 2 is a power of two; and as `hash_tables`.

    Reference:
        Apple Differential Privacy Team 2017, "Learning with privacy at scale" (HCMS).
    """
    tables = hash_tables(domain_size, width, hashes, seed)
    if width & (width - 1):
        raise ValueError(f"the width of the sketch is {width}; Hadamard matrices need a power of two")
    E = ratio(epsilon)
    signs = np.stack([hadamard(width)[:, table] > 0 for table in tables])
    rows = np.stack([np.where(signs, E, 1.0), np.where(signs, 1.0, E)], axis=2)
    return MatrixStrategy(rows.reshape(-1, domain_size) / ((E + 1) * hashes * width))


def hash_tables(domain_size: int, width: int, hashes: int, seed: int) -> np.ndarray:
    """Return k random hash functions into m values as tables (k x n), drawn from a seed.

    Raises:
        ValueError: unless n >= 1, m >= 2, k >= 1 and the seed are whole numbers, and k n at most 2^27.
    """
    integer(width, "The width of the sketch", 2, 1 << 24, "Apple had 1024")
    integer(hashes, "The number of hash functions", 1, 1 << 24, "Apple had 65536")
    n = integer(domain_size, "The number of values", 1, 1 << 24, "name the size of the domain")
    entries(hashes * n, DENSE, "The hash functions", "give fewer of them, or fewer values")
    integer(seed, "The seed", 0, (1 << 64) - 1, "any of them will do")
    return np.random.default_rng(seed).integers(0, width, (hashes, n))


def count_mean_estimate(sketch: StratifiedProtocol, totals: np.ndarray) -> np.ndarray:
    """Return Apple's estimate m/(m - 1) (sum_l y_l[h_l(j)] - N/m) of every count x_j, (n,).

    y_l is the estimated histogram of the hashes of those who drew hash function l (Apple 2017).
    """
    m = sketch.partitions[0].oracle.domain_size
    blocks = np.asarray(totals)[1:].reshape(len(sketch.partitions), 1 + m)
    answers = [
        partition.oracle.reconstruct(own)[partition.groups]
        for partition, own in zip(sketch.partitions, blocks, strict=True)
    ]
    return m / (m - 1) * (np.sum(answers, axis=0) - totals[0] / m)


def count_mean_bias(sketch: StratifiedProtocol, x: np.ndarray) -> np.ndarray:
    """Return the bias of `count_mean_estimate` under these hash functions, (n,).

    sum over u != j of x_u (m c_ju - 1)/(m - 1), where c_ju is the share of hash functions in which j and u
    collide. A uniformly random family has E[c_ju] = 1/m: the estimate is unbiased on average over hash
    functions, but for any that are fixed the bias does not shrink with more users (Apple 2017 states the average).
    """
    m, n = sketch.partitions[0].oracle.domain_size, sketch.domain_size
    together = sum(
        ((partition.groups[:, None] == partition.groups).astype(float) for partition in sketch.partitions),
        np.zeros((n, n)),
    )
    collisions = (m * together / len(sketch.partitions) - 1) / (m - 1)
    np.fill_diagonal(collisions, 0.0)
    return collisions @ np.asarray(x, dtype=float)


def _sizes(n: int) -> tuple[int, int]:
    """Return a width and a number of hash functions that determine the counts of n values."""
    width = 1 << max(1, min(6, (n - 1).bit_length() - 1))
    hashes = -(-2 * n // (width - 1))
    while True:
        tables = hash_tables(n, width, hashes, 0)
        together = sum(table[:, None] == table for table in tables)
        if np.linalg.matrix_rank(together, hermitian=True) == n:
            return width, hashes
        hashes += 1


def _sized(sketch: Callable[[int, float, int, int], Strategy | LinearProtocol]) -> Tuning:
    """Return the candidates of a sketch: the one whose size determines the counts."""

    def candidates(setting: Setting, epsilon: float) -> Candidates:
        if 2 <= (n := setting.domain_size) <= SKETCHED:
            width, hashes = _sizes(n)
            yield f"width {width}, {hashes} hash{'es' * (hashes > 1)}", sketch(n, epsilon, width, hashes)

    return candidates


HASHES = (1, 2)
"""Hash functions of a filter that comparisons try."""
SMALLEST = 8
"""User types below which all of them fit into one filter."""
LARGEST = 512
"""User types up to which comparisons try Bloom filters."""


def rappor(
    domain_size: int, epsilon: float, bits: int = 32, hashes: int = 2, cohorts: int = 64, seed: int = 0
) -> BloomFilters:
    """Send the Bloom filter of the value in a random cohort, every bit flipped with the same probability.

    The hash functions are random tables of a seed. The flips are as few as the filters allow: two of them
    differ in d <= 2 h bits, each with odds e^(epsilon/d); the published epsilon counts 2 h always.

    Guarantee:
        epsilon-LDP, measured from the filters and probabilities as they are stored.

    Raises:
        ValueError: unless sizes are whole numbers, at least 1.

    Reference:
        Erlingsson, Pihur, Korolova, CCS 2014; one time: the permanent response is the report.

    Example:
        >>> oracle = rappor(20, 1.0, bits=16)
        >>> oracle.report, round(oracle.epsilon, 9)
        ('1 of 64 cohorts and 16 bits', 1.0)
    """
    n = integer(domain_size, "The number of values", 1, 1 << 24, "name the size of the domain")
    b = integer(bits, "The bits of a filter", 1, 1 << 16, "RAPPOR had 128")
    h = integer(hashes, "The number of hash functions", 1, b, "RAPPOR had 2")
    c = integer(cohorts, "The number of cohorts", 1, 1 << 16, "RAPPOR had 64")
    filters = np.zeros((c, n, b), dtype=bool)
    np.put_along_axis(filters, np.random.default_rng(seed).integers(0, b, (c, n, h)), True, axis=2)
    more = differences(filters)
    worst = max(1.0, float((more + more.transpose(0, 2, 1)).max()))
    p = probability(ratio(epsilon) ** (1 / worst))
    while loss(more, p, 1 - p) > epsilon:
        p = math.nextafter(p, 0.5)
    return BloomFilters(filters, p, 1 - p)


def _filtered(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    if not SMALLEST <= n <= LARGEST:
        return
    bits = min(n, 32)
    cohorts = 2 * -(-n // bits) + 2
    for hashes in (h for h in HASHES if h < bits):
        parameters = f"{cohorts} cohorts, {bits} bits, {hashes} hash{'es' * (hashes > 1)}"
        yield parameters, rappor(n, epsilon, bits, hashes, cohorts)


BASELINES = (
    Baseline(
        "rappor",
        "a noisy Bloom filter in a random cohort, decoded by least squares",
        "@erlingsson2014rappor",
        _filtered,
    ),
    Baseline(
        "count-mean-sketch",
        "noisy bits of a hash, decoded by least squares (Apple's CMS)",
        "@apple2017learning",
        _sized(count_mean_sketch),
    ),
    Baseline(
        "hadamard-count-mean-sketch",
        "one noisy Hadamard bit of a hash (Apple's HCMS)",
        "@apple2017learning",
        _sized(hadamard_count_mean_sketch),
    ),
)
"""Its baselines, in the order in which lists show them."""
