"""The central model: reference mechanisms of a trusted curator, for the workloads of the local one.

from stratagem import central
print(central.compare(st.prefix(64), epsilon=1.0, neighbours="replace"))
"""

from stratagem.central.basis import haar, parities
from stratagem.central.comparison import CentralComparison, Row, compare
from stratagem.central.gaussian import GaussianMeasurement, measure_gaussian
from stratagem.central.hierarchy import (
    Hierarchy,
    best_budgets,
    limiting_branching,
    published_branching,
    published_variance,
)
from stratagem.central.measurement import Measurement
from stratagem.central.neighbour import Neighbours, sensitivity
from stratagem.central.optimised import optimised, optimised_gaussian
from stratagem.central.pure import GeometricMeasurement, LaplaceMeasurement, measure
from stratagem.central.stability import StabilityHistogram, stability_histogram
from stratagem.central.view import covering, tables
from stratagem.gaussian import gaussian_noise

__all__ = [
    "CentralComparison",
    "GaussianMeasurement",
    "GeometricMeasurement",
    "Hierarchy",
    "LaplaceMeasurement",
    "Measurement",
    "Neighbours",
    "Row",
    "StabilityHistogram",
    "best_budgets",
    "compare",
    "covering",
    "gaussian_noise",
    "haar",
    "limiting_branching",
    "measure",
    "measure_gaussian",
    "optimised",
    "optimised_gaussian",
    "parities",
    "published_branching",
    "published_variance",
    "sensitivity",
    "stability_histogram",
    "tables",
]
