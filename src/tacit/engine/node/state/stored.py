"""What all states on a node's disk have in common."""

from __future__ import annotations

import msgspec


class Stored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="stored"):
    """What all states on the disk have: a tag with a version."""
