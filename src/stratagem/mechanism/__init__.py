"""Mechanisms: strategies in whole numbers, their clients, and what is made of the reports."""
