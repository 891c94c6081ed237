"""What a node keeps, seen from outside the node: for its operator's commands."""

from __future__ import annotations

from pathlib import Path

from tacit.agreement.terms import read_agreement
from tacit.identity.config import NodeConfig


def agreements_naming(config: NodeConfig, signing_key: str, /) -> list[str]:
    """The folders of kept agreements that know the node by this key: it signs their logs."""
    data = Path(config.folder) / config.data
    return [
        path.parent.name
        for path in sorted(data.glob("*/agreement.json"))
        if read_agreement(path.read_bytes()).nodes[config.node].signing_key == signing_key
    ]
