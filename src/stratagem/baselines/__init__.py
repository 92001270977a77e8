"""Published mechanisms, one a file, each tuned by whoever compares."""

from stratagem.baselines.baseline import Baseline
from stratagem.baselines.hadamard_response import HADAMARD_RESPONSE, hadamard_response
from stratagem.baselines.hierarchical import HIERARCHICAL, hierarchical
from stratagem.baselines.randomised_response import RANDOMISED_RESPONSE, randomised_response
from stratagem.baselines.setting import Setting

BASELINES: tuple[Baseline, ...] = (
    RANDOMISED_RESPONSE,
    HADAMARD_RESPONSE,
    HIERARCHICAL,
)
"""Every baseline, in the order in which lists show them."""

__all__ = [
    "BASELINES",
    "Baseline",
    "Setting",
    "hadamard_response",
    "hierarchical",
    "randomised_response",
]
