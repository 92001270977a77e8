"""The solver for few queries: a linear programme gives both the strategy and its lower bound."""
