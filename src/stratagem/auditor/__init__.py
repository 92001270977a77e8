"""Audits: compare the reports of the shipped clients with the probabilities that their bundle states."""
