"""What people do with marginal tables: release them all, test for association, find a tree of dependences."""
