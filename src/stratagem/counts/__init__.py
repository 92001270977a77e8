"""Count mechanisms: how many of n people have a property, released under central differential privacy.

from stratagem import counts
found = counts.design(size=8, alpha=0.9, loss="L1", properties="RM,CM")
"""

from stratagem.counts.bundle import load, save
from stratagem.counts.closed import (
    ClosedForm,
    ExplicitFair,
    Geometric,
    Uniform,
    explicit_fair,
    geometric,
    uniform,
)
from stratagem.counts.estimation import CountEstimate, estimate, unbiased_weights
from stratagem.counts.flowchart import Kind, Route, route
from stratagem.counts.inference import Posterior, posterior
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.optimum import CountDesign, CountStatus, design
from stratagem.counts.property import Property
from stratagem.counts.table import CountTable

__all__ = [
    "ClosedForm",
    "CountDesign",
    "CountEstimate",
    "CountMechanism",
    "CountStatus",
    "CountTable",
    "ExplicitFair",
    "Geometric",
    "Kind",
    "Posterior",
    "Property",
    "Route",
    "Uniform",
    "design",
    "estimate",
    "explicit_fair",
    "geometric",
    "load",
    "posterior",
    "route",
    "save",
    "unbiased_weights",
    "uniform",
]
