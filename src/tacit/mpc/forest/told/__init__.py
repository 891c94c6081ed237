"""What of a forest may be told besides its plan, where that is agreed: one bit, or a coarse gap."""
