"""Who may do what: roles, the table of permissions, invitations, tokens and rate limits."""
