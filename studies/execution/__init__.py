"""Running studies: jobs, executors, time budgets, progress."""
