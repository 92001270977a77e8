"""Mixtures of patterns on few attributes, for domains that nobody can count."""
