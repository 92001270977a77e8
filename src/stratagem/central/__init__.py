"""The central model: reference mechanisms of a trusted curator, for the workloads of the local one.

from stratagem import central
print(central.compare(st.prefix(64), epsilon=1.0, neighbours="replace"))
"""

from stratagem.central.comparison import CentralComparison, Row, compare, optimised, optimised_gaussian
from stratagem.central.measurement import (
    GaussianMeasurement,
    GeometricMeasurement,
    LaplaceMeasurement,
    Measurement,
    Neighbours,
    measure,
    measure_gaussian,
    sensitivity,
)
from stratagem.central.selection import Selection, StabilityHistogram, selection, stability_histogram
from stratagem.central.table import (
    GridHierarchy,
    Hierarchy,
    Tree,
    best_budgets,
    cube_tables,
    haar,
    limiting_branching,
    parities,
    published_branching,
    published_variance,
    tables,
)
from stratagem.math.privacy import gaussian_noise
from stratagem.math.shuffling import CentralPrivacy, PrivacyBlanket

__all__ = [
    "CentralComparison",
    "CentralPrivacy",
    "GaussianMeasurement",
    "GeometricMeasurement",
    "GridHierarchy",
    "Hierarchy",
    "LaplaceMeasurement",
    "Measurement",
    "Neighbours",
    "PrivacyBlanket",
    "Row",
    "Selection",
    "StabilityHistogram",
    "Tree",
    "best_budgets",
    "compare",
    "cube_tables",
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
    "selection",
    "sensitivity",
    "stability_histogram",
    "tables",
]
