"""Numerics: factors of semidefinite matrices, fast transforms, normal noise."""
