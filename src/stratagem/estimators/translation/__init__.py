"""Estimators of strategies of translates, on domains of any size.

A report tells something about the attributes that its pattern was placed on and nothing about the others, so that
everything is a sum over small sets of attributes. What is exact comes from characters and transforms: the variances of
all answers (`transformed`, `junta`), for a user of random type (`tables`), at the worst type (`largest`). What counts
say (`translates`): the tables (`interaction`), their variances (the same, of squared scores, `line` along one
attribute), the covariance of all cells of one table (`tables`). Nothing is as large as the domain, but the arrays of
small windows in `orbit`.
"""
