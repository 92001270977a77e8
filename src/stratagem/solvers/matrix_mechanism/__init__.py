"""The matrix mechanisms: measured queries for Laplace and Gaussian noise."""
