"""Combinatorics: finite fields and geometries, difference families, block designs, coverings."""
