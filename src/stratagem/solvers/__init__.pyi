"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .auto import Auto as Auto
from .certified.certified import Certified as Certified
from .few_queries import FewQueries as FewQueries
from .gradient.projected_gradient import ProjectedGradient as ProjectedGradient
from .junta.junta import Junta as Junta
from .orbit.orbit import Orbit as Orbit
from .parts import Parts as Parts
from .problem import Problem as Problem
from .solver import Algorithm as Algorithm
from .solver import Callback as Callback
from .solver import Choice as Choice
from .solver import Limits as Limits
from .solver import Search as Search
from .solver import Solver as Solver
from .solver import Status as Status
from .solver import Step as Step
from .solver import search as search
