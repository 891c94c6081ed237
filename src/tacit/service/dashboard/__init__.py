"""The dashboard: NiceGUI pages for people, beside the API in the platform's own process."""

from tacit.service.dashboard.mount import mount

__all__ = ["mount"]
