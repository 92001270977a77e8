"""Reconstruction from the reports of a strategy of translates, on domains of any size.

A report tells something about the attributes that its pattern was placed on and nothing about the others, so
that everything is a sum over small sets of attributes: the tables (`interaction`), their variances (the same, of
squared scores), the covariance of all cells of one table (`margin`). Nothing is as large as the domain.
"""
