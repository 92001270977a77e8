"""Published mechanisms, one a file, each tuned by whoever compares."""

from stratagem.baselines.baseline import Baseline
from stratagem.baselines.covering import COVERING, covering_tables
from stratagem.baselines.decoding import Decoded, decode
from stratagem.baselines.fourier import FOURIER, fourier
from stratagem.baselines.haar import HAAR, haar
from stratagem.baselines.hadamard_mechanism import HADAMARD_MECHANISM, hadamard_mechanism
from stratagem.baselines.hadamard_response import HADAMARD_RESPONSE, hadamard_response
from stratagem.baselines.hierarchical import HIERARCHICAL, hierarchical
from stratagem.baselines.independent import INDEPENDENT, independent_response
from stratagem.baselines.marginal import MARGINAL, MARGINAL_HADAMARD, marginal_hadamard, marginal_response
from stratagem.baselines.marginal_encoding import MARGINAL_ENCODING, marginal_encoding
from stratagem.baselines.projective_geometry import PROJECTIVE_GEOMETRY, projective_geometry_response
from stratagem.baselines.randomised_response import RANDOMISED_RESPONSE, randomised_response
from stratagem.baselines.setting import Setting
from stratagem.baselines.subset_design import SUBSET_DESIGN, subset_design
from stratagem.baselines.tree_encoding import TREE_ENCODING, tree_encoding
from stratagem.baselines.unary_encoding import (
    optimised_unary_encoding,
    symmetric_unary_encoding,
)

BASELINES: tuple[Baseline, ...] = (
    RANDOMISED_RESPONSE,
    HADAMARD_RESPONSE,
    HADAMARD_MECHANISM,
    PROJECTIVE_GEOMETRY,
    SUBSET_DESIGN,
    HIERARCHICAL,
    TREE_ENCODING,
    HAAR,
    FOURIER,
    MARGINAL,
    MARGINAL_HADAMARD,
    MARGINAL_ENCODING,
    COVERING,
    INDEPENDENT,
)
"""Every baseline, in the order in which lists show them."""

__all__ = [
    "BASELINES",
    "Baseline",
    "Decoded",
    "Setting",
    "covering_tables",
    "decode",
    "fourier",
    "haar",
    "hadamard_mechanism",
    "hadamard_response",
    "hierarchical",
    "independent_response",
    "marginal_encoding",
    "marginal_hadamard",
    "marginal_response",
    "optimised_unary_encoding",
    "projective_geometry_response",
    "randomised_response",
    "subset_design",
    "symmetric_unary_encoding",
    "tree_encoding",
]
