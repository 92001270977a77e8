"""The published mechanisms that every optimised strategy is measured against."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from stratagem.strategies.hadamard_response import hadamard_response
from stratagem.strategies.hierarchical import hierarchical
from stratagem.strategies.matrix import MatrixStrategy
from stratagem.strategies.randomised_response import randomised_response


@dataclass(frozen=True)
class Baseline:
    """A published mechanism with its tuning range."""

    name: str
    title: str
    reference: str
    candidates: Callable[[int, float], Iterator[tuple[str, MatrixStrategy]]]
    """(n, epsilon) -> pairs of (parameters in words, strategy); whoever compares keeps the best."""


def _randomised_response(n: int, epsilon: float) -> Iterator[tuple[str, MatrixStrategy]]:
    yield "", randomised_response(n, epsilon)


def _hadamard_response(n: int, epsilon: float) -> Iterator[tuple[str, MatrixStrategy]]:
    blocks = 1
    while blocks <= min(n, 16):
        yield f"blocks {blocks}", hadamard_response(n, epsilon, blocks)
        blocks *= 2


def _hierarchical(n: int, epsilon: float) -> Iterator[tuple[str, MatrixStrategy]]:
    for branching in (b for b in (2, 4, 8, 16) if b == 2 or b < n):
        for oracle in ("hadamard", "randomised"):
            yield f"branching {branching}, {oracle}", hierarchical(n, epsilon, branching, oracle)


BASELINES = (
    Baseline(
        "randomised-response",
        "the truth, or any other value, with odds e^epsilon",
        "Warner 1965; Kairouz et al. 2016",
        _randomised_response,
    ),
    Baseline(
        "hadamard-response",
        "half of the rows of a Hadamard matrix, chosen by the value",
        "Acharya, Sun, Zhang 2019",
        _hadamard_response,
    ),
    Baseline(
        "hierarchical",
        "a random level of a tree over the domain",
        "Cormode, Kulkarni, Srivastava 2019",
        _hierarchical,
    ),
)
"""Every baseline, in the order in which comparisons list them."""
