"""Applications of marginal tables: release of all tables, tests of association, dependence trees."""
