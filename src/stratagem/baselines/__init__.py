"""Published mechanisms, one a file, each tuned by whoever compares."""

from stratagem.baselines.baseline import Baseline
from stratagem.baselines.count_mean_sketch import (
    COUNT_MEAN_SKETCH,
    HADAMARD_COUNT_MEAN_SKETCH,
    count_mean_bias,
    count_mean_estimate,
    count_mean_sketch,
    hadamard_count_mean_sketch,
)
from stratagem.baselines.hadamard_response import HADAMARD_RESPONSE, hadamard_response
from stratagem.baselines.hierarchical import HIERARCHICAL, hierarchical
from stratagem.baselines.histogram_encoding import (
    SUMMED_HISTOGRAM_ENCODING,
    THRESHOLDED_HISTOGRAM_ENCODING,
    summed_histogram_encoding,
    thresholded_histogram_encoding,
)
from stratagem.baselines.local_hashing import BINARY_LOCAL_HASHING, OPTIMISED_LOCAL_HASHING, local_hashing
from stratagem.baselines.matrix_mechanism import (
    GAUSSIAN_MATRIX_MECHANISM,
    L1_MATRIX_MECHANISM,
    L2_MATRIX_MECHANISM,
    local_gaussian,
    local_laplace,
    local_spherical,
)
from stratagem.baselines.randomised_response import RANDOMISED_RESPONSE, randomised_response
from stratagem.baselines.rappor import RAPPOR, rappor
from stratagem.baselines.setting import Setting
from stratagem.baselines.subset_selection import SUBSET_SELECTION, subset_selection
from stratagem.baselines.unary_encoding import (
    OPTIMISED_UNARY_ENCODING,
    SYMMETRIC_UNARY_ENCODING,
    optimised_unary_encoding,
    symmetric_unary_encoding,
)

BASELINES: tuple[Baseline, ...] = (
    RANDOMISED_RESPONSE,
    HADAMARD_RESPONSE,
    HIERARCHICAL,
    OPTIMISED_UNARY_ENCODING,
    SYMMETRIC_UNARY_ENCODING,
    THRESHOLDED_HISTOGRAM_ENCODING,
    SUMMED_HISTOGRAM_ENCODING,
    OPTIMISED_LOCAL_HASHING,
    BINARY_LOCAL_HASHING,
    SUBSET_SELECTION,
    RAPPOR,
    COUNT_MEAN_SKETCH,
    HADAMARD_COUNT_MEAN_SKETCH,
    L1_MATRIX_MECHANISM,
    L2_MATRIX_MECHANISM,
    GAUSSIAN_MATRIX_MECHANISM,
)
"""Every baseline, in the order in which lists show them."""

__all__ = [
    "BASELINES",
    "Baseline",
    "Setting",
    "count_mean_bias",
    "count_mean_estimate",
    "count_mean_sketch",
    "hadamard_count_mean_sketch",
    "hadamard_response",
    "hierarchical",
    "local_gaussian",
    "local_hashing",
    "local_laplace",
    "local_spherical",
    "optimised_unary_encoding",
    "randomised_response",
    "rappor",
    "subset_selection",
    "summed_histogram_encoding",
    "symmetric_unary_encoding",
    "thresholded_histogram_encoding",
]
