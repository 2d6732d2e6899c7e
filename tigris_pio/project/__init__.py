"""New projects: `tigris new` writes one that builds, serves the harness and has room for its model."""
