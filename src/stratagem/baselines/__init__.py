"""Published mechanisms, one a file, for the optimised strategy to be measured against."""
