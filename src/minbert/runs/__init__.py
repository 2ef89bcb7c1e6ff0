"""A training run and its directory."""
