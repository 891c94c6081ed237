"""The platform: participants, runs and a dashboard, over HTTP."""
