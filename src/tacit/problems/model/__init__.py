"""What is optimized: problems, objectives, plans, and the Evaluator contract."""
