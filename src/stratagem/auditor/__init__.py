"""Audits: shipped clients held against the probabilities that their bundle states."""
