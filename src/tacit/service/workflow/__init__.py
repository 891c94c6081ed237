"""A run from its draft to its end: states, invitations, submissions, events."""
