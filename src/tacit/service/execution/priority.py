"""Raise the priority of the main process, which needs little of the processor, but on time."""

from __future__ import annotations

import logging
import os

PRIORITY = -10
log = logging.getLogger("tacit.service.execution")


def come_first() -> None:
    """Raise the priority of this process where allowed; workers lower their own."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, min(PRIORITY, os.getpriority(os.PRIO_PROCESS, 0)))
    except PermissionError:
        log.info("the main process has no priority over others; see docs/deploy.md")
