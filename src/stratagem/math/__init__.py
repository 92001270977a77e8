"""Numerical and combinatorial tools: they know of privacy no more than ratios of numbers, priors and budgets."""
