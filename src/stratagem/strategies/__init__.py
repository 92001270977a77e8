"""Strategies: randomisers with a measured epsilon, as a matrix, as bits, or as a rule with its own estimator."""

from stratagem.strategies.additive_noise import AdditiveNoise
from stratagem.strategies.bloom import BloomFilters
from stratagem.strategies.invariant import InvariantStrategy
from stratagem.strategies.junta import JuntaStrategy
from stratagem.strategies.local_hashing import LocalHashing
from stratagem.strategies.matrix import MatrixStrategy
from stratagem.strategies.noise import Laplace, Noise, Normal, Spherical
from stratagem.strategies.number_law import Hybrid, NumberLaw, Piecewise, TwoEnds
from stratagem.strategies.number_report import NumberReport
from stratagem.strategies.orbit import OrbitStrategy
from stratagem.strategies.pattern import Pattern
from stratagem.strategies.protocol import Protocol
from stratagem.strategies.strategy import Strategy
from stratagem.strategies.subset_selection import SubsetSelection
from stratagem.strategies.support_oracle import SupportOracle
from stratagem.strategies.table_sampling import TableSampling
from stratagem.strategies.two_level import TwoLevelStrategy
from stratagem.strategies.unary_encoding import UnaryEncoding
from stratagem.strategies.views import View, Views

Randomiser = Strategy | Protocol
"""What a user can run: finitely many reports behind linear maps, or a rule with its published estimator."""

__all__ = [
    "AdditiveNoise",
    "BloomFilters",
    "Hybrid",
    "InvariantStrategy",
    "JuntaStrategy",
    "Laplace",
    "LocalHashing",
    "MatrixStrategy",
    "Noise",
    "Normal",
    "NumberLaw",
    "NumberReport",
    "OrbitStrategy",
    "Pattern",
    "Piecewise",
    "Protocol",
    "Randomiser",
    "Spherical",
    "Strategy",
    "SubsetSelection",
    "SupportOracle",
    "TableSampling",
    "TwoEnds",
    "TwoLevelStrategy",
    "UnaryEncoding",
    "View",
    "Views",
]
