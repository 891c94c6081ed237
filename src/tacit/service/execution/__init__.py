"""How the platform runs what was agreed: provisioning, queue, workers, deadlines, recovery."""
