"""The platform's process: application, settings, metrics, limits."""
