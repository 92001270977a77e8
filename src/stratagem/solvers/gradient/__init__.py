"""The published solver: projected gradient descent over all entries of a strategy."""
