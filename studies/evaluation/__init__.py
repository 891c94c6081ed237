"""Studies of searches: their problems, settings and conditions."""
