"""Count mechanisms: how many of n people have a property, released under central differential privacy.

from stratagem import counts
found = counts.design(size=8, alpha=0.9, loss="L1", properties="RM,CM")
"""

from stratagem.counts.closed import (
    ClosedForm,
    ExplicitFair,
    Geometric,
    Uniform,
    explicit_fair,
    geometric,
    randomised_response,
    uniform,
)
from stratagem.counts.flowchart import Kind, Route, route
from stratagem.counts.mechanism import CountMechanism
from stratagem.counts.optimum import CountDesign, CountStatus, design
from stratagem.counts.property import Property
from stratagem.counts.table import CountTable, exponential

__all__ = [
    "ClosedForm",
    "CountDesign",
    "CountMechanism",
    "CountStatus",
    "CountTable",
    "ExplicitFair",
    "Geometric",
    "Kind",
    "Property",
    "Route",
    "Uniform",
    "design",
    "explicit_fair",
    "exponential",
    "geometric",
    "randomised_response",
    "route",
    "uniform",
]
