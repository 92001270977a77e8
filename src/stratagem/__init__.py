"""Stratagem: local-differential-privacy mechanisms for any workload, with a certificate of how good they are.

    import stratagem as st
    solution = st.optimise(st.prefix(64), epsilon=1.0)

Names are imported where they are first used, so that `import stratagem` itself takes milliseconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stratagem.accuracy import Accuracy, UnsupportedWorkloadError, evaluate, per_query_variance
    from stratagem.baselines import (
        count_mean_sketch,
        fourier,
        haar,
        hadamard_count_mean_sketch,
        hadamard_mechanism,
        hadamard_response,
        hierarchical,
        independent_response,
        local_gaussian,
        local_hashing,
        local_laplace,
        local_spherical,
        marginal_encoding,
        marginal_hadamard,
        marginal_response,
        optimised_unary_encoding,
        projective_geometry_response,
        randomised_response,
        rappor,
        subset_design,
        subset_selection,
        summed_histogram_encoding,
        symmetric_unary_encoding,
        thresholded_histogram_encoding,
        tree_encoding,
    )
    from stratagem.bound_table import BoundSweep, bound_sweep
    from stratagem.bounds import Bounds, lower_bounds
    from stratagem.budget_path import path
    from stratagem.catalogue import load_workload as load
    from stratagem.comparison import Comparison, compare
    from stratagem.comparison_sweep import Sweep, sweep
    from stratagem.contents import bibtex
    from stratagem.mechanism.adoption import Adoption, adopt
    from stratagem.mechanism.aggregator import Aggregator
    from stratagem.mechanism.application.dependence_tree import chow_liu
    from stratagem.mechanism.application.independence import Association, association
    from stratagem.mechanism.application.marginal_release import Release, release
    from stratagem.mechanism.auditor import Audit, audit
    from stratagem.mechanism.collection import Collection
    from stratagem.mechanism.consistency.agreement import consistent_marginals
    from stratagem.mechanism.consistency.completion import marginal_from
    from stratagem.mechanism.consistency.nonnegativity import ripple
    from stratagem.mechanism.consistency.table import MarginalTable
    from stratagem.mechanism.consistency.tree import consistent_tree
    from stratagem.mechanism.estimation import Estimate, estimate
    from stratagem.mechanism.mechanism import Mechanism, load_mechanism
    from stratagem.mechanism.tally import counted
    from stratagem.optimisation import optimise
    from stratagem.report_size import TradeOff, trade_off
    from stratagem.simulation import Simulation, simulate
    from stratagem.solution import Solution
    from stratagem.solvers import Auto, Certified, Junta, Orbit, ProjectedGradient, Status, Step
    from stratagem.strategies import (
        InvariantStrategy,
        JuntaStrategy,
        MatrixStrategy,
        OrbitStrategy,
        Pattern,
        Protocol,
        Strategy,
        TwoLevelStrategy,
        UnaryEncoding,
        View,
        Views,
    )
    from stratagem.tuning import tune
    from stratagem.workloads import (
        Domain,
        Workload,
        all_marginals,
        all_range,
        explicit,
        histogram,
        kron,
        marginals,
        parity,
        prefix,
        stack,
        total,
        weighted,
    )

_HOMES = {
    "stratagem.accuracy": ("Accuracy", "UnsupportedWorkloadError", "evaluate", "per_query_variance"),
    "stratagem.baselines": (
        "count_mean_sketch",
        "fourier",
        "haar",
        "hadamard_count_mean_sketch",
        "hadamard_mechanism",
        "hadamard_response",
        "hierarchical",
        "independent_response",
        "local_gaussian",
        "local_hashing",
        "local_laplace",
        "local_spherical",
        "marginal_encoding",
        "marginal_hadamard",
        "marginal_response",
        "optimised_unary_encoding",
        "projective_geometry_response",
        "randomised_response",
        "rappor",
        "subset_design",
        "subset_selection",
        "summed_histogram_encoding",
        "symmetric_unary_encoding",
        "thresholded_histogram_encoding",
        "tree_encoding",
    ),
    "stratagem.bound_table": ("BoundSweep", "bound_sweep"),
    "stratagem.bounds": ("Bounds", "lower_bounds"),
    "stratagem.budget_path": ("path",),
    "stratagem.comparison": ("Comparison", "compare"),
    "stratagem.contents": ("bibtex",),
    "stratagem.mechanism.adoption": ("Adoption", "adopt"),
    "stratagem.mechanism.aggregator": ("Aggregator",),
    "stratagem.mechanism.application.dependence_tree": ("chow_liu",),
    "stratagem.mechanism.application.independence": ("Association", "association"),
    "stratagem.mechanism.application.marginal_release": ("Release", "release"),
    "stratagem.mechanism.auditor": ("Audit", "audit"),
    "stratagem.mechanism.collection": ("Collection",),
    "stratagem.mechanism.consistency.agreement": ("consistent_marginals",),
    "stratagem.mechanism.consistency.completion": ("marginal_from",),
    "stratagem.mechanism.consistency.nonnegativity": ("ripple",),
    "stratagem.mechanism.consistency.table": ("MarginalTable",),
    "stratagem.mechanism.consistency.tree": ("consistent_tree",),
    "stratagem.mechanism.estimation": ("Estimate", "estimate"),
    "stratagem.mechanism.mechanism": ("Mechanism", "load_mechanism"),
    "stratagem.mechanism.tally": ("counted",),
    "stratagem.optimisation": ("optimise",),
    "stratagem.report_size": ("TradeOff", "trade_off"),
    "stratagem.simulation": ("Simulation", "simulate"),
    "stratagem.solution": ("Solution",),
    "stratagem.solvers": ("Auto", "Certified", "Junta", "Orbit", "ProjectedGradient", "Status", "Step"),
    "stratagem.strategies": (
        "InvariantStrategy",
        "JuntaStrategy",
        "OrbitStrategy",
        "Pattern",
        "MatrixStrategy",
        "Protocol",
        "Strategy",
        "TwoLevelStrategy",
        "UnaryEncoding",
        "View",
        "Views",
    ),
    "stratagem.comparison_sweep": ("Sweep", "sweep"),
    "stratagem.tuning": ("tune",),
    "stratagem.workloads": (
        "Domain",
        "Workload",
        "all_marginals",
        "all_range",
        "explicit",
        "histogram",
        "kron",
        "marginals",
        "parity",
        "prefix",
        "stack",
        "total",
        "weighted",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names} | {"load": "stratagem.catalogue"}

__all__ = [
    "Accuracy",
    "Adoption",
    "Aggregator",
    "Association",
    "Audit",
    "Auto",
    "BoundSweep",
    "Bounds",
    "Certified",
    "Collection",
    "Comparison",
    "Domain",
    "Estimate",
    "InvariantStrategy",
    "Junta",
    "JuntaStrategy",
    "MarginalTable",
    "MatrixStrategy",
    "Mechanism",
    "Orbit",
    "OrbitStrategy",
    "Pattern",
    "ProjectedGradient",
    "Protocol",
    "Release",
    "Simulation",
    "Solution",
    "Status",
    "Step",
    "Strategy",
    "Sweep",
    "TradeOff",
    "TwoLevelStrategy",
    "UnaryEncoding",
    "UnsupportedWorkloadError",
    "View",
    "Views",
    "Workload",
    "adopt",
    "all_marginals",
    "all_range",
    "association",
    "audit",
    "bibtex",
    "bound_sweep",
    "chow_liu",
    "compare",
    "consistent_marginals",
    "consistent_tree",
    "count_mean_sketch",
    "counted",
    "estimate",
    "evaluate",
    "explicit",
    "fourier",
    "haar",
    "hadamard_count_mean_sketch",
    "hadamard_mechanism",
    "hadamard_response",
    "hierarchical",
    "histogram",
    "independent_response",
    "kron",
    "load",
    "load_mechanism",
    "local_gaussian",
    "local_hashing",
    "local_laplace",
    "local_spherical",
    "lower_bounds",
    "marginal_encoding",
    "marginal_from",
    "marginal_hadamard",
    "marginal_response",
    "marginals",
    "optimise",
    "optimised_unary_encoding",
    "parity",
    "path",
    "per_query_variance",
    "prefix",
    "projective_geometry_response",
    "randomised_response",
    "rappor",
    "release",
    "ripple",
    "simulate",
    "stack",
    "subset_design",
    "subset_selection",
    "summed_histogram_encoding",
    "sweep",
    "symmetric_unary_encoding",
    "thresholded_histogram_encoding",
    "total",
    "trade_off",
    "tree_encoding",
    "tune",
    "weighted",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its home and remember it."""
    if name not in _HOME:
        raise AttributeError(f"module 'stratagem' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), "load_workload" if name == "load" else name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
