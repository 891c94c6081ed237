"""All targets."""

from __future__ import annotations

from tests.fuzz import agreements, boxes, files, frames, nodes, platform, records, requests

TARGETS = [
    *frames.TARGETS,
    *requests.TARGETS,
    *agreements.TARGETS,
    *boxes.TARGETS,
    *records.TARGETS,
    *files.TARGETS,
    *nodes.TARGETS,
    *platform.TARGETS,
]
