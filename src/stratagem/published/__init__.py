"""Published mechanisms, a family a file, each tuned by whoever compares."""

from stratagem.published.baseline import Baseline, Setting
from stratagem.published.design import BASELINES as DESIGNS
from stratagem.published.design import projective_geometry_response, subset_design
from stratagem.published.fourier import BASELINES as CHARACTERS
from stratagem.published.fourier import fourier, haar
from stratagem.published.hadamard import BASELINES as HADAMARD
from stratagem.published.hadamard import hadamard_mechanism, hadamard_response
from stratagem.published.hierarchical import HIERARCHICAL, TREE_ENCODING, hierarchical, tree_encoding
from stratagem.published.marginal import BASELINES as MARGINALS
from stratagem.published.marginal import (
    covering_tables,
    marginal_encoding,
    marginal_hadamard,
    marginal_response,
    marginal_selection,
)
from stratagem.published.matrix_mechanism import BASELINES as MATRIX_MECHANISMS
from stratagem.published.matrix_mechanism import local_gaussian, local_laplace, local_spherical
from stratagem.published.mean import MEANS, duchi, hybrid, piecewise
from stratagem.published.oracle import BASELINES as ORACLES
from stratagem.published.oracle import (
    local_hashing,
    optimised_unary_encoding,
    subset_selection,
    summed_histogram_encoding,
    symmetric_unary_encoding,
    thresholded_histogram_encoding,
)
from stratagem.published.randomised_response import (
    INDEPENDENT,
    RANDOMISED_RESPONSE,
    Decoded,
    decode,
    independent_response,
    randomised_response,
)
from stratagem.published.sketch import BASELINES as SKETCHES
from stratagem.published.sketch import (
    count_mean_bias,
    count_mean_estimate,
    count_mean_sketch,
    hadamard_count_mean_sketch,
    rappor,
)

BASELINES: tuple[Baseline, ...] = (
    RANDOMISED_RESPONSE,
    *HADAMARD,
    *DESIGNS,
    HIERARCHICAL,
    *ORACLES,
    *SKETCHES,
    *MATRIX_MECHANISMS,
    TREE_ENCODING,
    *CHARACTERS,
    *MARGINALS,
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
