"""The Pareto score: one shared number per candidate, from its fitness in several objectives."""
