"""The catalogues: workloads and solvers by name, one short TOML file an entry."""
