"""The orbit solver: mixtures of all translates of patterns, for ranges and histograms on large domains."""
