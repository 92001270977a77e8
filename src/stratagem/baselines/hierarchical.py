"""The hierarchical mechanism for ranges."""

from __future__ import annotations

from typing import Literal

import numpy as np

from stratagem.baselines.baseline import Baseline, Candidates
from stratagem.baselines.hadamard_response import patterned
from stratagem.baselines.randomised_response import truthful
from stratagem.baselines.setting import Setting
from stratagem.strategies.matrix import MatrixStrategy

Oracle = Literal["hadamard", "randomised"]


def hierarchical(
    domain_size: int, epsilon: float, branching: int = 4, oracle: Oracle = "hadamard"
) -> MatrixStrategy:
    """Draw a level of a B-ary tree over the domain, report the user's node there through an oracle.

    Levels l = 0, 1, ... group B^l neighbouring values into ceil(n / B^l) nodes, down from the children of
    the root (the root itself tells nothing); all h levels are equally likely, so Q stacks the oracles of
    the levels with weight 1/h. Any n: the last node of a level may be short.

    Guarantee:
        epsilon-LDP: each row is a row of one epsilon-LDP oracle, repeated over the members of a node.

    Raises:
        ValueError: if `branching` is below 2 or the oracle is unknown.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB 2019.
    """
    if branching < 2:
        raise ValueError(f"branching is {branching}; a tree needs at least 2 children for each node.")
    oracles = {"hadamard": patterned, "randomised": truthful}
    if oracle not in oracles:
        raise ValueError(f"oracle is {oracle!r}; choose one of {', '.join(oracles)}.")
    widths = level_widths(domain_size, branching)
    levels = []
    for width in widths:
        node = np.arange(domain_size) // width
        levels.append(oracles[oracle](int(node[-1]) + 1, epsilon)[:, node] / len(widths))
    return MatrixStrategy(np.vstack(levels))


def level_widths(domain_size: int, branching: int) -> list[int]:
    """Return the node widths 1, B, B^2, ... below n; a single leaf level when n = 1."""
    widths = [1]
    while widths[-1] * branching < domain_size:
        widths.append(widths[-1] * branching)
    return widths


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    for branching in (b for b in (2, 4, 8, 16) if b == 2 or b < n):
        for oracle in ("hadamard", "randomised"):
            yield f"branching {branching}, {oracle}", hierarchical(n, epsilon, branching, oracle)


HIERARCHICAL = Baseline(
    "hierarchical",
    "a random level of a tree over the domain",
    "Cormode, Kulkarni, Srivastava 2019",
    _candidates,
)
