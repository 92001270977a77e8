"""Mixtures of all translates of a pattern, for ranges and histograms on large domains."""
