"""Mechanisms: strategies in whole numbers, their clients, and what is made of the reports."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
