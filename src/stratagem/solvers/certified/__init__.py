"""The certified solver: two-level rows with optimal weights, and column generation for new rows."""
