"""Real data: columns of a file, and the cells that their values fall into."""
