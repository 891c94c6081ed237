"""What a node keeps, seen from outside the node: for its operator's commands."""

from __future__ import annotations

from pathlib import Path

from tacit.engine.agreement.terms import read_agreement
from tacit.engine.identity.config import NodeConfig
from tacit.engine.node.kept_series import FOLDER, stays_here
from tacit.engine.series import read_series


def agreements_naming(config: NodeConfig, signing_key: str, /) -> list[str]:
    """The folders of kept agreements that know the node by this key: it signs their logs.

    And those of series whose balances are here: it signs them when they move to other nodes, and
    again until those have them all. Then the operator may delete the book.
    """
    data = Path(config.folder) / config.data
    agreements = [
        path.parent.name
        for path in sorted(data.glob("*/agreement.json"))
        if read_agreement(path.read_bytes()).nodes[config.node].signing_key == signing_key
    ]
    series = [
        f"{FOLDER}/{path.parent.name}"
        for path in sorted((data / FOLDER).glob("*/series.json"))
        if (path.parent / "book").exists()
        and not stays_here(path.parent)
        and signing_key in {each.signing_key for each in read_series(path.read_bytes()).nodes}
    ]
    return [*agreements, *series]
