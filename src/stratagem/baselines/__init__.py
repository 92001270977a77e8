"""Published mechanisms, one a file, each tuned by whoever compares."""

from stratagem.baselines.baseline import Baseline
from stratagem.baselines.hadamard_mechanism import HADAMARD_MECHANISM, hadamard_mechanism
from stratagem.baselines.hadamard_response import HADAMARD_RESPONSE, hadamard_response
from stratagem.baselines.hierarchical import HIERARCHICAL, hierarchical
from stratagem.baselines.projective_geometry import PROJECTIVE_GEOMETRY, projective_geometry_response
from stratagem.baselines.randomised_response import RANDOMISED_RESPONSE, randomised_response
from stratagem.baselines.setting import Setting
from stratagem.baselines.subset_design import SUBSET_DESIGN, subset_design
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
)
"""Every baseline, in the order in which lists show them."""

__all__ = [
    "BASELINES",
    "Baseline",
    "Setting",
    "hadamard_mechanism",
    "hadamard_response",
    "hierarchical",
    "optimised_unary_encoding",
    "projective_geometry_response",
    "randomised_response",
    "subset_design",
    "symmetric_unary_encoding",
]
