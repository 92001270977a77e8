"""The central model: reference mechanisms of a trusted curator, for the workloads of the local one.

from stratagem import central
print(central.compare(st.prefix(64), epsilon=1.0, neighbours="replace"))
"""

from stratagem.central.basis import haar, parities
from stratagem.central.comparison import CentralComparison, Row, compare
from stratagem.central.cube import cube_tables
from stratagem.central.gaussian import GaussianMeasurement, measure_gaussian
from stratagem.central.grid import GridHierarchy
from stratagem.central.hierarchy import (
    Hierarchy,
    limiting_branching,
    published_branching,
    published_variance,
)
from stratagem.central.measurement import Measurement
from stratagem.central.neighbour import Neighbours, sensitivity
from stratagem.central.optimised import optimised, optimised_gaussian
from stratagem.central.pure import GeometricMeasurement, LaplaceMeasurement, measure
from stratagem.central.selection import Selection, selection
from stratagem.central.stability import StabilityHistogram, stability_histogram
from stratagem.central.tree import Tree, best_budgets
from stratagem.central.view import tables
from stratagem.math.gaussian import gaussian_noise

__all__ = [
    "CentralComparison",
    "GaussianMeasurement",
    "GeometricMeasurement",
    "GridHierarchy",
    "Hierarchy",
    "LaplaceMeasurement",
    "Measurement",
    "Neighbours",
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
