"""Certificates that every protocol is held against."""

from collections.abc import Callable

import numpy as np
from scipy.stats import chi2, norm

from stratagem.strategies import LinearProtocol, StratifiedProtocol, SubsetSelection, UnaryEncoding
from stratagem.strategies.set_protocol import all_subsets
from stratagem.strategies.two_level import all_sets

FALSE_ALARM = 1e-6
"""Probability with which one statistical check fails although the protocol is right."""


def every_report(protocol: LinearProtocol) -> np.ndarray:
    """All reports, in the order of the rows of the protocol's matrix."""
    if isinstance(protocol, UnaryEncoding):
        return np.packbits(all_sets(protocol.n), axis=1)
    if isinstance(protocol, SubsetSelection):
        return np.packbits(all_subsets(protocol.n, protocol.k), axis=1)
    if isinstance(protocol, StratifiedProtocol):
        blocks = [every_report(partition.oracle) for partition in protocol.partitions]
        width = max(block.shape[1] for block in blocks)
        padded = [np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks]
        numbers = np.repeat(np.arange(len(blocks), dtype="<u4"), [len(block) for block in blocks])
        return np.hstack([numbers[:, None].view(np.uint8), np.vstack(padded)])
    raise AssertionError(f"the reports of {type(protocol).__name__} cannot be listed")


def assert_exact(protocol: LinearProtocol, rng: np.random.Generator) -> None:
    """Matrix and protocol agree on epsilon, unbiasedness and every second moment."""
    strategy, n = protocol.dense(), protocol.domain_size
    Q = strategy.matrix
    assert np.isclose(strategy.epsilon, protocol.epsilon, rtol=0, atol=1e-9)
    S = np.array([protocol.reconstruct(protocol.collect(report[None])) for report in every_report(protocol)])
    seen = np.eye(n) - protocol.null_space @ protocol.null_space.T
    assert np.allclose(seen @ (S.T @ Q), seen, atol=1e-9)
    assert np.allclose(protocol.null_space.T @ S.T, 0, atol=1e-9)
    A = rng.normal(size=(n, n))
    B = A + A.T
    assert np.allclose(protocol.second_moments(B), Q.T @ np.einsum("yi,ij,yj->y", S, B, S), rtol=1e-9)
    x = rng.integers(0, 9, n)
    expected = S.T @ ((Q @ x)[:, None] * S)
    assert np.allclose(protocol.spread(x), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def assert_client(protocol: LinearProtocol, values: np.ndarray, rng: np.random.Generator) -> None:
    """The reports of many users with one value follow the matrix: a chi-squared test, false alarm 1e-6."""
    listed = [bytes(report) for report in every_report(protocol)]
    place = {report: row for row, report in enumerate(listed)}
    for u in np.unique(values):
        users = int((values == u).sum())
        reports = protocol.randomise(np.full(users, u), rng)
        counts = np.bincount([place[bytes(report)] for report in reports], minlength=len(listed))
        assert fits(counts, users * protocol.dense().matrix[:, u])


def fits(counts: np.ndarray, expected: np.ndarray) -> bool:
    """Whether counts follow their expectation, cells below 5 pooled."""
    rare = expected < 5
    pooled = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    used = pooled[1] > 0
    statistic = np.square(pooled[0] - pooled[1])[used] / pooled[1][used]
    return bool(statistic.sum() < chi2.isf(FALSE_ALARM, used.sum() - 1))


def deviation(
    protocol: LinearProtocol, draw: Callable[[], np.ndarray], x: np.ndarray, rounds: int
) -> tuple[bool, bool]:
    """Whether estimates from drawn totals have mean x and the stated covariance, false alarm 1e-6 each.

    Along the principal axes of the covariance: every mean against a normal quantile, the sum of all squared
    deviations, each over its variance, against a chi-squared one.
    """
    seen = np.eye(len(x)) - protocol.null_space @ protocol.null_space.T
    variances, axes = np.linalg.eigh(protocol.spread(x) - seen @ np.diag(x) @ seen)
    random = variances > 1e-9 * variances.max()
    estimates = np.array([protocol.reconstruct(draw()) for _ in range(rounds)])
    white = (estimates - seen @ x) @ axes[:, random] / np.sqrt(variances[random])
    means = np.abs(white.mean(axis=0)) * np.sqrt(rounds)
    squares = np.square(white).sum()
    low, high = chi2.ppf(FALSE_ALARM / 2, white.size), chi2.isf(FALSE_ALARM / 2, white.size)
    return bool(means.max() < norm.isf(FALSE_ALARM / 2 / len(means))), bool(low < squares < high)
