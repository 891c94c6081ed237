"""The Pareto score on shares."""
