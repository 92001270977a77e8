"""Studies: a workload and a budget in, the best strategy with its certificate out, beside everything published."""
