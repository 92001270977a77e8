"""Consistency of separately estimated counts: trees of counts, overlapping marginal tables.

What reconstructs a data vector (`stratagem.estimation.reconstruction`) is consistent from the start. This room is
for estimates that come as numbers with variances: levels of a tree, tables of some attributes each, whoever
collected them. Consistent trees and consistent marginals are weighted least squares, linear in the estimates,
so they keep unbiased ones unbiased and lower the variance of every answer that they combine. Tables without
negative cells (`ripple`, `marginal_from`) are biased. PriView is all of it in turn: `consistent_marginals`,
`ripple` on each table, `consistent_marginals` again, and `marginal_from` for the tables nobody collected.

Reference: Hay, Rastogi, Miklau, Suciu, VLDB 2010; Qardaji, Yang, Li, SIGMOD 2014.
"""
