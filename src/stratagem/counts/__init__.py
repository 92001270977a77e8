"""Count mechanisms: how many of n people have a property, released under central differential privacy.

from stratagem import counts
found = counts.design(size=8, alpha=0.9, loss="L1", properties="RM,CM")
"""

from stratagem.counts.bundle import load, save
from stratagem.counts.closed import (
    ClosedForm,
    ExplicitFair,
    Geometric,
    Kind,
    Route,
    Uniform,
    explicit_fair,
    geometric,
    randomised_response,
    route,
    uniform,
)
from stratagem.counts.criteria import Property
from stratagem.counts.estimation import (
    Consumer,
    CountEstimate,
    Posterior,
    estimate,
    posterior,
    serve,
    unbiased_weights,
)
from stratagem.counts.mechanism import CountMechanism, CountTable, exponential
from stratagem.counts.optimum import CountDesign, CountStatus, design
from stratagem.counts.remap import Derivation, Remap, best_remap, derivation, merged, reach_ratio

__all__ = [
    "ClosedForm",
    "Consumer",
    "CountDesign",
    "CountEstimate",
    "CountMechanism",
    "CountStatus",
    "CountTable",
    "Derivation",
    "ExplicitFair",
    "Geometric",
    "Kind",
    "Posterior",
    "Property",
    "Remap",
    "Route",
    "Uniform",
    "best_remap",
    "derivation",
    "design",
    "estimate",
    "explicit_fair",
    "exponential",
    "geometric",
    "load",
    "merged",
    "posterior",
    "randomised_response",
    "reach_ratio",
    "route",
    "save",
    "serve",
    "unbiased_weights",
    "uniform",
]
