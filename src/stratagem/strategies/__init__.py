"""Strategies: randomisers with a measured epsilon, as a matrix, as bits, or as a rule with its own estimator."""

from stratagem.strategies.additive_noise import AdditiveNoise, Laplace, Noise, Normal, Spherical
from stratagem.strategies.hashing import BloomFilters, LocalHashing
from stratagem.strategies.junta import JuntaStrategy, TableSampling
from stratagem.strategies.linear_protocol import LinearProtocol, SupportOracle
from stratagem.strategies.number_report import Hybrid, NumberLaw, NumberReport, Piecewise, TwoEnds
from stratagem.strategies.pattern import Pattern
from stratagem.strategies.set_protocol import SubsetSelection, UnaryEncoding
from stratagem.strategies.strategy import MatrixStrategy, Randomiser, Strategy
from stratagem.strategies.stratified_protocol import Partition, StratifiedProtocol
from stratagem.strategies.survey import SplitStrategy, SurveyPart, SurveyStrategy
from stratagem.strategies.translation import OrbitStrategy, TranslationStrategy
from stratagem.strategies.two_level import TwoLevelStrategy

Runnable = Strategy | LinearProtocol | TranslationStrategy | SurveyStrategy
"""What a user can run: all randomisers but table sampling, whose reports are too many for a client."""

__all__ = [
    "AdditiveNoise",
    "BloomFilters",
    "Hybrid",
    "JuntaStrategy",
    "Laplace",
    "LinearProtocol",
    "LocalHashing",
    "MatrixStrategy",
    "Noise",
    "Normal",
    "NumberLaw",
    "NumberReport",
    "OrbitStrategy",
    "Partition",
    "Pattern",
    "Piecewise",
    "Randomiser",
    "Runnable",
    "Spherical",
    "SplitStrategy",
    "Strategy",
    "StratifiedProtocol",
    "SubsetSelection",
    "SupportOracle",
    "SurveyPart",
    "SurveyStrategy",
    "TableSampling",
    "TranslationStrategy",
    "TwoEnds",
    "TwoLevelStrategy",
    "UnaryEncoding",
]
