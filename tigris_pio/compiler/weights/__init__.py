"""How weights lie in a plan: shared by planning and emission."""
