"""Solvers: algorithms that look for the best strategy of a workload."""

from stratagem.problem import Problem
from stratagem.solvers.auto import Auto
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.few_queries import FewQueries
from stratagem.solvers.gradient.projected_gradient import ProjectedGradient
from stratagem.solvers.junta.junta import Junta
from stratagem.solvers.orbit.orbit import Orbit
from stratagem.solvers.parts import Parts
from stratagem.solvers.solver import Algorithm, Callback, Choice, Limits, Search, Solver, Status, Step, search

__all__ = [
    "Algorithm",
    "Auto",
    "Callback",
    "Certified",
    "Choice",
    "FewQueries",
    "Junta",
    "Limits",
    "Orbit",
    "Parts",
    "Problem",
    "ProjectedGradient",
    "Search",
    "Solver",
    "Status",
    "Step",
    "search",
]
