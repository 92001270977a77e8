"""Collections: reports checked, counted and merged."""
