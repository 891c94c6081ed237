"""What is optimized: problems, objectives, plans, and the kinds that say what these are."""
