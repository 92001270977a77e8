"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .marginal_table import MarginalTable as MarginalTable
from .marginal_table import consistent_marginals as consistent_marginals
from .marginal_table import ripple as ripple
from .released import Release as Release
from .released import SyntheticPeople as SyntheticPeople
from .released import release as release
from .released import synthetic_people as synthetic_people
from .share import Share as Share
from .share import shares as shares
from .simulation import Simulation as Simulation
