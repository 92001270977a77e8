"""Mechanisms at work: what turns reports into answers that say how far off they may be."""
