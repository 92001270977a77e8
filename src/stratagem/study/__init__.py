"""Studies: the best strategy for a workload and a budget, its certificate, and its published rivals."""
