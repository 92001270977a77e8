"""Apple's count mean sketches: all bits of a hashed value, or one Hadamard bit of it."""

from __future__ import annotations

import numpy as np
from scipy.linalg import hadamard

from stratagem.math.number import entries, integer
from stratagem.math.privacy import ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.published.unary_encoding import symmetric_unary_encoding
from stratagem.strategies.strategy import MatrixStrategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.two_level import DENSE

LARGEST = 512
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


def _all_bits(setting: Setting, epsilon: float) -> Candidates:
    if 2 <= setting.domain_size <= LARGEST:
        width, hashes = _sizes(setting.domain_size)
        sketch = count_mean_sketch(setting.domain_size, epsilon, width, hashes)
        yield f"width {width}, {hashes} hashes", sketch


def _one_bit(setting: Setting, epsilon: float) -> Candidates:
    if 2 <= setting.domain_size <= LARGEST:
        width, hashes = _sizes(setting.domain_size)
        sketch = hadamard_count_mean_sketch(setting.domain_size, epsilon, width, hashes)
        yield f"width {width}, {hashes} hashes", sketch


COUNT_MEAN_SKETCH = Baseline(
    "count-mean-sketch",
    "noisy bits of a hash, decoded by least squares (Apple's CMS)",
    "@apple2017learning",
    _all_bits,
)
HADAMARD_COUNT_MEAN_SKETCH = Baseline(
    "hadamard-count-mean-sketch",
    "one noisy Hadamard bit of a hash (Apple's HCMS)",
    "@apple2017learning",
    _one_bit,
)
