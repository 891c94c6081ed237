"""The HTTP API: routers, one per subject, and what they take and answer."""
