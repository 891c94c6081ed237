"""Execute agreed runs: provisioning, queue, workers, deadlines, recovery."""
