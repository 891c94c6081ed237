"""Timeouts between parties do not depend on how busy the machine is."""

from tests.mpc.conftest import waiting_clock

__all__ = ["waiting_clock"]
