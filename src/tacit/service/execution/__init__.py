"""How the platform carries runs out: handing over, queueing, workers, deadlines, recovery."""
