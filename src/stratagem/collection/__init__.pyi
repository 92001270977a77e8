"""The public names of this folder and their homes, as `__init__.pyi` of the package."""

from .aggregator import Aggregator as Aggregator
from .collection import Collection as Collection
