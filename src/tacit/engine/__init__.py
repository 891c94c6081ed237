"""The Privacy Engine: what evaluates candidate plans and discloses only what was agreed."""
