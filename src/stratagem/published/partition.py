"""Partitions of the domain: one is drawn, and the user's group is reported through an oracle or an encoding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from stratagem.math.privacy import ratio
from stratagem.published.design import LARGEST_GEOMETRY, projective_geometry_response, subset_design
from stratagem.published.fourier import fourier
from stratagem.published.hadamard import hadamard_response
from stratagem.published.oracle import local_hashing, optimised_unary_encoding, symmetric_unary_encoding
from stratagem.published.randomised_response import randomised_response
from stratagem.strategies.linear_protocol import LinearProtocol
from stratagem.strategies.strategy import Strategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.two_level import TwoLevelStrategy, pack

DESIGNED = 64
"""Largest number of groups that are reported through a balanced design."""


def one_bit(cells: int, epsilon: float) -> Strategy:
    """Report one Hadamard coefficient of the cell: the Fourier mechanism with all frequencies alike."""
    if cells == 1:
        return randomised_response(1, epsilon)
    return fourier((cells,), epsilon, np.arange(1, 1 << (cells - 1).bit_length()))


@lru_cache(maxsize=256)
def designed(cells: int, epsilon: float) -> Strategy:
    """Report a block of a balanced design up to 64 cells, a point of a projective geometry above.

    That far a design of the best size is found at once and has at most 2,000 blocks or so; geometries lose
    about 1 % to them and are small. Hadamard response takes over where geometries are not tabulated.
    """
    if cells <= DESIGNED:
        return subset_design(cells, epsilon)
    return (projective_geometry_response if cells <= LARGEST_GEOMETRY else hadamard_response)(cells, epsilon)


ORACLES: Mapping[str, Callable[[int, float], Strategy]] = {
    "hadamard": hadamard_response,
    "randomised": randomised_response,
    "one-bit": one_bit,
    "design": designed,
}
"""Oracles by name: Hadamard response, randomised response, a Hadamard coefficient, a block of a design.

Each takes the number of cells and epsilon, and its rows hold two probabilities of ratio E.
"""

TUNED: Mapping[str, Callable[[int, float], Strategy]] = {
    name: ORACLES[name] for name in ("randomised", "design")
}
"""The oracles that comparisons try; with each number of cells one of the two is better than the others."""


def partition_strategy(
    partitions: Sequence[np.ndarray], shares: np.ndarray, epsilon: float, oracle: str
) -> TwoLevelStrategy:
    """Draw a partition, report the user's group through an oracle over the groups.

    Args:
        partitions: partitions of the user types, each an array (n,) of groups 0..k-1.
        shares: probabilities of the partitions, summing to one.
        epsilon: the budget.
        oracle: a name from ORACLES.

    Guarantee:
        epsilon-LDP: the partition is drawn without a look at the value, and each row is one of an epsilon-LDP
        oracle, repeated over the members of a group.

    Raises:
        ValueError: for an unknown oracle or shares that do not sum to one.
    """
    if oracle not in ORACLES:
        raise ValueError(f"oracle is {oracle!r}: choose one of {', '.join(ORACLES)}")
    patterns, theta = [], []
    for groups, share in zip(partitions, shares, strict=True):
        inner = ORACLES[oracle](int(groups.max()) + 1, epsilon)
        patterns.append(pack(inner.two_valued()[:, groups]))
        theta.append(share * inner.lowest)
    return TwoLevelStrategy(
        np.concatenate(patterns), np.concatenate(theta), len(partitions[0]), ratio(epsilon)
    )


ENCODINGS: Mapping[str, Callable[[int, float], LinearProtocol]] = {
    "optimised": optimised_unary_encoding,
    "symmetric": symmetric_unary_encoding,
    "hashing": local_hashing,
}
"""Oracles by name: one bit for every cell, of least variance (OUE) or flipped alike (SUE), or a hash (OLH)."""


def partition_protocol(
    partitions: Sequence[np.ndarray], shares: np.ndarray, epsilon: float, encoding: str
) -> StratifiedProtocol:
    """Draw a partition, report the user's group through an encoding; least squares combines the groups.

    Arguments are those of `partition_strategy`, the encoding a name from ENCODINGS.

    Guarantee:
        epsilon-LDP: the partition is drawn without a look at the value, and the encoding is epsilon-LDP.
    """
    if encoding not in ENCODINGS:
        raise ValueError(f"encoding is {encoding!r}: choose one of {', '.join(ENCODINGS)}")
    oracle = ENCODINGS[encoding]
    drawn = (
        Partition(groups, oracle(int(groups.max()) + 1, epsilon), float(share))
        for groups, share in zip(partitions, shares, strict=True)
    )
    return StratifiedProtocol(tuple(drawn))
