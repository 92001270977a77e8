"""Published mechanisms, one a file, each tuned by whoever compares."""

from stratagem.published.baseline import Baseline, Setting
from stratagem.published.count_mean_sketch import (
    COUNT_MEAN_SKETCH,
    HADAMARD_COUNT_MEAN_SKETCH,
    count_mean_bias,
    count_mean_estimate,
    count_mean_sketch,
    hadamard_count_mean_sketch,
)
from stratagem.published.covering import COVERING, covering_tables
from stratagem.published.decoding import Decoded, decode
from stratagem.published.fourier import FOURIER, fourier
from stratagem.published.haar import HAAR, haar
from stratagem.published.hadamard_mechanism import HADAMARD_MECHANISM, hadamard_mechanism
from stratagem.published.hadamard_response import HADAMARD_RESPONSE, hadamard_response
from stratagem.published.hierarchical import HIERARCHICAL, hierarchical
from stratagem.published.histogram_encoding import (
    SUMMED_HISTOGRAM_ENCODING,
    THRESHOLDED_HISTOGRAM_ENCODING,
    summed_histogram_encoding,
    thresholded_histogram_encoding,
)
from stratagem.published.independent import INDEPENDENT, independent_response
from stratagem.published.local_hashing import BINARY_LOCAL_HASHING, OPTIMISED_LOCAL_HASHING, local_hashing
from stratagem.published.marginal import MARGINAL, MARGINAL_HADAMARD, marginal_hadamard, marginal_response
from stratagem.published.marginal_encoding import MARGINAL_ENCODING, marginal_encoding
from stratagem.published.marginal_selection import MARGINAL_SELECTION, marginal_selection
from stratagem.published.matrix_mechanism import (
    GAUSSIAN_MATRIX_MECHANISM,
    L1_MATRIX_MECHANISM,
    L2_MATRIX_MECHANISM,
    local_gaussian,
    local_laplace,
    local_spherical,
)
from stratagem.published.mean import MEANS, duchi, hybrid, piecewise
from stratagem.published.projective_geometry import PROJECTIVE_GEOMETRY, projective_geometry_response
from stratagem.published.randomised_response import RANDOMISED_RESPONSE, randomised_response
from stratagem.published.rappor import RAPPOR, rappor
from stratagem.published.subset_design import SUBSET_DESIGN, subset_design
from stratagem.published.subset_selection import SUBSET_SELECTION, subset_selection
from stratagem.published.tree_encoding import TREE_ENCODING, tree_encoding
from stratagem.published.unary_encoding import (
    OPTIMISED_UNARY_ENCODING,
    SYMMETRIC_UNARY_ENCODING,
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
    TREE_ENCODING,
    HAAR,
    FOURIER,
    MARGINAL,
    MARGINAL_HADAMARD,
    MARGINAL_ENCODING,
    MARGINAL_SELECTION,
    COVERING,
    INDEPENDENT,
    *MEANS,
)
"""Every baseline, in the order in which lists show them."""

__all__ = [
    "BASELINES",
    "MEANS",
    "Baseline",
    "Decoded",
    "Setting",
    "count_mean_bias",
    "count_mean_estimate",
    "count_mean_sketch",
    "covering_tables",
    "decode",
    "duchi",
    "fourier",
    "haar",
    "hadamard_count_mean_sketch",
    "hadamard_mechanism",
    "hadamard_response",
    "hierarchical",
    "hybrid",
    "independent_response",
    "local_gaussian",
    "local_hashing",
    "local_laplace",
    "local_spherical",
    "marginal_encoding",
    "marginal_hadamard",
    "marginal_response",
    "marginal_selection",
    "optimised_unary_encoding",
    "piecewise",
    "projective_geometry_response",
    "randomised_response",
    "rappor",
    "subset_design",
    "subset_selection",
    "summed_histogram_encoding",
    "symmetric_unary_encoding",
    "thresholded_histogram_encoding",
    "tree_encoding",
]
