"""Telling people what needs them: notices by mail and to webhooks, from a durable outbox."""
