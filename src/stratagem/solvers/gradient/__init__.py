"""The published method: projected gradients over all entries of a strategy."""
