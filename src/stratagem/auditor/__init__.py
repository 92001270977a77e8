"""Audits: compare the reports of the shipped clients with the probabilities that their bundle states."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
