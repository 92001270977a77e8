"""Two-level rows with optimal weights, new ones priced in until a bound is near."""
