"""Strategies: randomisers with a measured epsilon, and the published baselines."""

from stratagem.strategies.baseline import BASELINES, Baseline
from stratagem.strategies.hadamard_response import hadamard_response
from stratagem.strategies.hierarchical import hierarchical
from stratagem.strategies.matrix import MatrixStrategy
from stratagem.strategies.randomised_response import randomised_response
from stratagem.strategies.strategy import Strategy
from stratagem.strategies.two_level import TwoLevelStrategy

__all__ = [
    "BASELINES",
    "Baseline",
    "MatrixStrategy",
    "Strategy",
    "TwoLevelStrategy",
    "hadamard_response",
    "hierarchical",
    "randomised_response",
]
