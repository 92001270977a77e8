"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .collection import Collection as Collection
from .tally import Aggregator as Aggregator
