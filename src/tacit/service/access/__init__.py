"""Decide who may do what: roles, permissions, invitations, tokens and limits."""
