"""Mechanisms at work: collecting reports."""
