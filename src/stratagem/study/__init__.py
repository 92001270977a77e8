"""Studies: the best strategy for a workload and a budget, its certificate, and its published rivals."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
